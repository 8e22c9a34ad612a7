//! The settings of a workspace, from `memory-forge.toml`.
//!
//! One table defines the meaning, the values and the default of every key;
//! reading, warnings and the reference all follow from it. A wrong setting
//! never stops anything: it becomes a [`ConfigProblem`], and the default
//! applies. Nothing here is ever written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

mod included;
mod keys;

use super::RelPath;
use super::regular::{self, FileReadError, LinkPolicy};
use forge_text::tokens::Tokenizer;
pub use included::with_included;
use keys::{CONFIG_KEYS, ConfigValue, KeyProblem, find_key, is_section, nearest_name, unknown_key};

/// The file of a workspace's settings, at its root.
pub const CONFIG_FILE: &str = "memory-forge.toml";
/// Settings file of an earlier tool; still read, never written.
const LEGACY_CONFIG_FILE: &str = ".memoryforge.config.json";

/// The settings of a workspace, defaults included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspaceConfig {
    /// Settings under `[knowledge]`.
    pub knowledge: KnowledgeConfig,
    /// Settings under `[index]`.
    pub index: IndexConfig,
    /// Settings under `[search]`.
    pub search: SearchConfig,
    /// Settings under `[engine]`.
    pub engine: EngineConfig,
    /// Settings under `[audit]`.
    pub audit: AuditConfig,
    /// Settings under `[forget]`.
    pub forget: ForgetConfig,
    /// Settings under `[graph]`.
    pub graph: GraphConfig,
    /// Settings under `[mind]`.
    pub mind: MindConfig,
    /// Settings under `[recall]`.
    pub recall: RecallConfig,
    /// Keys that something set, and what.
    origins: KeyOrigins,
}

/// The file or flag that set each key. Settings with the same values are equal,
/// whatever set them.
#[derive(Debug, Clone, Default, Eq)]
struct KeyOrigins(BTreeMap<&'static str, String>);

impl PartialEq for KeyOrigins {
    fn eq(&self, _: &KeyOrigins) -> bool {
        true
    }
}

/// Globs of documents outside `knowledge/` that are knowledge too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnowledgeConfig {
    /// Globs of documents that are knowledge as well.
    pub include: Vec<String>,
    /// Globs of documents that are not, although `include` names them.
    pub exclude: Vec<String>,
}

/// The settings of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexConfig {
    /// The bytes above which a file is named in a warning and not read.
    pub max_file_bytes: u64,
    /// The most tokens that a passage has.
    pub chunk_tokens: usize,
}

/// The settings of searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchConfig {
    /// The number of passages that a search returns by default.
    pub limit: usize,
    /// How long a search may bring vectors up to date, in milliseconds.
    pub embed_budget_ms: u64,
    /// The rankings that a search uses by default.
    pub mode: SearchMode,
    /// `embedded` or `server`.
    pub engine: String,
    /// Instead of the built-in one.
    pub model: Option<RelPath>,
}

/// The settings of an index that many workspaces share. An empty text is not
/// set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// The address of the server that the index is on.
    pub url: String,
    /// The address of a replica that only reads, for searches.
    pub replica: String,
    /// The organization whose part of the index is used.
    pub tenant: String,
    /// The team that may read what is pushed.
    pub team: String,
    /// The name of this workspace on the server.
    pub workspace: String,
    /// How long a search waits for replica and primary together, in milliseconds.
    pub timeout_ms: u64,
    /// The seconds by which a replica may be behind and still be queried.
    pub max_lag_s: u64,
}

/// The rankings that a search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// Full text and vectors together.
    Hybrid,
    /// Full text alone.
    Text,
    /// Vectors alone.
    Vector,
}

/// The thresholds of the audit, in tokens, and how they are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// Tokens above which a file such as `CLAUDE.md` is a warning.
    pub file_warn: usize,
    /// Tokens above which such a file is critical.
    pub file_critical: usize,
    /// Tokens above which any other file that agents load is a warning.
    pub skill_warn: usize,
    /// Tokens above which such a file is critical.
    pub skill_critical: usize,
    /// Tokens above which everything that agents load together is a warning.
    pub total_warn: usize,
    /// Tokens above which everything together is critical.
    pub total_critical: usize,
    /// The tokenizer that counts them.
    pub tokenizer: Tokenizer,
}

/// The settings of `forget`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgetConfig {
    /// The importance from which on a document is never forgotten.
    pub protect_importance: u8,
}

/// The settings of the graph server. Its password is never kept in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphConfig {
    /// `embedded` or `server`.
    pub engine: String,
    pub url: String,
    pub user: String,
    pub database: String,
    pub authority: Option<RelPath>,
    pub tenant: String,
    pub workspace: String,
}

