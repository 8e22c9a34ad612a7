//! What is put in the place of a file, and the world outside that it may lead
//! to. It knows no command.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A word that stands outside of the workspace alone.
pub(crate) const CANARY: &str = "canary7f3a9e";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hostility {
    /// A link to a file outside.
    LinkToFile,
    /// A link to a name outside that is not there.
    Dangling,
    /// A link to a folder outside.
    LinkToFolder,
    /// A link to a device without end.
    Endless,
    Pipe,
    Socket,
    /// A folder where a file belongs, or a file where a folder does.
    OtherKind,
    Empty,
    /// Mode 000.
    Unreadable,
    Garbage,
    /// Sound, of another program or project, and with links that lead out.
    Foreign,
    /// Larger than any disk holds, without taking space.
    Huge,
}

impl Hostility {
    /// All but the mode, which needs a user who is not root.
    pub(crate) const ALL: [Hostility; 11] = [
        Hostility::LinkToFile,
        Hostility::Dangling,
        Hostility::LinkToFolder,
        Hostility::Endless,
        Hostility::Pipe,
        Hostility::Socket,
        Hostility::OtherKind,
        Hostility::Empty,
        Hostility::Garbage,
        Hostility::Foreign,
        Hostility::Huge,
    ];

    /// Whether something with [`CANARY`] lies behind it.
    pub(crate) fn leads_to_the_canary(self) -> bool {
        matches!(
            self,
            Hostility::LinkToFile | Hostility::LinkToFolder | Hostility::Foreign
        )
    }
}

/// The world outside, beside the workspace and the home.
pub(crate) struct Outside {
    folder: PathBuf,
    /// A pipe and a socket, to be linked into place.
    kinds: PathBuf,
}

