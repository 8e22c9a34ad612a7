-- The doors to the shared index. Each runs as the owner (`%SAFE%` is what they
-- have in common), takes the tenant's name first, and touches the rows of the
-- caller's teams alone. No arithmetic on what a caller gives is done before
-- other teams' rows are out of reach, so not even an error tells of them.
-- `create or replace`, so that `engine upgrade` can bring newer ones.

-- What a login may do in a tenant, a row for each team. The login is
-- `session_user`, which neither `set role` nor a function that runs as somebody
-- else can change. Internal.
create or replace function mf.rights(of text)
returns table (tenant bigint, team bigint, name text, reads boolean, writes boolean, pushes text[])
language sql stable set search_path = pg_catalog, pg_temp as $$
    with mine as materialized (
        select m.tenant, m.team, m.writes, m.pushes
        from mf.tenant t join mf.member m on m.tenant = t.id
        join pg_roles r on r.oid = m.role and r.rolname = m.name
        where t.name = of
          and case when m.is_group then pg_has_role(session_user, m.role, 'member')
              else r.rolname = session_user end
    ),
    all_rights as (
        select mine.tenant, mine.team, pushes = '' as reads, writes and pushes = '' as writes,
               case when writes and pushes <> '' then pushes end as pushes
        from mine
        union all
        select t.tenant, t.id, true, false, null
        from mf.team t
        where t.name = 'all' and t.tenant in (select mine.tenant from mine where pushes = '')
    )
    select a.tenant, a.team, t.name, bool_or(a.reads), bool_or(a.writes),
           coalesce(array_agg(distinct a.pushes) filter (where a.pushes is not null), '{}')
    from all_rights a join mf.team t on t.tenant = a.tenant and t.id = a.team
    group by a.tenant, a.team, t.name
$$;

-- The teams that the caller reads. Internal.
create or replace function mf.readable(of text, out tenant bigint, out teams bigint[])
language sql stable set search_path = pg_catalog, pg_temp as $$
    select min(r.tenant), array_agg(r.team order by r.team) from mf.rights(of) r where r.reads
$$;

