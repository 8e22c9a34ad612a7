//! Builds and searches closets, the per-file summaries by field.
//!
//! A build is one change, whatever it touches: closets, their archives, the
//! rows of the manifest that list those, and the graph. One undo reverts all of
//! it.

use jiff::Timestamp;

use crate::bulk::{self, BulkSkill, RunOwner, RunReport, RunStatus};
use crate::corrections::Corrections;
use crate::diagnostic::Diagnostic;
use crate::document::day_of_timestamp;
use crate::graph;
use crate::knowledge::maps::{self, ClosetFilter, MapAnswer};
use crate::knowledge::{forget, refresh};
use crate::library::{AnswerRemark, KnowledgeLibrary};
use crate::links::NoteVault;
use crate::recall::RecallQuery;
use crate::routing::closets::ClosetField;
use crate::routing::closets::build::{self, ClosetBuildReport, HubSurvey, list_archives};
use crate::routing::hubs::Hub;
use crate::routing::manifest::Manifest;
use crate::search::configured_mode;
use crate::workspace::{self, RelPath, Workspace, WorkspaceChange};

/// Errors of finding hubs and searching closets.
#[derive(Debug, thiserror::Error)]
pub enum ClosetsError {
    /// A file could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The list of forgotten documents or of corrections could not be read.
    #[error(transparent)]
    Refresh(#[from] refresh::RefreshError),
    /// The caller named a hub that is not in the manifest.
    #[error("There is no hub `{name}`")]
    NoSuchHub {
        /// The name that was given.
        name: String,
        /// The names of all hubs.
        known: Vec<String>,
    },
}

impl Diagnostic for ClosetsError {
    fn code(&self) -> &'static str {
        match self {
            ClosetsError::Workspace(error) => error.code(),
            ClosetsError::Refresh(error) => error.code(),
            ClosetsError::NoSuchHub { .. } => "closets.no-such-hub",
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            ClosetsError::Workspace(error) => error.hints(),
            ClosetsError::Refresh(error) => error.hints(),
            ClosetsError::NoSuchHub { known, .. } if known.is_empty() => {
                vec!["There are no hubs yet; `memory-forge init` creates the first".to_owned()]
            }
            ClosetsError::NoSuchHub { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                vec![format!("The hubs are {}", known.join(", "))]
            }
        }
    }

    fn is_usage(&self) -> bool {
        match self {
            ClosetsError::Workspace(error) => error.is_usage(),
            ClosetsError::Refresh(error) => error.is_usage(),
            ClosetsError::NoSuchHub { .. } => true,
        }
    }
}

/// Finds the hubs that have closets, or the one with this name or folder.
pub fn find_hubs(workspace: &Workspace, only: Option<&str>) -> Result<Vec<Hub>, ClosetsError> {
    let mut hubs = build::closet_hubs(workspace)?;
    let Some(only) = only else {
        return Ok(hubs);
    };
    let known: Vec<String> = hubs.iter().map(|hub| hub.name.clone()).collect();
    let wanted = only.trim_end_matches('/');
    hubs.retain(|hub| hub.name.eq_ignore_ascii_case(wanted) || hub.folder.as_str() == wanted);
    if hubs.is_empty() {
        let name = only.to_owned();
        return Err(ClosetsError::NoSuchHub { name, known });
    }
    Ok(hubs)
}

/// A request to build the closets of some hubs.
#[derive(Debug, Clone)]
pub struct ClosetBuildRequest<'h> {
    /// The hubs to build.
    pub hubs: Vec<&'h Hub>,
    /// Whether to read every file again, also those without a change.
    pub force: bool,
    /// Whether to report what would change, without writing.
    pub dry_run: bool,
    /// Whether to draw the graph of the workspace as well.
    pub draw_graph: bool,
}

/// The result of a build, or of its dry run.
#[derive(Debug, Default)]
pub struct ClosetBuildResponse<'h> {
    /// Each hub with its report. A hub that failed is unchanged.
    pub hubs: Vec<(
        &'h Hub,
        Result<ClosetBuildReport, workspace::WorkspaceError>,
    )>,
    /// Number of archives that the build added to the manifest.
    pub listed: usize,
    /// Whether the file of the graph changed as well.
    pub is_graph_changed: bool,
    /// The abandoned lock of an earlier run.
    pub took_over: Option<String>,
}

impl<'h> ClosetBuildResponse<'h> {
    /// Returns the reports of the hubs that were built.
    pub fn reports(&self) -> impl Iterator<Item = (&'h Hub, &ClosetBuildReport)> {
        let built = self.hubs.iter();
        built.filter_map(|(hub, report)| Some((*hub, report.as_ref().ok()?)))
    }

    /// Returns the counts of the run log, in its order.
    pub fn log_counts(&self) -> [(&'static str, usize); 4] {
        let sum = |of: fn(&ClosetBuildReport) -> usize| self.reports().map(|(_, it)| of(it)).sum();
        [
            ("hubs", self.reports().count()),
            ("files", sum(|it| it.files)),
            ("refreshed", sum(|it| it.refreshed)),
            ("skipped", sum(|it| it.skipped)),
        ]
    }

    /// Returns `true` if no hub failed.
    pub fn is_complete(&self) -> bool {
        self.hubs.iter().all(|(_, report)| report.is_ok())
    }

    /// Converts the counts to the report of a bulk run.
    fn run_report(&self) -> RunReport {
        let status = if self.is_complete() {
            RunStatus::Ok
        } else {
            RunStatus::Partial
        };
        let mut report = RunReport::new(status);
        for (name, count) in self.log_counts() {
            report = report.with_count(name, count);
        }
        report
    }
}

/// Builds closets as a bulk run: under its lock, with a line in its log. Both
/// are in `memory/`; a workspace without that folder gets none, and the build
/// runs without them.
pub fn build_closets_in_run<'h>(
    workspace: &Workspace,
    request: &ClosetBuildRequest<'h>,
    who: &RunOwner,
    now: Timestamp,
    progress: impl FnMut(usize),
) -> Result<ClosetBuildResponse<'h>, workspace::WorkspaceError> {
    if request.dry_run || !is_logged(workspace, &request.hubs) {
        return build_closets(workspace, request, now, progress);
    }
    let done = bulk::run_under_lock(workspace, BulkSkill::Reindex, now, who, || {
        let response = build_closets(workspace, request, now, progress)?;
        let report = response.run_report();
        Ok::<_, workspace::WorkspaceError>((response, report))
    })?;
    let mut response = done.value;
    response.took_over = done.took_over;
    Ok(response)
}

