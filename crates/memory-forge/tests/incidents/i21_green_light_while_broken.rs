//! A green light while something is broken.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Output, TestWorkspace};

use crate::harness::{found, ws};
use crate::i01_children_without_bound::mcp_client::Client;
use crate::i01_children_without_bound::provoke::{below, can, program_at, quiet, read_only};

/// A workspace with which `doctor` is content, so that whatever it says later
/// is about what was broken.
fn healthy() -> TestWorkspace {
    let ws = ws("
        //- knowledge/tides.md
        # Tides

        High water at noon, low water at six.
        //- knowledge/winds.md
        # Winds

        The wind turns at dusk and falls at night.
        //- .mind/STATE.md
        # Project State

        ## Next Action
        Ship
    ");
    ws.git_init();
    ws.run(&["init", "--yes"]).ok();
    ws.run(&["index"]).ok();
    ws.commit("first");
    let doctor = ws.run(&["doctor"]);
    assert!(doctor.ok().contains("0 warnings, 0 problems"), "{doctor}");
    ws
}

/// `doctor` fails and names it, in text and in JSON.
#[track_caller]
fn named(ws: &TestWorkspace, case: &str, words: &[&str]) {
    let doctor = ws.run(&["doctor"]);
    is_named(&doctor, case, words);
    let output = ws.run(&["doctor", "--json"]);
    let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(
        (output.status, &json["worst"]),
        (Some(1), &json!("problem")),
        "{case}: {output}"
    );
}

#[track_caller]
fn is_named(doctor: &Output, case: &str, words: &[&str]) {
    assert_eq!(doctor.status, Some(1), "{case}: a green light: {doctor}");
    let problems: String = doctor
        .stdout
        .lines()
        .filter(|line| line.starts_with('✗'))
        .collect::<Vec<_>>()
        .join("\n");
    for word in words {
        assert!(
            problems.contains(word),
            "{case}: `{word}` is not named: {doctor}"
        );
    }
}

#[test]
fn each_damage_of_the_index_is_seen() {
    // Cut off, zeroed, text, a folder, another program's database.
    let ws = healthy();
    let whole = ws.read_bytes(".memory-forge/index.db");
    for (case, bytes) in [
        ("empty", Vec::new()),
        ("text", b"this is not a database".to_vec()),
        ("zeroes", vec![0; whole.len()]),
        ("cut in the middle", whole[..whole.len() / 2].to_vec()),
        ("cut at a page", whole[..4096].to_vec()),
    ] {
        ws.write(".memory-forge/index.db", bytes);
        named(&ws, case, &["index"]);
    }
    // Bytes turned in each page that holds something.
    let pages = whole.len() / 4096;
    let mut seen = 0;
    for page in (0..pages).step_by((pages / 24).max(1)) {
        let mut bytes = whole.clone();
        for byte in &mut bytes[page * 4096..(page + 1) * 4096] {
            *byte ^= 0x5a;
        }
        ws.write(".memory-forge/index.db", &bytes);
        let doctor = ws.run(&["doctor"]);
        // A page that nothing is kept in may be anything.
        if doctor.status == Some(0) {
            assert_eq!(
                found(&ws, "noon", &[])[0],
                "knowledge/tides.md",
                "page {page}"
            );
            assert_eq!(
                found(&ws, "dusk", &[])[0],
                "knowledge/winds.md",
                "page {page}"
            );
            continue;
        }
        seen += 1;
        is_named(&doctor, &format!("page {page}"), &["index"]);
    }
    assert!(seen > 5, "{seen} of {pages}");
    ws.write(".memory-forge/index.db", &whole);
    ws.run(&["doctor"]).ok();
}

/// Rows that disagree with each other, in a file whose pages are all sound.
#[test]
fn an_index_whose_parts_disagree_is_seen() {
    let open = |ws: &TestWorkspace| {
        rusqlite::Connection::open(ws.path(".memory-forge/index.db")).expect("a database")
    };
    let tables: Vec<String> = {
        let ws = healthy();
        let db = open(&ws);
        let mut statement = db
            .prepare(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
            )
            .expect("SQL");
        let names = statement.query_map([], |row| row.get(0)).expect("SQL");
        names.map(|it| it.expect("a name")).collect()
    };
    assert!(tables.len() >= 4, "{tables:?}");
    let mut seen = 0;
    for table in &tables {
        let ws = healthy();
        let rows = open(&ws)
            .execute(&format!("delete from {table}"), [])
            .expect("SQL");
        if rows == 0 {
            continue;
        }
        let doctor = ws.run(&["doctor"]);
        is_named(&doctor, table, &[]);
        seen += 1;
        // And a rebuild puts it right.
        ws.run(&["index", "--force"]).ok();
        ws.run(&["doctor"]).ok();
    }
    assert!(seen >= 7, "{seen} of {tables:?}");
}

/// Vectors that are missing: searches by meaning would find nothing, silently.
#[test]
fn missing_vectors_are_told() {
    let ws = healthy();
    ws.run(&["index", "--force", "--no-vectors"]).ok();
    let doctor = ws.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("0 of them with a vector"),
        "{doctor}"
    );
    // The count is the truth, and a search says by which mode it answered.
    let json: Value =
        serde_json::from_str(&ws.run(&["search", "--json", "noon"]).stdout).expect("JSON");
    assert!(json["mode"].is_string(), "{json}");
}

