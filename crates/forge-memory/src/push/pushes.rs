//! The log of what was brought: event, item, key, and what followed. It decides
//! what is not brought again. Nothing in it is a fact about the work.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::keys::refusal_forms;
use crate::evidence::{CommandFault, EvidenceEntry, EvidenceFact, SimpleCommand, parse_command};

/// The log, below the folder that git ignores by its rules.
pub const PUSHES_FILE: &str = ".mind/.pushes";

/// Times after which an item that was ignored or contradicted is silenced.
const MAX_FAILED_PUSHES: usize = 3;
/// Seconds in which what followed may still be seen. A session that ended
/// without an event shows nothing any more.
const MAX_OPEN_SECONDS: i64 = 24 * 60 * 60;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushRecord {
    /// Time of the push, in seconds since 1970.
    pub at: i64,
    /// Hash of the client's session id.
    pub session: String,
    /// The event of the client.
    pub event: String,
    /// The call that it was brought to.
    pub call: String,
    /// Identifies the item, whatever its words are now.
    pub item: String,
    /// Changes with what the item states.
    pub version: String,
    /// What the item is about, by which its outcome is judged.
    pub subject: PushSubject,
    /// The line shown to the agent.
    pub text: String,
    /// Estimated number of tokens in `text`.
    pub tokens: usize,
}

/// What an item is about, as far as its outcome can be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "kebab-case")]
pub enum PushSubject {
    /// A command that has failed before and never worked.
    Fault {
        /// The program and the part that it did not accept.
        fault: CommandFault,
    },
    /// A missing path whose name exists elsewhere.
    Path {
        /// The path that does not exist.
        missing: String,
        /// The existing path that the item names.
        instead: String,
    },
    /// A missing path that a command removed.
    Removed {
        /// The path that does not exist.
        path: String,
    },
    /// A file that the client does not read whole.
    Large {
        /// The file.
        path: String,
    },
    /// A command that the user refused repeatedly.
    Refused {
        /// The name of the program, without folders.
        program: String,
        /// The words that name what the program does; empty if there are none,
        /// `*` for all that it does.
        subcommand: String,
    },
    /// A document that applies to the action.
    Rule {
        /// The document, relative to the workspace.
        path: String,
    },
    /// An error that a command solved before.
    Solved {
        /// The command that solved it.
        instead: String,
    },
    /// A corrected fact that a prompt repeats.
    Correction,
    /// A document that answers the question of a prompt.
    Answer {
        /// The document, relative to the workspace.
        path: String,
    },
}

impl PushSubject {
    /// Returns the name of the key that opened the gate.
    pub fn key_name(&self) -> &'static str {
        match self {
            PushSubject::Fault { .. } => "failed before",
            PushSubject::Path { .. } => "path elsewhere",
            PushSubject::Removed { .. } => "path removed",
            PushSubject::Large { .. } => "file too large",
            PushSubject::Refused { .. } => "refused before",
            PushSubject::Rule { .. } => "rule about it",
            PushSubject::Solved { .. } => "solved before",
            PushSubject::Correction => "corrected fact",
            PushSubject::Answer { .. } => "answer to a question",
        }
    }

    /// Returns `true` if calls can show what followed: whether a rule was kept
    /// is not in them.
    fn has_visible_outcome(&self) -> bool {
        matches!(
            self,
            PushSubject::Fault { .. }
                | PushSubject::Path { .. }
                | PushSubject::Large { .. }
                | PushSubject::Refused { .. }
                | PushSubject::Removed { .. }
                | PushSubject::Answer { .. }
        )
    }

    /// Returns `true` for the failure that the item warns of; never for an item
    /// whose outcome cannot be seen.
    pub fn is_repeated_by(&self, fact: &EvidenceFact) -> bool {
        match (self, fact) {
            (PushSubject::Fault { fault }, EvidenceFact::Command(it)) => match &it.fault {
                Some(reported) => reported == fault,
                // It failed, and its complaint was thrown away.
                None if it.worked => false,
                None => parse_command(&it.command)
                    .iter()
                    .any(|it| it.hides_errors && fault.occurs_in(it)),
            },
            (
                PushSubject::Path { missing, .. } | PushSubject::Removed { path: missing },
                EvidenceFact::Missing { path },
            ) => path == missing,
            (PushSubject::Large { path: large }, EvidenceFact::TooLarge { path, .. }) => {
                large == path
            }
            (
                PushSubject::Refused {
                    program,
                    subcommand,
                },
                EvidenceFact::Refused { command, .. },
            ) => {
                let form = (program.clone(), subcommand.clone());
                let commands = parse_command(command);
                let mut forms = commands.iter().flat_map(refusal_forms);
                forms.any(|it| it == form)
            }
            _ => false,
        }
    }

    /// Returns `true` if the action of the item worked all the same.
    pub fn is_refuted_by(&self, fact: &EvidenceFact) -> bool {
        match (self, fact) {
            // Where its errors are thrown away, a command may fail unseen.
            (PushSubject::Fault { fault }, EvidenceFact::Command(it)) => {
                let commands = parse_command(&it.command);
                let hides = |it: &SimpleCommand| it.hides_errors && fault.occurs_in(it);
                it.worked && !commands.iter().any(hides)
            }
            (PushSubject::Refused { .. }, EvidenceFact::Command(_)) => true,
            (_, EvidenceFact::Command(it)) => it.worked,
            (_, EvidenceFact::Read { .. } | EvidenceFact::Changed { .. }) => true,
            _ => false,
        }
    }
}

