-- The doors to the shared index. Each runs as the owner (`%SAFE%` is what they
-- have in common), takes the tenant's name first, and touches the rows of the
-- caller's teams alone. No arithmetic on what a caller gives is done before
-- other teams' rows are out of reach, so not even an error tells of them.
-- `create or replace`, so that `engine upgrade` can bring newer ones.

-- What a login may do in a tenant, a row for each team. The login is
-- `session_user`, which neither `set role` nor a function that runs as somebody
-- else can change. The caller's own memberships in all tenants come first, each
-- table behind them is read by a key of these, and the name that was given is
-- compared last: what is read does not depend on whether it is some tenant's.
-- Internal.
create or replace function mf.rights(of text)
returns table (tenant bigint, team bigint, name text, reads boolean, writes boolean, pushes text[])
language sql stable %INTERNAL% as $$
    with recursive roles(role) as (
        select r.oid from pg_roles r where r.rolname = session_user
        union
        select a.roleid from roles join pg_auth_members a on a.member = roles.role
    ),
    mine as materialized (
        select m.tenant, m.team, m.writes, m.pushes,
               (select t.name from mf.tenant t where t.id = m.tenant) as of_tenant
        from roles, lateral (
            select * from mf.member m where m.role = roles.role offset 0
        ) as m
        where (m.is_group or m.name = session_user)
          and m.name = (select r.rolname from pg_roles r where r.oid = m.role)
    ),
    all_rights as materialized (
        select mine.tenant, mine.team, pushes = '' as reads, writes and pushes = '' as writes,
               case when writes and pushes <> '' then pushes end as pushes, of_tenant
        from mine
        union all
        select mine.tenant, (
            select t.id from mf.team t where t.tenant = mine.tenant and t.name = 'all'
        ), true, false, null, of_tenant
        from mine where pushes = ''
    ),
    named as materialized (
        select a.*, (select t.name from mf.team t where t.tenant = a.tenant and t.id = a.team) as of_team
        from all_rights a
    )
    select a.tenant, a.team, a.of_team, bool_or(a.reads), bool_or(a.writes),
           coalesce(array_agg(distinct a.pushes) filter (where a.pushes is not null), '{}')
    from named a where a.of_tenant = of
    group by a.tenant, a.team, a.of_team
$$;

-- The teams that the caller reads. Internal.
create or replace function mf.readable(of text, out tenant bigint, out teams bigint[])
language sql stable %INTERNAL% as $$
    select min(r.tenant), array_agg(r.team order by r.team) from mf.rights(of) r where r.reads
$$;

-- Teams' parts of a table, as what stands after `from`. By their own names, and
-- never through the table that they are parts of: its statistics are of all
-- tenants, and so would a plan be; and who reads holds no lock on it, which
-- whoever adds or drops a tenant would wait for. Internal.
create or replace function mf.parts(of_table text, of_teams bigint[]) returns text
language sql stable %INTERNAL% as $$
    select '(' || string_agg(format('select * from mf.%I', of_table || '_' || to_hex(g.team)), ' union all ') || ')'
    from unnest(of_teams) as g(team)
$$;

-- One team's part of a table, to be written. Internal.
create or replace function mf.part(of_table text, of_team bigint) returns text
language sql stable %INTERNAL% as $$
    select format('mf.%I', of_table || '_' || to_hex(of_team))
$$;

-- Workspaces of teams, by the key that begins with these. Internal.
create or replace function mf.seen(of_tenant bigint, of_teams bigint[]) returns setof mf.workspace
language plpgsql stable %INTERNAL% as $$
begin
    return query select w.* from unnest(of_teams) as g(team), lateral (
        select * from mf.workspace w where w.tenant = of_tenant and w.team = g.team offset 0
    ) as w;
end $$;

