//! The command line as types: the global flags and the list of commands.
//! Parsing fills plain values and never does work; [`crate::settings`] turns
//! them into decisions.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::commands;

/// Persistent, searchable, auditable memory for coding agents, kept as
/// Markdown in your git repository.
#[derive(Debug, Parser)]
#[command(
    name = "memory-forge",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge search \"how do refunds work\"   Ask the knowledge of this repository
  memory-forge audit                          See what agents load at every start
  memory-forge doctor --fix                   Repair it, with a diff and an undo

Run `memory-forge <command> --help` for the options of a command."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
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
pub(crate) enum Command {
    Init(commands::init::InitArgs),
    #[command(visible_alias = "sync")]
    Index(commands::index::IndexArgs),
    #[command(visible_alias = "query")]
    Search(commands::search::SearchArgs),
    Save(commands::save::SaveArgs),
    Forget(commands::forget::ForgetArgs),
    Restore(commands::restore::RestoreArgs),
    Stats(commands::stats::StatsArgs),
    Preview(commands::preview::PreviewArgs),
    Audit(commands::audit::AuditArgs),
    Doctor(commands::doctor::DoctorArgs),
    Mind(commands::mind::MindArgs),
    Session(commands::session::SessionArgs),
    Idea(commands::idea::IdeaArgs),
    Agent(commands::agent::AgentArgs),
    Lint(commands::lint::LintArgs),
    Consolidate(commands::consolidate::ConsolidateArgs),
    Sources(commands::sources::SourcesArgs),
    Mcp(commands::mcp::McpArgs),
    Closets(commands::closets::ClosetsArgs),
    Links(commands::links::LinksArgs),
    Graph(commands::graph::GraphArgs),
    Engine(commands::engine::EngineArgs),
    Manifest(commands::manifest::ManifestArgs),
    Domain(commands::domain::DomainArgs),
    Archive(commands::archive::ArchiveArgs),
    Upgrade(commands::upgrade::UpgradeArgs),
    Import(commands::import::ImportArgs),
    Export(commands::export::ExportArgs),
    Setup(commands::setup::SetupArgs),
    Uninstall(commands::uninstall::UninstallArgs),
    Merge(commands::merge::MergeArgs),
    Share(commands::share::ShareArgs),
    Status(commands::status::StatusArgs),
    Config(commands::config::ConfigArgs),
    Hook(commands::hook::HookArgs),
    Completion(commands::completion::CompletionArgs),
    Man(commands::man::ManArgs),
}

/// Reads the process's arguments. Help and version arrive as errors too, as
/// clap has it.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    Cli::try_parse()
}

/// The whole command line as data, for completions and manual pages.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        for command in definition().get_subcommands() {
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

    #[track_caller]
    fn parsed(line: &str) -> Cli {
        let words = std::iter::once("memory-forge").chain(line.split_whitespace());
        Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"))
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
        assert!(matches!(parsed("sync").command, Command::Index(_)));
        assert!(matches!(parsed("query x").command, Command::Search(_)));
    }

    #[test]
    fn k12_zero_is_a_value_and_not_an_absence() {
        let Command::Forget(args) = parsed("forget --max-files 0").command else {
            panic!("not forget")
        };
        assert_eq!(args.max_files, Some(0));
    }

    #[test]
    fn ci_and_undo_take_an_optional_value() {
        use commands::audit::Level;
        for (line, level) in [
            ("audit", None),
            ("audit --ci", Some(Level::Critical)),
            ("audit --ci warning", Some(Level::Warning)),
        ] {
            let Command::Audit(args) = parsed(line).command else {
                panic!("not audit")
            };
            assert_eq!(args.ci, level, "{line}");
        }
        for (line, undo) in [
            ("doctor", None),
            ("doctor --undo", Some(None)),
            ("doctor --undo 42", Some(Some("42".to_owned()))),
        ] {
            let Command::Doctor(args) = parsed(line).command else {
                panic!("not doctor")
            };
            assert_eq!(args.undo, undo, "{line}");
        }
    }
}
