//! Paths, line ends and encodings of Windows and others.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{found, ws};
use crate::i01_children_without_bound::provoke::{program_at, quiet};

const TEXT: [&str; 2] = ["--mode", "text"];

/// A memory as Windows and its editors write it: CRLF everywhere, a BOM at the
/// start. Every command that writes keeps both.
#[test]
fn files_with_crlf_and_a_byte_order_mark_stay_as_they_are() {
    let bom = "\u{feff}";
    let state = format!(
        "{bom}# Project State\r\n\r\n## Current Phase\r\nBuild\r\n\r\n## Own\r\nkept  \r\n\r\n## Next Action\r\nShip\r\n"
    );
    let decisions =
        format!("{bom}# Decision Log\r\n\r\n## DEC-001: First\r\n- **Decision:** Yes\r\n");
    let progress = "# Progress Tracker\r\n\r\n### In Progress\r\n- [ ] Build it\r\n";
    let note = format!("{bom}---\r\ntags: [sea]\r\n---\r\n# Tides\r\n\r\nHigh water at noon.\r\n");
    let ws = ws("");
    ws.write(".mind/STATE.md", &state);
    ws.write(".mind/DECISIONS.md", &decisions);
    ws.write(".mind/PROGRESS.md", progress);
    ws.write("knowledge/tides.md", &note);
    ws.write("CLAUDE.md", "\u{feff}# Rules\r\n");
    for line in [
        &["index"][..],
        &["mind", "set", "--next", "Ship it"],
        &["mind", "decide", "Second", "--decision", "No"],
        &["mind", "task", "add", "Another"],
        &["mind", "task", "done", "Build it"],
        &["mind", "log", "Done"],
        &["setup", "claude", "--yes"],
        &["uninstall", "--yes"],
    ] {
        ws.run(line).ok();
    }
    for (path, kept) in [
        (".mind/STATE.md", "## Own\r\nkept  \r\n"),
        (
            ".mind/DECISIONS.md",
            "## DEC-001: First\r\n- **Decision:** Yes\r\n",
        ),
        (".mind/PROGRESS.md", "# Progress Tracker\r\n"),
    ] {
        let text = ws.read(path);
        assert!(text.contains(kept), "{path}: {text:?}");
        assert_eq!(
            text.matches('\n').count(),
            text.matches("\r\n").count(),
            "{path}: {text:?}"
        );
        assert_eq!(text.starts_with(bom), path != ".mind/PROGRESS.md", "{path}");
    }
    assert!(
        ws.read(".mind/DECISIONS.md")
            .contains("## DEC-002: Second\r\n")
    );
    assert_eq!(ws.read("CLAUDE.md"), "\u{feff}# Rules\r\n");
    assert_eq!(ws.read("knowledge/tides.md"), note);
    assert_eq!(found(&ws, "noon", &TEXT), ["knowledge/tides.md"]);
    // Front matter is read behind a byte order mark too.
    let doctor = ws.run(&["doctor"]);
    assert!(doctor.stdout.contains("(1 of 1 files have it)"), "{doctor}");
}

/// A clone with the other line ends is the same text: nothing is indexed anew.
#[test]
fn the_same_text_with_other_line_ends_is_the_same() {
    let ws = ws("");
    for number in 0..5 {
        ws.write(
            &format!("knowledge/{number}.md"),
            format!("# N{number}\n\nWord{number} here.\n"),
        );
    }
    ws.run(&["index"]).ok();
    let hashes = |ws: &testkit::TestWorkspace| -> Value {
        serde_json::from_str::<Value>(&ws.read(".memory-forge/manifest.json")).expect("JSON")["files"].clone()
    };
    let before = hashes(&ws);
    for number in 0..5 {
        let text = format!("# N{number}\r\n\r\nWord{number} here.  \r\n");
        ws.write(&format!("knowledge/{number}.md"), text);
    }
    let output = ws.run(&["index"]);
    assert!(
        output.ok().contains("0 indexed") || !output.ok().contains("(indexed)"),
        "{output}"
    );
    assert_eq!(hashes(&ws), before);
}

