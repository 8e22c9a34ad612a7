//! The repair of files that are too large: the explanations of context files
//! move word for word to `knowledge/legacy/`, those of skills to `references/`
//! next to them; and the README's list. It proposes and never writes, and where
//! a limit cannot be reached it reports what remains.

use crate::audit;
use crate::document::day_of_timestamp;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checks::{is_nested, list_context_files, list_skill_files};
use super::legacy;
use super::stub::{
    FileParts, MAX_STUB_TOKENS, SectionChoices, SectionPlan, StubRefusal, make_stub, split_skill,
};
use crate::knowledge::proposal::ChangeProposal;
use crate::knowledge::readme;
use crate::tokens::{Tokenizer, count_tokens, format_thousands};
use crate::workspace::{AutoloadFile, AutoloadScan, RelPath, Workspace};

/// A plan of repairs, with the files that are left alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairPlan {
    /// The files with their texts before and after.
    pub proposal: ChangeProposal,
    /// What is done, for people.
    pub steps: Vec<RepairStep>,
    /// Files that a repair could concern and that stay as they are.
    pub left_alone: Vec<UnrepairedFile>,
    /// The files that it shortens, section by section.
    pub reviews: Vec<FileReview>,
}

/// Choices of a person, by file.
pub type RepairChoices = BTreeMap<RelPath, SectionChoices>;

/// A file that is shortened, for a person to look at before it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReview {
    /// The file that is shortened.
    pub path: RelPath,
    /// Tokens of `o200k`.
    pub before: usize,
    /// Tokens of what stays.
    pub after: usize,
    /// The limit that the file should meet.
    pub limit: usize,
    /// Its sections, each with what happens to it.
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
            .map(|(tokens, title)| format!("\"{title}\" {}", format_thousands(*tokens)))
            .collect();
        let most = if named.is_empty() {
            String::new()
        } else {
            format!("; most of it in {}", named.join(", "))
        };
        Some(format!(
            "{} tokens remain, above {}: rules, commands and imports stay{most}",
            format_thousands(self.after),
            format_thousands(self.limit)
        ))
    }
}

/// A single repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairStep {
    /// Shortens a context file; its text goes to `legacy`.
    Stub {
        /// The file that is shortened.
        path: RelPath,
        /// The file that its text goes to.
        legacy: RelPath,
        /// Tokens of `o200k`.
        before: usize,
        /// Tokens of what stays.
        after: usize,
    },
    /// Moves the explanations of a skill to `reference`.
    Skill {
        /// The file of the skill.
        path: RelPath,
        /// The file that its explanations go to.
        reference: RelPath,
        /// Tokens of the skill before.
        before: usize,
        /// Tokens of what stays.
        after: usize,
    },
    /// Writes the list in `knowledge/README.md`.
    Readme {
        /// Whether the file did not exist before.
        created: bool,
    },
}

/// A file that no repair changes, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnrepairedFile {
    /// The file that stays as it is.
    pub path: RelPath,
    /// Why it does.
    pub why: String,
}

/// Plans repairs of the files of the project itself, or of the named ones,
/// which may belong to a part of it. Nothing is written.
pub fn plan_repair(workspace: &Workspace, named: &[RelPath], now: Timestamp) -> RepairPlan {
    plan_chosen(workspace, named, &RepairChoices::new(), now)
}

