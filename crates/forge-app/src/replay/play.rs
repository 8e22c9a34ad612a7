//! Plays one session: asks before every action what a hook would bring, and
//! judges it by what the session did. It decides nothing about pushes itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::nearest::find_nearest;
use super::transcripts::{BYTES_OF_LARGE, PastSession};
use super::{EventTimeline, NeedTiming, ReplayPlace, ReplayedNeed, ReplayedPush};
use crate::tokens::estimate_tokens;
use forge_memory::evidence::{
    EvidenceEntry, EvidenceFact, EvidenceLimits, EvidenceLog, parse_command,
};
use forge_memory::push::{
    ActionSurroundings, KeyTable, PushItem, PushSubject, choose_item, refusal_forms,
};

/// What happened in one session.
pub(super) struct PlayedSession {
    pub(super) pushes: Vec<ReplayedPush>,
    pub(super) needs: Vec<ReplayedNeed>,
}

/// Pushes that were contradicted so often are silenced, as in the log of pushes.
const MAX_CONTRADICTED: usize = 3;

/// Plays a session with what others left. `contradicted` counts wrong items
/// over all sessions.
pub(super) fn play_session(
    number: usize,
    session: &PastSession,
    timeline: &EventTimeline<'_>,
    contradicted: &mut BTreeMap<String, usize>,
) -> PlayedSession {
    let entries = &session.entries;
    let mut known = KnownBefore::new(timeline.log.clone());
    let mut of_call: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        of_call.entry(&entry.id).or_default().push(at);
    }
    let mut shown: BTreeSet<(String, String)> = BTreeSet::new();
    let mut needed: BTreeSet<(&'static str, String)> = BTreeSet::new();
    let mut played = PlayedSession {
        pushes: Vec::new(),
        needs: Vec::new(),
    };
    let mut subjects = Vec::new();
    let mut past = 0;
    for action in &session.actions {
        known.refresh(timeline, number, action.turn);
        let before = &known.log;
        let places = of_call.get(action.id.as_str()).map_or(&[][..], |it| it);
        let facts: Vec<&EvidenceFact> = places.iter().map(|at| &entries[*at].fact).collect();
        past = places.first().copied().unwrap_or(past);
        let later = &entries[past..];
        let around = RecordedSurroundings {
            before,
            so_far: &entries[..past],
            facts: &facts,
            root_name: &session.root_name,
            shown: &shown,
            contradicted,
        };
        let choice = choose_item(&known.table, &action.action, &around);
        let place = ReplayPlace {
            session: number,
            step: action.step,
            line: action.line,
        };
        if let Some((key, what)) = find_need(&facts, before, later)
            && needed.insert((key, what.clone()))
        {
            played.needs.push(ReplayedNeed {
                place,
                key,
                nearest: find_nearest(&what, &before.entries),
                what,
                timing: NeedTiming::Missed,
                silences: choice.silences,
            });
        }
        if let Some(item) = choice.item
            && let Some(text) = item.render(&session.id, action.at)
        {
            shown.insert((item.item.clone(), item.version.clone()));
            let push = judge_push(&item, text, place, &facts, later);
            if push.is_contradicted {
                *contradicted.entry(item.item.clone()).or_default() += 1;
            }
            subjects.push(item.subject);
            played.pushes.push(push);
        }
    }
    time_needs(&mut played, &subjects);
    played
}

/// What other sessions had left at a moment of a session.
struct KnownBefore {
    log: EvidenceLog,
    table: KeyTable,
    /// Number of entries that others added since the session began.
    added: usize,
}

impl KnownBefore {
    fn new(log: EvidenceLog) -> KnownBefore {
        KnownBefore {
            table: KeyTable::build(&log, Vec::new()),
            log,
            added: 0,
        }
    }

    /// Adds what overlapping sessions did before this turn.
    fn refresh(&mut self, timeline: &EventTimeline<'_>, number: usize, turn: i64) {
        let others = timeline.added_by_others(number, turn);
        if others.len() > self.added {
            let new = others[self.added..].iter().map(|it| (*it).clone());
            self.log
                .add(new.collect(), turn, &EvidenceLimits::default());
            self.table = KeyTable::build(&self.log, Vec::new());
            self.added = others.len();
        }
    }
}

