//! The command line as types: the global flags and the list of commands.
//! Parsing fills plain values and never does work; [`crate::settings`] turns
//! them into decisions.

use std::ffi::OsString;
use std::path::PathBuf;

use anstyle::Style;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands;

/// Persistent, searchable, auditable memory for coding agents, kept as
/// Markdown in your git repository.
#[derive(Debug, Parser)]
#[command(
    name = "memory-forge",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge search \"how do refunds work\"   Ask the knowledge of this repository
  memory-forge audit                          See what agents load at every start
  memory-forge doctor --fix                   Repair it, with a diff and an undo

`memory-forge help <command>` has the options of a command, and examples;
`memory-forge help --all` lists every command."
)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// Flags that every command understands, before or after its name.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Work in this directory instead of the workspace found from here
    #[arg(
        long,
        short = 'p',
        visible_alias = "path",
        global = true,
        value_name = "DIR"
    )]
    pub(crate) root: Option<PathBuf>,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,

    /// Print results and errors only
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say more about what is done
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Init(commands::init::InitArgs),
    Setup(commands::setup::SetupArgs),
    Uninstall(commands::uninstall::UninstallArgs),
    Status(commands::status::StatusArgs),
    View(commands::view::ViewArgs),
    #[command(visible_alias = "sync")]
    Index(commands::index::IndexArgs),
    #[command(visible_alias = "query")]
    Search(commands::search::SearchArgs),
    Save(commands::save::SaveArgs),
    Forget(commands::forget::ForgetArgs),
    Import(commands::import::ImportArgs),
    Export(commands::export::ExportArgs),
    Audit(commands::audit::AuditArgs),
    Doctor(commands::doctor::DoctorArgs),
    Check(commands::check::CheckArgs),
    Undo(commands::undo::UndoArgs),
    Why(commands::why::WhyArgs),
    Mind(commands::mind::MindArgs),
    Agent(commands::agent::AgentArgs),
    Workspace(commands::workspace::WorkspaceArgs),
    Links(commands::links::LinksArgs),
    Graph(commands::graph::GraphArgs),
    Share(commands::share::ShareArgs),
    Engine(commands::engine::EngineArgs),
    Lint(commands::lint::LintArgs),
    Consolidate(commands::consolidate::ConsolidateArgs),
    Restore(commands::restore::RestoreArgs),
    #[command(alias = "memory")]
    Stats(commands::stats::StatsArgs),
    Preview(commands::preview::PreviewArgs),
    Replay(commands::replay::ReplayArgs),
    Mcp(commands::mcp::McpArgs),
    Merge(commands::merge::MergeArgs),
    Config(commands::config::ConfigArgs),
    Hook(commands::hook::HookArgs),
    Completion(commands::completion::CompletionArgs),
    Man(commands::man::ManArgs),
    #[command(hide = true)]
    List(commands::earlier::DocumentListArgs),
    #[command(hide = true)]
    Clear(commands::earlier::ClearIndexArgs),
    #[command(hide = true)]
    Preload(commands::earlier::PreloadArgs),
}

/// Commands by purpose, in the order of the help. `help` omits the last group;
/// `help --all` shows it.
pub(crate) const COMMAND_GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["init", "setup", "uninstall", "status", "view"]),
    (
        "Knowledge",
        &["index", "search", "save", "forget", "import", "export"],
    ),
    (
        "Keep it small and true",
        &["audit", "doctor", "check", "undo", "why"],
    ),
    ("Work", &["mind", "agent"]),
    ("Many notes", &["workspace", "links", "graph"]),
    ("Team", &["share", "engine"]),
    (
        PLUMBING_GROUP,
        &[
            "lint",
            "consolidate",
            "restore",
            "stats",
            "preview",
            "replay",
            "mcp",
            "merge",
            "config",
            "hook",
            "completion",
            "man",
        ],
    ),
];

/// Title of the group that only `help --all` shows.
const PLUMBING_GROUP: &str = "Plumbing";

/// Commands below another one that also work without it. Most were commands of
/// their own once, and skills, scripts and habits use these names.
const MOVED_COMMANDS: [(&str, &str); 10] = [
    ("session", "mind"),
    ("idea", "mind"),
    ("manifest", "workspace"),
    ("domain", "workspace"),
    ("closets", "workspace"),
    ("archive", "workspace"),
    ("organise", "workspace"),
    ("organize", "workspace"),
    ("upgrade", "workspace"),
    ("sources", "workspace"),
];

/// Returns the command below which the command of this old name is now.
pub(crate) fn parent_of(name: &str) -> Option<&'static str> {
    let moved = MOVED_COMMANDS.iter().find(|(old, _)| *old == name)?;
    Some(moved.1)
}

/// Puts the parent before a command that moved. The command is the first word
/// that is neither a global flag nor the value of one.
fn with_parent(words: &[OsString]) -> Vec<OsString> {
    let mut words = words.to_vec();
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        match word {
            "--root" | "--path" | "-p" | "--color" => at += 2,
            flag if flag.starts_with('-') => at += 1,
            name => {
                if let Some(parent) = parent_of(name) {
                    words.insert(at, parent.into());
                }
                break;
            }
        }
    }
    words
}