/// The settings of sessions, briefings and checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MindConfig {
    /// The number of sessions that compression leaves in full.
    pub keep_sessions: usize,
    /// The number of decisions that compression leaves in full.
    pub keep_decisions: usize,
    /// Days after which a task that is done moves to the archive.
    pub archive_after_days: u64,
    /// The number of lines that an event log keeps.
    pub tracking_max_lines: usize,
    /// The bytes of state above which it is compressed.
    pub compress_bytes: u64,
    /// The number of lines of the session log that a briefing shows.
    pub session_log_tail_lines: usize,
    /// The number of recent decisions that a briefing shows.
    pub briefing_decisions: usize,
    /// The number of lines of progress that a briefing shows.
    pub briefing_progress_lines: usize,
    /// The number of checkpoints that are kept.
    pub checkpoints: usize,
    /// The seconds after which the state counts as stale.
    pub stale_seconds: u64,
}

/// The settings of what hooks bring without a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecallConfig {
    /// The moments at which hooks bring memory.
    pub push: PushMode,
}

/// The moments at which hooks may bring memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PushMode {
    /// At no moment.
    Off,
    /// Before a tool runs.
    #[default]
    Action,
    /// Before a tool runs, and at a prompt.
    All,
}

impl PushMode {
    /// Returns the word for it in the settings.
    pub fn name(self) -> &'static str {
        match self {
            PushMode::Off => "off",
            PushMode::Action => "action",
            PushMode::All => "all",
        }
    }

    /// Returns the mode of a word.
    pub fn from_name(name: &str) -> Option<PushMode> {
        let modes = [PushMode::Off, PushMode::Action, PushMode::All];
        modes.into_iter().find(|mode| mode.name() == name)
    }
}

/// A setting that was not applied, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file's name, relative to the root.
    pub file: String,
    /// The line in the file, where it is known.
    pub line: Option<usize>,
    /// The key, `search.limit`; none when the file as a whole is at fault.
    pub key: Option<String>,
    /// Why it was not applied.
    pub message: String,
    /// A known key that may have been meant.
    pub nearest: Option<String>,
}

/// A key as `memory-forge config` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDoc {
    /// The key, such as `search.limit`.
    pub key: &'static str,
    /// `a number from 1 to 100`, or `one of …`.
    pub kind: String,
    /// The default, as a person would write it.
    pub default: String,
    /// What the key decides, as a sentence.
    pub about: &'static str,
    /// Its name in the older `.memoryforge.config.json`.
    pub old_name: Option<&'static str>,
}

/// Returns every key with its type, its default and one sentence.
pub fn config_reference() -> Vec<KeyDoc> {
    let defaults = WorkspaceConfig::default();
    CONFIG_KEYS
        .iter()
        .map(|key| KeyDoc {
            key: key.name,
            kind: key.kind.to_string(),
            default: key.format_value(&defaults),
            about: key.about,
            old_name: key.old_name,
        })
        .collect()
}

impl WorkspaceConfig {
    /// Loads the settings of the workspace at `root`, and their problems.
    pub fn load(root: &Path) -> (WorkspaceConfig, Vec<ConfigProblem>) {
        let mut config = WorkspaceConfig::default();
        let mut problems = Vec::new();
        // The older file first, so that the newer one wins.
        if let Some(text) = read_config_file(root, LEGACY_CONFIG_FILE, &mut problems) {
            config.read_json(&text, &mut problems);
        }
        if let Some(text) = read_config_file(root, CONFIG_FILE, &mut problems) {
            config.read_toml(&text, &mut problems);
        }
        config.order_thresholds(&mut problems);
        (config, problems)
    }

    /// Sets one key from a flag or the environment. `from` names the source in
    /// messages.
    pub fn set(&mut self, key: &str, value: &str, from: &str) -> Result<(), ConfigProblem> {
        let given = match value.parse() {
            Ok(number) => ConfigValue::Number(number),
            Err(_) => ConfigValue::Text(value.to_string()),
        };
        self.apply_value(key, given, from)
            .map_err(|fault| fault.at_key(from, None, key))
    }

    /// Returns what set a key: a file's name or a flag. `None` means the
    /// default.
    pub fn origin(&self, key: &str) -> Option<&str> {
        self.origins.0.get(key).map(String::as_str)
    }

    /// Returns the value of a key as it is written in the file.
    pub fn get(&self, key: &str) -> Option<String> {
        find_key(key).map(|key| key.format_value(self))
    }

