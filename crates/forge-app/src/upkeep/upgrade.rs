//! Upgrades a workspace to the current format. The missing parts are detected
//! from the files themselves, so an interrupted run continues where it stopped;
//! the marker is set last, when everything that it promises is true.

use jiff::Timestamp;

use super::{propose, resummarize};
use crate::bulk::{self, RunReport, Skill, Status, Who};
use crate::closets::{self, BuildRequest};
use crate::routing::hubs::{self, Hub};
use crate::routing::manifest::{self, Age, Manifest, Mode, SUMMARY_FORMAT, VERSION};
use crate::workspace::{Error, Proposal, Workspace};

/// A reason for which a workspace is not current.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// The manifest's marker has this version; empty without a marker.
    Marker(String),
    SummaryFormat(Option<u32>),
    /// Hubs without closets.
    Coverage(Vec<String>),
    /// Closets without a version.
    ClosetsFormat(Vec<String>),
    /// `memory/` without closets, or with some of an older format.
    MemoryClosets,
}

/// A plan of an upgrade.
#[derive(Debug)]
pub struct Plan {
    pub from: String,
    pub signals: Vec<Signal>,
    /// Whether summaries must be rewritten.
    pub resummarize: bool,
    /// Hubs whose closets must be built.
    pub hubs: Vec<Hub>,
}

impl Plan {
    /// Returns `true` if there is nothing to upgrade.
    pub fn is_current(&self) -> bool {
        self.signals.is_empty()
    }

    /// Lists the steps in their order, for people.
    pub fn steps(&self) -> Vec<String> {
        let mut steps = Vec::new();
        if self.resummarize {
            steps.push("Resummarize: fill and renew the summaries of the manifest".to_owned());
        }
        if !self.hubs.is_empty() {
            let names: Vec<&str> = self.hubs.iter().map(|hub| hub.name.as_str()).collect();
            steps.push(format!(
                "Reindex: build the closets of {}",
                names.join(", ")
            ));
        }
        if self
            .signals
            .iter()
            .any(|it| matches!(it, Signal::Marker(_)))
        {
            steps.push(format!("Set the marker to {VERSION}"));
        }
        steps
    }
}

/// The result of an upgrade.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    pub summaries: usize,
    pub hubs: usize,
    pub files: usize,
    pub partial: bool,
    /// What a person should know.
    pub remarks: Vec<String>,
}

/// Plans an upgrade, without a lock and without writing. `force` plans all
/// steps, needed or not.
pub fn plan(workspace: &Workspace, force: bool) -> Result<Plan, Error> {
    let manifest = super::manifest(workspace)?;
    if manifest.mode() == Mode::Compatible {
        return Err(Error::Refused(
            "`_MANIFEST.md` has no marker, so it is kept by hand and is not upgraded; \
             run `memory-forge init --workspace` to have it kept for you, or go on as before"
                .to_owned(),
        ));
    }
    let from = manifest.version().unwrap_or_default().to_owned();
    if manifest.age() == Some(Age::Newer) {
        return Err(Error::Refused(format!(
            "`_MANIFEST.md` is of version {from}, newer than {VERSION}; update memory-forge"
        )));
    }
    let mut signals = Vec::new();
    if manifest.age() == Some(Age::Older) {
        signals.push(Signal::Marker(from.clone()));
    }
    let old_summaries = manifest
        .summary_format()
        .is_none_or(|it| it < SUMMARY_FORMAT);
    if old_summaries {
        signals.push(Signal::SummaryFormat(manifest.summary_format()));
    }
    let mut to_build = Vec::new();
    let (mut uncovered, mut unmarked) = (Vec::new(), Vec::new());
    for hub in hubs::hubs_of(workspace, &manifest) {
        let closets = workspace.read_text(&hub.closets()).ok();
        let version = closets.as_deref().and_then(version);
        let wanted = match (&closets, hub.is_memory()) {
            (_, true) if version.as_deref() != Some("1.1") => {
                signals.push(Signal::MemoryClosets);
                true
            }
            // W-5: every hub counts, also one that has no page.
            (None, _) => {
                uncovered.push(hub.name.clone());
                true
            }
            (Some(_), _) if version.is_none() => {
                unmarked.push(hub.name.clone());
                true
            }
            _ => false,
        };
        if wanted || force {
            to_build.push(hub);
        }
    }
    if !uncovered.is_empty() {
        signals.push(Signal::Coverage(uncovered));
    }
    if !unmarked.is_empty() {
        signals.push(Signal::ClosetsFormat(unmarked));
    }
    Ok(Plan {
        resummarize: old_summaries || force,
        hubs: to_build,
        signals,
        from,
    })
}

/// Applies a plan. After an error the lock and the finished steps stay; the
/// next run continues.
pub fn run(workspace: &Workspace, plan: &Plan, now: Timestamp, who: &Who) -> Result<Done, Error> {
    let done = bulk::run(workspace, Skill::Upgrade, now, who, || {
        let done = take_steps(workspace, plan, now, who)?;
        let from = if plan.from.is_empty() {
            "none"
        } else {
            &plan.from
        };
        let yes = |it: bool| if it { "yes" } else { "no" };
        let status = if done.partial {
            Status::Partial
        } else {
            Status::Ok
        };
        let report = RunReport::new(status)
            .count("from", from)
            .count("to", VERSION)
            .count("resummarize", yes(plan.resummarize))
            .count("reindex", yes(!plan.hubs.is_empty()))
            .count("hubs", done.hubs)
            .count("files", done.files);
        Ok::<_, Error>((done, report))
    })?;
    Ok(done.value)
}

/// Applies the steps: summaries, closets, then the marker.
fn take_steps(
    workspace: &Workspace,
    plan: &Plan,
    now: Timestamp,
    who: &Who,
) -> Result<Done, Error> {
    let mut done = Done::default();
    if plan.resummarize {
        let summaries = resummarize::plan(workspace, false)?;
        resummarize::run(workspace, &summaries, now, who)?;
        done.summaries = summaries.changes();
        done.partial |= !summaries.lost.is_empty();
    }
    reindex(workspace, plan, now, who, &mut done)?;
    if let Some(manifest) = Manifest::load(workspace)? {
        let mut last = Proposal::default();
        let edits = manifest.set_version().into_iter().collect();
        propose(
            &mut last,
            &manifest::path(),
            manifest.text(),
            manifest.edited(edits),
        )?;
        last.apply(workspace, "Upgrade the workspace", now)?;
    }
    Ok(done)
}

/// Builds closets, and lists new archives.
fn reindex(
    workspace: &Workspace,
    plan: &Plan,
    now: Timestamp,
    who: &Who,
    done: &mut Done,
) -> Result<(), Error> {
    let request = BuildRequest {
        hubs: plan.hubs.iter().collect(),
        force: false,
        dry_run: false,
        draw_graph: false,
    };
    let built = closets::build_in_run(workspace, &request, who, now, |_| {})?;
    for (_, report) in built.hubs {
        let report = report?;
        done.hubs += 1;
        done.files += report.files;
        done.remarks.extend(report.remarks);
    }
    Ok(())
}

/// Returns the version of a `<!-- memex-closets:1.0 -->` marker.
fn version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<!-- memex-closets:")?;
    let (version, _) = rest.split_once("-->")?;
    Some(version.trim().to_owned())
}
