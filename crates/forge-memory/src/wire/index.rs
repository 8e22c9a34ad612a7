//! Operations on the index that an organisation shares, and what they report.

use std::time::Duration;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::index::Kind;
use crate::publish::Include;
use crate::recall::{Answer, Mode};

const MINUTE: Duration = Duration::from_secs(60);

/// What is to be done on the server of the shared index. The result is a
/// [`FromServer`](super::FromServer) with the type that each names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexOperation {
    /// Logs in, for a command that asks the user before it changes something:
    /// `()`. It fails as that command would, before the user is asked.
    Connect,
    /// [`SharedAnswer`]
    Search(IndexQuestion),
    /// The model of the vectors there, for a push that is about to embed.
    Model,
    /// [`IndexPushReport`]
    Push {
        /// What the workspace is called there.
        name: String,
        include: Include,
        /// Whether vectors go along, which are of the model that is there.
        with_vectors: bool,
        /// Push although somebody else pushed what this checkout does not know.
        force: bool,
    },
    /// [`PulledWorkspace`], after a line for each document.
    Pull { workspace: String },
    /// [`InitReport`]. Members as a person writes them.
    Init { members: Vec<String> },
    /// [`IndexStatus`]
    Status,
    /// Whether the workspace was there.
    DropWorkspace { name: String },
    /// The names of all tenants.
    TenantNames,
    /// `()`
    DropEverything,
    /// [`UpgradeReport`]
    Upgrade,
    /// A list of [`ListedMember`].
    Members,
    /// [`InitReport`]
    AddMember(TeamMember),
    /// The names of members that were renewed, or would be.
    RenewMembers { is_rehearsal: bool },
    /// [`MemberRemoval`]
    RemoveMember {
        login: String,
        team: Option<String>,
        drop_login: bool,
    },
    /// A list of [`TenantSummary`].
    Tenants,
    /// Whether the tenant was there.
    DropTenant { name: String },
    /// A list of [`InstallationFinding`].
    Check,
}

impl IndexOperation {
    /// Returns whether only the host that can be written to will do.
    pub fn needs_primary(&self) -> bool {
        !matches!(
            self,
            IndexOperation::Search(_) | IndexOperation::Status | IndexOperation::Pull { .. }
        )
    }

    /// Returns how long the server may take for each transaction, and for each
    /// statement of a push, since a large one takes its time. A search has one
    /// limit for all of it, `engine.timeout_ms`.
    pub fn limit(&self) -> Duration {
        match self {
            IndexOperation::Status => MINUTE / 2,
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
            | IndexOperation::Check => MINUTE * 10,
            // These may rewrite every passage of every organisation.
            IndexOperation::Init { .. }
            | IndexOperation::Upgrade
            | IndexOperation::DropWorkspace { .. }
            | IndexOperation::DropEverything => MINUTE * 120,
        }
    }
}

/// A question to the shared index. What the workspace forgot and corrected is
/// read by the worker, from the same lists.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexQuestion {
    pub question: String,
    pub mode: Mode,
    pub limit: usize,
    pub unique: bool,
    pub kinds: Vec<Kind>,
    pub scopes: Vec<String>,
    pub since: Option<Date>,
    pub today: Option<Date>,
    pub explain: bool,
}

/// What the shared index answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SharedAnswer {
    pub answer: Answer,
    /// What was in the way of it: hosts that did not answer.
    pub warnings: Vec<String>,
}

/// What a push did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPushReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    pub unchanged: usize,
    pub chunks: usize,
    pub secrets: usize,
    pub generation: i64,
    /// Documents that stay in the workspace.
    pub kept: usize,
    pub commit: Option<String>,
}

/// Whose documents came, after the documents themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledWorkspace {
    pub generation: i64,
    pub commit: Option<String>,
}

/// What `init` did, or adding a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InitReport {
    pub created: bool,
    /// Logins that did not exist and have no password yet.
    pub new_logins: Vec<String>,
    pub notes: Vec<String>,
}

/// What `upgrade` did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpgradeReport {
    pub from: u32,
    pub to: u32,
    pub workspaces: u64,
    pub notes: Vec<String>,
}

/// How the server is, as far as the caller may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexStatus {
    pub server: String,
    pub login: String,
    pub replica: bool,
    pub schema: u32,
    pub model: String,
    pub teams: Vec<String>,
    pub workspaces: Vec<SharedWorkspace>,
}

/// A workspace as the shared index knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWorkspace {
    pub name: String,
    pub team: String,
    pub generation: i64,
    pub commit: Option<String>,
    /// RFC 3339, by the server's clock.
    pub pushed_at: String,
    pub pushed_by: String,
    pub documents: u64,
    pub chunks: u64,
    pub embedded: u64,
}

/// What a member of a team may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberAccess {
    Read,
    Write,
    /// Push one workspace, and read nothing: for a job in CI.
    Push(String),
}

/// A login, or a role that stands for many, in a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamMember {
    pub login: String,
    pub team: String,
    pub access: MemberAccess,
    /// Whoever the server counts as a member of this role is meant.
    pub is_group: bool,
}

impl TeamMember {
    /// The team that everybody in a tenant reads.
    pub const EVERYONE: &'static str = "all";
}

/// A member as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedMember {
    pub member: TeamMember,
    /// The role is gone, or it is another one of that name: it has no rights.
    pub is_gone: bool,
    pub added_at: String,
    pub added_by: String,
}

/// What was taken from a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemberRemoval {
    pub rights: u64,
    /// Groups that are members, and that the login is in: it has their rights.
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

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingSeverity {
    /// Something is to be done.
    Problem,
    /// Something to know.
    Note,
}

/// One thing that was found on the server, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallationFinding {
    pub severity: FindingSeverity,
    pub what: String,
    pub advice: String,
}
