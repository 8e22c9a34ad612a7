//! The use case `search`: one question, answered the same way whoever asks.
//!
//! The command line, MCP and the page fill a [`SearchRequest`] and render a
//! [`SearchResponse`]; which documents a scope means, which mode is the default
//! and where a shared index comes in are decided here and nowhere else.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::corrections::Corrections;
use crate::document::day_of;
use crate::inclusion;
use crate::index::Kind;
use crate::knowledge::{loaded, refresh, state};
use crate::library::{Library, Remark, Watch};
use crate::recall::{self, Answer, Ask, Mode};
use crate::retractions;
use crate::workspace::{SearchMode, Workspace};

/// Which documents a question is asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchScope {
    Knowledge,
    State,
    Closets,
    Agents,
    Archive,
    All,
    Sources,
    Org,
}

impl SearchScope {
    pub const ALL: [SearchScope; 8] = [
        SearchScope::Knowledge,
        SearchScope::State,
        SearchScope::Closets,
        SearchScope::Agents,
        SearchScope::Archive,
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
            SearchScope::All => "all",
            SearchScope::Sources => "sources",
            SearchScope::Org => "org",
        }
    }

    /// Returns a line that says which documents are meant.
    pub fn about(self) -> &'static str {
        match self {
            SearchScope::Knowledge => "`knowledge/`",
            SearchScope::State => "The state of the current work",
            SearchScope::Closets => "The manifest and the closets of every hub",
            SearchScope::Agents => "What agents remembered for themselves",
            SearchScope::Archive => "What was put away",
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

    /// Returns the scopes of the index to look in; none means all of them.
    fn index_scopes(self) -> Vec<&'static str> {
        match self {
            SearchScope::Knowledge | SearchScope::Org => vec!["knowledge", "routing"],
            SearchScope::State => vec!["state"],
            SearchScope::Agents => vec!["agents"],
            SearchScope::Archive => vec!["archive"],
            SearchScope::Closets | SearchScope::All | SearchScope::Sources => Vec::new(),
        }
    }
}

/// A question with everything that decides its answer. Doors set what differs
/// from [`SearchRequest::new`].
#[derive(Debug, Clone)]
pub struct SearchRequest<'a> {
    pub question: &'a str,
    /// `None` means `knowledge`, and the shared index where the settings say so.
    pub scope: Option<SearchScope>,
    /// `None` means `search.mode` of the configuration.
    pub mode: Option<Mode>,
    pub limit: usize,
    /// At most one passage of each file.
    pub unique: bool,
    /// Only documents of these kinds; none means all.
    pub kinds: Vec<Kind>,
    /// Only documents dated on or after this day.
    pub since: Option<Date>,
    /// Whether each hit says why it ranks where it does.
    pub explain: bool,
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
            now,
        }
    }

    /// Returns the scope with its default.
    pub fn effective_scope(&self) -> SearchScope {
        self.scope.unwrap_or(SearchScope::Knowledge)
    }
}

/// An answer, and what the reader should know about it.
#[derive(Debug)]
pub struct SearchResponse {
    pub answer: Answer,
    pub remarks: Vec<Remark>,
    /// Whether the organisation's index answered instead of this workspace's.
    pub is_shared: bool,
}

/// What a person took back, read before a question is asked.
pub struct Retractions {
    forgotten: HashSet<String>,
    corrections: Corrections,
}

impl Retractions {
    /// Reads the list. Fails if it is there and cannot be read.
    pub fn read(workspace: &Workspace) -> Result<Retractions, refresh::Error> {
        let list = retractions::Retractions::read(workspace)?;
        Ok(Retractions {
            forgotten: list.forgotten(),
            corrections: list.facts,
        })
    }