-- The team of a workspace that the caller may write, or an error that does not
-- depend on whether others have it. Called by a statement of its own: joined to
-- rows, it would be left out where there are none, and so tell of them. Internal.
create or replace function mf.written(of text, which bigint, out tenant bigint, out team bigint)
language plpgsql stable %INTERNAL% as $$
begin
    select x.tenant, x.team into tenant, team
    from (
        select r.*, (
            select w.name from mf.workspace w where w.tenant = r.tenant and w.team = r.team and w.id = which
        ) as workspace
        from mf.rights(of) r
    ) as x
    where x.workspace is not null and (x.writes or x.workspace = any (x.pushes));
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
language plpgsql stable %SAFE% as $$
declare
    r record;
begin
    select * into r from mf.readable(of);
    return query select * from (
        select w.id, w.name, (select g.name from mf.team g where g.tenant = w.tenant and g.id = w.team) as team,
               w.generation, w.commit_id,
               to_char(w.pushed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), w.pushed_by,
               w.documents, w.chunks, w.embedded
        from mf.seen(r.tenant, r.teams) w
    ) as x
    where named is null or x.name = named or x.team || '/' || x.name = named
    order by x.name, x.team;
end $$;

-- How much there is to ask, and names that stand for workspaces of two teams.
create or replace function mf.overview(of text, which bigint)
returns table (chunks bigint, embedded bigint, doubles text[])
language plpgsql stable %SAFE% as $$
declare
    r record;
begin
    select * into r from mf.readable(of);
    return query
    with seen as materialized (
        select w.id, w.name, w.chunks, w.embedded from mf.seen(r.tenant, r.teams) w
    )
    select coalesce(sum(s.chunks) filter (where which is null or s.id = which), 0)::bigint,
           coalesce(sum(s.embedded) filter (where which is null or s.id = which), 0)::bigint,
           coalesce((select array_agg(d.name) from (
               select x.name from seen x group by x.name having count(*) > 1) as d), '{}')
    from seen s;
end $$;

-- Pushing ------------------------------------------------------------------

-- Begins to push a workspace and holds its row, so that others who push the
-- same one wait. Where the caller may write another team that has this workspace,
-- it moves from there. It is the same where both have an origin, and one: names
-- alone may be two repositories', and neither replaces the other.
create or replace function mf.begin_push(of text, for_team text, named text, origin text)
returns table (id bigint, generation bigint, commit_id text, edges_hash text, identity text, next_id integer)
language plpgsql volatile %SAFE% as $$
declare
    mine record;
    others bigint[];
begin
    select r.tenant, r.team into mine from mf.rights(of) r
    where r.name = for_team and (r.writes or named = any (r.pushes));
    if mine.team is null then
        raise insufficient_privilege using message = 'you may not push this workspace for this team';
    end if;
    if named !~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,59}$' then
        raise data_exception using message = 'a workspace''s name has 1 to 60 letters, digits, `-`, `_` and `.`, and does not begin with `.`';
    end if;
    if not exists (select from mf.workspace w
                   where w.tenant = mine.tenant and w.team = mine.team and w.name = named) then
        select array_agg(r.team) into others from mf.rights(of) r where r.writes and r.team <> mine.team;
        delete from mf.workspace w where w.tenant = mine.tenant and w.team = any (others)
          and w.name = named and origin <> '' and w.identity = origin;
        insert into mf.workspace (tenant, team, name, identity, pushed_by)
        values (mine.tenant, mine.team, named, coalesce(origin, ''), session_user)
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
    return query execute format($q$
        select d.path, d.hash, d.id from %3$s d where d.tenant = %1$s and d.team = %2$s and d.workspace = $1
    $q$, w.tenant, w.team, mf.part('document', w.team)) using which;
end $$;

