//! The one table of programs, targets and texts. Names that a package manager
//! uses for a system are derived from it and written nowhere else.

/// Where the sources and the files of releases are.
pub const HOMEPAGE: &str = "https://github.com/memory-forge/memory-forge";
/// The version of both programs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// SPDX expression of the licences.
pub const LICENCE: &str = "MIT OR Apache-2.0";
/// The name that package managers show as the author.
pub const AUTHOR: &str = "The Memory Forge contributors";
/// The name in the registry of MCP servers.
pub const SERVER: &str = "io.github.memory-forge/memory-forge";
/// What the plugin does, as marketplaces show it.
pub const PLUGIN_SUMMARY: &str = "Memory for coding agents: where the work stands, what was \
    decided, what is known; kept as Markdown in your repository";
/// What the server does, in at most 100 characters.
pub const SERVER_SUMMARY: &str = "Persistent, searchable, auditable memory for coding agents, as Markdown in your git repository";

/// Program that is published on its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// The name of its file, and of its package everywhere.
    pub name: &'static str,
    /// One sentence, without a full stop.
    pub summary: &'static str,
    /// The text for people, in the repository.
    pub readme: &'static str,
    /// Whether it has commands of its own: pages, completions, an entry in the
    /// registry of MCP servers.
    pub has_commands: bool,
}

/// The program, and its worker for those who have a server.
pub const PROGRAMS: [Program; 2] = [
    Program {
        name: "memory-forge",
        summary: "Persistent, searchable, auditable memory for coding agents, kept as Markdown in git",
        readme: "packaging/npm/README.md",
        has_commands: true,
    },
    Program {
        name: "memory-forge-engines",
        summary: "The part of memory-forge that talks to PostgreSQL and to graph servers",
        readme: "packaging/npm/engines.md",
        has_commands: false,
    },
];

/// Operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux with the GNU C library, linked dynamically.
    LinuxGnu,
    /// Linux with any C library, linked statically.
    LinuxMusl,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// Processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// 64-bit x86.
    X64,
    /// 64-bit ARM.
    Arm64,
}

/// Target of a release.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// Rust's name.
    pub rust: &'static str,
    /// Its operating system.
    pub system: System,
    /// Its processor.
    pub processor: Processor,
}

/// Every target of a release.
pub const TARGETS: [Target; 7] = [
    target("aarch64-apple-darwin", System::MacOs, Processor::Arm64),
    target("x86_64-apple-darwin", System::MacOs, Processor::X64),
    target(
        "aarch64-unknown-linux-gnu",
        System::LinuxGnu,
        Processor::Arm64,
    ),
    target("x86_64-unknown-linux-gnu", System::LinuxGnu, Processor::X64),
    target(
        "aarch64-unknown-linux-musl",
        System::LinuxMusl,
        Processor::Arm64,
    ),
    target(
        "x86_64-unknown-linux-musl",
        System::LinuxMusl,
        Processor::X64,
    ),
    target("x86_64-pc-windows-msvc", System::Windows, Processor::X64),
];

const fn target(rust: &'static str, system: System, processor: Processor) -> Target {
    Target {
        rust,
        system,
        processor,
    }
}

impl Target {
    /// Returns the target of a name.
    pub fn from_name(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.rust == name)
    }

    /// Returns the end of a program's file name.
    pub fn exe_suffix(&self) -> &'static str {
        match self.system {
            System::Windows => ".exe",
            _ => "",
        }
    }

    /// Returns the end of an archive's file name. Windows has no `tar` for gzip
    /// in older versions, and its package managers expect zip.
    pub fn archive_suffix(&self) -> &'static str {
        match self.system {
            System::Windows => "zip",
            _ => "tar.gz",
        }
    }

    /// Returns `os` and `cpu` of npm, and what is appended to a package's name.
    pub fn npm(&self) -> (&'static str, &'static str, &'static str) {
        let cpu = match self.processor {
            Processor::X64 => "x64",
            Processor::Arm64 => "arm64",
        };
        match self.system {
            System::LinuxGnu => ("linux", cpu, ""),
            System::LinuxMusl => ("linux", cpu, "-musl"),
            System::MacOs => ("darwin", cpu, ""),
            System::Windows => ("win32", cpu, ""),
        }
    }

    /// Returns the blocks of a Homebrew formula, where there is one.
    pub fn homebrew(&self) -> Option<(&'static str, &'static str)> {
        let processor = match self.processor {
            Processor::X64 => "on_intel",
            Processor::Arm64 => "on_arm",
        };
        match self.system {
            System::MacOs => Some(("on_macos", processor)),
            System::LinuxGnu => Some(("on_linux", processor)),
            System::LinuxMusl | System::Windows => None,
        }
    }

    /// Returns the platform of a Python wheel for a program that needs this
    /// version of glibc.
    pub fn wheel(&self, glibc: (u32, u32)) -> String {
        let unix = match self.processor {
            Processor::X64 => "x86_64",
            Processor::Arm64 => "aarch64",
        };
        match (self.system, self.processor) {
            (System::LinuxGnu, _) => format!("manylinux_{}_{}_{unix}", glibc.0, glibc.1),
            (System::LinuxMusl, _) => format!("musllinux_1_2_{unix}"),
            (System::MacOs, Processor::X64) => "macosx_10_12_x86_64".to_owned(),
            (System::MacOs, Processor::Arm64) => "macosx_11_0_arm64".to_owned(),
            (System::Windows, Processor::X64) => "win_amd64".to_owned(),
            (System::Windows, Processor::Arm64) => "win_arm64".to_owned(),
        }
    }

    /// Returns Debian's and OCI's name of the processor.
    pub fn debian(&self) -> &'static str {
        match self.processor {
            Processor::X64 => "amd64",
            Processor::Arm64 => "arm64",
        }
    }
}

/// Returns the name of a program's archive for a target, without its suffix. It
/// is also the folder inside of it, and what cargo-binstall looks for.
pub fn archive_stem(program: &Program, target: &Target) -> String {
    format!("{}-v{VERSION}-{}", program.name, target.rust)
}

/// Returns the file name of a program's archive for a target.
pub fn archive_name(program: &Program, target: &Target) -> String {
    format!(
        "{}.{}",
        archive_stem(program, target),
        target.archive_suffix()
    )
}

/// Returns the folder of a release's files, for everyone.
pub fn download_folder() -> String {
    format!("{HOMEPAGE}/releases/download/v{VERSION}")
}