/// The same with what a person chose for sections of these files.
pub fn plan_chosen(
    workspace: &Workspace,
    named: &[RelPath],
    choices: &RepairChoices,
    now: Timestamp,
) -> RepairPlan {
    let mut repair = RepairPlan::default();
    let none = SectionChoices::new();
    let chosen = |path: &RelPath| choices.get(path).unwrap_or(&none);
    // Two sources may share a legacy file.
    let mut kept: BTreeMap<RelPath, LegacyText> = BTreeMap::new();
    let loaded = workspace.find_autoload_files();
    let is_wanted = |file: &&AutoloadFile| {
        named.contains(&file.path) || named.is_empty() && !is_nested(&file.path)
    };
    for path in named {
        let mut known = list_context_files(&loaded).chain(list_skill_files(&loaded));
        if !known.any(|file| file.path == *path) {
            let why = "It is not a `CLAUDE.md`, `AGENTS.md` or `SKILL.md` that agents load";
            repair.left_alone.push(UnrepairedFile {
                path: path.clone(),
                why: why.to_owned(),
            });
        }
    }
    for file in list_context_files(&loaded).filter(is_wanted) {
        if let Err(why) = stub_context_file(
            workspace,
            file,
            chosen(&file.path),
            now,
            &mut repair,
            &mut kept,
        ) {
            repair.left_alone.push(UnrepairedFile {
                path: file.path.clone(),
                why,
            });
        }
    }
    for file in list_skill_files(&loaded).filter(is_wanted) {
        if let Err(why) = shorten_skill_file(workspace, file, chosen(&file.path), now, &mut repair)
        {
            repair.left_alone.push(UnrepairedFile {
                path: file.path.clone(),
                why,
            });
        }
    }
    for (path, kept) in kept {
        repair.proposal.add(path, kept.before, kept.after);
    }
    // Last, because the list includes the legacy files that this repair adds.
    update_readme_list(workspace, &mut repair);
    repair
}

/// Returns those of these files that a repair would shorten on request.
pub fn filter_shortenable<'a>(workspace: &Workspace, paths: &[&'a RelPath]) -> Vec<&'a RelPath> {
    if paths.is_empty() {
        return Vec::new();
    }
    let loaded = workspace.find_autoload_files();
    let would = |path: &&&RelPath| can_shorten(workspace, &loaded, path);
    paths.iter().filter(would).copied().collect()
}

/// Offer of a repair for files above their limit.
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
    findings: impl IntoIterator<Item = &'a audit::AuditFinding>,
) -> RepairOffer {
    let is_size = |it: &&audit::AuditFinding| {
        it.kind == audit::AuditFindingKind::Size && it.level > audit::AuditLevel::Notice
    };
    let sizes = findings.into_iter().filter(is_size);
    let paths: Vec<RelPath> = sizes
        .filter_map(|finding| RelPath::new(&finding.file).ok())
        .collect();
    let paths: Vec<&RelPath> = paths.iter().collect();
    let shortened = filter_shortenable(workspace, &paths);
    RepairOffer {
        commands: super::list_fix_commands(&shortened),
        paths: shortened.into_iter().cloned().collect(),
    }
}

/// Returns `true` if a repair would shorten this file.
pub(super) fn can_shorten(workspace: &Workspace, loaded: &AutoloadScan, path: &RelPath) -> bool {
    let is_meant = |file: &&AutoloadFile| file.path == *path && file.real.is_none();
    let Ok(text) = workspace.read_text(path) else {
        return false;
    };
    let limits = &workspace.config().audit;
    let none = SectionChoices::new();
    if list_context_files(loaded).any(|file| is_meant(&file)) {
        let legacy = legacy::path_for_source(path);
        return make_stub(&text, path, &legacy, limits.file_warn, &none).is_ok();
    }
    list_skill_files(loaded).any(|file| is_meant(&file))
        && split_skill(&text, REFERENCE_PATH, limits.skill_warn, &none).is_ok()
}

/// Path of a skill's explanations, relative to its folder.
const REFERENCE_PATH: &str = "references/details.md";

