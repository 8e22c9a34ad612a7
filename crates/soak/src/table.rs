//! The program's own table of commands, read from its help: what a user can
//! call, down to the last subcommand.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Every command that has no subcommands, as a user types it. A command that
/// can be called with and without one is listed as both.
pub fn commands(binary: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let help = help(binary, &path)?;
        let below = subcommands(&help);
        let usage = help.lines().find(|line| line.contains("Usage:"));
        let needs_one = usage.is_some_and(|line| line.contains("<COMMAND>"));
        if !path.is_empty() && (below.is_empty() || !needs_one) {
            found.push(path.join(" "));
        }
        for name in below {
            let mut path = path.clone();
            path.push(name);
            open.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn help(binary: &Path, path: &[String]) -> Result<String> {
    let mut command = Command::new(binary);
    if path.is_empty() {
        command.args(["help", "--all"]);
    } else {
        command.args(path).arg("-h");
    }
    let output = command.output();
    let output = output.context("the program cannot be started")?;
    ensure!(output.status.success(), "no help for `{}`", path.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

/// The names that a help lists, under whatever headings: the program's own
/// commands are grouped by purpose.
fn subcommands(help: &str) -> Vec<String> {
    let list = help
        .lines()
        .skip_while(|line| !line.starts_with("Usage:"))
        .take_while(|line| *line != "Options:");
    list.filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .map(str::to_owned)
        .collect()
}
