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
        }
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
}

impl PushOutcome {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            PushOutcome::Avoided => "avoided",
            PushOutcome::Ignored => "ignored",
            PushOutcome::Contradicted => "contradicted",
        }
    }
}

/// A later line of the log: what followed an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRecord {
    pub session: String,
    pub call: String,
    pub item: String,
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

    /// Returns `true` if this session has the item already, in these words.
    pub fn was_shown(&self, session: &str, item: &str, version: &str) -> bool {
        let mut of_session = self.pushes.iter().filter(|it| it.session == session);
        of_session.any(|it| it.item == item && it.version == version)
    }

    /// Returns items that were ignored or contradicted too often, with how
    /// often.
    pub fn silenced_items(&self) -> BTreeMap<String, usize> {
        let mut failed: BTreeMap<String, usize> = BTreeMap::new();
        for ((_, _, item), outcome) in &self.outcomes {
            if *outcome != PushOutcome::Avoided {
                *failed.entry(item.clone()).or_default() += 1;
            }
        }
        failed.retain(|_, times| *times >= MAX_FAILED_PUSHES);
        failed
    }

    /// Judges the pushes of a session whose outcome is not known yet.
    pub fn judge_session(&self, session: &str, entries: &[EvidenceEntry]) -> Vec<OutcomeRecord> {
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
                    outcome: judge_outcome(push, entries)?,
                })
            })
            .collect()
    }
}

/// Judges what followed a push by the entries of its session, the oldest first;
/// `None` while it cannot be seen.
pub fn judge_outcome(push: &PushRecord, entries: &[EvidenceEntry]) -> Option<PushOutcome> {
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
    if matches!(
        subject,
        PushSubject::Rule { .. } | PushSubject::Solved { .. } | PushSubject::Correction
    ) {
        return None;
    }
    if !of_call.iter().any(|it| subject.is_repeated_by(it)) {
        let is_wrong = of_call.iter().any(|it| subject.is_refuted_by(it));
        return is_wrong.then_some(PushOutcome::Contradicted);
    }
    if later.iter().any(|it| subject.is_repeated_by(it)) {
        return Some(PushOutcome::Ignored);
    }
    (!later.is_empty()).then_some(PushOutcome::Avoided)
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
