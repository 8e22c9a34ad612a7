//! `cargo xtask dist`: builds both programs and writes what a release publishes.
//! The formats are in the crate `packing`; this only builds, prints texts by the
//! built program and puts files into a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use packing::archive::Member;
use packing::channels::Published;
use packing::check;
use packing::release::{Built, Release};
use packing::table::{PROGRAMS, TARGETS, Target};
use packing::trust::{self, PROGRAM_SIGNATURE_FILE, PROGRAM_SUMS_FILE, SUMS_FILE};

/// The profile of published programs.
const PROFILE: &str = "published";

/// Bytes of a published program, and of its archive. A larger one is not
/// published: either it has to become smaller, or this has to be raised with a
/// reason.
const MAX_PROGRAM_BYTES: usize = 40_000_000;
const MAX_ARCHIVE_BYTES: usize = 26_000_000;

/// What the command line asks for.
#[derive(Default)]
struct DistRequest {
    targets: Vec<String>,
    /// Programs that are built already: of this machine's target, the second one
    /// beside the first.
    binary: Option<PathBuf>,
    /// Folder with a folder for each target that `--build` made, perhaps on
    /// other machines.
    binaries: Option<PathBuf>,
    out: Option<PathBuf>,
    /// Program that signs: it gets a file's name as its last argument, and
    /// writes `<file>.minisig` beside it.
    signer: Option<String>,
    should_check: bool,
}

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["--verify", folder] => {
            let count = trust::verify(folder.as_ref())?;
            println!("{count} files have their checksums");
            return Ok(());
        }
        ["--twice"] => return build_twice(PROFILE),
        ["--twice", "--profile", profile] => return build_twice(profile),
        ["--build", target, "--out", folder] => return build_into(target, folder.as_ref()),
        _ => {}
    }
    let mut request = DistRequest::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} what?"));
        match *word {
            "--target" => request.targets.push((*value()?).to_owned()),
            "--binary" => request.binary = Some(value()?.into()),
            "--binaries" => request.binaries = Some(value()?.into()),
            "--out" => request.out = Some(value()?.into()),
            "--signer" => request.signer = Some((*value()?).to_owned()),
            "--check" => request.should_check = true,
            _ => bail!(
                "expected --target TARGET, --binary FILE, --binaries FOLDER, --out FOLDER, \
                 --signer COMMAND or --check; or alone --verify FOLDER, \
                 --twice [--profile NAME], or --build TARGET --out FOLDER"
            ),
        }
    }
    let host = host()?;
    if let Some(folder) = &request.binaries {
        let is_there = |target: &&Target| folder.join(target.rust).is_dir();
        let found = TARGETS.iter().filter(is_there);
        request.targets = found.map(|target| target.rust.to_owned()).collect();
        ensure!(
            !request.targets.is_empty(),
            "`{}` has no target",
            folder.display()
        );
    }
    if request.targets.is_empty() {
        request.targets.push(host.clone());
    }
    ensure!(
        request.binary.is_none() || request.targets == [host.as_str()],
        "--binary is for this machine's own target, {host}"
    );
    let release = make_release(&request)?;
    if request.should_check {
        let host = target_of(&host)?;
        let outcomes = check::check_ways_in(&release, host)?;
        check::print_outcomes(&mut std::io::stdout(), &outcomes)?;
        return Ok(());
    }
    let out = request.out.unwrap_or_else(|| crate::target().join("dist"));
    // Files of an earlier run would not be among the checksums.
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    let files = release.pack()?;
    for (name, bytes) in &files {
        let path = out.join(name);
        fs::write(&path, bytes)?;
        println!("{}", path.display());
    }
    let sizes = measure(&release.built, &files);
    for size in &sizes {
        println!("{size}");
    }
    // A program that someone brings may be one for tests.
    if request.binary.is_none()
        && let Some(large) = sizes.iter().find(|size| size.is_too_large())
    {
        bail!(
            "{}: more than {} MB, or {} MB packed",
            large.archive,
            MAX_PROGRAM_BYTES / 1_000_000,
            MAX_ARCHIVE_BYTES / 1_000_000
        );
    }
    if let Some(signer) = &request.signer {
        sign(signer, &out.join(SUMS_FILE))?;
    }
    trust::verify(&out)?;
    Ok(())
}

/// Size of a program, unpacked and packed.
struct ProgramSize {
    archive: String,
    unpacked: usize,
    packed: usize,
}

impl ProgramSize {
    fn is_too_large(&self) -> bool {
        self.unpacked > MAX_PROGRAM_BYTES || self.packed > MAX_ARCHIVE_BYTES
    }
}

