//! Creates and upgrades the tables and functions of the shared index, and
//! checks that this version supports them.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use forge_memory::wire::{InitReport, TeamMember, UpgradeReport};

use super::admin;
use super::{PostgresEngine, PostgresError};

/// Format version that this program writes. It increases when tables change,
/// with a step in `upgrade` that converts the previous one in place.
pub(super) const SCHEMA_VERSION: u32 = 3;

/// Oldest format version whose programs can read this one.
const MIN_READER_VERSION: u32 = 3;

const TABLES_SQL: &str = include_str!("schema.sql");
const FUNCTIONS_SQL: &str = include_str!("functions.sql");
const FROM_FORMAT_2_SQL: &str = include_str!("from_two.sql");

/// Settings of every function that runs as the owner. They override settings of
/// the caller that print or change plans: with a plan of their choice, callers
/// could count rows that they may not see. Tables that all tenants share are
/// read through an index only, even while they are small.
const OWNER_FUNCTION_SETTINGS: &str = "security definer set search_path = pg_catalog, pg_temp \
    set client_min_messages = warning set debug_print_parse = off \
    set debug_print_rewritten = off set debug_print_plan = off \
    set plan_cache_mode = force_custom_plan set enable_partition_pruning = on \
    set max_parallel_workers_per_gather = 0 set jit = off set geqo = off \
    set enable_seqscan = off set enable_indexscan = on set enable_indexonlyscan = on \
    set enable_bitmapscan = on set enable_tidscan = on set enable_nestloop = on \
    set enable_hashjoin = on set enable_mergejoin = on set enable_material = on \
    set enable_memoize = on set enable_sort = on set enable_incremental_sort = on \
    set enable_hashagg = on set enable_async_append = on \
    set enable_partitionwise_join = off set enable_partitionwise_aggregate = off \
    set constraint_exclusion = partition set from_collapse_limit = 8 \
    set join_collapse_limit = 8 set cursor_tuple_fraction = 0.1 \
    set recursive_worktable_factor = 10 set seq_page_cost = 1 set random_page_cost = 4 \
    set cpu_tuple_cost = 0.01 set cpu_index_tuple_cost = 0.005 set cpu_operator_cost = 0.0025 \
    set effective_cache_size = '4GB' set work_mem = '64MB' set hash_mem_multiplier = 2";

/// Settings of functions that only those call. They read shared tables one key
/// at a time, whatever the statistics of these tables are.
const INTERNAL_FUNCTION_SETTINGS: &str = "set search_path = pg_catalog, pg_temp set enable_seqscan = off \
    set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off";

/// Additional settings of a search: the nearest vectors come first although
/// rows of other workspaces are filtered out on the way.
const VECTOR_SEARCH_SETTINGS: &str = "set hnsw.iterative_scan = strict_order set hnsw.ef_search = 400 \
    set hnsw.max_scan_tuples = 40000";

/// Facts about the server and the caller.
#[derive(Debug, Default)]
pub(super) struct SchemaInfo {
    pub(super) version: u32,
    /// The oldest format version whose programs may read here.
    reads: u32,
    pub(super) model: String,
    pub(super) teams: Vec<String>,
}

/// Purpose of an operation, which decides the format versions that it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessPurpose {
    Read,
    Write,
}

/// Fails for a format version that this program does not support.
pub(super) async fn check_format(
    client: &Client,
    tenant: &str,
    purpose: AccessPurpose,
) -> Result<SchemaInfo, PostgresError> {
    let known = read_schema_info(client, tenant).await?.ok_or_else(|| {
        PostgresError::failure(
            "The shared index does not exist yet",
            "`memory-forge engine init` prepares the server, once",
        )
    })?;
    if known.version > SCHEMA_VERSION
        && (known.reads > SCHEMA_VERSION || purpose == AccessPurpose::Write)
    {
        return Err(PostgresError::failure(
            format!(
                "The shared index was made by a newer version (format {}, this one knows {SCHEMA_VERSION})",
                known.version
            ),
            "Update memory-forge; nothing was read or changed",
        ));
    }
    if known.version < SCHEMA_VERSION {
        return Err(PostgresError::failure(
            format!(
                "The shared index was made by an older version (format {}, this one writes {SCHEMA_VERSION})",
                known.version
            ),
            "The server's administrator upgrades it with `memory-forge engine upgrade`",
        ));
    }
    Ok(known)
}