/// cp1252, UTF-16 in both orders, and a lone surrogate's bytes: named with the
/// line, left out of searches, never rewritten, and the rest works.
#[test]
fn files_in_other_encodings_are_named_and_never_touched() {
    let utf16 = |text: &str, little: bool| -> Vec<u8> {
        let mut bytes = if little {
            vec![0xff, 0xfe]
        } else {
            vec![0xfe, 0xff]
        };
        for unit in text.encode_utf16() {
            bytes.extend(if little {
                unit.to_le_bytes()
            } else {
                unit.to_be_bytes()
            });
        }
        bytes
    };
    let files: [(&str, Vec<u8>); 4] = [
        (
            "cp1252.md",
            b"# Caf\xe9\r\n\r\nPrice: 5 \x80 \x96 no more.\r\n".to_vec(),
        ),
        ("utf16le.md", utf16("# Tides\r\n\r\nHigh water.\r\n", true)),
        ("utf16be.md", utf16("# Tides\r\n\r\nHigh water.\r\n", false)),
        ("surrogate.md", b"# S\n\n\xed\xa0\x80\n".to_vec()),
    ];
    let ws = ws("//- knowledge/good.md\n# Good\n\nThe quokka is here.\n");
    for (name, bytes) in &files {
        ws.write(&format!("knowledge/{name}"), bytes);
    }
    let output = ws.run(&["index"]);
    let doctor = ws.run(&["doctor"]);
    doctor.fails(1);
    for (name, bytes) in &files {
        let path = format!("knowledge/{name}");
        assert!(output.stderr.contains(&path), "{output}");
        assert!(doctor.stdout.contains(&path), "{doctor}");
        assert_eq!(&ws.read_bytes(&path), bytes, "{name}");
    }
    assert_eq!(found(&ws, "quokka", &TEXT), ["knowledge/good.md"]);
    // State files too: a write to one that is not UTF-8 is refused.
    ws.write(".mind/STATE.md", &files[0].1);
    let refused = ws.run(&["mind", "set", "--next", "x"]);
    assert!(refused.fails(1).contains("UTF-8"), "{refused}");
    assert_eq!(ws.read_bytes(".mind/STATE.md"), files[0].1);
    let hook = ws.feed(r#"{"hook_event_name":"SessionStart"}"#, &[], &["hook"]);
    hook.ok();
}

/// Names that Windows reserves, or that mean something to a shell or a path,
/// in everything that makes a file by a name.
#[test]
fn names_that_another_system_cannot_have_are_refused_or_made_plain() {
    let ws = ws("//- knowledge/good.md\n# Good\n//- .agents/memory/eng/builder/a.md\n# A\n");
    let names = [
        "CON",
        "con",
        "nul",
        "NUL.md",
        "aux",
        "PRN",
        "COM1",
        "com9.txt",
        "LPT1",
        "a:b",
        "a*b?",
        "C:\\Users\\me\\notes",
        "\\\\?\\C:\\long\\path",
        "\\\\server\\share",
        "/mnt/c/Users/me",
        "..\\..\\evil",
        "trailing. ",
        "trailing.",
        " lead",
        "tab\tname",
        "pipe|name",
        "quote\"name",
        "<tag>",
        "new\nline",
        "ümlaut name",
        "naïve",
        "日本語",
        "🌊",
        "ÀÉ\u{301}",
    ];
    for name in names {
        for line in [
            &["save", "context", name, "--content", "Some text here."][..],
            &[
                "agent",
                "remember",
                name,
                "--agent",
                "eng/builder",
                "--type",
                "project",
                "--content",
                "Some text.",
                "--new",
            ],
            &["domain", "add", name],
        ] {
            let output = ws.run(line);
            assert!(
                output.status.is_some_and(|code| code <= 2),
                "{line:?}: {output}"
            );
        }
    }
    let outside = ws.root().parent().expect("below the temporary one");
    assert_eq!(
        fs::read_dir(outside).expect("ours").count(),
        2,
        "nothing beside it"
    );
    let reserved = ["con", "nul", "aux", "prn", "com1", "com9", "lpt1"];
    let mut seen = Vec::new();
    for line in ws.tree_of_sources().lines() {
        let path = line.rsplit_once(' ').map_or(line, |(path, _)| path);
        for part in path.trim_end_matches('/').split('/') {
            let stem = part.split('.').next().unwrap_or_default().to_lowercase();
            assert!(!reserved.contains(&stem.as_str()), "{path}");
            let bad = |c: char| c.is_control() || "<>:\"|?*\\".contains(c);
            assert!(!part.contains(bad), "{path}");
            assert!(
                !part.ends_with(['.', ' ']) && !part.starts_with(' '),
                "{path}"
            );
        }
        // On Windows and macOS case does not tell files apart.
        let low = path.to_lowercase();
        assert!(!seen.contains(&low), "{path} collides");
        seen.push(low);
    }
    assert!(seen.len() > 8, "some names are fine: {seen:?}");
}

/// Folders with spaces, quotes, umlauts, in both normal forms, and deep ones:
/// everything works there, and hooks that `setup` writes can be run by a shell.
#[test]
#[cfg(unix)]
fn a_project_in_a_folder_with_an_awkward_name() {
    let deep = "a long folder name of forty characters -/".repeat(10);
    for name in [
        "My Project (new)",
        "it's \"quoted\" $HOME `x` & co; #1",
        "größe",
        "gro\u{308}ße",
        "日本 語",
        "-dash",
        &deep,
    ] {
        let outer = ws("");
        let root = outer.path(name);
        fs::create_dir_all(root.join("knowledge")).expect("Linux takes it");
        fs::write(
            root.join("knowledge/tides.md"),
            "# Tides\n\nHigh water at noon.\n",
        )
        .expect("ours");
        fs::create_dir_all(root.join(".mind")).expect("ours");
        fs::write(
            root.join(".mind/STATE.md"),
            "# Project State\n\n## Next Action\nShip\n",
        )
        .expect("ours");
        // The program lies there too, called by its path.
        let program = root.join("bin/memory-forge");
        program_at(&program);
        let run = |arguments: &[&str]| {
            let mut command = std::process::Command::new(&program);
            command
                .env_clear()
                .env("HOME", outer.home())
                .env("MEMORY_FORGE_NOW", testkit::workspace::NOW);
            command.current_dir(&root).args(arguments);
            quiet(&mut command, &arguments.join(" "))
        };
        for arguments in [
            &["index"][..],
            &["search", "noon"],
            &["mind", "set", "--next", "Sail"],
            &[
                "save",
                "context",
                "retry",
                "--content",
                "Retry three times.",
            ],
            &["setup", "claude", "--absolute", "--yes"],
        ] {
            let output = run(arguments);
            assert_eq!(output.status, Some(0), "{name}: {arguments:?}: {output}");
        }
        let settings: Value = serde_json::from_str(
            &fs::read_to_string(root.join(".claude/settings.json")).expect("written"),
        )
        .expect("JSON");
        let command = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
            .as_str()
            .expect("a command");
        let payload = outer.home().join("payload");
        fs::write(
            &payload,
            json!({ "hook_event_name": "SessionStart", "cwd": root }).to_string(),
        )
        .expect("ours");
        let output = std::process::Command::new("sh")
            .args(["-c", command])
            .env_clear()
            .current_dir("/")
            .stdin(fs::File::open(&payload).expect("ours"))
            .output()
            .expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("Sail"), "{name}: {command}: {text}");
        let output = run(&["uninstall", "--yes"]);
        assert_eq!(output.status, Some(0), "{name}: {output}");
        assert!(!root.join(".claude").exists(), "{name}");
    }
}

