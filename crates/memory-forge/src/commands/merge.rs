//! `merge`: what git calls for two versions of a memory file. Whatever goes
//! wrong, the file ends as git itself would have merged it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use clap::Args;
use forge::teams::{self, Kind};
use forge::workspace::{Backup, OutsideChange, OutsideFile, change_outside, git};

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Merge two versions of a memory file entry by entry, for git
///
/// Writes the result over the second file. Sessions, decisions, tasks and
/// pointers of both sides are kept; a decision under an id that is taken gets
/// the next one and says what it was called. Exits with 1 where both sides
/// changed one entry differently; that entry then stands between markers.
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

pub(crate) fn run(args: MergeArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let cwd = settings.cwd()?;
    let files = [&args.base, &args.ours, &args.theirs].map(|it| cwd.join(it));
    let name = args.path.as_deref().unwrap_or(&args.ours).to_string_lossy();
    let why = match by_entry(&files, &name)? {
        Ok(merged) => {
            for (old, new) in &merged.renamed {
                ui.note(&format!("{}: their {old} is now {new}", printable(&name)));
            }
            if merged.conflicts == 0 {
                return Ok(Exit::Success);
            }
            let entries = match merged.conflicts {
                1 => "1 entry was".to_owned(),
                n => format!("{n} entries were"),
            };
            ui.warn(&format!(
                "{}: {entries} changed on both sides",
                printable(&name)
            ));
            return Ok(Exit::Failure);
        }
        Err(why) => why,
    };
    ui.detail(&format!(
        "{}: merged by lines, since {why}",
        printable(&name)
    ));
    let [base, ours, theirs] = &files;
    Ok(match git::merge_by_lines(cwd, ours, base, theirs)? {
        true => Exit::Success,
        false => Exit::Failure,
    })
}

/// Merges and writes, or says why git has to.
fn by_entry(
    files: &[PathBuf; 3],
    name: &str,
) -> Result<Result<teams::Merged, String>, CommandError> {
    let Some(kind) = Kind::of(name) else {
        return Ok(Err("it is no file of entries".to_owned()));
    };
    let [base, ours, theirs] = files;
    let ours = outside(ours);
    let mut texts = Vec::new();
    for file in [&outside(base), &ours, &outside(theirs)] {
        match file.read()?.map(String::from_utf8) {
            Some(Ok(text)) => texts.push(text),
            Some(Err(_)) => return Ok(Err("one side is not UTF-8".to_owned())),
            None => {
                return Err(CommandError::usage(format!(
                    "There is no file `{}`",
                    file.path.display()
                )));
            }
        }
    }
    let merge = || teams::merge(kind, &texts[0], &texts[1], &texts[2]);
    let merged = match catch_unwind(AssertUnwindSafe(merge)) {
        Ok(Ok(merged)) => merged,
        Ok(Err(why)) => return Ok(Err(why.to_string())),
        Err(_) => return Ok(Err("of a defect; please report it".to_owned())),
    };
    if merged.text != texts[1] {
        change_outside(
            &[OutsideChange {
                file: ours,
                before: Some(texts.swap_remove(1).into_bytes()),
                after: Some(merged.text.clone().into_bytes()),
                backup: Backup::Leave,
            }],
            &[],
        )?;
    }
    Ok(Ok(merged))
}

fn outside(path: &Path) -> OutsideFile {
    OutsideFile {
        base: path.parent().unwrap_or(path).to_owned(),
        path: path.to_owned(),
    }
}
