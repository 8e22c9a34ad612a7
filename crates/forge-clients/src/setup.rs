//! Writes entries into the files of agent clients, and takes them out again.
//!
//! This is the only place that knows those files. It never runs a client and
//! writes through the two doors of the store alone: `Workspace::change` and
//! `change_outside`.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use crate::client::Client;
use crate::workspace::{OutsideFile, RelPath, Workspace};

mod error;
pub mod json;
mod lines;
pub mod hooks;
pub mod entries;
pub mod git;
mod plugin;
pub mod skills;
pub mod stub;
pub mod toml;
pub mod found;
mod managed;
mod plan;

pub use entries::calls_us;
pub use error::SetupError;
pub use hooks::HookSet;
pub use managed::{lines_of, propose as propose_lines};
pub use plan::{Ask, Plan, PlannedFile, install, uninstall};

/// Whether `setup` writes the server's entry by default.
pub const MCP_BY_DEFAULT: bool = true;

/// Audience of an installation: everyone who works on this project, or one user
/// everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Files in this project, to be committed
    Project,
    /// Files in your home, for all projects
    User,
}

impl Scope {
    /// Both scopes, the shared one first.
    pub const ALL: [Scope; 2] = [Scope::Project, Scope::User];

    /// Returns the word that a person types.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }

    /// Returns the meaning, for a list of possible values.
    pub fn about(self) -> &'static str {
        match self {
            Scope::Project => "Files in this project, to be committed",
            Scope::User => "Files in your home, for all projects",
        }
    }

    fn other(self) -> Scope {
        match self {
            Scope::Project => Scope::User,
            Scope::User => Scope::Project,
        }
    }
}

/// File that a client reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file of the workspace.
    Project(RelPath),
    /// A file in the person's home.
    User(OutsideFile),
}

/// Folders of the machine in which clients keep their files, as the process
/// found them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientPlaces<'a> {
    /// The person's home directory.
    pub home: Option<&'a Path>,
    /// `CLAUDE_CONFIG_DIR`, the folder of Claude Code's settings.
    pub claude_config_dir: Option<&'a Path>,
    /// `CODEX_HOME`, the same for Codex.
    pub codex_home: Option<&'a Path>,
    /// `COPILOT_HOME`, the same for Copilot CLI.
    pub copilot_home: Option<&'a Path>,
    /// `XDG_CONFIG_HOME`, which OpenCode follows.
    pub xdg_config_home: Option<&'a Path>,
    /// The folders of `PATH`.
    pub path: &'a [PathBuf],
    /// The file that is running.
    pub binary: Option<&'a Path>,
}

/// Workspace, and the folders of clients in the home.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The workspace that clients are connected to.
    pub workspace: &'a Workspace,
    /// The folders of clients in the home.
    pub places: ClientPlaces<'a>,
    /// The moment of the request, for the undo journal.
    pub now: Timestamp,
}

