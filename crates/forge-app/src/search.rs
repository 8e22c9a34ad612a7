//! Searches, in one way for every door.
//!
//! The command line, MCP and the page fill a [`SearchRequest`] and render a
//! [`SearchResponse`]; which documents a scope means, which mode is the default
//! and when a shared index is queried are decided only here.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::corrections::Corrections;
use crate::document::day_of_timestamp;
use crate::inclusion;
use crate::index::DocumentKind;
use crate::knowledge::{loaded, refresh, state};
use crate::library::{AnswerRemark, KnowledgeLibrary, ProgressCallback};
use crate::recall::{self, RecallAnswer, RecallMode, RecallQuery};
use crate::retractions;
use crate::workspace::{SearchMode, Workspace};

/// Set of documents that a search covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchScope {
    /// The documents of the workspace, without archived ones.
    Knowledge,
    /// The state of the current work.
    State,
    /// The manifest and the closets.
    Closets,
    /// What agents remember.
    Agents,
    /// Documents that are archived.
    Archive,
    /// What sessions showed: commands, files and corrections. It is a log and
    /// no document: [`search_evidence`](crate::evidence::search_evidence)
    /// answers.
    Evidence,
    /// Everything of this workspace, archived documents last.
    All,
    /// The other workspaces that this person registered.
    Sources,
    /// The index that an organization shares.
    Org,
}

impl SearchScope {
    /// All scopes, in the order of the help.
    pub const ALL: [SearchScope; 9] = [
        SearchScope::Knowledge,
        SearchScope::State,
        SearchScope::Closets,
        SearchScope::Agents,
        SearchScope::Archive,
        SearchScope::Evidence,
        SearchScope::All,
        SearchScope::Sources,
        SearchScope::Org,
    ];

    /// Returns the name that people and agents write.
    pub fn name(self) -> &'static str {
        match self {
            SearchScope::Knowledge => "knowledge",
            SearchScope::State => "state",
            SearchScope::Closets => "closets",
            SearchScope::Agents => "agents",
            SearchScope::Archive => "archive",
            SearchScope::Evidence => "evidence",
            SearchScope::All => "all",
            SearchScope::Sources => "sources",
            SearchScope::Org => "org",
        }
    }

    /// Returns a description of the documents in the scope.
    pub fn description(self) -> &'static str {
        match self {
            SearchScope::Knowledge => "`knowledge/`",
            SearchScope::State => "The state of the current work",
            SearchScope::Closets => "The manifest and the closets of every hub",
            SearchScope::Agents => "What agents remembered for themselves",
            SearchScope::Archive => "Archived documents",
            SearchScope::Evidence => "Commands that worked or failed in sessions, and files",
            SearchScope::All => "Everything of this workspace, archived documents last",
            SearchScope::Sources => "Your other workspaces, as `memory-forge sources` lists them",
            SearchScope::Org => "Everything that your organisation pushed to its shared index",
        }
    }

    /// Returns the scope of this name, in any case.
    pub fn parse(name: &str) -> Option<SearchScope> {
        SearchScope::ALL
            .into_iter()
            .find(|scope| scope.name().eq_ignore_ascii_case(name))
    }

    /// Returns the index scopes to search; an empty list means all of them.
    fn index_scopes(self) -> Vec<&'static str> {
        match self {
            SearchScope::Knowledge | SearchScope::Org => vec!["knowledge", "routing"],
            SearchScope::State => vec!["state"],
            SearchScope::Agents => vec!["agents"],
            SearchScope::Archive => vec!["archive"],
            SearchScope::Closets
            | SearchScope::All
            | SearchScope::Sources
            | SearchScope::Evidence => Vec::new(),
        }
    }
}

