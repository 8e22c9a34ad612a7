//! `doctor --self`: is this program the one of a release? It looks at the
//! program alone and never at a workspace.

use forge_app::doctor;
use forge_app::system;
use forge_app::workspace::regular;
use serde_json::json;

use super::DoctorArgs;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// The public key of releases, which their owner sets when they are built.
const RELEASE_KEY: Option<&str> = option_env!("MEMORY_FORGE_RELEASE_KEY");

/// Upper bound for a file with a key.
const MAX_KEY_BYTES: u64 = 4096;

pub(super) fn check_this_program(
    args: &DoctorArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let Some(program) = &settings.binary else {
        return Err(CommandError::failure("The path of this program is unknown"));
    };
    // A package manager may have put a link on the `PATH`.
    let program = system::canonicalize(program).unwrap_or_else(|_| program.clone());
    let compiled_in = RELEASE_KEY.filter(|key| !key.is_empty());
    let key = match (&args.key, compiled_in) {
        (Some(path), _) => regular::read_user_file(&settings.cwd()?.join(path), MAX_KEY_BYTES)
            .map_err(|error| {
                CommandError::usage(format!("Cannot read `{}`: {error}", path.display()))
            })?,
        (None, Some(key)) => key.to_owned(),
        (None, None) => {
            let error = CommandError::failure("This program has no key of a release compiled in");
            return Err(error.hint(
                "A program that you built is checked with `--key FILE`, or by building it again",
            ));
        }
    };
    let known = doctor::release_check::verify_program(&program, &key)
        .map_err(|error| CommandError::of_library(&error))?;
    if args.json {
        ui.print_json(&json!({
            "version": 1,
            "program": known.program.display().to_string(),
            "entry": known.entry,
            "sha256": known.sum,
            "sums": known.sums.display().to_string(),
            "comment": known.comment,
        }))?;
    } else {
        ui.print_line(&format!(
            "✓ `{}` is the program of the release: {}",
            known.program.display(),
            escape_hidden(&known.entry)
        ))?;
        ui.print_line(&format!("  SHA-256 {}", known.sum))?;
        ui.print_line(&format!("  Signed: {}", escape_hidden(&known.comment)))?;
    }
    Ok(CommandExit::Success)
}
