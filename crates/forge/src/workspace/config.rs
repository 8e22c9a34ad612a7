//! The settings of a workspace, from `memory-forge.toml`.
//!
//! One table says what every key means, what it may be and what it is by
//! default; reading, warnings and the reference all follow from it. A setting
//! that is wrong never stops anything: it becomes a [`ConfigProblem`], and the
//! default applies. Nothing here is ever written.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

const FILE: &str = "memory-forge.toml";
/// What an earlier tool kept its settings in; still read, never written.
const OLD_FILE: &str = ".memoryforge.config.json";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    pub index: IndexConfig,
    pub search: SearchConfig,
    pub audit: AuditConfig,
    pub forget: ForgetConfig,
    pub mind: MindConfig,
    /// Keys that something set, and what.
    origins: Origins,
}

/// Which file or flag set a key. Settings are equal when they say the same,
/// whoever said it.
#[derive(Debug, Clone, Default, Eq)]
struct Origins(BTreeMap<&'static str, String>);

impl PartialEq for Origins {
    fn eq(&self, _: &Origins) -> bool {
        true
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexConfig {
    pub max_file_bytes: u64,
    pub chunk_tokens: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchConfig {
    pub limit: usize,
    pub embed_budget_ms: u64,
    pub mode: SearchMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    Hybrid,
    Text,
    Vector,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    pub file_warn: usize,
    pub file_critical: usize,
    pub skill_warn: usize,
    pub skill_critical: usize,
    pub total_warn: usize,
    pub total_critical: usize,
    /// The name of a tokenizer, one of those that [`reference`] lists.
    pub tokenizer: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgetConfig {
    pub protect_importance: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MindConfig {
    pub keep_sessions: usize,
    pub keep_decisions: usize,
    pub archive_after_days: u64,
    pub tracking_max_lines: usize,
    pub compress_bytes: u64,
    pub session_log_tail_lines: usize,
    pub briefing_decisions: usize,
    pub briefing_progress_lines: usize,
    pub checkpoints: usize,
    pub stale_seconds: u64,
}

/// A setting that was not taken, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file's name, relative to the root.
    pub file: String,
    pub line: Option<usize>,
    /// The key, `search.limit`; none when the file as a whole is at fault.
    pub key: Option<String>,
    pub message: String,
    /// A known key that may have been meant.
    pub nearest: Option<String>,
}

/// A key as `memory-forge config` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDoc {
    pub key: &'static str,
    /// `a number from 1 to 100`, or `one of …`.
    pub kind: String,
    pub default: String,
    pub about: &'static str,
    /// Its name in the older `.memoryforge.config.json`.
    pub old_name: Option<&'static str>,
}

/// Every key with its type, its default and one sentence.
pub fn reference() -> Vec<KeyDoc> {
    let defaults = Config::default();
    KEYS.iter()
        .map(|key| KeyDoc {
            key: key.name,
            kind: key.kind.to_string(),
            default: key.show(&defaults),
            about: key.about,
            old_name: key.old_name,
        })
        .collect()
}

impl Config {
    /// The settings of the workspace at `root`, and what was wrong with them.
    pub fn load(root: &Path) -> (Config, Vec<ConfigProblem>) {
        let mut config = Config::default();
        let mut problems = Vec::new();
        if let Some(text) = read(root, OLD_FILE, &mut problems) {
            config.read_json(&text, &mut problems);
        }
        if let Some(text) = read(root, FILE, &mut problems) {
            config.read_toml(&text, &mut problems);
        }
        config.order_thresholds(&mut problems);
        (config, problems)
    }

    /// Sets one key from a flag or the environment. `from` says where it came
    /// from, for the message.
    pub fn set(&mut self, key: &str, value: &str, from: &str) -> Result<(), ConfigProblem> {
        let given = match value.parse() {
            Ok(number) => Given::Number(number),
            Err(_) => Given::Text(value.to_string()),
        };
        self.give(key, given, from)
            .map_err(|fault| fault.at(from, None, key))
    }

    /// What set a key: a file's name or a flag. None means the default.
    pub fn origin(&self, key: &str) -> Option<&str> {
        self.origins.0.get(key).map(String::as_str)
    }

    /// The value of a key as it would stand in the file.
    pub fn get(&self, key: &str) -> Option<String> {
        find(key).map(|key| key.show(self))
    }

    fn read_toml(&mut self, text: &str, problems: &mut Vec<ConfigProblem>) {
        let (table, errors) = DeTable::parse_recoverable(text);
        let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        if let Some(error) = errors.iter().min_by_key(|error| place(error)) {
            let line = line_of(text, place(error));
            let fault = Fault::new(format!("is not valid TOML: {}", error.message()));
            problems.push(fault.whole_file(FILE, Some(line)));
            return;
        }
        let table = table.into_inner();
        for (name, value) in table.iter() {
            let section: &str = name.get_ref();
            let DeValue::Table(keys) = value.get_ref() else {
                let line = line_of(text, name.span().start);
                problems.push(unknown(section).at(FILE, Some(line), section));
                continue;
            };
            if keys.is_empty() && !is_section(section) {
                let line = line_of(text, name.span().start);
                problems.push(unknown(section).at(FILE, Some(line), section));
            }
            for (name, value) in keys.iter() {
                let key = format!("{section}.{}", name.get_ref());
                if let Err(fault) = self.give(&key, Given::from_toml(value.get_ref()), FILE) {
                    let line = line_of(text, name.span().start);
                    problems.push(fault.at(FILE, Some(line), &key));
                }
            }
        }
    }

    fn read_json(&mut self, text: &str, problems: &mut Vec<ConfigProblem>) {
        let object = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(Json::Object(object)) => object,
            Ok(_) => {
                let fault = Fault::new("is not a JSON object");
                problems.push(fault.whole_file(OLD_FILE, Some(1)));
                return;
            }
            Err(error) => {
                let fault = Fault::new(format!("is not valid JSON: {error}"));
                problems.push(fault.whole_file(OLD_FILE, Some(error.line())));
                return;
            }
        };
        for (name, value) in &object {
            let line = text
                .find(&format!("\"{name}\""))
                .map(|at| line_of(text, at));
            let given = match value {
                Json::Number(n) => n.as_i64().map_or(Given::Other, Given::Number),
                Json::String(text) => Given::Text(text.clone()),
                _ => Given::Other,
            };
            let taken = match KEYS.iter().find(|key| key.old_name == Some(name)) {
                Some(key) => key.give(self, given).map(|()| {
                    self.origins.0.insert(key.name, OLD_FILE.to_string());
                }),
                None => Err(Fault {
                    message: "is not a known key".to_string(),
                    nearest: nearest(name, KEYS.iter().filter_map(|key| key.old_name)),
                }),
            };
            if let Err(fault) = taken {
                problems.push(fault.at(OLD_FILE, line, name));
            }
        }
    }

    fn give(&mut self, key: &str, given: Given, from: &str) -> Result<(), Fault> {
        let key = find(key).ok_or_else(|| unknown(key))?;
        key.give(self, given)?;
        self.origins.0.insert(key.name, from.to_string());
        Ok(())
    }

    /// A warning above its critical threshold could never be given.
    fn order_thresholds(&mut self, problems: &mut Vec<ConfigProblem>) {
        let usual = AuditConfig::default();
        let audit = &mut self.audit;
        let pairs = [
            (
                "file",
                &mut audit.file_warn,
                &mut audit.file_critical,
                usual.file_warn,
                usual.file_critical,
            ),
            (
                "skill",
                &mut audit.skill_warn,
                &mut audit.skill_critical,
                usual.skill_warn,
                usual.skill_critical,
            ),
            (
                "total",
                &mut audit.total_warn,
                &mut audit.total_critical,
                usual.total_warn,
                usual.total_critical,
            ),
        ];
        for (name, warn, critical, usual_warn, usual_critical) in pairs {
            if *warn > *critical {
                (*warn, *critical) = (usual_warn, usual_critical);
                self.origins
                    .0
                    .retain(|key, _| !key.starts_with(&format!("audit.{name}_")));
                let fault = Fault::new(format!(
                    "is above `audit.{name}_critical`; both have their defaults"
                ));
                problems.push(fault.at(FILE, None, &format!("audit.{name}_warn")));
            }
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.file)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        match &self.key {
            Some(key) => write!(f, ": `{key}` {}", self.message)?,
            None => write!(f, " {}", self.message)?,
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean `{nearest}`?")?;
        }
        Ok(())
    }
}

impl fmt::Display for SearchMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SearchMode::Hybrid => "hybrid",
            SearchMode::Text => "text",
            SearchMode::Vector => "vector",
        })
    }
}

