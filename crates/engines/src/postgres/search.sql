-- Both sides of a question in one statement: by words (`t`), by meaning (`v`),
-- with what the words weigh (`d`, `n`) and what the words of a whole file come
-- to (`s`). Fusing them is the asker's business.
with stat as materialized (
    select coalesce(sum(chunks), 0)::float8 as n,
           greatest(coalesce(sum(terms)::float8 / nullif(sum(chunks), 0), 1), 1) as average
    from mf.workspace
    where $10::bigint[] is null or id = any ($10)
),
held as (
    select * from unnest($13::integer[], $14::float8[]) as q(h, df)
),
grouped as (
    -- The words of a prefix count as one term.
    select q.ord, q.h, q.g, q.w::float8 as w, coalesce(held.df, 0) as own,
           least(sum(coalesce(held.df, 0)) over (partition by q.g), stat.n) as df, stat.n
    from unnest($1::integer[], $2::integer[], $3::real[]) with ordinality as q(h, g, w, ord)
    cross join stat left join held on held.h = q.h
),
weighed as materialized (
    select *, w * ln(1 + (n - df + 0.5) / (df + 0.5)) as idf,
           sum(own) over (order by own, ord) as upto
    from grouped
),
-- Rare words choose the candidates; all words score them. Where no index ranks,
-- the rarest does however common it is.
chosen as materialized (
    select coalesce(array_agg(h) filter (where own > 0 and (upto <= $4::float8 or not %RANKS% and upto = own)), '{}') as rare,
           coalesce(max(upto), 0) > $4 as more,
           coalesce(array_agg(h order by ord) filter (where own > 0), '{}') as hs,
           coalesce(array_agg(idf order by ord) filter (where own > 0), '{}') as idfs
    from weighed
),
also as materialized (%ALSO%),
words as materialized (
    select s.*, row_number() over (order by s.score desc, s.id) as place
    from chosen, stat, mf.scored(chosen.rare, (select array_agg(id) from also), chosen.hs, chosen.idfs,
        stat.average, $6::text[], $7::boolean[], $8::text, $10::bigint[], $5::bigint) as s
),
near as materialized (
    select c.id, c.doc, -(c.vec <#> $9::halfvec)::float8 as cosine
    from mf.chunk c
    where $9::halfvec is not null and c.vec is not null
      and ($6::text[] is null or c.scope = any ($6)) and ($7::boolean[] is null or c.skill = any ($7))
      and ($8::text is null or c.date >= $8) and ($10::bigint[] is null or c.workspace = any ($10))
    order by %NEAREST% limit $11::bigint
),
spread as (
    select doc, sum(best) as score from (
        select c.doc, q.h, max(q.idf * f * (1 + %K1%) / (f + %K1% * (1 - %B% + %B% * c.length / stat.average))) as best
        from stat, chosen, mf.chunk c, unnest(chosen.hs, chosen.idfs) as q(h, idf),
             lateral (select c.freqs[array_position(c.terms, q.h)]::float8 as f) as z
        where $12::boolean and c.doc in (select doc from words)
          and f is not null
        group by c.doc, q.h
    ) as best group by doc
)
select 'n' as side, 0::bigint as id, 0::bigint as doc, n as score, average as extra, null::text as text from stat
-- What the ranking index brought, and whether it was asked.
union all select 'a', (select count(*) from also), 0, case when more then 1 else 0 end, 0, null from chosen
union all select 'd', g, 0, df, idf, null from weighed
union all select 't', w.id, w.doc, w.score, w.length,
    case when w.place <= %MOST_READ% then (select c.text from mf.chunk c where c.id = w.id) end from words w
union all select 'v', id, doc, cosine, 0, null from near
union all select 's', 0, doc, score, 0, null from spread