/// What followed an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PushOutcome {
    /// What it warned of was not done again.
    Avoided,
    /// It was done again, and failed again.
    Ignored,
    /// The action worked: the item was wrong.
    Contradicted,
    /// The document that it points to was read.
    Used,
}

impl PushOutcome {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            PushOutcome::Avoided => "avoided",
            PushOutcome::Ignored => "ignored",
            PushOutcome::Contradicted => "contradicted",
            PushOutcome::Used => "used",
        }
    }
}

/// What is known about what followed an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushStanding {
    /// It was seen.
    Judged(PushOutcome),
    /// It may still be seen.
    Open,
    /// It was not seen, or calls of tools cannot show it.
    Unknown,
}

/// A later line of the log: what followed an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRecord {
    /// Hash of the client's session id.
    pub session: String,
    /// The call that the item was brought to.
    pub call: String,
    /// The item.
    pub item: String,
    /// What followed.
    pub outcome: PushOutcome,
}

/// The log, parsed.
#[derive(Debug, Clone, Default)]
pub struct PushLog {
    /// The pushes, in the order of the log.
    pub pushes: Vec<PushRecord>,
    outcomes: BTreeMap<(String, String, String), PushOutcome>,
}

impl PushLog {
    /// Parses the log; lines that cannot be read are left out.
    pub fn parse(text: &str) -> PushLog {
        let mut log = PushLog::default();
        for line in text.lines() {
            if let Ok(record) = serde_json::from_str::<PushRecord>(line) {
                log.pushes.push(record);
            } else if let Ok(record) = serde_json::from_str::<OutcomeRecord>(line) {
                let key = (record.session, record.call, record.item);
                log.outcomes.insert(key, record.outcome);
            }
        }
        log
    }

    /// Returns what followed a push, if it is known.
    pub fn outcome(&self, push: &PushRecord) -> Option<PushOutcome> {
        let key = (push.session.clone(), push.call.clone(), push.item.clone());
        self.outcomes.get(&key).copied()
    }

    /// Returns what is known about what followed a push. `now` is in seconds
    /// since 1970.
    pub fn standing(&self, push: &PushRecord, now: i64) -> PushStanding {
        let is_over = now.saturating_sub(push.at) > MAX_OPEN_SECONDS;
        match self.outcome(push) {
            Some(outcome) => PushStanding::Judged(outcome),
            None if is_over || !push.subject.has_visible_outcome() => PushStanding::Unknown,
            None => PushStanding::Open,
        }
    }

    /// Returns `true` if this session has the item already, in these words.
    pub fn was_shown(&self, session: &str, item: &str, version: &str) -> bool {
        let mut of_session = self.pushes.iter().filter(|it| it.session == session);
        of_session.any(|it| it.item == item && it.version == version)
    }

    /// Returns `true` if an item is not brought to this session: it has the item
    /// already, or the item failed too often.
    pub fn is_spent(&self, session: &str, item: &str, version: &str) -> bool {
        self.was_shown(session, item, version) || self.silenced_items().contains_key(item)
    }

    /// Returns items that were ignored or contradicted too often, with how
    /// often.
    pub fn silenced_items(&self) -> BTreeMap<String, usize> {
        let mut failed: BTreeMap<String, usize> = BTreeMap::new();
        for ((_, _, item), outcome) in &self.outcomes {
            if matches!(outcome, PushOutcome::Ignored | PushOutcome::Contradicted) {
                *failed.entry(item.clone()).or_default() += 1;
            }
        }
        failed.retain(|_, times| *times >= MAX_FAILED_PUSHES);
        failed
    }