    /// Returns the question as ranking takes it.
    pub fn ask<'a>(&'a self, workspace: &Workspace, request: &SearchRequest<'a>) -> Ask<'a> {
        Ask {
            question: request.question,
            mode: request.mode.unwrap_or_else(|| configured_mode(workspace)),
            limit: request.limit,
            unique: request.unique,
            kinds: request.kinds.clone(),
            scopes: request.effective_scope().index_scopes(),
            since: request.since,
            today: Some(day_of(request.now)),
            forgotten: &self.forgotten,
            corrections: &self.corrections,
            explain: request.explain,
        }
    }
}

/// Returns the mode that the configuration names.
pub fn configured_mode(workspace: &Workspace) -> Mode {
    match workspace.config().search.mode {
        SearchMode::Hybrid => Mode::Hybrid,
        SearchMode::Text => Mode::Text,
        SearchMode::Vector => Mode::Vector,
    }
}

/// Asks the organisation's index, which another crate knows how to reach.
/// Returns none where it is not to be asked or did not answer.
pub type SharedIndex<'s> = &'s mut dyn FnMut(&Ask<'_>) -> (Option<Answer>, Vec<Remark>);

/// Answers a question from the files as they are now.
///
/// 1. Reads what was forgotten and corrected.
/// 2. Asks the shared index, where no scope was named.
/// 3. Without an answer from there, brings this workspace's index up to date,
///    embeds for as long as a search may, and ranks.
pub fn search(
    library: &mut Library,
    request: &SearchRequest<'_>,
    shared: Option<SharedIndex<'_>>,
    watch: Watch<'_>,
) -> Result<SearchResponse, refresh::Error> {
    let retractions = Retractions::read(&library.workspace)?;
    let ask = retractions.ask(&library.workspace, request);
    let mut remarks = Vec::new();
    if let (None, Some(shared)) = (request.scope, shared) {
        let (answer, more) = shared(&ask);
        remarks = more;
        if let Some(answer) = answer {
            return Ok(SearchResponse {
                answer,
                remarks,
                is_shared: true,
            });
        }
    }
    let (answer, more) = search_workspace(library, &ask, request, watch)?;
    remarks.extend(more);
    Ok(SearchResponse {
        answer,
        remarks,
        is_shared: false,
    })
}

fn search_workspace(
    library: &mut Library,
    ask: &Ask<'_>,
    request: &SearchRequest<'_>,
    watch: Watch<'_>,
) -> Result<(Answer, Vec<Remark>), refresh::Error> {
    let scope = request.effective_scope();
    match scope {
        SearchScope::State => return Ok((state::ask(&library.workspace, ask)?, Vec::new())),
        SearchScope::Closets => return library.ask_maps(ask),
        _ => {}
    }
    let (mut answer, mut remarks) = library.ask_of(ask, &|_| true, request.now, watch)?;
    if scope == SearchScope::All {
        let state = state::ask(&library.workspace, ask)?;
        answer = recall::join(answer, state, ask.limit);
    }
    if !matches!(scope, SearchScope::Knowledge | SearchScope::All) {
        if answer.hits.is_empty() {
            remarks.extend(library.nothing_to_search());
        }
    } else {
        remarks.extend(elsewhere(library, ask, &answer)?);
    }
    Ok((answer, remarks))
}

/// Says where an answer may be that a search never gives: in files that agents
/// load, and where there is no other answer, in documents that are not included.
fn elsewhere(
    library: &Library,
    ask: &Ask<'_>,
    answer: &Answer,
) -> Result<Vec<Remark>, refresh::Error> {
    let workspace = &library.workspace;
    let mut remarks = Vec::new();
    if let Some(place) = loaded::better_place(workspace, ask, &answer.hits)? {
        let also = if answer.hits.is_empty() {
            "In"
        } else {
            "Also in"
        };
        remarks.push(Remark::Note(format!(
            "{also} {}:{}, which agents load",
            place.path, place.line
        )));
    }
    if answer.hits.is_empty() {
        let outside = inclusion::documents_outside(workspace).map(Remark::Note);
        remarks.extend(outside.or_else(|| library.nothing_to_search()));
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
