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
        /// Which documents are pushed.
        include: PublishScope,
        /// Whether vectors are pushed, which must be of the server's model.
        with_vectors: bool,
        /// Pushes even if others have pushed changes that this checkout does
        /// not have.
        force: bool,
    },
    /// Returns a [`PulledWorkspace`], after a line for each document.
    Pull {
        /// The name of the workspace on the server.
        workspace: String,
    },
    /// Returns an [`InitReport`]. Members as a person writes them.
    Init {
        /// The members to add.
        members: Vec<String>,
    },
    /// Returns an [`SharedIndexStatus`].
    Status,
    /// Returns whether the workspace existed.
    DropWorkspace {
        /// The name of the workspace on the server.
        name: String,
    },
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
    RenewMembers {
        /// Whether nothing is changed.
        is_rehearsal: bool,
    },
    /// Returns a [`MemberRemoval`].
    RemoveMember {
        /// The login of the member.
        login: String,
        /// The team that it leaves; none means all teams.
        team: Option<String>,
        /// Whether the login itself is dropped as well.
        drop_login: bool,
    },
    /// Returns a list of [`TenantSummary`].
    Tenants,
    /// Returns whether the tenant existed.
    DropTenant {
        /// The name of the tenant.
        name: String,
    },
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
    /// The question in a person's words.
    pub question: String,
    /// The rankings to use.
    pub mode: RecallMode,
    /// Maximum number of hits.
    pub limit: usize,
    /// Whether a file has at most one hit.
    pub unique: bool,
    /// Kinds to search; empty means every kind.
    pub kinds: Vec<DocumentKind>,
    /// Scopes to search; empty means every scope.
    pub scopes: Vec<String>,
    /// The first day of the documents to search.
    pub since: Option<Date>,
    /// The day to which "two weeks ago" is relative.
    pub today: Option<Date>,
    /// Whether to explain each score term by term.
    pub explain: bool,
}

/// The answer of the shared index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SharedAnswer {
    /// The hits, and what limits them.
    pub answer: RecallAnswer,
    /// Warnings, such as hosts that did not answer.
    pub warnings: Vec<String>,
}

/// Changes by a push.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPushReport {
    /// Number of documents that are new on the server.
    pub added: usize,
    /// Number of documents with another text.
    pub changed: usize,
    /// Number of documents that are gone.
    pub removed: usize,
    /// Number of documents that the server had already.
    pub unchanged: usize,
    /// Number of passages that were sent.
    pub chunks: usize,
    /// Number of secrets that were redacted.
    pub secrets: usize,
    /// The version of the workspace on the server after the push.
    pub generation: i64,
    /// Number of documents that stay in the workspace.
    pub kept: usize,
    /// The commit that was pushed, if there is one.
    pub commit: Option<String>,
}

/// The version of a pulled workspace, which follows its documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledWorkspace {
    /// The version of the workspace on the server.
    pub generation: i64,
    /// The commit that was pushed, if there is one.
    pub commit: Option<String>,
}

/// Changes by `init` or by adding a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InitReport {
    /// Whether the installation did not exist before.
    pub created: bool,
    /// Logins that were created and have no password yet.
    pub new_logins: Vec<String>,
    /// Remarks for a person.
    pub notes: Vec<String>,
}

/// Changes by `upgrade`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpgradeReport {
    /// The format before.
    pub from: u32,
    /// The format after.
    pub to: u32,
    /// Number of workspaces that were brought forward.
    pub workspaces: u64,
    /// Remarks for a person.
    pub notes: Vec<String>,
}

/// The status of the server, as far as the caller may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedIndexStatus {
    /// The address for display.
    pub server: String,
    /// The login of the caller.
    pub login: String,
    /// Whether the server is a replica.
    pub replica: bool,
    /// The format of the installation.
    pub schema: u32,
    /// The model of the vectors.
    pub model: String,
    /// The teams of the caller.
    pub teams: Vec<String>,
    /// The workspaces that the caller may read.
    pub workspaces: Vec<SharedWorkspace>,
}

/// A workspace in the shared index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWorkspace {
    /// The name of the workspace.
    pub name: String,
    /// The team that may read it.
    pub team: String,
    /// The version, which every push raises.
    pub generation: i64,
    /// The commit of the last push, if there is one.
    pub commit: Option<String>,
    /// Time in RFC 3339, by the server's clock.
    pub pushed_at: String,
    /// The login that pushed last.
    pub pushed_by: String,
    /// Number of documents.
    pub documents: u64,
    /// Number of passages.
    pub chunks: u64,
    /// Number of passages with a vector.
    pub embedded: u64,
}

/// The rights of a member of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberAccess {
    /// May read what the team has.
    Read,
    /// May read and push.
    Write,
    /// May push one workspace and read nothing: for a CI job.
    Push(String),
}

/// A login, or a role that represents many, in a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamMember {
    /// The login or the role.
    pub login: String,
    /// The team.
    pub team: String,
    /// What it may do.
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
    /// The member with its team and rights.
    pub member: TeamMember,
    /// Whether the role was dropped, or dropped and recreated: it then has no
    /// rights.
    pub is_gone: bool,
    /// When it was added, in RFC 3339.
    pub added_at: String,
    /// The login that added it.
    pub added_by: String,
}

/// Rights that were revoked from a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemberRemoval {
    /// Number of rights that were revoked.
    pub rights: u64,
    /// Groups that the login is in and that are members: it keeps their rights.
    pub groups: Vec<String>,
}

/// A tenant as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantSummary {
    /// The name of the tenant.
    pub name: String,
    /// Its teams.
    pub teams: Vec<String>,
    /// Number of its members.
    pub members: u64,
    /// Number of its workspaces.
    pub workspaces: u64,
    /// Number of its passages.
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
    /// How serious it is.
    pub severity: FindingSeverity,
    /// What was found, as a sentence.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}
