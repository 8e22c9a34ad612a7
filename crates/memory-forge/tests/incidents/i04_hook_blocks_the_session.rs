//! A hook that blocks the session or the machine.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Output, TestWorkspace};

use crate::harness::ws;
#[cfg(target_os = "linux")]
use crate::i01_children_without_bound::processes_of;
use crate::i01_children_without_bound::provoke::{STATE, below, can, ended, read_only, set_time};

const EVENTS: [&str; 12] = [
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
];

/// One JSON object, exit code 0, nothing for people, and never a word that
/// stops a client.
#[track_caller]
fn lets_the_session_go_on(output: &Output, case: &str) -> Value {
    assert_eq!(output.status, Some(0), "{case}: {output}");
    assert_eq!(output.stderr, "", "{case}");
    assert_eq!(output.stdout.lines().count(), 1, "{case}: {output}");
    let answer: Value = serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{case}: {error}: {output}"));
    assert!(answer.is_object(), "{case}: {output}");
    for word in ["decision", "continue", "stopReason", "permissionDecision"] {
        assert_eq!(answer.get(word), None, "{case}: {output}");
        assert_eq!(
            answer["hookSpecificOutput"].get(word),
            None,
            "{case}: {output}"
        );
    }
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
    assert!(context.unwrap_or_default().len() < 10_000, "{case}");
    answer
}

fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_default()
}

fn payload(event: &str) -> Value {
    json!({
        "hook_event_name": event, "session_id": "s1", "source": "startup", "trigger": "auto",
        "reason": "logout", "agent_id": "a1", "agent_type": "builder", "task_id": "7",
        "task_subject": "Do it", "prompt": "go",
    })
}

fn start(ws: &TestWorkspace, arguments: &[&str]) -> Child {
    ws.command()
        .arg("hook")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started")
}

#[test]
fn input_that_never_ends_comes_late_or_drop_by_drop() {
    let ws = ws(STATE);
    std::thread::scope(|scope| {
        for event in EVENTS {
            let ws = &ws;
            scope.spawn(move || {
                let text = payload(event).to_string();
                // All of it, and the pipe stays open until the hook has ended.
                let mut child = start(ws, &[]);
                let mut stdin = child.stdin.take().expect("a pipe");
                stdin.write_all(text.as_bytes()).expect("it reads");
                let output = ended(child, event);
                let answer = lets_the_session_go_on(&output, event);
                if event == "SessionStart" {
                    assert!(context(&answer).contains("Finish login"), "{output}");
                }
                drop(stdin);
                // Nothing at all, ever.
                let mut child = start(ws, &[event]);
                let stdin = child.stdin.take();
                lets_the_session_go_on(&ended(child, event), event);
                drop(stdin);
                // Half of it, and then silence.
                let mut child = start(ws, &[event]);
                let mut stdin = child.stdin.take().expect("a pipe");
                stdin
                    .write_all(&text.as_bytes()[..text.len() / 2])
                    .expect("it reads");
                lets_the_session_go_on(&ended(child, event), event);
                drop(stdin);
                // Byte by byte, slower than anybody would wait for.
                let mut child = start(ws, &[event]);
                let mut stdin = child.stdin.take().expect("a pipe");
                let drip = std::thread::spawn(move || {
                    for byte in text.as_bytes() {
                        if stdin.write_all(&[*byte]).is_err() {
                            break;
                        }
                        std::thread::sleep(Duration::from_millis(40));
                    }
                });
                lets_the_session_go_on(&ended(child, event), event);
                drip.join().expect("it does not panic");
                // Late: after most of what a client would have said.
                let mut child = start(ws, &[]);
                let mut stdin = child.stdin.take().expect("a pipe");
                let late = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(300));
                    let _ = stdin.write_all(payload(event).to_string().as_bytes());
                });
                lets_the_session_go_on(&ended(child, event), event);
                late.join().expect("it does not panic");
            });
        }
    });
}

