//! Which index of pointers is put before whom without being asked for: a
//! session gets that of the workspace, a helper its own and no other. Reads
//! two files at most beside the names of folders, since hooks call it.

use crate::agents::{Home, pointers};
use crate::document;
use crate::mind::Pointers;
use crate::quote;
use crate::workspace::{RelPath, Workspace};

/// An index and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub path: String,
    pub text: String,
}

impl Given {
    pub fn pointers(&self) -> Pointers<'_> {
        Pointers {
            path: &self.path,
            text: &self.text,
        }
    }
}

/// The index of the workspace: that of `knowledge/`, else the one at the root.
pub fn for_session(workspace: &Workspace) -> Option<Given> {
    let home = Home::knowledge();
    if let Some(text) = pointers::briefing(workspace, &home, pointers::MAX_BYTES) {
        let path = home.file(pointers::FILE).ok()?.to_string();
        return Some(Given { path, text });
    }
    let path = RelPath::new(pointers::FILE).ok()?;
    let text = workspace.text_if_there(&path).ok().flatten()?;
    let document = document::parse(quote::unasked(&text).into_owned());
    let text = document.text[document.body.clone()].trim();
    (!text.is_empty()).then(|| Given {
        path: path.to_string(),
        text: text.to_owned(),
    })
}

/// The memory of the agent that a client calls by this name: `agent`,
/// `squad/agent`, `squad:agent`, or `plugin:agent`. Where several squads have
/// an agent of that name, nobody can say whose is meant, and none is given.
pub fn for_helper(workspace: &Workspace, name: &str) -> Option<Given> {
    let home = home_of(workspace, name)?;
    let text = pointers::briefing(workspace, &home, pointers::MAX_BYTES)?;
    let there = |file: &str| {
        let path = home.file(file).ok()?;
        workspace
            .absolute(&path)
            .is_file()
            .then(|| path.to_string())
    };
    let path = there(pointers::FILE).or_else(|| there(pointers::FALLBACK));
    Some(Given {
        path: path.unwrap_or_else(|| home.folder().to_string()),
        text,
    })
}

fn home_of(workspace: &Workspace, name: &str) -> Option<Home> {
    let is_there = |home: &Home| workspace.absolute(home.folder()).is_dir();
    if let Some((squad, agent)) = name.split_once(['/', ':']) {
        let named = Home::open(squad, agent).ok().filter(is_there);
        // What stands before a colon may be the plugin that brought the agent.
        return named.or_else(|| {
            if name.contains(':') {
                Home::find(workspace, agent).ok().filter(is_agent)
            } else {
                None
            }
        });
    }
    Home::find(workspace, name).ok().filter(is_agent)
}

/// `knowledge` is everyone's, also where a client calls an agent so.
fn is_agent(home: &Home) -> bool {
    home.agent().is_some()
}