    /// Judges the pushes of a session whose outcome is not known yet.
    pub fn judge_session(&self, session: &str, entries: &[EvidenceEntry]) -> Vec<OutcomeRecord> {
        self.judge_open(session, |push| judge_outcome(push, entries))
    }

    /// Judges the pushes of a helper that has ended, by all entries of it.
    /// `start` is the call under which items were logged that it got at its
    /// start.
    pub fn judge_helper(
        &self,
        session: &str,
        start: &str,
        entries: &[EvidenceEntry],
    ) -> Vec<OutcomeRecord> {
        self.judge_open(session, |push| {
            if push.call == start {
                judge_start(push, entries)
            } else {
                judge_outcome(push, entries)
            }
        })
    }

    /// Returns `true` if the outcome of a push of this session can be seen and
    /// was not.
    pub fn has_open(&self, session: &str) -> bool {
        let mut of_session = self.pushes.iter().filter(|it| it.session == session);
        of_session.any(|it| it.subject.has_visible_outcome() && self.outcome(it).is_none())
    }

    fn judge_open(
        &self,
        session: &str,
        judge: impl Fn(&PushRecord) -> Option<PushOutcome>,
    ) -> Vec<OutcomeRecord> {
        let open = self
            .pushes
            .iter()
            .filter(|it| it.session == session && self.outcome(it).is_none());
        let mut seen = BTreeSet::new();
        open.filter(|it| seen.insert((&it.call, &it.item)))
            .filter_map(|push| {
                Some(OutcomeRecord {
                    session: push.session.clone(),
                    call: push.call.clone(),
                    item: push.item.clone(),
                    outcome: judge(push)?,
                })
            })
            .collect()
    }
}

/// Judges what followed a push by the entries of its session, the oldest first;
/// `None` while it cannot be seen.
pub fn judge_outcome(push: &PushRecord, entries: &[EvidenceEntry]) -> Option<PushOutcome> {
    if let PushSubject::Answer { path } = &push.subject {
        return judge_pointer(push, path, entries);
    }
    if !push.subject.has_visible_outcome() {
        return None;
    }
    let mut entries = entries
        .iter()
        .filter(|it| it.session == push.session)
        .peekable();
    while entries.peek()?.id != push.call {
        entries.next();
    }
    let mut of_call = Vec::new();
    while let Some(entry) = entries.next_if(|it| it.id == push.call) {
        of_call.push(&entry.fact);
    }
    let later: Vec<&EvidenceFact> = entries.map(|it| &it.fact).collect();
    let subject = &push.subject;
    if !of_call.iter().any(|it| subject.is_repeated_by(it)) {
        let is_wrong = of_call.iter().any(|it| subject.is_refuted_by(it));
        return is_wrong.then_some(PushOutcome::Contradicted);
    }
    if later.iter().any(|it| subject.is_repeated_by(it)) {
        return Some(PushOutcome::Ignored);
    }
    (!later.is_empty()).then_some(PushOutcome::Avoided)
}

/// Number of facts after a pointer without a look at its document, from which
/// on it counts as ignored.
const PATIENCE: usize = 8;

/// Judges what followed a pointer to a document. A prompt is no call, so that
/// what comes later is known by its time.
fn judge_pointer(push: &PushRecord, path: &str, entries: &[EvidenceEntry]) -> Option<PushOutcome> {
    let later = entries
        .iter()
        .filter(|it| it.session == push.session && it.at >= push.at);
    let mut seen = 0;
    for entry in later {
        seen += 1;
        let is_used = match &entry.fact {
            EvidenceFact::Read { path: read, .. } | EvidenceFact::Changed { path: read, .. } => {
                read == path
            }
            EvidenceFact::Command(fact) => fact.worked && fact.command.contains(path),
            _ => false,
        };
        if is_used {
            return Some(PushOutcome::Used);
        }
    }
    (seen >= PATIENCE).then_some(PushOutcome::Ignored)
}