impl std::str::FromStr for SearchMode {
    type Err = String;

    fn from_str(text: &str) -> Result<SearchMode, String> {
        match text {
            "hybrid" => Ok(SearchMode::Hybrid),
            "text" => Ok(SearchMode::Text),
            "vector" => Ok(SearchMode::Vector),
            _ => Err(format!("`{text}` is not one of `hybrid`, `text`, `vector`")),
        }
    }
}

impl Default for IndexConfig {
    fn default() -> IndexConfig {
        IndexConfig {
            max_file_bytes: 32 << 20,
            chunk_tokens: 500,
        }
    }
}

impl Default for SearchConfig {
    fn default() -> SearchConfig {
        SearchConfig {
            limit: 5,
            embed_budget_ms: 300,
            mode: SearchMode::Hybrid,
        }
    }
}

impl Default for AuditConfig {
    fn default() -> AuditConfig {
        AuditConfig {
            file_warn: 500,
            file_critical: 1000,
            skill_warn: 300,
            skill_critical: 600,
            total_warn: 2000,
            total_critical: 5000,
            tokenizer: "o200k".to_string(),
        }
    }
}

impl Default for ForgetConfig {
    fn default() -> ForgetConfig {
        ForgetConfig {
            protect_importance: 8,
        }
    }
}

