//! Defines what an audit returns: files with their costs, and findings. These
//! are values alone; how they are computed and shown is decided elsewhere.

use super::state::AuditState;
use crate::client::AgentClient;
use crate::tokens::Tokenizer;

/// View that decides which files count, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AuditView {
    /// Every file that any client loads, counted whole.
    #[default]
    Plain,
    /// What one client loads at start, as it loads it.
    Client(AgentClient),
}

impl AuditView {
    /// Returns the name for programs.
    pub fn id(self) -> &'static str {
        match self {
            AuditView::Plain => "plain",
            AuditView::Client(client) => client.name(),
        }
    }
}

/// Severity of a finding, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditLevel {
    /// Worth knowing; nothing has to be done.
    Notice,
    /// Should be looked at.
    Warning,
    /// Should be repaired now.
    Critical,
}

impl AuditLevel {
    /// Returns the name in capitals, as it is shown.
    pub fn name(self) -> &'static str {
        match self {
            AuditLevel::Notice => "NOTICE",
            AuditLevel::Warning => "WARNING",
            AuditLevel::Critical => "CRITICAL",
        }
    }
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuditFindingKind {
    /// A file is larger than its limit.
    Size,
    /// All files together are larger than their limit.
    Total,
    /// A text looks like a secret.
    Secret,
    /// A file has characters that people do not see.
    Hidden,
    /// A text gives orders to the agent.
    Order,
    /// Several loaded files hold the same text.
    Repeated,
    /// A loaded file repeats the knowledge.
    RepeatsKnowledge,
    /// An import leads nowhere, in a circle or too deep.
    Import,
    /// Front matter is malformed.
    FrontMatter,
    /// A skill breaks the rules that clients share.
    Skill,
    /// A client does not read the file.
    Ignored,
    /// A client reads only a part of the file.
    Cut,
    /// The file cannot be read.
    Unreadable,
    /// The file is new since the last audit.
    New,
    /// The file has changed since the last audit.
    Modified,
    /// There is no earlier audit to compare with.
    FirstAudit,
    /// The index lacks the file, or is older than it.
    NotIndexed,
}

impl AuditFindingKind {
    /// All kinds, in the order in which they are declared.
    pub const ALL: [AuditFindingKind; 17] = [
        AuditFindingKind::Size,
        AuditFindingKind::Total,
        AuditFindingKind::Secret,
        AuditFindingKind::Hidden,
        AuditFindingKind::Order,
        AuditFindingKind::Repeated,
        AuditFindingKind::RepeatsKnowledge,
        AuditFindingKind::Import,
        AuditFindingKind::FrontMatter,
        AuditFindingKind::Skill,
        AuditFindingKind::Ignored,
        AuditFindingKind::Cut,
        AuditFindingKind::Unreadable,
        AuditFindingKind::New,
        AuditFindingKind::Modified,
        AuditFindingKind::FirstAudit,
        AuditFindingKind::NotIndexed,
    ];

    /// Returns the name for programs.
    pub fn id(self) -> &'static str {
        match self {
            AuditFindingKind::Size => "size",
            AuditFindingKind::Total => "total",
            AuditFindingKind::Secret => "secret",
            AuditFindingKind::Hidden => "hidden-text",
            AuditFindingKind::Order => "orders-agent",
            AuditFindingKind::Repeated => "repeated",
            AuditFindingKind::RepeatsKnowledge => "repeats-knowledge",
            AuditFindingKind::Import => "import",
            AuditFindingKind::FrontMatter => "front-matter",
            AuditFindingKind::Skill => "skill",
            AuditFindingKind::Ignored => "ignored",
            AuditFindingKind::Cut => "cut",
            AuditFindingKind::Unreadable => "unreadable",
            AuditFindingKind::New => "new",
            AuditFindingKind::Modified => "modified",
            AuditFindingKind::FirstAudit => "first-audit",
            AuditFindingKind::NotIndexed => "not-indexed",
        }
    }
}

/// Problem or remark about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    /// Severity of the finding.
    pub level: AuditLevel,
    /// Kind of the finding, which decides its advice.
    pub kind: AuditFindingKind,
    /// Path relative to the root; `TOTAL` for the sum.
    pub file: String,
    /// Line, where one is at fault.
    pub line: Option<usize>,
    /// Tokens by the tokenizer of the limits.
    pub tokens: Option<usize>,
    /// Sentence that names the file.
    pub message: String,
    /// Advice on what to do.
    pub advice: Option<String>,
}