/// Judges an item that came before every call of its session, by all entries of
/// that session; `None` if there are none.
fn judge_start(push: &PushRecord, entries: &[EvidenceEntry]) -> Option<PushOutcome> {
    if !push.subject.has_visible_outcome() {
        return None;
    }
    let mut of_session = entries
        .iter()
        .filter(|it| it.session == push.session)
        .map(|it| &it.fact)
        .peekable();
    of_session.peek()?;
    let first = of_session.find_map(|fact| {
        if push.subject.is_repeated_by(fact) {
            Some(PushOutcome::Ignored)
        } else {
            works_after_all(&push.subject, fact).then_some(PushOutcome::Contradicted)
        }
    });
    Some(first.unwrap_or(PushOutcome::Avoided))
}

/// Returns `true` for the success of what an item calls a failure. A read of a
/// large file is none: the item names the way to read a part of it.
fn works_after_all(subject: &PushSubject, fact: &EvidenceFact) -> bool {
    match (subject, fact) {
        (PushSubject::Fault { fault }, EvidenceFact::Command(it)) => {
            let commands = parse_command(&it.command);
            let mut seen = commands.iter().filter(|it| !it.hides_errors);
            it.worked && seen.any(|it| fault.occurs_in(it))
        }
        (
            PushSubject::Path { missing, .. } | PushSubject::Removed { path: missing },
            EvidenceFact::Read { path, .. } | EvidenceFact::Changed { path, .. },
        ) => path == missing,
        (
            PushSubject::Refused {
                program,
                subcommand,
            },
            EvidenceFact::Command(it),
        ) => has_form(&it.command, program, subcommand),
        _ => false,
    }
}

fn has_form(command: &str, program: &str, subcommand: &str) -> bool {
    let commands = parse_command(command);
    let mut forms = commands.iter().flat_map(refusal_forms);
    forms.any(|(name, words)| name == program && words == subcommand)
}

#[cfg(test)]
mod tests {
    use super::super::keys::tests::log;
    use super::*;

    fn push(call: &str) -> PushRecord {
        PushRecord {
            at: 1,
            session: "s1".to_owned(),
            event: "PreToolUse".to_owned(),
            call: call.to_owned(),
            item: "fault cat -A".to_owned(),
            version: "1".to_owned(),
            subject: PushSubject::Fault {
                fault: crate::evidence::find_fault("cat -A x", "cat: illegal option -- A")
                    .expect("a fault")
                    .fault,
            },
            text: "text".to_owned(),
            tokens: 9,
        }
    }

    #[test]
    fn what_followed_is_seen_in_the_entries() {
        let fails = "s1 | Bash | cat -A x | Exit code 1 / cat: illegal option -- A\n";
        let works = "s1 | Bash | cat -A x | text\n";
        let other = "s1 | Bash | cat x | text\n";
        let check = |lines: String, expect| {
            assert_eq!(
                judge_outcome(&push("0"), &log(&lines).entries),
                expect,
                "{lines}"
            );
        };
        check(String::from(fails), None);
        check(format!("{fails}{other}"), Some(PushOutcome::Avoided));
        check(format!("{fails}{other}{fails}"), Some(PushOutcome::Ignored));
        check(works.to_owned(), Some(PushOutcome::Contradicted));
        // Without its complaint, it is the same failure, or nothing is known.
        let hidden = "s1 | Bash | cat -A x 2>/dev/null | Exit code 1\n";
        check(format!("{hidden}{other}"), Some(PushOutcome::Avoided));
        check("s1 | Bash | cat -A x 2>/dev/null | \n".to_owned(), None);
        check("s2 | Bash | ls | x".to_owned(), None);
    }

    #[test]
    fn a_pointer_was_used_if_its_document_was_read_afterwards() {
        let pointer = PushRecord {
            subject: PushSubject::Answer {
                path: "docs/a.md".to_owned(),
            },
            ..push("prompt")
        };
        let check = |lines: String, expect| {
            assert_eq!(
                judge_outcome(&pointer, &log(&lines).entries),
                expect,
                "{lines}"
            );
        };
        let other = "s1 | Read | docs/b.md | x\n";
        check(String::new(), None);
        check(other.to_owned(), None);
        check(
            format!("{other}s1 | Read | docs/a.md | x"),
            Some(PushOutcome::Used),
        );
        check(
            "s1 | Bash | head docs/a.md | x".to_owned(),
            Some(PushOutcome::Used),
        );
        check("s2 | Read | docs/a.md | x".to_owned(), None);
        let many: String = (0..9)
            .map(|at| format!("s1 | Read | docs/{at}.md | x\n"))
            .collect();
        check(many, Some(PushOutcome::Ignored));
    }

