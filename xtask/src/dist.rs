//! `cargo xtask dist`: what a release publishes of each of the two programs. An
//! archive for each target (of the first with manual pages and completions), npm
//! packages (a wrapper and one package per platform, without install scripts), a
//! Homebrew formula, and the sums of all. The same inputs give the same bytes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const HOMEPAGE: &str = "https://github.com/memory-forge/memory-forge";

/// A program that is published on its own.
struct Program {
    name: &'static str,
    description: &'static str,
    /// What npm shows.
    readme: &'static str,
    /// Whether it has commands of its own: pages, completions, an entry in the
    /// registry of MCP servers.
    has_commands: bool,
}

/// The second is a worker of the first, for those who have a server.
const PROGRAMS: [Program; 2] = [
    Program {
        name: "memory-forge",
        description: "Persistent, searchable, auditable memory for coding agents, kept as Markdown in git",
        readme: "packaging/npm/README.md",
        has_commands: true,
    },
    Program {
        name: "memory-forge-engines",
        description: "The part of memory-forge that talks to PostgreSQL and to graph servers",
        readme: "packaging/npm/engines.md",
        has_commands: false,
    },
];

/// A platform, as Rust, npm and Homebrew call it.
struct Platform {
    target: &'static str,
    /// `os` and `cpu` of npm, and what is appended to a package's name.
    npm: (&'static str, &'static str, &'static str),
    homebrew: Option<(&'static str, &'static str)>,
}

const PLATFORMS: [Platform; 6] = [
    Platform {
        target: "aarch64-apple-darwin",
        npm: ("darwin", "arm64", ""),
        homebrew: Some(("on_macos", "on_arm")),
    },
    Platform {
        target: "x86_64-apple-darwin",
        npm: ("darwin", "x64", ""),
        homebrew: Some(("on_macos", "on_intel")),
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        npm: ("linux", "arm64", ""),
        homebrew: Some(("on_linux", "on_arm")),
    },
    Platform {
        target: "x86_64-unknown-linux-gnu",
        npm: ("linux", "x64", ""),
        homebrew: Some(("on_linux", "on_intel")),
    },
    Platform {
        target: "x86_64-unknown-linux-musl",
        npm: ("linux", "x64", "-musl"),
        homebrew: None,
    },
    Platform {
        target: "x86_64-pc-windows-msvc",
        npm: ("win32", "x64", ""),
        homebrew: None,
    },
];

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let host = host()?;
    let mut targets: Vec<&str> = Vec::new();
    let mut binary = None;
    let mut out = crate::target().join("dist");
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} what?"));
        match *word {
            "--target" => targets.push(value()?),
            "--binary" => binary = Some(PathBuf::from(value()?)),
            "--out" => out = PathBuf::from(value()?),
            _ => bail!("expected --target TARGET, --binary FILE or --out FOLDER"),
        }
    }
    if targets.is_empty() {
        targets.push(&host);
    }
    ensure!(
        binary.is_none() || targets == [host.as_str()],
        "--binary is for this machine's own target, {host}"
    );
    fs::create_dir_all(&out)?;
    let mut made = Vec::new();
    for program in &PROGRAMS {
        // The worker lies beside the program, as where it is installed.
        let suffix = std::env::consts::EXE_SUFFIX;
        let name = format!("{}{suffix}", program.name);
        let built = binary.as_ref().map(|path| path.with_file_name(name));
        made.extend(published(program, &targets, built.as_deref())?);
    }
    let mut list = String::new();
    for (name, bytes) in &made {
        fs::write(out.join(name), bytes)?;
        list += &format!("{}  {name}\n", sum(bytes));
        println!("{}", out.join(name).display());
    }
    fs::write(out.join("SHA256SUMS"), list)?;
    Ok(())
}