impl Default for MindConfig {
    fn default() -> MindConfig {
        MindConfig {
            keep_sessions: 5,
            keep_decisions: 10,
            archive_after_days: 30,
            tracking_max_lines: 100,
            compress_bytes: 12_000,
            session_log_tail_lines: 20,
            briefing_decisions: 5,
            briefing_progress_lines: 40,
            checkpoints: 10,
            stale_seconds: 1800,
        }
    }
}

struct Key {
    name: &'static str,
    about: &'static str,
    kind: Kind,
    old_name: Option<&'static str>,
}

/// What a key may be, with the way to its place in [`Config`].
enum Kind {
    Number {
        min: u64,
        max: u64,
        get: fn(&Config) -> u64,
        set: fn(&mut Config, u64),
    },
    Choice {
        of: &'static [&'static str],
        get: fn(&Config) -> String,
        set: fn(&mut Config, &str),
    },
}

impl Key {
    fn give(&self, config: &mut Config, given: Given) -> Result<(), Fault> {
        let refused = || {
            Fault::new(format!(
                "must be {}; the default {} applies",
                self.kind,
                self.show(&Config::default())
            ))
        };
        match (&self.kind, given) {
            (Kind::Number { min, max, set, .. }, Given::Number(number)) => {
                let number = u64::try_from(number)
                    .ok()
                    .filter(|n| (min..=max).contains(&n));
                set(config, number.ok_or_else(refused)?);
                Ok(())
            }
            (Kind::Choice { of, set, .. }, Given::Text(text)) => {
                if !of.contains(&text.as_str()) {
                    let nearest = nearest(&text, of.iter().copied());
                    return Err(Fault {
                        nearest,
                        ..refused()
                    });
                }
                set(config, &text);
                Ok(())
            }
            _ => Err(refused()),
        }
    }