-- The team of a workspace that the caller may write, or an error that does not
-- depend on whether others have it. Called by a statement of its own: joined to
-- rows, it would be left out where there are none, and so tell of them. Internal.
create or replace function mf.written(of text, which bigint, out tenant bigint, out team bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    select w.tenant, w.team into tenant, team
    from mf.rights(of) r join mf.workspace w on w.tenant = r.tenant and w.team = r.team
    where w.id = which and (r.writes or w.name = any (r.pushes));
    if tenant is null then
        raise insufficient_privilege using message = 'this workspace is not yours to change';
    end if;
end $$;

create or replace function mf.about(of text) returns table (key text, value text)
language sql stable %SAFE% as $$
    select m.key, m.value from mf.meta m where m.key in ('schema', 'reads', 'model')
    union all select 'team', r.name from mf.rights(of) r where r.reads
    union all select 'writes', r.name from mf.rights(of) r where r.writes
$$;

-- Workspaces that the caller reads, or those of a name (`team/name` where a
-- name stands for two).
create or replace function mf.workspaces(of text, named text)
returns table (id bigint, name text, team text, generation bigint, commit_id text, pushed_at text,
    pushed_by text, documents bigint, chunks bigint, embedded bigint)
language sql stable %SAFE% as $$
    select w.id, w.name, r.name, w.generation, w.commit_id,
           to_char(w.pushed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), w.pushed_by,
           w.documents, w.chunks, w.embedded
    from mf.rights(of) r join mf.workspace w on w.tenant = r.tenant and w.team = r.team
    where r.reads and (named is null or w.name = named or r.name || '/' || w.name = named)
    order by w.name, r.name
$$;

-- How much there is to ask, and names that stand for workspaces of two teams.
create or replace function mf.overview(of text, which bigint)
returns table (chunks bigint, embedded bigint, doubles text[])
language sql stable %SAFE% as $$
    with seen as materialized (
        select w.id, w.name, w.chunks, w.embedded
        from mf.rights(of) r join mf.workspace w on w.tenant = r.tenant and w.team = r.team
        where r.reads
    )
    select coalesce(sum(s.chunks) filter (where which is null or s.id = which), 0)::bigint,
           coalesce(sum(s.embedded) filter (where which is null or s.id = which), 0)::bigint,
           coalesce((select array_agg(d.name) from (
               select name from seen group by name having count(*) > 1) as d), '{}')
    from seen s
$$;

-- Pushing ------------------------------------------------------------------

-- Begins to push a workspace and holds its row, so that others who push the
-- same one wait. Where the caller may write another team that has a workspace of
-- this name and origin, it moves from there.
create or replace function mf.begin_push(of text, for_team text, named text, origin text)
returns table (id bigint, generation bigint, commit_id text, edges_hash text, identity text, next_id integer)
language plpgsql volatile %SAFE% as $$
declare
    mine record;
begin
    select r.tenant, r.team into mine from mf.rights(of) r
    where r.name = for_team and (r.writes or named = any (r.pushes));
    if mine.team is null then
        raise insufficient_privilege using message = 'you may not push this workspace for this team';
    end if;
    if not exists (select from mf.workspace w
                   where w.tenant = mine.tenant and w.team = mine.team and w.name = named) then
        delete from mf.workspace w using mf.rights(of) r
        where w.tenant = r.tenant and w.team = r.team and r.team <> mine.team and r.writes
          and w.name = named and (w.identity = '' or origin = '' or w.identity = origin);
        insert into mf.workspace (tenant, team, name, identity, pushed_by)
        values (mine.tenant, mine.team, named, origin, session_user)
        on conflict (tenant, team, name) do nothing;
    end if;
    return query select w.id, w.generation, w.commit_id, w.edges_hash, w.identity, w.next_id from mf.workspace w
        where w.tenant = mine.tenant and w.team = mine.team and w.name = named for update;
end $$;

create or replace function mf.held(of text, which bigint)
returns table (path text, hash text, id integer)
language plpgsql stable %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    return query select d.path, d.hash, d.id from mf.document d
        where d.tenant = w.tenant and d.team = w.team and d.workspace = which;
end $$;

-- Takes documents out, with what they added to the counts of terms.
create or replace function mf.remove_documents(of text, which bigint, docs integer[])
returns table (documents bigint, chunks bigint, embedded bigint, terms bigint)
language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    return query execute format($q$
        with gone as (
            delete from mf.chunk c where c.tenant = %1$s and c.team = %2$s and c.workspace = $1 and c.doc = any ($2)
            returning c.terms, c.length, c.vec is not null as embedded
        ), less as (
            update mf.term as t set n = t.n - x.n
            from (select h, count(*) as n from gone, unnest(gone.terms) as h group by h) as x
            where t.tenant = %1$s and t.team = %2$s and t.workspace = $1 and t.h = x.h
        ), documents as (
            delete from mf.document d where d.tenant = %1$s and d.team = %2$s and d.workspace = $1 and d.id = any ($2)
            returning 1
        )
        select (select count(*) from documents), count(*), count(*) filter (where g.embedded),
            coalesce(sum(g.length), 0)::bigint from gone g
    $q$, w.tenant, w.team) using which, docs;
    delete from mf.term t where t.tenant = w.tenant and t.team = w.team and t.workspace = which and t.n <= 0;
end $$;

create or replace function mf.add_documents(of text, which bigint, ids integer[], paths text[], hashes text[],
    scopes text[], skills boolean[], titles text[], names text[], dates text[], importances smallint[],
    deprecateds boolean[], superseded text[], replaced text[], fields text[], texts text[])
returns void language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    insert into mf.document (tenant, team, workspace, id, path, hash, scope, skill, title, names, date,
        importance, deprecated, superseded_by, replaced_by, fields, text)
    select w.tenant, w.team, which, q.id, q.path, q.hash, q.scope, q.skill, q.title, q.name, q.date,
        q.importance, q.deprecated, q.superseded, q.replaced, q.field::jsonb, q.body
    from unnest(ids, paths, hashes, scopes, skills, titles, names, dates, importances, deprecateds,
        superseded, replaced, fields, texts) as q(id, path, hash, scope, skill, title, name, date,
        importance, deprecated, superseded, replaced, field, body);
end $$;

-- Passages of one document. Lists of lists come flat: `sizes` says how many
-- terms each passage has, and a passage has a vector where `vectored` says so.
create or replace function mf.add_passages(of text, which bigint, ids integer[], docs integer[],
    ordinals integer[], first_lines integer[], last_lines integer[], tokens integer[], lengths integer[],
    scopes text[], skills boolean[], dates text[], headings text[], texts text[],
    sizes integer[], all_terms integer[], all_freqs smallint[], vectored boolean[], vectors real[])
returns void language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    execute format($q$
        insert into mf.chunk (tenant, team, workspace, id, doc, ordinal, first_line, last_line, tokens,
            length, scope, skill, date, headings, text, terms, freqs, vec)
        select %1$s, %2$s, $1, q.id, q.doc, q.ordinal, q.first_line, q.last_line, q.tokens, q.length,
            q.scope, q.skill, q.date, q.heading, q.body,
            $14[q.upto - q.size + 1 : q.upto], $15[q.upto - q.size + 1 : q.upto],
            case when q.vectored then cast($17[(q.place - 1) * %3$s + 1 : q.place * %3$s] as %VECTOR%.halfvec) end
        from (
            select u.*, sum(u.size) over (order by u.at)::integer as upto,
                   sum(u.vectored::integer) over (order by u.at)::integer as place
            from unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $18, $13, $16) with ordinality
                as u(id, doc, ordinal, first_line, last_line, tokens, length, scope, skill, date,
                    heading, body, size, vectored, at)
        ) as q
    $q$, w.tenant, w.team, %DIMENSIONS%)
    using which, ids, docs, ordinals, first_lines, last_lines, tokens, lengths, scopes, skills, dates,
        headings, sizes, all_terms, all_freqs, vectored, vectors, texts;
