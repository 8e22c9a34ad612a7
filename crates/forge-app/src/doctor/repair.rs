//! The repair of files that are too large: the explanations of context files
//! move word for word to `knowledge/legacy/`, those of skills to `references/`
//! beside them; and the README's list. It proposes and never writes, and where
//! a limit cannot be reached it says what remains.

use crate::audit;
use crate::document::day_of;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checks::{context_files, is_nested, skill_files};
use super::legacy;
use super::stub::{
    FileParts, STUB_TOKENS, SectionChoices, SectionPlan, StubRefusal, split_skill, stub,
};
use crate::knowledge::proposal::Proposal;
use crate::knowledge::readme;
use crate::tokens::{Tokenizer, count_tokens, thousands};
use crate::workspace::{Autoload, AutoloadFile, RelPath, Workspace};

/// A plan of repairs, with the files that are left alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair {
    pub proposal: Proposal,
    pub steps: Vec<Step>,
    pub left_alone: Vec<LeftAlone>,
    /// The files that it shortens, section by section.
    pub reviews: Vec<FileReview>,
}

/// What a person chose, file by file.
pub type RepairChoices = BTreeMap<RelPath, SectionChoices>;

/// A file that is shortened, for a person to look at before it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReview {
    pub path: RelPath,
    /// Tokens of `o200k`.
    pub before: usize,
    pub after: usize,
    pub limit: usize,
    pub sections: Vec<SectionPlan>,
}

/// Sections that are named as the largest of what remains.
const MAX_NAMED: usize = 3;

impl FileReview {
    /// Returns what remains and why, where the limit is not reached.
    pub fn remaining(&self) -> Option<String> {
        if self.after <= self.limit {
            return None;
        }
        let mut largest: Vec<(usize, &str)> = self
            .sections
            .iter()
            .map(|it| (it.tokens.saturating_sub(it.moved), it.title.as_str()))
            .filter(|(tokens, title)| *tokens > 0 && !title.is_empty())
            .collect();
        largest.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
        let named: Vec<String> = largest
            .iter()
            .take(MAX_NAMED)
            .map(|(tokens, title)| format!("\"{title}\" {}", thousands(*tokens)))
            .collect();
        let most = if named.is_empty() {
            String::new()
        } else {
            format!("; most of it in {}", named.join(", "))
        };
        Some(format!(
            "{} tokens remain, above {}: rules, commands and imports stay{most}",
            thousands(self.after),
            thousands(self.limit)
        ))
    }
}

/// A single repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Shortens a context file; its text goes to `legacy`.
    Stub {
        path: RelPath,
        legacy: RelPath,
        /// Tokens of `o200k`.
        before: usize,
        after: usize,
    },
    /// Moves the explanations of a skill to `reference`.
    Skill {
        path: RelPath,
        reference: RelPath,
        before: usize,
        after: usize,
    },
    /// Writes the list in `knowledge/README.md`.
    Readme { created: bool },
}

/// A file that no repair changes, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    pub path: RelPath,
    pub why: String,
}

/// Plans repairs of the files of the project itself, or of the named ones,
/// which may belong to a part of it. Nothing is written.
pub fn plan(workspace: &Workspace, named: &[RelPath], now: Timestamp) -> Repair {
    plan_chosen(workspace, named, &RepairChoices::new(), now)
}

/// The same with what a person chose for sections of these files.
pub fn plan_chosen(
    workspace: &Workspace,
    named: &[RelPath],
    choices: &RepairChoices,
    now: Timestamp,
) -> Repair {
    let mut repair = Repair::default();
    let none = SectionChoices::new();
    let chosen = |path: &RelPath| choices.get(path).unwrap_or(&none);
    // Two sources may share a legacy file.
    let mut kept: BTreeMap<RelPath, Kept> = BTreeMap::new();
    let loaded = workspace.autoload();
    let is_wanted = |file: &&AutoloadFile| {
        named.contains(&file.path) || named.is_empty() && !is_nested(&file.path)
    };
    for path in named {
        let mut known = context_files(&loaded).chain(skill_files(&loaded));
        if !known.any(|file| file.path == *path) {
            let why = "It is no `CLAUDE.md`, `AGENTS.md` or `SKILL.md` that agents load";
            repair.left_alone.push(LeftAlone {
                path: path.clone(),
                why: why.to_owned(),
            });
        }
    }
    for file in context_files(&loaded).filter(is_wanted) {
        if let Err(why) = cut_down(
            workspace,
            file,
            chosen(&file.path),
            now,
            &mut repair,
            &mut kept,
        ) {
            repair.left_alone.push(LeftAlone {
                path: file.path.clone(),
                why,
            });
        }
    }
    for file in skill_files(&loaded).filter(is_wanted) {
        if let Err(why) = cut_down_skill(workspace, file, chosen(&file.path), now, &mut repair) {
            repair.left_alone.push(LeftAlone {
                path: file.path.clone(),
                why,
            });
        }
    }
    for (path, kept) in kept {
        repair.proposal.add(path, kept.before, kept.after);
    }
    // Last, because the list includes the legacy files that this repair adds.
    list(workspace, &mut repair);
    repair
}

/// Returns those of these files that a repair would shorten on request.
pub fn shortened<'a>(workspace: &Workspace, paths: &[&'a RelPath]) -> Vec<&'a RelPath> {
    if paths.is_empty() {
        return Vec::new();
    }
    let loaded = workspace.autoload();
    let would = |path: &&&RelPath| shortens(workspace, &loaded, path);
    paths.iter().filter(would).copied().collect()
}

/// What a repair does about the files that are too large.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairOffer {
    /// The files that it shortens.
    pub paths: Vec<RelPath>,
    /// The commands that do so; none where no file would change.
    pub commands: Vec<String>,
}

