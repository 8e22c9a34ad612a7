//! The memory of agents: an index of pointers that is always loaded
//! (`MEMORY.md`), one file for each topic, and learnings. Old text moves and is
//! never dropped; nothing here runs an agent.

use std::fmt;

use crate::admit;
use crate::diagnostic::Diagnostic;
use crate::workspace::{self, PathError, RelPath, Workspace};

pub mod claude;
pub mod feedback;
pub mod learnings;
pub mod pointers;
pub mod recall;
pub mod remember;
pub mod rotate;
pub mod system;
pub mod topics;

/// The folder that holds a folder for each squad, and that one for each agent.
pub const AGENT_MEMORY_FOLDER: &str = ".agents/memory";

/// An error in an operation on the memory of an agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The caller named a squad or an agent in a form that cannot be a folder.
    #[error("`{text}` cannot name {what}: {why} (cli#1045)")]
    Segment {
        /// The thing to be named: a squad or an agent.
        what: &'static str,
        /// The name that was given.
        text: String,
        /// Why it cannot be a folder.
        why: &'static str,
    },
    /// An agent was named alone, and no agent has a memory yet.
    #[error("No {AGENT_MEMORY_FOLDER} directory found")]
    NoMemory,
    /// The caller named an agent without a memory.
    #[error("There is no memory of an agent called `{name}`")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The memories that exist.
        homes: Vec<MemoryHome>,
    },
    /// The caller named an agent without its squad, and several squads have one
    /// of that name.
    #[error("`{name}` may mean {}", join_homes(homes))]
    Ambiguous {
        /// The name that was given.
        name: String,
        /// The memories that it may mean.
        homes: Vec<MemoryHome>,
    },
    /// The caller's text is empty.
    #[error("There is no text to keep")]
    NoText,
    /// The caller's text was refused by [`admit`].
    #[error(transparent)]
    Refused(#[from] admit::TextRefusal),
    /// The caller's text is a diff, a log or a stack trace.
    #[error("This is {what}, which is kept elsewhere already")]
    KeptElsewhere {
        /// What the text is, such as a diff.
        what: &'static str,
    },
    /// A topic that is similar to the caller's exists.
    #[error("`{path}` contains this already: {title}")]
    Known {
        /// The topic that exists.
        path: RelPath,
        /// Its title.
        title: String,
    },
    /// The caller updates a topic that does not exist.
    #[error("There is no topic `{path}`")]
    NoTopic {
        /// The topic that was named.
        path: RelPath,
    },
    /// The caller's name belongs to a state file, an index or an archive.
    #[error("`{path}` is not the name of a topic: such files have a meaning of their own")]
    NotATopic {
        /// The path that was named.
        path: RelPath,
    },
    /// The caller's rating is out of range.
    #[error("A rating is a number from 1 to 5, not `{given}`")]
    Rating {
        /// What was given.
        given: String,
    },
    /// The caller's path is invalid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The workspace cannot be read or written; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
}

/// Maximum number of agents that a hint names.
const MAX_AGENTS_IN_HINT: usize = 10;

impl Diagnostic for AgentError {
    fn code(&self) -> &'static str {
        match self {
            AgentError::Segment { .. } => "agent.invalid-name",
            AgentError::NoMemory => "agent.no-memory",
            AgentError::Unknown { .. } => "agent.unknown",
            AgentError::Ambiguous { .. } => "agent.ambiguous",
            AgentError::NoText => "agent.no-text",
            AgentError::Refused(error) => error.code(),
            AgentError::KeptElsewhere { .. } => "agent.kept-elsewhere",
            AgentError::Known { .. } => "agent.known",
            AgentError::NoTopic { .. } => "agent.no-topic",
            AgentError::NotATopic { .. } => "agent.not-a-topic",
            AgentError::Rating { .. } => "agent.invalid-rating",
            AgentError::Path(error) => error.code(),
            AgentError::Workspace(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            AgentError::Refused(error) => return error.hints(),
            AgentError::Path(error) => return error.hints(),
            AgentError::Workspace(error) => return error.hints(),
            AgentError::Segment { .. } | AgentError::Rating { .. } => return Vec::new(),
            AgentError::NoMemory => "Name a squad and an agent: `memory-forge agent remember … --agent eng/builder` makes the folder".to_owned(),
            AgentError::Unknown { homes, .. } if homes.is_empty() => return Vec::new(),
            AgentError::Unknown { homes, .. } => suggest_agents(homes),
            AgentError::Ambiguous { .. } => "Name the squad as well".to_owned(),
            AgentError::NotATopic { .. } => "Choose another name".to_owned(),
            AgentError::NoText => "Give it as an argument, or pipe it in".to_owned(),
            AgentError::KeptElsewhere { .. } => {
                "Say in a sentence what it taught, and where to find it".to_owned()
            }
            AgentError::Known { path, .. } => {
                return vec![
                    format!(
                        "Add to it: `memory-forge agent remember --update {}`",
                        path.file_name()
                    ),
                    "For a different topic, choose another name or pass `--new`".to_owned(),
                ];
            }
            AgentError::NoTopic { .. } => "`memory-forge agent index` lists what there is".to_owned(),
        };
        vec![hint]
    }

    fn is_usage(&self) -> bool {
        matches!(
            self,
            AgentError::Segment { .. } | AgentError::Path(_) | AgentError::Rating { .. }
        )
    }
}

/// Returns a hint that names these agents, the first ten of them.
pub fn suggest_agents(homes: &[MemoryHome]) -> String {
    let shown = homes.iter().take(MAX_AGENTS_IN_HINT);
    let names: Vec<String> = shown.map(MemoryHome::to_string).collect();
    let more = if homes.len() > MAX_AGENTS_IN_HINT {
        format!(" and {} more", homes.len() - MAX_AGENTS_IN_HINT)
    } else {
        String::new()
    };
    format!("There are {}{more}", names.join(", "))
}