fn judge_push(
    item: &PushItem,
    text: String,
    place: ReplayPlace,
    facts: &[&EvidenceFact],
    later: &[EvidenceEntry],
) -> ReplayedPush {
    let is_warned_of = |fact: &EvidenceFact| item.subject.is_repeated_by(fact);
    let has_failed = facts.iter().any(|fact| is_warned_of(fact));
    let is_right = has_failed
        && match &item.subject {
            // What cannot be read in the text is of no use. The workspace itself
            // is named in words.
            PushSubject::Path { instead, .. } => {
                (instead == "." || text.contains(instead))
                    && later.iter().any(|it| uses(&it.fact, instead))
            }
            _ => true,
        };
    let saved = if is_right {
        later.iter().filter(|it| is_warned_of(&it.fact)).count()
    } else {
        0
    };
    let is_refusal = matches!(item.subject, PushSubject::Refused { .. });
    ReplayedPush {
        place,
        key: item.subject.key_name(),
        item: item.item.clone(),
        tokens: estimate_tokens(&text),
        text,
        is_right,
        is_contradicted: !is_right && facts.iter().any(|it| item.subject.is_refuted_by(it)),
        steps_saved: if is_refusal { 0 } else { saved },
        turns_saved: if is_refusal { saved } else { 0 },
    }
}

/// Compares needs with pushes: met by a right one at the same action, late
/// where one about the same thing comes later.
fn time_needs(played: &mut PlayedSession, subjects: &[PushSubject]) {
    for need in &mut played.needs {
        let mut pushes = played.pushes.iter().zip(subjects);
        let is_met = pushes
            .clone()
            .any(|(push, _)| push.is_right && push.place.step == need.place.step);
        let is_late = pushes.any(|(push, subject)| {
            push.place.step > need.place.step && is_about(subject, need.key, &need.what)
        });
        if is_met {
            need.timing = NeedTiming::InTime;
            need.nearest = None;
        } else if is_late {
            need.timing = NeedTiming::Late;
        }
    }
}

fn is_about(subject: &PushSubject, key: &str, what: &str) -> bool {
    subject.key_name() == key
        && match subject {
            PushSubject::Fault { fault } => fault.command_text() == what,
            PushSubject::Path { instead, .. } => instead == what,
            PushSubject::Large { path } | PushSubject::Removed { path } => path == what,
            PushSubject::Refused {
                program,
                subcommand,
            } => parse_command(what)
                .iter()
                .flat_map(refusal_forms)
                .any(|form| form == (program.clone(), subcommand.clone())),
            _ => false,
        }
}

fn works(fact: &EvidenceFact) -> bool {
    matches!(fact, EvidenceFact::Command(it) if it.worked)
        || matches!(
            fact,
            EvidenceFact::Read { .. } | EvidenceFact::Changed { .. }
        )
}

fn uses(fact: &EvidenceFact, path: &str) -> bool {
    match fact {
        EvidenceFact::Read { path: used } | EvidenceFact::Changed { path: used } => {
            used == path
                || used.starts_with(&format!("{path}/"))
                // The workspace itself.
                || path == "." && !used.starts_with('/')
        }
        EvidenceFact::Command(it) => it.worked && it.command.contains(path),
        _ => false,
    }
}

/// Returns what an action that failed would have needed from an earlier
/// session, if one had it.
fn find_need(
    facts: &[&EvidenceFact],
    before: &EvidenceLog,
    later: &[EvidenceEntry],
) -> Option<(&'static str, String)> {
    let had =
        |is_it: &dyn Fn(&EvidenceFact) -> bool| before.entries.iter().any(|it| is_it(&it.fact));
    facts.iter().find_map(|fact| match fact {
        EvidenceFact::Command(it) => {
            if it.worked {
                return None;
            }
            let faults = before.entries.iter().filter_map(|it| match &it.fact {
                EvidenceFact::Command(it) => it.fault.clone(),
                _ => None,
            });
            let mut known = faults.filter(|fault| {
                let fault = fault.clone();
                PushSubject::Fault { fault }.is_repeated_by(fact)
            });
            known
                .next()
                .map(|fault| ("failed before", fault.command_text()))
        }
        EvidenceFact::Missing { path } => {
            let name = path.rsplit('/').next()?;
            let found = before.entries.iter().find_map(|it| match &it.fact {
                EvidenceFact::Read { path: known } | EvidenceFact::Changed { path: known } => {
                    let is_it = known != path && known.rsplit('/').next() == Some(name);
                    (is_it && later.iter().any(|it| uses(&it.fact, known))).then_some(known)
                }
                _ => None,
            })?;
            Some(("path elsewhere", found.clone()))
        }
        EvidenceFact::TooLarge { path: large, .. } => {
            let known =
                had(&|it| matches!(it, EvidenceFact::TooLarge { path, .. } if path == large));
            known.then(|| ("file too large", large.clone()))
        }
        EvidenceFact::Refused { command, .. } => {
            let forms: Vec<_> = parse_command(command)
                .iter()
                .flat_map(refusal_forms)
                .collect();
            let known = had(&|it| match it {
                EvidenceFact::Refused { command, .. } => parse_command(command)
                    .iter()
                    .flat_map(refusal_forms)
                    .any(|it| forms.contains(&it)),
                _ => false,
            });
            known.then(|| ("refused before", command.clone()))
        }
        _ => None,
    })
}

