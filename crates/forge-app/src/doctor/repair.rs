//! Plans the repairs of the installation: stubs for context files that are too
//! large, with their text word for word in `knowledge/legacy/`; explanations of
//! large skills, moved to `references/` in their folder; and the README's list.
//! It never writes; a file that it is unsure about is left alone with a reason.

use crate::audit;
use crate::document::day_of_timestamp;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checks::{is_nested, list_context_files, list_skill_files};
use super::legacy;
use super::stub::{MAX_STUB_TOKENS, SkillParts, StubVerdict, make_stub, split_skill};
use crate::knowledge::proposal::ChangeProposal;
use crate::knowledge::readme;
use crate::tokens::{Tokenizer, count_tokens, format_thousands};
use crate::workspace::{AutoloadFile, AutoloadScan, RelPath, Workspace};

/// A plan of repairs, with the files that are left alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairPlan {
    pub proposal: ChangeProposal,
    pub steps: Vec<RepairStep>,
    pub left_alone: Vec<UnrepairedFile>,
}

/// A single repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairStep {
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
pub struct UnrepairedFile {
    pub path: RelPath,
    pub why: String,
}

/// Plans repairs of the files of the project itself, or of the named ones,
/// which may belong to a part of it. Nothing is written.
pub fn plan_repair(workspace: &Workspace, named: &[RelPath], now: Timestamp) -> RepairPlan {
    let mut repair = RepairPlan::default();
    // Two sources may share a legacy file.
    let mut kept: BTreeMap<RelPath, LegacyText> = BTreeMap::new();
    let loaded = workspace.find_autoload_files();
    let is_wanted = |file: &&AutoloadFile| {
        named.contains(&file.path) || named.is_empty() && !is_nested(&file.path)
    };
    for path in named {
        let mut known = list_context_files(&loaded).chain(list_skill_files(&loaded));
        if !known.any(|file| file.path == *path) {
            let why = "It is no `CLAUDE.md`, `AGENTS.md` or `SKILL.md` that agents load";
            repair.left_alone.push(UnrepairedFile {
                path: path.clone(),
                why: why.to_owned(),
            });
        }
    }
    for file in list_context_files(&loaded).filter(is_wanted) {
        if let Err(why) = stub_context_file(workspace, file, now, &mut repair, &mut kept) {
            repair.left_alone.push(UnrepairedFile {
                path: file.path.clone(),
                why,
            });
        }
    }
    for file in list_skill_files(&loaded).filter(is_wanted) {
        if let Err(why) = shorten_skill_file(workspace, file, now, &mut repair) {
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

/// Returns the commands that shorten the files that are too large, if any.
pub fn list_repair_commands<'a>(
    workspace: &Workspace,
    findings: impl IntoIterator<Item = &'a audit::AuditFinding>,
) -> Vec<String> {
    let is_size = |it: &&audit::AuditFinding| {
        it.kind == audit::AuditFindingKind::Size && it.level > audit::AuditLevel::Notice
    };
    let sizes = findings.into_iter().filter(is_size);
    let paths: Vec<RelPath> = sizes
        .filter_map(|finding| RelPath::new(&finding.file).ok())
        .collect();
    let paths: Vec<&RelPath> = paths.iter().collect();
    super::list_fix_commands(&filter_shortenable(workspace, &paths))
}

/// Returns `true` if a repair would shorten this file.
pub(super) fn can_shorten(workspace: &Workspace, loaded: &AutoloadScan, path: &RelPath) -> bool {
    let is_meant = |file: &&AutoloadFile| file.path == *path && file.real.is_none();
    let Ok(text) = workspace.read_text(path) else {
        return false;
    };
    let limits = &workspace.config().audit;
    if list_context_files(loaded).any(|file| is_meant(&file)) {
        let legacy = legacy::path_for_source(path);
        let verdict = make_stub(&text, path, &legacy, limits.file_warn);
        return matches!(verdict, StubVerdict::Stub { .. });
    }
    list_skill_files(loaded).any(|file| is_meant(&file))
        && split_skill(&text, REFERENCE_PATH, limits.skill_warn).is_ok()
}

/// Path of a skill's explanations, relative to its folder.
const REFERENCE_PATH: &str = "references/details.md";

/// Plans the shortening of a skill, if it is above its limit.
fn shorten_skill_file(
    workspace: &Workspace,
    file: &AutoloadFile,
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
    let SkillParts {
        core,
        tokens,
        moved,
    } = split_skill(&text, REFERENCE_PATH, limit)
        .map_err(|verdict| explain_verdict(&verdict, limit))?;
    let folder = path.parent().ok_or("It lies in no folder of its own")?;
    let reference = folder.join(REFERENCE_PATH).map_err(|e| e.to_string())?;
    let existing = workspace
        .read_text_if_present(&reference)
        .map_err(|e| e.to_string())?;
    let after = match &existing {
        Some(there) => legacy::merge_original(Some(there), path, &moved, day_of_timestamp(now)),
        None => moved,
    };
    repair.proposal.add(path.clone(), Some(text), core);
    repair.proposal.add(reference.clone(), existing, after);
    repair.steps.push(RepairStep::Skill {
        path: path.clone(),
        reference,
        before,
        after: tokens,
    });
    Ok(())
}

/// Explains why nothing can move.
fn explain_verdict(verdict: &StubVerdict, limit: usize) -> String {
    match verdict {
        StubVerdict::TooMuchMustStay { tokens } => format!(
            "What must stay (rules, imports, commands, marked lines) has {} tokens by itself, above {}",
            format_thousands(*tokens),
            format_thousands(limit)
        ),
        _ => "All of it must stay".to_owned(),
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
    let (stub, after) = match make_stub(&text, path, &legacy, limit) {
        StubVerdict::Stub { text, tokens } => (text, tokens),
        verdict => return Err(explain_verdict(&verdict, limit.min(MAX_STUB_TOKENS))),
    };
    let existing = match kept.get(&legacy) {
        Some(kept) => Some(kept.after.clone()),
        None => workspace
            .read_text_if_present(&legacy)
            .map_err(|e| e.to_string())?,
    };
    let day = day_of_timestamp(now);
    let with_original = legacy::merge_original(existing.as_deref(), path, &text, day);
    kept.entry(legacy.clone())
        .or_insert_with(|| LegacyText {
            before: existing,
            after: String::new(),
        })
        .after = with_original;
    repair.proposal.add(path.clone(), Some(text), stub);
    repair.steps.push(RepairStep::Stub {
        path: path.clone(),
        legacy,
        before,
        after,
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