impl Outside {
    pub(crate) fn make(base: &Path) -> Outside {
        let (folder, kinds) = (base.join("outside"), base.join("kinds"));
        for path in [&folder, &kinds] {
            fs::create_dir(path).expect("the base is ours");
        }
        let inner = folder.join("folder");
        fs::create_dir(&inner).expect("the base is ours");
        for name in SOUND {
            fs::write(folder.join(name), sound(name, CANARY)).expect("the base is ours");
        }
        for name in INNER {
            fs::write(inner.join(name), sound(name, CANARY)).expect("the base is ours");
        }
        let made = Command::new("mkfifo").arg(kinds.join("pipe")).status();
        assert!(made.is_ok_and(|it| it.success()), "mkfifo is in coreutils");
        // The name stays when nobody listens any more.
        drop(UnixListener::bind(kinds.join("socket")).expect("the base is ours"));
        Outside { folder, kinds }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts it where `path` is or could be, and says whether it could: not
    /// below a file.
    pub(crate) fn plant(&self, hostility: Hostility, path: &Path) -> bool {
        let was_folder = path.is_dir();
        remove(path);
        let parent = path.parent().unwrap_or(path);
        if fs::create_dir_all(parent).is_err() {
            return false;
        }
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or("a");
        let link = |to: &Path| symlink(to, path);
        match hostility {
            Hostility::LinkToFile => link(&self.folder.join(like(name))),
            Hostility::Dangling => link(&self.folder.join("new")),
            Hostility::LinkToFolder => link(&self.folder.join("folder")),
            Hostility::Endless => link(Path::new("/dev/zero")),
            Hostility::Pipe => fs::hard_link(self.kinds.join("pipe"), path),
            Hostility::Socket => fs::hard_link(self.kinds.join("socket"), path),
            Hostility::OtherKind if was_folder => fs::write(path, "no folder\n"),
            Hostility::OtherKind => fs::create_dir(path),
            Hostility::Empty => fs::write(path, ""),
            Hostility::Unreadable => fs::write(path, "").and_then(|()| {
                let none = fs::Permissions::from_mode(0o000);
                fs::set_permissions(path, none)
            }),
            Hostility::Garbage => fs::write(path, garbage()),
            Hostility::Foreign => fs::write(path, sound(like(name), "stranger")),
            Hostility::Huge => fs::File::create(path).and_then(|file| file.set_len(HUGE)),
        }
        .unwrap_or_else(|error| panic!("{hostility:?} at {}: {error}", path.display()));
        true
    }
}

const HUGE: u64 = 64 << 30;

/// Removes whatever lies there.
pub(crate) fn remove(path: &Path) {
    let Ok(meta) = path.symlink_metadata() else {
        return;
    };
    let removed = if meta.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// A file outside for each kind.
const SOUND: [&str; 7] = [
    "note.md",
    "data.json",
    "data.jsonl",
    "data.toml",
    "index.db",
    "config",
    "HEAD",
];

/// Names that the program looks for in its folders.
const INNER: [&str; 16] = [
    "note.md",
    "STATE.md",
    "PROGRESS.md",
    "DECISIONS.md",
    "SESSION-LOG.md",
    "MEMORY.md",
    "README.md",
    "SKILL.md",
    "_CLOSETS.md",
    "status.md",
    "settings.json",
    "entry.json",
    "config.toml",
    "index.db",
    "config",
    "HEAD",
];

/// The file outside that is most like one of this name.
fn like(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match (name, ending) {
        ("HEAD", _) => "HEAD",
        ("config", _) => "config",
        (_, "json" | "jsonc" | "lock") => "data.json",
        (_, "jsonl") => "data.jsonl",
        (_, "toml") => "data.toml",
        (_, "db") => "index.db",
        _ => "note.md",
    }
}

/// A file of this name that is in order, with a word in all that it says.
fn sound(name: &str, word: &str) -> Vec<u8> {
    match like(name) {
        "data.json" => format!(
            "{{\"version\": 1, \"{word}\": \"{word}\", \"hooks\": {{\"Stop\": [{{\"hooks\": \
             [{{\"type\": \"command\", \"command\": \"mem0 {word}\"}}]}}]}}, \"mcpServers\": \
             {{\"{word}\": {{\"command\": \"claude-mem {word}\"}}}}, \"entries\": [\"{word}\"]}}\n"
        )
        .into_bytes(),
        "data.jsonl" => format!(
            "{{\"type\": \"user\", \"timestamp\": \"2026-02-01T10:00:00Z\", \"message\": \
             {{\"role\": \"user\", \"content\": \"seeds and beans {word}\"}}}}\n"
        )
        .into_bytes(),
        "data.toml" => format!(
            "[index]\nchunk_tokens = \"{word}\"\n{word} = 1\n[search]\nmodel = \"../outside/note.md\"\n\
             [mcp_servers.{word}]\ncommand = \"mem0 {word}\"\n"
        )
        .into_bytes(),
        "index.db" => database(word),
        "config" => format!("[user]\n\tname = {word}\n[merge \"memory-forge\"]\n\tdriver = {word}\n")
            .into_bytes(),
        "HEAD" => format!("ref: refs/heads/{word}\n").into_bytes(),
        _ => format!(
            "---\nname: {word}\ndescription: seeds {word}\n---\n# Seeds of {word}\n\n\
             <!-- memex-managed:2.1.3 -->\n\n## Current Phase\nPhase {word}\n\n\
             ## Next Action\nSow the beans of {word}\n\n## DEC-001: {word}\n\
             - **Decision:** seeds, beans and billing of {word}\n\n## Tier 1 - Always Load\n\
             | File | Summary | Volatility |\n|---|---|---|\n| [[{word}]] | Seeds {word} | STABLE |\n\n\
             ### In Progress\n- [ ] Carry the seeds of {word}\n\nSee [[beans]], [[../outside/note]] and \
             [more](../outside/note.md). ![{word}](../outside/note.md) TODO: {word}\n\n\
             @../outside/note.md\n"
        )
        .into_bytes(),
    }
}

fn database(word: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let path = folder.path().join("a.db");
    let db = rusqlite::Connection::open(&path).expect("a new database");
    db.execute_batch(&format!(
        "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('seeds {word}');"
    ))
    .expect("plain SQL");
    drop(db);
    fs::read(&path).expect("it was just written")
}

/// Bytes that are no text, the same each time.
fn garbage() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(4096);
    while bytes.len() < 4096 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes
}