/// Returns the commands that shorten the files that are too large, and which of
/// them they shorten.
pub fn repair_offer<'a>(
    workspace: &Workspace,
    findings: impl IntoIterator<Item = &'a audit::Finding>,
) -> RepairOffer {
    let is_size =
        |it: &&audit::Finding| it.kind == audit::Kind::Size && it.level > audit::Level::Notice;
    let sizes = findings.into_iter().filter(is_size);
    let paths: Vec<RelPath> = sizes
        .filter_map(|finding| RelPath::new(&finding.file).ok())
        .collect();
    let paths: Vec<&RelPath> = paths.iter().collect();
    let shortened = shortened(workspace, &paths);
    RepairOffer {
        commands: super::fix_commands(&shortened),
        paths: shortened.into_iter().cloned().collect(),
    }
}

/// Returns `true` if a repair would shorten this file.
pub(super) fn shortens(workspace: &Workspace, loaded: &Autoload, path: &RelPath) -> bool {
    let is_meant = |file: &&AutoloadFile| file.path == *path && file.real.is_none();
    let Ok(text) = workspace.read_text(path) else {
        return false;
    };
    let limits = &workspace.config().audit;
    let none = SectionChoices::new();
    if context_files(loaded).any(|file| is_meant(&file)) {
        let legacy = legacy::path_for(path);
        return stub(&text, path, &legacy, limits.file_warn, &none).is_ok();
    }
    skill_files(loaded).any(|file| is_meant(&file))
        && split_skill(&text, REFERENCE, limits.skill_warn, &none).is_ok()
}

/// Path of a skill's explanations, relative to its folder.
const REFERENCE: &str = "references/details.md";

/// Plans the shortening of a skill, if it is above its limit.
fn cut_down_skill(
    workspace: &Workspace,
    file: &AutoloadFile,
    choices: &SectionChoices,
    now: Timestamp,
    repair: &mut Repair,
) -> Result<(), String> {
    let path = &file.path;
    let limit = workspace.config().audit.skill_warn;
    let text = workspace.read_text(path).map_err(|e| e.to_string())?;
    let before = count_tokens(Tokenizer::O200k, &text);
    if before <= limit {
        return Ok(());
    }
    refuse_link(file)?;
    let FileParts {
        stays,
        tokens,
        moved,
        sections,
    } = split_skill(&text, REFERENCE, limit, choices).map_err(|why| must_stay(why, limit))?;
    let folder = path.parent().ok_or("It lies in no folder of its own")?;
    let reference = folder.join(REFERENCE).map_err(|e| e.to_string())?;
    let existing = workspace
        .text_if_there(&reference)
        .map_err(|e| e.to_string())?;
    let after = match &existing {
        Some(there) => legacy::keep(Some(there), path, &moved, day_of(now)),
        None => moved,
    };
    repair.proposal.add(path.clone(), Some(text), stays);
    repair.proposal.add(reference.clone(), existing, after);
    repair.steps.push(Step::Skill {
        path: path.clone(),
        reference,
        before,
        after: tokens,
    });
    repair.reviews.push(FileReview {
        path: path.clone(),
        before,
        after: tokens,
        limit,
        sections,
    });
    Ok(())
}

/// Says why nothing moves.
fn must_stay(refusal: StubRefusal, limit: usize) -> String {
    match refusal {
        StubRefusal::TooMuchMustStay { tokens } => format!(
            "Rules, imports, commands and marked lines have {} tokens, above {}, and moving the rest would save little",
            thousands(tokens),
            thousands(limit)
        ),
        StubRefusal::NothingToMove => {
            "All of it stays: rules, imports, commands and marked lines".to_owned()
        }
    }
}

/// Fails for a symlink, since writes never follow one.
fn refuse_link(file: &AutoloadFile) -> Result<(), String> {
    match &file.real {
        Some(real) => Err(format!(
            "It is a symlink to `{real}`, and links are never written through"
        )),
        None => Ok(()),
    }
}

/// A legacy file before and after the repair.
struct Kept {
    before: Option<String>,
    after: String,
}

/// Plans a stub for a context file, if it is above its limit.
fn cut_down(
    workspace: &Workspace,
    file: &AutoloadFile,
    choices: &SectionChoices,
    now: Timestamp,
    repair: &mut Repair,
    kept: &mut BTreeMap<RelPath, Kept>,
) -> Result<(), String> {
    let path = &file.path;
    let limit = workspace.config().audit.file_warn;
    let text = workspace.read_text(path).map_err(|e| e.to_string())?;
    let before = count_tokens(Tokenizer::O200k, &text);
    if before <= limit {
        return Ok(());
    }
    refuse_link(file)?;
    let legacy = legacy::path_for(path);
    let limit = limit.min(STUB_TOKENS);
    let FileParts {
        stays,
        tokens,
        moved,
        sections,
    } = stub(&text, path, &legacy, limit, choices).map_err(|why| must_stay(why, limit))?;
    let existing = match kept.get(&legacy) {
        Some(kept) => Some(kept.after.clone()),
        None => workspace
            .text_if_there(&legacy)
            .map_err(|e| e.to_string())?,
    };
    let day = day_of(now);
    let with_moved = legacy::keep(existing.as_deref(), path, &moved, day);
    kept.entry(legacy.clone())
        .or_insert_with(|| Kept {
            before: existing,
            after: String::new(),
        })
        .after = with_moved;
    repair.proposal.add(path.clone(), Some(text), stays);
    repair.steps.push(Step::Stub {
        path: path.clone(),
        legacy,
        before,
        after: tokens,
    });
    repair.reviews.push(FileReview {
        path: path.clone(),
        before,
        after: tokens,
        limit,
        sections,
    });
    Ok(())
}

/// Plans the update of the README's list, with the files of this repair.
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