/// All files of one program, each with its name.
fn published(
    program: &Program,
    targets: &[&str],
    built: Option<&Path>,
) -> Result<Vec<(String, Vec<u8>)>> {
    let texts = if program.has_commands {
        // Pages and completions are the same everywhere, and only a program of
        // this machine can be asked for them.
        texts(&match built {
            Some(path) => path.to_owned(),
            None => crate::build_release(None)?,
        })?
    } else {
        Vec::new()
    };
    let name = program.name;
    let version = env!("CARGO_PKG_VERSION");
    let mut made = Vec::new();
    let mut sums = Vec::new();
    for &target in targets {
        let platform = PLATFORMS.iter().find(|p| p.target == target);
        let platform = platform.with_context(|| {
            let known: Vec<&str> = PLATFORMS.iter().map(|p| p.target).collect();
            format!("unknown target `{target}`; known are {}", known.join(", "))
        })?;
        let path = match built {
            Some(path) => path.to_owned(),
            None => crate::build_program(name, Some(target))?,
        };
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let archive = archive(program, platform, version, &bytes, &texts)?;
        sums.push((platform, sum(&archive)));
        made.push((format!("{name}-v{version}-{target}.tar.gz"), archive));
        made.push(platform_package(program, platform, version, bytes)?);
    }
    made.push(wrapper_package(program, version)?);
    let formula = formula(program, version, &sums)?;
    made.push((format!("{name}.rb"), formula.into_bytes()));
    Ok(made)
}

fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not tell its host")?.to_owned())
}

/// A file of an archive: its path there, its bytes, whether it is a program.
type Member = (String, Vec<u8>, bool);

/// Manual pages and completions, as the program itself prints them.
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
    let mut texts = vec![(format!("man/{name}.1"), print(&["man"])?, false)];
    for command in String::from_utf8(print(&["man", "--list"])?)?.lines() {
        let page = print(&["man", command])?;
        texts.push((format!("man/{name}-{command}.1"), page, false));
    }
    for (shell, file) in [
        ("bash", "memory-forge.bash"),
        ("zsh", "_memory-forge"),
        ("fish", "memory-forge.fish"),
        ("powershell", "_memory-forge.ps1"),
        ("elvish", "memory-forge.elv"),
    ] {
        let script = print(&["completion", shell])?;
        texts.push((format!("completions/{file}"), script, false));
    }
    Ok(texts)
}

fn archive(
    program: &Program,
    platform: &Platform,
    version: &str,
    bytes: &[u8],
    texts: &[Member],
) -> Result<Vec<u8>> {
    let mut members = texts.to_vec();
    members.push((
        format!("{}{}", program.name, suffix(platform)),
        bytes.to_vec(),
        true,
    ));
    for name in ["README.md", "CHANGELOG.md"] {
        members.push((name.to_owned(), read(name)?, false));
    }
    members.extend(licences()?);
    let folder = format!("{}-v{version}-{}", program.name, platform.target);
    tar_gz(&folder, members)
}

/// The package with the program, which npm installs only where it fits.
fn platform_package(
    program: &Program,
    platform: &Platform,
    version: &str,
    bytes: Vec<u8>,
) -> Result<(String, Vec<u8>)> {
    let name = package_name(program, platform);
    let (os, cpu, flavour) = platform.npm;
    let mut manifest = json!({
        "name": name,
        "version": version,
        "description": format!("The {os} {cpu} program of {}", program.name),
        "license": "MIT OR Apache-2.0",
        "repository": HOMEPAGE,
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": true,
        "files": ["bin"],
    });
    if os == "linux" {
        let libc = match flavour {
            "-musl" => "musl",
            _ => "glibc",
        };
        manifest["libc"] = json!([libc]);
    }
    let mut members = vec![
        ("package.json".to_owned(), pretty(&manifest)?, false),
        (
            format!("bin/{}{}", program.name, suffix(platform)),
            bytes,
            true,
        ),
    ];
    members.extend(licences()?);
    Ok((format!("{name}-{version}.tgz"), tar_gz("package", members)?))
}

