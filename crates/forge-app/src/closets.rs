//! Builds and searches closets, the per-file summaries by field.
//!
//! A build is one change, whatever it touches: closets, their archives, the
//! rows of the manifest that list those, and the graph. One undo reverts all of
//! it.

use jiff::Timestamp;

use crate::bulk::{self, RunReport, Skill, Status, Who};
use crate::corrections::Corrections;
use crate::diagnostic::Diagnostic;
use crate::document::day_of;
use crate::graph;
use crate::knowledge::maps::{self, Mapped, Only};
use crate::knowledge::{forget, refresh};
use crate::library::{Library, Remark};
use crate::links::Vault;
use crate::recall::Ask;
use crate::routing::closets::Field;
use crate::routing::closets::build::{self, HubSurvey, Report, list_archives};
use crate::routing::hubs::Hub;
use crate::routing::manifest::Manifest;
use crate::search::configured_mode;
use crate::workspace::{self, Change, RelPath, Workspace};

/// Errors of finding hubs and searching closets.
#[derive(Debug, thiserror::Error)]
pub enum ClosetsError {
    /// A file could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The list of forgotten documents or of corrections could not be read.
    #[error(transparent)]
    Refresh(#[from] refresh::Error),
    /// The caller named a hub that is not in the manifest.
    #[error("There is no hub `{name}`")]
    NoSuchHub { name: String, known: Vec<String> },
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
                vec!["there are none yet; `memory-forge init` makes a start".to_owned()]
            }
            ClosetsError::NoSuchHub { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                vec![format!("there are {}", known.join(", "))]
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
    let mut hubs = build::hubs(workspace)?;
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
pub struct BuildRequest<'h> {
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
pub struct BuildResponse<'h> {
    /// Each hub with its report. A hub that failed is unchanged.
    pub hubs: Vec<(&'h Hub, Result<Report, workspace::Error>)>,
    /// Number of archives that the build added to the manifest.
    pub listed: usize,
    pub is_graph_changed: bool,
    /// The abandoned lock of an earlier run.
    pub took_over: Option<String>,
}

impl<'h> BuildResponse<'h> {
    /// Returns the reports of the hubs that were built.
    pub fn reports(&self) -> impl Iterator<Item = (&'h Hub, &Report)> {
        let built = self.hubs.iter();
        built.filter_map(|(hub, report)| Some((*hub, report.as_ref().ok()?)))
    }

    /// Returns the counts of the run log, in its order.
    pub fn counts(&self) -> [(&'static str, usize); 4] {
        let sum = |of: fn(&Report) -> usize| self.reports().map(|(_, it)| of(it)).sum();
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
            Status::Ok
        } else {
            Status::Partial
        };
        let mut report = RunReport::new(status);
        for (name, count) in self.counts() {
            report = report.count(name, count);
        }
        report
    }
}

/// Builds closets as a bulk run: under its lock, with a line in its log. Both
/// are in `memory/`; a workspace without that folder gets none, and the build
/// runs without them.
pub fn build_in_run<'h>(
    workspace: &Workspace,
    request: &BuildRequest<'h>,
    who: &Who,
    now: Timestamp,
    progress: impl FnMut(usize),
) -> Result<BuildResponse<'h>, workspace::Error> {
    if request.dry_run || !is_logged(workspace, &request.hubs) {
        return build(workspace, request, now, progress);
    }
    let done = bulk::run(workspace, Skill::Reindex, now, who, || {
        let response = build(workspace, request, now, progress)?;
        let report = response.run_report();
        Ok::<_, workspace::Error>((response, report))
    })?;
    let mut response = done.value;
    response.took_over = done.took_over;
    Ok(response)
}

/// Returns `true` if a build of these hubs takes a lock and writes to a log.
pub fn is_logged(workspace: &Workspace, hubs: &[&Hub]) -> bool {
    let has_folder = workspace.root().join("memory").is_dir();
    !hubs.is_empty() && (hubs.iter().any(|hub| hub.is_memory()) || has_folder)
}

