//! Operations on the index that an organisation shares, and their results.

use std::time::Duration;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::index::DocumentKind;
use crate::publish::PublishScope;
use crate::recall::{RecallAnswer, RecallMode};

const ONE_MINUTE: Duration = Duration::from_secs(60);

/// An operation on the server of the shared index. The result is a
/// [`FromServer`](super::FromServer) of the type that each names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexOperation {
    /// Logs in, for a command that asks the user before a change; returns `()`.
    /// Fails as that command would, before the question to the user.
    Connect,
    /// Returns a [`SharedAnswer`].
    Search(IndexQuestion),
    /// Returns the model of the vectors on the server, for a push that embeds
    /// next.
    Model,
    /// Returns an [`IndexPushReport`].
    Push {
        /// The name of the workspace on the server.
        name: String,
        include: PublishScope,
        /// Whether vectors are pushed, which must be of the server's model.
        with_vectors: bool,
        /// Pushes even if others have pushed changes that this checkout does
        /// not have.
        force: bool,
    },
    /// Returns a [`PulledWorkspace`], after a line for each document.
    Pull { workspace: String },
    /// Returns an [`InitReport`]. Members as a person writes them.
    Init { members: Vec<String> },
    /// Returns an [`SharedIndexStatus`].
    Status,
    /// Returns whether the workspace existed.
    DropWorkspace { name: String },
    /// Returns the names of all tenants.
    TenantNames,
    /// Returns `()`.
    DropEverything,
    /// Returns an [`UpgradeReport`].
    Upgrade,
    /// Returns a list of [`ListedMember`].
    Members,
    /// Returns an [`InitReport`].
    AddMember(TeamMember),
    /// Returns the names of members that were renewed, or would be.
    RenewMembers { is_rehearsal: bool },
    /// Returns a [`MemberRemoval`].
    RemoveMember {
        login: String,
        team: Option<String>,
        drop_login: bool,
    },
    /// Returns a list of [`TenantSummary`].
    Tenants,
    /// Returns whether the tenant existed.
    DropTenant { name: String },
    /// Returns a list of [`InstallationFinding`].
    Check,
}

impl IndexOperation {
    /// Returns `true` if the operation needs a host that accepts writes.
    pub fn needs_primary(&self) -> bool {
        !matches!(
            self,
            IndexOperation::Search(_) | IndexOperation::Status | IndexOperation::Pull { .. }
        )
    }

    /// Returns the time limit for each transaction, and for each statement of a
    /// push, since a large push takes long. A search has one limit in total,
    /// `engine.timeout_ms`.
    pub fn time_limit(&self) -> Duration {
        match self {
            IndexOperation::Status => ONE_MINUTE / 2,
            IndexOperation::Search(_)
            | IndexOperation::Connect
            | IndexOperation::Model
            | IndexOperation::Push { .. }
            | IndexOperation::Pull { .. }
            | IndexOperation::TenantNames
            | IndexOperation::Members
            | IndexOperation::AddMember(_)
            | IndexOperation::RenewMembers { .. }
            | IndexOperation::RemoveMember { .. }
            | IndexOperation::Tenants
            | IndexOperation::DropTenant { .. }
            | IndexOperation::Check => ONE_MINUTE * 10,
            // These may rewrite every passage of every organisation.
            IndexOperation::Init { .. }
            | IndexOperation::Upgrade
            | IndexOperation::DropWorkspace { .. }
            | IndexOperation::DropEverything => ONE_MINUTE * 120,
        }
    }
}

/// A query to the shared index. The worker reads the workspace's forgotten
/// documents and corrections itself, from the same lists.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexQuestion {
    pub question: String,
    pub mode: RecallMode,
    pub limit: usize,
    pub unique: bool,
    pub kinds: Vec<DocumentKind>,
    pub scopes: Vec<String>,
    pub since: Option<Date>,
    pub today: Option<Date>,
    pub explain: bool,
}

/// The answer of the shared index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SharedAnswer {
    pub answer: RecallAnswer,
    /// Warnings, such as hosts that did not answer.
    pub warnings: Vec<String>,
}

/// Changes by a push.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPushReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    pub unchanged: usize,
    pub chunks: usize,
    pub secrets: usize,
    pub generation: i64,
    /// Number of documents that stay in the workspace.
    pub kept: usize,
    pub commit: Option<String>,
}

/// The version of a pulled workspace, which follows its documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledWorkspace {
    pub generation: i64,
    pub commit: Option<String>,
}

/// Changes by `init` or by adding a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InitReport {
    pub created: bool,
    /// Logins that were created and have no password yet.
    pub new_logins: Vec<String>,
    pub notes: Vec<String>,
}

/// Changes by `upgrade`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpgradeReport {
    pub from: u32,
    pub to: u32,
    pub workspaces: u64,
    pub notes: Vec<String>,
}

/// The status of the server, as far as the caller may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedIndexStatus {
    pub server: String,
    pub login: String,
    pub replica: bool,
    pub schema: u32,
    pub model: String,
    pub teams: Vec<String>,
    pub workspaces: Vec<SharedWorkspace>,
}

/// A workspace in the shared index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWorkspace {
    pub name: String,
    pub team: String,
    pub generation: i64,
    pub commit: Option<String>,
    /// Time in RFC 3339, by the server's clock.
    pub pushed_at: String,
    pub pushed_by: String,
    pub documents: u64,
    pub chunks: u64,
    pub embedded: u64,
}

/// The rights of a member of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberAccess {
    Read,
    Write,
    /// May push one workspace and read nothing: for a CI job.
    Push(String),
}

/// A login, or a role that represents many, in a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamMember {
    pub login: String,
    pub team: String,
    pub access: MemberAccess,
    /// Whether everyone whom the server counts as a member of this role is
    /// meant.
    pub is_group: bool,
}

impl TeamMember {
    /// The team that everyone in a tenant can read.
    pub const EVERYONE_TEAM: &'static str = "all";
}

/// A member as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedMember {
    pub member: TeamMember,
    /// Whether the role was dropped, or dropped and recreated: it then has no
    /// rights.
    pub is_gone: bool,
    pub added_at: String,
    pub added_by: String,
}

/// Rights that were revoked from a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemberRemoval {
    pub rights: u64,
    /// Groups that the login is in and that are members: it keeps their rights.
    pub groups: Vec<String>,
}

/// A tenant as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantSummary {
    pub name: String,
    pub teams: Vec<String>,
    pub members: u64,
    pub workspaces: u64,
    pub passages: u64,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingSeverity {
    /// Something to fix.
    Problem,
    /// A remark for the user.
    Note,
}

/// A finding about the server, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallationFinding {
    pub severity: FindingSeverity,
    pub what: String,
    pub advice: String,
}
