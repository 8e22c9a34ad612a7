//! Whether the memory is in order: which files are there, how large and how
//! old they are, and what a person should look at. Reports only.

use std::fs;

use jiff::Timestamp;

use super::{FOLDER, File, Layout, Log, Mind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub layout: Layout,
    pub folder_exists: bool,
    /// By the name of the file.
    pub state_files: Vec<(String, FileInfo)>,
    pub tracking_files: Vec<(String, FileInfo)>,
    pub total_state_bytes: u64,
    pub error_log: FileInfo,
    pub config_exists: bool,
    pub config_problems: Vec<String>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileInfo {
    pub exists: bool,
    pub size: u64,
    pub modified: Option<Timestamp>,
    pub age_seconds: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// How a state begins.
const BEGIN: &str = "memory-forge mind set --next '<what to do next>'";
const DAY: i64 = 24 * 60 * 60;
const LARGE_LOG: u64 = 100 * 1024;
const LARGE_STATE: u64 = 50_000;

impl Health {
    /// The worst of the findings; none when all is well.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|it| it.severity).max()
    }
}

impl Mind<'_> {
    pub fn health(&self, now: Timestamp) -> Health {
        let root = self.workspace.root();
        let info = |path: &str| info(root, path, now);
        let mut paths = vec![
            self.file(File::State),
            self.file(File::Progress),
            self.file(File::Decisions),
            self.file(File::SessionLog),
            self.file(File::Archive),
        ];
        paths.dedup();
        let state_files: Vec<(String, FileInfo)> = paths
            .iter()
            .map(|path| (path.file_name().to_owned(), info(path.as_str())))
            .collect();
        let small = Log::ALL.map(Log::name);
        let tracking_files = small
            .iter()
            .chain(&[".last-activity", ".file-tracker"])
            .map(|name| ((*name).to_owned(), info(&format!("{FOLDER}/{name}"))))
            .collect();
        let config_exists = ["memory-forge.toml", ".memoryforge.config.json"]
            .iter()
            .any(|name| root.join(name).is_file());
        let archive = self.file(File::Archive);
        let mut health = Health {
            layout: self.files.layout,
            folder_exists: root.join(FOLDER).is_dir(),
            total_state_bytes: state_files
                .iter()
                .filter(|(name, _)| name != archive.file_name())
                .map(|(_, info)| info.size)
                .sum(),
            state_files,
            tracking_files,
            error_log: info(&format!("{FOLDER}/.mcp-errors.log")),
            config_exists,
            config_problems: self
                .workspace
                .problems()
                .iter()
                .map(ToString::to_string)
                .collect(),
            findings: Vec::new(),
        };
        self.find(&mut health, now);
        health
    }

    fn find(&self, health: &mut Health, now: Timestamp) {
        let mut findings = Vec::new();
        let mut add = |severity, message: String| findings.push(Finding { severity, message });
        let state = self.file(File::State);
        if health.layout == Layout::Mind && !health.folder_exists {
            add(
                Severity::Error,
                format!("There is no `{FOLDER}/`; `{BEGIN}` makes it"),
            );
        } else if !health.state_files[0].1.exists {
            add(
                Severity::Error,
                format!("There is no `{state}`; `{BEGIN}` makes it"),
            );
        }
        for which in [
            File::State,
            File::Progress,
            File::Decisions,
            File::SessionLog,
        ] {
            if let Err(error) = self.text(which) {
                add(Severity::Error, error.to_string());
            }
        }
        if health.state_files[0]
            .1
            .age_seconds
            .is_some_and(|age| age > DAY)
        {
            add(
                Severity::Warning,
                format!("`{state}` was last written more than 24 hours ago"),
            );
        }
        if health.total_state_bytes > LARGE_STATE {
            // What is not old stays, however large it is.
            let old = self.compress(true, now).is_ok_and(|it| !it.is_nothing());
            let advice = if old {
                "`memory-forge mind compress` moves what is old to the archive"
            } else {
                "nothing in it is old, so a person has to shorten it"
            };
            add(
                Severity::Warning,
                format!(
                    "The state has {} bytes, more than {LARGE_STATE}; {advice}",
                    health.total_state_bytes
                ),
            );
        }
        if health.error_log.size > LARGE_LOG {
            add(
                Severity::Warning,
                format!(
                    "`{FOLDER}/.mcp-errors.log` has {} bytes",
                    health.error_log.size
                ),
            );
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
                add(Severity::Info, format!("There is no `{path}`: {without}"));
            }
        }
        for problem in &health.config_problems {
            add(Severity::Warning, problem.clone());
        }
        health.findings = findings;
    }
}

fn info(root: &std::path::Path, path: &str, now: Timestamp) -> FileInfo {
    let path = root.join(path);
    let Ok(meta) = fs::metadata(&path) else {
        return FileInfo::default();
    };
    let modified = super::modified(&path);
    FileInfo {
        exists: true,
        size: meta.len(),
        modified,
        age_seconds: modified.map(|at| (now.as_second() - at.as_second()).max(0)),
    }
}