    #[test]
    fn what_a_helper_did_with_an_item_of_its_start_is_seen_in_all_its_calls() {
        let mut of_start = push("helper");
        of_start.event = "SubagentStart".to_owned();
        let log_of = |push: &PushRecord| {
            PushLog::parse(&(serde_json::to_string(push).expect("JSON") + "\n"))
        };
        let check = |push: &PushRecord, lines: &str, expect: Option<PushOutcome>| {
            let found = log_of(push).judge_helper("s1", "helper", &log(lines).entries);
            let outcome = found.first().map(|it| it.outcome);
            assert_eq!(outcome, expect, "{lines}");
        };
        let fails = "s1 | Bash | cat -A x | Exit code 1 / cat: illegal option -- A\n";
        let works = "s1 | Bash | cat -A x | text\n";
        let other = "s1 | Bash | cat x | text\n";
        check(&of_start, "", None);
        check(&of_start, "s2 | Bash | cat x | text", None);
        check(&of_start, other, Some(PushOutcome::Avoided));
        // It had the item before its first call.
        check(&of_start, fails, Some(PushOutcome::Ignored));
        check(
            &of_start,
            &format!("{other}{works}"),
            Some(PushOutcome::Contradicted),
        );
        check(
            &of_start,
            &format!("{fails}{works}"),
            Some(PushOutcome::Ignored),
        );
        // An item that came to one of its calls is judged by that call.
        check(
            &push("0"),
            &format!("{fails}{other}"),
            Some(PushOutcome::Avoided),
        );
        let mut refused = of_start.clone();
        refused.subject = PushSubject::Refused {
            program: "git".to_owned(),
            subcommand: "push".to_owned(),
        };
        check(
            &refused,
            "s1 | Bash | git push origin | done",
            Some(PushOutcome::Contradicted),
        );
        let mut path = of_start;
        path.subject = PushSubject::Path {
            missing: "src/a.go".to_owned(),
            instead: "pkg/a.go".to_owned(),
        };
        check(
            &path,
            "s1 | Read | src/a.go | package a",
            Some(PushOutcome::Contradicted),
        );
        check(
            &path,
            "s1 | Read | pkg/a.go | package a",
            Some(PushOutcome::Avoided),
        );
    }

    #[test]
    fn what_was_not_seen_is_open_for_a_day_and_then_unknown() {
        let mut record = push("0");
        record.at = 1_000;
        let standing = |record: &PushRecord, lines: &str, now: i64| {
            let text = serde_json::to_string(record).expect("JSON") + "\n" + lines;
            let log = PushLog::parse(&text);
            log.standing(&log.pushes[0], now)
        };
        assert_eq!(standing(&record, "", 1_001), PushStanding::Open);
        assert_eq!(standing(&record, "", 87_400), PushStanding::Open);
        assert_eq!(standing(&record, "", 87_401), PushStanding::Unknown);
        // A clock that went back changes nothing.
        assert_eq!(standing(&record, "", i64::MIN), PushStanding::Open);
        let outcome = OutcomeRecord {
            session: "s1".to_owned(),
            call: "0".to_owned(),
            item: "fault cat -A".to_owned(),
            outcome: PushOutcome::Avoided,
        };
        let line = serde_json::to_string(&outcome).expect("JSON");
        assert_eq!(
            standing(&record, &line, 87_401),
            PushStanding::Judged(PushOutcome::Avoided)
        );
        // No call shows whether a rule was kept.
        record.subject = PushSubject::Rule {
            path: "knowledge/a.md".to_owned(),
        };
        assert_eq!(standing(&record, "", 1_001), PushStanding::Unknown);
    }

    #[test]
    fn items_that_fail_three_times_are_silenced() {
        let mut text = serde_json::to_string(&push("0")).expect("JSON") + "\n{torn\n";
        for at in 0..3 {
            assert!(PushLog::parse(&text).silenced_items().is_empty());
            let outcome = OutcomeRecord {
                session: "s1".to_owned(),
                call: format!("{at}"),
                item: "fault cat -A".to_owned(),
                outcome: PushOutcome::Ignored,
            };
            text += &(serde_json::to_string(&outcome).expect("JSON") + "\n");
        }
        let log = PushLog::parse(&text);
        assert_eq!(log.silenced_items().get("fault cat -A"), Some(&3));
        assert_eq!(log.outcome(&log.pushes[0]), Some(PushOutcome::Ignored));
        assert!(log.was_shown("s1", "fault cat -A", "1"));
        assert!(!log.was_shown("s1", "fault cat -A", "2"));
    }
}
