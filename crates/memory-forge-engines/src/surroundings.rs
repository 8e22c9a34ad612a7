//! Reads the environment, as the only module of this program. Passwords are
//! read here and nowhere else, and no argument ever contains one.

use std::ffi::OsString;
use std::path::PathBuf;

use memory_forge_engines::postgres::ServerEnvironment;
use memory_forge_engines::worker::{GraphVariables, WorkerSurroundings};

/// Reads a variable; an empty one counts as missing.
fn read_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Reads a variable as text.
fn read_text_variable(name: &str) -> Option<String> {
    Some(read_variable(name)?.to_string_lossy().into_owned())
}

/// Reads the path in a variable. A relative one is ignored, since it would mean
/// another place in each project.
fn read_absolute_path(name: &str) -> Option<PathBuf> {
    let path = read_variable(name).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// Returns the home folder.
fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// Lists the user's folders that may contain the key that signs derived files;
/// the same as those of `memory-forge`.
pub(crate) fn list_key_folders() -> Vec<PathBuf> {
    let state = if cfg!(windows) {
        read_absolute_path("LOCALAPPDATA")
    } else {
        let home = home_folder().filter(|home| home.is_absolute());
        read_absolute_path("XDG_STATE_HOME").or_else(|| Some(home?.join(".local/state")))
    };
    let runtime = read_absolute_path("XDG_RUNTIME_DIR");
    forge_store::trust::key_folders(state, runtime, &std::env::temp_dir())
}

/// Reads the user's settings for servers.
pub(crate) fn observe_environment() -> WorkerSurroundings {
    let passfile = read_absolute_path("PGPASSFILE").or_else(|| {
        if cfg!(windows) {
            Some(read_absolute_path("APPDATA")?.join("postgresql/pgpass.conf"))
        } else {
            Some(home_folder()?.join(".pgpass"))
        }
    });
    WorkerSurroundings {
        // The names that every client of PostgreSQL knows, and one of our own.
        engine: ServerEnvironment {
            url: read_text_variable("MEMORY_FORGE_ENGINE_URL"),
            host: read_text_variable("PGHOST"),
            port: read_text_variable("PGPORT"),
            user: read_text_variable("PGUSER"),
            password: read_text_variable("PGPASSWORD"),
            database: read_text_variable("PGDATABASE"),
            sslmode: read_text_variable("PGSSLMODE"),
            sslrootcert: read_text_variable("PGSSLROOTCERT"),
            passfile,
            login: read_text_variable("USER").or_else(|| read_text_variable("USERNAME")),
        },
        graph: GraphVariables {
            url: read_text_variable("MEMORY_FORGE_GRAPH_URL"),
            user: read_text_variable("MEMORY_FORGE_GRAPH_USER"),
            password: read_text_variable("MEMORY_FORGE_GRAPH_PASSWORD"),
            database: read_text_variable("MEMORY_FORGE_GRAPH_DATABASE"),
            authority: read_text_variable("MEMORY_FORGE_GRAPH_AUTHORITY"),
        },
        config: read_absolute_path("XDG_CONFIG_HOME")
            .or_else(|| Some(home_folder()?.join(".config"))),
        model: read_variable("MEMORY_FORGE_MODEL").map(PathBuf::from),
    }
}
