//! Plays past sessions as if hooks had been there: would what they bring have
//! been right? Each session gets the keys that earlier sessions left, decided
//! by the function that the hook calls. It needs no model, writes nothing, and
//! the same transcripts give the same report.
//!
//! A transcript has no files, so a path counts as missing, and a file as too
//! large, where the call itself reports that.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::evidence::{SessionStep, StepKind, parse_steps, to_entries};
use crate::tokens::estimate_tokens;
use forge_memory::evidence::{
    EvidenceEntry, EvidenceFact, EvidenceLimits, EvidenceLog, WorkPlace, parse_command,
};
use forge_memory::push::{ActionSurroundings, KeyTable, PushSubject, choose_item, command_form};
use forge_store::regular::{self, LinkPolicy};

/// Bytes of the longest transcript that is replayed.
const MAX_TRANSCRIPT_BYTES: u64 = 256 << 20;
/// Pushes below which no percentage is given.
pub const MIN_PUSHES_FOR_SHARES: usize = 30;

/// Which sessions are counted. The others still leave their evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReplayPart {
    /// Every session.
    #[default]
    All,
    /// The earlier half, by time.
    First,
    /// The later half.
    Second,
}

/// Counts of a kind of key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Number of items that were brought.
    pub pushes: usize,
    /// The action did what the item warned of, and the item has what helps.
    pub right: usize,
    /// The action worked all the same.
    pub contradicted: usize,
    /// Actions that failed by something that an earlier session had.
    pub needs: usize,
    /// Needs to which a right item was brought.
    pub met: usize,
}

/// An item that was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedPush {
    /// Number of the session, in the order of time.
    pub session: usize,
    /// Number of the step in it.
    pub step: usize,
    /// The name of the key that opened the gate.
    pub key: &'static str,
    /// Identifies the item by its kind and what it is about.
    pub item: String,
    /// The line that the hook would show.
    pub text: String,
    /// Whether the action did what the item warns of, and the item was of use.
    pub is_right: bool,
}

/// What a replay found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Number of transcripts that were read.
    pub files: usize,
    /// Number of these files that repeat the session of another one.
    pub copies: usize,
    /// Number of sessions that are counted.
    pub sessions: usize,
    /// Number of prompts and calls in these sessions.
    pub moments: usize,
    /// Estimated number of tokens in all texts that were brought.
    pub tokens: usize,
    /// The counts of each kind of key, by its name.
    pub by_key: BTreeMap<&'static str, ReplayCounts>,
    /// The items that were brought, in the order of time.
    pub pushes: Vec<ReplayedPush>,
    /// Needs that nothing was brought to: session, step and what they need.
    pub missed: Vec<(usize, usize, String)>,
}

impl ReplayReport {
    /// Returns the counts of all keys together.
    pub fn total(&self) -> ReplayCounts {
        let mut total = ReplayCounts::default();
        for counts in self.by_key.values() {
            total.pushes += counts.pushes;
            total.right += counts.right;
            total.contradicted += counts.contradicted;
            total.needs += counts.needs;
            total.met += counts.met;
        }
        total
    }

    /// Returns how many different items were brought, and how many of them were
    /// right each time.
    pub fn different_items(&self) -> (usize, usize) {
        let mut items: BTreeMap<&str, bool> = BTreeMap::new();
        for push in &self.pushes {
            let right = items.entry(&push.item).or_insert(true);
            *right &= push.is_right;
        }
        (items.len(), items.values().filter(|right| **right).count())
    }
}

/// Returns the interval of a share that 95 % of samples of this size have, in
/// thousandths, by Wilson's formula.
pub fn share_interval(part: usize, all: usize) -> (usize, usize) {
    if all == 0 {
        return (0, 1000);
    }
    const Z: f64 = 1.96;
    let (n, share) = (all as f64, part as f64 / all as f64);
    let middle = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let of = |value: f64| {
        (value / (1.0 + Z * Z / n) * 1000.0)
            .round()
            .clamp(0.0, 1000.0) as usize
    };
    (of(middle - spread), of(middle + spread))
}

