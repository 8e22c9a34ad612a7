//! Imports a memory bank: a folder of `projectbrief.md`, `activeContext.md`,
//! `progress.md` and others that an agent reads at every start.
//!
//! The files become knowledge. Their entries about the state of the work are
//! proposed for the state files and never written there: those have an owner.

use std::path::Path;

use super::land::Landing;
use super::notes::{self, Kind, Note};
use super::{Error, Options, Proposed, Report, StateProposal};
use crate::admit::{Tally, admit_import};
use crate::document::{self, Document};
use crate::state_files::MIND_FOLDER;
use crate::workspace::{Workspace, read_beyond};

const MOST_PROPOSALS: usize = 20;

/// Imports the notes of a memory bank.
pub fn run(workspace: &Workspace, folder: &Path, options: &Options) -> Result<Report, Error> {
    let folder = notes::folder(folder)?;
    let mut landing = Landing::new(workspace, options)?;
    let kind = Kind {
        source: "memory-bank",
        id: "",
        folder: "knowledge/memory-bank",
        folders: true,
        names: |_| Vec::new(),
    };
    // Without state files there is nothing to propose entries for.
    let has_state = workspace.root().join(MIND_FOLDER).is_dir();
    for note in notes::below(folder, options, &mut landing.report) {
        notes::place(workspace, &note, &kind, &mut landing)?;
        if has_state {
            propose(workspace, &note, &mut landing.report);
        }
    }
    landing.finish()
}

/// Proposes a note's open work for the state files, unless they have it
/// already.
fn propose(workspace: &Workspace, note: &Note, report: &mut Report) {
    let stem = note.name.to_lowercase();
    let speaks = ["activecontext.md", "progress.md", "tasks.md"];
    if !speaks.iter().any(|name| stem.ends_with(name)) {
        return;
    }
    let Some(text) = read_beyond(&note.file, 1 << 20) else {
        return;
    };
    let known: String = workspace
        .markdown_in(MIND_FOLDER)
        .iter()
        .filter_map(|path| workspace.read_text(path).ok())
        .collect();
    // A tally of its own, since the import of the note has already counted
    // these secrets.
    let document = document::parse(admit_import(&text, &mut Tally::default()));
    let mut add = |what, text: &str| {
        let text = document::inert_line(text);
        let there = known.contains(&text) || report.proposals.iter().any(|it| it.text == text);
        if !text.is_empty() && !there && report.proposals.len() < MOST_PROPOSALS {
            report.proposals.push(StateProposal {
                from: note.name.clone(),
                what,
                text,
            });
        }
    };
    for item in items(
        &document,
        &["current focus", "current work focus", "active work"],
    )
    .take(1)
    {
        add(Proposed::Active, item);
    }
    for (at, item) in items(
        &document,
        &["next steps", "next step", "what's left to build"],
    )
    .enumerate()
    {
        add(
            if at == 0 {
                Proposed::Next
            } else {
                Proposed::Task
            },
            item,
        );
    }
    for task in document.tasks.iter().filter(|task| !task.done) {
        add(Proposed::Task, &task.text);
    }
}

/// Returns the list items, or other lines, of sections with these titles.
fn items<'a>(document: &'a Document, titles: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let wanted = |title: &str| titles.contains(&title.trim().to_lowercase().as_str());
    let sections = document.sections.iter().filter(move |it| wanted(&it.title));
    let lines = sections.flat_map(|section| document.str(&section.own).lines());
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
