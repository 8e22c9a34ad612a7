//! What `setup` writes into the files of agent clients, and how to take it
//! back. This is the only place that knows those files; it never runs a client
//! and never writes by itself, but through the library's two doors.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
pub(crate) use forge_app::client::Client;
use forge_app::workspace::{OutsideFile, RelPath, Workspace};

use crate::report::CommandError;
use crate::settings::Settings;

mod entries;
pub(crate) mod found;
pub(crate) mod git;
pub(crate) mod hooks;
mod json;
mod lines;
mod managed;
mod plan;
mod plugin;
pub(crate) mod skills;
mod stub;
mod toml;

pub(crate) use entries::calls_us;
pub(crate) use hooks::HookSet;
pub(crate) use managed::{lines_of, propose as propose_lines};
pub(crate) use plan::{Ask, Plan, install, uninstall};

/// Whether `setup` writes the server's entry unless told otherwise.
pub(crate) const MCP_BY_DEFAULT: bool = true;

/// For everyone who works on this project, or for one person everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Scope {
    /// Files in this project, to be committed
    Project,
    /// Files in your home, for all projects
    User,
}

impl Scope {
    pub(crate) const ALL: [Scope; 2] = [Scope::Project, Scope::User];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }

    fn other(self) -> Scope {
        match self {
            Scope::Project => Scope::User,
            Scope::User => Scope::Project,
        }
    }
}

/// A file that a client reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Project(RelPath),
    User(OutsideFile),
}

/// Where everything is: the workspace, and the folders of clients in the home.
pub(crate) struct Surroundings<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) settings: &'a Settings,
}

impl Surroundings<'_> {
    /// The file that a client's hooks are kept in.
    fn hooks_file(&self, client: Client, scope: Scope) -> Result<Place, CommandError> {
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

    /// The file that a client's MCP servers are kept in.
    fn server_file(&self, client: Client, scope: Scope) -> Result<Place, CommandError> {
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

    /// A file of a client, by its name below the project or below the
    /// client's folder in the home.
    fn place(&self, client: Client, scope: Scope, name: &str) -> Result<Place, CommandError> {
        match scope {
            Scope::Project => RelPath::new(name)
                .map(Place::Project)
                .map_err(|error| CommandError::failure(error.to_string())),
            Scope::User => {
                let (base, folder) = self.home_of(client)?;
                Ok(Place::User(OutsideFile {
                    path: folder.join(name),
                    base,
                }))
            }
        }
    }

    /// A client's folder, and the folder that is surely the person's own. A
    /// folder that a variable names is taken as it is.
    fn home_of(&self, client: Client) -> Result<(PathBuf, PathBuf), CommandError> {
        let settings = self.settings;
        let named = match client {
            Client::Claude => settings.claude_config_dir.clone(),
            Client::Codex => settings.codex_home.clone(),
            Client::Copilot => settings.copilot_home.clone(),
            Client::OpenCode | Client::Gemini | Client::Cursor => None,
        };
        if let Some(folder) = named {
            return Ok((folder.clone(), folder));
        }
        if let (Client::OpenCode, Some(base)) = (client, &settings.xdg_config_home) {
            return Ok((base.clone(), base.join("opencode")));
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

    /// Claude Code keeps a person's servers beside its folder, or in it when
    /// the folder was moved.
    fn claude_json(&self) -> Result<Place, CommandError> {
        let base = match &self.settings.claude_config_dir {
            Some(folder) => folder.as_path(),
            None => self.home()?,
        };
        Ok(Place::User(OutsideFile {
            base: base.to_owned(),
            path: base.join(".claude.json"),
        }))
    }

    fn home(&self) -> Result<&Path, CommandError> {
        self.settings.home.as_deref().ok_or_else(|| {
            CommandError::failure("There is no home directory to look into")
                .hint("Set `HOME`, or use `--scope project`")
        })
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

    /// The text of a file, or none. Links are refused in both scopes: what is
    /// read here is meant to be written back.
    fn read(&self, place: &Place) -> Result<Option<String>, CommandError> {
        let file = match place {
            Place::Project(path) => OutsideFile {
                base: self.workspace.root().to_owned(),
                path: self.workspace.absolute(path),
            },
            Place::User(file) => file.clone(),
        };
        Ok(file.read_text()?)
    }

    /// A place as people write it: relative, or from `~`.
    pub(crate) fn shown(&self, place: &Place) -> String {
        match place {
            Place::Project(path) => path.to_string(),
            Place::User(file) => {
                let home = self.settings.home.as_deref();
                match home.and_then(|home| file.path.strip_prefix(home).ok()) {
                    Some(rest) => format!("~/{}", rest.display()),
                    None => file.path.display().to_string(),
                }
            }
        }
    }
}