#[test]
#[cfg(unix)]
fn files_that_cannot_be_used_are_seen() {
    let ws = healthy();
    ws.write("knowledge/latin.md", b"# Caf\xe9\n");
    named(&ws, "not UTF-8", &["knowledge/latin.md"]);
    ws.remove("knowledge/latin.md");
    ws.write(
        "knowledge/key.md",
        format!("# Key\n\nghp_{}\n", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    );
    named(&ws, "a secret", &["knowledge/key.md", "secret"]);
    ws.remove("knowledge/key.md");
    ws.write("knowledge/_FORGOTTEN.md", b"\xff\xfe");
    named(&ws, "the list of the forgotten", &["_FORGOTTEN.md"]);
    ws.remove("knowledge/_FORGOTTEN.md");
    ws.git(&["add", "--force", ".memory-forge/index.db"]);
    named(&ws, "git tracks what is derived", &["git tracks"]);
    ws.git(&["rm", "--quiet", "--cached", ".memory-forge/index.db"]);
    ws.write("knowledge/tides.md", "# Tides\n\nChanged since.\n");
    let doctor = ws.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("1 file differ") || doctor.stdout.contains("from what was indexed"),
        "{doctor}"
    );
}

/// The program that hooks are to call is gone. They keep silent, so that no
/// session is blocked; this is the one place that tells.
#[test]
#[cfg(unix)]
fn hooks_that_call_a_program_that_is_gone_are_seen() {
    for client in ["claude", "codex", "opencode", "gemini", "copilot", "cursor"] {
        for scope in ["project", "user"] {
            let ws = healthy();
            let folder = ws.home().join("bin");
            let program = folder.join("memory-forge");
            program_at(&program);
            let run = |arguments: &[&str], path: &str| {
                let mut command = ws.command();
                command.args(arguments).env("PATH", path);
                quiet(&mut command, &arguments.join(" "))
            };
            let on_path = format!("{}:/usr/bin:/bin", folder.display());
            let case = format!("{client}, {scope}");
            // By name.
            run(&["setup", client, "--scope", scope, "--yes"], &on_path).ok();
            let content = run(&["doctor"], &on_path);
            assert!(!content.stdout.contains("clients:"), "{case}: {content}");
            let doctor = run(&["doctor"], "/usr/bin:/bin");
            is_named(&doctor, &case, &["is not on the `PATH`"]);
            run(&["uninstall", "--yes"], &on_path).ok();
            // By its path, which an update moves.
            let mut command = Command::new(&program);
            command
                .env_clear()
                .envs([("HOME", ws.home())])
                .current_dir(ws.root());
            command.args(["setup", client, "--scope", scope, "--absolute", "--yes"]);
            quiet(&mut command, "setup --absolute").ok();
            let content = run(&["doctor"], "/usr/bin:/bin");
            assert!(!content.stdout.contains("clients:"), "{case}: {content}");
            fs::remove_file(&program).expect("ours");
            let doctor = run(&["doctor"], "/usr/bin:/bin");
            is_named(&doctor, &case, &["bin/memory-forge`, which is not there"]);
        }
    }
}

