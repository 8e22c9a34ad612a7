//! Builds the program for systems on which this machine runs no tests, or for
//! which it would run the same ones again, and reads what each program asks of
//! its system. All of them are linked by zig, which brings the C libraries of
//! all these systems in one package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::inspect::{self, MACHO_ARM64, MACHO_X64};
use super::{CARGO, RUSTC};

/// The version of zig that builds releases, as the Python package `ziglang`.
const ZIG_VERSION: &str = "0.14.1";
/// The C library of Debian 11, and of nothing older that is still cared for.
const OLDEST_GLIBC: (u32, u32) = (2, 31);
/// The macOS that the first Macs with Apple's processors came with.
const OLDEST_MACOS: (u32, u32) = (11, 0);

/// A program for another system.
struct CrossProgram {
    /// The name on the command line; two programs may share it.
    name: &'static str,
    triple: &'static str,
    /// What zig calls the system, with its oldest version.
    zig: &'static str,
    /// Flags for rustc.
    flags: &'static str,
    check: fn(&[u8]) -> Result<String>,
    /// Whether this machine runs it, perhaps by an emulator.
    can_run: bool,
}

/// Static programs bring their own start files with zig.
const STATIC: &str = "-C target-feature=+crt-static -C link-self-contained=no";

/// Has the linker leave symbols out.
const STRIPPED: &str = "-C link-arg=-s";

const PROGRAMS: [CrossProgram; 5] = [
    CrossProgram {
        name: "musl",
        triple: "x86_64-unknown-linux-musl",
        zig: "x86_64-linux-musl",
        flags: STATIC,
        check: check_static,
        can_run: true,
    },
    CrossProgram {
        name: "musl",
        triple: "aarch64-unknown-linux-musl",
        zig: "aarch64-linux-musl",
        flags: STATIC,
        check: check_static,
        can_run: true,
    },
    CrossProgram {
        name: "glibc",
        triple: "x86_64-unknown-linux-gnu",
        zig: "x86_64-linux-gnu.2.31",
        flags: "",
        check: check_gnu,
        can_run: true,
    },
    CrossProgram {
        name: "macos",
        triple: "aarch64-apple-darwin",
        zig: "aarch64-macos.11.0",
        flags: STRIPPED,
        check: check_arm_mac,
        can_run: false,
    },
    CrossProgram {
        name: "macos",
        triple: "x86_64-apple-darwin",
        zig: "x86_64-macos.11.0",
        flags: STRIPPED,
        check: check_intel_mac,
        can_run: false,
    },
];

/// Returns whether programs for this system are built here.
pub(super) fn is_known(name: &str) -> bool {
    PROGRAMS.iter().any(|program| program.name == name)
}

/// Builds, reads and tries the programs of one name.
pub(super) fn run(name: &str, arguments: &[&str]) -> Result<()> {
    let (profile, only) = parse(arguments)?;
    check_zig()?;
    let mut failed = Vec::new();
    let chosen = |program: &&CrossProgram| {
        program.name == name && only.is_none_or(|triple| triple == program.triple)
    };
    for program in PROGRAMS.iter().filter(chosen) {
        println!("== {}", program.triple);
        let outcome = build(program, profile).and_then(|path| examine(program, &path));
        if let Err(error) = outcome {
            println!("FAILED: {error:#}");
            failed.push(program.triple);
        }
    }
    ensure!(failed.is_empty(), "{} failed", failed.join(", "));
    Ok(())
}

fn parse<'a>(arguments: &[&'a str]) -> Result<(&'a str, Option<&'a str>)> {
    let (mut profile, mut only) = ("dev", None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match (*word, words.next()) {
            ("--profile", Some(name)) => profile = *name,
            ("--only", Some(triple)) => only = Some(*triple),
            _ => bail!("usage: cross musl|glibc|macos [--only TRIPLE] [--profile NAME]"),
        }
    }
    Ok((profile, only))
}

