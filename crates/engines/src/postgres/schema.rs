//! What `engine init` makes of an empty database, and the check that what is
//! there is what this version knows.

use tokio_postgres::Client;

use super::{Engine, Error};

/// Goes up when tables change. What is older is made anew and pushed again.
pub(super) const VERSION: u32 = 2;

/// The tables with rows of workspaces.
pub(super) const TABLES: [&str; 5] = ["document", "chunk", "ranked", "term", "edge"];

const SCHEMA: &str = include_str!("schema.sql");

/// Fills in what the schema and the question have in common.
pub(super) fn filled(sql: &str) -> String {
    sql.replace("%K1%", &forge::index::K1.to_string())
        .replace("%B%", &forge::index::B.to_string())
        .replace("%MOST_READ%", &forge::index::MOST_READ.to_string())
}

/// Who may see what of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub login: String,
    pub team: String,
    pub writes: bool,
}

impl Member {
    /// `login`, `login:team` or `login:team:read`.
    pub fn read(text: &str) -> Result<Member, Error> {
        let wrong = || {
            Error::usage(
                format!("`{text}` is no member"),
                "Write `login`, `login:team` or `login:team:read`",
            )
        };
        let mut parts = text.split(':');
        let login = parts.next().filter(|it| !it.is_empty()).ok_or_else(wrong)?;
        let team = parts.next().unwrap_or("all");
        let writes = match parts.next() {
            None | Some("write") => true,
            Some("read") => false,
            Some(_) => return Err(wrong()),
        };
        if parts.next().is_some() || team.is_empty() {
            return Err(wrong());
        }
        Ok(Member {
            login: login.to_owned(),
            team: team.to_owned(),
            writes,
        })
    }
}

/// What `init` did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Initialised {
    pub created: bool,
    /// The version that was thrown away, whose workspaces must be pushed again.
    pub replaced: Option<u32>,
    pub bm25: bool,
    /// Logins that did not exist and have no password yet.
    pub new_logins: Vec<String>,
    pub notes: Vec<String>,
}

/// What the server says of itself.
pub(super) struct Known {
    pub(super) version: u32,
    pub(super) model: String,
    /// There is an index that ranks words, which pushes fill.
    pub(super) bm25: bool,
    /// It has all of them.
    pub(super) ranks: bool,
    /// When the server started, and whether it only reads.
    started: String,
    replica: bool,
}

/// Since 1.2 a restart and a replica keep what pg_textsearch's index holds;
/// before, it is empty or short after either, without a word, until it is made
/// anew (timescale/pg_textsearch, 345 and 350).
const KEEPS_ITS_ROWS: [u32; 2] = [1, 2];

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|it| it.parse().ok()).collect()
}

/// Refuses a schema that this version does not know.
pub(super) async fn check(client: &Client) -> Result<Known, Error> {
    let known = read(client).await?.ok_or_else(|| {
        Error::failure(
            "The shared index is not there yet",
            "`memory-forge engine init` prepares the server, once",
        )
    })?;
    if known.version > VERSION {
        return Err(Error::failure(
            format!(
                "The shared index was made by a newer version (format {}, this one knows {VERSION})",
                known.version
            ),
            "Update memory-forge; nothing was read or changed",
        ));
    }
    if known.version < VERSION {
        return Err(Error::failure(
            format!(
                "The shared index was made by an older version (format {}, this one writes {VERSION})",
                known.version
            ),
            "`memory-forge engine init` makes it anew; then push each workspace again",
        ));
    }
    Ok(known)
}

async fn read(client: &Client) -> Result<Option<Known>, Error> {
    let there = "select to_regclass('mf.meta') is not null";
    if !client.query_one(there, &[]).await?.get::<_, bool>(0) {
        return Ok(None);
    }
    let rows = client
        .query(
            "select key, value from mf.meta
             union all select '@started', extract(epoch from pg_postmaster_start_time())::text
             union all select '@replica', 'yes' where pg_is_in_recovery()
             union all select '@pg_textsearch', extversion from pg_extension where extname = 'pg_textsearch'",
            &[],
        )
        .await?;
    let value = |key: &str| {
        let row = rows.iter().find(|row| row.get::<_, &str>(0) == key);
        row.map_or_else(String::new, |row| row.get(1))
    };
    let bm25 = value("bm25") == "yes";
    let started = value("@started");
    let replica = value("@replica") == "yes";
    let safe = numbers(&value("@pg_textsearch")) >= KEEPS_ITS_ROWS.to_vec();
    Ok(Some(Known {
        version: value("schema").parse().unwrap_or(0),
        model: value("model"),
        bm25,
        ranks: bm25 && (safe || !replica && value("words") == started),
        started,
        replica,
    }))
}