#[test]
fn input_of_every_wrong_kind() {
    let ws = ws(STATE);
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(200_000), close.repeat(200_000));
    for event in EVENTS {
        let mut inputs: Vec<(&str, Vec<u8>)> = vec![
            ("empty", Vec::new()),
            ("spaces", b" \n\t\r\n".to_vec()),
            ("no JSON", b"Session started.\n".to_vec()),
            ("a list", b"[]".to_vec()),
            ("a number", b"7".to_vec()),
            ("NUL bytes", vec![0; 4096]),
            ("every byte", (0..=255).collect()),
            ("deep lists", deep("[", "]").into_bytes()),
            ("deep objects", deep("{\"a\":", "}").into_bytes()),
            ("open braces", "{".repeat(100_000).into_bytes()),
            (
                "half a character",
                b"{\"hook_event_name\":\"Stop\",\"x\":\"\xe2\x82".to_vec(),
            ),
        ];
        let mut wrong = payload(event);
        for (name, value) in wrong.as_object_mut().expect("an object") {
            if name != "hook_event_name" {
                *value = json!([{ "not": "text" }, 7, null, true]);
            }
        }
        inputs.push(("wrong types", wrong.to_string().into_bytes()));
        let mut hostile = payload(event);
        for (name, value) in hostile.as_object_mut().expect("an object") {
            if name != "hook_event_name" {
                *value = json!("\u{1b}[2J\n## DEC-999: x\n../../../etc/passwd\u{0}\u{202e}");
            }
        }
        hostile["cwd"] = json!("/proc/self/../../nowhere");
        inputs.push(("hostile text", hostile.to_string().into_bytes()));
        let mut invalid = payload(event).to_string().into_bytes();
        invalid.splice(1..1, b"\"x\":\"\xff\xfe\x80\",".iter().copied());
        inputs.push(("invalid UTF-8", invalid));
        for (kind, input) in inputs {
            let output = ws.feed(input, &[], &["hook", event]);
            lets_the_session_go_on(&output, &format!("{event}, {kind}"));
        }
    }
    assert!(!ws.read(".mind/STATE.md").contains("DEC-999"));
}