/// Text for a user who typed the program's name alone.
pub(crate) const GETTING_STARTED: &str = "\
Memory for coding agents, kept as Markdown in your git repository

Usage: memory-forge <command>

Begin here:
  memory-forge init                   Prepare this directory
  memory-forge save context <name>    Write something down
  memory-forge search \"<question>\"    Find it again, by words or by meaning
  memory-forge audit                  See what agents load at every start
  memory-forge setup                  Connect your agents, so that they remember

`memory-forge help` lists the commands, `memory-forge help <command>` explains one.
";

/// Parses the words of the command line. Help and version are returned as
/// errors too, as clap has it.
pub(crate) fn parse_command_line(words: &[OsString]) -> Result<CommandLine, clap::Error> {
    // Only `help --all` arrives here: the other forms became flags before.
    let mut matches = if words.get(1).is_some_and(|word| word == "help") {
        definition_with_list(true).try_get_matches_from(["memory-forge", "-h"])?
    } else {
        command_definition().try_get_matches_from(with_parent(words))?
    };
    CommandLine::from_arg_matches_mut(&mut matches)
}

/// Returns the whole command line as data, for completions and manual pages.
pub(crate) fn command_definition() -> clap::Command {
    definition_with_list(false)
}

/// Returns the definition with a help that lists all commands, or all but
/// plumbing.
fn definition_with_list(all: bool) -> clap::Command {
    let command = CommandLine::command();
    let commands = list_by_group(&command, all);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}{options}Options:{options:#}\n{{options}}{{after-help}}",
        options = Style::new().bold().underline()
    ))
}

/// Renders the commands under the headings of their groups.
fn list_by_group(program: &clap::Command, all: bool) -> String {
    let heading = Style::new().bold().underline();
    let name = Style::new().bold();
    let mut text = String::new();
    for (title, members) in COMMAND_GROUPS {
        if title == PLUMBING_GROUP && !all {
            continue;
        }
        text += &format!("{heading}{title}:{heading:#}\n");
        let commands = members.iter().filter_map(|it| program.find_subcommand(it));
        for command in commands {
            let about = command.get_about().map(ToString::to_string);
            text += &format!(
                "  {name}{:<11}{name:#}  {}\n",
                command.get_name(),
                about.unwrap_or_default()
            );
        }
        text.push('\n');
    }
    text
}