fn check_zig() -> Result<()> {
    let output = Command::new("python3")
        .args(["-m", "ziglang", "version"])
        .output();
    let found = output.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    ensure!(
        found.is_ok_and(|version| version == ZIG_VERSION),
        "zig {ZIG_VERSION} is missing: pip install ziglang=={ZIG_VERSION}"
    );
    Ok(())
}

/// The names of a library of macOS that Rust's C bindings ask the linker for and
/// nothing of ours calls. zig brings the names of the main library alone.
const ICONV: &str = "--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libiconv.2.dylib'
current-version: 7
compatibility-version: 7
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ _iconv, _iconv_close, _iconv_open ]
...
";

/// Writes a script that calls zig as a C compiler and linker for one system.
fn write_compiler(folder: &Path, zig: &str) -> Result<PathBuf> {
    // Without the flags by which C compilers are asked for a system, which zig
    // has under other names and was given already.
    let script = format!(
        "#!/bin/bash\nwords=()\nwhile (($#)); do\n  case $1 in\n    \
         --target=* | -mmacosx-version-min=* | -m64) ;;\n    -arch) shift ;;\n    \
         *) words+=(\"$1\") ;;\n  esac\n  shift\ndone\n\
         exec python3 -m ziglang cc -target {zig} -L{} \"${{words[@]}}\"\n",
        folder.display()
    );
    fs::write(folder.join("libiconv.tbd"), ICONV)?;
    write_script(&folder.join("cc"), &script)
}

fn write_script(path: &Path, text: &str) -> Result<PathBuf> {
    fs::write(path, text)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(path.to_owned())
}

fn build(program: &CrossProgram, profile: &str) -> Result<PathBuf> {
    let target = crate::target().join("cross");
    let tools = target.join("zig").join(program.triple);
    fs::create_dir_all(&tools)?;
    let compiler = write_compiler(&tools, program.zig)?;
    let archiver = write_script(
        &tools.join("ar"),
        "#!/bin/sh\nexec python3 -m ziglang ar \"$@\"\n",
    )?;
    let variable = program.triple.replace('-', "_");
    let upper = variable.to_uppercase();
    let mut cargo = Command::new(CARGO);
    cargo
        .args(["build", "--locked", "--package", "memory-forge"])
        .args(["--bin", "memory-forge", "--profile", profile])
        .args(["-Z", "build-std=std,panic_unwind"])
        .args(["--target", program.triple])
        .current_dir(crate::repository())
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .env("RUSTC", RUSTC)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .env(format!("CC_{variable}"), &compiler)
        .env(format!("AR_{variable}"), &archiver)
        .env(format!("CARGO_TARGET_{upper}_LINKER"), &compiler)
        .env(format!("CARGO_TARGET_{upper}_RUSTFLAGS"), program.flags);
    if program.triple.ends_with("apple-darwin") {
        // Only before the linker signs: to take symbols out later would break
        // the signature.
        let own = format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase());
        cargo
            .env(own, "false")
            .env("CARGO_PROFILE_RELEASE_STRIP", "false");
    }
    ensure!(cargo.status()?.success(), "the build failed");
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target
        .join(program.triple)
        .join(folder)
        .join("memory-forge"))
}

/// Reads the program, and runs it where that is possible.
fn examine(program: &CrossProgram, path: &Path) -> Result<()> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    println!("{}", path.display());
    println!("  {:.1} MB", bytes.len() as f64 / 1e6);
    println!("  {}", (program.check)(&bytes)?);
    if program.can_run {
        try_out(path)?;
        println!("  init, index, search, audit and status ran");
    }
    Ok(())
}

fn check_static(program: &[u8]) -> Result<String> {
    let needs = inspect::read_elf(program)?;
    ensure!(
        needs.loader.is_none() && needs.libraries.is_empty(),
        "it is not static: it needs {:?} and {}",
        needs.loader,
        needs.libraries.join(", ")
    );
    Ok("static: no loader, no libraries".to_owned())
}