    fn show(&self, config: &Config) -> String {
        match self.kind {
            Kind::Number { get, .. } => get(config).to_string(),
            Kind::Choice { get, .. } => format!("\"{}\"", get(config)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Number { min, max, .. } => write!(f, "a number from {min} to {max}"),
            Kind::Choice { of, .. } => {
                let quoted: Vec<String> = of.iter().map(|one| format!("\"{one}\"")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
        }
    }
}

/// A value of whatever kind a file gave.
enum Given {
    Number(i64),
    Text(String),
    Other,
}

impl Given {
    fn from_toml(value: &DeValue<'_>) -> Given {
        match value {
            DeValue::Integer(n) => {
                let digits = n.as_str().replace('_', "");
                i64::from_str_radix(&digits, n.radix()).map_or(Given::Other, Given::Number)
            }
            DeValue::String(text) => Given::Text(text.to_string()),
            _ => Given::Other,
        }
    }
}

/// A problem before it is known where it stands.
struct Fault {
    message: String,
    nearest: Option<String>,
}

impl Fault {
    fn new(message: impl Into<String>) -> Fault {
        Fault {
            message: message.into(),
            nearest: None,
        }
    }

    fn at(self, file: &str, line: Option<usize>, key: &str) -> ConfigProblem {
        ConfigProblem {
            key: Some(key.to_string()),
            ..self.whole_file(file, line)
        }
    }

    fn whole_file(self, file: &str, line: Option<usize>) -> ConfigProblem {
        ConfigProblem {
            file: file.to_string(),
            line,
            key: None,
            message: self.message,
            nearest: self.nearest,
        }
    }
}

fn read(root: &Path, name: &str, problems: &mut Vec<ConfigProblem>) -> Option<String> {
    let path = root.join(name);
    let refused = match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
        Err(e) => format!("cannot be read: {e}"),
        Ok(meta) if meta.is_symlink() => {
            "is a symlink and was not read; put the file itself there".to_string()
        }
        Ok(meta) if !meta.is_file() => "is not a regular file and was not read".to_string(),
        Ok(meta) if meta.len() > MAX_BYTES => {
            format!("has more than {MAX_BYTES} bytes and was not read")
        }
        Ok(_) => match fs::read_to_string(&path) {
            Ok(text) => return Some(text),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                "is not UTF-8 and was not read".to_string()
            }
            Err(e) => format!("cannot be read: {e}"),
        },
    };
    problems.push(Fault::new(refused).whole_file(name, None));
    None
}

fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

fn is_section(name: &str) -> bool {
    KEYS.iter()
        .any(|key| key.name.split('.').next() == Some(name))
}

fn unknown(key: &str) -> Fault {
    // `limit` alone at the top of the file most likely means `search.limit`.
    let in_a_section = KEYS
        .iter()
        .map(|k| k.name)
        .find(|name| name.split('.').nth(1) == Some(key));
    let nearest = in_a_section
        .map(str::to_string)
        .or_else(|| nearest(key, KEYS.iter().map(|key| key.name)));
    Fault {
        message: "is not a known key".to_string(),
        nearest,
    }
}

fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_string())
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

/// No settings are this long; something else is at that path.
const MAX_BYTES: u64 = 1 << 20;

macro_rules! number {
    ($name:literal, $section:ident.$field:ident, $min:expr, $max:expr, $old:expr, $about:literal) => {
        Key {
            name: $name,
            about: $about,
            old_name: $old,
            kind: Kind::Number {
                min: $min,
                max: $max,
                get: |c| c.$section.$field as u64,
                // The range of each key fits the type of its field.
                set: |c, n| c.$section.$field = n as _,
            },
        }
    };
}

const MANY: u64 = 1_000_000;

