//! How the checks of an installation report: what is wrong comes with a next
//! step, and `ok` is reported only by a check that found nothing else. It looks
//! at nothing itself.

use crate::finding::{CheckId, CheckOutcome, Finding, Severity};

/// What all checks have reported so far, in their order.
#[derive(Default)]
pub(super) struct Findings {
    outcomes: Vec<(CheckId, CheckOutcome)>,
}

impl Findings {
    pub(super) fn all(self) -> Vec<(CheckId, CheckOutcome)> {
        self.outcomes
    }

    pub(super) fn of(&mut self, check: CheckId) -> CheckReporter<'_> {
        CheckReporter {
            all: self,
            check,
            good: None,
        }
    }

    fn outcome(&mut self, check: CheckId) -> Option<&mut CheckOutcome> {
        let own = self.outcomes.iter_mut().find(|(it, _)| *it == check);
        own.map(|(_, outcome)| outcome)
    }
}

/// One check, while it runs.
pub(super) struct CheckReporter<'a> {
    all: &'a mut Findings,
    check: CheckId,
    good: Option<String>,
}

impl CheckReporter<'_> {
    pub(super) fn push(&mut self, finding: Finding) -> ReportedFinding<'_> {
        if !matches!(self.all.outcome(self.check), Some(CheckOutcome::Found(_))) {
            // What is wrong replaces a remark that nothing is.
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

    pub(super) fn warn(&mut self, message: impl Into<String>, next: &str) -> ReportedFinding<'_> {
        self.push(Finding::new(self.check, Severity::Warning, message).advice(next))
    }

    pub(super) fn problem(
        &mut self,
        message: impl Into<String>,
        next: &str,
    ) -> ReportedFinding<'_> {
        self.push(Finding::new(self.check, Severity::Error, message).advice(next))
    }

    /// Nothing to look at, which is fine and is reported as it is.
    pub(super) fn none(&mut self, message: &str) {
        self.settle(CheckOutcome::Passed(Some(message.to_owned())));
    }

    /// There was no way to look.
    pub(super) fn skip(&mut self, message: &str) {
        self.settle(CheckOutcome::Skipped(message.to_owned()));
    }

    fn settle(&mut self, outcome: CheckOutcome) {
        if self.all.outcome(self.check).is_none() {
            self.all.outcomes.push((self.check, outcome));
        }
    }

    /// Reports that all is well, if nothing else was reported.
    pub(super) fn ok(&mut self, message: impl FnOnce() -> String) {
        if self.all.outcome(self.check).is_none() {
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

/// Where to add the place of what was just reported.
pub(super) struct ReportedFinding<'a> {
    finding: &'a mut Finding,
}

impl ReportedFinding<'_> {
    pub(super) fn at(self, path: &str, line: Option<usize>) {
        *self.finding = self.finding.clone().at(path, line);
    }
}
