//! Defines the meaning, the values and the older name of every key.
//!
//! This is the only place that knows a key by its name; nothing here reads a
//! file.

use std::fmt;

use toml::de::DeValue;

use super::{ConfigProblem, PushMode, WorkspaceConfig};
use crate::workspace::RelPath;
use crate::workspace::included::glob_fault;

pub(super) struct ConfigKey {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) kind: KeyKind,
    pub(super) old_name: Option<&'static str>,
}

/// The values that a key may have, with the way to its place in [`Config`].
pub(super) enum KeyKind {
    Number {
        min: u64,
        max: u64,
        get: fn(&WorkspaceConfig) -> u64,
        set: fn(&mut WorkspaceConfig, u64),
    },
    Choice {
        of: &'static [&'static str],
        get: fn(&WorkspaceConfig) -> String,
        set: fn(&mut WorkspaceConfig, &str),
    },
    /// Any text that `refuse` has nothing against; empty is none.
    Text {
        about: &'static str,
        refuse: fn(&str) -> Option<&'static str>,
        get: fn(&WorkspaceConfig) -> &str,
        set: fn(&mut WorkspaceConfig, String),
    },
    /// A file of the workspace, and nothing outside of it; empty is none.
    File {
        get: fn(&WorkspaceConfig) -> String,
        set: fn(&mut WorkspaceConfig, Option<RelPath>),
    },
    /// Globs of paths; a text counts as a list of one.
    Globs {
        get: fn(&WorkspaceConfig) -> &[String],
        set: fn(&mut WorkspaceConfig, Vec<String>),
    },
}

impl ConfigKey {
    pub(super) fn set_value(
        &self,
        config: &mut WorkspaceConfig,
        given: ConfigValue,
    ) -> Result<(), KeyProblem> {
        let refused = || {
            KeyProblem::new(format!(
                "must be {}; the default {} applies",
                self.kind,
                self.format_value(&WorkspaceConfig::default())
            ))
        };
        match (&self.kind, given) {
            (KeyKind::Number { min, max, set, .. }, ConfigValue::Number(number)) => {
                let number = u64::try_from(number)
                    .ok()
                    .filter(|n| (min..=max).contains(&n));
                set(config, number.ok_or_else(refused)?);
                Ok(())
            }
            (KeyKind::Choice { of, set, .. }, ConfigValue::Text(text)) => {
                if !of.contains(&text.as_str()) {
                    let nearest = nearest_name(&text, of.iter().copied());
                    return Err(KeyProblem {
                        nearest,
                        ..refused()
                    });
                }
                set(config, &text);
                Ok(())
            }
            (KeyKind::Text { refuse, set, .. }, ConfigValue::Text(text)) => {
                if let Some(why) = refuse(&text) {
                    return Err(KeyProblem::new(why));
                }
                set(config, text);
                Ok(())
            }
            (KeyKind::File { set, .. }, ConfigValue::Text(text)) => {
                let file = match text.as_str() {
                    "" => None,
                    path => Some(RelPath::new(path).map_err(|_| refused())?),
                };
                set(config, file);
                Ok(())
            }
            (KeyKind::Globs { set, .. }, ConfigValue::List(globs)) => {
                // One that is wrong does not take the others with it.
                let fault = globs.iter().find_map(|glob| glob_fault(glob));
                let sound = globs.into_iter().filter(|it| glob_fault(it).is_none());
                set(config, sound.collect());
                fault.map_or(Ok(()), |fault| Err(KeyProblem::new(fault)))
            }
            (KeyKind::Globs { .. }, ConfigValue::Text(glob)) => {
                self.set_value(config, ConfigValue::List(vec![glob]))
            }
            _ => Err(refused()),
        }
    }

