//! Checks the health of the state: which files exist, their size and age, and
//! what a person should look at. Reports only.

use std::fs;

use jiff::Timestamp;

use super::{EventLog, FOLDER, MindFile, MindStore, StateLayoutKind};
use crate::thresholds::{MAX_ERROR_LOG_BYTES, MAX_STATE_BYTES, STATE_UNTOUCHED_SECONDS};
use crate::workspace::RelPath;

/// The health of a workspace's state files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateHealth {
    /// Which of the two layouts is used.
    pub layout: StateLayoutKind,
    /// Whether the folder of the state exists.
    pub folder_exists: bool,
    /// State files by name.
    pub state_files: Vec<(String, FileInfo)>,
    /// Small files that hooks keep, by name.
    pub tracking_files: Vec<(String, FileInfo)>,
    /// The size of the state files together.
    pub total_state_bytes: u64,
    /// The log of errors.
    pub error_log: FileInfo,
    /// Whether there is a file of settings.
    pub config_exists: bool,
    /// Settings that were not applied, and why.
    pub config_problems: Vec<String>,
    /// Problems other than those of the configuration.
    pub problems: Vec<HealthProblem>,
}

/// Size and age of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// Whether the file exists.
    pub exists: bool,
    /// The size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: Option<Timestamp>,
    /// The seconds since then.
    pub age_seconds: Option<i64>,
}

/// A problem of the state that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HealthProblem {
    /// `.mind/` does not exist.
    NoFolder,
    /// No state file exists.
    NoState(RelPath),
    /// A file cannot be read, with the reason.
    Unreadable(RelPath, String),
    /// The state was not written for [`STATE_UNTOUCHED_SECONDS`].
    Untouched(RelPath),
    /// The state files exceed [`MAX_STATE_BYTES`] together.
    Large {
        /// The size of the state files together.
        bytes: u64,
        /// Whether compression would move anything.
        has_old: bool,
    },
    /// The error log exceeds [`MAX_ERROR_LOG_BYTES`].
    LargeErrorLog {
        /// The file.
        path: String,
        /// Its size in bytes.
        bytes: u64,
    },
    /// A client's configuration file is missing, so that client is not
    /// connected.
    NotConnected {
        /// The file that is missing.
        path: &'static str,
        /// What the client does not get without it.
        without: &'static str,
    },
}

/// The command that creates the first state.
const FIRST_STATE_COMMAND: &str = "memory-forge mind set --next '<what to do next>'";

impl HealthProblem {
    /// Returns the problem as a sentence without a full stop.
    pub fn message(&self) -> String {
        match self {
            HealthProblem::NoFolder => {
                format!("There is no `{FOLDER}/`; `{FIRST_STATE_COMMAND}` makes it")
            }
            HealthProblem::NoState(path) => {
                format!("There is no `{path}`; `{FIRST_STATE_COMMAND}` makes it")
            }
            HealthProblem::Unreadable(_, why) => why.clone(),
            HealthProblem::Untouched(path) => {
                format!("`{path}` was last written more than 24 hours ago")
            }
            HealthProblem::Large { bytes, has_old } => {
                let advice = if *has_old {
                    "`memory-forge mind compress` moves what is old to the archive"
                } else {
                    "nothing in it is old, so a person has to shorten it"
                };
                format!("The state has {bytes} bytes, more than {MAX_STATE_BYTES}; {advice}")
            }
            HealthProblem::LargeErrorLog { path, bytes } => {
                format!("`{path}` has {bytes} bytes")
            }
            HealthProblem::NotConnected { path, without } => {
                format!("There is no `{path}`: {without}")
            }
        }
    }
}

