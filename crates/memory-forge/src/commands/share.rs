//! `share`: a private note becomes everyone's, or the other way round. Links
//! and pointers follow; nothing with a secret in it is shared.

use std::path::PathBuf;

use clap::Args;
use forge_app::links::{self, Vault};
use forge_app::secrets;
use forge_app::teams::private;
use forge_app::workspace::RelPath;
use serde_json::json;

use super::doctor::show_diff;
use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Share a private note (`*.local.md`), or make one private
///
/// Private notes are searched and briefed like others, and git ignores them.
/// Sharing renames `x.local.md` to `x.md`, rewrites the links and pointers to
/// it, and refuses text that looks like a secret. `--private` goes back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge share knowledge/plan.local.md             Show it, ask, share it
  memory-forge share --private knowledge/plan.md         Take it back
  memory-forge share knowledge/plan.local.md --dry-run   Only show it")]
pub(crate) struct ShareArgs {
    /// The note
    pub(crate) file: PathBuf,

    /// Make a shared note private
    #[arg(long)]
    pub(crate) private: bool,

    /// Show what would change and change nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: ShareArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = memory::workspace(settings, ui)?;
    let from = memory::path_in(&workspace, settings, &args.file)?;
    let to = destination(&from, args.private)?;
    let text = workspace.read_text(&from)?;
    if !args.private
        && let Some(secret) = secrets::find(&text).first()
    {
        let line = 1 + text[..secret.span.start].matches('\n').count();
        let what = format!("`{from}` line {line} looks like a secret ({})", secret.rule);
        return Err(CommandError::failure(what).hint("Take it out of the note, then share it"));
    }
    let vault = Vault::read(&workspace);
    let renaming = links::rename(&workspace, &vault, &from, &to)?;
    let mut proposal = renaming.proposal;
    if args.private
        && let Some(rule) = private::ignoring(&workspace)?
    {
        proposal.add(rule.path, rule.before, rule.after);
    }
    for (path, line) in &renaming.left_alone {
        ui.warn(&format!(
            "`{path}` line {line} is left alone: change that link by hand"
        ));
    }
    let (verb, done) = if args.private {
        ("Make it private", "Made private")
    } else {
        ("Share it with everyone", "Shared")
    };
    if !args.json {
        let (from, to) = (printable(from.as_str()), printable(to.as_str()));
        ui.line(&format!("{from} → {to}"))?;
        if !args.private {
            ui.diff(&to, "", &text)?;
        }
        show_diff(&proposal, ui)?;
    }
    let mut change = None;
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if ui.confirm(&format!("{verb}?"), args.yes)? {
        let what = format!("{done}: `{from}` is `{to}`");
        change = proposal.apply(&workspace, &what, settings.now)?.id;
    } else {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    }
    if args.json {
        ui.json(&json!({
            "version": 1, "changed": change.is_some(), "change": change,
            "from": from.as_str(), "to": to.as_str(), "links": renaming.links,
        }))?;
    } else if let Some(id) = &change {
        ui.line(&format!("✓ {done}: {}", printable(to.as_str())))?;
        ui.note(&format!("`memory-forge doctor --undo {id}` takes it back"));
        if args.private {
            ui.note("What was committed before stays in git's history");
        } else {
            ui.note(&format!(
                "`git add {to}` and commit, and the others have it"
            ));
        }
    }
    Ok(Exit::Success)
}

fn destination(from: &RelPath, private: bool) -> Result<RelPath, CommandError> {
    let to = if private {
        private::own(from)
    } else {
        private::shared(from)
    };
    let Some(to) = to else {
        return Err(if private {
            CommandError::usage(format!("`{from}` is no note that can become private"))
                .hint("Name a `.md` file that is shared")
        } else {
            CommandError::usage(format!("`{from}` is not private"))
                .hint("Private notes end in `.local.md`; `--private` makes one")
        });
    };
    to.map_err(|error| CommandError::usage(error.to_string()))
}