end $$;

create or replace function mf.add_terms(of text, which bigint, hs integer[], ns bigint[], terms text[])
returns void language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    insert into mf.term as t (tenant, team, workspace, h, n, term)
    select w.tenant, w.team, which, q.h, q.n, q.term from unnest(hs, ns, terms) as q(h, n, term)
    on conflict (tenant, team, h, workspace) do update set n = t.n + excluded.n;
end $$;

create or replace function mf.clear_edges(of text, which bigint) returns void
language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    delete from mf.edge e where e.tenant = w.tenant and e.team = w.team and e.workspace = which;
end $$;

create or replace function mf.add_edges(of text, which bigint, sources text[], kinds text[], targets text[])
returns void language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    insert into mf.edge (tenant, team, workspace, source, kind, target)
    select w.tenant, w.team, which, q.* from unnest(sources, kinds, targets) as q
    on conflict do nothing;
end $$;

-- Ends a push: the next generation, in the name of the login that pushed.
create or replace function mf.end_push(of text, which bigint, revision text, origin text, edges text,
    more_documents bigint, more_chunks bigint, more_embedded bigint, more_terms bigint, next integer)
returns bigint language plpgsql volatile %SAFE% as $$
declare
    w record;
    now_at bigint;
begin
    select * into w from mf.written(of, which);
    update mf.workspace as x set generation = x.generation + 1,
        commit_id = coalesce(revision, x.commit_id), edges_hash = edges,
        documents = x.documents + more_documents, chunks = x.chunks + more_chunks,
        embedded = x.embedded + more_embedded, terms = x.terms + more_terms,
        identity = case when origin = '' then x.identity else origin end,
        next_id = next, pushed_at = now(), pushed_by = session_user
    where x.tenant = w.tenant and x.team = w.team and x.id = which
    returning x.generation into now_at;
    return now_at;