/// A session of a transcript.
struct PastSession {
    id: String,
    started: i64,
    steps: Vec<SessionStep>,
}

/// Replays transcripts.
pub fn replay_transcripts(paths: &[PathBuf], part: ReplayPart) -> ReplayReport {
    let mut report = ReplayReport::default();
    let mut by_id: HashMap<String, PastSession> = HashMap::new();
    for path in paths {
        let Some(session) = read_session(path) else {
            continue;
        };
        report.files += 1;
        match by_id.entry(session.id.clone()) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(session);
            }
            std::collections::hash_map::Entry::Occupied(mut place) => {
                report.copies += 1;
                // The longest copy has what the others have.
                if session.steps.len() > place.get().steps.len() {
                    place.insert(session);
                }
            }
        }
    }
    let mut sessions: Vec<PastSession> = by_id.into_values().collect();
    sessions.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    let middle = sessions.len() / 2;
    let mut log = EvidenceLog::default();
    let mut failed: BTreeMap<String, usize> = BTreeMap::new();
    for (number, session) in sessions.iter().enumerate() {
        let is_counted = match part {
            ReplayPart::All => true,
            ReplayPart::First => number < middle,
            ReplayPart::Second => number >= middle,
        };
        let mut before = log.clone();
        // A session that overlaps this one knows nothing of it yet.
        before.entries.retain(|entry| entry.at < session.started);
        let played = play_session(number, session, &before, &mut failed);
        let entries = played.entries.clone();
        if is_counted {
            report.sessions += 1;
            report.moments += session
                .steps
                .iter()
                .filter(|it| !matches!(it.kind, StepKind::Result { .. }))
                .count();
            played.add_to(&mut report);
        }
        let now = entries.last().map_or(session.started, |entry| entry.at);
        log.add(entries, now, &EvidenceLimits::default());
    }
    report
}

fn read_session(path: &Path) -> Option<PastSession> {
    let text = regular::read_text(path, LinkPolicy::Follow, MAX_TRANSCRIPT_BYTES).ok()?;
    let mut id = None;
    let mut root = None;
    for line in text.lines().take(50) {
        let Ok(record) = serde_json::from_str::<serde_json::Value>(line) else {
            continue;
        };
        let field = |names: [&str; 2]| {
            let mut values = names.into_iter().map(|name| &record[name]);
            values.find_map(|value| value.as_str()).map(str::to_owned)
        };
        id = id.or_else(|| field(["sessionId", "session_id"]));
        id = id.or_else(|| record["payload"]["id"].as_str().map(str::to_owned));
        root = root.or_else(|| field(["cwd", "cwd"]));
        root = root.or_else(|| record["payload"]["cwd"].as_str().map(str::to_owned));
    }
    let root = PathBuf::from(root.unwrap_or_else(|| "/".to_owned()));
    let place = WorkPlace {
        root: &root,
        cwd: &root,
    };
    let steps: Vec<SessionStep> = text
        .lines()
        .flat_map(|line| parse_steps(line, place))
        .collect();
    let started = steps.iter().map(|it| it.at).find(|at| *at > 0)?;
    Some(PastSession {
        id: id.unwrap_or_else(|| path.to_string_lossy().into_owned()),
        started,
        steps,
    })
}