impl AuditFinding {
    pub(super) fn new(
        level: AuditLevel,
        kind: AuditFindingKind,
        file: &str,
        message: String,
    ) -> AuditFinding {
        AuditFinding {
            level,
            kind,
            file: file.to_owned(),
            line: None,
            tokens: None,
            message,
            advice: None,
        }
    }

    pub(super) fn at_line(mut self, line: usize) -> AuditFinding {
        self.line = Some(line);
        self
    }

    pub(super) fn with_advice(mut self, advice: impl Into<String>) -> AuditFinding {
        self.advice = Some(advice.into());
        self
    }
}

/// Owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileOrigin {
    /// A file of the project.
    Project,
    /// A file in a folder above the workspace.
    Above,
    /// A file of the user for all projects; never judged.
    User,
}

impl FileOrigin {
    /// Returns the name for programs.
    pub fn id(self) -> &'static str {
        match self {
            FileOrigin::Project => "project",
            FileOrigin::Above => "above",
            FileOrigin::User => "user",
        }
    }
}

/// File that is loaded, or would be on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditItem {
    /// Path relative to the root; outside of it absolute, or with `~` for home.
    pub path: String,
    /// Owner of the file: the project, the user or a folder above.
    pub origin: FileOrigin,
    /// Reason or occasion of loading it.
    pub why: String,
    /// Part of it that is loaded at start.
    pub part: String,
    /// Tokens at every start.
    pub always: usize,
    /// Tokens of the whole file.
    pub whole: usize,
    /// Tokens that are added when it is used; `None` if nothing can be.
    pub on_invoke: Option<usize>,
    /// Whether it is in a folder below the root, and loaded when work happens
    /// there.
    pub nested: bool,
    /// The same as `always`, by the tokenizer of the limits.
    pub judged: usize,
    /// Limits for this kind of file, where there are any.
    pub limits: Option<TokenLimits>,
    /// Severity of its size, where it exceeds a limit.
    pub level: Option<AuditLevel>,
}

/// Limits that a count may reach; only counts above them are findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLimits {
    /// Tokens above which it is a warning.
    pub warn: usize,
    /// Tokens above which it is critical.
    pub critical: usize,
}

impl TokenLimits {
    /// Returns the level that a count reaches, with the limit that it exceeds.
    pub fn level_of(self, tokens: usize) -> Option<(AuditLevel, usize)> {
        if tokens > self.critical {
            Some((AuditLevel::Critical, self.critical))
        } else if tokens > self.warn {
            Some((AuditLevel::Warning, self.warn))
        } else {
            None
        }
    }
}

/// Sums of an audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditSummary {
    /// Tokens of the project at every start.
    pub autoload_tokens: usize,
    /// Number of files of the project that are loaded at every start.
    pub autoload_files: usize,
    /// Share of these in folders below the root.
    pub nested_tokens: usize,
    /// Number of these in folders below the root.
    pub nested_files: usize,
    /// Tokens of the user's own files and of those above the workspace.
    pub beyond_tokens: usize,
    /// Number of the user's own files and of those above the workspace.
    pub beyond_files: usize,
    /// Tokens that all skills, rules and the like would add if all were used.
    pub on_invoke_tokens: usize,
    /// Number of documents in the knowledge, which no client loads.
    pub knowledge_files: usize,
}

/// Result of auditing one view.
#[derive(Clone, Debug)]
pub struct AuditReport {
    /// View that was audited.
    pub view: AuditView,
    /// Tokenizer of the numbers that are shown.
    pub tokenizer: Tokenizer,
    /// Tokenizer that limits are compared with.
    pub judge: Tokenizer,
    /// Files, the project's own first, each group in the order of loading.
    pub items: Vec<AuditItem>,
    /// Findings, the worst first, then by file and line.
    pub findings: Vec<AuditFinding>,
    /// Severity and tokens of the sum, where it exceeds a limit.
    pub total: Option<(AuditLevel, usize)>,
    /// Limits of the sum.
    pub total_limits: TokenLimits,
    /// Sums over all files.
    pub summary: AuditSummary,
    /// State that the next audit compares with; `None` if it is on disk
    /// already.
    pub state: Option<AuditState>,
}

impl AuditReport {
    /// Returns the worst level among the findings.
    pub fn worst_level(&self) -> Option<AuditLevel> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    /// Returns the findings of one level.
    pub fn findings_at(&self, level: AuditLevel) -> impl Iterator<Item = &AuditFinding> {
        self.findings.iter().filter(move |f| f.level == level)
    }
}
