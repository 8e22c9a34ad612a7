//! Programs that a script under `scripts/` has fetched into the target folder.

use std::path::{Path, PathBuf};

/// The path that `<target>/<folder>/paths.env` gives for a program, or a note
/// that the running test is skipped. `tmpdir` is `CARGO_TARGET_TMPDIR`, which
/// only tests know.
pub fn program(tmpdir: &str, folder: &str, name: &str) -> Option<PathBuf> {
    let list = Path::new(tmpdir).with_file_name(folder).join("paths.env");
    let list = std::fs::read_to_string(list).unwrap_or_default();
    for line in list.lines() {
        if let Some((found, path)) = line.split_once('=')
            && found == name
        {
            return Some(PathBuf::from(path));
        }
        if let Some((found, why)) = line.split_once('!')
            && found == name
        {
            crate::skip(format!("no {name}: {why}"));
            return None;
        }
    }
    crate::skip(format!("no {name}: run `scripts/{folder}.sh` first"));
    None
}