/// The package that users name: a few lines of JavaScript that start the
/// program of the platform's package.
fn wrapper_package(program: &Program, version: &str) -> Result<(String, Vec<u8>)> {
    let name = program.name;
    let script = format!("bin/{name}.js");
    let programs: serde_json::Map<String, Value> = PLATFORMS
        .iter()
        .map(|platform| (package_name(program, platform), json!(version)))
        .collect();
    let mut manifest = json!({
        "name": name,
        "version": version,
        "description": program.description,
        "license": "MIT OR Apache-2.0",
        "repository": HOMEPAGE,
        "bin": { name: script },
        "files": ["bin"],
        "engines": { "node": ">=18" },
        "optionalDependencies": programs,
    });
    if program.has_commands {
        manifest["mcpName"] = json!("io.github.memory-forge/memory-forge");
    }
    let mut members = vec![
        ("package.json".to_owned(), pretty(&manifest)?, false),
        (
            script,
            // It starts the program that its own name says.
            read("packaging/npm/memory-forge.js")?,
            true,
        ),
        ("README.md".to_owned(), read(program.readme)?, false),
    ];
    members.extend(licences()?);
    Ok((format!("{name}-{version}.tgz"), tar_gz("package", members)?))
}

fn formula(program: &Program, version: &str, sums: &[(&Platform, String)]) -> Result<String> {
    let name = program.name;
    let template = String::from_utf8(read(&format!("packaging/homebrew/{name}.rb"))?)?;
    let mut platforms = String::new();
    for system in ["on_macos", "on_linux"] {
        let here: Vec<_> = sums
            .iter()
            .filter_map(|(platform, sum)| Some((platform.homebrew?, platform.target, sum)))
            .filter(|((on, _), _, _)| *on == system)
            .collect();
        if here.is_empty() {
            continue;
        }
        platforms += &format!("  {system} do\n");
        for ((_, processor), target, sum) in here {
            let url = format!(
                "{HOMEPAGE}/releases/download/v{version}/{name}-v{version}-{target}.tar.gz"
            );
            platforms += &format!(
                "    {processor} do\n      url \"{url}\"\n      sha256 \"{sum}\"\n    end\n"
            );
        }
        platforms += "  end\n\n";
    }
    Ok(template
        .replace("{homepage}", HOMEPAGE)
        .replace("{version}", version)
        .replace("{platforms}\n", &platforms))
}

fn package_name(program: &Program, platform: &Platform) -> String {
    let (os, cpu, flavour) = platform.npm;
    format!("{}-{os}-{cpu}{flavour}", program.name)
}

fn suffix(platform: &Platform) -> &'static str {
    match platform.npm.0 {
        "win32" => ".exe",
        _ => "",
    }
}

fn licences() -> Result<Vec<Member>> {
    ["LICENSE-MIT", "LICENSE-APACHE"]
        .into_iter()
        .map(|name| Ok((name.to_owned(), read(name)?, false)))
        .collect()
}

fn read(path: &str) -> Result<Vec<u8>> {
    fs::read(crate::repository().join(path)).with_context(|| path.to_owned())
}

fn pretty(value: &Value) -> Result<Vec<u8>> {
    Ok((serde_json::to_string_pretty(value)? + "\n").into_bytes())
}

fn sum(bytes: &[u8]) -> String {
    let sum: [u8; 32] = Sha256::digest(bytes).into();
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Members in order of their names, all of the same age and nobody's, so that
/// an archive depends on what is in it and on nothing else.
fn tar_gz(folder: &str, mut members: Vec<Member>) -> Result<Vec<u8>> {
    members.sort();
    let packer = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::default());
    let mut tar = tar::Builder::new(packer);
    for (name, bytes, program) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(if program { 0o755 } else { 0o644 });
        // Some tools take zero for "unknown" and complain.
        header.set_mtime(946_684_800);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, format!("{folder}/{name}"), bytes.as_slice())?;
    }
    let mut packer = tar.into_inner()?;
    packer.flush()?;
    Ok(packer.finish()?)
}
