//! Plans the repairs of the installation: stubs for context files that are too
//! large, with their text word for word in `knowledge/legacy/`; explanations of
//! large skills, moved to `references/` in their folder; and the README's list.
//! It never writes; a file that it is unsure about is left alone with a reason.

use crate::audit;
use crate::document::day_of;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checks::{context_files, is_nested, skill_files};
use super::legacy;
use super::stub::{STUB_TOKENS, SkillParts, Verdict, split_skill, stub};
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
    let mut repair = Repair::default();
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
        if let Err(why) = cut_down(workspace, file, now, &mut repair, &mut kept) {
            repair.left_alone.push(LeftAlone {
                path: file.path.clone(),
                why,
            });
        }
    }
    for file in skill_files(&loaded).filter(is_wanted) {
        if let Err(why) = cut_down_skill(workspace, file, now, &mut repair) {
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

/// Returns the commands that shorten the files that are too large, if any.
pub fn repair_commands<'a>(
    workspace: &Workspace,
    findings: impl IntoIterator<Item = &'a audit::Finding>,
) -> Vec<String> {
    let is_size =
        |it: &&audit::Finding| it.kind == audit::Kind::Size && it.level > audit::Level::Notice;
    let sizes = findings.into_iter().filter(is_size);
    let paths: Vec<RelPath> = sizes
        .filter_map(|finding| RelPath::new(&finding.file).ok())
        .collect();
    let paths: Vec<&RelPath> = paths.iter().collect();
    super::fix_commands(&shortened(workspace, &paths))
}

/// Returns `true` if a repair would shorten this file.
pub(super) fn shortens(workspace: &Workspace, loaded: &Autoload, path: &RelPath) -> bool {
    let is_meant = |file: &&AutoloadFile| file.path == *path && file.real.is_none();
    let Ok(text) = workspace.read_text(path) else {
        return false;
    };
    let limits = &workspace.config().audit;
    if context_files(loaded).any(|file| is_meant(&file)) {
        let legacy = legacy::path_for(path);
        let verdict = stub(&text, path, &legacy, limits.file_warn);
        return matches!(verdict, Verdict::Stub { .. });
    }
    skill_files(loaded).any(|file| is_meant(&file))
        && split_skill(&text, REFERENCE, limits.skill_warn).is_ok()
}

/// Path of a skill's explanations, relative to its folder.
const REFERENCE: &str = "references/details.md";

/// Plans the shortening of a skill, if it is above its limit.
fn cut_down_skill(
    workspace: &Workspace,
    file: &AutoloadFile,
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
    let SkillParts {
        core,
        tokens,
        moved,
    } = split_skill(&text, REFERENCE, limit).map_err(|verdict| must_stay(&verdict, limit))?;
    let folder = path.parent().ok_or("It lies in no folder of its own")?;
    let reference = folder.join(REFERENCE).map_err(|e| e.to_string())?;
    let existing = workspace
        .text_if_there(&reference)
        .map_err(|e| e.to_string())?;
    let after = match &existing {
        Some(there) => legacy::keep(Some(there), path, &moved, day_of(now)),
        None => moved,
    };
    repair.proposal.add(path.clone(), Some(text), core);
    repair.proposal.add(reference.clone(), existing, after);
    repair.steps.push(Step::Skill {
        path: path.clone(),
        reference,
        before,
        after: tokens,
    });
    Ok(())
}

/// Explains why nothing can move.
fn must_stay(verdict: &Verdict, limit: usize) -> String {
    match verdict {
        Verdict::TooMuchMustStay { tokens } => format!(
            "What must stay (rules, imports, commands, marked lines) has {} tokens by itself, above {}",
            thousands(*tokens),
            thousands(limit)
        ),
        _ => "All of it must stay".to_owned(),
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
    let (stub, after) = match stub(&text, path, &legacy, limit) {
        Verdict::Stub { text, tokens } => (text, tokens),
        verdict => return Err(must_stay(&verdict, limit.min(STUB_TOKENS))),
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
