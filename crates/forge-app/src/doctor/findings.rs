//! Collects the outcomes of the checks of an installation: a finding comes with
//! a next step, and `ok` is reported only by a check without findings. It
//! checks nothing itself.

use crate::finding::{CheckFinding, CheckId, CheckOutcome, CheckSeverity};

/// The outcomes of all checks so far, in their order.
#[derive(Default)]
pub(super) struct OutcomeCollector {
    outcomes: Vec<(CheckId, CheckOutcome)>,
}

impl OutcomeCollector {
    /// Returns all outcomes.
    pub(super) fn into_outcomes(self) -> Vec<(CheckId, CheckOutcome)> {
        self.outcomes
    }

    /// Appends the outcomes of other checks.
    pub(super) fn append(&mut self, other: OutcomeCollector) {
        self.outcomes.extend(other.outcomes);
    }

    /// Returns the reporter of a check.
    pub(super) fn reporter_for(&mut self, check: CheckId) -> CheckReporter<'_> {
        CheckReporter {
            all: self,
            check,
            good: None,
        }
    }

    /// Returns the outcome of a check so far, if any.
    fn find_outcome(&mut self, check: CheckId) -> Option<&mut CheckOutcome> {
        let own = self.outcomes.iter_mut().find(|(it, _)| *it == check);
        own.map(|(_, outcome)| outcome)
    }
}

/// The reporter of one check, while it runs.
pub(super) struct CheckReporter<'a> {
    all: &'a mut OutcomeCollector,
    check: CheckId,
    good: Option<String>,
}

impl CheckReporter<'_> {
    /// Adds a finding, and returns a handle that sets its place.
    pub(super) fn add_finding(&mut self, finding: CheckFinding) -> FindingHandle<'_> {
        if !matches!(
            self.all.find_outcome(self.check),
            Some(CheckOutcome::Found(_))
        ) {
            // A finding replaces an earlier outcome that claims nothing is
            // wrong.
            self.all.outcomes.retain(|(it, _)| *it != self.check);
            let found = CheckOutcome::Found(Vec::new());
            self.all.outcomes.push((self.check, found));
        }
        let Some(CheckOutcome::Found(findings)) = self.all.find_outcome(self.check) else {
            unreachable!("it was just made one of findings");
        };
        findings.push(finding);
        FindingHandle {
            finding: findings.last_mut().expect("one was just added"),
        }
    }

    /// Adds a warning.
    pub(super) fn add_warning(
        &mut self,
        message: impl Into<String>,
        next: &str,
    ) -> FindingHandle<'_> {
        self.add_finding(
            CheckFinding::new(self.check, CheckSeverity::Warning, message).with_advice(next),
        )
    }

    /// Adds an error.
    pub(super) fn add_problem(
        &mut self,
        message: impl Into<String>,
        next: &str,
    ) -> FindingHandle<'_> {
        self.add_finding(
            CheckFinding::new(self.check, CheckSeverity::Error, message).with_advice(next),
        )
    }

    /// Reports that there is nothing to check, which is fine.
    pub(super) fn add_passed(&mut self, message: &str) {
        self.set_outcome(CheckOutcome::Passed(Some(message.to_owned())));
    }

    /// Reports that the check could not run.
    pub(super) fn add_skipped(&mut self, message: &str) {
        self.set_outcome(CheckOutcome::Skipped(message.to_owned()));
    }

    /// Sets the outcome, unless the check has one.
    fn set_outcome(&mut self, outcome: CheckOutcome) {
        if self.all.find_outcome(self.check).is_none() {
            self.all.outcomes.push((self.check, outcome));
        }
    }

    /// Reports that all is well, unless the check has an outcome.
    pub(super) fn pass_if_clean(&mut self, message: impl FnOnce() -> String) {
        if self.all.find_outcome(self.check).is_none() {
            self.add_passed(&message());
        }
    }

    /// Remembers a message for [`CheckReporter::finish`], in case no finding
    /// follows.
    pub(super) fn pass_later(&mut self, message: String) {
        self.good = Some(message);
    }

    /// Reports the remembered message, unless the check has an outcome.
    pub(super) fn finish(&mut self) {
        if let Some(good) = self.good.take() {
            self.pass_if_clean(|| good);
        }
    }
}

/// A handle that sets the place of the finding that was just added.
pub(super) struct FindingHandle<'a> {
    finding: &'a mut CheckFinding,
}

impl FindingHandle<'_> {
    /// Sets the place.
    pub(super) fn set_place(self, path: &str, line: Option<usize>) {
        *self.finding = self.finding.clone().with_place(path, line);
    }
}
