-- Rows of format 2, which lie in `mf_format_2` by now. Only rows that fit their
-- workspace come along: there, a writer could plant rows in another's.

insert into mf.member (tenant, team, role, name, writes)
select t.id, g.id, r.oid, r.rolname, m.writes
from mf_format_2.member m
join mf.tenant t on t.name = m.tenant
join mf.team g on g.tenant = t.id and g.name = m.team
join pg_catalog.pg_roles r on r.rolname = m.login;

create temporary table moved on commit drop as
select w.tenant as old_tenant, w.team as old_team, w.id as old_id, t.id as tenant, g.id as team,
       mf.random_id() as id
from mf_format_2.workspace w
join mf.tenant t on t.name = w.tenant
join mf.team g on g.tenant = t.id and g.name = w.team;

insert into mf.workspace (tenant, team, id, name, identity, generation, commit_id, pushed_at, pushed_by)
select m.tenant, m.team, m.id, w.name, w.identity, w.generation, w.commit_id, w.pushed_at, w.pushed_by
from mf_format_2.workspace w join moved m on m.old_id = w.id;

create temporary table numbered on commit drop as
select m.tenant, m.team, m.id as workspace, d.id as old_id,
       row_number() over (partition by d.workspace order by d.id)::integer as id
from mf_format_2.document d join moved m
    on m.old_id = d.workspace and m.old_tenant = d.tenant and m.old_team = d.team;
create unique index on numbered (old_id);
analyze numbered;

insert into mf.document (tenant, team, workspace, id, path, hash, scope, skill, title, names, date,
    importance, deprecated, superseded_by, replaced_by, fields, text)
select n.tenant, n.team, n.workspace, n.id, d.path, d.hash, d.scope, d.skill, d.title, d.names, d.date,
    d.importance, d.deprecated, d.superseded_by, d.replaced_by, d.fields, d.text
from mf_format_2.document d join numbered n on n.old_id = d.id;

insert into mf.chunk (tenant, team, workspace, id, doc, ordinal, first_line, last_line, tokens, length,
    scope, skill, date, headings, text, terms, freqs, vec)
select n.tenant, n.team, n.workspace,
    row_number() over (partition by n.workspace order by c.id)::integer, n.id, c.ordinal, c.first_line,
    c.last_line, c.tokens, c.length, c.scope, c.skill, c.date, c.headings, c.text, c.terms, c.freqs, c.vec
from mf_format_2.chunk c
join mf_format_2.document d on d.id = c.doc and d.workspace = c.workspace and d.tenant = c.tenant and d.team = c.team
join numbered n on n.old_id = c.doc;

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
