-- The shared index. Everything is owned by a role that nobody logs in as. Other
-- logins have no right on any table: the functions in `functions.sql` are the
-- only door, and each begins with what its caller may see.
--
-- Tenants and teams are random numbers here, because the catalogue shows the
-- names and bounds of partitions to every login. `%DIMENSIONS%` and `%VECTOR%`
-- (the schema of pgvector) are filled in.

-- Sixty random bits: nobody can guess a number that is not theirs, and none
-- tells how many there are.
create function mf.random_id() returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select ('x' || replace(left(gen_random_uuid()::text, 18), '-', ''))::bit(64)::bigint
        & 9223372036854775807
$$;

create table mf.meta (key text primary key, value text not null);

create table mf.tenant (
    id bigint primary key default mf.random_id(),
    name text not null unique
);

-- Everybody in a tenant reads its team `all`.
create table mf.team (
    tenant bigint not null references mf.tenant on delete cascade,
    id bigint not null default mf.random_id(),
    name text not null,
    primary key (tenant, id),
    unique (tenant, name)
);

-- A member is a role by its number and its name: somebody who later gets the
-- same name, or whose role gets another one, is somebody else. Where `is_group`
-- is set, whoever the server counts as a member of that role is meant. `pushes`
-- names the one workspace that may be pushed; such a member reads nothing.
create table mf.member (
    tenant bigint not null, team bigint not null,
    role oid not null, name text not null, is_group boolean not null default false,
    writes boolean not null, pushes text not null default '',
    added_at timestamptz not null default now(), added_by text not null default session_user,
    primary key (tenant, team, role, pushes),
    foreign key (tenant, team) references mf.team (tenant, id) on delete cascade
);
-- A caller's rights are found by the caller alone: what other tenants' lists
-- hold is not even read.
create index member_role on mf.member (role);

create table mf.workspace (
    tenant bigint not null, team bigint not null, id bigint not null default mf.random_id(),
    -- As in `memory-forge.toml`: with a `/` it could look like another team's.
    name text not null check (name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,59}$'),
    identity text not null default '',
    generation bigint not null default 0, commit_id text, edges_hash text not null default '',
    pushed_at timestamptz not null default now(), pushed_by text not null default session_user,
    documents bigint not null default 0, chunks bigint not null default 0,
    embedded bigint not null default 0, terms bigint not null default 0,
    next_id integer not null default 1,
    primary key (tenant, team, id),
    unique (tenant, team, name),
    foreign key (tenant, team) references mf.team (tenant, id) on delete cascade
);

-- Documents, passages and terms of each team are in tables of their own, so that
-- a question costs what its asker may see, and reads nothing else.
create table mf.document (
    tenant bigint not null, team bigint not null, workspace bigint not null, id integer not null,
    path text not null, hash text not null, scope text not null, skill boolean not null,
    title text not null, names text not null, date text, importance smallint not null,
    deprecated boolean not null, superseded_by text, replaced_by text,
    fields jsonb not null, text text not null,
    primary key (tenant, team, workspace, id),
    unique (tenant, team, workspace, path),
    foreign key (tenant, team, workspace) references mf.workspace on delete cascade
) partition by list (team);
create index document_undated on mf.document (tenant, team, workspace) include (scope, skill) where date is null;

create table mf.chunk (
    tenant bigint not null, team bigint not null, workspace bigint not null, id integer not null,
    doc integer not null, ordinal integer not null, first_line integer not null,
    last_line integer not null, tokens integer not null, length integer not null,
    scope text not null, skill boolean not null, date text,
    headings text not null, text text not null,
    -- Our own terms by their numbers, and how often each stands there.
    terms integer[] not null, freqs smallint[] not null,
    vec %VECTOR%.halfvec(%DIMENSIONS%),
    -- A row that scoring stumbles over would stop every search that meets it.
    constraint chunk_sound check (
        cardinality(terms) = cardinality(freqs) and coalesce(array_ndims(terms), 1) = 1
        and coalesce(array_ndims(freqs), 1) = 1 and array_position(terms, null) is null
        and array_position(freqs, null) is null and 0 < all (freqs) and length >= 0
        and ordinal >= 0 and first_line >= 0 and last_line >= 0 and tokens >= 0),
    primary key (tenant, team, workspace, id),
    foreign key (tenant, team, workspace) references mf.workspace on delete cascade
) partition by list (team);
-- Scoring reads these for every candidate: they stay in the row.
alter table mf.chunk alter terms set storage main, alter freqs set storage main,
    alter vec set storage main;
create index chunk_doc on mf.chunk (workspace, doc);
create index chunk_terms on mf.chunk using gin (terms) with (fastupdate = off);
create index chunk_vec on mf.chunk using hnsw (vec %VECTOR%.halfvec_ip_ops);

-- How many passages of a workspace hold a term. The index alone answers how
-- many there are in all that somebody may see.
create table mf.term (
    tenant bigint not null, team bigint not null, workspace bigint not null,
    h integer not null, n bigint not null check (n >= 0), term text not null,
    primary key (tenant, team, h, workspace) include (n),
    foreign key (tenant, team, workspace) references mf.workspace on delete cascade
) partition by list (team);
create index term_workspace on mf.term (workspace, h);
create index term_term on mf.term (tenant, team, term collate "C");

create table mf.edge (
    tenant bigint not null, team bigint not null, workspace bigint not null,
    source text not null, kind text not null, target text not null,
    primary key (tenant, team, workspace, source, kind, target),
    foreign key (tenant, team, workspace) references mf.workspace on delete cascade
);

-- A right on a table that somebody grants by mistake shows nothing: without a
-- policy no row is visible to anyone but the owner.
alter table mf.meta enable row level security;
alter table mf.tenant enable row level security;
alter table mf.team enable row level security;
alter table mf.member enable row level security;
alter table mf.workspace enable row level security;
alter table mf.document enable row level security;
alter table mf.chunk enable row level security;
alter table mf.term enable row level security;
alter table mf.edge enable row level security;
