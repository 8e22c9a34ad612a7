//! Plays past sessions as if hooks had been there: would what they bring have
//! been right? Each session gets the keys that earlier ones left, decided by
//! the function that the hook calls. It needs no model, writes nothing, and the
//! same transcripts give the same report.
//!
//! A transcript has no files, so a path counts as missing, and a file as too
//! large, where the call itself reports that; the folder of a glob that found
//! nothing is missing if no session used anything in it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use forge_memory::evidence::{EvidenceEntry, EvidenceLimits, EvidenceLog};

mod nearest;
mod play;
mod shares;
mod transcripts;

pub use nearest::NearestEntry;
pub use shares::{MIN_PUSHES_FOR_SHARES, resampled_interval, share_interval};

use play::{PlayedSession, play_session};
use transcripts::{PastSession, read_session};

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

/// Counts of pushes and needs: of a kind of key, of a session or of all.
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
    /// Needs whose item came only at a later action of the session.
    pub late: usize,
    /// Calls that failed by what a right item warned of, from its own call on.
    pub steps_saved: usize,
    /// Commands that the user refused after a right item had come.
    pub turns_saved: usize,
    /// Estimated number of tokens of the items.
    pub tokens: usize,
}

impl ReplayCounts {
    fn add(&mut self, other: &ReplayCounts) {
        self.pushes += other.pushes;
        self.right += other.right;
        self.contradicted += other.contradicted;
        self.needs += other.needs;
        self.met += other.met;
        self.late += other.late;
        self.steps_saved += other.steps_saved;
        self.turns_saved += other.turns_saved;
        self.tokens += other.tokens;
    }
}

/// A place in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayPlace {
    /// Number of the session, in the order of time.
    pub session: usize,
    /// Number of the step in it.
    pub step: usize,
    /// Line of the transcript, counted from 1.
    pub line: usize,
}

/// An item that was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedPush {
    /// The action to which it was brought.
    pub place: ReplayPlace,
    /// The name of the key that opened the gate.
    pub key: &'static str,
    /// Identifies the item by its kind and what it is about.
    pub item: String,
    /// The line that the hook would show.
    pub text: String,
    /// Estimated number of tokens in `text`.
    pub tokens: usize,
    /// Whether the action did what the item warns of, and the item was of use.
    pub is_right: bool,
    /// Whether the action worked all the same.
    pub is_contradicted: bool,
    /// Calls that failed by it from here on; 0 unless it is right.
    pub steps_saved: usize,
    /// Commands that the user refused from here on; 0 unless it is right.
    pub turns_saved: usize,
}

/// Whether what a session needed was brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedTiming {
    /// Before the action that failed.
    InTime,
    /// Only before a later action.
    Late,
    /// Not at all.
    Missed,
}

/// An action that failed by something that an earlier session had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedNeed {
    /// The action.
    pub place: ReplayPlace,
    /// The name of the key that would open the gate.
    pub key: &'static str,
    /// What the session needed to know.
    pub what: String,
    /// Whether it was brought.
    pub timing: NeedTiming,
    /// Reasons why an item whose key matched was not brought.
    pub silences: Vec<String>,
    /// The entry with the most words in common; `None` for a need that was met.
    pub nearest: Option<NearestEntry>,
}

/// A session that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedSession {
    /// Its number, in the order of time.
    pub number: usize,
    /// The client's id of it.
    pub id: String,
    /// The transcript that was played; of copies, the longest.
    pub path: PathBuf,
    /// Its first moment, in seconds since 1970.
    pub started: i64,
    /// Number of prompts and calls.
    pub moments: usize,
    /// What happened in it.
    pub counts: ReplayCounts,
}

/// Counts of one item in all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedItem {
    /// Identifies the item by its kind and what it is about.
    pub item: String,
    /// The name of its key.
    pub key: &'static str,
    /// Its pushes; needs are not counted here.
    pub counts: ReplayCounts,
    /// The line that was shown last.
    pub text: String,
}

