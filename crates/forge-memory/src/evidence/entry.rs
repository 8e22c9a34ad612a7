//! The entries of evidence as values. Every text in them was redacted and
//! shortened by [`super::observe`] before it came here.

use serde::{Deserialize, Serialize};

use super::fault::CommandFault;

/// One fact with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceEntry {
    /// Seconds since 1970, in UTC.
    pub at: i64,
    /// Hash of the client's session id. Ids are only compared.
    pub session: String,
    /// Identifies the call or prompt, so that it is recorded once, whether a
    /// hook or a transcript reports it first.
    pub id: String,
    /// What was observed; its fields are flattened into the entry's line.
    #[serde(flatten)]
    pub fact: EvidenceFact,
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EvidenceFact {
    /// A command that ran, whether it worked or failed.
    Command(CommandFact),
    /// A path that was looked for and is not there.
    Missing {
        /// The missing path; a relative one starts from the workspace.
        path: String,
    },
    /// A whole read that the client refused, with the size on disk if known.
    TooLarge {
        /// The file, relative to the workspace unless outside of it.
        path: String,
        /// Its size in bytes; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
    },
    /// A command that the user did not allow, with what the user wrote.
    Refused {
        /// The command line, redacted and shortened.
        command: String,
        /// The user's reason, redacted and shortened; empty if none was given.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
    },
    /// A prompt that corrects what was done.
    Corrected {
        /// The beginning of the prompt, redacted and shortened.
        words: String,
    },
    /// A file that was read, whole or in part.
    Read {
        /// The file, relative to the workspace unless outside of it.
        path: String,
    },
    /// A file that was created or edited.
    Changed {
        /// The file, relative to the workspace unless outside of it.
        path: String,
    },
}

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFact {
    /// The folder it ran in, relative to the workspace; empty for its root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// The command line, redacted and shortened.
    pub command: String,
    /// Whether it succeeded. An exit code of 0 does not count where the output
    /// shows a failure that the command line hides.
    pub worked: bool,
    /// The exit code; `None` if the client reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The first line of its output that reports an error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The part of the command that a program did not accept; `None` for other
    /// failures and for success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<CommandFault>,
    /// The tests that its output counts; `None` if it has no such summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestTally>,
}

/// Tests that a command reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestTally {
    /// Number of tests that passed.
    pub passed: usize,
    /// Number of tests that failed.
    pub failed: usize,
}

impl EvidenceFact {
    /// Returns the path that the fact is about, if it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            EvidenceFact::Missing { path }
            | EvidenceFact::TooLarge { path, .. }
            | EvidenceFact::Read { path }
            | EvidenceFact::Changed { path } => Some(path),
            _ => None,
        }
    }

    /// Returns `true` for an entry that repeats another: the newer one has
    /// everything that the older one has.
    pub(super) fn repeats(&self, other: &EvidenceFact) -> bool {
        match (self, other) {
            (EvidenceFact::Read { .. }, _)
            | (EvidenceFact::Changed { .. }, _)
            | (EvidenceFact::Missing { .. }, _)
            | (EvidenceFact::TooLarge { .. }, _) => {
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && self.path() == other.path()
            }
            (EvidenceFact::Command(a), EvidenceFact::Command(b)) => {
                a.worked && b.worked && a.command == b.command && a.dir == b.dir
            }
            _ => false,
        }
    }

    /// Returns the order in which entries are dropped when there are too many:
    /// the lowest first.
    pub(super) fn worth(&self) -> u8 {
        match self {
            EvidenceFact::Read { .. } => 0,
            EvidenceFact::Changed { .. } => 1,
            EvidenceFact::Command(command) if command.worked => 2,
            EvidenceFact::Missing { .. } | EvidenceFact::TooLarge { .. } => 3,
            EvidenceFact::Command(command) if command.fault.is_none() => 4,
            EvidenceFact::Command(_) => 5,
            EvidenceFact::Corrected { .. } => 6,
            EvidenceFact::Refused { .. } => 7,
        }
    }
}
