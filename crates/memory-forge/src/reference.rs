//! Renders the reference in `docs/reference/` from the definitions that the
//! program itself uses. It is part of the tests only: an outdated page fails
//! there, and `cargo xtask reference` rewrites it.

use std::fmt::Write;

use clap::{Arg, Command};
use forge_app::check::{CHECK_REGISTRY, CheckView};
use serde_json::Value;

const GENERATED_MARK: &str =
    "<!-- Written by `cargo xtask reference`; what is changed here is lost. -->";

/// Returns every page with its name and its text.
pub(crate) fn reference_pages() -> Vec<(&'static str, String)> {
    vec![
        ("commands.md", commands_page()),
        ("config.md", config_page()),
        ("mcp-tools.md", tools_page()),
        ("checks.md", checks_page()),
        ("exit-codes.md", exit_codes_page()),
    ]
}

fn page_head(title: &str, introduction: &str) -> String {
    format!("# {title}\n\n{GENERATED_MARK}\n\n{introduction}\n\n")
}

fn commands_page() -> String {
    let mut program = crate::cli::command_definition();
    program.build();
    let mut text = page_head(
        "Commands",
        "Every command with its arguments, options and examples. `memory-forge help <command>` \
         prints the same in a terminal, and `memory-forge man` prints manual pages.",
    );
    for (group, members) in crate::cli::COMMAND_GROUPS {
        let names = members
            .iter()
            .filter(|it| program.find_subcommand(it).is_some());
        let links: Vec<String> = names
            .map(|it| format!("[{it}](#memory-forge-{it})"))
            .collect();
        let _ = writeln!(text, "- {group}: {}", links.join(", "));
    }
    text.push_str("\n## Options of every command\n\n");
    for option in program.get_arguments().filter(|it| it.is_global_set()) {
        text += &argument_line(option);
    }
    for (group, members) in crate::cli::COMMAND_GROUPS {
        let _ = writeln!(text, "\n## {group}");
        for command in members.iter().filter_map(|it| program.find_subcommand(it)) {
            add_command(command, "memory-forge", 3, &mut text);
        }
    }
    text
}

fn add_command(command: &Command, before: &str, level: usize, text: &mut String) {
    let name = format!("{before} {}", command.get_name());
    let _ = writeln!(text, "\n{} {name}\n", "#".repeat(level));
    let about = command.get_long_about().or(command.get_about());
    let _ = writeln!(
        text,
        "{}",
        fold_paragraphs(&about.map(ToString::to_string).unwrap_or_default())
    );
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = writeln!(text, "\n```text\n{usage}\n```\n");
    let aliases: Vec<String> = command
        .get_visible_aliases()
        .map(|it| format!("`{it}`"))
        .collect();
    if !aliases.is_empty() {
        let _ = writeln!(text, "Also called {}.\n", aliases.join(", "));
    }
    for positional in command.get_positionals() {
        *text += &argument_line(positional);
    }
    let own = |it: &&Arg| !it.is_global_set() && !it.is_hide_set() && it.get_id() != "help";
    for option in command.get_opts().filter(own) {
        *text += &argument_line(option);
    }
    let flag = |it: &&Arg| !it.get_action().takes_values() && !it.is_positional();
    for option in command.get_arguments().filter(own).filter(flag) {
        *text += &argument_line(option);
    }
    if let Some(help) = command.get_after_help() {
        let help = help.to_string();
        let examples = help.split_once("Examples:\n").map_or("", |(_, it)| it);
        let lines: Vec<&str> = examples
            .lines()
            .map(|it| it.strip_prefix("  ").unwrap_or(it))
            .collect();
        let _ = writeln!(text, "\n```text\n{}\n```", lines.join("\n").trim_end());
    }
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        add_command(inner, &name, level + 1, text);
    }
}

fn argument_line(argument: &Arg) -> String {
    let takes_values = argument.get_action().takes_values();
    let value = match (takes_values, argument.get_value_names()) {
        (true, Some(names)) => format!(" <{}>", names.join("> <")),
        _ => String::new(),
    };
    let mut names = Vec::new();
    if argument.is_positional() {
        names.push(format!("`{}`", value.trim_start()));
    }
    names.extend(argument.get_short().map(|it| format!("`-{it}`")));
    names.extend(argument.get_long().map(|it| format!("`--{it}{value}`")));
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut text = format!(
        "- {}: {}",
        names.join(", "),
        fold_paragraphs(&help).replace("\n\n", ". ")
    );
    let possible: Vec<String> = if takes_values {
        argument
            .get_possible_values()
            .iter()
            .map(choice_text)
            .collect()
    } else {
        Vec::new()
    };
    if !possible.is_empty() {
        text += &format!(" — one of {}", possible.join(", "));
    }
    let default: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|it| it.to_string_lossy())
        .collect();
    if takes_values && !default.is_empty() {
        text += &format!("; `{}` unless given", default.join(" "));
    }
    text + "\n"
}

