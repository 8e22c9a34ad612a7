-- The shared index. Everything is owned by `mf_owner`, which nobody logs in as;
-- people are members of `mf_reader` or `mf_writer`, and rows are theirs by the
-- policies below alone. `%DIMENSIONS%` is filled in.

create table mf.meta (key text primary key, value text not null);
create table mf.tenant (name text primary key);

-- Who may see which team's rows. Nobody is granted this table.
create table mf.member (
    tenant text not null, team text not null, login text not null, writes boolean not null,
    primary key (tenant, team, login)
);

create sequence mf.ids;

create table mf.workspace (
    tenant text not null, team text not null, id bigint not null default nextval('mf.ids'),
    name text not null, identity text not null default '',
    generation bigint not null default 0, commit_id text, edges_hash text not null default '',
    pushed_at timestamptz not null default now(), pushed_by text not null default session_user,
    documents bigint not null default 0, chunks bigint not null default 0,
    embedded bigint not null default 0, terms bigint not null default 0,
    primary key (tenant, name)
);

create table mf.document (
    tenant text not null, team text not null, workspace bigint not null, id bigint not null,
    path text not null, hash text not null, scope text not null, skill boolean not null,
    title text not null, names text not null, date text, importance smallint not null,
    deprecated boolean not null, superseded_by text, replaced_by text,
    fields jsonb not null, text text not null,
    primary key (tenant, workspace, path)
) partition by list (tenant);
create index document_id on mf.document (id);

create table mf.chunk (
    tenant text not null, team text not null, workspace bigint not null, id bigint not null,
    doc bigint not null, ordinal integer not null, first_line integer not null,
    last_line integer not null, tokens integer not null, length integer not null,
    scope text not null, skill boolean not null, date text,
    headings text not null, text text not null,
    -- Our own terms by their numbers, and how often each stands there.
    terms integer[] not null, freqs smallint[] not null,
    vec halfvec(%DIMENSIONS%),
    primary key (tenant, id)
) partition by list (tenant);
-- Scoring reads these for every candidate: they stay in the row.
alter table mf.chunk alter terms set storage main, alter freqs set storage main,
    alter vec set storage main;
create index chunk_doc on mf.chunk (doc);
create index chunk_workspace on mf.chunk (workspace);
create index chunk_terms on mf.chunk using gin (terms) with (fastupdate = off);
create index chunk_vec on mf.chunk using hnsw (vec halfvec_ip_ops);

-- A passage's terms as words, for an index that ranks. Such an index may be
-- locked from the first row that a transaction writes until its end, for all who
-- write and all who ask, so these rows are written last and have nothing else.
create table mf.ranked (
    tenant text not null, team text not null, workspace bigint not null, id bigint not null,
    scope text not null, words text not null,
    primary key (tenant, id)
) partition by list (tenant);

-- How many passages of a workspace hold a term.
create table mf.term (
    tenant text not null, team text not null, workspace bigint not null,
    h integer not null, n bigint not null, term text not null,
    primary key (tenant, workspace, h)
) partition by list (tenant);
-- All that counting reads, policies included: the index alone answers, where one
-- row of every workspace would be as many pages.
create index term_h on mf.term (h) include (tenant, team, workspace, n);
create index term_term on mf.term (term collate "C");

create table mf.edge (
    tenant text not null, team text not null, workspace bigint not null,
    source text not null, kind text not null, target text not null,
    primary key (tenant, workspace, source, kind, target)
) partition by list (tenant);

-- The caller's teams in the tenant of the transaction. It reads what the caller
-- may not, so it takes no argument and tells nothing about others.
create function mf.teams() returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select team from mf.member
    where login = session_user and tenant = current_setting('mf.tenant', true)
    union
    select 'all' from mf.member
    where login = session_user and tenant = current_setting('mf.tenant', true)
$$;
create function mf.writable() returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select team from mf.member
    where login = session_user and tenant = current_setting('mf.tenant', true) and writes
    union
    select 'all' from mf.member
    where login = session_user and tenant = current_setting('mf.tenant', true) and writes
$$;

-- Passages by their words. No index on arrays can be used below a policy, since
-- its operator might tell about rows that are not the caller's; so this one
-- looks as `mf_seeker`, who sees all rows, and has the policy inside. Whatever
-- it is given, it answers with the caller's rows alone.
create function mf.scored(
    rare integer[], also bigint[], hs integer[], idfs float8[], average float8,
    scopes text[], skills boolean[], since text, workspaces bigint[], most bigint
) returns table (id bigint, doc bigint, length integer, score float8)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select s.id, s.doc, s.length, s.score from (
        select c.id, c.doc, c.length, (
            select sum(q.idf * f * (1 + %K1%) / (f + %K1% * (1 - %B% + %B% * c.length / average)))
            from unnest(hs, idfs) as q(h, idf),
                 lateral (select c.freqs[array_position(c.terms, q.h)]::float8 as f) as z
            where f is not null
        ) as score
        from mf.chunk c
        where c.tenant = current_setting('mf.tenant', true)
          and c.team in (select mf.teams())
          and (c.terms && rare or c.id = any (also))
          and (scopes is null or c.scope = any (scopes))
          and (skills is null or c.skill = any (skills))
          and (since is null or c.date >= since)
          and (workspaces is null or c.workspace = any (workspaces))
    ) as s
    where s.score is not null
    order by s.score desc
    fetch first (most) rows with ties
$$;

revoke all on all functions in schema mf from public;
grant usage on schema mf to mf_reader, mf_seeker;
grant execute on all functions in schema mf to mf_reader;
grant execute on function mf.teams() to mf_seeker;
grant select on mf.meta, mf.workspace, mf.document, mf.chunk, mf.ranked, mf.term, mf.edge to mf_reader;
grant insert, update, delete on mf.workspace, mf.document, mf.chunk, mf.ranked, mf.term, mf.edge to mf_writer;
grant usage on sequence mf.ids to mf_writer;
grant select on mf.chunk to mf_seeker;
create policy seeks on mf.chunk for select to mf_seeker using (true);

do $$
declare
    name text;
    mine constant text := 'tenant = current_setting(''mf.tenant'', true) and team in (select mf.teams())';
    ours constant text := 'tenant = current_setting(''mf.tenant'', true) and team in (select mf.writable())';
begin
    foreach name in array array['workspace', 'document', 'chunk', 'ranked', 'term', 'edge'] loop
        execute format('alter table mf.%I enable row level security', name);
        execute format('alter table mf.%I force row level security', name);
        execute format('create policy reads on mf.%I for select to mf_reader using (%s)', name, mine);
        execute format('create policy adds on mf.%I for insert to mf_writer with check (%s)', name, ours);
        execute format('create policy changes on mf.%I for update to mf_writer using (%s) with check (%s)', name, ours, ours);
        execute format('create policy removes on mf.%I for delete to mf_writer using (%s)', name, ours);
    end loop;
end $$;
