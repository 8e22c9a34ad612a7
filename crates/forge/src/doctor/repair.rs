//! The repair: stubs for context files that are too large, their text kept
//! word for word below `knowledge/legacy/`, and the README's list. It proposes
//! and never writes; what it is unsure of it leaves alone and says so.

use crate::document::day_of;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checks::context_files;
use super::legacy;
use super::stub::{STUB_TOKENS, Verdict, stub};
use crate::knowledge::proposal::Proposal;
use crate::knowledge::readme;
use crate::tokens::{Tokenizer, thousands};
use crate::workspace::{AutoloadFile, RelPath, Workspace};

/// What would be done, and what would not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair {
    pub proposal: Proposal,
    pub steps: Vec<Step>,
    pub left_alone: Vec<LeftAlone>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A context file is cut down; its text goes to `legacy`.
    Stub {
        path: RelPath,
        legacy: RelPath,
        /// Tokens of `o200k`.
        before: usize,
        after: usize,
    },
    /// The list in `knowledge/README.md` is written.
    Readme { created: bool },
}

/// A file that is over its limit and stays as it is, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    pub path: RelPath,
    pub why: String,
}

/// Decides what to repair. Nothing is changed.
pub fn plan(workspace: &Workspace, now: Timestamp) -> Repair {
    let mut repair = Repair::default();
    // Two sources may share a legacy file.
    let mut kept: BTreeMap<RelPath, Kept> = BTreeMap::new();
    let loaded = workspace.autoload();
    for file in context_files(&loaded) {
        if let Err(why) = cut_down(workspace, file, now, &mut repair, &mut kept) {
            repair.left_alone.push(LeftAlone {
                path: file.path.clone(),
                why,
            });
        }
    }
    for (path, kept) in kept {
        repair.proposal.add(path, kept.before, kept.after);
    }
    list(workspace, &mut repair);
    repair
}

struct Kept {
    before: Option<String>,
    after: String,
}

fn cut_down(
    workspace: &Workspace,
    file: &AutoloadFile,
    now: Timestamp,
    repair: &mut Repair,
    kept: &mut BTreeMap<RelPath, Kept>,
) -> Result<(), String> {
    let path = &file.path;
    let limit = workspace.config().audit.file_warn;
    let text = workspace.read_text(path).map_err(|e| e.to_string())?;
    let before = Tokenizer::O200k.count(&text);
    if before <= limit {
        return Ok(());
    }
    if let Some(real) = &file.real {
        return Err(format!(
            "It is a symlink to `{real}`, and links are never written through"
        ));
    }
    let legacy = legacy::path_for(path);
    let (stub, after) = match stub(&text, &legacy, limit) {
        Verdict::Stub { text, tokens } => (text, tokens),
        Verdict::TooMuchMustStay { tokens } => {
            return Err(format!(
                "What must stay (imports, commands, marked lines) has {} tokens by itself; a stub has fewer than {STUB_TOKENS}",
                thousands(tokens)
            ));
        }
        Verdict::NothingToMove => return Err("All of it must stay".to_owned()),
    };
    let existing = match kept.get(&legacy) {
        Some(kept) => Some(kept.after.clone()),
        None => workspace
            .text_if_there(&legacy)
            .map_err(|e| e.to_string())?,
    };
    let day = day_of(now);
    let with_original = legacy::keep(existing.as_deref(), path, &text, day);
    kept.entry(legacy.clone())
        .or_insert_with(|| Kept {
            before: existing,
            after: String::new(),
        })
        .after = with_original;
    repair.proposal.add(path.clone(), Some(text), stub);
    repair.steps.push(Step::Stub {
        path: path.clone(),
        legacy,
        before,
        after,
    });
    Ok(())
}

fn list(workspace: &Workspace, repair: &mut Repair) {
    let new: Vec<(RelPath, String)> = repair
        .proposal
        .files
        .iter()
        .filter(|file| file.path.starts_with("knowledge"))
        .map(|file| (file.path.clone(), file.after.clone()))
        .collect();
    let documents = readme::documents(workspace, &new);
    let before = match workspace.read_text(&readme::path()) {
        Ok(text) => Some(text),
        Err(e) if e.is_not_found() => None,
        Err(e) => {
            return repair.left_alone.push(LeftAlone {
                path: readme::path(),
                why: e.to_string(),
            });
        }
    };
    if before.is_none() && documents.is_empty() {
        return;
    }
    match readme::refreshed(before.as_deref(), &documents) {
        Ok(after) => {
            if before.as_deref() != Some(after.as_str()) {
                let created = before.is_none();
                repair.steps.push(Step::Readme { created });
            }
            repair.proposal.add(readme::path(), before, after);
        }
        Err(e) => repair.left_alone.push(LeftAlone {
            path: readme::path(),
            why: e.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests;
