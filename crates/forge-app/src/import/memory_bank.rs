//! Imports a memory bank: a folder of `projectbrief.md`, `activeContext.md`,
//! `progress.md` and others that an agent reads at every start.
//!
//! The files become knowledge. Their entries about the state of the work are
//! proposed for the state files and never written there: those have an owner.

use std::path::Path;

use super::land::ImportWriter;
use super::notes::{self, NoteImportSpec, SourceNote};
use super::{ImportError, ImportOptions, ImportReport, StateProposal, StateProposalKind};
use crate::admit::{ImportTally, admit_import};
use crate::document::{self, Document};
use crate::state_files::MIND_FOLDER;
use crate::workspace::{Workspace, read_beyond_workspace};

const MAX_STATE_PROPOSALS: usize = 20;

/// Imports the notes of a memory bank.
pub fn import_memory_bank(
    workspace: &Workspace,
    folder: &Path,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    let folder = notes::require_folder(folder)?;
    let mut landing = ImportWriter::new(workspace, options)?;
    let kind = NoteImportSpec {
        source: "memory-bank",
        id: "",
        folder: "knowledge/memory-bank",
        folders: true,
        names: |_| Vec::new(),
    };
    // Without state files there is nothing to propose entries for.
    let has_state = workspace.root().join(MIND_FOLDER).is_dir();
    for note in notes::find_notes(folder, options, &mut landing.report) {
        notes::import_note(workspace, &note, &kind, &mut landing)?;
        if has_state {
            propose_open_work(workspace, &note, &mut landing.report);
        }
    }
    landing.finish()
}

/// Proposes a note's open work for the state files, unless they have it
/// already.
fn propose_open_work(workspace: &Workspace, note: &SourceNote, report: &mut ImportReport) {
    let stem = note.name.to_lowercase();
    let speaks = ["activecontext.md", "progress.md", "tasks.md"];
    if !speaks.iter().any(|name| stem.ends_with(name)) {
        return;
    }
    let Some(text) = read_beyond_workspace(&note.file, 1 << 20) else {
        return;
    };
    let known: String = workspace
        .markdown_files_in(MIND_FOLDER)
        .iter()
        .filter_map(|path| workspace.read_text(path).ok())
        .collect();
    // A tally of its own, since the import of the note has already counted
    // these secrets.
    let document = document::parse_document(admit_import(&text, &mut ImportTally::default()));
    let mut add = |what, text: &str| {
        let text = document::escape_markdown_line(text);
        let there = known.contains(&text) || report.proposals.iter().any(|it| it.text == text);
        if !text.is_empty() && !there && report.proposals.len() < MAX_STATE_PROPOSALS {
            report.proposals.push(StateProposal {
                from: note.name.clone(),
                what,
                text,
            });
        }
    };
    for item in section_items(
        &document,
        &["current focus", "current work focus", "active work"],
    )
    .take(1)
    {
        add(StateProposalKind::Active, item);
    }
    for (at, item) in section_items(
        &document,
        &["next steps", "next step", "what's left to build"],
    )
    .enumerate()
    {
        add(
            if at == 0 {
                StateProposalKind::Next
            } else {
                StateProposalKind::Task
            },
            item,
        );
    }
    for task in document.tasks.iter().filter(|task| !task.done) {
        add(StateProposalKind::Task, &task.text);
    }
}

/// Returns the list items, or other lines, of sections with these titles.
fn section_items<'a>(document: &'a Document, titles: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let wanted = |title: &str| titles.contains(&title.trim().to_lowercase().as_str());
    let sections = document.sections.iter().filter(move |it| wanted(&it.title));
    let lines = sections.flat_map(|section| document.span_text(&section.own).lines());
    lines.filter_map(|line| {
        let line = line.trim();
        // Ticked or not, tasks are looked at as such.
        if line.starts_with("- [") {
            return None;
        }
        let text = line.trim_start_matches(['-', '*', '+']);
        let text = text
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['.', ')']);
        Some(text.trim()).filter(|text| !text.is_empty())
    })
}
