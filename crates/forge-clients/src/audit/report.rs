//! What an audit answers: files with their costs, and findings. These are
//! values alone; how they come about and how they are shown is decided
//! elsewhere.

use super::state::State;
use crate::client::Client;
use crate::tokens::Tokenizer;

/// Through whose eyes the files are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Every file that any client loads, counted whole.
    #[default]
    Plain,
    /// What one client loads at start, as it loads it.
    Client(Client),
}

impl View {
    pub fn id(self) -> &'static str {
        match self {
            View::Plain => "plain",
            View::Client(client) => client.name(),
        }
    }
}

/// How much something matters, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Worth knowing; nothing has to be done.
    Notice,
    Warning,
    Critical,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Notice => "NOTICE",
            Level::Warning => "WARNING",
            Level::Critical => "CRITICAL",
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Size,
    Total,
    Secret,
    Hidden,
    Order,
    Repeated,
    RepeatsKnowledge,
    Import,
    FrontMatter,
    Skill,
    Ignored,
    Cut,
    Unreadable,
    New,
    Modified,
    FirstAudit,
    NotIndexed,
}

impl Kind {
    pub const ALL: [Kind; 17] = [
        Kind::Size,
        Kind::Total,
        Kind::Secret,
        Kind::Hidden,
        Kind::Order,
        Kind::Repeated,
        Kind::RepeatsKnowledge,
        Kind::Import,
        Kind::FrontMatter,
        Kind::Skill,
        Kind::Ignored,
        Kind::Cut,
        Kind::Unreadable,
        Kind::New,
        Kind::Modified,
        Kind::FirstAudit,
        Kind::NotIndexed,
    ];

    pub fn id(self) -> &'static str {
        match self {
            Kind::Size => "size",
            Kind::Total => "total",
            Kind::Secret => "secret",
            Kind::Hidden => "hidden-text",
            Kind::Order => "orders-agent",
            Kind::Repeated => "repeated",
            Kind::RepeatsKnowledge => "repeats-knowledge",
            Kind::Import => "import",
            Kind::FrontMatter => "front-matter",
            Kind::Skill => "skill",
            Kind::Ignored => "ignored",
            Kind::Cut => "cut",
            Kind::Unreadable => "unreadable",
            Kind::New => "new",
            Kind::Modified => "modified",
            Kind::FirstAudit => "first-audit",
            Kind::NotIndexed => "not-indexed",
        }
    }
}

/// Something to know or to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    pub kind: Kind,
    /// Relative to the root; `TOTAL` for the sum.
    pub file: String,
    pub line: Option<usize>,
    /// By the tokenizer of the limits.
    pub tokens: Option<usize>,
    /// A sentence that names the file.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    pub(super) fn new(level: Level, kind: Kind, file: &str, message: String) -> Finding {
        Finding {
            level,
            kind,
            file: file.to_owned(),
            line: None,
            tokens: None,
            message,
            advice: None,
        }
    }

    pub(super) fn line(mut self, line: usize) -> Finding {
        self.line = Some(line);
        self
    }

    pub(super) fn advice(mut self, advice: impl Into<String>) -> Finding {
        self.advice = Some(advice.into());
        self
    }
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    Project,
    /// In a folder above the workspace.
    Above,
    /// The person's own, the same for all projects; never judged.
    User,
}

impl Origin {
    pub fn id(self) -> &'static str {
        match self {
            Origin::Project => "project",
            Origin::Above => "above",
            Origin::User => "user",
        }
    }
}

/// One file that is loaded, or would be when asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Relative to the root; beyond it absolute, or with `~` for home.
    pub path: String,
    pub origin: Origin,
    /// Why it is loaded, or when.
    pub why: String,
    /// Which part of it is loaded at start.
    pub part: String,
    /// Tokens at every start.
    pub always: usize,
    /// Tokens of the whole file.
    pub whole: usize,
    /// Tokens that come on top when it is used; `None` when nothing can.
    pub on_invoke: Option<usize>,
    /// In a folder below the root: loaded when work happens there.
    pub nested: bool,
    /// As `always`, by the tokenizer of the limits.
    pub judged: usize,
    pub limits: Option<Limits>,
    pub level: Option<Level>,
}

/// Counts above these are found too large; equal ones are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub warn: usize,
    pub critical: usize,
}

impl Limits {
    /// The level that a count reaches, with the limit that it is above.
    pub fn judge(self, tokens: usize) -> Option<(Level, usize)> {
        if tokens > self.critical {
            Some((Level::Critical, self.critical))
        } else if tokens > self.warn {
            Some((Level::Warning, self.warn))
        } else {
            None
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What the project costs at every start.
    pub autoload_tokens: usize,
    pub autoload_files: usize,
    /// Of these, in folders below the root.
    pub nested_tokens: usize,
    pub nested_files: usize,
    /// What the person's own files and those above the workspace add.
    pub beyond_tokens: usize,
    pub beyond_files: usize,
    /// What all skills, rules and the like would add if all were used.
    pub on_invoke_tokens: usize,
    pub knowledge_files: usize,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub view: View,
    pub tokenizer: Tokenizer,
    /// What limits are compared in.
    pub judge: Tokenizer,
    /// The project's own first, each in the order in which they are loaded.
    pub items: Vec<Item>,
    /// The worst first, then by file and line.
    pub findings: Vec<Finding>,
    pub total: Option<(Level, usize)>,
    pub total_limits: Limits,
    pub summary: Summary,
    /// What the next audit compares with; `None` when that is on disk already.
    pub state: Option<State>,
}

impl Report {
    /// The worst level among the findings.
    pub fn worst(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    pub fn at(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.level == level)
    }
}
