//! Checks whether an installation is as `engine init` leaves it: rights, roles,
//! indexes, versions, replicas.

use tokio_postgres::error::SqlState;

use forge_memory::wire::{FindingSeverity, InstallationFinding};

use super::schema::{self, AccessPurpose};
use super::{PostgresEngine, PostgresError, admin};

/// A query whose every row is a finding: message and advice. A row with `null`
/// is none.
struct InstallationCheck {
    severity: FindingSeverity,
    sql: &'static str,
}

const INSTALLATION_CHECKS: &[InstallationCheck] = &[
    // Rights that are too wide.
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'Another role has a right on the table ' || c.oid::regclass || ': '
                 || string_agg(distinct coalesce(nullif(a.grantee, 0)::regrole::text, 'public') || ' ' || a.privilege_type, ', '),
                 'revoke all on table ' || c.oid::regclass || ' from '
                 || string_agg(distinct coalesce(nullif(a.grantee, 0)::regrole::text, 'public'), ', ')
             from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'mf',
                 lateral aclexplode(c.relacl) a
             where c.relkind in ('r', 'p') and a.grantee <> n.nspowner group by c.oid",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'Another role has a right on columns of ' || c.oid::regclass,
                 'revoke all on ' || c.oid::regclass || ' from '
                 || string_agg(distinct coalesce(nullif(x.grantee, 0)::regrole::text, 'public'), ', ')
             from pg_attribute a join pg_class c on c.oid = a.attrelid
             join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'mf',
                 lateral aclexplode(a.attacl) x
             where x.grantee <> n.nspowner group by c.oid",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select coalesce(nullif(a.grantee, 0)::regrole::text, 'public') || ' may create objects in the schema mf',
                 'revoke create on schema mf from ' || coalesce(nullif(a.grantee, 0)::regrole::text, 'public')
             from pg_namespace n, lateral aclexplode(n.nspacl) a
             where n.nspname = 'mf' and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner",
    },
    // Ours does not look there, and other programs of an administrator do.
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select coalesce(nullif(a.grantee, 0)::regrole::text, 'public') || ' may create objects in the schema public, where an administrator''s psql would find them',
                 'revoke create on schema public from ' || coalesce(nullif(a.grantee, 0)::regrole::text, 'public')
             from pg_namespace n, lateral aclexplode(n.nspacl) a
             where n.nspname = 'public' and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner
               and not exists (select from pg_roles r where r.oid = a.grantee and r.rolsuper)",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The function ' || p.oid::regprocedure || ' is not one of this version''s doors, or is open to others',
                 'memory-forge engine upgrade, or drop function ' || p.oid::regprocedure
             from pg_proc p join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'mf'
             where p.proowner <> n.nspowner
                or (p.prosecdef and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false))
                or (not p.prosecdef and exists (
                    select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee <> n.nspowner))",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'Rows of ' || c.oid::regclass || ' are not hidden from a right that is granted by mistake',
                 'alter table ' || c.oid::regclass || ' enable row level security'
             from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'mf'
             where c.relkind in ('r', 'p') and not c.relrowsecurity",
    },
    // The owner.
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The owner of the tables, ' || r.rolname || ', ' || concat_ws(' and ',
                 case when r.rolsuper then 'is a superuser, whose functions everybody runs' end,
                 case when r.rolbypassrls then 'is above all policies' end),
                 'alter schema mf owner to a role without rights, and its tables and functions'
             from pg_roles r join pg_namespace n on n.nspowner = r.oid and n.nspname = 'mf'
             where r.rolsuper or r.rolbypassrls",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The login ' || r.rolname || ' reads every tenant: it inherits the rights of the owner, ' || o.rolname,
                 'revoke ' || quote_ident(o.rolname) || ' from ' || quote_ident(r.rolname)
                 || '; or, to keep it as an administrator, alter role ' || quote_ident(r.rolname) || ' noinherit (PostgreSQL 16: grant … with inherit false)'
             from pg_namespace n join pg_roles o on o.oid = n.nspowner and n.nspname = 'mf'
             join pg_roles r on r.oid <> o.oid and not r.rolsuper and pg_has_role(r.oid, o.oid, 'usage')
             where not r.rolname like 'pg\\_%'",
    },
    InstallationCheck {
        severity: FindingSeverity::Note,
        sql: "select 'The owner of the tables, ' || r.rolname || ', can log in, so this login reads every tenant',
                 'Use it for administration alone; with a login that may create roles, engine init makes an owner that cannot'
             from pg_roles r join pg_namespace n on n.nspowner = r.oid and n.nspname = 'mf' where r.rolcanlogin and not r.rolsuper",
    },
    // Members.
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The member ' || m.name || ' of ' || t.name || ' is above all rights: a superuser, or with bypassrls',
                 'Use another login for daily work, and remove this one: memory-forge engine member remove ' || m.name
             from mf.member m join mf.tenant t on t.id = m.tenant
             join pg_roles r on r.oid = m.role and r.rolname = m.name where r.rolsuper or r.rolbypassrls group by m.name, t.name",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The role of the member ' || m.name || ' of ' || t.name || ' is gone, or another one has its name: it has no rights',
                 'memory-forge engine member remove ' || m.name || ' --tenant ' || t.name || '; after a restored backup, engine member renew'
             from mf.member m join mf.tenant t on t.id = m.tenant
             where not exists (select from pg_roles r where r.oid = m.role and r.rolname = m.name)
             group by m.name, t.name",
    },
    // Tables and indexes.
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The team ' || g.name || ' of ' || t.name || ' has no table of its own: ' || string_agg(p.name, ', ' order by p.name),
                 'memory-forge engine member add LOGIN --team ' || g.name || ' makes it'
             from mf.team g join mf.tenant t on t.id = g.tenant, unnest(array['document', 'chunk', 'term']) as p(name)
             where to_regclass('mf.' || p.name || '_' || to_hex(g.id)) is null group by g.name, t.name",
    },
    InstallationCheck {
        severity: FindingSeverity::Note,
        sql: "select 'Tables of a team that is gone are left, and empty: ' || string_agg(c.relname, ', ' order by c.relname),
                 'A reader was connected when the organisation was dropped; the next engine member add or tenant drop drops them'
             from pg_inherits i join pg_class c on c.oid = i.inhrelid
             where i.inhparent = any (array['mf.document', 'mf.chunk', 'mf.term']::regclass[])
               and not exists (select from mf.team g where c.relname in (
                   'document_' || to_hex(g.id), 'chunk_' || to_hex(g.id), 'term_' || to_hex(g.id)))
             having count(*) > 0",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The index ' || w.name || ' is missing or not valid' || coalesce(' on ' || p.inhrelid::regclass, ''),
                 'reindex it where it is there; otherwise create it again as in the schema of this version, or drop everything, init and push again'
             from (values ('chunk_terms', 'chunk'), ('chunk_vec', 'chunk'), ('chunk_doc', 'chunk'), ('chunk_pkey', 'chunk'),
                 ('document_pkey', 'document'), ('document_undated', 'document'),
                 ('term_pkey', 'term'), ('term_workspace', 'term'), ('term_term', 'term')) as w(name, of_table)
             left join pg_class parent on parent.relname = w.name and parent.relnamespace = (select oid from pg_namespace where nspname = 'mf')
             left join pg_inherits p on p.inhparent = (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname = 'mf' and c.relname = w.of_table)
             where parent.oid is null or (p.inhrelid is not null and not exists (
                 select from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
                 where i.inhparent = parent.oid and x.indrelid = p.inhrelid and x.indisvalid))",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The index ' || w.name || ' is missing or not valid',
                 'create it again as in the schema of this version, or drop and push again'
             from unnest(array['workspace_pkey', 'member_role', 'tenant_pkey', 'team_pkey']) as w(name)
             where not exists (select from pg_class c join pg_index x on x.indexrelid = c.oid
                 join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname = 'mf' and c.relname = w.name and x.indisvalid)",
    },
    // Versions.
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'pgvector is ' || e.extversion || ', and the server has ' || a.default_version,
                 'alter extension vector update'
             from pg_extension e join pg_available_extensions a on a.name = e.extname
             where e.extname = 'vector' and string_to_array(regexp_replace(e.extversion, '[^0-9.].*', ''), '.')::integer[]
                 < string_to_array('0.8', '.')::integer[]",
    },
    // What PostgreSQL shows to every login.
    InstallationCheck {
        severity: FindingSeverity::Note,
        sql: "select 'Everyone who connects to this database can read sizes and row counts of its tables (each team has its own, by a number), its activity, and the names of all logins',
                 'PostgreSQL shows them to all. In a database of its own, engine init as a superuser takes that away'
             where has_function_privilege('public', 'pg_catalog.pg_stat_get_live_tuples(oid)', 'execute')",
    },
    InstallationCheck {
        severity: FindingSeverity::Note,
        sql: "select 'Members may connect to other databases of this server too, and read there the names of all logins and how much each database does: '
                 || string_agg(quote_ident(d.datname), ', ' order by d.datname),
                 'revoke connect on database … from public, for each; or limit in pg_hba.conf where members may connect'
             from (select datname from pg_database
                 where datallowconn and datname <> current_database() and has_database_privilege('public', oid, 'connect')
                 order by datname limit 20) as d having count(*) > 0",
    },
    // Replicas. A paused one reports no growing lag: its position stays,
    // or its reports end.
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'The replica ' || coalesce(nullif(application_name, ''), client_addr::text, pid::text) || ' is behind by '
                 || pg_size_pretty(greatest(behind, 0)) || ', reported ' || extract(epoch from now() - reply_time)::integer || ' s ago',
                 'Look at its load and its network, and whether its replay is paused'
             from (select *, pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_receive_lsn()
                     else pg_current_wal_lsn() end, replay_lsn) as behind from pg_stat_replication where state <> 'backup') as r
             where replay_lag > interval '60 seconds' or behind > 16 * 1024 * 1024
                or (behind > 0 and now() - reply_time > interval '30 seconds')",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'No replica is connected to the replication slot ' || slot_name || ', for which the server keeps '
                 || pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)),
                 'Start the replica again; or select pg_drop_replication_slot(' || quote_literal(slot_name) || ') where it is gone for good'
             from pg_replication_slots where slot_type = 'physical' and not active and restart_lsn is not null and not pg_is_in_recovery()",
    },
    InstallationCheck {
        severity: FindingSeverity::Problem,
        sql: "select 'This replica is ' || extract(epoch from now() - pg_last_xact_replay_timestamp())::integer || ' s behind',
                 'Look at its load, its network and its primary'
             where pg_is_in_recovery() and (pg_last_wal_receive_lsn() <> pg_last_wal_replay_lsn() or pg_is_wal_replay_paused())
               and now() - pg_last_xact_replay_timestamp() > interval '60 seconds'",
    },
];