/// A search with everything that decides its answer. Doors set what differs
/// from [`SearchRequest::new`].
#[derive(Debug, Clone)]
pub struct SearchRequest<'a> {
    /// The question in a person's words.
    pub question: &'a str,
    /// `None` means `knowledge`, and the shared index where the settings say so.
    pub scope: Option<SearchScope>,
    /// `None` means `search.mode` of the configuration.
    pub mode: Option<RecallMode>,
    /// The number of hits to return.
    pub limit: usize,
    /// At most one passage of each file.
    pub unique: bool,
    /// Only documents of these kinds; none means all.
    pub kinds: Vec<DocumentKind>,
    /// Only documents dated on or after this day.
    pub since: Option<Date>,
    /// Whether each hit explains its rank.
    pub explain: bool,
    /// Whether hits are returned where none of them is relevant.
    pub keep_noise: bool,
    /// The time of the query.
    pub now: Timestamp,
}

impl<'a> SearchRequest<'a> {
    /// Returns a request with the defaults that all doors share.
    pub fn new(question: &'a str, limit: usize, now: Timestamp) -> SearchRequest<'a> {
        SearchRequest {
            question,
            scope: None,
            mode: None,
            limit,
            unique: false,
            kinds: Vec::new(),
            since: None,
            explain: false,
            keep_noise: false,
            now,
        }
    }

    /// Returns the scope with its default.
    pub fn effective_scope(&self) -> SearchScope {
        self.scope.unwrap_or(SearchScope::Knowledge)
    }

    /// Leaves nothing of an answer in which nothing is relevant, unless the
    /// caller wants it all. State files and closets are so small that any match
    /// in them is worth a look.
    pub fn withhold_noise(&self, answer: &mut RecallAnswer) {
        let is_small = matches!(
            self.effective_scope(),
            SearchScope::State | SearchScope::Closets
        );
        if !self.keep_noise && !is_small {
            recall::withhold_noise(answer);
        }
    }
}

/// An answer, with remarks about it for the reader.
#[derive(Debug)]
pub struct SearchResponse {
    /// The hits, and what limits them.
    pub answer: RecallAnswer,
    /// What the reader should know about the answer.
    pub remarks: Vec<AnswerRemark>,
    /// Whether the organisation's index answered instead of this workspace's.
    pub is_shared: bool,
}

/// Forgotten documents and corrected facts, read before a search.
pub struct SearchRetractions {
    forgotten: HashSet<String>,
    corrections: Corrections,
}

impl SearchRetractions {
    /// Reads the list. Fails if it exists and cannot be read, since a search
    /// without it would return what a person retracted.
    pub fn read(workspace: &Workspace) -> Result<SearchRetractions, refresh::RefreshError> {
        let list = retractions::WorkspaceRetractions::read(workspace)?;
        Ok(SearchRetractions {
            forgotten: list.forgotten_paths(),
            corrections: list.facts,
        })
    }

    /// Builds the query for ranking.
    pub fn prepare_query<'a>(
        &'a self,
        workspace: &Workspace,
        request: &SearchRequest<'a>,
    ) -> RecallQuery<'a> {
        RecallQuery {
            question: request.question,
            mode: request.mode.unwrap_or_else(|| configured_mode(workspace)),
            limit: request.limit,
            unique: request.unique,
            kinds: request.kinds.clone(),
            scopes: request.effective_scope().index_scopes(),
            since: request.since,
            today: Some(day_of_timestamp(request.now)),
            forgotten: &self.forgotten,
            corrections: &self.corrections,
            explain: request.explain,
        }
    }
}

/// Returns the mode that the configuration names.
pub fn configured_mode(workspace: &Workspace) -> RecallMode {
    match workspace.config().search.mode {
        SearchMode::Hybrid => RecallMode::Hybrid,
        SearchMode::Text => RecallMode::Text,
        SearchMode::Vector => RecallMode::Vector,
    }
}

/// Callback that queries the organisation's index, which another crate knows
/// how to reach. Returns no answer if it was not queried or did not reply.
pub type SharedIndexCallback<'s> =
    &'s mut dyn FnMut(&RecallQuery<'_>) -> (Option<RecallAnswer>, Vec<AnswerRemark>);