    fn read_toml(&mut self, text: &str, problems: &mut Vec<ConfigProblem>) {
        let (table, errors) = DeTable::parse_recoverable(text);
        let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        // The first error is most likely the cause of the others.
        if let Some(error) = errors.iter().min_by_key(|error| place(error)) {
            let line = line_number_of(text, place(error));
            let fault = KeyProblem::new(format!("is not valid TOML: {}", error.message()));
            problems.push(fault.whole_file(CONFIG_FILE, Some(line)));
            return;
        }
        let table = table.into_inner();
        for (name, value) in table.iter() {
            let section: &str = name.get_ref();
            let DeValue::Table(keys) = value.get_ref() else {
                let line = line_number_of(text, name.span().start);
                problems.push(unknown_key(section).at_key(CONFIG_FILE, Some(line), section));
                continue;
            };
            if keys.is_empty() && !is_section(section) {
                let line = line_number_of(text, name.span().start);
                problems.push(unknown_key(section).at_key(CONFIG_FILE, Some(line), section));
            }
            for (name, value) in keys.iter() {
                let key = format!("{section}.{}", name.get_ref());
                if let Err(fault) =
                    self.apply_value(&key, ConfigValue::from_toml(value.get_ref()), CONFIG_FILE)
                {
                    let line = line_number_of(text, name.span().start);
                    problems.push(fault.at_key(CONFIG_FILE, Some(line), &key));
                }
            }
        }
    }

    fn read_json(&mut self, text: &str, problems: &mut Vec<ConfigProblem>) {
        let object = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(Json::Object(object)) => object,
            Ok(_) => {
                let fault = KeyProblem::new("is not a JSON object");
                problems.push(fault.whole_file(LEGACY_CONFIG_FILE, Some(1)));
                return;
            }
            Err(error) => {
                let fault = KeyProblem::new(format!("is not valid JSON: {error}"));
                problems.push(fault.whole_file(LEGACY_CONFIG_FILE, Some(error.line())));
                return;
            }
        };
        for (name, value) in &object {
            let line = text
                .find(&format!("\"{name}\""))
                .map(|at| line_number_of(text, at));
            let given = match value {
                Json::Number(n) => n.as_i64().map_or(ConfigValue::Other, ConfigValue::Number),
                Json::String(text) => ConfigValue::Text(text.clone()),
                _ => ConfigValue::Other,
            };
            let taken = match CONFIG_KEYS.iter().find(|key| key.old_name == Some(name)) {
                Some(key) => key.set_value(self, given).map(|()| {
                    self.origins
                        .0
                        .insert(key.name, LEGACY_CONFIG_FILE.to_string());
                }),
                None => Err(KeyProblem {
                    message: "is not a known key".to_string(),
                    nearest: nearest_name(name, CONFIG_KEYS.iter().filter_map(|key| key.old_name)),
                }),
            };
            if let Err(fault) = taken {
                problems.push(fault.at_key(LEGACY_CONFIG_FILE, line, name));
            }
        }
    }

    fn apply_value(&mut self, key: &str, given: ConfigValue, from: &str) -> Result<(), KeyProblem> {
        let key = find_key(key).ok_or_else(|| unknown_key(key))?;
        key.set_value(self, given)?;
        self.origins.0.insert(key.name, from.to_string());
        Ok(())
    }

    /// Restores the defaults of a warning threshold above its critical one:
    /// that warning could never appear.
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
                let fault = KeyProblem::new(format!(
                    "is above `audit.{name}_critical`; the defaults of both apply"
                ));
                problems.push(fault.at_key(CONFIG_FILE, None, &format!("audit.{name}_warn")));
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
            engine: "embedded".to_owned(),
            model: None,
        }
    }
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            url: String::new(),
            replica: String::new(),
            tenant: String::new(),
            team: "all".to_string(),
            workspace: String::new(),
            timeout_ms: 2000,
            max_lag_s: 60,
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
            tokenizer: Tokenizer::default(),
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

impl Default for GraphConfig {
    fn default() -> GraphConfig {
        GraphConfig {
            engine: "embedded".to_string(),
            url: String::new(),
            user: "neo4j".to_string(),
            database: String::new(),
            authority: None,
            tenant: "default".to_string(),
            workspace: String::new(),
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

fn read_config_file(root: &Path, name: &str, problems: &mut Vec<ConfigProblem>) -> Option<String> {
    let path = root.join(name);
    let refused = match regular::read_text(&path, LinkPolicy::Refuse, MAX_CONFIG_BYTES) {
        Ok(text) => return Some(text),
        Err(error) if error.is_not_found() => return None,
        Err(FileReadError::Link) => {
            "is a symlink and was not read; put the file itself there".to_string()
        }
        Err(FileReadError::NotAFile) => "is not a regular file and was not read".to_string(),
        Err(FileReadError::TooLarge { limit, .. }) => {
            format!("has more than {limit} bytes and was not read")
        }
        Err(FileReadError::NotUtf8 { .. }) => "is not UTF-8 and was not read".to_string(),
        Err(FileReadError::Io(error)) => format!("cannot be read: {error}"),
    };
    problems.push(KeyProblem::new(refused).whole_file(name, None));
    None
}

fn line_number_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

/// Upper bound for bytes of a settings file; with more, something else is at that
/// path.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests;