impl std::fmt::Display for ProgramSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        write!(
            f,
            "{}: {:.1} MB, the program in it {:.1} MB",
            self.archive,
            megabytes(self.packed),
            megabytes(self.unpacked)
        )
    }
}

/// Measures the programs and the archives that hold them.
fn measure(built: &[Built], files: &[Published]) -> Vec<ProgramSize> {
    let size = |built: &Built| {
        let archive = packing::table::archive_name(built.program, built.target);
        let packed = files.iter().find(|(name, _)| *name == archive)?.1.len();
        Some(ProgramSize {
            archive,
            unpacked: built.bytes.len(),
            packed,
        })
    };
    built.iter().filter_map(size).collect()
}

/// Builds what is not built, and collects all that a release is made of.
fn make_release(request: &DistRequest) -> Result<Release> {
    let mut built = Vec::new();
    for program in &PROGRAMS {
        for name in &request.targets {
            let target = target_of(name)?;
            let file = format!("{}{}", program.name, target.exe_suffix());
            let path = match (&request.binary, &request.binaries) {
                // The worker is beside the program, as where it is installed.
                (Some(path), _) => path.with_file_name(file),
                (None, Some(folder)) => folder.join(name).join(file),
                (None, None) => build_for_release(program.name, name)?,
            };
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            built.push(Built {
                program,
                target,
                bytes,
            });
        }
    }
    // Pages and completions are the same everywhere, and only a program of this
    // machine can be asked for them.
    let host = host()?;
    let asked = match (&request.binary, &request.binaries) {
        (Some(path), _) => path.clone(),
        (None, Some(folder)) if folder.join(&host).is_dir() => {
            let suffix = std::env::consts::EXE_SUFFIX;
            folder
                .join(&host)
                .join(format!("{}{suffix}", PROGRAMS[0].name))
        }
        _ => build_for_release(PROGRAMS[0].name, &host)?,
    };
    let signed_sums = match &request.signer {
        Some(signer) => {
            for Built {
                program,
                target,
                bytes,
            } in &built
            {
                ensure!(
                    trust::lists_its_crates(bytes),
                    "{} for {} does not list its crates; nothing was signed. Build it with \
                     cargo-auditable, as scripts/release/build.sh does",
                    program.name,
                    target.rust
                );
            }
            Some(signed_sums(signer, &built)?)
        }
        None => None,
    };
    Ok(Release {
        repository: crate::repository().to_owned(),
        built,
        texts: texts(&asked)?,
        commit: commit(),
        signed_sums,
    })
}

fn target_of(name: &str) -> Result<&'static Target> {
    Target::from_name(name).with_context(|| {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.rust).collect();
        format!("unknown target `{name}`; known are {}", known.join(", "))
    })
}

fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name its host")?.to_owned())
}

/// Returns the commit of the repository, unless files differ from it.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(crate::repository())
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let is_clean = git(&["status", "--porcelain"])?.is_empty();
    git(&["rev-parse", "HEAD"]).filter(|_| is_clean)
}

/// Returns the checksums of the programs with their signature.
fn signed_sums(signer: &str, built: &[Built]) -> Result<(Vec<u8>, Vec<u8>)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(PROGRAM_SUMS_FILE);
    let sums = trust::program_sums(built).into_bytes();
    fs::write(&file, &sums)?;
    sign(signer, &file)?;
    let signature = fs::read(folder.path().join(PROGRAM_SIGNATURE_FILE))
        .with_context(|| format!("`{signer}` wrote no {PROGRAM_SIGNATURE_FILE}"))?;
    Ok((sums, signature))
}

fn sign(signer: &str, file: &Path) -> Result<()> {
    let mut words = signer.split_whitespace();
    let program = words.next().context("--signer names no program")?;
    let status = Command::new(program).args(words).arg(file).status()?;
    ensure!(status.success(), "`{signer}` failed");
    Ok(())
}

/// Builds both programs for a target, into a folder of its name.
fn build_into(target: &str, folder: &Path) -> Result<()> {
    let folder = folder.join(target_of(target)?.rust);
    fs::create_dir_all(&folder)?;
    for program in &PROGRAMS {
        let built = build_for_release(program.name, target)?;
        let name = built.file_name().context("a program has a name")?;
        fs::copy(&built, folder.join(name)).with_context(|| built.display().to_string())?;
    }
    Ok(())
}

/// Builds one of the programs for release without a path of this machine in it,
/// so that two people get the same bytes from one commit.
fn build_for_release(program: &str, target: &str) -> Result<PathBuf> {
    let repository = crate::repository();
    build_in(repository, &crate::target(), program, target, PROFILE)
}