/// Returns `true` if a build of these hubs takes a lock and writes to a log.
pub fn is_logged(workspace: &Workspace, hubs: &[&Hub]) -> bool {
    let has_folder = workspace.root().join("memory").is_dir();
    !hubs.is_empty() && (hubs.iter().any(|hub| hub.is_memory_hub()) || has_folder)
}

/// Builds closets without the lock of a bulk run, for the end of a session,
/// which must finish while another process builds. `progress` receives the
/// number of hubs read so far. A hub that fails does not stop the others.
pub fn build_closets<'h>(
    workspace: &Workspace,
    request: &ClosetBuildRequest<'h>,
    now: Timestamp,
    mut progress: impl FnMut(usize),
) -> Result<ClosetBuildResponse<'h>, workspace::WorkspaceError> {
    // Reading is the slow part and comes before the lock, so that other writers
    // do not wait for it.
    let mut surveys = Vec::new();
    for hub in &request.hubs {
        progress(surveys.len());
        surveys.push((*hub, HubSurvey::read(workspace, hub, request.force)));
    }
    if request.dry_run {
        let preview = |(hub, survey): (&'h Hub, Result<HubSurvey<'h>, _>)| {
            (hub, survey.and_then(|it| it.preview_build(workspace)))
        };
        return Ok(ClosetBuildResponse {
            hubs: surveys.into_iter().map(preview).collect(),
            ..ClosetBuildResponse::default()
        });
    }
    let has_graph = request.draw_graph && Manifest::read(workspace).is_some();
    let vault = has_graph.then(|| NoteVault::read(workspace));
    let what = match &request.hubs[..] {
        [hub] => format!("closets of {}", hub.name),
        hubs => format!("closets of {} hubs", hubs.len()),
    };
    // An error here left every hub as it was, so it is the error of the build.
    let (mut response, receipt) = workspace.change_with(&what, now, |change| {
        let mut response = ClosetBuildResponse::default();
        for (hub, survey) in surveys {
            let report = survey.and_then(|it| it.write_closets(workspace, change));
            response.hubs.push((hub, report));
        }
        let built: Vec<&Hub> = response.reports().map(|(hub, _)| hub).collect();
        response.listed = list_archives(workspace, change, &built, now)?;
        if let Some(vault) = vault {
            draw_graph(change, vault, &response)?;
        }
        Ok::<_, workspace::WorkspaceError>(response)
    })?;
    let graph = RelPath::new(graph::GRAPH_FILE)?;
    response.is_graph_changed = receipt.files.contains(&graph);
    Ok(response)
}

/// Draws the graph with the closets of this very change, which are notes like
/// others and are not on disk yet.
fn draw_graph(
    change: &mut WorkspaceChange<'_>,
    vault: NoteVault,
    response: &ClosetBuildResponse<'_>,
) -> Result<(), workspace::WorkspaceError> {
    let changes = response.reports().flat_map(|(_, report)| &report.changes);
    let written = changes.map(|(path, _, after)| (path.clone(), after.clone()));
    graph::draw_graph_file(change, &vault.with_new_files(written.collect()))
}

/// A query to the closets.
#[derive(Debug, Clone, Copy)]
pub struct ClosetSearchRequest<'a> {
    /// The question in a person's words.
    pub question: &'a str,
    /// Restricts the search to one field of each entry.
    pub field: Option<ClosetField>,
    /// Restricts the search to the entries of one hub.
    pub hub: Option<&'a str>,
    /// The number of entries to return.
    pub limit: usize,
    /// The time of the query, for words such as "last week".
    pub now: Timestamp,
}

/// The entries that match a query.
pub struct ClosetSearchResponse {
    /// The entries, ranked.
    pub mapped: MapAnswer,
    /// What the reader should know about them.
    pub remarks: Vec<AnswerRemark>,
}

/// Searches the closets alone.
pub fn search_closets(
    library: &KnowledgeLibrary,
    request: &ClosetSearchRequest<'_>,
) -> Result<ClosetSearchResponse, ClosetsError> {
    let workspace = &library.workspace;
    let forgotten = forget::read_forgotten_paths(workspace)?;
    let corrections = Corrections::read(workspace)?;
    let ask = RecallQuery {
        question: request.question,
        mode: configured_mode(workspace),
        limit: request.limit,
        unique: false,
        kinds: Vec::new(),
        scopes: Vec::new(),
        since: None,
        today: Some(day_of_timestamp(request.now)),
        forgotten: &forgotten,
        corrections: &corrections,
        explain: false,
    };
    let (model, remarks) = library.model_for(ask.mode);
    let only = ClosetFilter {
        field: request.field,
        hub: request.hub,
    };
    let mapped = maps::search_closets(workspace, &ask, only, model)?;
    Ok(ClosetSearchResponse { mapped, remarks })
}