/// Reads the facts; `None` without an index.
async fn read_schema_info(
    client: &Client,
    tenant: &str,
) -> Result<Option<SchemaInfo>, PostgresError> {
    let there =
        "select to_regprocedure('mf.about(text)') is not null, to_regclass('mf.meta') is not null";
    let row = client.query_typed(there, &[]).await?;
    let [row] = &row[..] else { return Ok(None) };
    let sql = match (row.get(0), row.get(1)) {
        (true, _) => "select key, value from mf.about($1)",
        // Before format 3 everybody could read this table.
        (false, true) => "select key, value from mf.meta where $1 = $1",
        (false, false) => return Ok(None),
    };
    let mut known = SchemaInfo::default();
    for row in client.query_typed(sql, &[(&tenant, Type::TEXT)]).await? {
        let value: String = row.get(1);
        match row.get(0) {
            "schema" => known.version = value.parse().unwrap_or(0),
            "reads" => known.reads = value.parse().unwrap_or(u32::MAX),
            "model" => known.model = value,
            "team" => known.teams.push(value),
            _ => {}
        }
    }
    known.teams.sort();
    Ok(Some(known))
}

impl PostgresEngine {
    /// Prepares the server, the tenant and its members. Existing objects are
    /// neither dropped nor changed.
    pub fn prepare_server(
        &self,
        model: &str,
        dimensions: usize,
        members: &[TeamMember],
    ) -> Result<InitReport, PostgresError> {
        let tenant = self.tenant.clone();
        self.run_transaction("", async |client| {
            let mut done = InitReport::default();
            match read_schema_info(client, &tenant).await? {
                None => {
                    create_shared_index(client, model, dimensions).await?;
                    done.created = true;
                }
                Some(_) => {
                    let known = check_format(client, &tenant, AccessPurpose::Write).await?;
                    if known.model != format!("{model}/{dimensions}") {
                        done.notes.push(format!(
                            "The shared index has vectors of the model `{}`; workspaces with another model are found by keywords only",
                            known.model
                        ));
                    }
                }
            }
            admin::act_as_owner(client).await?;
            admin::ensure_tenant(client, &tenant).await?;
            client.batch_execute("reset role").await?;
            for member in members {
                admin::insert_member(client, &tenant, member, &mut done).await?;
            }
            done.notes.extend(harden_catalogs(client).await?);
            Ok(done)
        })
    }

    /// Upgrades an older format in place, in one transaction: until it ends,
    /// others see the previous format.
    pub fn upgrade_schema(&self) -> Result<UpgradeReport, PostgresError> {
        let tenant = self.tenant.clone();
        self.run_transaction("", async |client| {
            let nothing = || {
                PostgresError::failure(
                    "The shared index does not exist yet",
                    "`memory-forge engine init` prepares the server, once",
                )
            };
            let known = read_schema_info(client, &tenant).await?.ok_or_else(nothing)?;
            let mut done = UpgradeReport {
                from: known.version,
                to: SCHEMA_VERSION,
                ..UpgradeReport::default()
            };
            match known.version {
                2 => upgrade_from_format_2(client, &known.model, &mut done).await?,
                SCHEMA_VERSION => {
                    // The same tables; the functions may be of another build.
                    let vector = find_vector_schema(client).await?;
                    let dimensions = parse_dimensions(&known.model)?;
                    admin::act_as_owner(client).await?;
                    client
                        .batch_execute(&fill_template(FUNCTIONS_SQL, &vector, dimensions))
                        .await?;
                    admin::lock_administration(client).await?;
                    admin::create_missing_partitions(client).await?;
                    client.batch_execute("reset role").await?;
                }
                newer if newer > SCHEMA_VERSION => {
                    check_format(client, &tenant, AccessPurpose::Write).await?;
                }
                old => {
                    return Err(PostgresError::failure(
                        format!("Format {old} cannot be brought forward"),
                        "`memory-forge engine drop --everything` takes it away; then `engine init`, and push each workspace again",
                    ));
                }
            }
            done.notes.extend(harden_catalogs(client).await?);
            Ok(done)
        })
    }