/// A prompt may hold a whole file; what is not needed is not kept.
#[test]
fn input_of_a_hundred_megabytes() {
    let ws = ws(STATE);
    for (event, closes) in [("UserPromptSubmit", true), ("SessionStart", false)] {
        let mut child = start(&ws, &[]);
        let mut stdin = child.stdin.take().expect("a pipe");
        let flood = std::thread::spawn(move || {
            let head = format!(r#"{{"hook_event_name":"{event}","prompt":""#);
            let mut sent = stdin.write_all(head.as_bytes()).is_ok();
            let piece = vec![b'x'; 1 << 20];
            for _ in 0..100 {
                sent = sent && stdin.write_all(&piece).is_ok();
            }
            let _ = stdin.write_all(b"\"}");
            (!closes).then_some(stdin)
        });
        let output = ended(child, event);
        let answer = lets_the_session_go_on(&output, event);
        assert!(
            context(&answer).contains("Finish login"),
            "{event}: {output}"
        );
        drop(flood.join().expect("it does not panic"));
    }
}

/// Another process holds every lock and never lets go: the session starts, and
/// is told where the work stands.
#[test]
#[cfg(target_os = "linux")]
fn locks_that_are_never_let_go() {
    if !can(&["flock", "--version"]) {
        return;
    }
    let ws = ws(STATE);
    ws.git_init();
    ws.run(&["mind", "set", "--next", "Finish login"]).ok();
    // A session that was left open, so that the next start has to write.
    let then = [("MEMORY_FORGE_NOW", "2031-01-01T00:00:00Z")];
    let open = json!({ "hook_event_name": "SessionStart", "session_id": "s0" });
    ws.feed(open.to_string(), &then, &["hook"]).ok();
    ws.write("src/a.rs", "x\n");
    let minute = std::time::UNIX_EPOCH + Duration::from_secs(1_924_992_060);
    set_time(&ws.path("src/a.rs"), minute);
    let ws = ws.now("2031-01-02T00:00:00Z");
    for locks in [
        &["write.lock"][..],
        &["machine.lock"],
        &["write.lock", "machine.lock", "derived.lock", "index.lock"],
    ] {
        let mut holders: Vec<Child> = locks.iter().map(|lock| holder(&ws, lock)).collect();
        std::thread::scope(|scope| {
            for event in EVENTS {
                let ws = &ws;
                scope.spawn(move || {
                    let mut command = ws.command();
                    let output = fed(command.arg("hook"), &payload(event).to_string());
                    let case = format!("{event}, {locks:?}");
                    let answer = lets_the_session_go_on(&output, &case);
                    if event == "SessionStart" || event == "UserPromptSubmit" {
                        let told = context(&answer);
                        assert!(told.contains("Finish login"), "{case}: {output}");
                    }
                });
            }
        });
        for holder in &mut holders {
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
    // What could not be written down was noted where that was possible.
    let noted = ws.read(".mind/.hook-failures");
    assert!(noted.contains("in use by another process"), "{noted}");
    // And nothing is locked out afterwards.
    ws.run(&["mind", "set", "--next", "Ship"]).ok();
    let output = ws.feed(payload("Stop").to_string(), &[], &["hook"]);
    lets_the_session_go_on(&output, "afterwards");
}

/// A process that holds a lock until its input ends.
fn holder(ws: &TestWorkspace, lock: &str) -> Child {
    let mut holder = Command::new("flock")
        .arg("-o")
        .arg(ws.path(".memory-forge").join(lock))
        .args(["sh", "-c", "echo held; cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut held = [0; 5];
    let out = holder.stdout.as_mut().expect("a pipe");
    out.read_exact(&mut held).expect("it is held");
    holder
}

#[test]
#[cfg(target_os = "linux")]
fn a_workspace_on_a_read_only_mount() {
    if !can(&["unshare", "-m", "true"]) {
        return;
    }
    let ws = ws(STATE);
    let wrapper = read_only(ws.root());
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let before = ws.tree();
    for event in EVENTS {
        let mut child = below(&ws, &wrapper, &["hook"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let mut stdin = child.stdin.take().expect("a pipe");
        let _ = stdin.write_all(payload(event).to_string().as_bytes());
        drop(stdin);
        let output = ended(child, event);
        let answer = lets_the_session_go_on(&output, event);
        if event == "SessionStart" || event == "UserPromptSubmit" {
            assert!(
                context(&answer).contains("Finish login"),
                "{event}: {output}"
            );
        }
    }
    assert_eq!(ws.tree(), before);
}

#[test]
#[cfg(unix)]
fn no_home_no_path_and_a_directory_that_is_gone() {
    let ws = ws(STATE);
    let gone = ws.root().with_file_name("gone");
    for event in EVENTS {
        let text = payload(event).to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_memory-forge"));
        command.env_clear().arg("hook").current_dir(ws.root());
        lets_the_session_go_on(&fed(&mut command, &text), event);
        // It was deleted while the client ran.
        std::fs::create_dir(&gone).expect("ours");
        let script = "rmdir \"$1\" && exec \"$0\" hook";
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_memory-forge")]);
        command.arg(&gone).current_dir(&gone);
        lets_the_session_go_on(&fed(&mut command, &text), event);
        // The client knows where the project is all the same.
        std::fs::create_dir(&gone).expect("ours");
        let mut named = payload(event);
        named["cwd"] = json!(ws.root());
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_memory-forge")]);
        command.arg(&gone).current_dir(&gone);
        let output = fed(&mut command, &named.to_string());
        let answer = lets_the_session_go_on(&output, event);
        if event == "SessionStart" {
            assert!(context(&answer).contains("Finish login"), "{output}");
        }
    }
}

fn fed(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    ended(child, "hook")
}

/// A client that does not read: the pipe is full before the hook says a word,
/// and nobody ever empties it. Or there is nobody at the other end at all.
#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_nobody_takes() {
    let ws = ws(STATE);
    let answered_into = |writer: std::io::PipeWriter, event: &str| {
        let mut child = ws
            .command()
            .arg("hook")
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let mut stdin = child.stdin.take().expect("a pipe");
        let _ = stdin.write_all(payload(event).to_string().as_bytes());
        drop(stdin);
        let output = ended(child, event);
        assert_eq!(
            (output.status, output.stderr.as_str()),
            (Some(0), ""),
            "{event}"
        );
    };
    for event in EVENTS {
        let (reader, mut writer) = std::io::pipe().expect("a pipe can be made");
        fill(&mut writer);
        answered_into(writer, event);
        drop(reader);
        // Nobody at the other end.
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        answered_into(writer, event);
    }
    // A full disk behind standard output.
    if let Ok(full) = File::options().write(true).open("/dev/full") {
        let mut command = ws.command();
        command
            .args(["hook", "session-start"])
            .stdin(Stdio::null())
            .stdout(full);
        let output = ended(
            command.spawn().expect("it can be started"),
            "hook > /dev/full",
        );
        assert_eq!(output.status, Some(0));
    }
}

/// Writes until there is no room, without waiting for some.
#[cfg(target_os = "linux")]
fn fill(writer: &mut std::io::PipeWriter) {
    let process = std::process::id();
    let descriptor = {
        use std::os::fd::AsRawFd;
        writer.as_raw_fd()
    };
    // Opened once more, so that not waiting holds for this one alone.
    let path = format!("/proc/{process}/fd/{descriptor}");
    let mut again = {
        use std::os::unix::fs::OpenOptionsExt;
        const O_NONBLOCK: i32 = 0o4000;
        File::options()
            .write(true)
            .custom_flags(O_NONBLOCK)
            .open(path)
            .expect("it is open")
    };
    let block = [b' '; 4096];
    while again.write(&block).is_ok() {}
    while again.write(b" ").is_ok() {}
}

/// Programs that the hook asks may hang as well; git is the only one. It is
/// ended, the session is told where the work stands, and the one that was left
/// open stays open for the next start.
#[test]
#[cfg(target_os = "linux")]
fn a_git_that_hangs() {
    use std::os::unix::fs::PermissionsExt;
    let ws = ws(STATE);
    ws.git_init();
    let then = [("MEMORY_FORGE_NOW", "2030-12-01T00:00:00Z")];
    ws.feed(payload("SessionStart").to_string(), &then, &["hook"])
        .ok();
    let folder = ws.home().join("bin");
    std::fs::create_dir_all(&folder).expect("ours");
    let git = folder.join("git");
    std::fs::write(&git, "#!/bin/sh\nexec /bin/sleep 600\n").expect("ours");
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let path = folder.display().to_string();
    for event in EVENTS {
        let mut other = payload(event);
        other["session_id"] = json!("another");
        let mut command = ws.command();
        command
            .arg("hook")
            .env("PATH", &path)
            .env("MEMORY_FORGE_NOW", "2031-01-01T00:00:00Z");
        let output = fed(&mut command, &other.to_string());
        let answer = lets_the_session_go_on(&output, event);
        if event == "SessionStart" {
            assert!(context(&answer).contains("Finish login"), "{output}");
        }
        assert_eq!(
            processes_of(&ws),
            Vec::<u32>::new(),
            "{event} left a git behind"
        );
    }
    let noted = ws.read(".mind/.hook-failures");
    assert!(noted.contains("git took longer"), "{noted}");
    assert!(ws.read(".mind/.open-session").contains("s1"));
}
