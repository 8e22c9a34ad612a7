-- Rows of format 2, which lie in `mf_format_2` by now. Only rows that fit their
-- workspace come along: there, a writer could plant rows in another's.

insert into mf.member (tenant, team, role, name, writes)
select t.id, g.id, r.oid, r.rolname, m.writes
from mf_format_2.member m
join mf.tenant t on t.name = m.tenant
join mf.team g on g.tenant = t.id and g.name = m.team
join pg_catalog.pg_roles r on r.rolname = m.login;

-- Nothing that a writer could choose is a key here by itself: numbers may stand
-- twice, so rows are found by their tenant, team and workspace as well, and
-- workspaces and documents by their names.
create temporary table moved on commit drop as
select w.tenant as old_tenant, w.team as old_team, w.id as old_id, w.name as old_name,
       t.id as tenant, g.id as team, mf.random_id() as id
from mf_format_2.workspace w
join mf.tenant t on t.name = w.tenant
join mf.team g on g.tenant = t.id and g.name = w.team;

insert into mf.workspace (tenant, team, id, name, identity, generation, commit_id, pushed_at, pushed_by)
select m.tenant, m.team, m.id,
    case when w.name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,59}$' then w.name else 'unnamed-' || to_hex(m.id) end,
    w.identity, w.generation, w.commit_id, w.pushed_at, w.pushed_by
from mf_format_2.workspace w
join moved m on m.old_tenant = w.tenant and m.old_team = w.team and m.old_name = w.name;

create temporary table numbered on commit drop as
select m.tenant, m.team, m.id as workspace, d.tenant as old_tenant, d.team as old_team,
       d.workspace as old_workspace, d.path, d.id as old_id,
       row_number() over (partition by m.id order by d.path collate "C")::integer as id,
       row_number() over (partition by m.id, d.id order by d.path collate "C") = 1 as has_passages
from mf_format_2.document d join moved m
    on m.old_id = d.workspace and m.old_tenant = d.tenant and m.old_team = d.team;
create index on numbered (old_workspace, old_id);
analyze numbered;

-- Without a hash, so that the next push replaces each: a passage that somebody
-- else added to a document of the team `all` looks like its own.
insert into mf.document (tenant, team, workspace, id, path, hash, scope, skill, title, names, date,
    importance, deprecated, superseded_by, replaced_by, fields, text)
select n.tenant, n.team, n.workspace, n.id, d.path, '', d.scope, d.skill, d.title, d.names, d.date,
    d.importance, d.deprecated, d.superseded_by, d.replaced_by, d.fields, d.text
from mf_format_2.document d join numbered n on n.old_tenant = d.tenant and n.old_team = d.team
    and n.old_workspace = d.workspace and n.path = d.path;

insert into mf.chunk (tenant, team, workspace, id, doc, ordinal, first_line, last_line, tokens, length,
    scope, skill, date, headings, text, terms, freqs, vec)
select n.tenant, n.team, n.workspace,
    row_number() over (partition by n.workspace order by c.id)::integer, n.id, c.ordinal, c.first_line,
    c.last_line, c.tokens, c.length, c.scope, c.skill, c.date, c.headings, c.text, c.terms, c.freqs, c.vec
from mf_format_2.chunk c
join numbered n on n.old_tenant = c.tenant and n.old_team = c.team and n.old_workspace = c.workspace
    and n.old_id = c.doc and n.has_passages
-- What `chunk_sound` refuses stays behind.
where cardinality(c.terms) = cardinality(c.freqs) and coalesce(array_ndims(c.terms), 1) = 1
  and coalesce(array_ndims(c.freqs), 1) = 1 and array_position(c.terms, null) is null
  and array_position(c.freqs, null) is null and 0 < all (c.freqs) and c.length >= 0
  and c.ordinal >= 0 and c.first_line >= 0 and c.last_line >= 0 and c.tokens >= 0;

-- Counted again, so that what was planted does not count.
insert into mf.term (tenant, team, workspace, h, n, term)
select x.tenant, x.team, x.workspace, x.h, x.n, t.term
from (
    select c.tenant, c.team, c.workspace, h, count(*) as n
    from mf.chunk c, unnest(c.terms) as h group by 1, 2, 3, 4
) as x
join moved m on m.id = x.workspace
join mf_format_2.term t on t.workspace = m.old_id and t.h = x.h and t.tenant = m.old_tenant and t.team = m.old_team;

insert into mf.edge (tenant, team, workspace, source, kind, target)
select m.tenant, m.team, m.id, e.source, e.kind, e.target
from mf_format_2.edge e join moved m
    on m.old_id = e.workspace and m.old_tenant = e.tenant and m.old_team = e.team
on conflict do nothing;

update mf.workspace w set
    documents = (select count(*) from mf.document d where d.workspace = w.id and d.tenant = w.tenant and d.team = w.team),
    chunks = x.chunks, embedded = x.embedded, terms = x.terms,
    next_id = 1 + greatest(x.last, (
        select coalesce(max(d.id), 0) from mf.document d where d.workspace = w.id and d.tenant = w.tenant and d.team = w.team))
from (
    select m.id, count(c.id) as chunks, count(c.vec) as embedded, coalesce(sum(c.length), 0) as terms,
           coalesce(max(c.id), 0) as last
    from moved m left join mf.chunk c on c.tenant = m.tenant and c.team = m.team and c.workspace = m.id
    group by m.id
) as x
where x.id = w.id;