/// The place of one memory: an agent's folder, or the `knowledge/` that all of
/// them share. It need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryHome {
    folder: RelPath,
    agent: Option<(String, String)>,
}

impl MemoryHome {
    /// Returns the memory of an agent of a squad, whether or not it exists.
    /// Fails if a name cannot be the name of a folder.
    pub fn for_agent(squad: &str, agent: &str) -> Result<MemoryHome, AgentError> {
        let squad = check_folder_name("a squad", squad)?;
        let agent = check_folder_name("an agent", agent)?;
        Ok(MemoryHome {
            folder: RelPath::new(&format!("{AGENT_MEMORY_FOLDER}/{squad}/{agent}"))?,
            agent: Some((squad.to_owned(), agent.to_owned())),
        })
    }

    /// Returns the shared knowledge of the workspace, with all its folders.
    pub fn for_knowledge() -> MemoryHome {
        MemoryHome {
            folder: RelPath::new("knowledge").expect("a constant that is a valid path"),
            agent: None,
        }
    }

    /// Resolves `squad/agent`, a bare agent name or the word "knowledge". A
    /// full name need not exist; a bare agent name must exist in exactly one
    /// squad.
    pub fn find_by_name(workspace: &Workspace, name: &str) -> Result<MemoryHome, AgentError> {
        if name == "knowledge" {
            return Ok(MemoryHome::for_knowledge());
        }
        if let Some((squad, agent)) = name.split_once('/') {
            return MemoryHome::for_agent(squad, agent);
        }
        let agent = check_folder_name("an agent", name)?;
        let homes = MemoryHome::list_agent_homes(workspace);
        let is_meant = |home: &&MemoryHome| home.agent.as_ref().is_some_and(|(_, it)| it == agent);
        let meant: Vec<MemoryHome> = homes.iter().filter(is_meant).cloned().collect();
        let name = agent.to_owned();
        match meant.as_slice() {
            [one] => Ok(one.clone()),
            [] if homes.is_empty() => Err(AgentError::NoMemory),
            [] => Err(AgentError::Unknown { name, homes }),
            _ => Err(AgentError::Ambiguous { name, homes: meant }),
        }
    }

    /// Lists every agent that has a folder, sorted. Skips the folders that
    /// squads share and folders whose names [`MemoryHome::for_agent`] would refuse.
    pub fn list_agent_homes(workspace: &Workspace) -> Vec<MemoryHome> {
        let Ok(root) = RelPath::new(AGENT_MEMORY_FOLDER) else {
            return Vec::new();
        };
        let mut homes = Vec::new();
        for squad in list_subfolders(workspace, &root) {
            let Ok(folder) = root.join(&squad) else {
                continue;
            };
            let agents = list_subfolders(workspace, &folder);
            // `shared/` contains the learnings of the squad and belongs to no
            // agent.
            let agents = agents.iter().filter(|agent| *agent != "shared");
            homes.extend(agents.filter_map(|agent| MemoryHome::for_agent(&squad, agent).ok()));
        }
        // The order of a folder's listing depends on the file system.
        homes.sort();
        homes
    }

    /// Returns the folder of this memory.
    pub fn folder(&self) -> &RelPath {
        &self.folder
    }

    /// Returns squad and agent, or `None` for `knowledge/`.
    pub fn squad_and_agent(&self) -> Option<(&str, &str)> {
        let (squad, agent) = self.agent.as_ref()?;
        Some((squad, agent))
    }

    /// Returns the path of a file of this memory.
    pub fn file_path(&self, name: &str) -> Result<RelPath, AgentError> {
        Ok(self.folder.join(name)?)
    }
}

/// Displays the memory as command lines name it.
impl fmt::Display for MemoryHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.agent {
            Some((squad, agent)) => write!(f, "{squad}/{agent}"),
            None => f.write_str(self.folder.as_str()),
        }
    }
}

/// Checks a name that becomes a folder and returns it. Programs that pass on an
/// empty or missing value once filled real repositories with folders called
/// `undefined`.
pub fn check_folder_name<'a>(what: &'static str, text: &'a str) -> Result<&'a str, AgentError> {
    let refuse = |why| {
        let text = text.to_owned();
        Err(AgentError::Segment { what, text, why })
    };
    const MISSING_VALUE_NAMES: [&str; 5] = ["0", "null", "undefined", "none", "nan"];
    let name = text.trim();
    if name.is_empty() {
        return refuse("it is empty");
    }
    if MISSING_VALUE_NAMES.contains(&name.to_lowercase().as_str()) {
        return refuse("it is what programs write when a value is missing");
    }
    if name.contains(['/', '\\']) {
        return refuse("it has a slash");
    }
    if name.contains('.') {
        return refuse("it has an extension or leads to a parent folder");
    }
    if name.chars().any(char::is_control) || name != text {
        return refuse("it has spaces around it or characters that cannot be seen");
    }
    RelPath::new(name).map_err(|_| AgentError::Segment {
        what,
        text: text.to_owned(),
        why: "no file may have this name",
    })?;
    Ok(name)
}

/// Returns the names of the real folders in a folder; none if it cannot be
/// read.
fn list_subfolders(workspace: &Workspace, folder: &RelPath) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(workspace.absolute_path(folder)) else {
        return Vec::new();
    };
    entries
        .flatten()
        // A symlink could lead outside the workspace.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

fn join_homes(homes: &[MemoryHome]) -> String {
    let names: Vec<String> = homes.iter().map(|home| format!("`{home}`")).collect();
    names.join(" or ")
}

#[cfg(test)]
mod tests;
