//! State files as searchable text: few and small, so that their index is
//! rebuilt for each query and is in memory. A replaced decision ranks below the
//! others and names its successor.

use std::ops::Range;

use super::describe::of_text;
use super::refresh::Error;
use crate::document::{self, Document};
use crate::index::chunk::{self, Chunk};
use crate::index::{Change, Index, Sizes};
use crate::mind::{Decided, File, Mind};
use crate::recall::{self, Answer, Ask, Mode};
use crate::state_files::STATE_FOLDERS;
use crate::workspace::{RelPath, Role, Workspace, role_by_path};

/// Minimum number of passages that are ranked before those of replaced
/// decisions are lowered.
const POOL: usize = 200;

/// Searches the state files by full text.
pub fn ask(workspace: &Workspace, ask: &Ask<'_>) -> Result<Answer, Error> {
    let mind = Mind::open(workspace);
    let decisions = mind.file(File::Decisions);
    // An unreadable file is left out below, as the others are.
    let decided = mind.decided().unwrap_or_default();
    let mut ended: Vec<((usize, usize), String)> = Vec::new();
    let sizes = Sizes::up_to(workspace.config().index.chunk_tokens);
    let mut changes = Vec::new();
    for path in paths(workspace, &mind) {
        let Ok(text) = workspace.read_text(&path) else {
            continue;
        };
        let (document, mut put) = of_text(&path, Role::State, &text, sizes);
        if path == decisions && !decided.is_empty() {
            put.chunks = one_each(&document, &decided, sizes);
            for it in &decided {
                if let Some(by) = &it.ended {
                    ended.push((document.lines_of(&it.span), by.clone()));
                }
            }
        }
        changes.push(Change::Put(Box::new(put)));
    }
    let mut index = Index::in_memory()?;
    index.apply(changes)?;
    let catalogue = index.catalogue()?;
    let wide = Ask {
        mode: Mode::Text,
        limit: ask.limit.max(POOL),
        ..ask.clone()
    };
    let mut answer = recall::ask(&index, &catalogue, None, &wide)?;
    for hit in &mut answer.hits {
        let (first, last) = hit.passage.lines;
        let inside = |(from, to): &(usize, usize)| *from <= first && last <= *to;
        if hit.passage.path == decisions.as_str()
            && let Some((_, by)) = ended.iter().find(|(lines, _)| inside(lines))
        {
            hit.replaced_by = Some(by.clone());
            hit.score *= recall::OUTDATED;
        }
    }
    Ok(recall::join(answer, Answer::nothing(), ask.limit))
}

/// Lists the paths of all state files, sorted.
fn paths(workspace: &Workspace, mind: &Mind<'_>) -> Vec<RelPath> {
    let mut paths = Vec::new();
    // Archived state is found together with the state that it came from.
    for folder in STATE_FOLDERS {
        paths.extend(
            workspace
                .markdown_in(folder)
                .into_iter()
                .filter(|path| matches!(role_by_path(path), Role::State | Role::Archive)),
        );
    }
    // A manifest may place its files elsewhere.
    let which = [
        File::State,
        File::Decisions,
        File::SessionLog,
        File::Archive,
    ];
    paths.extend(which.map(|which| mind.file(which)));
    paths.push(mind.ideas_file());
    paths.sort();
    paths.dedup();
    paths
}

/// Returns passages that contain one decision each, and those of the rest of
/// the file.
fn one_each(document: &Document, decided: &[Decided], sizes: Sizes) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut at = document.body.start;
    for it in decided {
        if it.span.start < at {
            continue;
        }
        piece(document, at..it.span.start, sizes, &mut chunks);
        piece(document, it.span.clone(), sizes, &mut chunks);
        at = it.span.end;
    }
    piece(document, at..document.text.len(), sizes, &mut chunks);
    chunks
}

/// Adds the passages of a part of the file, with the headings around it.
fn piece(document: &Document, span: Range<usize>, sizes: Sizes, chunks: &mut Vec<Chunk>) {
    let text = document.str(&span);
    if text.trim().is_empty() {
        return;
    }
    let section = document
        .sections
        .partition_point(|it| it.heading.start < span.start)
        .saturating_sub(1);
    let around = if document.sections[section].span.end > span.start {
        document.heading_path(section)
    } else {
        Vec::new()
    };
    let around: Vec<String> = around.into_iter().map(document::short_name).collect();
    let above = document.line_of(span.start) - 1;
    for mut chunk in chunk::chunks(&document::parse(text.to_owned()), sizes) {
        let mut headings = around.clone();
        headings.append(&mut chunk.headings);
        chunk::limit_headings(&mut headings);
        chunk.headings = headings;
        chunk.lines = (chunk.lines.0 + above, chunk.lines.1 + above);
        chunks.push(chunk);
    }
}