/// A file that is not replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTranscript {
    /// The file.
    pub path: PathBuf,
    /// Why it is skipped.
    pub reason: String,
}

/// What a replay found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Number of transcripts that were read.
    pub files: usize,
    /// Number of these files that repeat the session of another one.
    pub copies: usize,
    /// Files that cannot be read, or have no moment with a time.
    pub skipped: Vec<SkippedTranscript>,
    /// The sessions that are counted, in the order of time.
    pub sessions: Vec<ReplayedSession>,
    /// The counts of each kind of key, by its name.
    pub by_key: BTreeMap<&'static str, ReplayCounts>,
    /// The items that were brought, in the order of time.
    pub pushes: Vec<ReplayedPush>,
    /// What sessions needed, in the order of time.
    pub needs: Vec<ReplayedNeed>,
}

impl ReplayReport {
    /// Returns the counts of all keys together.
    pub fn total(&self) -> ReplayCounts {
        let mut total = ReplayCounts::default();
        self.by_key.values().for_each(|counts| total.add(counts));
        total
    }

    /// Returns the number of prompts and calls in the sessions that are counted.
    pub fn moments(&self) -> usize {
        self.sessions.iter().map(|it| it.moments).sum()
    }

    /// Returns the needs to which nothing was brought in time.
    pub fn missed(&self) -> impl Iterator<Item = &ReplayedNeed> {
        self.needs
            .iter()
            .filter(|it| it.timing != NeedTiming::InTime)
    }

    /// Returns the different items, the most useful first: by the steps and
    /// turns that they would have saved, then by how often they were right.
    pub fn items(&self) -> Vec<ReplayedItem> {
        let mut items: BTreeMap<&str, ReplayedItem> = BTreeMap::new();
        for push in &self.pushes {
            let row = items.entry(&push.item).or_insert_with(|| ReplayedItem {
                item: push.item.clone(),
                key: push.key,
                counts: ReplayCounts::default(),
                text: String::new(),
            });
            row.counts.add(&push.counts());
            row.text.clone_from(&push.text);
        }
        let mut items: Vec<ReplayedItem> = items.into_values().collect();
        let wrong = |it: &ReplayedItem| it.counts.pushes - it.counts.right;
        items.sort_by(|a, b| {
            let saved = |it: &ReplayedItem| it.counts.steps_saved + it.counts.turns_saved;
            (saved(b), b.counts.right, wrong(a), &a.item).cmp(&(
                saved(a),
                a.counts.right,
                wrong(b),
                &b.item,
            ))
        });
        items
    }
}

impl ReplayedPush {
    fn counts(&self) -> ReplayCounts {
        ReplayCounts {
            pushes: 1,
            right: usize::from(self.is_right),
            contradicted: usize::from(self.is_contradicted),
            steps_saved: self.steps_saved,
            turns_saved: self.turns_saved,
            tokens: self.tokens,
            ..ReplayCounts::default()
        }
    }
}

impl ReplayedNeed {
    fn counts(&self) -> ReplayCounts {
        ReplayCounts {
            needs: 1,
            met: usize::from(self.timing == NeedTiming::InTime),
            late: usize::from(self.timing == NeedTiming::Late),
            ..ReplayCounts::default()
        }
    }
}

/// Replays transcripts. Their order in `paths` does not matter.
pub fn replay_transcripts(paths: &[PathBuf], part: ReplayPart) -> ReplayReport {
    let mut report = ReplayReport::default();
    let mut sessions = read_sessions(paths, &mut report);
    settle_missing_folders(&mut sessions);
    let middle = sessions.len() / 2;
    let mut timeline = EventTimeline::new(&sessions);
    let mut contradicted: BTreeMap<String, usize> = BTreeMap::new();
    for (number, session) in sessions.iter().enumerate() {
        timeline.advance(session.started);
        let played = play_session(number, session, &timeline, &mut contradicted);
        let is_counted = match part {
            ReplayPart::All => true,
            ReplayPart::First => number < middle,
            ReplayPart::Second => number >= middle,
        };
        if is_counted {
            report.add(number, session, played);
        }
    }
    report
}

