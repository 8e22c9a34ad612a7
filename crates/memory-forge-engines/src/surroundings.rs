//! Reads the environment, as the only module of this program. Passwords are
//! read here and nowhere else, and no argument ever contains one.

use std::ffi::OsString;
use std::path::PathBuf;

use memory_forge_engines::postgres::Environment;
use memory_forge_engines::worker::{GraphVariables, Surroundings};

/// Reads a variable; an empty one counts as missing.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Reads a variable as text.
fn text(name: &str) -> Option<String> {
    Some(variable(name)?.to_string_lossy().into_owned())
}

/// Reads the path in a variable. A relative one is ignored, since it would mean
/// another place in each project.
fn absolute(name: &str) -> Option<PathBuf> {
    let path = variable(name).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// Returns the home folder.
fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// Lists the user's folders that may contain the key that signs derived files;
/// the same as those of `memory-forge`.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    let state = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else {
        let home = home().filter(|home| home.is_absolute());
        absolute("XDG_STATE_HOME").or_else(|| Some(home?.join(".local/state")))
    };
    let runtime = absolute("XDG_RUNTIME_DIR");
    forge_store::trust::key_folders(state, runtime, &std::env::temp_dir())
}

/// Reads the user's settings for servers.
pub(crate) fn observe() -> Surroundings {
    let passfile = absolute("PGPASSFILE").or_else(|| {
        if cfg!(windows) {
            Some(absolute("APPDATA")?.join("postgresql/pgpass.conf"))
        } else {
            Some(home()?.join(".pgpass"))
        }
    });
    Surroundings {
        // The names that every client of PostgreSQL knows, and one of our own.
        engine: Environment {
            url: text("MEMORY_FORGE_ENGINE_URL"),
            host: text("PGHOST"),
            port: text("PGPORT"),
            user: text("PGUSER"),
            password: text("PGPASSWORD"),
            database: text("PGDATABASE"),
            sslmode: text("PGSSLMODE"),
            sslrootcert: text("PGSSLROOTCERT"),
            passfile,
            login: text("USER").or_else(|| text("USERNAME")),
        },
        graph: GraphVariables {
            url: text("MEMORY_FORGE_GRAPH_URL"),
            user: text("MEMORY_FORGE_GRAPH_USER"),
            password: text("MEMORY_FORGE_GRAPH_PASSWORD"),
            database: text("MEMORY_FORGE_GRAPH_DATABASE"),
            authority: text("MEMORY_FORGE_GRAPH_AUTHORITY"),
        },
        config: absolute("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config"))),
        model: variable("MEMORY_FORGE_MODEL").map(PathBuf::from),
    }
}
