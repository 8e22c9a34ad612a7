//! Runs `merge`, which git calls for two versions of a memory file. After any
//! error the file ends as git itself would have merged it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use clap::Args;
use forge_app::teams::{self, MergeKind};
use forge_app::workspace::{BackupAction, OutsideChange, OutsideFile, change_outside, git};

use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Merge two versions of a memory file entry by entry, for git
///
/// Writes the result over the second file. Sessions, decisions, tasks and
/// pointers of both sides are kept; a decision under an id that is taken gets
/// the next one and its earlier number. Exits with 1 if both sides
/// changed one entry differently; that entry is then between markers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge merge base.md DECISIONS.md theirs.md
  memory-forge setup --git    Have git call it")]
pub(crate) struct MergeArgs {
    /// The version that both come from (git's `%O`)
    pub(crate) base: PathBuf,
    /// Our version, which becomes the result (`%A`)
    pub(crate) ours: PathBuf,
    /// Their version (`%B`)
    pub(crate) theirs: PathBuf,
    /// The file's path in the repository (`%P`)
    pub(crate) path: Option<PathBuf>,
}

/// Upper bound for new numbers that are listed one by one.
const MAX_LISTED_RENAMES: usize = 10;

pub(crate) fn run_merge(
    args: MergeArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let cwd = settings.cwd()?;
    let files = [&args.base, &args.ours, &args.theirs].map(|it| cwd.join(it));
    let name = args.path.as_deref().unwrap_or(&args.ours).to_string_lossy();
    for file in &files {
        if !file.is_file() {
            let missing = format!("There is no file `{}`", file.display());
            return Err(CommandError::usage(missing));
        }
    }
    let why = match merge_by_entry(&files, &name) {
        Ok(merged) => {
            for (old, new) in merged.renamed.iter().take(MAX_LISTED_RENAMES) {
                ui.note(&format!(
                    "{}: their {old} is now {new}",
                    escape_hidden(&name)
                ));
            }
            if merged.renamed.len() > MAX_LISTED_RENAMES {
                let more = merged.renamed.len() - MAX_LISTED_RENAMES;
                ui.note(&format!(
                    "{}: {more} more have new numbers; each states its earlier one",
                    escape_hidden(&name)
                ));
            }
            if merged.conflicts == 0 {
                return Ok(CommandExit::Success);
            }
            let entries = match merged.conflicts {
                1 => "1 entry was".to_owned(),
                n => format!("{n} entries were"),
            };
            ui.warn(&format!(
                "{}: {entries} changed on both sides",
                escape_hidden(&name)
            ));
            return Ok(CommandExit::Failure);
        }
        Err(why) => why,
    };
    ui.detail(&format!(
        "{}: merged by lines, since {why}",
        escape_hidden(&name)
    ));
    let [base, ours, theirs] = &files;
    match git::merge_by_lines(cwd, ours, base, theirs) {
        Ok(true) => Ok(CommandExit::Success),
        Ok(false) => Ok(CommandExit::Failure),
        // Not 1, which means a merged file with a conflict in it: by this code,
        // the line in git's settings knows that it has to merge the file
        // itself.
        Err(error) => Err(CommandError::usage(error.to_string())),
    }
}

/// Merges and writes, or returns the reason why git has to.
fn merge_by_entry(files: &[PathBuf; 3], name: &str) -> Result<teams::MergeOutcome, String> {
    let kind = MergeKind::from_path(name).ok_or("its format has no entries that can be merged")?;
    let [base, ours, theirs] = files.each_ref().map(|path| OutsideFile {
        base: path.parent().unwrap_or(path).to_owned(),
        path: path.clone(),
    });
    let read = |file: &OutsideFile| -> Result<String, String> {
        let text = file.read_text().map_err(|error| error.to_string())?;
        text.ok_or_else(|| "one side is gone".to_owned())
    };
    let (base, before, theirs) = (read(&base)?, read(&ours)?, read(&theirs)?);
    let merge = || teams::merge_texts(kind, &base, &before, &theirs);
    // A panic in the merge leaves the file to git's own merge.
    let merged = catch_unwind(AssertUnwindSafe(merge))
        .map_err(|_| "of a defect; please report it")?
        .map_err(|why| why.to_string())?;
    if merged.text != before {
        let change = OutsideChange {
            file: ours,
            before: Some(before.into_bytes()),
            after: Some(merged.text.clone().into_bytes()),
            backup: BackupAction::Leave,
        };
        change_outside(&[change], &[]).map_err(|error| error.to_string())?;
    }
    Ok(merged)
}
