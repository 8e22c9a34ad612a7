//! Breaks on purpose, for tests of crashes: the k-th operation on a file fails,
//! or the process ends in front of it. It exists in builds with debug
//! assertions alone; a release has no such switch.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use forge_app::fault::{self, DiskOperation};

/// Fault of a test, given as `stop:7`, `fail:7`, `full:7`, `trace` or
/// `version:2`.
#[derive(Clone, Copy)]
enum FaultPlan {
    /// The process ends, as after SIGKILL.
    Stop(usize),
    /// This one operation fails.
    Fail(usize),
    /// From this operation on nothing can grow.
    Full(usize),
    /// Every operation is printed on standard error.
    Trace,
}

/// Follows a plan from here on. An invalid one ends the process, since a test
/// that relies on it would prove nothing.
pub(crate) fn arm_faults(plan: &str) {
    if let Some(version) = plan.strip_prefix("version:") {
        match version.parse() {
            Ok(version) => return forge_app::index::pretend_version(version),
            Err(_) => std::process::abort(),
        }
    }
    let Some(plan) = parse_plan(plan) else {
        std::process::abort();
    };
    let steps = AtomicUsize::new(0);
    fault::set_watcher(move |op, path, to| {
        run_step(plan, steps.fetch_add(1, Ordering::SeqCst), op, path, to)
    });
}

fn parse_plan(plan: &str) -> Option<FaultPlan> {
    if plan == "trace" {
        return Some(FaultPlan::Trace);
    }
    let (kind, at) = plan.split_once(':')?;
    let at = at.parse().ok()?;
    match kind {
        "stop" => Some(FaultPlan::Stop(at)),
        "fail" => Some(FaultPlan::Fail(at)),
        "full" => Some(FaultPlan::Full(at)),
        _ => None,
    }
}

fn run_step(
    plan: FaultPlan,
    number: usize,
    op: DiskOperation,
    path: &Path,
    to: &Path,
) -> io::Result<()> {
    let grows = matches!(
        op,
        DiskOperation::CreateDir
            | DiskOperation::Create
            | DiskOperation::Write
            | DiskOperation::Sync
            | DiskOperation::Index
    );
    match plan {
        FaultPlan::Stop(at) if number == at => std::process::abort(),
        FaultPlan::Fail(at) if number == at => {
            Err(io::Error::other("a disk that breaks on purpose"))
        }
        FaultPlan::Full(at) if number >= at && grows => Err(io::ErrorKind::StorageFull.into()),
        FaultPlan::Trace => {
            let line = format!("step\t{op:?}\t{}\t{}\n", path.display(), to.display());
            io::stderr().write_all(line.as_bytes())
        }
        _ => Ok(()),
    }
}
