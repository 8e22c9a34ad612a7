//! Writes entries into the files of agent clients, and takes them out again.
//!
//! This is the only place that knows those files. It never runs a client and
//! writes through the two doors of the store alone: `Workspace::change` and
//! `change_outside`.

use std::path::{Path, PathBuf};

use forge_store::system;
use jiff::Timestamp;

pub use crate::client::AgentClient;
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
pub use managed::{propose_stub_lines as propose_lines, stub_lines_for};
pub use plan::{PlannedFile, SetupPlan, SetupRequest, plan_install, plan_uninstall};

/// Whether `setup` writes the server's entry by default.
pub const MCP_BY_DEFAULT: bool = true;

/// Audience of an installation: everyone who works on this project, or one user
/// everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetupScope {
    /// Files in this project, to be committed
    Project,
    /// Files in your home, for all projects
    User,
}

impl SetupScope {
    /// Both scopes, the shared one first.
    pub const ALL: [SetupScope; 2] = [SetupScope::Project, SetupScope::User];

    /// Returns the word that a person types.
    pub fn name(self) -> &'static str {
        match self {
            SetupScope::Project => "project",
            SetupScope::User => "user",
        }
    }

    /// Returns the meaning, for a list of possible values.
    pub fn description(self) -> &'static str {
        match self {
            SetupScope::Project => "Files in this project, to be committed",
            SetupScope::User => "Files in your home, for all projects",
        }
    }

    fn other_scope(self) -> SetupScope {
        match self {
            SetupScope::Project => SetupScope::User,
            SetupScope::User => SetupScope::Project,
        }
    }
}

/// File that a client reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFile {
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
pub struct SetupSurroundings<'a> {
    /// The workspace that clients are connected to.
    pub workspace: &'a Workspace,
    /// The folders of clients in the home.
    pub places: ClientPlaces<'a>,
    /// The moment of the request, for the undo journal.
    pub now: Timestamp,
}