-- Takes documents out, with what they added to the counts of terms and of the
-- workspace.
create or replace function mf.remove_documents(of text, which bigint, docs integer[]) returns void
language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    execute format($q$
        with gone as (
            delete from %3$s c where c.tenant = %1$s and c.team = %2$s and c.workspace = $1 and c.doc = any ($2)
            returning c.terms, c.length, c.vec is not null as embedded
        ), less as (
            update %4$s as t set n = greatest(t.n - x.n, 0)
            from (select h, count(*) as n from gone, unnest(gone.terms) as h group by h) as x
            where t.tenant = %1$s and t.team = %2$s and t.workspace = $1 and t.h = x.h
        ), documents as (
            delete from %5$s d where d.tenant = %1$s and d.team = %2$s and d.workspace = $1 and d.id = any ($2)
            returning 1
        )
        update mf.workspace x set documents = x.documents - (select count(*) from documents),
            chunks = x.chunks - g.chunks, embedded = x.embedded - g.embedded, terms = x.terms - g.terms
        from (select count(*) as chunks, count(*) filter (where gone.embedded) as embedded,
              coalesce(sum(gone.length), 0)::bigint as terms from gone) as g
        where x.tenant = %1$s and x.team = %2$s and x.id = $1
    $q$, w.tenant, w.team, mf.part('chunk', w.team), mf.part('term', w.team), mf.part('document', w.team))
    using which, docs;
    execute format('delete from %s t where t.workspace = $1 and t.n <= 0', mf.part('term', w.team)) using which;
end $$;

-- What is wrong with rows is said without the server's own words: these name
-- tables, and so numbers of teams.
create or replace function mf.add_documents(of text, which bigint, ids integer[], paths text[], hashes text[],
    scopes text[], skills boolean[], titles text[], names text[], dates text[], importances smallint[],
    deprecateds boolean[], superseded text[], replaced text[], fields text[], texts text[])
returns void language plpgsql volatile %SAFE% as $$
declare
    w record;
    added bigint;
begin
    select * into w from mf.written(of, which);
    execute format($q$
        insert into %3$s (tenant, team, workspace, id, path, hash, scope, skill, title, names, date,
            importance, deprecated, superseded_by, replaced_by, fields, text)
        select %1$s, %2$s, $1, q.id, q.path, q.hash, q.scope, q.skill, q.title, q.name, q.date,
            q.importance, q.deprecated, q.superseded, q.replaced, q.field::jsonb, q.body
        from unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as q(id, path, hash, scope,
            skill, title, name, date, importance, deprecated, superseded, replaced, field, body)
    $q$, w.tenant, w.team, mf.part('document', w.team))
    using which, ids, paths, hashes, scopes, skills, titles, names, dates, importances, deprecateds,
        superseded, replaced, fields, texts;
    get diagnostics added = row_count;
    update mf.workspace x set documents = x.documents + added
    where x.tenant = w.tenant and x.team = w.team and x.id = which;
exception when integrity_constraint_violation then
    raise data_exception using message = 'these documents are malformed, or there already';
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
        with added as (
            insert into %4$s (tenant, team, workspace, id, doc, ordinal, first_line, last_line, tokens,
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
            returning length, vec is not null as embedded
        )
        update mf.workspace x set chunks = x.chunks + a.chunks, embedded = x.embedded + a.embedded,
            terms = x.terms + a.terms
        from (select count(*) as chunks, count(*) filter (where added.embedded) as embedded,
              coalesce(sum(added.length), 0)::bigint as terms from added) as a
        where x.tenant = %1$s and x.team = %2$s and x.id = $1
    $q$, w.tenant, w.team, %DIMENSIONS%, mf.part('chunk', w.team))
    using which, ids, docs, ordinals, first_lines, last_lines, tokens, lengths, scopes, skills, dates,
        headings, sizes, all_terms, all_freqs, vectored, vectors, texts;
exception when integrity_constraint_violation then
    raise data_exception using message = 'these passages are malformed, or there already';
end $$;

-- Counts are the writer's word. They weigh terms, and are held to what can be
-- when they are used.
create or replace function mf.add_terms(of text, which bigint, hs integer[], ns bigint[], terms text[])
returns void language plpgsql volatile %SAFE% as $$
declare
    w record;
