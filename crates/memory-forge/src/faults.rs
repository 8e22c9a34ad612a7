//! Breaks on purpose, for tests of crashes: the k-th operation on a file fails,
//! or the process ends in front of it. It exists in builds with debug
//! assertions alone; a release has no such switch.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use forge_app::fault::{self, Op};

/// Fault of a test, given as `stop:7`, `fail:7`, `full:7`, `trace` or
/// `version:2`.
#[derive(Clone, Copy)]
enum Plan {
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
pub(crate) fn arm(plan: &str) {
    if let Some(version) = plan.strip_prefix("version:") {
        match version.parse() {
            Ok(version) => return forge_app::index::pretend_version(version),
            Err(_) => std::process::abort(),
        }
    }
    let Some(plan) = parse(plan) else {
        std::process::abort();
    };
    let steps = AtomicUsize::new(0);
    fault::watch(move |op, path, to| {
        step(plan, steps.fetch_add(1, Ordering::SeqCst), op, path, to)
    });
}

fn parse(plan: &str) -> Option<Plan> {
    if plan == "trace" {
        return Some(Plan::Trace);
    }
    let (kind, at) = plan.split_once(':')?;
    let at = at.parse().ok()?;
    match kind {
        "stop" => Some(Plan::Stop(at)),
        "fail" => Some(Plan::Fail(at)),
        "full" => Some(Plan::Full(at)),
        _ => None,
    }
}

fn step(plan: Plan, number: usize, op: Op, path: &Path, to: &Path) -> io::Result<()> {
    let grows = matches!(
        op,
        Op::CreateDir | Op::Create | Op::Write | Op::Sync | Op::Index
    );
    match plan {
        Plan::Stop(at) if number == at => std::process::abort(),
        Plan::Fail(at) if number == at => Err(io::Error::other("a disk that breaks on purpose")),
        Plan::Full(at) if number >= at && grows => Err(io::ErrorKind::StorageFull.into()),
        Plan::Trace => {
            let line = format!("step\t{op:?}\t{}\t{}\n", path.display(), to.display());
            io::stderr().write_all(line.as_bytes())
        }
        _ => Ok(()),
    }
}