/// What happened in one session.
struct PlayedSession {
    entries: Vec<EvidenceEntry>,
    pushes: Vec<(PushSubject, ReplayedPush, bool)>,
    needs: Vec<(&'static str, usize, String)>,
    number: usize,
}

impl PlayedSession {
    fn add_to(self, report: &mut ReplayReport) {
        let met: HashSet<usize> = self
            .pushes
            .iter()
            .filter(|(_, push, _)| push.is_right)
            .map(|(_, push, _)| push.step)
            .collect();
        for (key, step, what) in self.needs {
            let counts = report.by_key.entry(key).or_default();
            counts.needs += 1;
            if met.contains(&step) {
                counts.met += 1;
            } else {
                report.missed.push((self.number, step, what));
            }
        }
        for (_, push, is_contradicted) in self.pushes {
            let counts = report.by_key.entry(push.key).or_default();
            counts.pushes += 1;
            counts.right += usize::from(push.is_right);
            counts.contradicted += usize::from(is_contradicted);
            report.tokens += estimate_tokens(&push.text);
            report.pushes.push(push);
        }
    }
}

fn play_session(
    number: usize,
    session: &PastSession,
    before: &EvidenceLog,
    failed: &mut BTreeMap<String, usize>,
) -> PlayedSession {
    let mut entries = to_entries(&session.steps, &session.id, None);
    let mut before = before.clone();
    for entry in entries.iter_mut().chain(&mut before.entries) {
        // Without a file there is no size: the file is as large as it was.
        if let EvidenceFact::TooLarge { bytes, .. } = &mut entry.fact {
            *bytes = Some(1);
        }
    }
    let table = KeyTable::build(&before, Vec::new());
    let mut of_call: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        of_call.entry(&entry.id).or_default().push(at);
    }
    let mut shown: BTreeSet<(String, String)> = BTreeSet::new();
    let mut seen_needs: BTreeSet<String> = BTreeSet::new();
    let mut pushes = Vec::new();
    let mut needs = Vec::new();
    let mut past = 0;
    for (at, step) in session.steps.iter().enumerate() {
        let StepKind::Call(action) = &step.kind else {
            continue;
        };
        let places = of_call.get(step.id.as_str()).cloned().unwrap_or_default();
        let facts: Vec<&EvidenceFact> = places.iter().map(|at| &entries[*at].fact).collect();
        past = places.first().copied().unwrap_or(past);
        if let Some((key, what)) = need_of(&facts, &before, &entries[past..])
            && seen_needs.insert(what.clone())
        {
            needs.push((key, at, what));
        }
        let around = RecordedSurroundings {
            before: &before,
            so_far: &entries[..past],
            facts: &facts,
            shown: &shown,
            failed,
        };
        let Some(item) = choose_item(&table, action, &around).item else {
            continue;
        };
        let Some(text) = item.render(&session.id, step.at) else {
            continue;
        };
        shown.insert((item.item.clone(), item.version.clone()));
        let later = &entries[past..];
        let is_right = is_right(&item.subject, &facts, later);
        let is_contradicted = !is_right && facts.iter().any(|it| works(it));
        if is_contradicted {
            *failed.entry(item.item.clone()).or_default() += 1;
        }
        let push = ReplayedPush {
            session: number,
            step: at,
            key: item.subject.key_name(),
            item: item.item,
            text,
            is_right,
        };
        pushes.push((item.subject, push, is_contradicted));
    }
    PlayedSession {
        entries,
        pushes,
        needs,
        number,
    }
}

fn works(fact: &EvidenceFact) -> bool {
    matches!(fact, EvidenceFact::Command(it) if it.worked)
        || matches!(
            fact,
            EvidenceFact::Read { .. } | EvidenceFact::Changed { .. }
        )
}

/// Returns `true` if the action did what the item warns of, and the item was of
/// use.
fn is_right(subject: &PushSubject, facts: &[&EvidenceFact], later: &[EvidenceEntry]) -> bool {
    facts.iter().any(|fact| match (subject, fact) {
        (PushSubject::Fault { fault }, EvidenceFact::Command(it)) => {
            it.fault.as_ref() == Some(fault)
        }
        (PushSubject::Path { missing, instead }, EvidenceFact::Missing { path }) => {
            path == missing && later.iter().any(|it| uses(&it.fact, instead))
        }
        (PushSubject::Large { path: large }, EvidenceFact::TooLarge { path, .. }) => large == path,
        (
            PushSubject::Refused {
                program,
                subcommand,
            },
            EvidenceFact::Refused { command, .. },
        ) => {
            let form = (program.clone(), subcommand.clone());
            parse_command(command)
                .iter()
                .filter_map(command_form)
                .any(|it| it == form)
        }
        _ => false,
    })
}