fn choice_text(value: &clap::builder::PossibleValue) -> String {
    match value.get_help() {
        Some(help) => format!(
            "`{}` ({})",
            value.get_name(),
            escape_markdown(&help.to_string())
        ),
        None => format!("`{}`", value.get_name()),
    }
}

fn config_page() -> String {
    let mut text = page_head(
        "Configuration",
        "`memory-forge.toml` at the root of the workspace may set these keys; every one is \
         optional. A flag wins over the environment, the environment over the file. \
         `memory-forge config` shows the values in effect and where each comes from.",
    );
    let mut section = "";
    for key in &forge_app::workspace::config_reference() {
        let (of, name) = key.key.split_once('.').unwrap_or(("", key.key));
        if of != section {
            let space = if section.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{space}## {of}\n");
            section = of;
        }
        let _ = write!(
            text,
            "- `{name}` = `{}`: {} ({})",
            key.default,
            escape_markdown(key.about),
            escape_markdown(&key.kind)
        );
        if let Some(old) = key.old_name {
            let _ = write!(text, "; `{old}` in the older `.memoryforge.config.json`");
        }
        text.push('\n');
    }
    text.push_str("\n## Environment\n\n");
    for (name, about) in ENVIRONMENT_VARIABLES {
        let _ = writeln!(text, "- `{name}`: {about}");
    }
    text
}

/// Variables that `settings.rs` reads; a test compares the two.
pub(crate) const ENVIRONMENT_VARIABLES: [(&str, &str); 12] = [
    (
        "MEMORY_FORGE_PROJECT_ROOT",
        "the workspace, where `--root` does not say",
    ),
    (
        "CLAUDE_PROJECT_DIR",
        "the workspace of a hook that Claude Code calls",
    ),
    (
        "MEMORY_FORGE_MODEL",
        "a model file to make vectors with, instead of the built-in one",
    ),
    (
        "MEMORY_FORGE_PUSH",
        "`off` turns off what hooks bring without a request",
    ),
    (
        "MEMORY_FORGE_MCP_TOKEN",
        "the token that `mcp --http` asks for",
    ),
    (
        "MEMORY_FORGE_NOW",
        "the time that the program believes it is, in RFC 3339; for tests",
    ),
    ("NO_COLOR", "no colours, whatever its value"),
    (
        "CLICOLOR_FORCE",
        "colours even without a terminal, unless it is `0`",
    ),
    (
        "COLUMNS",
        "how wide lines may be, where the terminal does not say",
    ),
    ("CLAUDE_CONFIG_DIR", "where Claude Code keeps its settings"),
    ("CODEX_HOME", "where Codex keeps its settings"),
    ("COPILOT_HOME", "where Copilot CLI keeps its settings"),
];