fn build_in(
    repository: &Path,
    folder: &Path,
    program: &str,
    target: &str,
    profile: &str,
) -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let places = [
        (repository, "/source"),
        (folder, "/target"),
        (&home, "/cargo"),
    ];
    let flags: Vec<String> = places
        .iter()
        .map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()))
        .collect();
    // What `.cargo/config.toml` sets is replaced by a variable, so it is said
    // here as well.
    let mut for_c = String::from("-fstack-protector-strong");
    for (path, name) in &places {
        for_c += &format!(" -ffile-prefix-map={}={name}", path.display());
    }
    let mut cargo = Command::new(env!("CARGO"));
    if can_list_crates() {
        cargo.arg("auditable");
    } else {
        eprintln!("warning: cargo-auditable is missing, so {program} does not list its crates");
    }
    cargo
        .args(["build", "--profile", profile, "--locked", "-p", program])
        .args(["--bin", program, "--target", target, "--target-dir"])
        .arg(folder)
        .current_dir(repository)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    if target.contains("linux") {
        cargo.env(format!("CFLAGS_{}", target.replace('-', "_")), for_c);
    }
    ensure!(cargo.status()?.success(), "the release build failed");
    let name = format!("{program}{}", target_of(target)?.exe_suffix());
    let profile_folder = if profile == "dev" { "debug" } else { profile };
    Ok(folder.join(target).join(profile_folder).join(name))
}

/// Reports whether cargo-auditable is installed, which puts the list of crates
/// into the program, where `cargo audit bin` and scanners of images find it.
fn can_list_crates() -> bool {
    let version = Command::new(env!("CARGO"))
        .args(["auditable", "--version"])
        .output();
    version.is_ok_and(|output| output.status.success())
}

/// Builds the commit in two folders of different names, and compares the
/// programs byte by byte.
fn build_twice(profile: &str) -> Result<()> {
    let host = host()?;
    let place = tempfile::tempdir()?;
    let mut sums = Vec::new();
    for name in ["one", "another folder"] {
        let copy = place.path().join(name).join("source");
        let status = Command::new("git")
            .args(["clone", "--quiet", "--local"])
            .arg(crate::repository())
            .arg(&copy)
            .status()?;
        ensure!(status.success(), "git could not clone the repository");
        let folder = place.path().join(name).join("built");
        for program in &PROGRAMS {
            let path = build_in(&copy, &folder, program.name, &host, profile)?;
            let sum = packing::archive::sha256(&fs::read(path)?);
            println!("{sum}  {name}: {}", program.name);
            sums.push(sum);
        }
    }
    let (first, second) = sums.split_at(PROGRAMS.len());
    ensure!(first == second, "the two builds differ");
    Ok(())
}

/// Returns manual pages and completions, as the program itself prints them.
fn texts(program: &Path) -> Result<Vec<Member>> {
    let print = |arguments: &[&str]| -> Result<Vec<u8>> {
        let output = Command::new(program)
            .args(arguments)
            .env_clear()
            .output()
            .with_context(|| program.display().to_string())?;
        ensure!(output.status.success(), "{} failed", arguments.join(" "));
        Ok(output.stdout)
    };
    let name = PROGRAMS[0].name;
    let mut texts = vec![Member::file(format!("man/{name}.1"), print(&["man"])?)];
    for command in String::from_utf8(print(&["man", "--list"])?)?.lines() {
        let page = print(&["man", command])?;
        texts.push(Member::file(format!("man/{name}-{command}.1"), page));
    }
    for (shell, file) in [
        ("bash", "memory-forge.bash"),
        ("zsh", "_memory-forge"),
        ("fish", "memory-forge.fish"),
        ("powershell", "_memory-forge.ps1"),
        ("elvish", "memory-forge.elv"),
    ] {
        let script = print(&["completion", shell])?;
        texts.push(Member::file(format!("completions/{file}"), script));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_above_either_limit_is_too_large() {
        let check = |unpacked: usize, packed: usize, expected: bool| {
            let size = ProgramSize {
                archive: "memory-forge.tar.gz".to_owned(),
                unpacked,
                packed,
            };
            assert_eq!(size.is_too_large(), expected, "{size}");
        };
        check(MAX_PROGRAM_BYTES, MAX_ARCHIVE_BYTES, false);
        check(MAX_PROGRAM_BYTES + 1, 1, true);
        check(1, MAX_ARCHIVE_BYTES + 1, true);
    }
}