fn uses(fact: &EvidenceFact, path: &str) -> bool {
    match fact {
        EvidenceFact::Read { path: used } | EvidenceFact::Changed { path: used } => {
            used == path || used.starts_with(&format!("{path}/"))
        }
        EvidenceFact::Command(it) => it.worked && it.command.contains(path),
        _ => false,
    }
}

/// Returns what an action that failed would have needed from an earlier
/// session, if one had it.
fn need_of(
    facts: &[&EvidenceFact],
    before: &EvidenceLog,
    later: &[EvidenceEntry],
) -> Option<(&'static str, String)> {
    let had =
        |is_it: &dyn Fn(&EvidenceFact) -> bool| before.entries.iter().any(|it| is_it(&it.fact));
    facts.iter().find_map(|fact| match fact {
        EvidenceFact::Command(it) => {
            let fault = it.fault.as_ref()?;
            let known = had(
                &|it| matches!(it, EvidenceFact::Command(it) if it.fault.as_ref() == Some(fault)),
            );
            known.then(|| ("failed before", fault.command_text()))
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
                .filter_map(command_form)
                .collect();
            let known = had(&|it| match it {
                EvidenceFact::Refused { command, .. } => parse_command(command)
                    .iter()
                    .filter_map(command_form)
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
    shown: &'a BTreeSet<(String, String)>,
    failed: &'a BTreeMap<String, usize>,
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
        self.facts.iter().any(is_large).then_some(1)
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

    fn newer_entries(&self) -> &[EvidenceEntry] {
        self.so_far
    }

    fn document_line(&self, _: &str, _: usize) -> Option<String> {
        None
    }

    fn is_spent(&self, item: &str, version: &str) -> Option<&'static str> {
        if self.failed.get(item).is_some_and(|times| *times >= 3) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Writes a transcript of commands with their results.
    fn transcript(folder: &Path, name: &str, day: u32, commands: &[(&str, &str)]) -> PathBuf {
        let path = folder.join(name);
        let mut text = String::new();
        for (at, (command, result)) in commands.iter().enumerate() {
            let id = format!("{name}-{at}");
            let time = format!("2026-03-{day:02}T10:00:{at:02}Z");
            let call = json!({"type": "assistant", "sessionId": name, "cwd": "/w", "timestamp": time, "message": {"content": [
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}});
            let is_error = result.starts_with("Exit");
            let result = json!({"type": "user", "timestamp": time, "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error}]}});
            text += &format!("{call}\n{result}\n");
        }
        std::fs::write(&path, text).expect("written");
        path
    }

    #[test]
    fn later_sessions_get_what_earlier_ones_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let fails = ("cat -A a.go", "Exit code 1\ncat: illegal option -- A");
        let paths = [
            transcript(folder.path(), "c", 3, &[("cat -A a.go", "it works here")]),
            transcript(folder.path(), "b", 2, &[fails, fails]),
            transcript(folder.path(), "a", 1, &[fails, ("ls", "a.go")]),
        ];
        let report = replay_transcripts(&paths, ReplayPart::All);
        let total = report.total();
        assert_eq!((report.sessions, report.moments), (3, 5));
        assert_eq!((total.needs, total.met), (1, 1), "{report:?}");
        // The third one works: the push was wrong, once.
        assert_eq!((total.pushes, total.right, total.contradicted), (2, 1, 1));
        assert_eq!(report.different_items(), (1, 0));
        let second = replay_transcripts(&paths, ReplayPart::Second);
        assert_eq!(second.total().pushes, 2);
        assert_eq!(replay_transcripts(&paths, ReplayPart::All), report);
    }

    #[test]
    fn intervals_are_wide_for_few() {
        assert_eq!(share_interval(11, 11), (741, 1000));
        assert_eq!(share_interval(0, 0), (0, 1000));
    }
}