fn tools_page() -> String {
    let mut text = page_head(
        "MCP tools",
        "What `memory-forge mcp` offers to agent clients. Those of a usual session are listed; the \
         others can be called by name, and `--tools all` lists them too. \
         [The guide](../mcp.md) explains how answers are made.",
    );
    let usual = crate::mcp::tools::select_tools(&[]).expect("no name is wrong");
    for spec in &crate::mcp::tools::ALL_TOOLS {
        let listed = usual.iter().any(|it| it.name == spec.name);
        let tool = serde_json::to_value(spec.to_tool()).expect("tools are plain data");
        let say = |key: &str| tool["annotations"][key].as_bool() == Some(true);
        let effect = match (say("readOnlyHint"), say("destructiveHint")) {
            (true, _) => "reads",
            (_, true) => "replaces",
            _ => "adds",
        };
        let words = if listed { "listed" } else { "by name only" };
        let about = tool["description"].as_str().unwrap_or_default();
        let about = escape_markdown(about);
        let _ = writeln!(text, "## {}\n\n{about} ({effect}; {words})\n", spec.name);
        let input = &tool["inputSchema"];
        let required: Vec<&str> = input["required"]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let fields = input["properties"].as_object().into_iter().flatten();
        for (name, field) in fields {
            let mut kind = field["type"].as_str().unwrap_or_default().to_owned();
            if let Some(words) = field["enum"].as_array() {
                let words: Vec<String> = words
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|it| format!("`{it}`"))
                    .collect();
                kind = format!("one of {}", words.join(", "));
            }
            if let (Some(least), Some(most)) =
                (field["minimum"].as_i64(), field["maximum"].as_i64())
            {
                kind += &format!(" from {least} to {most}");
            }
            if required.contains(&name.as_str()) {
                kind += ", required";
            }
            let about = field["description"]
                .as_str()
                .map(|it| format!(": {}", escape_markdown(it)));
            let _ = writeln!(text, "- `{name}` ({kind}){}", about.unwrap_or_default());
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn checks_page() -> String {
    let mut text = page_head(
        "Checks",
        "Each finding has advice: a command that ends it, or a note that a person has \
         to decide. A test runs every such command and looks again.",
    );
    text.push_str(
        "## By id\n\n`memory-forge check` runs those whose commands include it, and `--only` takes \
         an id or the part before its dot. A command of the second column exits with 1 by a rule \
         of its own: `check`, `lint` and `mind health` at a warning or an error, `doctor` at a \
         problem, `links check` at a missing file, `consolidate` at a file of decisions that is \
         nearly full and was not to be shortened, the others at any finding.\n\n\
         | id | commands | it finds |\n|---|---|---|\n",
    );
    for check in &CHECK_REGISTRY {
        let selects = |view: &CheckView| view.checks().any(|it| it.id == check.id);
        let views = CheckView::ALL.into_iter().filter(selects).map(view_name);
        let views = views.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "| `{}` | {views} | {} |", check.id, check.about);
    }
    text.push_str(
        "\n## lint\n\n`memory-forge lint` makes these nine checks, in this order, and exits with 1 \
         when one of them warns; `--fix` does what loses nothing.\n\n",
    );
    add_check_table(CheckView::Lint, &mut text);
    text.push_str(
        "\n## doctor\n\n`memory-forge doctor` makes these, and exits with 1 when one of them finds \
         a problem.\n\n",
    );
    add_check_table(CheckView::Doctor, &mut text);
    text
}

fn view_name(view: CheckView) -> &'static str {
    match view {
        CheckView::All => "`check`",
        CheckView::Doctor => "`doctor`",
        CheckView::Lint => "`lint`",
        CheckView::Links => "`links check`",
        CheckView::Graph => "`graph check`",
        CheckView::Closets => "`closets check`",
        CheckView::Consolidate => "`consolidate`",
        CheckView::Health => "`mind health`",
        CheckView::Agents => "`agent index --check`",
    }
}

fn add_check_table(view: CheckView, text: &mut String) {
    text.push_str("| check | it finds |\n|---|---|\n");
    for check in view.checks() {
        let _ = writeln!(text, "| {} | {} |", check.title, check.about);
    }
}

fn exit_codes_page() -> String {
    let mut text = page_head(
        "Exit codes",
        "Results go to standard output, messages for people to standard error. Scripts \
         can rely on the code:",
    );
    text.push_str("| code | meaning |\n|---|---|\n");
    for (code, meaning) in crate::report::CODES {
        let _ = writeln!(text, "| {code} | {meaning} |");
    }
    text.push_str(
        "\n`memory-forge hook` always ends with 0, because a client would drop the user's prompt \
         otherwise. A reader that closes the pipe early, as `head` does, is not an error.\n",
    );
    text
}

/// Escapes text for a page: characters that mean something in Markdown or HTML,
/// except in code.
fn escape_markdown(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        match index % 2 {
            0 => {
                out += &part
                    .replace('<', "\\<")
                    .replace('*', "\\*")
                    .replace('|', "\\|")
                    .replace('[', "\\[")
            }
            _ => out += part,
        }
    }
    out
}

/// Unfolds the paragraphs of a help text.
fn fold_paragraphs(text: &str) -> String {
    let all = text
        .split("\n\n")
        .map(|it| escape_markdown(&it.split_whitespace().collect::<Vec<_>>().join(" ")));
    all.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// `UPDATE_REFERENCE=1` writes the pages; `cargo xtask reference` sets it.
    #[test]
    fn the_reference_is_as_the_program() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let mut stale = Vec::new();
        for (name, text) in reference_pages() {
            let file = folder.join(name);
            if std::env::var_os("UPDATE_REFERENCE").is_some() {
                std::fs::write(&file, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            let found = std::fs::read_to_string(&file).unwrap_or_default();
            if found.replace("\r\n", "\n") != text {
                stale.push(name);
            }
        }
        assert!(
            stale.is_empty(),
            "{stale:?} are out of date: run `cargo xtask reference`"
        );
    }

    #[test]
    fn every_variable_that_is_read_is_told() {
        let source = include_str!("settings.rs");
        for name in [
            "MEMORY_FORGE_PROJECT_ROOT",
            "MEMORY_FORGE_NOW",
            "MEMORY_FORGE_MCP_TOKEN",
        ] {
            assert!(source.contains(name), "{name}");
        }
        for (name, _) in ENVIRONMENT_VARIABLES {
            let known = source.contains(&format!("\"{name}\""));
            assert!(known, "`{name}` is not read any more");
        }
    }

    #[test]
    fn code_is_left_alone_and_text_is_escaped() {
        assert_eq!(escape_markdown("a <b> `<c>` [d]"), "a \\<b> `<c>` \\[d]");
    }
}