/// The surroundings of an action as far as the transcript shows them.
struct RecordedSurroundings<'a> {
    before: &'a EvidenceLog,
    so_far: &'a [EvidenceEntry],
    facts: &'a [&'a EvidenceFact],
    root_name: &'a str,
    shown: &'a BTreeSet<(String, String)>,
    contradicted: &'a BTreeMap<String, usize>,
}

impl RecordedSurroundings<'_> {
    /// Returns what was known last about paths.
    fn known_facts(&self) -> impl Iterator<Item = &EvidenceFact> {
        self.so_far
            .iter()
            .rev()
            .chain(self.before.entries.iter().rev())
            .map(|it| &it.fact)
    }
}

impl ActionSurroundings for RecordedSurroundings<'_> {
    fn exists(&self, path: &str) -> bool {
        let is_missing =
            |fact: &&EvidenceFact| matches!(fact, EvidenceFact::Missing { path: it } if it == path);
        if self.facts.iter().any(&is_missing) {
            return false;
        }
        let last = self.known_facts().find(|fact| fact.path() == Some(path));
        !last.is_some_and(|fact| is_missing(&fact)) || self.facts.iter().any(|it| works(it))
    }

    fn bytes(&self, path: &str) -> Option<u64> {
        let is_large = |fact: &&EvidenceFact| matches!(fact, EvidenceFact::TooLarge { path: it, .. } if it == path);
        self.facts.iter().any(is_large).then_some(BYTES_OF_LARGE)
    }

    fn has_program(&self, _: &str) -> bool {
        false
    }

    fn paths_named(&self, name: &str) -> Vec<String> {
        let here = self.so_far.iter().filter_map(|entry| match &entry.fact {
            EvidenceFact::Read { path } | EvidenceFact::Changed { path } => Some(path),
            _ => None,
        });
        here.filter(|path| path.split('/').any(|part| part == name))
            .cloned()
            .collect()
    }

    fn names_in(&self, path: &str, folders: bool) -> Vec<String> {
        if path.starts_with('/') {
            return Vec::new();
        }
        let start = match path {
            "." => String::new(),
            path => format!("{path}/"),
        };
        let used = self.known_facts().filter_map(|fact| match fact {
            EvidenceFact::Read { path } | EvidenceFact::Changed { path } => {
                path.strip_prefix(&start)
            }
            _ => None,
        });
        let used = used.filter(|it| !it.starts_with('/') && it.contains('/') == folders);
        let names: BTreeSet<&str> = used.filter_map(|it| it.split('/').next()).collect();
        // What was removed since is not there any more.
        let is_there = |name: &&str| self.exists(&format!("{start}{name}"));
        let there = names.into_iter().filter(is_there);
        there.map(str::to_owned).collect()
    }

    fn root_name(&self) -> &str {
        self.root_name
    }

    fn newer_entries(&self) -> &[EvidenceEntry] {
        self.so_far
    }

    fn document_line(&self, _: &str, _: usize) -> Option<String> {
        None
    }

    fn is_spent(&self, item: &str, version: &str) -> Option<&'static str> {
        let failed = self.contradicted.get(item).copied().unwrap_or(0);
        if failed >= MAX_CONTRADICTED {
            return Some("silenced");
        }
        let key = (item.to_owned(), version.to_owned());
        self.shown
            .contains(&key)
            .then_some("shown in this session already")
    }

    fn max_whole_read(&self) -> Option<u64> {
        None
    }
}