begin
    select * into w from mf.written(of, which);
    execute format($q$
        insert into %3$s as t (tenant, team, workspace, h, n, term)
        select %1$s, %2$s, $1, q.h, least(greatest(q.n, 0), 2147483647), q.term
        from unnest($2, $3, $4) as q(h, n, term)
        on conflict (tenant, team, h, workspace) do update set n = least(t.n + excluded.n, 2147483647)
    $q$, w.tenant, w.team, mf.part('term', w.team)) using which, hs, ns, terms;
exception when integrity_constraint_violation then
    raise data_exception using message = 'these terms are malformed';
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

-- Ends a push: the next generation, in the name of the login that pushed. What
-- the workspace holds was counted as it came and went.
create or replace function mf.end_push(of text, which bigint, revision text, origin text, edges text, next integer)
returns bigint language plpgsql volatile %SAFE% as $$
declare
    w record;
    now_at bigint;
begin
    select * into w from mf.written(of, which);
    update mf.workspace as x set generation = x.generation + 1,
        commit_id = coalesce(revision, x.commit_id), edges_hash = coalesce(edges, ''),
        identity = case when coalesce(origin, '') = '' then x.identity else origin end,
        next_id = greatest(coalesce(next, 1), x.next_id), pushed_at = now(), pushed_by = session_user
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
language plpgsql stable %SAFE% as $$
declare
    r record;
begin
    select * into r from mf.readable(of);
    if r.tenant is null then
        return;
    end if;
    return query execute format($q$
        select d.path, d.text from %3$s d
        where d.tenant = %1$s and d.team = any (%2$L::bigint[]) and d.workspace = $1
        order by d.path collate "C"
    $q$, r.tenant, r.teams, mf.parts('document', r.teams)) using which;
end $$;

-- Words that begin with something.
create or replace function mf.beginning(of text, low text, high text, most integer) returns table (term text)
language plpgsql stable %SAFE% as $$
declare
    r record;
begin
    select * into r from mf.readable(of);
    if r.tenant is null then
        return;
    end if;
    return query execute format($q$
        select distinct t.term collate "C" from %3$s t
        where t.tenant = %1$s and t.team = any (%2$L::bigint[])
          and t.term collate "C" >= $1 and t.term collate "C" < $2
        order by 1 limit $3
    $q$, r.tenant, r.teams, mf.parts('term', r.teams)) using low, high, least(greatest(most, 0), 1000);
