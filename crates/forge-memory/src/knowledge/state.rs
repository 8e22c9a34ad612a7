//! State files as searchable text: few and small, so that their index is
//! rebuilt for each query and is in memory. A replaced decision ranks below the
//! others and names its successor.

use std::ops::Range;

use super::describe::describe_text;
use super::refresh::RefreshError;
use crate::document::{self, Document};
use crate::index::chunk::{self, DocumentPassage};
use crate::index::{Index, IndexChange, PassageSizes};
use crate::mind::{DecisionSpan, MindFile, MindStore};
use crate::recall::{self, RecallAnswer, RecallMode, RecallQuery};
use crate::state_files::STATE_FOLDERS;
use crate::workspace::{FileRole, RelPath, Workspace, role_by_path};

/// Minimum number of passages that are ranked before those of replaced
/// decisions are lowered.
const MIN_RANKED_PASSAGES: usize = 200;

/// Searches the state files by full text.
pub fn search_state(
    workspace: &Workspace,
    ask: &RecallQuery<'_>,
) -> Result<RecallAnswer, RefreshError> {
    let mind = MindStore::open(workspace);
    let decisions = mind.file_path(MindFile::Decisions);
    // An unreadable file is left out below, as the others are.
    let decided = mind.decision_spans().unwrap_or_default();
    let mut ended: Vec<((usize, usize), String)> = Vec::new();
    let sizes = PassageSizes::with_limit(workspace.config().index.chunk_tokens);
    let mut changes = Vec::new();
    for path in list_state_paths(workspace, &mind) {
        let Ok(text) = workspace.read_text(&path) else {
            continue;
        };
        let (document, mut put) = describe_text(&path, FileRole::State, &text, sizes);
        if path == decisions && !decided.is_empty() {
            put.chunks = chunk_by_decision(&document, &decided, sizes);
            for it in &decided {
                if let Some(by) = &it.ended {
                    ended.push((document.line_range(&it.span), by.clone()));
                }
            }
        }
        changes.push(IndexChange::Put(Box::new(put)));
    }
    let mut index = Index::in_memory()?;
    index.apply_changes(changes)?;
    let catalogue = index.catalogue()?;
    let wide = RecallQuery {
        mode: RecallMode::Text,
        limit: ask.limit.max(MIN_RANKED_PASSAGES),
        ..ask.clone()
    };
    let mut answer = recall::rank_passages(&index, &catalogue, None, &wide)?;
    for hit in &mut answer.hits {
        let (first, last) = hit.passage.lines;
        let inside = |(from, to): &(usize, usize)| *from <= first && last <= *to;
        if hit.passage.path == decisions.as_str()
            && let Some((_, by)) = ended.iter().find(|(lines, _)| inside(lines))
        {
            hit.replaced_by = Some(by.clone());
            hit.score *= recall::OUTDATED_SCORE_FACTOR;
        }
    }
    Ok(recall::merge_answers(
        answer,
        RecallAnswer::empty(),
        ask.limit,
    ))
}

/// Lists the paths of all state files, sorted.
fn list_state_paths(workspace: &Workspace, mind: &MindStore<'_>) -> Vec<RelPath> {
    let mut paths = Vec::new();
    // Archived state is found together with the state that it came from.
    for folder in STATE_FOLDERS {
        paths.extend(
            workspace
                .markdown_files_in(folder)
                .into_iter()
                .filter(|path| matches!(role_by_path(path), FileRole::State | FileRole::Archive)),
        );
    }
    // A manifest may place its files elsewhere.
    let which = [
        MindFile::State,
        MindFile::Decisions,
        MindFile::SessionLog,
        MindFile::Archive,
    ];
    paths.extend(which.map(|which| mind.file_path(which)));
    paths.push(mind.ideas_path());
    paths.sort();
    paths.dedup();
    paths
}

/// Returns passages that contain one decision each, and those of the rest of
/// the file.
fn chunk_by_decision(
    document: &Document,
    decided: &[DecisionSpan],
    sizes: PassageSizes,
) -> Vec<DocumentPassage> {
    let mut chunks = Vec::new();
    let mut at = document.body.start;
    for it in decided {
        if it.span.start < at {
            continue;
        }
        add_chunks(document, at..it.span.start, sizes, &mut chunks);
        add_chunks(document, it.span.clone(), sizes, &mut chunks);
        at = it.span.end;
    }
    add_chunks(document, at..document.text.len(), sizes, &mut chunks);
    chunks
}

/// Adds the passages of a part of the file, with the headings around it.
fn add_chunks(
    document: &Document,
    span: Range<usize>,
    sizes: PassageSizes,
    chunks: &mut Vec<DocumentPassage>,
) {
    let text = document.span_text(&span);
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
    let around: Vec<String> = around.into_iter().map(document::shorten_name).collect();
    let above = document.line_number_at(span.start) - 1;
    for mut chunk in chunk::split_into_passages(&document::parse_document(text.to_owned()), sizes) {
        let mut headings = around.clone();
        headings.append(&mut chunk.headings);
        chunk::limit_headings(&mut headings);
        chunk.headings = headings;
        chunk.lines = (chunk.lines.0 + above, chunk.lines.1 + above);
        chunks.push(chunk);
    }
}