/// Builds closets without the lock of a bulk run, for the end of a session,
/// which must finish while another process builds. `progress` receives the
/// number of hubs read so far. A hub that fails does not stop the others.
pub fn build<'h>(
    workspace: &Workspace,
    request: &BuildRequest<'h>,
    now: Timestamp,
    mut progress: impl FnMut(usize),
) -> Result<BuildResponse<'h>, workspace::Error> {
    // Reading is the slow part and comes before the lock, so that other writers
    // do not wait for it.
    let mut surveys = Vec::new();
    for hub in &request.hubs {
        progress(surveys.len());
        surveys.push((*hub, HubSurvey::read(workspace, hub, request.force)));
    }
    if request.dry_run {
        let preview = |(hub, survey): (&'h Hub, Result<HubSurvey<'h>, _>)| {
            (hub, survey.and_then(|it| it.preview(workspace)))
        };
        return Ok(BuildResponse {
            hubs: surveys.into_iter().map(preview).collect(),
            ..BuildResponse::default()
        });
    }
    let has_graph = request.draw_graph && Manifest::read(workspace).is_some();
    let vault = has_graph.then(|| Vault::read(workspace));
    let what = match &request.hubs[..] {
        [hub] => format!("closets of {}", hub.name),
        hubs => format!("closets of {} hubs", hubs.len()),
    };
    let changed = workspace.change_with(&what, now, |change| {
        let mut response = BuildResponse::default();
        for (hub, survey) in surveys {
            let report = survey.and_then(|it| it.write(workspace, change));
            response.hubs.push((hub, report));
        }
        let built: Vec<&Hub> = response.reports().map(|(hub, _)| hub).collect();
        response.listed = list_archives(workspace, change, &built, now)?;
        if let Some(vault) = vault {
            draw_graph(change, vault, &response)?;
        }
        Ok::<_, workspace::Error>(response)
    });
    let (mut response, receipt) = match changed {
        Ok(done) => done,
        // The change was not written, so every hub is unchanged. Only the first
        // hub can own the error; the others get its message.
        Err(error) => {
            let message = error.to_string();
            let mut first = Some(error);
            let mut failure = || {
                let again = || workspace::Error::Refused(message.clone());
                Err(first.take().unwrap_or_else(again))
            };
            let hubs = request.hubs.iter().map(|hub| (*hub, failure()));
            return Ok(BuildResponse {
                hubs: hubs.collect(),
                ..BuildResponse::default()
            });
        }
    };
    let graph = RelPath::new(graph::GRAPH_FILE)?;
    response.is_graph_changed = receipt.files.contains(&graph);
    Ok(response)
}

/// Draws the graph with the closets of this very change, which are notes like
/// others and are not on disk yet.
fn draw_graph(
    change: &mut Change<'_>,
    vault: Vault,
    response: &BuildResponse<'_>,
) -> Result<(), workspace::Error> {
    let changes = response.reports().flat_map(|(_, report)| &report.changes);
    let written = changes.map(|(path, _, after)| (path.clone(), after.clone()));
    graph::draw(change, &vault.with_new_files(written.collect()))
}

/// A query to the closets.
#[derive(Debug, Clone, Copy)]
pub struct ShowRequest<'a> {
    pub question: &'a str,
    /// Restricts the search to one field of each entry.
    pub field: Option<Field>,
    /// Restricts the search to the entries of one hub.
    pub hub: Option<&'a str>,
    pub limit: usize,
    pub now: Timestamp,
}

/// The entries that match a query.
pub struct ShowResponse {
    pub mapped: Mapped,
    pub remarks: Vec<Remark>,
}

/// Searches the closets alone.
pub fn show(library: &Library, request: &ShowRequest<'_>) -> Result<ShowResponse, ClosetsError> {
    let workspace = &library.workspace;
    let forgotten = forget::forgotten(workspace)?;
    let corrections = Corrections::read(workspace)?;
    let ask = Ask {
        question: request.question,
        mode: configured_mode(workspace),
        limit: request.limit,
        unique: false,
        kinds: Vec::new(),
        scopes: Vec::new(),
        since: None,
        today: Some(day_of(request.now)),
        forgotten: &forgotten,
        corrections: &corrections,
        explain: false,
    };
    let (model, remarks) = library.model_for(ask.mode);
    let only = Only {
        field: request.field,
        hub: request.hub,
    };
    let mapped = maps::ask_closets(workspace, &ask, only, model)?;
    Ok(ShowResponse { mapped, remarks })
}
