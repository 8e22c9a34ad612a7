//! Resolves flags and environment to one [`Settings`]. This is the only place
//! that reads environment, home, current directory, clock and terminals; it
//! never opens a file and never prints.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use forge_app::workspace::Workspace;
use forge_clients::setup::{ClientPlaces, SetupSurroundings};
use jiff::Timestamp;

use crate::cli::{ColorWhen, GlobalArgs};
use crate::report::CommandError;

/// Columns for layout without a terminal.
const DEFAULT_COLUMNS: usize = 100;

/// Suffix of programs on this system.
pub(crate) const PROGRAM_SUFFIX: &str = std::env::consts::EXE_SUFFIX;

/// Returns the arguments of a `hook`, if that is the command. Global flags in
/// front of it are included. Help is left to the parser.
pub(crate) fn hook_arguments() -> Option<Vec<String>> {
    let all: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    if all.iter().any(|it| it == "--help" || it == "-h") {
        return None;
    }
    let mut at = 0;
    while let Some(argument) = all.get(at) {
        match argument.as_str() {
            "hook" => {
                let mut rest = all;
                rest.remove(at);
                return Some(rest);
            }
            // These flags have a value, which is not the command.
            "--root" | "--path" | "-p" | "--color" => at += 2,
            flag if flag.starts_with('-') => at += 1,
            _ => return None,
        }
    }
    None
}

/// Returns the words of the command line, the program's own name first. People
/// who know other programs type `help search`, which means `search --help`;
/// `help --all` stays as it is.
pub(crate) fn command_words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let all = words.len() == 3 && words[2] == "--all";
    if words.get(1).is_some_and(|word| word == "help") && !all {
        words.remove(1);
        // Of a command the complete help, of the program the list.
        let flag = if words.len() > 1 { "--help" } else { "-h" };
        words.push(flag.into());
    }
    words
}

/// Returns `true` if only the version is requested. Scripts do that often, and
/// the parser takes longer to build than the answer.
pub(crate) fn is_version_request() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    arguments.next().is_none() && first.is_some_and(|it| it == "--version" || it == "-V")
}

/// Returns folders of the user that may hold the key under which derived files
/// are marked, the preferred one first.
pub(crate) fn key_folders() -> Vec<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let state = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else {
        folder("XDG_STATE_HOME").or_else(|| Some(home?.join(".local/state")))
    };
    let runtime = folder("XDG_RUNTIME_DIR");
    forge_app::trust::key_folders(state, runtime, &std::env::temp_dir())
}

/// Returns the fault of a test; see [`crate::faults`].
#[cfg(debug_assertions)]
pub(crate) fn fault_plan() -> Option<String> {
    std::env::var("MEMORY_FORGE_FAULT").ok()
}

/// Surroundings of the process, observed once. A value of its own, so that
/// tests can construct one.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessEnvironment {
    project_root: Option<OsString>,
    claude_project_dir: Option<OsString>,
    now_override: Option<OsString>,
    mcp_token: Option<OsString>,
    model: Option<OsString>,
    push: Option<OsString>,
    in_claude: bool,
    in_gemini: bool,
    no_color: bool,
    force_color: bool,
    dumb_terminal: bool,
    editor: Option<OsString>,
    columns: Option<usize>,
    home: Option<PathBuf>,
    claude_config_dir: Option<PathBuf>,
    claude_plugin_data: Option<PathBuf>,
    codex_home: Option<PathBuf>,
    copilot_home: Option<PathBuf>,
    xdg_config_home: Option<PathBuf>,
    path: Vec<PathBuf>,
    binary: Option<PathBuf>,
    cwd: Option<PathBuf>,
    stdin_terminal: bool,
    stdout_terminal: bool,
    stderr_terminal: bool,
}