/// Answers a query from the files as they are now.
///
/// 1. Reads which documents are forgotten and which facts are corrected.
/// 2. Queries the shared index, if the request names no scope.
/// 3. Without an answer from there, updates this workspace's index, embeds for
///    as long as a search may, and ranks.
pub fn run_search(
    library: &mut KnowledgeLibrary,
    request: &SearchRequest<'_>,
    shared: Option<SharedIndexCallback<'_>>,
    watch: ProgressCallback<'_>,
) -> Result<SearchResponse, refresh::RefreshError> {
    let retractions = SearchRetractions::read(&library.workspace)?;
    let ask = retractions.prepare_query(&library.workspace, request);
    let mut remarks = Vec::new();
    if let (None, Some(shared)) = (request.scope, shared) {
        let (answer, more) = shared(&ask);
        remarks = more;
        if let Some(mut answer) = answer {
            request.withhold_noise(&mut answer);
            return Ok(SearchResponse {
                answer,
                remarks,
                is_shared: true,
            });
        }
    }
    let (mut answer, more) = search_workspace(library, &ask, request, watch)?;
    request.withhold_noise(&mut answer);
    remarks.extend(more);
    Ok(SearchResponse {
        answer,
        remarks,
        is_shared: false,
    })
}

fn search_workspace(
    library: &mut KnowledgeLibrary,
    ask: &RecallQuery<'_>,
    request: &SearchRequest<'_>,
    watch: ProgressCallback<'_>,
) -> Result<(RecallAnswer, Vec<AnswerRemark>), refresh::RefreshError> {
    let scope = request.effective_scope();
    match scope {
        SearchScope::State => {
            return Ok((state::search_state(&library.workspace, ask)?, Vec::new()));
        }
        SearchScope::Closets => return library.search_maps(ask),
        // No document of the index is evidence.
        SearchScope::Evidence => return Ok((RecallAnswer::empty(), Vec::new())),
        _ => {}
    }
    let (mut answer, mut remarks) = library.search_index(ask, &|_| true, request.now, watch)?;
    if scope == SearchScope::All {
        let state = state::search_state(&library.workspace, ask)?;
        answer = recall::merge_answers(answer, state, ask.limit);
    }
    if !matches!(scope, SearchScope::Knowledge | SearchScope::All) {
        if answer.hits.is_empty() {
            remarks.extend(library.empty_library_remark());
        }
    } else {
        remarks.extend(elsewhere(library, ask, &answer)?);
    }
    Ok((answer, remarks))
}

/// Says where an answer may be that a search never gives: in files that agents
/// load, and where there is no other answer, in documents that are not included.
fn elsewhere(
    library: &KnowledgeLibrary,
    ask: &RecallQuery<'_>,
    answer: &RecallAnswer,
) -> Result<Vec<AnswerRemark>, refresh::RefreshError> {
    let workspace = &library.workspace;
    let mut remarks = Vec::new();
    if let Some(place) = loaded::better_place(workspace, ask, &answer.hits)? {
        let also = if answer.hits.is_empty() {
            "In"
        } else {
            "Also in"
        };
        remarks.push(AnswerRemark::Note(format!(
            "{also} {}:{}, which agents load",
            place.path, place.line
        )));
    }
    if answer.hits.is_empty() {
        let outside = inclusion::documents_outside(workspace).map(AnswerRemark::Note);
        remarks.extend(outside.or_else(|| library.empty_library_remark()));
    }
    Ok(remarks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_scopes_are_read_back() {
        for scope in SearchScope::ALL {
            assert_eq!(SearchScope::parse(scope.name()), Some(scope));
            assert_eq!(
                SearchScope::parse(&scope.name().to_uppercase()),
                Some(scope)
            );
        }
        assert_eq!(SearchScope::parse("everything"), None);
    }
}
