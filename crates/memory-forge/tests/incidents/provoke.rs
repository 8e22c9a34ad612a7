//! What several rows need to let something go wrong: a workspace in which every
//! command has work to do, the list of all commands, and programs that may hang.
//! It asserts nothing about memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use testkit::{Output, TestWorkspace};

use crate::harness::ws;

/// Only something that hangs takes this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace with a manifest, knowledge, agents and a context file.
pub(crate) const HOUSE: &str = "
    //- _MANIFEST.md
    # Context Routing
    <!-- memex-managed:2.1.3 -->
    <!-- summary-format-version:2 -->

    ## Tier 1 - Always Load
    | File | Summary | Volatility |
    |---|---|---|
    | [[status]] | Where we are | VOLATILE |

    ## Tier 3 - Archive
    | File | Reason | Date |
    |---|---|---|

    ## Hub Map
    | Domain | Hub | Summary |
    |---|---|---|
    | Garden | [[garden/_CLOSETS]] | Beds and seeds |
    //- memory/status.md
    # Status

    **Phase:** Spring

    ## Active Focus
    Sow the beds
    //- memory/session-log.md
    # Session Log

    ---

    ## 2026-02-27 - Second

    - Measured the beds.

    ---
    //- memory/decisions.md
    # Decisions

    **2026-02-01** - Grow beans
    //- garden/beans.md
    # Beans
    They climb. See [[peas]].
    //- garden/peas.md
    # Peas
    They climb too, as beans do.
    //- knowledge/tides.md
    # Tides

    High water at noon.
    //- knowledge/old.md
    # Old

    The old harbour.
    //- knowledge/plan.local.md
    # Mine

    A plan of my own.
    //- memory-bank/projectbrief.md
    # Project brief

    A harbour.
    //- CLAUDE.md
    # House rules
    //- base.md
    a
    //- theirs.md
    a
    //- src/main.rs
    fn main() {}
";

/// Where the work stands, for rows about hooks.
pub(crate) const STATE: &str = "
    //- .mind/STATE.md
    # Project State

    ## Current Phase
    Phase 2: Build

    ## Current Status
    Login half done

    ## Next Action
    Finish login
    //- .mind/PROGRESS.md
    # Progress Tracker

    ### In Progress
    - [ ] Build login page
    //- .mind/DECISIONS.md
    # Decision Log

    ## DEC-001: Use SQLite
    - **Decision:** One file is enough
    //- .mind/SESSION-LOG.md
    # Session Log

    ## Session 1 — 2026-02-28 10:00:00
    - **Summary:** Began the form
";

/// Every command in an order in which each has something to do in [`HOUSE`],
/// and how it ends there. Words are parted by `|`.
pub(crate) const COMMANDS: &[(&str, i32)] = &[
    ("init|--yes", 0),
    ("index", 0),
    ("search|tides", 0),
    ("search|--scope|all|--json|beans", 0),
    ("save|context|retry|--content|Retry three times.", 0),
    ("forget|knowledge/old.md|--yes", 0),
    ("restore|knowledge/old.md", 0),
    ("stats", 0),
    ("memory", 0),
    ("list", 0),
    ("clear", 0),
    ("preload", 0),
    ("preview|knowledge/tides.md", 0),
    ("why", 0),
    ("replay|.", 0),
    ("audit", 0),
    ("doctor|--fix|--yes", 0),
    ("doctor|--undo|--dry-run", 0),
    ("undo|--dry-run", 0),
    ("mind|show", 0),
    ("mind|set|--phase|Build|--next|Ship", 0),
    ("mind|decide|Queue|--decision|Use the database", 0),
    ("mind|task|add|Write the migration", 0),
    ("mind|task|done|migration", 0),
    ("mind|log|Login works", 0),
    ("mind|checkpoint", 0),
    ("mind|compress", 0),
    ("mind|health", 0),
    ("session|start", 0),
    ("session|update|--next|Call the printer", 0),
    ("session|end|--title|Third|--did|Dug a bed", 0),
    ("idea|A raffle at the fair", 0),
    (
        "agent|remember|API|--agent|eng/builder|--type|project|--content|Revision 37 is out.",
        0,
    ),
    ("agent|recall|which revision|--agent|builder", 0),
    ("agent|learn|Freezing the clock fixed it|--squad|eng", 0),
    ("agent|init", 0),
    ("agent|index|--check", 0),
    ("agent|rotate", 0),
    ("check", 1),
    ("lint|--fix|--yes", 1),
    ("consolidate|--fix|--force", 0),
    ("sources|add", 0),
    ("sources|list", 0),
    ("mcp|--list", 0),
    ("view|--export|site", 0),
    ("closets|build", 0),
    ("closets|check", 0),
    ("closets|show|beans", 0),
    ("links|check", 0),
    ("links|suggest", 0),
    ("links|apply|--yes", 0),
    ("links|rename|garden/peas.md|garden/sweet-peas.md|--yes", 0),
    ("graph|show|beans", 0),
    ("graph|check", 0),
    ("graph|export|--format|json", 0),
    ("graph|write", 0),
    ("engine|push|--tenant|acme|--dry-run", 0),
    ("manifest|show", 0),
    ("workspace|organise|--dry-run", 0),
    ("manifest|refresh", 0),
    ("domain|list", 0),
    ("domain|add|legal", 0),
    ("archive|garden/beans.md|--reason|Ended", 0),
    ("upgrade", 0),
    ("import|native", 0),
    ("import|transcripts", 0),
    ("import|memory-bank|memory-bank", 0),
    ("export|jsonl", 0),
    ("setup|claude|codex|--yes", 0),
    ("setup|--git|--yes", 0),
    ("share|knowledge/plan.local.md|--yes", 0),
    ("merge|base.md|README.md|theirs.md", 0),
    ("status", 0),
    ("config", 0),
    ("hook|session-start", 0),
    ("hook|stop", 0),
    ("hook|session-end", 0),
    ("completion|bash", 0),
    ("man", 0),
    ("uninstall|--yes", 0),
];

pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split('|').collect()
}

/// [`HOUSE`] as a repository with all of it committed but what is private.
pub(crate) fn house() -> TestWorkspace {
    let ws = ws(HOUSE);
    ws.write("README.md", "a\n");
    ws.write(".gitignore", "*.local.md\n");
    ws.git_init();
    ws.commit("first");
    ws
}

/// Waits for a program that may hang, and gives what it said on the pipes that
/// it was given.
#[track_caller]
pub(crate) fn ended(mut child: Child, what: &str) -> Output {
    // Whoever keeps the input open takes it out before.
    drop(child.stdin.take());
    let out = child.stdout.take().map(reader);
    let err = child.stderr.take().map(reader);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it was started") {
            break status;
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("`{what}` hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |reader: Option<std::thread::JoinHandle<Vec<u8>>>| {
        let bytes = reader.map_or_else(Vec::new, |it| it.join().expect("reading does not panic"));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Output {
        status: status.code(),
        stdout: text(out),
        stderr: text(err),
    }
}

fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// `mcp --http`, once it takes connections, and its address.
pub(crate) fn served(ws: &TestWorkspace, more: &[&str]) -> (Child, String) {
    let mut child = ws
        .command()
        .args(["mcp", "--http"])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let told = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = told.lines().map_while(Result::ok);
    let address = lines
        .find_map(|line| Some(line.strip_prefix("Listening on http://")?.to_owned()))
        .expect("it says where");
    (child, address.trim_end_matches("/mcp").to_owned())
}

/// Runs a command of [`COMMANDS`] with nothing on its input.
#[track_caller]
pub(crate) fn run(ws: &TestWorkspace, line: &str) -> Output {
    let mut command = ws.command();
    command.args(words(line));
    quiet(&mut command, line)
}

/// Runs whatever it is with nothing on its input, for as long as is decent.
#[track_caller]
pub(crate) fn quiet(command: &mut Command, what: &str) -> Output {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("`{what}` cannot be started: {error}"));
    ended(child, what)
}

/// The program below another one, such as `unshare -n`, in the same
/// surroundings.
pub(crate) fn below(ws: &TestWorkspace, wrapper: &[&str], line: &[&str]) -> Command {
    let plain = ws.command();
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(plain.get_program())
        .args(line)
        .current_dir(plain.get_current_dir().expect("it is set"))
        .env_clear();
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

/// Whether a program can be run here; says so where it cannot.
pub(crate) fn can(program: &[&str]) -> bool {
    let tried = Command::new(program[0])
        .args(&program[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        testkit::skip(format!("`{}` does not work here", program.join(" ")));
    }
    can
}

/// A wrapper that makes a folder read-only for the program below it alone, as
/// a mount of its own.
pub(crate) fn read_only(folder: &Path) -> Vec<String> {
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    let folder = folder.to_string_lossy();
    ["unshare", "-m", "sh", "-c", script, &folder]
        .map(str::to_owned)
        .to_vec()
}

/// Gives a file another time.
pub(crate) fn set_time(path: &Path, time: SystemTime) {
    let file = File::options().write(true).open(path).expect("it is there");
    file.set_modified(time).expect("times can be set");
}

/// Puts the program at another place.
pub(crate) fn program_at(path: &Path) {
    let binary = env!("CARGO_BIN_EXE_memory-forge");
    let folder = path.parent().expect("it has a folder");
    std::fs::create_dir_all(folder).expect("ours");
    if std::fs::hard_link(binary, path).is_err() {
        std::fs::copy(binary, path).expect("it can be copied");
    }
}