end $$;

create or replace function mf.drop_workspace(of text, which bigint) returns void
language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    delete from mf.workspace x where x.tenant = w.tenant and x.team = w.team and x.id = which;
end $$;

-- Asking -------------------------------------------------------------------

create or replace function mf.pull(of text, which bigint) returns table (path text, body text)
language sql stable %SAFE% as $$
    select d.path, d.text from mf.readable(of) r
    join mf.document d on d.tenant = r.tenant and d.team = any (r.teams) and d.workspace = which
    order by d.path collate "C"
$$;

-- Words that begin with something.
create or replace function mf.beginning(of text, low text, high text, most integer) returns table (term text)
language sql stable %SAFE% as $$
    select distinct t.term from mf.readable(of) r
    join mf.term t on t.tenant = r.tenant and t.team = any (r.teams)
        and t.term collate "C" >= low and t.term collate "C" < high
    limit least(greatest(most, 0), 1000)
$$;

-- Both sides of a question: by words (`t`), by meaning (`v`), with what the
-- words weigh (`d`, `n`) and what the words of a whole file come to (`s`).
-- Fusing them is the asker's business. Up to `most_exact` vectors are all
-- compared; above, the index is asked.
create or replace function mf.search(of text, which bigint, hs integer[], gs integer[], ws real[],
    most_candidates float8, text_pool bigint, scopes text[], skills boolean[], since text,
    query real[], vector_pool bigint, spreads boolean, most_exact bigint)
returns table (side text, workspace bigint, id integer, doc integer, score float8, extra float8, body text)
language plpgsql stable %SAFE% %SEEKS% as $$
declare
    r record;
    vectors bigint;
    meaning %VECTOR%.halfvec;
