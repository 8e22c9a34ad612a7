//! Manages who may read and write: tenants, their teams, and members. Only an
//! administrator of the server has rights on these tables.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use forge_memory::wire::{
    InitReport, ListedMember, MemberAccess, MemberRemoval, TeamMember, TenantSummary,
};

use super::schema::{self, AccessPurpose, quote_identifier};
use super::{PostgresEngine, PostgresError};

/// Parses `login`, `login:team`, `login:team:read` or
/// `login:team:push=workspace`.
pub fn parse_member(text: &str) -> Result<TeamMember, PostgresError> {
    let wrong = || {
        PostgresError::usage(
            format!("`{text}` is not a member"),
            "Write `login`, `login:team`, `login:team:read` or `login:team:push=workspace`",
        )
    };
    let mut parts = text.split(':');
    let login = parts.next().filter(|it| !it.is_empty()).ok_or_else(wrong)?;
    let named = parts.next();
    let team = named.unwrap_or(TeamMember::EVERYONE_TEAM);
    let access = match parts.next() {
        // Without a team this is the team that everybody reads; writing there
        // must be requested explicitly.
        None if named.is_none() => MemberAccess::Read,
        None | Some("write") => MemberAccess::Write,
        Some("read") => MemberAccess::Read,
        Some(push) => match push.strip_prefix("push=") {
            Some(workspace) if !workspace.is_empty() => MemberAccess::Push(workspace.to_owned()),
            _ => return Err(wrong()),
        },
    };
    if parts.next().is_some() || team.is_empty() {
        return Err(wrong());
    }
    Ok(TeamMember {
        login: login.to_owned(),
        team: team.to_owned(),
        access,
        is_group: false,
    })
}

/// Acts as the owner of the tables until `reset role` or the end of the
/// transaction.
pub(super) async fn act_as_owner(client: &Client) -> Result<(), PostgresError> {
    act_as_owner_of(client, "mf").await
}

/// Acts as the owner of a schema.
pub(super) async fn act_as_owner_of(client: &Client, schema: &str) -> Result<(), PostgresError> {
    let sql = "select nspowner::regrole::text from pg_namespace where nspname = $1";
    let rows = client.query_typed(sql, &[(&schema, Type::TEXT)]).await?;
    let owner: String = rows.first().map_or_else(String::new, |row| row.get(0));
    client
        .batch_execute(&format!("set local role {owner}"))
        .await
        .map_err(|error| not_admin_error(error, &owner))
}

/// Converts a missing right to an error with advice.
fn not_admin_error(error: tokio_postgres::Error, owner: &str) -> PostgresError {
    match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => PostgresError::failure(
            "This login does not administer the shared index",
            format!(
                "Use a superuser, or the login that ran `engine init`; `grant {owner} to …` makes another one an administrator (PostgreSQL 16 and later: `with inherit false, set true`)"
            ),
        ),
        _ => error.into(),
    }
}

/// Time that one attempt waits for a lock, and the pause between attempts.
/// Searches and pushes queue up behind a waiting lock, so the wait is short.
const LOCK_WAIT: &str = "2s";
const ATTEMPT_PAUSE: Duration = Duration::from_secs(1);