static KEYS: &[Key] = &[
    number!(
        "index.max_file_bytes",
        index.max_file_bytes,
        1024,
        1 << 30,
        None,
        "Files with more bytes than this are named in a warning and not read."
    ),
    number!(
        "index.chunk_tokens",
        index.chunk_tokens,
        50,
        8000,
        None,
        "The most tokens that one passage of the index has."
    ),
    number!(
        "search.limit",
        search.limit,
        1,
        100,
        None,
        "How many passages a search returns unless told otherwise."
    ),
    number!(
        "search.embed_budget_ms",
        search.embed_budget_ms,
        0,
        60_000,
        None,
        "How long a search may take to bring vectors up to date before it answers without the rest."
    ),
    Key {
        name: "search.mode",
        about: "What ranks the passages: words, meaning, or both.",
        old_name: None,
        kind: Kind::Choice {
            of: &["hybrid", "text", "vector"],
            get: |c| c.search.mode.to_string(),
            set: |c, text| {
                if let Ok(mode) = text.parse() {
                    c.search.mode = mode;
                }
            },
        },
    },
    number!(
        "audit.file_warn",
        audit.file_warn,
        1,
        MANY,
        None,
        "Tokens above which a file such as `CLAUDE.md` is warned about."
    ),
    number!(
        "audit.file_critical",
        audit.file_critical,
        1,
        MANY,
        None,
        "Tokens above which a file such as `CLAUDE.md` is critical."
    ),
    number!(
        "audit.skill_warn",
        audit.skill_warn,
        1,
        MANY,
        None,
        "Tokens above which any other file that agents load is warned about."
    ),
    number!(
        "audit.skill_critical",
        audit.skill_critical,
        1,
        MANY,
        None,
        "Tokens above which any other file that agents load is critical."
    ),
    number!(
        "audit.total_warn",
        audit.total_warn,
        1,
        MANY,
        None,
        "Tokens above which everything that agents load together is warned about."
    ),
    number!(
        "audit.total_critical",
        audit.total_critical,
        1,
        MANY,
        None,
        "Tokens above which everything that agents load together is critical."
    ),
    Key {
        name: "audit.tokenizer",
        about: "The vocabulary that tokens are counted with; `claude` and `chars4` are estimates.",
        old_name: None,
        kind: Kind::Choice {
            of: &["o200k", "cl100k", "claude", "chars4"],
            get: |c| c.audit.tokenizer.clone(),
            set: |c, text| c.audit.tokenizer = text.to_string(),
        },
    },
    number!(
        "forget.protect_importance",
        forget.protect_importance,
        1,
        10,
        None,
        "Documents of this importance or more are never forgotten."
    ),
    number!(
        "mind.keep_sessions",
        mind.keep_sessions,
        1,
        MANY,
        Some("keepSessionsFull"),
        "How many sessions stay in full when state is compressed."
    ),
    number!(
        "mind.keep_decisions",
        mind.keep_decisions,
        1,
        MANY,
        Some("keepDecisionsFull"),
        "How many decisions stay in full when state is compressed."
    ),
    number!(
        "mind.archive_after_days",
        mind.archive_after_days,
        1,
        MANY,
        Some("archiveAfterDays"),
        "Days after which a task that is done moves to the archive."
    ),
    number!(
        "mind.tracking_max_lines",
        mind.tracking_max_lines,
        10,
        MANY,
        Some("trackingMaxLines"),
        "How many lines a log of events keeps."
    ),
    number!(
        "mind.compress_bytes",
        mind.compress_bytes,
        1000,
        1 << 30,
        Some("compressThresholdBytes"),
        "Bytes of state above which it is compressed."
    ),
    number!(
        "mind.session_log_tail_lines",
        mind.session_log_tail_lines,
        1,
        MANY,
        Some("sessionLogTailLines"),
        "How many lines of the session log a briefing shows."
    ),
    number!(
        "mind.briefing_decisions",
        mind.briefing_decisions,
        1,
        MANY,
        Some("briefingRecentDecisions"),
        "How many recent decisions a briefing shows."
    ),
    number!(
        "mind.briefing_progress_lines",
        mind.briefing_progress_lines,
        1,
        MANY,
        Some("briefingMaxProgressLines"),
        "How many lines of progress a briefing shows."
    ),
    number!(
        "mind.checkpoints",
        mind.checkpoints,
        3,
        MANY,
        Some("maxCheckpointFiles"),
        "How many checkpoints are kept."
    ),
    number!(
        "mind.stale_seconds",
        mind.stale_seconds,
        60,
        u32::MAX as u64,
        Some("staleWarningSeconds"),
        "Seconds after which state counts as stale."
    ),
];

#[cfg(test)]
mod tests;