impl ProcessEnvironment {
    /// Reads environment, current directory and terminals.
    pub(crate) fn observe() -> ProcessEnvironment {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        // A relative folder would mean another one in each project.
        let folder = |name| {
            var(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let columns = || var("COLUMNS")?.to_str()?.parse().ok();
        let terminal_columns =
            || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        ProcessEnvironment {
            project_root: var("MEMORY_FORGE_PROJECT_ROOT"),
            claude_project_dir: var("CLAUDE_PROJECT_DIR"),
            now_override: var("MEMORY_FORGE_NOW"),
            mcp_token: var("MEMORY_FORGE_MCP_TOKEN"),
            model: var("MEMORY_FORGE_MODEL"),
            push: var("MEMORY_FORGE_PUSH"),
            in_claude: var("CLAUDECODE").is_some(),
            in_gemini: var("GEMINI_PROJECT_DIR").is_some(),
            no_color: var("NO_COLOR").is_some(),
            force_color: var("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            dumb_terminal: var("TERM").is_some_and(|value| value == "dumb"),
            editor: var("VISUAL").or_else(|| var("EDITOR")),
            columns: columns().or_else(terminal_columns),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            claude_config_dir: folder("CLAUDE_CONFIG_DIR"),
            claude_plugin_data: folder("CLAUDE_PLUGIN_DATA"),
            codex_home: folder("CODEX_HOME"),
            copilot_home: folder("COPILOT_HOME"),
            xdg_config_home: folder("XDG_CONFIG_HOME"),
            path: var("PATH").map_or_else(Vec::new, |path| std::env::split_paths(&path).collect()),
            binary: std::env::current_exe().ok(),
            cwd: std::env::current_dir().ok(),
            stdin_terminal: std::io::stdin().is_terminal(),
            stdout_terminal: std::io::stdout().is_terminal(),
            stderr_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Returns the moment of the start, or `MEMORY_FORGE_NOW`. A hook ignores
    /// an invalid value, since it cannot report one.
    pub(crate) fn now(&self) -> Timestamp {
        parse_now(self.now_override.as_ref()).unwrap_or_else(|_| Timestamp::now())
    }

    /// Returns `true` if `MEMORY_FORGE_PUSH` turns off what hooks bring without
    /// a request.
    pub(crate) fn is_push_off(&self) -> bool {
        self.push
            .as_ref()
            .is_some_and(|value| value == "off" || value == "0")
    }

    /// Returns the model file that the environment names.
    pub(crate) fn model(&self) -> Option<&Path> {
        self.model.as_deref().map(Path::new)
    }

    pub(crate) fn cwd(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the folders in which clients keep their files.
    pub(crate) fn client_places(&self) -> ClientPlaces<'_> {
        ClientPlaces {
            home: self.home.as_deref(),
            claude_config_dir: self.claude_config_dir.as_deref(),
            codex_home: self.codex_home.as_deref(),
            copilot_home: self.copilot_home.as_deref(),
            xdg_config_home: self.xdg_config_home.as_deref(),
            path: &self.path,
            binary: self.binary.as_deref(),
        }
    }

    pub(crate) fn claude_plugin_data(&self) -> Option<&Path> {
        self.claude_plugin_data.as_deref()
    }

    pub(crate) fn project_root(&self) -> Option<&Path> {
        self.project_root.as_deref().map(Path::new)
    }

    pub(crate) fn claude_project_dir(&self) -> Option<&Path> {
        self.claude_project_dir.as_deref().map(Path::new)
    }

    /// Returns `true` if Claude Code, or a program that it started, started us.
    pub(crate) fn is_in_claude(&self) -> bool {
        self.in_claude
    }

    pub(crate) fn is_in_gemini(&self) -> bool {
        self.in_gemini
    }

    /// Returns the style of messages that come before any flag was parsed.
    pub(crate) fn message_style(&self) -> MessageStyle {
        MessageStyle {
            color: self.is_colored(ColorWhen::Auto, self.stderr_terminal),
            fold: self.columns.filter(|_| self.stderr_terminal),
        }
    }

    fn is_colored(&self, when: ColorWhen, terminal: bool) -> bool {
        match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto if self.no_color => false,
            ColorWhen::Auto if self.force_color => true,
            ColorWhen::Auto => terminal && !self.dumb_terminal,
        }
    }
}

/// Style of messages for people on standard error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageStyle {
    pub(crate) color: bool,
    /// Columns at which lines are folded.
    pub(crate) fold: Option<usize>,
}

/// Everything that commands may know about their surroundings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `--root`.
    pub(crate) root_flag: Option<PathBuf>,
    /// `MEMORY_FORGE_PROJECT_ROOT`.
    pub(crate) env_root: Option<PathBuf>,
    /// `CLAUDE_PROJECT_DIR`, which Claude Code sets for its hooks.
    pub(crate) claude_project_dir: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `COPILOT_HOME`, `XDG_CONFIG_HOME`:
    /// folders of the clients' settings.
    pub(crate) claude_config_dir: Option<PathBuf>,
    /// `CLAUDE_PLUGIN_DATA`, the folder that Claude Code gives a plugin.
    pub(crate) claude_plugin_data: Option<PathBuf>,
    pub(crate) codex_home: Option<PathBuf>,
    pub(crate) copilot_home: Option<PathBuf>,
    pub(crate) xdg_config_home: Option<PathBuf>,
    /// The folders of `PATH`.
    pub(crate) path: Vec<PathBuf>,
    /// The file that is running.
    pub(crate) binary: Option<PathBuf>,
    cwd: Option<PathBuf>,
    /// The moment at which the program started, or `MEMORY_FORGE_NOW`.
    pub(crate) now: Timestamp,
    now_is_fixed: bool,
    /// `MEMORY_FORGE_MCP_TOKEN`, which a server on HTTP asks for.
    pub(crate) mcp_token: Option<String>,
    /// `MEMORY_FORGE_MODEL`, a model file of the user's choice.
    pub(crate) model: Option<PathBuf>,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) color_stdout: bool,
    pub(crate) color_stderr: bool,
    /// Columns to lay text out for.
    pub(crate) width: usize,
    pub(crate) stdin_terminal: bool,
    pub(crate) stdout_terminal: bool,
    pub(crate) stderr_terminal: bool,
    /// Whether the terminal can only print, line after line.
    pub(crate) dumb_terminal: bool,
    /// What `$VISUAL` or `$EDITOR` names, with its arguments.
    pub(crate) editor: Option<OsString>,
}

impl Settings {
    pub(crate) fn resolve(
        flags: &GlobalArgs,
        process: &ProcessEnvironment,
    ) -> Result<Settings, CommandError> {
        Ok(Settings {
            root_flag: flags.root.clone(),
            env_root: process.project_root.clone().map(PathBuf::from),
            claude_project_dir: process.claude_project_dir.clone().map(PathBuf::from),
            home: process.home.clone(),
            claude_config_dir: process.claude_config_dir.clone(),
            claude_plugin_data: process.claude_plugin_data.clone(),
            codex_home: process.codex_home.clone(),
            copilot_home: process.copilot_home.clone(),
            xdg_config_home: process.xdg_config_home.clone(),
            path: process.path.clone(),
            binary: process.binary.clone(),
            cwd: process.cwd.clone(),
            now: parse_now(process.now_override.as_ref())?,
            now_is_fixed: process.now_override.is_some(),
            mcp_token: process
                .mcp_token
                .as_ref()
                .map(|token| token.to_string_lossy().into_owned()),
            model: process.model.clone().map(PathBuf::from),
            quiet: flags.quiet,
            verbose: flags.verbose,
            color_stdout: process.is_colored(flags.color, process.stdout_terminal),
            color_stderr: process.is_colored(flags.color, process.stderr_terminal),
            width: process
                .columns
                .filter(|&columns| columns > 0)
                .unwrap_or(DEFAULT_COLUMNS),
            stdin_terminal: process.stdin_terminal,
            stdout_terminal: process.stdout_terminal,
            stderr_terminal: process.stderr_terminal,
            dumb_terminal: process.dumb_terminal,
            editor: process.editor.clone(),
        })
    }