const ROLES: &str = "
do $$
declare
    name text;
begin
    foreach name in array array['mf_owner', 'mf_reader', 'mf_writer', 'mf_seeker'] loop
        begin
            execute format('create role %I nologin nosuperuser nocreatedb nocreaterole noreplication nobypassrls', name);
        exception when duplicate_object or unique_violation then null;
        end;
    end loop;
    grant mf_reader to mf_writer;
    if not (select rolsuper from pg_roles where rolname = current_user) then
        execute format('grant mf_owner, mf_seeker to %I', current_user);
    end if;
end $$";

impl Engine {
    /// Prepares the server, the tenant and its members. What is there stays.
    pub fn init(
        &self,
        model: &str,
        dimensions: usize,
        members: &[Member],
    ) -> Result<Initialised, Error> {
        let tenant = self.tenant.clone();
        self.within("", async |client| {
            // One at a time, from whatever machine.
            client
                .batch_execute("select pg_advisory_xact_lock(hashtextextended('mf:init', 0))")
                .await?;
            let mut done = Initialised::default();
            let before = read(client).await?;
            if let Some(known) = &before {
                if known.version > VERSION {
                    check(client).await?;
                }
                if known.version < VERSION {
                    client.batch_execute("drop schema mf cascade").await?;
                    done.replaced = Some(known.version);
                }
            }
            match before.filter(|_| done.replaced.is_none()) {
                None => create(client, model, dimensions, &mut done).await?,
                Some(known) => {
                    done.bm25 = known.bm25;
                    if known.bm25 && !known.ranks && !known.replica {
                        rank_anew(client, &known.started).await?;
                        done.notes.push("The server has restarted, so its index of words was made anew".to_owned());
                    }
                    if known.model != format!("{model}/{dimensions}") {
                        done.notes.push(format!(
                            "The vectors there are of the model `{}`; workspaces with another are found by their words",
                            known.model
                        ));
                    }
                }
            }
            partitions(client, &tenant).await?;
            for member in members {
                add_member(client, &tenant, member, &mut done).await?;
            }
            Ok(done)
        })
    }

    /// Takes everything away, all tenants included.
    pub fn drop_all(&self) -> Result<(), Error> {
        self.within("", async |client| {
            client
                .batch_execute("drop schema if exists mf cascade")
                .await?;
            Ok(())
        })
    }

    /// Takes one workspace out of the index; false where there is none.
    pub fn drop_workspace(&self, name: &str) -> Result<bool, Error> {
        self.within("", async |client| {
            check(client).await?;
            super::push::lock(client, &self.tenant, name).await?;
            let found = "delete from mf.workspace where name = $1 returning id";
            let Some(row) = client.query_opt(found, &[&name]).await? else {
                return Ok(false);
            };
            let id: i64 = row.get(0);
            for table in TABLES {
                let delete = format!("delete from mf.{table} where workspace = $1");
                client.execute(&delete, &[&id]).await?;
            }
            Ok(true)
        })
    }
}

async fn create(
    client: &Client,
    model: &str,
    dimensions: usize,
    done: &mut Initialised,
) -> Result<(), Error> {
    let found = client
        .query_opt(
            "select default_version from pg_available_extensions where name = 'vector'",
            &[],
        )
        .await?;
    let version: String = found.map_or_else(String::new, |row| row.get(0));
    if numbers(&version) < vec![0, 8] {
        return Err(Error::failure(
            match version.as_str() {
                "" => "The server has no pgvector".to_owned(),
                old => format!("The server has pgvector {old}, and 0.8 is needed"),
            },
            "Install pgvector 0.8 or later on the server, or ask your provider for it",
        ));
    }
    client
        .batch_execute("create extension if not exists vector")
        .await?;
    let found = client
        .query_opt(
            "select 1 from pg_available_extensions where name = 'pg_textsearch'
             and current_setting('shared_preload_libraries') like '%pg_textsearch%'",
            &[],
        )
        .await?;
    done.bm25 = found.is_some();
    if done.bm25 {
        client
            .batch_execute("create extension if not exists pg_textsearch")
            .await?;
    }
    client.batch_execute(ROLES).await?;
    let schema = filled(SCHEMA).replace("%DIMENSIONS%", &dimensions.to_string());
    let (k1, b) = (forge::index::K1, forge::index::B);
    let ranked = match done.bm25 {
        true => format!(
            "create index ranked_words on mf.ranked using bm25 (words)
             with (text_config = 'simple', k1 = {k1}, b = {b});"
        ),
        false => String::new(),
    };
    client
        .batch_execute(&format!(
            "create schema mf authorization mf_owner; set local role mf_owner;
             {schema} {ranked}
             grant create on schema mf to mf_seeker; reset role;
             alter function mf.scored owner to mf_seeker;
             revoke create on schema mf from mf_seeker;"
        ))
        .await?;
    let note =
        "insert into mf.meta (key, value) values ('schema', $1), ('model', $2), ('bm25', $3),
        ('words', extract(epoch from pg_postmaster_start_time())::text)";
    let model = format!("{model}/{dimensions}");
    let bm25 = if done.bm25 { "yes" } else { "no" };
    client.batch_execute("set local role mf_owner").await?;
    client
        .execute(note, &[&VERSION.to_string(), &model, &bm25])
        .await?;
    client.batch_execute("reset role").await?;
    done.created = true;
    Ok(())
}

