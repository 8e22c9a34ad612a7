//! Upgrades a workspace to the current format. The missing parts are detected
//! from the files themselves, so an interrupted run continues where it stopped;
//! the marker is set last, when everything that it promises is true.

use jiff::Timestamp;

use super::{propose_edit, resummarize};
use crate::bulk::{self, BulkSkill, RunOwner, RunReport, RunStatus};
use crate::closets::{self, ClosetBuildRequest};
use crate::routing::hubs::{self, Hub};
use crate::routing::manifest::{
    self, MANIFEST_FORMAT_VERSION, Manifest, ManifestMode, SUMMARY_FORMAT_VERSION, VersionAge,
};
use crate::workspace::{ChangeProposal, Workspace, WorkspaceError};

/// A reason for which a workspace is not current.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpgradeSignal {
    /// The manifest's marker has this version; empty without a marker.
    Marker(String),
    /// The format of the summaries is this version; none where it is not stated.
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
pub struct UpgradePlan {
    /// The version that the workspace has.
    pub from: String,
    /// Why the workspace is not current.
    pub signals: Vec<UpgradeSignal>,
    /// Whether summaries must be rewritten.
    pub resummarize: bool,
    /// Hubs whose closets must be built.
    pub hubs: Vec<Hub>,
}

impl UpgradePlan {
    /// Returns `true` if there is nothing to upgrade.
    pub fn is_current(&self) -> bool {
        self.signals.is_empty()
    }

    /// Lists the steps in their order, for people.
    pub fn list_steps(&self) -> Vec<String> {
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
            .any(|it| matches!(it, UpgradeSignal::Marker(_)))
        {
            steps.push(format!("Set the marker to {MANIFEST_FORMAT_VERSION}"));
        }
        steps
    }
}

/// The result of an upgrade.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpgradeOutcome {
    /// Number of summaries that were written.
    pub summaries: usize,
    /// Number of hubs whose closets were built.
    pub hubs: usize,
    /// Number of documents of these hubs that could be read.
    pub files: usize,
    /// Whether the manifest has rows without a file, whose summaries stay.
    pub partial: bool,
    /// What a person should know.
    pub remarks: Vec<String>,
}

/// Plans an upgrade, without a lock and without writing. `force` plans all
/// steps, needed or not.
pub fn plan_upgrade(workspace: &Workspace, force: bool) -> Result<UpgradePlan, WorkspaceError> {
    let manifest = super::require_manifest(workspace)?;
    if manifest.mode() == ManifestMode::Compatible {
        return Err(WorkspaceError::Refused(
            "`_MANIFEST.md` has no marker, so it is kept by hand and is not upgraded; \
             run `memory-forge init --workspace` to have it kept for you, or go on as before"
                .to_owned(),
        ));
    }
    let from = manifest.version().unwrap_or_default().to_owned();
    if manifest.age() == Some(VersionAge::Newer) {
        return Err(WorkspaceError::Refused(format!(
            "`_MANIFEST.md` is of version {from}, newer than {MANIFEST_FORMAT_VERSION}; update memory-forge"
        )));
    }
    let mut signals = Vec::new();
    if manifest.age() == Some(VersionAge::Older) {
        signals.push(UpgradeSignal::Marker(from.clone()));
    }
    let old_summaries = manifest
        .summary_format()
        .is_none_or(|it| it < SUMMARY_FORMAT_VERSION);
    if old_summaries {
        signals.push(UpgradeSignal::SummaryFormat(manifest.summary_format()));
    }
    let mut to_build = Vec::new();
    let (mut uncovered, mut unmarked) = (Vec::new(), Vec::new());
    for hub in hubs::hubs_of_manifest(workspace, &manifest) {
        let closets = workspace.read_text(&hub.closets_path()).ok();
        let version = closets.as_deref().and_then(closets_version);
        let wanted = match (&closets, hub.is_memory_hub()) {
            (_, true) if version.as_deref() != Some("1.1") => {
                signals.push(UpgradeSignal::MemoryClosets);
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
        signals.push(UpgradeSignal::Coverage(uncovered));
    }
    if !unmarked.is_empty() {
        signals.push(UpgradeSignal::ClosetsFormat(unmarked));
    }
    Ok(UpgradePlan {
        resummarize: old_summaries || force,
        hubs: to_build,
        signals,
        from,
    })
}

/// Applies a plan. After an error the lock and the finished steps stay; the
/// next run continues.
pub fn run_upgrade(
    workspace: &Workspace,
    plan: &UpgradePlan,
    now: Timestamp,
    who: &RunOwner,
) -> Result<UpgradeOutcome, WorkspaceError> {
    let done = bulk::run_under_lock(workspace, BulkSkill::Upgrade, now, who, || {
        let done = apply_steps(workspace, plan, now, who)?;
        let from = if plan.from.is_empty() {
            "none"
        } else {
            &plan.from
        };
        let yes = |it: bool| if it { "yes" } else { "no" };
        let status = if done.partial {
            RunStatus::Partial
        } else {
            RunStatus::Ok
        };
        let report = RunReport::new(status)
            .with_count("from", from)
            .with_count("to", MANIFEST_FORMAT_VERSION)
            .with_count("resummarize", yes(plan.resummarize))
            .with_count("reindex", yes(!plan.hubs.is_empty()))
            .with_count("hubs", done.hubs)
            .with_count("files", done.files);
        Ok::<_, WorkspaceError>((done, report))
    })?;
    Ok(done.value)
}

/// Applies the steps: summaries, closets, then the marker.
fn apply_steps(
    workspace: &Workspace,
    plan: &UpgradePlan,
    now: Timestamp,
    who: &RunOwner,
) -> Result<UpgradeOutcome, WorkspaceError> {
    let mut done = UpgradeOutcome::default();
    if plan.resummarize {
        let summaries = resummarize::plan_summaries(workspace, false)?;
        resummarize::run_summaries(workspace, &summaries, now, who)?;
        done.summaries = summaries.count_changes();
        done.partial |= !summaries.lost.is_empty();
    }
    rebuild_closets(workspace, plan, now, who, &mut done)?;
    if let Some(manifest) = Manifest::load(workspace)? {
        let mut last = ChangeProposal::default();
        let edits = manifest.set_version().into_iter().collect();
        propose_edit(
            &mut last,
            &manifest::manifest_path(),
            manifest.text(),
            manifest.text_after_edits(edits),
        )?;
        last.apply(workspace, "Upgrade the workspace", now)?;
    }
    Ok(done)
}

/// Builds closets, and lists new archives.
fn rebuild_closets(
    workspace: &Workspace,
    plan: &UpgradePlan,
    now: Timestamp,
    who: &RunOwner,
    done: &mut UpgradeOutcome,
) -> Result<(), WorkspaceError> {
    let request = ClosetBuildRequest {
        hubs: plan.hubs.iter().collect(),
        force: false,
        dry_run: false,
        draw_graph: false,
    };
    let built = closets::build_closets_in_run(workspace, &request, who, now, |_| {})?;
    for (_, report) in built.hubs {
        let report = report?;
        done.hubs += 1;
        done.files += report.files;
        done.remarks.extend(report.remarks);
    }
    Ok(())
}

/// Returns the version of a `<!-- memex-closets:1.0 -->` marker.
fn closets_version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<!-- memex-closets:")?;
    let (version, _) = rest.split_once("-->")?;
    Some(version.trim().to_owned())
}