/// Returns the command that the words name, as far as they are commands:
/// `memory-forge mind set` for `memory-forge -q mind set --nxt x`.
pub(crate) fn resolve_command_name(words: &[OsString]) -> String {
    let mut command = command_definition();
    let mut found = "memory-forge".to_owned();
    let words = with_parent(words);
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(next) = command.find_subcommand(word).cloned() {
            found += &format!(" {}", next.get_name());
            command = next;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command_definition().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        for command in command_definition().get_subcommands() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let call = format!("memory-forge {}", command.get_name());
            assert!(
                help.contains("Examples:") && help.contains(&call),
                "{call}: {help}"
            );
        }
    }

    #[test]
    fn every_command_of_commands_has_an_example() {
        for command in command_definition().get_subcommands() {
            for inner in command.get_subcommands() {
                let call = format!("memory-forge {} {}", command.get_name(), inner.get_name());
                let shown = [inner, command].iter().any(|it| {
                    let help = it.get_after_help().map(ToString::to_string);
                    help.is_some_and(|help| help.contains(&call))
                });
                assert!(shown, "{call} has no example");
            }
        }
    }

    #[test]
    fn every_example_can_be_typed() {
        fn examples(command: &clap::Command, found: &mut Vec<String>) {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            // A command that goes on in the next line.
            let whole: Vec<&str> = help.split("\\\n").map(str::trim_start).collect();
            let lines = whole.join("");
            let calls = lines.lines().map(str::trim_start);
            found
                .extend(calls.filter_map(|it| it.strip_prefix("memory-forge ").map(str::to_owned)));
            command.get_subcommands().for_each(|it| examples(it, found));
        }
        let mut found = Vec::new();
        examples(&command_definition(), &mut found);
        assert!(found.len() > 100, "{}", found.len());
        for line in found {
            if let Err(error) = parse_command_line(&typed(&line))
                && error.use_stderr()
            {
                panic!("memory-forge {line}: {error}");
            }
        }
    }

    /// Pages show commands without their output too; these can be typed.
    #[test]
    fn every_command_of_the_pages_can_be_typed() {
        fn pages(folder: &std::path::Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).expect("the folder is there") {
                let path = entry.expect("the folder can be read").path();
                match path.is_dir() {
                    true => pages(&path, found),
                    false if path.extension().is_some_and(|it| it == "md") => found.push(path),
                    false => {}
                }
            }
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = vec![root.join("README.md")];
        pages(&root.join("docs"), &mut found);
        let mut lines = 0;
        for page in found {
            let text = std::fs::read_to_string(&page).expect("the page can be read");
            let blocks = text.split("```sh\n").skip(1);
            for block in blocks.filter_map(|it| it.split("```").next()) {
                for line in block.replace("\\\n", " ").lines() {
                    let Some(call) = line.trim().strip_prefix("memory-forge ") else {
                        continue;
                    };
                    lines += 1;
                    let code = call.split(" #").next().unwrap_or(call);
                    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
                    if let Err(error) = parse_command_line(&typed(&code))
                        && error.use_stderr()
                    {
                        panic!("{}: {line}: {error}", page.display());
                    }
                }
            }
        }
        assert!(lines > 30, "{lines} lines were found");
    }

    /// The words that a shell would hand over; what stands behind two spaces
    /// explains, and what stands behind `>`, `<` or `|` is for the shell.
    fn typed(line: &str) -> Vec<OsString> {
        let mut words = vec![OsString::from("memory-forge")];
        for (index, part) in line.trim().split(['"', '\'']).enumerate() {
            if index % 2 == 1 {
                words.push(part.into());
                continue;
            }
            let explained = part.find("  ");
            let code = &part[..explained.unwrap_or(part.len())];
            for word in code.split_whitespace() {
                if matches!(word, ">" | ">>" | "<" | "|") {
                    return words;
                }
                words.push(word.into());
            }
            if explained.is_some() {
                return words;
            }
        }
        words
    }

    /// One line each, so that the list reads as a list in the narrowest usual
    /// terminal.
    #[test]
    fn every_command_is_in_a_group_and_its_line_fits() {
        let program = command_definition();
        let help = list_by_group(&program, true);
        let help = anstream::adapter::strip_str(&help).to_string();
        let shown = program.get_subcommands().filter(|it| !it.is_hide_set());
        for command in shown.map(clap::Command::get_name) {
            let listed = COMMAND_GROUPS.iter().any(|(_, all)| all.contains(&command));
            assert!(listed, "{command} is in no group");
        }
        let usual = COMMAND_GROUPS
            .iter()
            .filter(|(title, _)| *title != PLUMBING_GROUP);
        let count: usize = usual.map(|(_, members)| members.len()).sum();
        assert!(count <= 23, "{count} commands are shown");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn the_command_that_is_meant_is_told_from_its_words() {
        let check = |line: &str, expect| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(resolve_command_name(&words), expect, "{line}");
        };
        check("memory-forge -q mind set --nxt x", "memory-forge mind set");
        check("memory-forge setup cluade", "memory-forge setup");
        check("memory-forge serch x", "memory-forge");
        check(
            "memory-forge -q session end",
            "memory-forge mind session end",
        );
    }

    #[track_caller]
    fn parsed(line: &str) -> CommandLine {
        let words = std::iter::once("memory-forge").chain(line.split_whitespace());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        parse_command_line(&words).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    #[test]
    fn global_flags_stand_before_or_after_the_command() {
        for line in [
            "--root x stats",
            "stats --root x",
            "stats --path x",
            "stats -p x",
        ] {
            assert_eq!(parsed(line).global.root, Some(PathBuf::from("x")), "{line}");
        }
    }

    #[test]
    fn old_names_still_work() {
        assert!(matches!(parsed("sync").command, CliCommand::Index(_)));
        assert!(matches!(parsed("query x").command, CliCommand::Search(_)));
        assert!(matches!(parsed("memory").command, CliCommand::Stats(_)));
        for (line, now) in [
            ("session start", "mind session start"),
            ("-q --root x idea list", "-q --root x mind idea list"),
            ("manifest show", "workspace manifest show"),
            (
                "--color never domain list",
                "--color never workspace domain list",
            ),
            (
                "closets build --hub idea",
                "workspace closets build --hub idea",
            ),
            ("archive a.md -r old", "workspace archive a.md -r old"),
            ("organise --dry-run", "workspace organise --dry-run"),
            ("organize --dry-run", "workspace organise --dry-run"),
            ("upgrade --dry-run", "workspace upgrade --dry-run"),
            ("sources list", "workspace sources list"),
        ] {
            let (old, new) = (parsed(line), parsed(now));
            assert_eq!(format!("{old:?}"), format!("{new:?}"), "{line}");
        }
    }

    #[test]
    fn k12_zero_is_a_value_and_not_an_absence() {
        let CliCommand::Forget(args) = parsed("forget --max-files 0").command else {
            panic!("not forget")
        };
        assert_eq!(args.max_files, Some(0));
    }

    #[test]
    fn ci_and_undo_take_an_optional_value() {
        use commands::audit::AuditLevelChoice;
        for (line, level) in [
            ("audit", None),
            ("audit --ci", Some(AuditLevelChoice::Critical)),
            ("audit --ci warning", Some(AuditLevelChoice::Warning)),
        ] {
            let CliCommand::Audit(args) = parsed(line).command else {
                panic!("not audit")
            };
            assert_eq!(args.ci, level, "{line}");
        }
        for (line, undo) in [
            ("doctor", None),
            ("doctor --undo", Some(None)),
            ("doctor --undo 42", Some(Some("42".to_owned()))),
        ] {
            let CliCommand::Doctor(args) = parsed(line).command else {
                panic!("not doctor")
            };
            assert_eq!(args.undo, undo, "{line}");
        }
    }
}