end $$;

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
    select sum(w.embedded) into vectors from mf.seen(r.tenant, r.teams) w where which is null or w.id = which;
    -- The caller's own tables by their names; others' are not even planned for.
    return query execute format($q$
        with stat as materialized (
            select coalesce(sum(w.chunks), 0)::float8 as n,
                   greatest(coalesce(sum(w.terms)::float8 / nullif(sum(w.chunks), 0), 1), 1) as average
            from mf.seen(%1$s, %2$L::bigint[]) w where $1::bigint is null or w.id = $1
        ),
        held as materialized (
            select t.h, sum(t.n)::float8 as df from %5$s t
            where t.tenant = %1$s and t.team = any (%2$L::bigint[]) and t.h = any ($2)
              and ($1::bigint is null or t.workspace = $1)
            group by t.h
        ),
        grouped as (
            -- The words of a prefix count as one term.
            select q.ord, q.h, q.g, q.w::float8 as w, coalesce(held.df, 0) as own,
                   greatest(least(sum(coalesce(held.df, 0)) over (partition by q.g), stat.n), 0) as df, stat.n
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
                from %4$s c, chosen, stat
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
            from %4$s c
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
                     %4$s c, unnest(chosen.hs, chosen.idfs) as q(h, idf),
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
                select c.text from %4$s c where c.tenant = %1$s and c.team = any (%2$L::bigint[])
                and c.workspace = w.workspace and c.id = w.id) end
            from words w
        union all select 'v', v.workspace, v.id, v.doc, v.cosine, 0, null from near v
        union all select 's', s.workspace, 0, s.doc, s.score, 0, null from spread s
    $q$, r.tenant, r.teams,
        -- Whatever is added to the distance keeps the index out of it.
        case when vectors > most_exact then 'c.vec operator(%VECTOR%.<#>) $10'
             else '(c.vec operator(%VECTOR%.<#>) $10) + 0' end,
        mf.parts('chunk', r.teams), mf.parts('term', r.teams))
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
        select c.workspace, c.id, c.doc from %3$s c join %4$s d
            on d.tenant = c.tenant and d.team = c.team and d.workspace = c.workspace and d.id = c.doc
        where c.tenant = %1$s and c.team = any (%2$L::bigint[])
          and d.tenant = %1$s and d.team = any (%2$L::bigint[])
          and (position($2 in lower(c.text)) > 0 or position($2 in lower(regexp_replace(
              normalize(c.text, NFKD), '[\u0300-\u036f]', '', 'g'))) > 0)
          and ($3::text[] is null or c.scope = any ($3)) and ($4::boolean[] is null or c.skill = any ($4))
          and ($5::text is null or c.date >= $5) and ($1::bigint is null or c.workspace = $1)
        order by d.path, c.workspace, c.id limit $6
    $q$, r.tenant, r.teams, mf.parts('chunk', r.teams), mf.parts('document', r.teams)) using which, needle, scopes, skills, since, greatest(most, 0);
end $$;

create or replace function mf.undated(of text, which bigint, scopes text[], skills boolean[]) returns bigint
language plpgsql stable %SAFE% as $$
declare
    r record;
    many bigint;
begin
    select * into r from mf.readable(of);
    if r.tenant is null then
        return 0;
    end if;
    execute format($q$
        select count(*) from %3$s d
        where d.tenant = %1$s and d.team = any (%2$L::bigint[]) and d.date is null
          and ($1::bigint is null or d.workspace = $1)
          and ($2::text[] is null or d.scope = any ($2)) and ($3::boolean[] is null or d.skill = any ($3))
    $q$, r.tenant, r.teams, mf.parts('document', r.teams)) into many using which, scopes, skills;
    return many;
end $$;

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
        select c.workspace, c.id, c.doc,
            (select w.name from mf.workspace w where w.tenant = %1$s and w.team = c.team and w.id = c.workspace),
            (select t.name from mf.team t where t.tenant = %1$s and t.id = c.team), d.path, d.title, d.names, c.scope, c.skill,
            c.date, d.importance, d.deprecated, d.superseded_by, d.replaced_by, c.ordinal, c.headings,
            c.first_line, c.last_line, c.tokens, c.text, c.length
        from (
            select q.workspace, q.id from unnest($1, $2) as q(workspace, id) where $3 is null
            union all
            select x.workspace, x.id from unnest($1, $3) as q(workspace, path)
            join %4$s o on o.tenant = %1$s and o.team = any (%2$L::bigint[])
                and o.workspace = q.workspace and o.path = q.path
            join %3$s x on x.tenant = %1$s and x.team = any (%2$L::bigint[])
                and x.workspace = o.workspace and x.doc = o.id and x.ordinal = 0
        ) as wanted
        join %3$s c on c.tenant = %1$s and c.team = any (%2$L::bigint[])
            and c.workspace = wanted.workspace and c.id = wanted.id
        join %4$s d on d.tenant = c.tenant and d.team = c.team and d.workspace = c.workspace and d.id = c.doc
            and d.tenant = %1$s and d.team = any (%2$L::bigint[])
    $q$, r.tenant, r.teams, mf.parts('chunk', r.teams), mf.parts('document', r.teams)) using workspaces, ids, paths;
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