/// Both normal forms of one name, and names that differ in case: both are
/// there on this system, both are found, and neither is taken for the other.
#[test]
#[cfg(target_os = "linux")]
fn names_that_collide_elsewhere_are_kept_apart_here() {
    let ws = ws("");
    let names = ["Tide.md", "tide.md", "gr\u{fc}n.md", "gru\u{308}n.md"];
    for (number, name) in names.iter().enumerate() {
        ws.write(
            &format!("knowledge/{name}"),
            format!("# N{number}\n\nword{number} common.\n"),
        );
    }
    ws.run(&["index"]).ok();
    for (number, name) in names.iter().enumerate() {
        let path = format!("knowledge/{name}");
        assert_eq!(found(&ws, &format!("word{number}"), &TEXT), [path]);
    }
    // A new document is never written over one that another system takes for
    // the same.
    let before = ws.tree_of_sources();
    let refused = ws.run(&["save", "context", "TIDE", "--content", "Other."]);
    assert_ne!(refused.status, Some(0), "{refused}");
    assert_eq!(ws.tree_of_sources(), before);
}

/// Paths of other systems as plain text in documents, payloads and questions.
#[test]
fn paths_of_other_systems_are_text() {
    let ws = ws("//- .mind/STATE.md\n# Project State\n");
    let paths = [
        r"C:\Users\Ann Smith\notes\tide.md",
        r"\\?\C:\very\long\path.md",
        r"\\wsl$\Ubuntu\home\ann\x.md",
        r"\\server\share\a.md",
        "/mnt/c/Users/ann/x.md",
        "file:///C:/x.md",
        "~/x.md",
        "%USERPROFILE%\\x.md",
    ];
    for path in paths {
        let output = ws.run(&["mind", "log", &format!("Moved {path} away"), "--next", path]);
        output.ok();
        assert!(ws.read(".mind/SESSION-LOG.md").contains(path), "{path}");
        for event in ["SessionStart", "SessionEnd", "SubagentStop"] {
            let payload = json!({ "hook_event_name": event, "cwd": path, "transcript_path": path, "agent_id": path, "session_id": path });
            ws.feed(payload.to_string(), &[], &["hook"]).ok();
        }
        ws.run(&["search", "--scope", "all", "--", path]).ok();
        for arguments in [
            &["preview", path][..],
            &["forget", path, "--yes"],
            &["archive", path, "--reason", "x"],
        ] {
            let output = ws.run(arguments);
            assert!(
                matches!(output.status, Some(1 | 2)),
                "{arguments:?}: {output}"
            );
        }
    }
    let outside = ws.root().parent().expect("below the temporary one");
    assert_eq!(fs::read_dir(outside).expect("ours").count(), 2);
}

/// A path that is longer than a database file's may be (512 bytes): answers
/// come all the same, and `index` says that it cannot keep what it made.
#[test]
#[cfg(target_os = "linux")]
fn a_path_of_a_thousand_characters() {
    let outer = ws("");
    let deep = outer.path(&"a long folder name of forty characters -/".repeat(25));
    fs::create_dir_all(deep.join("knowledge")).expect("Linux takes it");
    fs::write(
        deep.join("knowledge/tides.md"),
        "# Tides\n\nHigh water at noon.\n",
    )
    .expect("ours");
    let run = |arguments: &[&str]| {
        let mut command = outer.command();
        command.current_dir(&deep).args(arguments);
        quiet(&mut command, &arguments.join(" "))
    };
    let search = run(&["search", "noon"]);
    assert!(search.ok().contains("knowledge/tides.md:"), "{search}");
    run(&["mind", "set", "--next", "Sail"]).ok();
    assert!(run(&["mind", "show"]).ok().contains("Sail"));
    assert!(run(&["index"]).fails(1).contains("could not be kept"));
}