    /// Lists the tenants that dropping everything would affect.
    pub fn list_tenant_names(&self) -> Result<Vec<String>, PostgresError> {
        self.run_transaction("", async |client| {
            if read_schema_info(client, &self.tenant).await?.is_none() {
                return Ok(Vec::new());
            }
            admin::act_as_owner(client).await?;
            let rows = client
                .query_typed("select name from mf.tenant order by name", &[])
                .await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    /// Drops everything, with all tenants.
    pub fn drop_everything(&self) -> Result<(), PostgresError> {
        self.run_transaction("", async |client| {
            if read_schema_info(client, &self.tenant).await?.is_none() {
                return Ok(());
            }
            // An administrator may be the owner without inheriting its rights.
            admin::act_as_owner(client).await?;
            client
                .batch_execute("drop schema if exists mf cascade")
                .await?;
            Ok(())
        })
    }
}

/// Replaces the placeholders of the SQL templates.
fn fill_template(sql: &str, vector: &str, dimensions: usize) -> String {
    sql.replace("%SAFE%", OWNER_FUNCTION_SETTINGS)
        .replace("%INTERNAL%", INTERNAL_FUNCTION_SETTINGS)
        .replace("%SEEKS%", VECTOR_SEARCH_SETTINGS)
        .replace("%VECTOR%", &quote_identifier(vector))
        .replace("%DIMENSIONS%", &dimensions.to_string())
        .replace("%K1%", &forge_store::index::BM25_K1.to_string())
        .replace("%B%", &forge_store::index::BM25_B.to_string())
        .replace(
            "%MOST_READ%",
            &forge_store::index::MAX_REREAD_HITS.to_string(),
        )
}

/// Fails unless the database is UTF-8: words of all languages are stored, and
/// another encoding would refuse some push later.
async fn check_encoding(client: &Client) -> Result<(), PostgresError> {
    let sql = "select current_setting('server_encoding'), current_database()::text";
    let rows = client.query_typed(sql, &[]).await?;
    let (encoding, database): (String, String) = rows
        .first()
        .map_or_else(Default::default, |row| (row.get(0), row.get(1)));
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(PostgresError::failure(
        format!("The database `{database}` has the encoding {encoding}, and UTF8 is needed"),
        "`createdb --encoding UTF8 --template template0 NAME` makes one that has it",
    ))
}

/// Creates all tables and functions.
async fn create_shared_index(
    client: &Client,
    model: &str,
    dimensions: usize,
) -> Result<(), PostgresError> {
    check_encoding(client).await?;
    ensure_pgvector(client).await?;
    let vector = find_vector_schema(client).await?;
    admin::create_schema(client, &vector).await?;
    admin::act_as_owner(client).await?;
    let tables = fill_template(TABLES_SQL, &vector, dimensions);
    let functions = fill_template(FUNCTIONS_SQL, &vector, dimensions);
    client
        .batch_execute(&format!("{tables} {functions}"))
        .await?;
    write_meta(client, &format!("{model}/{dimensions}")).await?;
    client.batch_execute("reset role").await?;
    Ok(())
}

/// Stores the format version and the model.
async fn write_meta(client: &Client, model: &str) -> Result<(), PostgresError> {
    let sql =
        "insert into mf.meta (key, value) values ('schema', $1), ('reads', $2), ('model', $3)";
    client
        .execute_typed(
            sql,
            &[
                (&SCHEMA_VERSION.to_string(), Type::TEXT),
                (&MIN_READER_VERSION.to_string(), Type::TEXT),
                (&model, Type::TEXT),
            ],
        )
        .await?;
    Ok(())
}

/// Parses the numbers of a version.
fn parse_version(version: &str) -> Vec<u32> {
    version.split('.').map_while(|it| it.parse().ok()).collect()
}

/// Creates the extension pgvector. Fails if it is missing or too old.
async fn ensure_pgvector(client: &Client) -> Result<(), PostgresError> {
    let sql = "select coalesce(installed_version, default_version), installed_version is not null
         from pg_available_extensions where name = 'vector'";
    let found = client.query_typed(sql, &[]).await?;
    let version: String = found.first().map_or_else(String::new, |row| row.get(0));
    if !is_new_enough(&version) {
        return Err(PostgresError::failure(
            match version.as_str() {
                "" => "The server has no pgvector".to_owned(),
                old => format!("The server has pgvector {old}, and 0.8 is needed"),
            },
            "Install pgvector 0.8 or later on the server (and `alter extension vector update` where an older one is in use), or ask your provider for it",
        ));
    }
    client
        // The schema is named, because the search path of this transaction does
        // not have `public`.
        .batch_execute("create extension if not exists vector schema public")
        .await
        .map_err(|error| match error.code() {
            Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE) => PostgresError::failure(
                format!("pgvector cannot be set up: {}", super::error_message(&error)),
                "A superuser runs `create extension vector` in this database, once; then run `engine init` again",
            ),
            _ => error.into(),
        })
}

/// Returns `true` if this version of pgvector has what searches need.
pub(super) fn is_new_enough(pgvector: &str) -> bool {
    parse_version(pgvector) >= vec![0, 8]
}

/// Returns the schema of pgvector's types and operators, and loads its library,
/// which defines its settings.
async fn find_vector_schema(client: &Client) -> Result<String, PostgresError> {
    let sql =
        "select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace
         where e.extname = 'vector'";
    let rows = client.query_typed(sql, &[]).await?;
    let row = rows.first().ok_or_else(|| {
        PostgresError::failure(
            "This database has no pgvector",
            "`create extension vector` by a superuser",
        )
    })?;
    let schema: String = row.get(0);
    // Its settings are known once its library is loaded.
    let load = format!("select '[1]'::{}.halfvec", quote_identifier(&schema));
    client.batch_execute(&load).await?;
    Ok(schema)
}

/// Parses the dimensions in the name of a model.
fn parse_dimensions(model: &str) -> Result<usize, PostgresError> {
    let number = model.rsplit_once('/').and_then(|(_, it)| it.parse().ok());
    number.ok_or_else(|| {
        PostgresError::failure(
            format!("The model there, `{model}`, has no number of dimensions"),
            "`memory-forge engine drop --everything`, then `engine init`",
        )
    })
}

/// Upgrades from format 2, which had a table for each tenant, rights on the
/// tables, and rows without a reference to their workspace: rows that match
/// none are dropped.
async fn upgrade_from_format_2(
    client: &Client,
    model: &str,
    done: &mut UpgradeReport,
) -> Result<(), PostgresError> {
    let dimensions = parse_dimensions(model)?;
    let vector = find_vector_schema(client).await?;
    client
        .batch_execute("alter schema mf rename to mf_format_2")
        .await?;
    admin::create_schema(client, &vector).await?;
    admin::act_as_owner(client).await?;
    let tables = fill_template(TABLES_SQL, &vector, dimensions);
    let functions = fill_template(FUNCTIONS_SQL, &vector, dimensions);
    client
        .batch_execute(&format!("{tables} {functions}"))
        .await?;
    write_meta(client, model).await?;
    client
        .batch_execute(
            "alter table mf_format_2.workspace no force row level security;
             alter table mf_format_2.document no force row level security;
             alter table mf_format_2.chunk no force row level security;
             alter table mf_format_2.term no force row level security;
             alter table mf_format_2.edge no force row level security;
             insert into mf.tenant (name) select name from mf_format_2.tenant;
             insert into mf.team (tenant, name)
             select t.id, x.team from mf.tenant t join (
                 select tenant, team from mf_format_2.member
                 union select tenant, team from mf_format_2.workspace
                 union select name, 'all' from mf_format_2.tenant) as x on x.tenant = t.name",
        )
        .await?;
    admin::create_missing_partitions(client).await?;
    client
        .batch_execute(&fill_template(FROM_FORMAT_2_SQL, &vector, dimensions))
        .await?;
    let rows = client
        .query_typed("select count(*) from mf.workspace", &[])
        .await?;
    done.workspaces = rows.first().map_or(0, |row| row.get::<_, i64>(0) as u64);
    client.batch_execute("reset role").await?;
    admin::act_as_owner_of(client, "mf_format_2").await?;
    client
        .batch_execute("drop schema mf_format_2 cascade")
        .await?;
    client.batch_execute("reset role").await?;
    done.notes.push(
        "Format 2 let writers of a tenant add passages to documents of the team `all`, and these cannot be distinguished: the next push of each workspace replaces all that it has there".to_owned(),
    );
    done.notes.push(
        "`all` is now written by those alone who are its members: `engine member add LOGIN --team all`".to_owned(),
    );
    Ok(())
}

/// Hides statistics and other logins from members. PostgreSQL shows both to
/// every login, and only a superuser can change that, for one database at a
/// time; so it is done only if this database contains nothing else.
async fn harden_catalogs(client: &Client) -> Result<Option<String>, PostgresError> {
    let sql = "select current_setting('is_superuser') = 'on',
         exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where c.relkind in ('r', 'p') and n.nspname not in ('mf', 'pg_catalog', 'information_schema')
               and n.nspname !~ '^pg_' and not exists (
                   select from pg_depend d where d.objid = c.oid and d.deptype = 'e')),
         has_function_privilege('public', 'pg_catalog.pg_stat_get_live_tuples(oid)', 'execute')";
    let rows = client.query_typed(sql, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let (is_superuser, is_shared, is_open): (bool, bool, bool) =
        (row.get(0), row.get(1), row.get(2));
    if is_superuser {
        // Rights are found by these, also where everybody else may not read them.
        let grant = "do $$ begin
             execute format('grant select on pg_catalog.pg_roles, pg_catalog.pg_auth_members to %s',
                 (select nspowner::regrole from pg_namespace where nspname = 'mf'));
             end $$";
        client.batch_execute(grant).await?;
    }
    if !is_open {
        return Ok(None);
    }
    if !is_superuser || is_shared {
        let why = if is_shared {
            "other tables are in this database"
        } else {
            "only a superuser can change that"
        };
        return Ok(Some(format!(
            "PostgreSQL shows sizes of tables and names of logins to everyone who connects here ({why}); give the index a database of its own, prepared by a superuser, where that matters"
        )));
    }
    client.batch_execute(HARDEN_SQL).await?;
    Ok(None)
}

const HARDEN_SQL: &str = "
do $$
declare
    it record;
    columns text;
begin
    for it in
        select p.oid::regprocedure::text as name from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace
          and (p.proname ~ '^pg_stat_get_' or p.proname in ('pg_relation_size', 'pg_table_size',
               'pg_indexes_size', 'pg_total_relation_size', 'pg_relation_filenode', 'pg_get_userbyid',
               'pg_database_size', 'pg_tablespace_size', 'pg_lock_status', 'pg_blocking_pids',
               'pg_prepared_xact'))
    loop
        execute format('revoke execute on function %s from public', it.name);
        execute format('grant execute on function %s to pg_monitor', it.name);
    end loop;
    for it in
        select c.oid::regclass::text as name from pg_class c
        where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind = 'v'
          and (c.relname ~ '^pg_stat' or c.relname in ('pg_roles', 'pg_user', 'pg_group', 'pg_locks'))
          and c.relname <> 'pg_stats'
    loop
        execute format('revoke select on %s from public', it.name);
        execute format('grant select on %s to pg_monitor', it.name);
    end loop;
    revoke select on pg_catalog.pg_auth_members from public;
    select string_agg(quote_ident(attname), ', ') into columns from pg_attribute
    where attrelid = 'pg_catalog.pg_class'::regclass and not attisdropped
      and attname not in ('reltuples', 'relpages', 'relallvisible', 'relallfrozen');
    revoke select on pg_catalog.pg_class from public;
    grant select on pg_catalog.pg_class to pg_monitor;
    execute format('grant select (%s) on pg_catalog.pg_class to public', columns);
end $$";

/// Quotes an identifier.
pub(super) fn quote_identifier(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(quote_identifier("a\"; drop"), "\"a\"\"; drop\"");
    }

    #[test]
    fn nothing_is_left_open_in_what_is_sent() {
        for sql in [TABLES_SQL, FUNCTIONS_SQL, FROM_FORMAT_2_SQL] {
            let sent = fill_template(sql, "public", 256);
            let open = sent.split('%').skip(1).step_by(2);
            let names = open.filter(|it| {
                it.len() > 1 && it.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            });
            assert_eq!(names.count(), 0);
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_new_enough("0.8.0") && is_new_enough("0.10") && is_new_enough("1.0"));
        assert!(!is_new_enough("0.7.4") && !is_new_enough(""));
    }
}