impl ReplayReport {
    fn add(&mut self, number: usize, session: &PastSession, played: PlayedSession) {
        let mut of_session = ReplayCounts::default();
        let parts = played.pushes.iter().map(|it| (it.key, it.counts()));
        let needs = played.needs.iter().map(|it| (it.key, it.counts()));
        for (key, counts) in parts.chain(needs) {
            of_session.add(&counts);
            self.by_key.entry(key).or_default().add(&counts);
        }
        self.sessions.push(ReplayedSession {
            number,
            id: session.id.clone(),
            path: session.path.clone(),
            started: session.started,
            moments: session.moments,
            counts: of_session,
        });
        self.pushes.extend(played.pushes);
        self.needs.extend(played.needs);
    }
}

/// Decides which folders of globs that found nothing were missing: those in
/// which no session, earlier or later, read or changed anything.
fn settle_missing_folders(sessions: &mut [PastSession]) {
    let mut folders: HashSet<&str> = HashSet::new();
    for session in sessions.iter() {
        session.collect_folders(&mut folders);
    }
    let folders: HashSet<String> = folders.into_iter().map(str::to_owned).collect();
    for session in sessions {
        session.keep_missing(|path| folders.contains(path));
    }
}

/// Reads sessions, each once, in the order of their first moments.
fn read_sessions(paths: &[PathBuf], report: &mut ReplayReport) -> Vec<PastSession> {
    let mut paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut by_id: HashMap<String, PastSession> = HashMap::new();
    for path in paths {
        let session = match read_session(path) {
            Ok(session) => session,
            Err(reason) => {
                let path = path.to_owned();
                report.skipped.push(SkippedTranscript { path, reason });
                continue;
            }
        };
        report.files += 1;
        match by_id.entry(session.id.clone()) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(session);
            }
            std::collections::hash_map::Entry::Occupied(mut place) => {
                report.copies += 1;
                // The longest copy has what the others have.
                if session.steps > place.get().steps {
                    place.insert(session);
                }
            }
        }
    }
    let mut sessions: Vec<PastSession> = by_id.into_values().collect();
    sessions.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    sessions
}

/// The entries of all sessions in the order of their events. Sessions overlap,
/// so what was known to one is decided by time and not by session.
struct EventTimeline<'a> {
    /// Entries with the number of their session.
    entries: Vec<(usize, &'a EvidenceEntry)>,
    /// The first entry that is not in `log`.
    next: usize,
    /// The log as it was at the start of the session that is played.
    log: EvidenceLog,
}

impl<'a> EventTimeline<'a> {
    fn new(sessions: &'a [PastSession]) -> EventTimeline<'a> {
        let numbered = sessions.iter().enumerate();
        let mut entries: Vec<(usize, &EvidenceEntry)> = numbered
            .flat_map(|(number, it)| it.entries.iter().map(move |entry| (number, entry)))
            .collect();
        // Stable, so that entries of one second keep their order.
        entries.sort_by_key(|(_, entry)| entry.at);
        EventTimeline {
            entries,
            next: 0,
            log: EvidenceLog::default(),
        }
    }

    /// Moves the log to a moment; a session's own entries are never before it.
    fn advance(&mut self, until: i64) {
        let rest = &self.entries[self.next..];
        let count = rest
            .iter()
            .take_while(|(_, entry)| entry.at < until)
            .count();
        let new = rest[..count].iter().map(|(_, entry)| (*entry).clone());
        self.log
            .add(new.collect(), until, &EvidenceLimits::default());
        self.next += count;
    }

    /// Returns what other sessions added between the log and a moment.
    fn added_by_others(&self, session: usize, until: i64) -> Vec<&'a EvidenceEntry> {
        let rest = self.entries[self.next..].iter();
        rest.take_while(|(_, entry)| entry.at < until)
            .filter(|(number, _)| *number != session)
            .map(|(_, entry)| *entry)
            .collect()
    }
}

#[cfg(test)]
mod tests;
