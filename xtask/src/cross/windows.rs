//! Windows: linked by mingw-w64, run by wine.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{CrossTarget, RunVariables};

const WINE: &str = "/usr/lib/wine/wine64";
const GCC: &str = "x86_64-w64-mingw32-gcc";

pub(super) const TARGETS: &[CrossTarget] = &[CrossTarget {
    name: "windows",
    triple: "x86_64-pc-windows-gnu",
    packages: &["mingw-w64", "wine64", "wine"],
    tools: &[GCC, WINE],
    variables: &[
        ("CC_x86_64_pc_windows_gnu", GCC),
        ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", GCC),
    ],
    runner: &[WINE],
    can_run: true,
    prepare,
    spell,
}];

/// The one function that the standard library imports from a library which
/// wine 8 does not have. Only for tests.
const RANDOM: &str = r#"
#include <windows.h>
BOOLEAN WINAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, count); }
"#;

/// Makes a Windows installation of its own, with the missing library.
fn prepare(folder: &Path) -> Result<RunVariables> {
    let prefix = folder.join("wine");
    let variables = vec![
        ("WINEPREFIX", prefix.clone().into_os_string()),
        ("WINEDEBUG", "-all".into()),
        // wine answers for the files of all threads through one process.
        ("RUST_TEST_THREADS", "2".into()),
        // Each of thousands of interruptions starts several programs.
        ("CRASH_EVERY", "40".into()),
        // Snapshots are compared and never written.
        ("INSTA_UPDATE", "no".into()),
        // No offers to install Mono and Gecko.
        ("WINEDLLOVERRIDES", "mscoree,mshtml=".into()),
    ];
    if !prefix.join("system.reg").exists() {
        let made = Command::new(WINE)
            .args(["wineboot", "--init"])
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .status()?;
        ensure!(made.success(), "wine cannot make {}", prefix.display());
    }
    // Temporary folders on the drive of the sources: the compiler wrote their paths
    // into the tests without a drive, which is then the one of the folder that a
    // program runs in.
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary)?;
    for name in ["TMP", "TEMP"] {
        let set = Command::new(WINE)
            .args(["reg", "add", r"HKCU\Environment", "/f", "/v", name, "/d"])
            .arg(spell(&temporary))
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdout(std::process::Stdio::null())
            .status()?;
        ensure!(set.success(), "wine cannot set {name}");
    }
    let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
    if !library.exists() {
        let source = folder.join("bcryptprimitives.c");
        fs::write(&source, RANDOM)?;
        let made = Command::new(GCC)
            .arg("-shared")
            .arg("-o")
            .arg(&library)
            .arg(&source)
            .arg("-ladvapi32")
            .status()?;
        ensure!(made.success(), "{GCC} cannot make {}", library.display());
    }
    Ok(variables)
}

/// Returns the path on the drive by which wine shows this machine's files.
fn spell(path: &Path) -> OsString {
    let path = path.to_string_lossy().replace('/', "\\");
    format!("Z:{path}").into()
}