impl Surroundings<'_> {
    /// Returns the file in which a client keeps its hooks.
    fn hooks_file(&self, client: Client, scope: Scope) -> Result<Place, SetupError> {
        self.place(
            client,
            scope,
            match (client, scope) {
                (Client::Claude, Scope::Project) => ".claude/settings.json",
                (Client::Codex, Scope::Project) => ".codex/hooks.json",
                (Client::OpenCode, Scope::Project) => ".opencode/plugin/memory-forge.js",
                (Client::Gemini, Scope::Project) => ".gemini/settings.json",
                (Client::Copilot, Scope::Project) => ".github/hooks/memory-forge.json",
                (Client::Cursor, Scope::Project) => ".cursor/hooks.json",
                (Client::Claude | Client::Gemini, Scope::User) => "settings.json",
                (Client::Codex | Client::Cursor, Scope::User) => "hooks.json",
                (Client::OpenCode, Scope::User) => "plugin/memory-forge.js",
                (Client::Copilot, Scope::User) => "hooks/memory-forge.json",
            },
        )
    }

    /// Returns the file in which a client keeps its MCP servers.
    fn server_file(&self, client: Client, scope: Scope) -> Result<Place, SetupError> {
        if let (Client::Claude, Scope::User) = (client, scope) {
            return self.claude_json();
        }
        let name = match (client, scope) {
            (Client::Claude, _) => ".mcp.json",
            (Client::Codex, Scope::Project) => ".codex/config.toml",
            (Client::OpenCode, _) => {
                let jsonc = self.place(client, scope, "opencode.jsonc")?;
                if self.exists(&jsonc) {
                    return Ok(jsonc);
                }
                "opencode.json"
            }
            (Client::Gemini, Scope::Project) => ".gemini/settings.json",
            (Client::Copilot, Scope::Project) => ".github/mcp.json",
            (Client::Cursor, Scope::Project) => ".cursor/mcp.json",
            (Client::Codex, Scope::User) => "config.toml",
            (Client::Gemini, Scope::User) => "settings.json",
            (Client::Copilot, Scope::User) => "mcp-config.json",
            (Client::Cursor, Scope::User) => "mcp.json",
        };
        self.place(client, scope, name)
    }

    /// Returns a file of a client, by its name below the project or below the
    /// client's folder in the home.
    fn place(&self, client: Client, scope: Scope, name: &str) -> Result<Place, SetupError> {
        match scope {
            Scope::Project => Ok(Place::Project(RelPath::new(name)?)),
            Scope::User => {
                let (base, folder) = self.home_of(client)?;
                Ok(Place::User(OutsideFile {
                    path: folder.join(name),
                    base,
                }))
            }
        }
    }

    /// Returns the folder that is surely the user's own, and the client's
    /// folder in it. A folder that a variable names is taken as it is.
    fn home_of(&self, client: Client) -> Result<(PathBuf, PathBuf), SetupError> {
        let places = self.places;
        let named = match client {
            Client::Claude => places.claude_config_dir,
            Client::Codex => places.codex_home,
            Client::Copilot => places.copilot_home,
            Client::OpenCode | Client::Gemini | Client::Cursor => None,
        };
        if let Some(folder) = named {
            return Ok((folder.to_owned(), folder.to_owned()));
        }
        if let (Client::OpenCode, Some(base)) = (client, places.xdg_config_home) {
            return Ok((base.to_owned(), base.join("opencode")));
        }
        let home = self.home()?;
        let folder = home.join(match client {
            Client::Claude => ".claude",
            Client::Codex => ".codex",
            Client::OpenCode => ".config/opencode",
            Client::Gemini => ".gemini",
            Client::Copilot => ".copilot",
            Client::Cursor => ".cursor",
        });
        Ok((home.to_owned(), folder))
    }

    /// Returns Claude Code's file of a user's servers, which is next to its
    /// folder, or inside it if the folder was moved.
    fn claude_json(&self) -> Result<Place, SetupError> {
        let base = match self.places.claude_config_dir {
            Some(folder) => folder,
            None => self.home()?,
        };
        Ok(Place::User(OutsideFile {
            base: base.to_owned(),
            path: base.join(".claude.json"),
        }))
    }

    fn home(&self) -> Result<&Path, SetupError> {
        self.places.home.ok_or(SetupError::NoHome)
    }

    fn absolute(&self, place: &Place) -> PathBuf {
        match place {
            Place::Project(path) => self.workspace.absolute(path),
            Place::User(file) => file.path.clone(),
        }
    }

    fn exists(&self, place: &Place) -> bool {
        self.absolute(place).symlink_metadata().is_ok()
    }

    /// Returns the text of a file, or `None` if it is missing. Refuses links in
    /// both scopes: the text is going to be written back.
    fn read(&self, place: &Place) -> Result<Option<String>, SetupError> {
        let file = match place {
            Place::Project(path) => OutsideFile {
                base: self.workspace.root().to_owned(),
                path: self.workspace.absolute(path),
            },
            Place::User(file) => file.clone(),
        };
        Ok(file.read_text()?)
    }

    /// Returns a place as people write it: relative, or from `~`.
    pub fn shown(&self, place: &Place) -> String {
        match place {
            Place::Project(path) => path.to_string(),
            Place::User(file) => {
                match self
                    .places
                    .home
                    .and_then(|home| file.path.strip_prefix(home).ok())
                {
                    Some(rest) => format!("~/{}", rest.display()),
                    None => file.path.display().to_string(),
                }
            }
        }
    }
}