    pub(super) fn format_value(&self, config: &WorkspaceConfig) -> String {
        match self.kind {
            KeyKind::Number { get, .. } => get(config).to_string(),
            KeyKind::Choice { get, .. } | KeyKind::File { get, .. } => {
                format!("\"{}\"", get(config))
            }
            KeyKind::Text { get, .. } => format!("\"{}\"", get(config)),
            KeyKind::Globs { get, .. } => serde_json::to_string(get(config))
                .unwrap_or_default()
                .replace("\",\"", "\", \""),
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyKind::Number { min, max, .. } => write!(f, "a number from {min} to {max}"),
            KeyKind::Choice { of, .. } => {
                let quoted: Vec<String> = of.iter().map(|one| format!("\"{one}\"")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
            KeyKind::Text { about, .. } => f.write_str(about),
            KeyKind::File { .. } => f.write_str("a path inside the workspace"),
            KeyKind::Globs { .. } => f.write_str("a list of globs such as \"docs/**\""),
        }
    }
}

/// A value from a file, of any type.
pub(super) enum ConfigValue {
    Number(i64),
    Text(String),
    List(Vec<String>),
    Other,
}

impl ConfigValue {
    pub(super) fn from_toml(value: &DeValue<'_>) -> ConfigValue {
        match value {
            DeValue::Integer(n) => {
                let digits = n.as_str().replace('_', "");
                i64::from_str_radix(&digits, n.radix())
                    .map_or(ConfigValue::Other, ConfigValue::Number)
            }
            DeValue::String(text) => ConfigValue::Text(text.to_string()),
            DeValue::Array(values) => {
                let texts = values.iter().map(|value| match value.get_ref() {
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                });
                texts
                    .collect::<Option<_>>()
                    .map_or(ConfigValue::Other, ConfigValue::List)
            }
            _ => ConfigValue::Other,
        }
    }
}

/// A configuration problem whose file and line are not yet attached.
pub(super) struct KeyProblem {
    pub(super) message: String,
    pub(super) nearest: Option<String>,
}

impl KeyProblem {
    pub(super) fn new(message: impl Into<String>) -> KeyProblem {
        KeyProblem {
            message: message.into(),
            nearest: None,
        }
    }

    pub(super) fn at_key(self, file: &str, line: Option<usize>, key: &str) -> ConfigProblem {
        ConfigProblem {
            key: Some(key.to_string()),
            ..self.whole_file(file, line)
        }
    }

    pub(super) fn whole_file(self, file: &str, line: Option<usize>) -> ConfigProblem {
        ConfigProblem {
            file: file.to_string(),
            line,
            key: None,
            message: self.message,
            nearest: self.nearest,
        }
    }
}

pub(super) fn find_key(name: &str) -> Option<&'static ConfigKey> {
    CONFIG_KEYS.iter().find(|key| key.name == name)
}

pub(super) fn is_section(name: &str) -> bool {
    CONFIG_KEYS
        .iter()
        .any(|key| key.name.split('.').next() == Some(name))
}

pub(super) fn unknown_key(key: &str) -> KeyProblem {
    if let Some(section) = key.strip_suffix(".password") {
        let variable = format!("MEMORY_FORGE_{}_PASSWORD", section.to_uppercase());
        return KeyProblem::new(format!(
            "is not read from a file that git keeps: take it out, change it, and set `{variable}`"
        ));
    }
    // `limit` alone at the top of the file most likely means `search.limit`.
    let in_a_section = CONFIG_KEYS
        .iter()
        .map(|k| k.name)
        .find(|name| name.split('.').nth(1) == Some(key));
    let nearest = in_a_section
        .map(str::to_string)
        .or_else(|| nearest_name(key, CONFIG_KEYS.iter().map(|key| key.name)));
    KeyProblem {
        message: "is not a known key".to_string(),
        nearest,
    }
}

pub(super) fn nearest_name<'a>(
    given: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<String> {
    known
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_string())
}

macro_rules! number {
    ($name:literal, $section:ident.$field:ident, $min:expr, $max:expr, $old:expr, $about:literal) => {
        ConfigKey {
            name: $name,
            about: $about,
            old_name: $old,
            kind: KeyKind::Number {
                min: $min,
                max: $max,
                get: |c| c.$section.$field as u64,
                // The range of each key fits the type of its field.
                set: |c, n| c.$section.$field = n as _,
            },
        }
    };
}

macro_rules! text {
    ($name:literal, $section:ident.$field:ident, $kind:literal, $refuse:expr, $about:literal) => {
        ConfigKey {
            name: $name,
            about: $about,
            old_name: None,
            kind: KeyKind::Text {
                about: $kind,
                refuse: $refuse,
                get: |c| &c.$section.$field,
                set: |c, text| c.$section.$field = text,
            },
        }
    };
}

/// Checks an address of the graph server. A file that everyone gets must not
/// hold a password, and names no other kind of server.
fn check_bolt_address(url: &str) -> Option<&'static str> {
    let Some((scheme, after)) = url.split_once("://") else {
        return (!url.is_empty()).then_some("has no `bolt://` or `bolt+s://` in front");
    };
    let authority = after.split(['/', '?']).next().unwrap_or(after);
    if authority.contains('@') {
        return Some(
            "names a user and is not used: take that out, and give `MEMORY_FORGE_GRAPH_USER` and \
             `MEMORY_FORGE_GRAPH_PASSWORD`",
        );
    }
    let known = matches!(scheme, "bolt" | "bolt+s" | "neo4j" | "neo4j+s");
    let plain = url.len() <= 500 && !url.chars().any(|c| c.is_control() || c.is_whitespace());
    (!known || !plain).then_some("is not an address of `bolt`, `bolt+s`, `neo4j` or `neo4j+s`")
}

