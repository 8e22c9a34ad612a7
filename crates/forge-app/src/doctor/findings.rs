//! Collects the outcomes of the checks of an installation: a finding comes with
//! a next step, and `ok` is reported only by a check without findings. It
//! checks nothing itself.

use crate::finding::{CheckId, CheckOutcome, Finding, Severity};

/// The outcomes of all checks so far, in their order.
#[derive(Default)]
pub(super) struct Findings {
    outcomes: Vec<(CheckId, CheckOutcome)>,
}

impl Findings {
    /// Returns all outcomes.
    pub(super) fn all(self) -> Vec<(CheckId, CheckOutcome)> {
        self.outcomes
    }

    /// Appends the outcomes of other checks.
    pub(super) fn append(&mut self, other: Findings) {
        self.outcomes.extend(other.outcomes);
    }

    /// Returns the reporter of a check.
    pub(super) fn of(&mut self, check: CheckId) -> CheckReporter<'_> {
        CheckReporter {
            all: self,
            check,
            good: None,
        }
    }

    /// Returns the outcome of a check so far, if any.
    fn outcome(&mut self, check: CheckId) -> Option<&mut CheckOutcome> {
        let own = self.outcomes.iter_mut().find(|(it, _)| *it == check);
        own.map(|(_, outcome)| outcome)
    }
}

/// The reporter of one check, while it runs.
pub(super) struct CheckReporter<'a> {
    all: &'a mut Findings,
    check: CheckId,
    good: Option<String>,
}

impl CheckReporter<'_> {
    /// Adds a finding, and returns a handle that sets its place.
    pub(super) fn push(&mut self, finding: Finding) -> ReportedFinding<'_> {
        if !matches!(self.all.outcome(self.check), Some(CheckOutcome::Found(_))) {
            // A finding replaces an earlier outcome that claims nothing is
            // wrong.
            self.all.outcomes.retain(|(it, _)| *it != self.check);
            let found = CheckOutcome::Found(Vec::new());
            self.all.outcomes.push((self.check, found));
        }
        let Some(CheckOutcome::Found(findings)) = self.all.outcome(self.check) else {
            unreachable!("it was just made one of findings");
        };
        findings.push(finding);
        ReportedFinding {
            finding: findings.last_mut().expect("one was just added"),
        }
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, message: impl Into<String>, next: &str) -> ReportedFinding<'_> {
        self.push(Finding::new(self.check, Severity::Warning, message).advice(next))
    }

    /// Adds an error.
    pub(super) fn problem(
        &mut self,
        message: impl Into<String>,
        next: &str,
    ) -> ReportedFinding<'_> {
        self.push(Finding::new(self.check, Severity::Error, message).advice(next))
    }

    /// Reports that there is nothing to check, which is fine.
    pub(super) fn none(&mut self, message: &str) {
        self.settle(CheckOutcome::Passed(Some(message.to_owned())));
    }

    /// Reports that the check could not run.
    pub(super) fn skip(&mut self, message: &str) {
        self.settle(CheckOutcome::Skipped(message.to_owned()));
    }

    /// Sets the outcome, unless the check has one.
    fn settle(&mut self, outcome: CheckOutcome) {
        if self.all.outcome(self.check).is_none() {
            self.all.outcomes.push((self.check, outcome));
        }
    }

    /// Reports that all is well, unless the check has an outcome.
    pub(super) fn ok(&mut self, message: impl FnOnce() -> String) {
        if self.all.outcome(self.check).is_none() {
            self.none(&message());
        }
    }

    /// Remembers a message for [`CheckReporter::finish`], in case no finding
    /// follows.
    pub(super) fn ok_later(&mut self, message: String) {
        self.good = Some(message);
    }

    /// Reports the remembered message, unless the check has an outcome.
    pub(super) fn finish(&mut self) {
        if let Some(good) = self.good.take() {
            self.ok(|| good);
        }
    }
}

/// A handle that sets the place of the finding that was just added.
pub(super) struct ReportedFinding<'a> {
    finding: &'a mut Finding,
}

impl ReportedFinding<'_> {
    /// Sets the place.
    pub(super) fn at(self, path: &str, line: Option<usize>) {
        *self.finding = self.finding.clone().at(path, line);
    }
}