begin
    -- What is wrong with a question is said before anything is looked at: later,
    -- whether it is said would depend on the plan, and so on what there is.
    if array_length(query, 1) <> %DIMENSIONS% then
        raise data_exception using message = 'a vector here has %DIMENSIONS% numbers';
    end if;
    meaning := cast(query as %VECTOR%.halfvec);
    select * into r from mf.readable(of);
    if r.tenant is null then
        return;
    end if;
    select sum(w.embedded) into vectors from mf.workspace w
    where w.tenant = r.tenant and w.team = any (r.teams) and (which is null or w.id = which);
    -- Constants, so that the other teams' tables are not even planned for.
    return query execute format($q$
        with stat as materialized (
            select coalesce(sum(w.chunks), 0)::float8 as n,
                   greatest(coalesce(sum(w.terms)::float8 / nullif(sum(w.chunks), 0), 1), 1) as average
            from mf.workspace w
            where w.tenant = %1$s and w.team = any (%2$L::bigint[]) and ($1::bigint is null or w.id = $1)
        ),
        held as materialized (
            select t.h, sum(t.n)::float8 as df from mf.term t
            where t.tenant = %1$s and t.team = any (%2$L::bigint[]) and t.h = any ($2)
              and ($1::bigint is null or t.workspace = $1)
            group by t.h
        ),
        grouped as (
            -- The words of a prefix count as one term.
            select q.ord, q.h, q.g, q.w::float8 as w, coalesce(held.df, 0) as own,
                   least(sum(coalesce(held.df, 0)) over (partition by q.g), stat.n) as df, stat.n
            from unnest($2, $3, $4) with ordinality as q(h, g, w, ord)
            cross join stat left join held on held.h = q.h
        ),
        weighed as materialized (
            select *, w * ln(1 + (n - df + 0.5) / (df + 0.5)) as idf,
                   sum(own) over (order by own, ord) as upto
            from grouped
        ),
        -- Rare words choose the candidates; all words score them. The rarest
        -- does however common it is. Terms lie in order in a row, so each is
        -- found by halving (`width_bucket`).
        chosen as materialized (
            select coalesce(array_agg(h) filter (where own > 0 and (upto <= $5 or upto = own)), '{}') as rare,
                   coalesce(array_agg(h order by ord) filter (where own > 0), '{}') as hs,
                   coalesce(array_agg(idf order by ord) filter (where own > 0), '{}') as idfs
            from weighed
        ),
        words as materialized (
            select s.*, row_number() over (order by s.score desc, s.workspace, s.id) as place from (
                select c.workspace, c.id, c.doc, c.length, (
                    select sum(q.idf * f * (1 + %K1%) / (f + %K1% * (1 - %B% + %B% * c.length / stat.average)))
                    from unnest(chosen.hs, chosen.idfs) as q(h, idf),
                         lateral (select width_bucket(q.h, c.terms) as at) as y,
                         lateral (select case when c.terms[y.at] = q.h then c.freqs[y.at]::float8 end as f) as z
                    where f is not null
                ) as score
                from mf.chunk c, chosen, stat
                where c.tenant = %1$s and c.team = any (%2$L::bigint[])
                  and c.terms && (select rare from chosen)
                  and ($7::text[] is null or c.scope = any ($7))
                  and ($8::boolean[] is null or c.skill = any ($8))
                  and ($9::text is null or c.date >= $9)
                  and ($1::bigint is null or c.workspace = $1)
            ) as s
            where s.score is not null
            order by s.score desc
            fetch first ($6) rows with ties
        ),
        near as materialized (
            select c.workspace, c.id, c.doc, -(c.vec operator(%VECTOR%.<#>) $10)::float8 as cosine
            from mf.chunk c
            where $10 is not null and c.vec is not null
              and c.tenant = %1$s and c.team = any (%2$L::bigint[])
              and ($7::text[] is null or c.scope = any ($7)) and ($8::boolean[] is null or c.skill = any ($8))
              and ($9::text is null or c.date >= $9) and ($1::bigint is null or c.workspace = $1)
            order by %3$s limit $11
        ),
        spread as (
            select best.workspace, best.doc, sum(best.best) as score from (
                select c.workspace, c.doc, q.h,
                       max(q.idf * f * (1 + %K1%) / (f + %K1% * (1 - %B% + %B% * c.length / stat.average))) as best
                from stat, chosen, (select distinct words.workspace, words.doc from words where $12) as d,
                     mf.chunk c, unnest(chosen.hs, chosen.idfs) as q(h, idf),
                     lateral (select width_bucket(q.h, c.terms) as at) as y,
                         lateral (select case when c.terms[y.at] = q.h then c.freqs[y.at]::float8 end as f) as z
                where c.tenant = %1$s and c.team = any (%2$L::bigint[])
                  and c.workspace = d.workspace and c.doc = d.doc and f is not null
                group by c.workspace, c.doc, q.h
            ) as best group by best.workspace, best.doc
        )
        select 'n', 0::bigint, 0, 0, n, average, null::text from stat
        union all select 'd', 0, g, 0, df, idf, null from weighed
        union all select 't', w.workspace, w.id, w.doc, w.score, w.length::float8,
            case when w.place <= %MOST_READ% then (
                select c.text from mf.chunk c where c.tenant = %1$s and c.team = any (%2$L::bigint[])
                and c.workspace = w.workspace and c.id = w.id) end
            from words w
        union all select 'v', v.workspace, v.id, v.doc, v.cosine, 0, null from near v
        union all select 's', s.workspace, 0, s.doc, s.score, 0, null from spread s
    $q$, r.tenant, r.teams,
        -- Whatever is added to the distance keeps the index out of it.
        case when vectors > most_exact then 'c.vec operator(%VECTOR%.<#>) $10'
             else '(c.vec operator(%VECTOR%.<#>) $10) + 0' end)
    using which, hs, gs, ws, most_candidates, greatest(text_pool, 0), scopes, skills, since, meaning,
        greatest(vector_pool, 0), spreads;
end $$;

-- Passages that hold a string, wherever it stands in a word.
create or replace function mf.literal(of text, which bigint, needle text, scopes text[], skills boolean[],
    since text, most bigint)
returns table (workspace bigint, id integer, doc integer)
language plpgsql stable %SAFE% as $$
declare
    r record;
begin
    select * into r from mf.readable(of);
    if r.tenant is null then
        return;
    end if;
    return query execute format($q$
        select c.workspace, c.id, c.doc from mf.chunk c join mf.document d
            on d.tenant = c.tenant and d.team = c.team and d.workspace = c.workspace and d.id = c.doc
        where c.tenant = %1$s and c.team = any (%2$L::bigint[])
          and (position($2 in lower(c.text)) > 0 or position($2 in lower(regexp_replace(
              normalize(c.text, NFKD), '[\u0300-\u036f]', '', 'g'))) > 0)
          and ($3::text[] is null or c.scope = any ($3)) and ($4::boolean[] is null or c.skill = any ($4))
          and ($5::text is null or c.date >= $5) and ($1::bigint is null or c.workspace = $1)
        order by d.path, c.workspace, c.id limit $6
    $q$, r.tenant, r.teams) using which, needle, scopes, skills, since, greatest(most, 0);
end $$;

create or replace function mf.undated(of text, which bigint, scopes text[], skills boolean[]) returns bigint
language sql stable %SAFE% as $$
    select count(*) from mf.readable(of) r
    join mf.document d on d.tenant = r.tenant and d.team = any (r.teams)
    where d.date is null and (scopes is null or d.scope = any (scopes))
      and (skills is null or d.skill = any (skills)) and (which is null or d.workspace = which)
$$;

-- Passages by their numbers, or the first ones of documents by their paths.
create or replace function mf.passages(of text, workspaces bigint[], ids integer[], paths text[])
returns table (workspace bigint, id integer, doc integer, name text, team text, path text, title text,
    names text, scope text, skill boolean, date text, importance smallint, deprecated boolean,
    superseded_by text, replaced_by text, ordinal integer, headings text, first_line integer,
    last_line integer, tokens integer, body text, length integer)
language plpgsql stable %SAFE% as $$
declare
    r record;
begin
    select * into r from mf.readable(of);
    if r.tenant is null then
        return;
    end if;
    return query execute format($q$
        select c.workspace, c.id, c.doc, w.name, t.name, d.path, d.title, d.names, c.scope, c.skill,
            c.date, d.importance, d.deprecated, d.superseded_by, d.replaced_by, c.ordinal, c.headings,
            c.first_line, c.last_line, c.tokens, c.text, c.length
        from (
            select q.workspace, q.id from unnest($1, $2) as q(workspace, id) where $3 is null
            union all
            select x.workspace, x.id from unnest($1, $3) as q(workspace, path)
            join mf.document o on o.tenant = %1$s and o.team = any (%2$L::bigint[])
                and o.workspace = q.workspace and o.path = q.path
            join mf.chunk x on x.tenant = %1$s and x.team = any (%2$L::bigint[])
                and x.workspace = o.workspace and x.doc = o.id and x.ordinal = 0
        ) as wanted
        join mf.chunk c on c.tenant = %1$s and c.team = any (%2$L::bigint[])
            and c.workspace = wanted.workspace and c.id = wanted.id
        join mf.document d on d.tenant = c.tenant and d.team = c.team and d.workspace = c.workspace and d.id = c.doc
        join mf.workspace w on w.tenant = c.tenant and w.team = c.team and w.id = c.workspace
        join mf.team t on t.id = c.team
    $q$, r.tenant, r.teams) using workspaces, ids, paths;
end $$;

-- Nobody gets a right by default, and everybody who may connect gets these: what
-- they answer depends on the list of members alone.
revoke all on all functions in schema mf from public;
grant usage on schema mf to public;
grant execute on function
    mf.about, mf.workspaces, mf.overview, mf.begin_push, mf.held, mf.remove_documents,
    mf.add_documents, mf.add_passages, mf.add_terms, mf.clear_edges, mf.add_edges, mf.end_push,
    mf.drop_workspace, mf.pull, mf.beginning, mf.search, mf.literal, mf.undated, mf.passages
    to public;