impl PostgresEngine {
    /// Audits the installation. Requires an administrator's login.
    pub fn check_installation(&self) -> Result<Vec<InstallationFinding>, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Read).await?;
            let sql = "select current_setting('is_superuser') = 'on'";
            let rows = client.query_typed(sql, &[]).await?;
            let is_superuser = rows.first().is_some_and(|row| row.get(0));
            if !is_superuser {
                admin::act_as_owner(client).await?;
            }
            let mut found = Vec::new();
            let mut unseen = 0;
            for check in INSTALLATION_CHECKS {
                // A check that lacks a right fails alone, and the others still
                // run.
                client.batch_execute("savepoint one").await?;
                match client.query_typed(check.sql, &[]).await {
                    Ok(rows) => found.extend(rows.iter().filter_map(|row| to_finding(check, row))),
                    Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                        client.batch_execute("rollback to savepoint one").await?;
                        unseen += 1;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            if unseen > 0 {
                found.push(InstallationFinding {
                    severity: FindingSeverity::Note,
                    what: format!(
                        "{unseen} of {} checks need a superuser or pg_monitor and were left out",
                        INSTALLATION_CHECKS.len()
                    ),
                    advice: "Run `memory-forge engine check` as a superuser once".to_owned(),
                });
            }
            found.sort_by_key(|it| it.severity == FindingSeverity::Note);
            Ok(found)
        })
    }
}

/// Converts a row to a finding.
fn to_finding(check: &InstallationCheck, row: &tokio_postgres::Row) -> Option<InstallationFinding> {
    Some(InstallationFinding {
        severity: check.severity,
        what: row.get::<_, Option<String>>(0)?,
        advice: row.get(1),
    })
}