/// Makes the index that ranks words anew, for every tenant.
async fn rank_anew(client: &Client, started: &str) -> Result<(), Error> {
    client.batch_execute("set local role mf_owner").await?;
    let parts = "select inhrelid::regclass::text from pg_inherits where inhparent = 'mf.ranked_words'::regclass";
    for row in client.query(parts, &[]).await? {
        let index: &str = row.get(0);
        client
            .batch_execute(&format!("reindex index {index}"))
            .await?;
    }
    client
        .execute(
            "insert into mf.meta (key, value) values ('words', $1)
             on conflict (key) do update set value = excluded.value",
            &[&started],
        )
        .await?;
    client.batch_execute("reset role").await?;
    Ok(())
}

/// The rows of each tenant lie in tables of their own.
async fn partitions(client: &Client, tenant: &str) -> Result<(), Error> {
    let digest = blake3::hash(tenant.as_bytes()).to_hex();
    client.batch_execute("set local role mf_owner").await?;
    client
        .execute(
            "insert into mf.tenant (name) values ($1) on conflict do nothing",
            &[&tenant],
        )
        .await?;
    for table in TABLES {
        let make = format!(
            "create table if not exists mf.{table}_{} partition of mf.{table} for values in ({})",
            &digest[..16],
            literal(tenant)
        );
        client.batch_execute(&make).await?;
    }
    client.batch_execute("reset role").await?;
    Ok(())
}

async fn add_member(
    client: &Client,
    tenant: &str,
    member: &Member,
    done: &mut Initialised,
) -> Result<(), Error> {
    let there = "select rolsuper or rolbypassrls from pg_roles where rolname = $1";
    let login = identifier(&member.login);
    match client.query_opt(there, &[&member.login]).await? {
        Some(row) if row.get(0) => done.notes.push(format!(
            "`{}` is above all policies and sees every tenant; use another login for daily work",
            member.login
        )),
        Some(_) => {}
        None => {
            // Without a password: whoever runs the server gives it one.
            client
                .batch_execute(&format!("create role {login} login"))
                .await?;
            done.new_logins.push(member.login.clone());
        }
    }
    let role = if member.writes {
        "mf_writer"
    } else {
        "mf_reader"
    };
    client
        .batch_execute(&format!("grant {role} to {login}; set local role mf_owner"))
        .await?;
    client
        .execute(
            "insert into mf.member (tenant, team, login, writes) values ($1, $2, $3, $4)
             on conflict (tenant, team, login) do update set writes = excluded.writes",
            &[&tenant, &member.team, &member.login, &member.writes],
        )
        .await?;
    client.batch_execute("reset role").await?;
    Ok(())
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn identifier(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_written_in_three_ways() {
        let check = |text: &str, expect: Option<(&str, &str, bool)>| {
            let got = Member::read(text).ok();
            let got = got
                .as_ref()
                .map(|it| (it.login.as_str(), it.team.as_str(), it.writes));
            assert_eq!(got, expect, "{text}");
        };
        check("ann", Some(("ann", "all", true)));
        check("ann:pay", Some(("ann", "pay", true)));
        check("ann:pay:read", Some(("ann", "pay", false)));
        check("ann:pay:own", None);
        check(":pay", None);
        check("ann:", None);
        check("a:b:read:c", None);
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(literal("a'; drop"), "'a''; drop'");
        assert_eq!(identifier("a\"; drop"), "\"a\"\"; drop\"");
    }
}