/// Checks an address of the shared index. A user name may be in it, a password
/// must not.
fn check_postgres_address(url: &str) -> Option<&'static str> {
    if url.is_empty() {
        return None;
    }
    let schemes = ["postgres://", "postgresql://"];
    let Some(after) = schemes.iter().find_map(|it| url.strip_prefix(it)) else {
        return Some("has no `postgres://` in front");
    };
    let authority = after.split(['/', '?']).next().unwrap_or(after);
    let user = authority.rsplit_once('@').map(|it| it.0);
    let lower = url.to_ascii_lowercase();
    (user.is_some_and(|it| it.contains(':')) || lower.contains("password=")).then_some(
        "holds a password and is not used: take it out, and give it as `PGPASSWORD` or in \
         `MEMORY_FORGE_ENGINE_URL`",
    )
}

/// Checks a name that is used in policies, paths and lists.
fn check_plain_name(name: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let bad = name.len() > 60 || !name.chars().all(fits) || name.starts_with('.');
    bad.then_some("must be at most 60 letters, digits, `-`, `_` and `.`, not beginning with `.`")
}

const MAX_COUNT: u64 = 1_000_000;

pub(super) static CONFIG_KEYS: &[ConfigKey] = &[
    ConfigKey {
        name: "knowledge.include",
        about: "Documents outside of `knowledge/` that are searched as well.",
        old_name: None,
        kind: KeyKind::Globs {
            get: |c| &c.knowledge.include,
            set: |c, globs| c.knowledge.include = globs,
        },
    },
    ConfigKey {
        name: "knowledge.exclude",
        about: "Exceptions from `knowledge.include`, as globs.",
        old_name: None,
        kind: KeyKind::Globs {
            get: |c| &c.knowledge.exclude,
            set: |c, globs| c.knowledge.exclude = globs,
        },
    },
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
        "Maximum number of tokens of a passage."
    ),
    number!(
        "search.limit",
        search.limit,
        1,
        100,
        None,
        "Number of passages that a search returns by default."
    ),
    number!(
        "search.embed_budget_ms",
        search.embed_budget_ms,
        0,
        60_000,
        None,
        "Time that a search may spend on missing vectors before it answers without the rest."
    ),
    ConfigKey {
        name: "search.mode",
        about: "Ranking of passages: by words, by meaning, or both.",
        old_name: None,
        kind: KeyKind::Choice {
            of: &["hybrid", "text", "vector"],
            get: |c| c.search.mode.to_string(),
            set: |c, text| {
                if let Ok(mode) = text.parse() {
                    c.search.mode = mode;
                }
            },
        },
    },
    ConfigKey {
        name: "search.engine",
        about: "Which index answers when no scope is named: this workspace's own, or the one that the organisation shares.",
        old_name: None,
        kind: KeyKind::Choice {
            of: &["embedded", "server"],
            get: |c| c.search.engine.clone(),
            set: |c, text| c.search.engine = text.to_owned(),
        },
    },
    ConfigKey {
        name: "search.model",
        about: "Model file that replaces the built-in one.",
        old_name: None,
        kind: KeyKind::File {
            get: |c| {
                c.search
                    .model
                    .as_ref()
                    .map_or_else(String::new, |it| it.to_string())
            },
            set: |c, file| c.search.model = file,
        },
    },
    text!(
        "engine.url",
        engine.url,
        "a postgres:// address without a password",
        check_postgres_address,
        "Address of the index that many workspaces share."
    ),
    text!(
        "engine.replica",
        engine.replica,
        "a postgres:// address without a password",
        check_postgres_address,
        "A read-only replica of it, for searches."
    ),
    text!(
        "engine.tenant",
        engine.tenant,
        "a name",
        check_plain_name,
        "The organisation whose part of the shared index is used."
    ),
    text!(
        "engine.team",
        engine.team,
        "a name",
        check_plain_name,
        "The team that may read what is pushed; `all` is everyone of the organisation."
    ),
    text!(
        "engine.workspace",
        engine.workspace,
        "a name",
        check_plain_name,
        "Name of this workspace there; by default the name of its folder."
    ),
    number!(
        "engine.timeout_ms",
        engine.timeout_ms,
        100,
        600_000,
        None,
        "Time limit of a search for the shared index in milliseconds, replica and primary together."
    ),
    number!(
        "engine.max_lag_s",
        engine.max_lag_s,
        1,
        86_400,
        None,
        "Maximum delay of a replica in seconds; one that is further behind is not queried."
    ),
    number!(
        "audit.file_warn",
        audit.file_warn,
        1,
        MAX_COUNT,
        None,
        "Tokens above which a file such as `CLAUDE.md` is warned about."
    ),
    number!(
        "audit.file_critical",
        audit.file_critical,
        1,
        MAX_COUNT,
        None,
        "Tokens above which a file such as `CLAUDE.md` is critical."
    ),
    number!(
        "audit.skill_warn",
        audit.skill_warn,
        1,
        MAX_COUNT,
        None,
        "Tokens above which any other file that agents load is warned about."
    ),
    number!(
        "audit.skill_critical",
        audit.skill_critical,
        1,
        MAX_COUNT,
        None,
        "Tokens above which any other file that agents load is critical."
    ),
    number!(
        "audit.total_warn",
        audit.total_warn,
        1,
        MAX_COUNT,
        None,
        "Tokens above which everything that agents load together is warned about."
    ),
    number!(
        "audit.total_critical",
        audit.total_critical,
        1,
        MAX_COUNT,
        None,
        "Tokens above which everything that agents load together is critical."
    ),
    ConfigKey {
        name: "audit.tokenizer",
        about: "The vocabulary that tokens are counted with; `claude` and `chars4` are estimates.",
        old_name: None,
        kind: KeyKind::Choice {
            of: &["o200k", "cl100k", "claude", "chars4"],
            get: |c| c.audit.tokenizer.to_string(),
            set: |c, text| c.audit.tokenizer = text.parse().unwrap_or_default(),
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
    ConfigKey {
        name: "graph.engine",
        about: "Source of answers to `graph ask`: the files themselves, or the graph server.",
        old_name: None,
        kind: KeyKind::Choice {
            of: &["embedded", "server"],
            get: |c| c.graph.engine.clone(),
            set: |c, text| c.graph.engine = text.to_string(),
        },
    },
    text!(
        "graph.url",
        graph.url,
        "a bolt:// or bolt+s:// address without a user",
        check_bolt_address,
        "The graph server, such as `bolt+s://graph.example.org:7687`."
    ),
    text!(
        "graph.user",
        graph.user,
        "a name",
        check_plain_name,
        "User name for the graph server."
    ),
    text!(
        "graph.database",
        graph.database,
        "a name",
        check_plain_name,
        "The database on the graph server; empty is the server's default."
    ),
    ConfigKey {
        name: "graph.authority",
        about: "PEM file of the authority that signed the graph server's certificate.",
        old_name: None,
        kind: KeyKind::File {
            get: |c| {
                c.graph
                    .authority
                    .as_ref()
                    .map_or_else(String::new, |it| it.to_string())
            },
            set: |c, file| c.graph.authority = file,
        },
    },
    text!(
        "graph.tenant",
        graph.tenant,
        "a name",
        check_plain_name,
        "Tenant of the graph, if several teams share a server."
    ),
    text!(
        "graph.workspace",
        graph.workspace,
        "a name",
        check_plain_name,
        "Name of this workspace on the graph server; if empty, made from its first commit."
    ),
    number!(
        "mind.keep_sessions",
        mind.keep_sessions,
        1,
        MAX_COUNT,
        Some("keepSessionsFull"),
        "Number of sessions that stay in full when the state is compressed."
    ),
    number!(
        "mind.keep_decisions",
        mind.keep_decisions,
        1,
        MAX_COUNT,
        Some("keepDecisionsFull"),
        "Number of decisions that stay in full when the state is compressed."
    ),
    number!(
        "mind.archive_after_days",
        mind.archive_after_days,
        1,
        MAX_COUNT,
        Some("archiveAfterDays"),
        "Days after which a task that is done moves to the archive."
    ),
    number!(
        "mind.tracking_max_lines",
        mind.tracking_max_lines,
        10,
        MAX_COUNT,
        Some("trackingMaxLines"),
        "Number of lines that a log of events keeps."
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
        MAX_COUNT,
        Some("sessionLogTailLines"),
        "Number of lines of the session log that a briefing shows."
    ),
    number!(
        "mind.briefing_decisions",
        mind.briefing_decisions,
        1,
        MAX_COUNT,
        Some("briefingRecentDecisions"),
        "Number of recent decisions that a briefing shows."
    ),
    number!(
        "mind.briefing_progress_lines",
        mind.briefing_progress_lines,
        1,
        MAX_COUNT,
        Some("briefingMaxProgressLines"),
        "Number of lines of progress that a briefing shows."
    ),
    number!(
        "mind.checkpoints",
        mind.checkpoints,
        3,
        MAX_COUNT,
        Some("maxCheckpointFiles"),
        "Number of checkpoints to keep."
    ),
    number!(
        "mind.stale_seconds",
        mind.stale_seconds,
        60,
        u32::MAX as u64,
        Some("staleWarningSeconds"),
        "Seconds after which state counts as stale."
    ),
    ConfigKey {
        name: "recall.push",
        about: "When hooks bring memory without a request: never, before an action whose key is known, or at prompts as well.",
        old_name: None,
        kind: KeyKind::Choice {
            of: &["off", "action", "all"],
            get: |c| c.recall.push.name().to_owned(),
            set: |c, text| {
                if let Some(mode) = PushMode::from_name(text) {
                    c.recall.push = mode;
                }
            },
        },
    },
];