fn check_gnu(program: &[u8]) -> Result<String> {
    const SYSTEM: [&str; 7] = [
        "libc.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "libpthread.so.0",
        "libdl.so.2",
        "librt.so.1",
        "ld-linux-x86-64.so.2",
    ];
    let needs = inspect::read_elf(program)?;
    let glibc = needs.glibc.context("it does not need the GNU C library")?;
    let foreign = (needs.libraries.iter()).find(|it| !SYSTEM.contains(&it.as_str()));
    ensure!(foreign.is_none(), "it needs {foreign:?}");
    ensure!(
        glibc <= OLDEST_GLIBC,
        "it needs glibc {}.{}, later than {}.{}",
        glibc.0,
        glibc.1,
        OLDEST_GLIBC.0,
        OLDEST_GLIBC.1
    );
    Ok(format!(
        "needs glibc {}.{} and {}",
        glibc.0,
        glibc.1,
        needs.libraries.join(", ")
    ))
}

fn check_arm_mac(program: &[u8]) -> Result<String> {
    let facts = check_mac(program, MACHO_ARM64)?;
    ensure!(
        facts.contains("signed ad hoc"),
        "it is not signed, and Apple's processors run nothing that is not"
    );
    Ok(facts)
}

fn check_intel_mac(program: &[u8]) -> Result<String> {
    check_mac(program, MACHO_X64)
}

fn check_mac(program: &[u8], processor: u32) -> Result<String> {
    let needs = inspect::read_macho(program)?;
    ensure!(
        needs.processor == processor,
        "it is for another processor: {:x}",
        needs.processor
    );
    let (major, minor) = needs.oldest_system;
    ensure!(
        needs.oldest_system <= OLDEST_MACOS,
        "it needs macOS {major}.{minor}"
    );
    let is_of_system =
        |path: &str| path.starts_with("/usr/lib/") || path.starts_with("/System/Library/");
    let foreign = needs.libraries.iter().find(|path| !is_of_system(path));
    ensure!(
        foreign.is_none(),
        "it needs {foreign:?}, which is not part of macOS"
    );
    let signature = match &needs.signature {
        Some(it) if it.is_ad_hoc => format!("signed ad hoc, {} pages agree", it.pages),
        Some(it) => format!("signed with a certificate, {} pages agree", it.pages),
        None => "not signed".to_owned(),
    };
    Ok(format!(
        "macOS {major}.{minor} or later; {}; {signature}",
        needs.libraries.join(", ")
    ))
}

/// Does in an empty folder what a newcomer does, with nothing of this machine's
/// own in the environment.
fn try_out(program: &Path) -> Result<()> {
    let place = tempfile::tempdir()?;
    let root = place.path().join("project");
    fs::create_dir_all(root.join("docs"))?;
    let text = "# Retries\n\nPayments are attempted again with exponential backoff.\n";
    fs::write(root.join("docs/retries.md"), text)?;
    let run = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", place.path())
            .output()
            .context("it does not start")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success(),
            "`{}` failed: {said}{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(said)
    };
    run(&["init", "--yes"])?;
    run(&["index"])?;
    let answer = run(&["search", "how do we try a failed charge once more"])?;
    ensure!(
        answer.contains("docs/retries.md"),
        "the search found something else: {answer}"
    );
    run(&["audit"])?;
    run(&["status"])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_a_target_of_releases() {
        for program in &PROGRAMS {
            let target = packing::table::Target::from_name(program.triple);
            assert!(target.is_some(), "{}", program.triple);
        }
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_program_that_needs_a_loader_is_not_static_and_is_none_of_macos() {
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        let error = check_static(&this).unwrap_err().to_string();
        assert!(error.starts_with("it is not static"), "{error}");
        assert!(check_arm_mac(&this).is_err());
    }
}