/// Runs statements that need a lock which others may hold, a few times. Returns
/// `false` if the lock was held each time.
async fn try_with_lock(client: &Client, attempts: u32, sql: &str) -> Result<bool, PostgresError> {
    let before = client
        .query_typed("select current_setting('lock_timeout')", &[])
        .await?;
    let before: String = before.first().map_or_else(String::new, |row| row.get(0));
    for attempt in 0..attempts {
        if attempt > 0 {
            tokio::time::sleep(ATTEMPT_PAUSE).await;
        }
        client
            .batch_execute(&format!(
                // A savepoint, since a failed statement would end the whole
                // transaction.
                "savepoint patient; set local lock_timeout = '{LOCK_WAIT}'"
            ))
            .await?;
        match client.batch_execute(sql).await {
            Ok(()) => {
                client
                    .batch_execute(&format!(
                        "set local lock_timeout = '{before}'; release savepoint patient"
                    ))
                    .await?;
                return Ok(true);
            }
            Err(error)
                if matches!(
                    error.code(),
                    Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED)
                ) =>
            {
                client
                    .batch_execute("rollback to savepoint patient; release savepoint patient")
                    .await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Returns an error with the holders of a table, as far as this login may see
/// them.
async fn held_table_error(client: &Client, table: &str) -> PostgresError {
    let sql = "select coalesce(string_agg(distinct coalesce(a.usename, '?') || ' (process ' || a.pid || ')', ', '), '')
         from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where l.relation = to_regclass($1) and l.granted and l.pid <> pg_backend_pid()";
    // The owner may not see other sessions; the administrator's own login may.
    let rows = match client.batch_execute("reset role").await {
        Ok(()) => client.query_typed(sql, &[(&table, Type::TEXT)]).await,
        Err(error) => Err(error),
    };
    let who: String = rows
        .ok()
        .and_then(|rows| rows.first().map(|row| row.get(0)))
        .unwrap_or_default();
    let who = if who.is_empty() {
        "another session".to_owned()
    } else {
        who
    };
    PostgresError::failure(
        format!("`{table}` is in use by {who}; nothing was changed"),
        "Run it again when their push has ended; `select pg_terminate_backend(PROCESS)` ends a session that was left open",
    )
}

/// Creates the schema, owned by a role without a login if this login may create
/// roles, else by this login.
pub(super) async fn create_schema(client: &Client, vector: &str) -> Result<(), PostgresError> {
    client
        .batch_execute(CREATE_OWNER_SQL)
        .await
        .map_err(|error| not_admin_error(error, "mf_owner"))?;
    let sql = "select rolsuper or rolcreaterole from pg_roles where rolname = current_user";
    let rows = client.query_typed(sql, &[]).await?;
    let has_owner = rows.first().is_some_and(|row| row.get(0));
    let make = if has_owner {
        "create schema mf authorization mf_owner"
    } else {
        "create schema mf"
    };
    let made = client.batch_execute(make).await;
    made.map_err(|error| match error.code() {
        Some(&(SqlState::DUPLICATE_SCHEMA | SqlState::UNIQUE_VIOLATION)) => PostgresError::failure(
            "Another process is preparing this server",
            "Run it again: it adds what is missing",
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => PostgresError::failure(
            format!("The shared index cannot be made: {}", super::error_message(&error)),
            "Run `engine init` as the database's owner, or `grant create on database … to` this login",
        ),
        _ => error.into(),
    })?;
    let sql =
        "select has_schema_privilege(nspowner, $1, 'usage') from pg_namespace where nspname = 'mf'";
    let rows = client.query_typed(sql, &[(&vector, Type::TEXT)]).await?;
    if has_owner && !rows.first().is_some_and(|row| row.get(0)) {
        let grant = format!(
            "grant usage on schema {} to mf_owner",
            quote_identifier(vector)
        );
        client.batch_execute(&grant).await?;
    }
    Ok(())
}

const CREATE_OWNER_SQL: &str = "
do $$
declare
    me record;
begin
    select * into me from pg_roles where rolname = current_user;
    if not (me.rolsuper or me.rolcreaterole) then
        return;
    end if;
    begin
        create role mf_owner nologin nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
    exception when duplicate_object or unique_violation then null;
    end;
    if not me.rolsuper then
        -- To act as the owner, without reading everything in daily work where
        -- the server can distinguish these.
        if current_setting('server_version_num')::integer >= 160000 then
            execute format('grant mf_owner to %I with inherit false, set true', current_user);
        elsif not pg_has_role(current_user, 'mf_owner', 'member') then
            execute format('grant mf_owner to %I', current_user);
        end if;
    end if;
end $$";

/// Lets only one administrator at a time change tenants and teams. Members
/// cannot take this lock: they have no right on the table.
pub(super) async fn lock_administration(client: &Client) -> Result<(), PostgresError> {
    let lock = "lock table mf.meta in share row exclusive mode";
    Ok(client.batch_execute(lock).await?)
}

/// Adds a tenant with the team that all its members read, unless it exists.
pub(super) async fn ensure_tenant(client: &Client, name: &str) -> Result<(), PostgresError> {
    lock_administration(client).await?;
    let sql = "insert into mf.tenant (name) values ($1) on conflict do nothing";
    client.execute_typed(sql, &[(&name, Type::TEXT)]).await?;
    ensure_team(client, name, TeamMember::EVERYONE_TEAM).await
}

/// Adds a team with its tables, unless it exists.
async fn ensure_team(client: &Client, tenant: &str, name: &str) -> Result<(), PostgresError> {
    let sql = "insert into mf.team (tenant, name) select id, $2 from mf.tenant where name = $1
         on conflict do nothing";
    client
        .execute_typed(sql, &[(&tenant, Type::TEXT), (&name, Type::TEXT)])
        .await?;
    create_missing_partitions(client).await
}

/// Query for teams without a partition of their own.
const MISSING_PARTITIONS_SQL: &str =
    "select g.id, p.name from mf.team g, unnest(array['document', 'chunk', 'term']) as p(name)
     where to_regclass('mf.' || p.name || '_' || to_hex(g.id)) is null order by 1, 2";

/// Creates missing partitions of teams. Each is created as a table and then
/// attached, which does not block searches; `create … partition of` would wait
/// for every open search, and all others would wait behind it. Only the keys to
/// `mf.workspace` wait for pushes that have begun.
pub(super) async fn create_missing_partitions(client: &Client) -> Result<(), PostgresError> {
    let missing = client.query_typed(MISSING_PARTITIONS_SQL, &[]).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let lock = "lock table mf.workspace in share row exclusive mode";
    if !try_with_lock(client, 5, lock).await? {
        return Err(held_table_error(client, "mf.workspace").await);
    }
    for row in missing {
        let (id, table): (i64, &str) = (row.get(0), row.get(1));
        client
            .batch_execute(&format!(
                "create table mf.{table}_{id:x} (like mf.{table} including all);
                 alter table mf.{table}_{id:x} enable row level security;
                 alter table mf.{table} attach partition mf.{table}_{id:x} for values in ({id})"
            ))
            .await?;
    }
    Ok(())
}

/// Query for empty partitions whose team is gone.
const LEFTOVER_PARTITIONS_SQL: &str =
    "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = any (array['mf.document', 'mf.chunk', 'mf.term']::regclass[])
       and not exists (select from mf.team g where c.relname in (
           'document_' || to_hex(g.id), 'chunk_' || to_hex(g.id), 'term_' || to_hex(g.id)))";

/// Adds a member, and its login if it does not exist.
pub(super) async fn insert_member(
    client: &Client,
    tenant: &str,
    member: &TeamMember,
    done: &mut InitReport,
) -> Result<(), PostgresError> {
    let there = "select rolsuper or rolbypassrls from pg_roles where rolname = $1";
    let login = (
        &member.login as &(dyn postgres_types::ToSql + Sync),
        Type::TEXT,
    );
    // Only the owner may read the roles on a server that hides them.
    act_as_owner(client).await?;
    let found = client.query_typed(there, &[login]).await?;
    client.batch_execute("reset role").await?;
    match found.first() {
        Some(row) if row.get(0) => done.notes.push(format!(
            "`{}` is above all rights and can read every tenant; use another login for daily work",
            member.login
        )),
        Some(_) => {}
        None if member.is_group => {
            return Err(PostgresError::usage(
                format!("The server has no role `{}`", member.login),
                "A group is a role that the server, or what keeps its roles in step with a directory, has already",
            ));
        }
        None => {
            // Without a password: the administrator of the server sets one.
            let make = format!("create role {} login", quote_identifier(&member.login));
            client
                .batch_execute(&make)
                .await
                .map_err(|error| match error.code() {
                    Some(&SqlState::INSUFFICIENT_PRIVILEGE) => PostgresError::failure(
                        format!(
                            "There is no login `{}`, and your login may not create it",
                            member.login
                        ),
                        "Ask the server's administrator to create the login, then add it again",
                    ),
                    _ => error.into(),
                })?;
            done.new_logins.push(member.login.clone());
        }
    }
    act_as_owner(client).await?;
    lock_administration(client).await?;
    ensure_team(client, tenant, &member.team).await?;
    let only = match &member.access {
        MemberAccess::Push(workspace) => workspace.as_str(),
        _ => "",
    };
    let writes = member.access != MemberAccess::Read;
    client
        .execute_typed(
            "insert into mf.member (tenant, team, role, name, is_group, writes, pushes)
             select t.id, g.id, r.oid, r.rolname, $4, $5, $6
             from mf.tenant t join mf.team g on g.tenant = t.id and g.name = $2, pg_catalog.pg_roles r
             where t.name = $1 and r.rolname = $3
             on conflict (tenant, team, role, pushes) do update
             set writes = excluded.writes, is_group = excluded.is_group, name = excluded.name",
            &[
                (&tenant, Type::TEXT),
                (&member.team, Type::TEXT),
                (&member.login, Type::TEXT),
                (&member.is_group, Type::BOOL),
                (&writes, Type::BOOL),
                (&only, Type::TEXT),
            ],
        )
        .await?;
    client.batch_execute("reset role").await?;
    Ok(())
}

impl PostgresEngine {
    /// Adds a member. Fails if the tenant does not exist.
    pub fn add_member(&self, member: &TeamMember) -> Result<InitReport, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            self.require_tenant(client).await?;
            let mut done = InitReport::default();
            insert_member(client, &self.tenant, member, &mut done).await?;
            Ok(done)
        })
        .inspect(|_| self.sweep_leftovers())
    }

    /// Drops partitions of a dropped tenant that a reader kept open. They stay
    /// as long as someone reads.
    fn sweep_leftovers(&self) {
        let _ = self.run_transaction("", async |client| {
            act_as_owner(client).await?;
            let rows = client.query_typed(LEFTOVER_PARTITIONS_SQL, &[]).await?;
            let tables: Vec<String> = rows
                .iter()
                .map(|row| format!("mf.{}", quote_identifier(row.get(0))))
                .collect();
            if !tables.is_empty() {
                let drop = format!("drop table {}", tables.join(", "));
                try_with_lock(client, 1, &drop).await?;
            }
            Ok(())
        });
    }

    /// Fails if the tenant does not exist.
    async fn require_tenant(&self, client: &Client) -> Result<(), PostgresError> {
        act_as_owner(client).await?;
        let sql = "select 1 from mf.tenant where name = $1";
        let found = client
            .query_typed(sql, &[(&self.tenant, Type::TEXT)])
            .await?;
        client.batch_execute("reset role").await?;
        if found.is_empty() {
            return Err(PostgresError::usage(
                format!("There is no tenant `{}`", self.tenant),
                "`memory-forge engine init --tenant NAME` makes it; `engine tenant list` lists them",
            ));
        }
        Ok(())
    }

    /// Lists the members of the tenant.
    pub fn list_members(&self) -> Result<Vec<ListedMember>, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            self.require_tenant(client).await?;
            act_as_owner(client).await?;
            let rows = client
                .query_typed(
                    "select m.name, g.name, m.writes, m.pushes, m.is_group, r.oid is null,
                     to_char(m.added_at at time zone 'utc', 'YYYY-MM-DD'), m.added_by
                     from mf.member m join mf.tenant t on t.id = m.tenant
                     join mf.team g on g.tenant = m.tenant and g.id = m.team
                     left join pg_catalog.pg_roles r on r.oid = m.role and r.rolname = m.name
                     where t.name = $1 order by g.name, m.name, m.pushes",
                    &[(&self.tenant, Type::TEXT)],
                )
                .await?;
            Ok(rows
                .iter()
                .map(|row| {
                    let only: String = row.get(3);
                    let access = match (row.get::<_, bool>(2), only.is_empty()) {
                        (_, false) => MemberAccess::Push(only),
                        (true, true) => MemberAccess::Write,
                        (false, true) => MemberAccess::Read,
                    };
                    ListedMember {
                        member: TeamMember {
                            login: row.get(0),
                            team: row.get(1),
                            access,
                            is_group: row.get(4),
                        },
                        is_gone: row.get(5),
                        added_at: row.get(6),
                        added_by: row.get(7),
                    }
                })
                .collect())
        })
    }

    /// Removes all rights of a login in the tenant, or those in one team, and
    /// the login itself if `drop_login` is set.
    pub fn remove_member(
        &self,
        login: &str,
        team: Option<&str>,
        drop_login: bool,
    ) -> Result<MemberRemoval, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            self.require_tenant(client).await?;
            act_as_owner(client).await?;
            let rights = client
                .execute_typed(
                    "delete from mf.member m using mf.tenant t, mf.team g
                     where t.name = $1 and m.tenant = t.id and g.tenant = t.id and g.id = m.team
                       and m.name = $2 and ($3::text is null or g.name = $3)",
                    &[
                        (&self.tenant, Type::TEXT),
                        (&login, Type::TEXT),
                        (&team, Type::TEXT),
                    ],
                )
                .await?;
            let groups = client
                .query_typed(
                    "select distinct m.name from mf.member m join mf.tenant t on t.id = m.tenant
                     join mf.team g on g.tenant = m.tenant and g.id = m.team
                     join pg_catalog.pg_roles r on r.rolname = $2
                     where t.name = $1 and m.is_group and m.role <> r.oid
                       and exists (select from pg_catalog.pg_roles x where x.oid = m.role and x.rolname = m.name)
                       and pg_has_role(r.oid, m.role, 'member') and ($3::text is null or g.name = $3)
                     order by m.name",
                    &[
                        (&self.tenant, Type::TEXT),
                        (&login, Type::TEXT),
                        (&team, Type::TEXT),
                    ],
                )
                .await?;
            let groups = groups.iter().map(|row| row.get(0)).collect();
            client.batch_execute("reset role").await?;
            if drop_login {
                client
                    .batch_execute(&format!("drop role {}", quote_identifier(login)))
                    .await
                    .map_err(|error| {
                        PostgresError::failure(
                            format!(
                                "The login `{login}` cannot be dropped: {}; nothing was changed",
                                super::error_message(&error)
                            ),
                            "Remove the member without `--drop-login`: that alone takes every right here",
                        )
                    })?;
                return Ok(MemberRemoval {
                    rights,
                    groups: Vec::new(),
                });
            }
            Ok(MemberRemoval { rights, groups })
        })
    }

    /// Binds members to the roles that have their names now, after a backup was
    /// restored on another server. Returns the names.
    pub fn renew_members(&self, is_rehearsal: bool) -> Result<Vec<String>, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            self.require_tenant(client).await?;
            act_as_owner(client).await?;
            let sql = if is_rehearsal {
                "select m.name from mf.member m join mf.tenant t on t.id = m.tenant and t.name = $1
                 join pg_catalog.pg_roles r on r.rolname = m.name and r.oid <> m.role"
            } else {
                "update mf.member m set role = r.oid from mf.tenant t, pg_catalog.pg_roles r
                 where t.id = m.tenant and t.name = $1 and r.rolname = m.name and r.oid <> m.role
                 returning m.name"
            };
            let rows = client
                .query_typed(sql, &[(&self.tenant, Type::TEXT)])
                .await?;
            let mut names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            names.sort();
            names.dedup();
            Ok(names)
        })
    }

    /// Lists all tenants of the server.
    pub fn list_tenants(&self) -> Result<Vec<TenantSummary>, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            act_as_owner(client).await?;
            let rows = client
                .query_typed(
                    "select t.name, array(select g.name from mf.team g where g.tenant = t.id order by g.name),
                     (select count(distinct m.role) from mf.member m where m.tenant = t.id),
                     (select count(*) from mf.workspace w where w.tenant = t.id),
                     (select coalesce(sum(w.chunks), 0)::bigint from mf.workspace w where w.tenant = t.id)
                     from mf.tenant t order by t.name",
                    &[],
                )
                .await?;
            let count = |row: &tokio_postgres::Row, at: usize| row.get::<_, i64>(at) as u64;
            Ok(rows
                .iter()
                .map(|row| TenantSummary {
                    name: row.get(0),
                    teams: row.get(1),
                    members: count(row, 2),
                    workspaces: count(row, 3),
                    passages: count(row, 4),
                })
                .collect())
        })
    }

    /// Removes a tenant with its teams, members and workspaces. Returns `false`
    /// if it does not exist. Its tables are dropped unless someone is reading
    /// them; then they are emptied, and dropped later.
    pub fn drop_tenant(&self, name: &str) -> Result<bool, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            act_as_owner(client).await?;
            lock_administration(client).await?;
            let sql =
                "select g.id from mf.team g join mf.tenant t on t.id = g.tenant where t.name = $1";
            let teams = client.query_typed(sql, &[(&name, Type::TEXT)]).await?;
            let tables: Vec<String> = teams
                .iter()
                .map(|row| row.get::<_, i64>(0))
                .map(|id| format!("mf.document_{id:x}, mf.chunk_{id:x}, mf.term_{id:x}"))
                .collect();
            if !tables.is_empty() {
                let drop = format!("drop table if exists {}", tables.join(", "));
                try_with_lock(client, 2, &drop).await?;
            }
            let sql = "delete from mf.tenant where name = $1";
            Ok(client.execute_typed(sql, &[(&name, Type::TEXT)]).await? > 0)
        })
        .inspect(|_| self.sweep_leftovers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_written_in_five_ways() {
        let check = |text: &str, expect: Option<(&str, &str, MemberAccess)>| {
            let got = parse_member(text).ok();
            let got = got
                .as_ref()
                .map(|it| (it.login.as_str(), it.team.as_str(), it.access.clone()));
            assert_eq!(got, expect, "{text}");
        };
        check("ann", Some(("ann", "all", MemberAccess::Read)));
        check("ann:all", Some(("ann", "all", MemberAccess::Write)));
        check("ann:pay", Some(("ann", "pay", MemberAccess::Write)));
        check("ann:pay:read", Some(("ann", "pay", MemberAccess::Read)));
        let push = MemberAccess::Push("billing".to_owned());
        check("ci:pay:push=billing", Some(("ci", "pay", push)));
        check("ann:pay:own", None);
        check("ann:pay:push=", None);
        check(":pay", None);
        check("ann:", None);
        check("a:b:read:c", None);
    }
}