/// A save that cannot be read back is no success: on a disk that is read-only
/// or full, every writing command fails and says why.
#[test]
#[cfg(target_os = "linux")]
fn a_write_that_did_not_happen_is_never_called_done() {
    if !can(&["unshare", "-m", "true"]) {
        return;
    }
    let ws = healthy();
    let before = ws.tree();
    let read_only = read_only(ws.root());
    // A disk with room for nothing, under the same folder.
    let full = "mkdir -p \"$0.full\" && mount -t tmpfs -o size=4m t \"$0.full\" && \
                cp -a \"$0/.\" \"$0.full\" && cd \"$0.full\" && rm -r .memory-forge && \
                { dd if=/dev/zero of=ballast bs=4k >/dev/null 2>&1; exec \"$@\"; }";
    let root = ws.root().to_string_lossy().into_owned();
    let full: Vec<String> = ["unshare", "-m", "sh", "-c", full, &root]
        .map(str::to_owned)
        .to_vec();
    for (kind, wrapper) in [("read-only", read_only), ("full", full)] {
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        for line in [
            &[
                "save",
                "context",
                "retry",
                "--content",
                "Retry three times, then park it.",
            ][..],
            &["mind", "set", "--next", "Other"],
            &["mind", "decide", "Q", "--decision", "D"],
            &["mind", "task", "add", "T"],
            &["mind", "log", "L"],
            &["mind", "checkpoint"],
            &["forget", "knowledge/tides.md", "--yes"],
            &[
                "agent",
                "remember",
                "X",
                "--agent",
                "a/b",
                "--type",
                "project",
                "--content",
                "Some text.",
            ],
            &["setup", "claude", "--yes"],
            &["idea", "A raffle"],
        ] {
            let output = quiet(&mut below(&ws, &wrapper, line), &line.join(" "));
            assert_eq!(output.status, Some(1), "{kind}, {line:?}: {output}");
            assert!(
                output.stderr.contains("error: "),
                "{kind}, {line:?}: {output}"
            );
            let said = output.stdout.to_lowercase();
            assert!(
                !said.contains("saved") && !said.contains('✓'),
                "{kind}, {line:?}: {output}"
            );
        }
    }
    assert_eq!(ws.tree(), before);
}

/// What a tool says it saved is there for another process, to the word.
#[test]
fn what_was_saved_is_read_back() {
    let ws = healthy();
    let mut client = Client::legacy(&ws, &[]);
    for number in 0..20 {
        let word = format!("quokka{number}");
        let arguments = json!({ "type": "context", "name": format!("note {number}"), "content": format!("The {word} sleeps.") });
        let saved = client.call("save_knowledge", arguments);
        assert_eq!(saved["isError"], json!(false), "{saved}");
        let path = saved["structuredContent"]["files"][0]
            .as_str()
            .expect("a file")
            .to_owned();
        assert!(ws.read(&path).contains(&word), "{saved}");
        assert_eq!(found(&ws, &word, &["--mode", "text"]), [path]);
    }
    // The place is gone: then it is no success.
    ws.remove("knowledge");
    ws.write("knowledge", "a file where the folder was\n");
    let arguments = json!({ "type": "context", "name": "late", "content": "Too late." });
    let saved = client.call("save_knowledge", arguments);
    assert_eq!(saved["isError"], json!(true), "{saved}");
    let cli = ws.run(&["save", "context", "late", "--content", "Too late."]);
    cli.fails(1);
    client.end();
}

/// `status` and the checks of other commands tell it as well, each its part.
#[test]
fn other_commands_do_not_show_a_green_light_either() {
    let ws = healthy();
    ws.write(".memory-forge/index.db", "this is not a database");
    let status = ws.run(&["status"]);
    assert!(!status.stdout.contains("up to date"), "{status}");
    ws.write(
        ".mind/STATE.md",
        b"# Project State\n\n## Next Action\n\xff\xfe\n",
    );
    let status = ws.run(&["status"]);
    assert!(status.stdout.contains("is not UTF-"), "{status}");
    assert_eq!(ws.run(&["mind", "health"]).status, Some(1));
    ws.write("knowledge/links.md", "# Links\n\nSee [[nowhere-at-all]].\n");
    assert_eq!(ws.run(&["links", "check"]).status, Some(1));
    assert_eq!(ws.run(&["closets", "check"]).status, Some(1));
}