impl SetupSurroundings<'_> {
    /// Returns the file in which a client keeps its hooks.
    fn hooks_file(&self, client: AgentClient, scope: SetupScope) -> Result<ClientFile, SetupError> {
        self.client_file(
            client,
            scope,
            match (client, scope) {
                (AgentClient::Claude, SetupScope::Project) => ".claude/settings.json",
                (AgentClient::Codex, SetupScope::Project) => ".codex/hooks.json",
                (AgentClient::OpenCode, SetupScope::Project) => ".opencode/plugin/memory-forge.js",
                (AgentClient::Gemini, SetupScope::Project) => ".gemini/settings.json",
                (AgentClient::Copilot, SetupScope::Project) => ".github/hooks/memory-forge.json",
                (AgentClient::Cursor, SetupScope::Project) => ".cursor/hooks.json",
                (AgentClient::Claude | AgentClient::Gemini, SetupScope::User) => "settings.json",
                (AgentClient::Codex | AgentClient::Cursor, SetupScope::User) => "hooks.json",
                (AgentClient::OpenCode, SetupScope::User) => "plugin/memory-forge.js",
                (AgentClient::Copilot, SetupScope::User) => "hooks/memory-forge.json",
            },
        )
    }

    /// Returns the file in which a client keeps its MCP servers.
    fn server_file(
        &self,
        client: AgentClient,
        scope: SetupScope,
    ) -> Result<ClientFile, SetupError> {
        if let (AgentClient::Claude, SetupScope::User) = (client, scope) {
            return self.claude_json();
        }
        let name = match (client, scope) {
            (AgentClient::Claude, _) => ".mcp.json",
            (AgentClient::Codex, SetupScope::Project) => ".codex/config.toml",
            (AgentClient::OpenCode, _) => {
                let jsonc = self.client_file(client, scope, "opencode.jsonc")?;
                if self.file_exists(&jsonc) {
                    return Ok(jsonc);
                }
                "opencode.json"
            }
            (AgentClient::Gemini, SetupScope::Project) => ".gemini/settings.json",
            (AgentClient::Copilot, SetupScope::Project) => ".github/mcp.json",
            (AgentClient::Cursor, SetupScope::Project) => ".cursor/mcp.json",
            (AgentClient::Codex, SetupScope::User) => "config.toml",
            (AgentClient::Gemini, SetupScope::User) => "settings.json",
            (AgentClient::Copilot, SetupScope::User) => "mcp-config.json",
            (AgentClient::Cursor, SetupScope::User) => "mcp.json",
        };
        self.client_file(client, scope, name)
    }

    /// Returns a file of a client, by its name below the project or below the
    /// client's folder in the home.
    fn client_file(
        &self,
        client: AgentClient,
        scope: SetupScope,
        name: &str,
    ) -> Result<ClientFile, SetupError> {
        match scope {
            SetupScope::Project => {
                let path = RelPath::new(name)?;
                let linked = self.linked_instructions(&path);
                Ok(ClientFile::Project(linked.unwrap_or(path)))
            }
            SetupScope::User => {
                let (base, folder) = self.client_folder(client)?;
                Ok(ClientFile::User(OutsideFile {
                    path: folder.join(name),
                    base,
                }))
            }
        }
    }

    /// Returns the file that a file of instructions links to, over any number
    /// of links: repositories often have `CLAUDE.md` as a link to `AGENTS.md`,
    /// and that as a link to a file in a folder of their tools. Nothing is
    /// written through a link, so the file itself is what is edited.
    fn linked_instructions(&self, path: &RelPath) -> Option<RelPath> {
        if !path.as_str().ends_with(".md") {
            return None;
        }
        let meta = self.workspace.absolute_path(path).symlink_metadata();
        if !meta.ok()?.file_type().is_symlink() {
            return None;
        }
        let linked = self.workspace.resolve_real_path(path)?;
        let is_file = self.workspace.absolute_path(&linked).is_file();
        (is_file && linked.as_str().ends_with(".md") && !linked.is_derived()).then_some(linked)
    }

    /// Returns the folder that is surely the user's own, and the client's
    /// folder in it. A folder that a variable names is taken as it is.
    fn client_folder(&self, client: AgentClient) -> Result<(PathBuf, PathBuf), SetupError> {
        let places = self.places;
        let named = match client {
            AgentClient::Claude => places.claude_config_dir,
            AgentClient::Codex => places.codex_home,
            AgentClient::Copilot => places.copilot_home,
            AgentClient::OpenCode | AgentClient::Gemini | AgentClient::Cursor => None,
        };
        if let Some(folder) = named {
            return Ok((folder.to_owned(), folder.to_owned()));
        }
        if let (AgentClient::OpenCode, Some(base)) = (client, places.xdg_config_home) {
            return Ok((base.to_owned(), base.join("opencode")));
        }
        let home = self.home_folder()?;
        let folder = home.join(match client {
            AgentClient::Claude => ".claude",
            AgentClient::Codex => ".codex",
            AgentClient::OpenCode => ".config/opencode",
            AgentClient::Gemini => ".gemini",
            AgentClient::Copilot => ".copilot",
            AgentClient::Cursor => ".cursor",
        });
        Ok((home.to_owned(), folder))
    }

    /// Returns Claude Code's file of a user's servers, which is next to its
    /// folder, or inside it if the folder was moved.
    fn claude_json(&self) -> Result<ClientFile, SetupError> {
        let base = match self.places.claude_config_dir {
            Some(folder) => folder,
            None => self.home_folder()?,
        };
        Ok(ClientFile::User(OutsideFile {
            base: base.to_owned(),
            path: base.join(".claude.json"),
        }))
    }

    fn home_folder(&self) -> Result<&Path, SetupError> {
        self.places.home.ok_or(SetupError::NoHome)
    }

    fn absolute_path(&self, place: &ClientFile) -> PathBuf {
        match place {
            ClientFile::Project(path) => self.workspace.absolute_path(path),
            ClientFile::User(file) => file.path.clone(),
        }
    }

    fn file_exists(&self, place: &ClientFile) -> bool {
        self.absolute_path(place).symlink_metadata().is_ok()
    }

    /// Returns the text of a file, or `None` if it is missing. Refuses links in
    /// both scopes: the text is going to be written back.
    fn read_file(&self, place: &ClientFile) -> Result<Option<String>, SetupError> {
        let file = match place {
            ClientFile::Project(path) => OutsideFile {
                base: self.workspace.root().to_owned(),
                path: self.workspace.absolute_path(path),
            },
            ClientFile::User(file) => file.clone(),
        };
        Ok(file.read_text()?)
    }

    /// Returns a place as people write it: relative, or from `~`.
    pub fn display_path(&self, place: &ClientFile) -> String {
        match place {
            ClientFile::Project(path) => path.to_string(),
            ClientFile::User(file) => {
                match self
                    .places
                    .home
                    .and_then(|home| file.path.strip_prefix(home).ok())
                {
                    Some(rest) => format!("~/{}", system::with_slashes(rest)),
                    None => file.path.display().to_string(),
                }
            }
        }
    }
}
