//! How checks speak: what is wrong comes with a next step, and `ok` is said
//! only by a check that has said nothing else. It looks at nothing itself.

use std::collections::HashSet;

use super::{Finding, Level};

/// What all checks have said so far.
#[derive(Default)]
pub(super) struct Findings {
    findings: Vec<Finding>,
    /// Checks that have said something that is not `ok`, or that they did not
    /// look.
    spoken: HashSet<&'static str>,
}

impl Findings {
    pub(super) fn all(self) -> Vec<Finding> {
        self.findings
    }

    /// Adds what other checks said, behind what was said so far.
    pub(super) fn append(&mut self, other: Findings) {
        self.findings.extend(other.findings);
        self.spoken.extend(other.spoken);
    }

    pub(super) fn of(&mut self, check: &'static str) -> Check<'_> {
        debug_assert!(super::CHECKS.iter().any(|(name, _)| *name == check));
        Check {
            all: self,
            check,
            good: None,
        }
    }
}

/// One check, while it runs.
pub(super) struct Check<'a> {
    all: &'a mut Findings,
    check: &'static str,
    good: Option<String>,
}

impl Check<'_> {
    pub(super) fn push(&mut self, finding: Finding) -> Place<'_> {
        self.all.spoken.insert(self.check);
        self.all.findings.push(finding);
        Place {
            finding: self.all.findings.last_mut().expect("one was just added"),
        }
    }

    fn say(&mut self, level: Level, message: String, next: &str) -> Place<'_> {
        self.push(Finding {
            check: self.check,
            level,
            message,
            path: None,
            line: None,
            next: Some(next.to_owned()),
        })
    }

    pub(super) fn warn(&mut self, message: impl Into<String>, next: &str) -> Place<'_> {
        self.say(Level::Warning, message.into(), next)
    }

    pub(super) fn problem(&mut self, message: impl Into<String>, next: &str) -> Place<'_> {
        self.say(Level::Problem, message.into(), next)
    }

    /// Nothing to look at, which is fine and is said as it is.
    pub(super) fn none(&mut self, message: &str) {
        self.plain(Level::Ok, message);
    }

    /// There was no way to look.
    pub(super) fn skip(&mut self, message: &str) {
        self.plain(Level::Skipped, message);
    }

    fn plain(&mut self, level: Level, message: &str) {
        self.push(Finding {
            check: self.check,
            level,
            message: message.to_owned(),
            path: None,
            line: None,
            next: None,
        });
    }

    /// Says that all is well, if nothing else was said.
    pub(super) fn ok(&mut self, message: impl FnOnce() -> String) {
        if !self.all.spoken.contains(self.check) {
            self.none(&message());
        }
    }

    pub(super) fn ok_later(&mut self, message: String) {
        self.good = Some(message);
    }

    pub(super) fn finish(&mut self) {
        if let Some(good) = self.good.take() {
            self.ok(|| good);
        }
    }
}

/// Where to add the place of what was just said.
pub(super) struct Place<'a> {
    finding: &'a mut Finding,
}

impl Place<'_> {
    pub(super) fn at(self, path: &str, line: Option<usize>) {
        self.finding.path = Some(path.to_owned());
        self.finding.line = line;
    }
}