    pub(crate) fn message_style(&self) -> MessageStyle {
        MessageStyle {
            color: self.color_stderr,
            fold: self.stderr_terminal.then_some(self.width),
        }
    }

    /// Returns the current time, for work that runs longer than a command.
    pub(crate) fn current_time(&self) -> Timestamp {
        if self.now_is_fixed {
            self.now
        } else {
            Timestamp::now()
        }
    }

    /// Returns a mark that no author of a file could have known, new with each
    /// call.
    pub(crate) fn nonce(&self) -> String {
        new_nonce()
    }

    /// Returns the folders of clients, for connecting them to a workspace.
    pub(crate) fn surroundings<'a>(&'a self, workspace: &'a Workspace) -> SetupSurroundings<'a> {
        SetupSurroundings {
            workspace,
            places: ClientPlaces {
                home: self.home.as_deref(),
                claude_config_dir: self.claude_config_dir.as_deref(),
                codex_home: self.codex_home.as_deref(),
                copilot_home: self.copilot_home.as_deref(),
                xdg_config_home: self.xdg_config_home.as_deref(),
                path: &self.path,
                binary: self.binary.as_deref(),
            },
            now: self.now,
        }
    }

    /// Returns the current directory. Fails if the directory was deleted under
    /// the process, and only for commands that need one.
    pub(crate) fn cwd(&self) -> Result<&Path, CommandError> {
        self.cwd.as_deref().ok_or_else(|| {
            CommandError::failure("The current directory does not exist or cannot be read")
                .hint("Change into the project, or name it with `--root <dir>`")
        })
    }
}

/// Returns a random mark for quoted text. It comes from the seed of hash maps,
/// which the system gives; a mark must be unknown beforehand, not secret for
/// ever.
pub(crate) fn new_nonce() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Returns the given time, or the current one by `Timestamp::parse_now`, never
/// `Zoned::parse_now`: the latter loads time zone data and costs more than the rest
/// of the start.
fn parse_now(given: Option<&OsString>) -> Result<Timestamp, CommandError> {
    let Some(given) = given else {
        return Ok(Timestamp::now());
    };
    let text = given.to_string_lossy();
    text.parse().map_err(|error| {
        CommandError::usage(format!(
            "`MEMORY_FORGE_NOW` is not a point in time: {error}"
        ))
        .hint("Write it as RFC 3339, for instance `2026-03-01T09:00:00Z`, or unset it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_flag_then_environment_then_terminal() {
        let check = |when, no_color, force_color, terminal, expect| {
            let process = ProcessEnvironment {
                no_color,
                force_color,
                stdout_terminal: terminal,
                ..ProcessEnvironment::default()
            };
            let flags = GlobalArgs {
                color: when,
                ..GlobalArgs::default()
            };
            let settings = Settings::resolve(&flags, &process).expect("nothing to refuse");
            let case = (when, no_color, force_color, terminal);
            assert_eq!(settings.color_stdout, expect, "{case:?}");
        };
        use ColorWhen::{Always, Auto, Never};
        check(Auto, false, false, true, true);
        check(Auto, false, false, false, false);
        check(Auto, true, false, true, false);
        check(Auto, true, true, true, false);
        check(Auto, false, true, false, true);
        check(Always, true, false, false, true);
        check(Never, false, true, true, false);
    }

    #[test]
    fn the_clock_can_be_fixed() {
        let process = ProcessEnvironment {
            now_override: Some("2026-03-01T09:00:00Z".into()),
            ..ProcessEnvironment::default()
        };
        let settings = Settings::resolve(&GlobalArgs::default(), &process).expect("a valid time");
        assert_eq!(settings.now.to_string(), "2026-03-01T09:00:00Z");
    }

    #[test]
    fn a_clock_that_is_no_time_is_refused() {
        let process = ProcessEnvironment {
            now_override: Some("yesterday".into()),
            ..ProcessEnvironment::default()
        };
        let error = Settings::resolve(&GlobalArgs::default(), &process).expect_err("no time");
        assert!(error.to_string().contains("MEMORY_FORGE_NOW"), "{error}");
    }

    #[test]
    fn a_missing_directory_fails_only_where_it_is_needed() {
        let settings = Settings::resolve(&GlobalArgs::default(), &ProcessEnvironment::default());
        let settings = settings.expect("resolving needs no directory");
        assert!(settings.cwd().is_err());
    }
}