/// Plans the shortening of a skill, if it is above its limit.
fn shorten_skill_file(
    workspace: &Workspace,
    file: &AutoloadFile,
    choices: &SectionChoices,
    now: Timestamp,
    repair: &mut RepairPlan,
) -> Result<(), String> {
    let path = &file.path;
    let limit = workspace.config().audit.skill_warn;
    let text = workspace.read_text(path).map_err(|e| e.to_string())?;
    let before = count_tokens(Tokenizer::O200k, &text);
    if before <= limit {
        return Ok(());
    }
    reject_symlink(file)?;
    let FileParts {
        stays,
        tokens,
        moved,
        sections,
    } = split_skill(&text, REFERENCE_PATH, limit, choices)
        .map_err(|why| explain_verdict(why, limit))?;
    let folder = path.parent().ok_or("It has no folder of its own")?;
    let reference = folder.join(REFERENCE_PATH).map_err(|e| e.to_string())?;
    let existing = workspace
        .read_text_if_present(&reference)
        .map_err(|e| e.to_string())?;
    let after = match &existing {
        Some(there) => legacy::merge_original(Some(there), path, &moved, day_of_timestamp(now)),
        None => moved,
    };
    repair.proposal.add(path.clone(), Some(text), stays);
    repair.proposal.add(reference.clone(), existing, after);
    repair.steps.push(RepairStep::Skill {
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

/// Explains why nothing moves.
fn explain_verdict(refusal: StubRefusal, limit: usize) -> String {
    match refusal {
        StubRefusal::TooMuchMustStay { tokens } => format!(
            "Rules, imports, commands and marked lines have {} tokens, above {}, and moving the rest would save little",
            format_thousands(tokens),
            format_thousands(limit)
        ),
        StubRefusal::NothingToMove => {
            "All of it stays: rules, imports, commands and marked lines".to_owned()
        }
    }
}

/// Fails for a symlink, since writes never follow one.
fn reject_symlink(file: &AutoloadFile) -> Result<(), String> {
    match &file.real {
        Some(real) => Err(format!(
            "It is a symlink to `{real}`, and links are never written through"
        )),
        None => Ok(()),
    }
}

/// A legacy file before and after the repair.
struct LegacyText {
    before: Option<String>,
    after: String,
}

/// Plans a stub for a context file, if it is above its limit.
fn stub_context_file(
    workspace: &Workspace,
    file: &AutoloadFile,
    choices: &SectionChoices,
    now: Timestamp,
    repair: &mut RepairPlan,
    kept: &mut BTreeMap<RelPath, LegacyText>,
) -> Result<(), String> {
    let path = &file.path;
    let limit = workspace.config().audit.file_warn;
    let text = workspace.read_text(path).map_err(|e| e.to_string())?;
    let before = count_tokens(Tokenizer::O200k, &text);
    if before <= limit {
        return Ok(());
    }
    reject_symlink(file)?;
    let legacy = legacy::path_for_source(path);
    let limit = limit.min(MAX_STUB_TOKENS);
    let FileParts {
        stays,
        tokens,
        moved,
        sections,
    } = make_stub(&text, path, &legacy, limit, choices)
        .map_err(|why| explain_verdict(why, limit))?;
    let existing = match kept.get(&legacy) {
        Some(kept) => Some(kept.after.clone()),
        None => workspace
            .read_text_if_present(&legacy)
            .map_err(|e| e.to_string())?,
    };
    let day = day_of_timestamp(now);
    let with_moved = legacy::merge_original(existing.as_deref(), path, &moved, day);
    kept.entry(legacy.clone())
        .or_insert_with(|| LegacyText {
            before: existing,
            after: String::new(),
        })
        .after = with_moved;
    repair.proposal.add(path.clone(), Some(text), stays);
    repair.steps.push(RepairStep::Stub {
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
fn update_readme_list(workspace: &Workspace, repair: &mut RepairPlan) {
    let new: Vec<(RelPath, String)> = repair
        .proposal
        .files
        .iter()
        .filter(|file| file.path.starts_with("knowledge"))
        .map(|file| (file.path.clone(), file.after.clone()))
        .collect();
    let documents = readme::list_documents(workspace, &new);
    let before = match workspace.read_text(&readme::readme_path()) {
        Ok(text) => Some(text),
        Err(e) if e.is_not_found() => None,
        Err(e) => {
            return repair.left_alone.push(UnrepairedFile {
                path: readme::readme_path(),
                why: e.to_string(),
            });
        }
    };
    if before.is_none() && documents.is_empty() {
        return;
    }
    match readme::refresh_list(before.as_deref(), &documents) {
        Ok(after) => {
            if before.as_deref() != Some(after.as_str()) {
                let created = before.is_none();
                repair.steps.push(RepairStep::Readme { created });
            }
            repair.proposal.add(readme::readme_path(), before, after);
        }
        Err(e) => repair.left_alone.push(UnrepairedFile {
            path: readme::readme_path(),
            why: e.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests;
