//! Scripts that fetch the archive of the system, compare its checksum and put
//! the program into a folder of the user's. The checksums are in the script, so
//! whoever trusts the script needs to trust nothing else.

use super::{Archive, Published};
use crate::table::{Program, System, VERSION, download_folder};
use crate::trust::{PROGRAM_SIGNATURE_FILE, PROGRAM_SUMS_FILE};

const FOR_SHELL: &str = include_str!("install.sh");
const FOR_POWERSHELL: &str = include_str!("install.ps1");

/// Returns the script for macOS and Linux. `glibc` is the minor version that the
/// program of an archive needs.
pub(crate) fn for_shell(
    program: &Program,
    archives: &[&Archive<'_>],
    glibc: impl Fn(&Archive<'_>) -> u32,
) -> Published {
    let mut sums = Vec::new();
    let mut versions = Vec::new();
    for archive in archives {
        let rust = archive.target.rust;
        if archive.target.system != System::Windows {
            sums.push(format!("        {rust}) sum={} ;;", archive.sum));
        }
        if archive.target.system == System::LinuxGnu {
            let processor = rust.split('-').next().unwrap_or(rust);
            let needed = glibc(archive);
            versions.push(format!("        {processor}) needed={needed} ;;"));
        }
    }
    let files = format!(
        "{} {PROGRAM_SUMS_FILE} {PROGRAM_SIGNATURE_FILE}",
        program.name
    );
    let text = fill(FOR_SHELL, program, &sums.join("\n"), &files);
    let text = text.replace("@GLIBC@\n", &lines(&versions));
    ("install.sh".to_owned(), text.into_bytes())
}

/// Returns the script for Windows, if there is an archive for it.
pub(crate) fn for_powershell(program: &Program, archives: &[&Archive<'_>]) -> Option<Published> {
    let sums: Vec<String> = archives
        .iter()
        .filter(|archive| archive.target.system == System::Windows)
        .map(|archive| format!("        '{}' = '{}'", archive.target.rust, archive.sum))
        .collect();
    if sums.is_empty() {
        return None;
    }
    let files = format!(
        "@('{}.exe', '{PROGRAM_SUMS_FILE}', '{PROGRAM_SIGNATURE_FILE}')",
        program.name
    );
    let text = fill(FOR_POWERSHELL, program, &sums.join("\n"), &files);
    Some(("install.ps1".to_owned(), text.into_bytes()))
}

fn lines(list: &[String]) -> String {
    list.iter().map(|line| format!("{line}\n")).collect()
}

fn fill(template: &str, program: &Program, sums: &str, files: &str) -> String {
    template
        .replace("@NAME@", program.name)
        .replace("@VERSION@", VERSION)
        .replace("@FOLDER@", &download_folder())
        .replace("@SUMS@", sums)
        .replace("@FILES@", files)
}