impl MindStore<'_> {
    /// Checks the state files and returns their sizes, ages and problems.
    pub fn check_health(&self, now: Timestamp) -> StateHealth {
        let root = self.workspace.root();
        let info = |path: &str| read_file_info(root, path, now);
        let mut paths = vec![
            self.file_path(MindFile::State),
            self.file_path(MindFile::Progress),
            self.file_path(MindFile::Decisions),
            self.file_path(MindFile::SessionLog),
            self.file_path(MindFile::Archive),
        ];
        paths.dedup();
        let state_files: Vec<(String, FileInfo)> = paths
            .iter()
            .map(|path| (path.file_name().to_owned(), info(path.as_str())))
            .collect();
        let small = EventLog::ALL.map(EventLog::name);
        let tracking_files = small
            .iter()
            .chain(&[".last-activity", ".file-tracker"])
            .map(|name| ((*name).to_owned(), info(&format!("{FOLDER}/{name}"))))
            .collect();
        let config_exists = ["memory-forge.toml", ".memoryforge.config.json"]
            .iter()
            .any(|name| root.join(name).is_file());
        let archive = self.file_path(MindFile::Archive);
        let mut health = StateHealth {
            layout: self.files.layout,
            folder_exists: root.join(FOLDER).is_dir(),
            total_state_bytes: state_files
                .iter()
                .filter(|(name, _)| name != archive.file_name())
                .map(|(_, info)| info.size)
                .sum(),
            state_files,
            tracking_files,
            error_log: info(&error_log_path()),
            config_exists,
            config_problems: self
                .workspace
                .problems()
                .iter()
                .map(ToString::to_string)
                .collect(),
            problems: Vec::new(),
        };
        health.problems = self.find_problems(&health, now);
        health
    }

    fn find_problems(&self, health: &StateHealth, now: Timestamp) -> Vec<HealthProblem> {
        let mut problems = Vec::new();
        let state = self.file_path(MindFile::State);
        let (_, state_info) = &health.state_files[0];
        if health.layout == StateLayoutKind::Mind && !health.folder_exists {
            problems.push(HealthProblem::NoFolder);
        } else if !state_info.exists {
            problems.push(HealthProblem::NoState(state.clone()));
        }
        for which in [
            MindFile::State,
            MindFile::Progress,
            MindFile::Decisions,
            MindFile::SessionLog,
        ] {
            if let Err(error) = self.read_text(which) {
                problems.push(HealthProblem::Unreadable(
                    self.file_path(which),
                    error.to_string(),
                ));
            }
        }
        if state_info
            .age_seconds
            .is_some_and(|age| age > STATE_UNTOUCHED_SECONDS)
        {
            problems.push(HealthProblem::Untouched(state));
        }
        if health.total_state_bytes > MAX_STATE_BYTES {
            // Compression cannot help if nothing is old, so the advice differs.
            let has_old = self.compress_state(true, now).is_ok_and(|it| !it.is_noop());
            problems.push(HealthProblem::Large {
                bytes: health.total_state_bytes,
                has_old,
            });
        }
        if health.error_log.size > MAX_ERROR_LOG_BYTES {
            problems.push(HealthProblem::LargeErrorLog {
                path: error_log_path(),
                bytes: health.error_log.size,
            });
        }
        for (path, without) in [
            (
                ".mcp.json",
                "agents reach the memory by hooks and the command line alone",
            ),
            (
                ".claude/settings.json",
                "no hooks are set up for Claude Code in this project",
            ),
        ] {
            if !self.workspace.root().join(path).is_file() {
                problems.push(HealthProblem::NotConnected { path, without });
            }
        }
        problems
    }
}

fn error_log_path() -> String {
    format!("{FOLDER}/.mcp-errors.log")
}

fn read_file_info(root: &std::path::Path, path: &str, now: Timestamp) -> FileInfo {
    let path = root.join(path);
    let Ok(meta) = fs::metadata(&path) else {
        return FileInfo::default();
    };
    let modified = super::file_modified_at(&path);
    FileInfo {
        exists: true,
        size: meta.len(),
        modified,
        age_seconds: modified.map(|at| (now.as_second() - at.as_second()).max(0)),
    }
}
