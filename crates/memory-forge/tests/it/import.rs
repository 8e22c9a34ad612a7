//! What was remembered elsewhere comes in: redacted, inert, once.

use std::path::{Path, PathBuf};

use forge_app::document::LinkKind;
use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::{found, json as parsed, unpack_bench, ws};

/// Where Claude Code keeps the sessions of a workspace.
fn claude_folder(ws: &TestWorkspace) -> PathBuf {
    let slug: String = ws
        .root()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    ws.home().join(".claude/projects").join(slug)
}

#[track_caller]
fn put(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
}

const ID: &str = "5b539e53-47c8-4996-bc4e-3896a787c8ab";

/// A record of Claude Code's.
fn said(kind: &str, minute: usize, content: Value) -> Value {
    json!({
        "type": kind, "uuid": format!("r{minute}"), "sessionId": ID, "cwd": "/work/shop",
        "gitBranch": "main", "version": "2.1.0", "isSidechain": false,
        "parentUuid": minute.checked_sub(1).map(|before| format!("r{before}")),
        "timestamp": format!("2026-02-03T10:{minute:02}:00.000Z"),
        "message": { "role": kind, "content": content },
    })
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn talk() -> Vec<Value> {
    vec![
        said("user", 0, json!("Why do refunds fail on Sundays?")),
        said(
            "assistant",
            1,
            json!([
                { "type": "thinking", "thinking": "PRIVATE THOUGHT" },
                { "type": "text", "text": "The quokka job does not run then." },
                { "type": "tool_use", "id": "t1", "name": "Bash",
                  "input": { "command": "crontab -l", "description": "List jobs" } },
            ]),
        ),
        said(
            "user",
            2,
            json!([{ "type": "tool_result", "tool_use_id": "t1",
                     "content": "0 3 * * 1-6 quokka\nsecond line\nthird line" }]),
        ),
        said(
            "assistant",
            3,
            json!([{ "type": "text", "text": "Fixed." }]),
        ),
    ]
}

const PAGE: &str = "knowledge/sessions/2026-02-03-why-do-refunds-fail-on-sundays-5b539e53.md";

#[test]
fn a_session_becomes_a_page_that_search_finds() {
    let ws = ws("");
    put(
        &claude_folder(&ws).join(format!("{ID}.jsonl")),
        lines(&talk()),
    );
    let dry = ws.run(&["import", "transcripts", "--dry-run"]);
    assert!(
        dry.ok()
            .contains(&format!("Would write {PAGE} (4 entries)")),
        "{dry}"
    );
    assert!(!ws.exists("knowledge"), "a dry run writes nothing");
    let output = ws.run(&["import", "transcripts"]);
    assert!(output.ok().contains(&format!("✓ New {PAGE}")), "{output}");
    let page = ws.read(PAGE);
    let body = page.split_once("---\n\n").expect("front matter").1;
    assert_eq!(
        body,
        "# Why do refunds fail on Sundays?\n\n\
         A session with Claude Code 2.1.0 in /work/shop on branch main, 2026-02-03 10:00 to 2026-02-03 10:03 UTC: \
         1 prompt, 2 answers, 1 tool call. Left out: thoughts (1).\n\n\
         ## Prompt 1 · 2026-02-03 10:00\n\nWhy do refunds fail on Sundays?\n\n\
         ### Answer · 10:01\n\nThe quokka job does not run then.\n\n\
         ### Tools\n\n- Bash: crontab -l → 0 3 * * 1-6 quokka (+2 lines)\n\n\
         ### Answer · 10:03\n\nFixed.\n"
    );
    assert!(
        page.contains("\nsource: claude-code\n") && page.contains(&format!("source_id: {ID}\n"))
    );
    assert_eq!(found(&ws, "quokka refunds", &["--mode", "text"])[0], PAGE);
}

#[test]
fn twice_is_once_on_any_day() {
    let ws = ws("");
    put(
        &claude_folder(&ws).join(format!("{ID}.jsonl")),
        lines(&talk()),
    );
    ws.run(&["import", "transcripts"]).ok();
    let before = ws.tree();
    for flags in [&[][..], &["--force"]] {
        let mut arguments = vec!["import", "transcripts", "--json"];
        arguments.extend(flags);
        let later = ws.feed(
            "",
            &[("MEMORY_FORGE_NOW", "2027-01-01T00:00:00Z")],
            &arguments,
        );
        assert_eq!(parsed(&later)["unchanged"], 1, "{later}");
        assert_eq!(ws.tree(), before);
    }
    // Found by its id, wherever it was moved to.
    let page = ws.read(PAGE);
    ws.remove(PAGE);
    ws.write("knowledge/refunds/sundays.md", page);
    assert_eq!(
        parsed(&ws.run(&["import", "transcripts", "--json"]))["unchanged"],
        1
    );
    assert!(!ws.exists(PAGE));
}

#[test]
fn a_transcript_that_grew_updates_its_page_unless_that_was_edited() {
    let ws = ws("");
    let file = claude_folder(&ws).join(format!("{ID}.jsonl"));
    put(&file, lines(&talk()));
    ws.run(&["import", "transcripts"]).ok();
    let mut longer = talk();
    longer.push(said("user", 4, json!("And on holidays?")));
    put(&file, lines(&longer));
    let output = ws.run(&["import", "transcripts"]);
    assert!(
        output.ok().contains(&format!("✓ Updated {PAGE}")),
        "{output}"
    );
    assert!(
        ws.read(PAGE)
            .contains("## Prompt 2 · 10:04\n\nAnd on holidays?\n")
    );
    assert!(ws.read(PAGE).contains("imported: 2026-03-01\n"));

    let edited = ws.read(PAGE).replace("Fixed.", "Fixed, and I checked it.");
    ws.write(PAGE, &edited);
    longer.push(said("user", 5, json!("Thanks")));
    put(&file, lines(&longer));
    let output = ws.run(&["import", "transcripts"]);
    assert!(output.ok().contains("1 kept"), "{output}");
    assert!(
        output.stderr.contains(&format!("`{PAGE}` was edited here")),
        "{output}"
    );
    assert_eq!(ws.read(PAGE), edited);
    let output = ws.run(&["import", "transcripts", "--force"]);
    assert!(
        output.ok().contains(&format!("✓ Replaced {PAGE}")),
        "{output}"
    );
    assert!(ws.read(PAGE).contains("Thanks") && !ws.read(PAGE).contains("I checked it"));
    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(ws.read(PAGE), edited);
}

#[test]
fn what_clients_and_hooks_put_in_is_not_imported() {
    let ws = ws("");
    let mut records = vec![
        json!({ "type": "attachment", "uuid": "a", "sessionId": ID,
                "attachment": { "type": "hook_success", "stdout": "=== SESSION BRIEFING ===\nINJECTED" } }),
        said(
            "user",
            0,
            json!("<system-reminder>INJECTED</system-reminder>Rename the parser"),
        ),
    ];
    let mut meta = said("user", 1, json!("INJECTED by the client"));
    meta["isMeta"] = json!(true);
    records.push(meta);
    records.push(said(
        "user",
        2,
        json!("=== SESSION BRIEFING ===\nINJECTED\n=== END BRIEFING — Read CLAUDE.md for full project context ===\n"),
    ));
    let mut helper = said("user", 3, json!("Look for callers"));
    helper["isSidechain"] = json!(true);
    helper["parentUuid"] = Value::Null;
    records.push(helper);
    let mut helper = said(
        "assistant",
        4,
        json!([{ "type": "text", "text": "Seven callers." }]),
    );
    helper["isSidechain"] = json!(true);
    records.push(helper);
    let mut summary = said("user", 5, json!("So far the parser was renamed."));
    summary["isCompactSummary"] = json!(true);
    summary["parentUuid"] = Value::Null;
    records.push(summary);
    put(
        &claude_folder(&ws).join(format!("{ID}.jsonl")),
        lines(&records),
    );
    let output = ws.run(&["import", "transcripts", "--json"]);
    let value = parsed(&output);
    let page = ws.read(value["files"][0]["path"].as_str().expect("a path"));
    assert!(!page.contains("INJECTED"), "{page}");
    assert!(
        page.contains("Left out: texts that clients and hooks put in (4)."),
        "{page}"
    );
    assert!(page.contains("### Sub-agent · 10:03\n\nLook for callers\n\n(2 messages, 0 tool calls)\n\nSeven callers.\n"), "{page}");
    assert!(
        page.contains("### Compacted · 10:05\n\nSo far the parser was renamed.\n"),
        "{page}"
    );
    assert!(
        !page.contains("(abandoned)"),
        "what was compacted was not taken back: {page}"
    );
    assert_eq!(value["files"][0]["entries"], 3);
}

#[test]
fn what_a_person_took_back_is_marked() {
    let ws = ws("");
    let mut other = said("user", 5, json!("A web service."));
    other["parentUuid"] = json!("r1");
    put(
        &ws.path("t.jsonl"),
        lines(&[
            said("user", 0, json!("Which language?")),
            said("assistant", 1, json!("What is it for?")),
            said("user", 2, json!("A command line.")),
            said("assistant", 3, json!("Rust.")),
            other,
            said("assistant", 6, json!("Elixir.")),
        ]),
    );
    let value = parsed(&ws.run(&["import", "transcripts", "t.jsonl", "--json"]));
    let page = ws.read(value["files"][0]["path"].as_str().expect("a path"));
    assert!(
        page.contains("## Prompt 2 · 10:02 (abandoned)\n\nA command line."),
        "{page}"
    );
    assert!(
        page.contains("### Answer · 10:03 (abandoned)\n\nRust."),
        "{page}"
    );
    assert!(
        page.contains("## Prompt 3 · 10:05\n\nA web service."),
        "{page}"
    );
}

#[test]
fn codex_rollouts_of_this_workspace_are_imported_and_said_once() {
    let ws = ws("");
    let id = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5";
    let line = |second: usize, kind: &str, payload: Value| json!({ "timestamp": format!("2026-01-09T08:00:{second:02}.100Z"), "type": kind, "payload": payload });
    let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let rollout = |cwd: &str| {
        lines(&[
            line(
                0,
                "session_meta",
                json!({ "id": id, "timestamp": "2026-01-09T08:00:00.000Z", "cwd": cwd,
                "originator": "codex_cli_rs", "cli_version": "0.65.0", "instructions": "INJECTED", "source": "cli", "git": { "branch": "dev" } }),
            ),
            line(
                1,
                "response_item",
                message("developer", "input_text", "INJECTED permissions"),
            ),
            line(
                1,
                "response_item",
                message(
                    "user",
                    "input_text",
                    "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nINJECTED\n</INSTRUCTIONS>",
                ),
            ),
            line(
                1,
                "response_item",
                message(
                    "user",
                    "input_text",
                    "<environment_context>\n  <cwd>INJECTED</cwd>\n</environment_context>",
                ),
            ),
            line(
                2,
                "response_item",
                message("user", "input_text", "List the wombat files"),
            ),
            line(
                2,
                "event_msg",
                json!({ "type": "user_message", "message": "List the wombat files", "kind": "plain" }),
            ),
            line(
                2,
                "turn_context",
                json!({ "cwd": cwd, "model": "gpt-5-codex" }),
            ),
            line(
                3,
                "event_msg",
                json!({ "type": "agent_reasoning", "text": "PRIVATE THOUGHT" }),
            ),
            line(
                3,
                "response_item",
                json!({ "type": "reasoning", "summary": [], "encrypted_content": "gAAAA" }),
            ),
            line(
                4,
                "response_item",
                json!({ "type": "function_call", "name": "shell", "call_id": "c1",
                "arguments": "{\"command\":[\"bash\",\"-lc\",\"ls wombat\"],\"workdir\":\"/x\"}" }),
            ),
            line(
                5,
                "response_item",
                json!({ "type": "function_call_output", "call_id": "c1",
                "output": "{\"output\":\"a.txt\\nb.txt\\n\",\"metadata\":{\"exit_code\":0}}" }),
            ),
            line(
                6,
                "response_item",
                json!({ "type": "custom_tool_call", "status": "completed", "call_id": "c2", "name": "apply_patch",
                "input": "*** Begin Patch\n*** Add File: hello.txt\n+Hello\n*** End Patch" }),
            ),
            line(
                7,
                "event_msg",
                json!({ "type": "agent_message", "message": "Two files." }),
            ),
            line(
                7,
                "response_item",
                message("assistant", "output_text", "Two files."),
            ),
            line(
                8,
                "compacted",
                json!({ "message": "The files were listed." }),
            ),
            line(
                9,
                "event_msg",
                json!({ "type": "token_count", "info": null }),
            ),
        ])
    };
    let folder = ws.home().join(".codex/sessions/2026/01/09");
    let name = format!("rollout-2026-01-09T08-00-00-{id}.jsonl");
    put(
        &folder.join(&name),
        rollout(&ws.root().join("crates").to_string_lossy()),
    );
    put(
        &folder.join("rollout-2026-01-09T09-00-00-other.jsonl"),
        rollout("/elsewhere").replace(id, "other"),
    );
    let output = ws.run(&["import", "transcripts", "--json"]);
    let value = parsed(&output);
    assert_eq!(
        (&value["new"], &value["files"][0]["sourceId"]),
        (&json!(1), &json!(id)),
        "{output}"
    );
    assert_eq!(
        value["evidence"], 1,
        "the command; no result of the patch is known"
    );
    let path = value["files"][0]["path"].as_str().expect("a path");
    assert!(
        path.starts_with("knowledge/sessions/2026-01-09-list-the-wombat-files-"),
        "{path}"
    );
    let page = ws.read(path);
    assert!(
        !page.contains("INJECTED") && !page.contains("PRIVATE"),
        "{page}"
    );
    let body = page.split_once("\n## Prompt 1").expect("a prompt").1;
    assert_eq!(
        body,
        " · 2026-01-09 08:00\n\nList the wombat files\n\n\
         ### Tools\n\n- shell: ls wombat → a.txt (+1 line)\n- apply\\_patch: hello.txt\n\n\
         ### Answer · 08:00\n\nTwo files.\n\n### Compacted · 08:00\n\nThe files were listed.\n"
            .replace("apply\\_patch", "apply_patch")
    );
    // The place may be elsewhere, and the old form had no payload.
    let old = lines(&[
        json!({ "id": "old-1", "timestamp": "2025-06-01T00:00:00Z", "instructions": null }),
        json!({ "record_type": "state" }),
        message("user", "input_text", "Old question"),
        message("assistant", "output_text", "Old answer"),
    ]);
    put(&ws.path("elsewhere/sessions/rollout-old-1.jsonl"), old);
    let other = ws.feed("", &[], &["import", "transcripts", "elsewhere", "--json"]);
    assert_eq!(parsed(&other)["files"][0]["entries"], 2, "{other}");
}

#[test]
fn formats_that_are_not_read_are_named() {
    let ws = ws("
        //- pi.jsonl
        {\"type\":\"session\",\"version\":3,\"id\":\"abc\",\"timestamp\":\"2024-12-03T14:00:00.000Z\",\"cwd\":\"/x\"}
        //- exec.jsonl
        {\"type\":\"thread.started\",\"thread_id\":\"1\"}
        //- what.jsonl
        {\"silly\":true}
        //- no.jsonl
        no json at all
    ");
    for (file, why) in [
        (
            "pi.jsonl",
            "it is a session of the pi coding agent, which is not supported",
        ),
        (
            "exec.jsonl",
            "it is a session of `codex exec --json`, which is not supported",
        ),
        (
            "what.jsonl",
            "it is not a transcript of Claude Code or Codex",
        ),
        ("no.jsonl", "it is not a transcript of Claude Code or Codex"),
    ] {
        let output = ws.run(&["import", "transcripts", file]);
        output.fails(1);
        assert!(
            output
                .stderr
                .contains(&format!("{file}` was not imported: {why}")),
            "{output}"
        );
    }
    // In a folder they are passed over.
    assert!(
        ws.run(&["import", "transcripts", "."])
            .ok()
            .contains("Written: 0 new")
    );
    ws.run(&["import", "transcripts", "missing.jsonl"]).fails(2);
    ws.run(&["import", "transcripts", "--since", "soon"])
        .fails(2);
    assert!(!ws.exists("knowledge"));
}

#[test]
fn bad_lines_are_named_and_the_rest_is_imported() {
    let ws = ws("");
    let mut bytes = lines(&talk()[..1]).into_bytes();
    bytes.extend(b"not json\n[1]\n{\"type\":\"user\",\"message\":\"\xff\"}\n");
    bytes.extend(lines(&talk()[1..]).into_bytes());
    bytes.extend(b"{\"type\":\"assis");
    ws.write("t.jsonl", bytes);
    let output = ws.run(&["import", "transcripts", "t.jsonl"]);
    output.ok();
    for (line, why) in [
        (2, "it is not valid JSON (column 2)"),
        (3, "it is not a JSON object"),
        (4, "it is not UTF-8"),
        (8, "it is cut off; the session may still be running"),
    ] {
        let expect = format!("t.jsonl:{line}: {why}");
        assert!(output.stderr.contains(&expect), "{expect}: {output}");
    }
    assert!(output.stdout.contains("(4 entries)"), "{output}");
}

#[test]
fn a_long_session_has_a_page_of_bounded_size() {
    let ws = ws("");
    let mut text = String::new();
    for number in 0..6_000 {
        let words = format!("entry {number} {}", "word ".repeat(700));
        text.push_str(&format!("{}\n", said("user", number % 60, json!(words))));
    }
    assert!(text.len() > 20 << 20);
    ws.write("t.jsonl", text);
    let value = parsed(&ws.run(&["import", "transcripts", "t.jsonl", "--json"]));
    let page = ws.read(value["files"][0]["path"].as_str().expect("a path"));
    assert!(page.len() < 530 << 10, "{}", page.len());
    let shown = value["files"][0]["entries"].as_u64().expect("a number");
    assert!(page.contains(&format!(
        "Left out: entries in the middle ({}).",
        6_000 - shown
    )));
    assert!(page.contains("entry 0 word") && page.contains("entry 5999 word"));
}

#[test]
fn since_and_limit_choose_the_newest() {
    let ws = ws("");
    for (number, year) in ["2024", "2025", "2026"].into_iter().enumerate() {
        let text = lines(&talk())
            .replace("2026-02-03", &format!("{year}-02-03"))
            .replace(ID, &format!("s{number}"));
        let file = ws.path(&format!("t/s{number}.jsonl"));
        put(&file, text);
        let file = std::fs::File::options()
            .write(true)
            .open(file)
            .expect("it is there");
        let time =
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + number as u64);
        file.set_modified(time).expect("its time can be set");
    }
    let since = parsed(&ws.run(&[
        "import",
        "transcripts",
        "t",
        "--since",
        "2025-02-03",
        "--dry-run",
        "--json",
    ]));
    assert_eq!((&since["new"], &since["older"]), (&json!(2), &json!(1)));
    let limit = parsed(&ws.run(&[
        "import",
        "transcripts",
        "t",
        "--limit",
        "1",
        "--dry-run",
        "--json",
    ]));
    assert_eq!(
        (&limit["new"], &limit["beyondLimit"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(limit["files"][0]["sourceId"], "s2");
}

#[test]
fn hostile_names_and_texts_stay_where_they_belong() {
    let ws = ws("");
    let hostile = "[[link]] ../../../etc/passwd\n---\ntitle: x\n---\n# Top\n## Prompt 7\n```\nnever closed\n<!-- [[link]] @CLAUDE.md";
    let mut record = said("user", 0, json!(hostile));
    record["sessionId"] = json!("../../../../tmp/evil\n---");
    record["cwd"] = json!("/x\n# Heading\n[[link]]");
    put(
        &ws.path("t/..evil.jsonl"),
        lines(&[record, said("assistant", 1, json!(hostile))]),
    );
    let value = parsed(&ws.run(&["import", "transcripts", "t", "--json"]));
    let path = value["files"][0]["path"].as_str().expect("a path");
    assert!(
        path.starts_with("knowledge/sessions/2026-02-03-link-etc-passwd-"),
        "{path}"
    );
    let document = forge_app::document::parse_document(ws.read(path));
    assert_eq!(
        forge_app::import::count_entries(&document),
        2,
        "{}",
        document.text
    );
    assert_eq!(document.problems, [], "{}", document.text);
    assert_eq!(document.links, [], "{}", document.text);
    let above: Vec<_> = std::fs::read_dir(ws.root().parent().expect("it has one"))
        .expect("it can be read")
        .collect();
    assert_eq!(
        above.len(),
        2,
        "the workspace and the home, and nothing else"
    );
}

/// Letters of both cases and digits, the same every time.
fn noise(alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    (0..length)
        .map(|i| letters[(i * 7 + i / 5 * 3) % letters.len()])
        .collect()
}

/// A secret for every rule, put together here so that the file holds none:
/// the rule, the text around it, and what must not survive.
fn secrets() -> Vec<(&'static str, String, String)> {
    let mixed = |n| noise("A7kQz3Rv9LmX2bTc8WnY5dHf4GsJ6pEu1oVi0BqKyNtDxC", n);
    let hex = |n| noise("3f9a1c7e5b2d8046", n);
    let upper = |n| mixed(n).to_uppercase();
    let key_lines = format!("{}\n{}\n{}", mixed(64), mixed(63), mixed(62));
    let plain = [
        (
            "private-key",
            format!(
                "-----BEGIN {0}-----\n{key_lines}\n-----END {0}-----",
                concat!("RSA PRIV", "ATE KEY")
            ),
        ),
        (
            "aws-access-key",
            format!("{}{}", concat!("AK", "IA"), upper(16)),
        ),
        (
            "github-token",
            format!("{}{}", concat!("gh", "p_"), mixed(36)),
        ),
        (
            "gitlab-token",
            format!("{}{}", concat!("gl", "pat-"), mixed(20)),
        ),
        (
            "slack-token",
            format!("{}2417893465-{}", concat!("xo", "xb-"), mixed(24)),
        ),
        (
            "stripe-key",
            format!("{}{}", concat!("sk", "_live_"), mixed(24)),
        ),
        (
            "google-key",
            format!("{}{}", concat!("AI", "za"), mixed(35)),
        ),
        (
            "anthropic-key",
            format!("{}{}", concat!("sk-", "ant-api03-"), mixed(90)),
        ),
        (
            "openai-key",
            format!("{}{}", concat!("sk-", "proj-"), mixed(48)),
        ),
        ("npm-token", format!("{}{}", concat!("np", "m_"), mixed(36))),
        (
            "pypi-token",
            format!("{}{}", concat!("pypi", "-AgE"), mixed(80)),
        ),
        (
            "jwt",
            format!(
                "{0}{1}.{0}{2}.{3}",
                concat!("ey", "J"),
                mixed(20),
                mixed(40),
                mixed(43)
            ),
        ),
        (
            "sendgrid-key",
            format!("{}{}.{}", concat!("S", "G."), mixed(22), mixed(43)),
        ),
        ("twilio-key", format!("{}{}", concat!("S", "K"), hex(32))),
        (
            "huggingface-token",
            format!("{}{}", concat!("h", "f_"), mixed(34)),
        ),
    ];
    let mut all: Vec<_> = plain
        .into_iter()
        .map(|(rule, secret)| (rule, secret.clone(), secret))
        .collect();
    let around = [
        (
            "azure-key",
            concat!("Account", "Key="),
            format!("{}==", mixed(86)),
            ";",
        ),
        (
            "connection-url",
            "postgres://app:",
            format!("{}x9", mixed(14)),
            "@db.internal/shop",
        ),
        (
            "bearer-token",
            concat!("Authorization: Bea", "rer "),
            mixed(40),
            "",
        ),
        (
            "password",
            concat!("DB_PASS", "WORD="),
            format!("{}!q", mixed(12)),
            "",
        ),
        (
            "assigned-secret",
            concat!("the api k", "ey is now "),
            mixed(40),
            " as of today",
        ),
    ];
    for (rule, before, secret, after) in around {
        all.push((rule, format!("{before}{secret}{after}"), secret));
    }
    all
}

/// Everything that was written or printed, searched for a secret.
#[track_caller]
fn nowhere(
    ws: &TestWorkspace,
    outputs: &[&testkit::Output],
    secrets: &[(&'static str, String, String)],
) {
    fn walk(folder: &Path, each: &mut impl FnMut(&Path, &[u8])) {
        for entry in std::fs::read_dir(folder).expect("it can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, each)
            } else {
                each(&path, &std::fs::read(&path).expect("it can be read"))
            }
        }
    }
    let holds = |bytes: &[u8], secret: &str| {
        // No line of a long one either.
        secret.lines().any(|line| {
            bytes
                .windows(line.len())
                .any(|window| window == line.as_bytes())
                && !line.starts_with("-----")
        })
    };
    walk(ws.root(), &mut |path, bytes| {
        if path
            .extension()
            .is_some_and(|it| it == "jsonl" || it == "source")
        {
            return;
        }
        for (rule, _, secret) in secrets {
            assert!(!holds(bytes, secret), "{rule} in {}", path.display());
        }
    });
    for output in outputs {
        for (rule, _, secret) in secrets {
            let text = format!("{}{}", output.stdout, output.stderr);
            assert!(!holds(text.as_bytes(), secret), "{rule} was printed");
        }
    }
}

/// Every `A` and `e` of the text as an escape, which JSON reads as the letter.
fn escaped(line: &str) -> String {
    let escape = |c: char| match c {
        'A' => "\\u0041".to_owned(),
        'e' => "\\u0065".to_owned(),
        c => c.to_string(),
    };
    // Escapes belong into strings; keys stay readable.
    let (before, text) = line.split_once("SECRET>").expect("a mark");
    let (text, after) = text.split_once("<SECRET").expect("a mark");
    format!(
        "{before}{}{after}",
        text.chars().map(escape).collect::<String>()
    )
}

#[test]
fn no_secret_survives_an_import() {
    let ws = ws("");
    let secrets = secrets();
    let mut records = Vec::new();
    let mut line = 0;
    for (number, (_, text, _)) in secrets.iter().enumerate() {
        let mut add = |kind: &str, content: Value| {
            records.push(said(kind, line % 60, content));
            line += 1;
        };
        add("user", json!(format!("{text}\nplease use it")));
        add(
            "assistant",
            json!([
                { "type": "text", "text": format!("I use:\n```sh\n{text}\n```") },
                { "type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": { "command": format!("x {text}") } },
                { "type": "tool_use", "id": "u", "name": text, "input": { "zeta": text } },
            ]),
        );
        add(
            "user",
            json!([{ "type": "tool_result", "tool_use_id": format!("t{number}"),
            "content": [{ "type": "text", "text": format!("{}{text}", "x".repeat(170)) }] }]),
        );
        // JSON in JSON: escapes that are still there after reading.
        let inner = json!({ "output": text.as_str() })
            .to_string()
            .replace('A', "\\u0041");
        add("user", json!(format!("the file says {inner}")));
        let mut helper = said("user", 0, json!(format!("helper {text}")));
        helper["isSidechain"] = json!(true);
        records.push(helper);
        records.push(json!({ "type": "summary", "summary": text, "leafUuid": "x" }));
    }
    records[0]["cwd"] = json!(format!("/x/{}", secrets[2].1));
    let mut text = lines(&records);
    for (_, secret, _) in &secrets {
        let record = said("user", 1, json!(format!("SECRET>{secret}<SECRET"))).to_string();
        text.push_str(&format!("{}\n", escaped(&record.replace("\\n", "\\u000a"))));
    }
    put(&ws.path("t/t.jsonl"), text);
    let first = ws.run(&["import", "transcripts", "t"]);
    first.ok();
    ws.run(&["index"]).ok();
    let again = ws.run(&["import", "transcripts", "t", "--json", "--force"]);
    let value = parsed(&again);
    for (rule, ..) in &secrets {
        assert!(
            value["redacted"][rule]
                .as_u64()
                .is_some_and(|count| count > 0),
            "{rule}: {again}"
        );
        assert!(first.stderr.contains(rule), "{rule}: {first}");
    }
    nowhere(&ws, &[&first, &again], &secrets);
    // Nor from notes and databases.
    let all: String = secrets
        .iter()
        .map(|(_, text, _)| format!("{text}\n\n"))
        .collect();
    let home = claude_folder(&ws).join("memory");
    put(
        &home.join("topic.md"),
        format!("---\nname: x\ntoken: {}\n---\n{all}", secrets[2].1),
    );
    put(
        &ws.home().join("bank/progress.md"),
        format!("# P\n- [ ] {all}"),
    );
    database(&ws.home().join("mem.db"), |db| {
        db.execute("INSERT INTO sdk_sessions VALUES (1, 'c1', 'm1', 'ws', ?1, '2026-01-01T00:00:00Z', 1767225600000)", [&secrets[2].1])
            .expect("a row");
        for (_, text, _) in &secrets {
            let facts = json!([text]).to_string();
            db.execute(
                "INSERT INTO observations (memory_session_id, project, type, title, narrative, facts, created_at, created_at_epoch) \
                 VALUES ('m1', 'ws', 'discovery', ?1, ?1, ?2, '2026-01-01T00:00:00Z', 1767225600000)",
                [text, &facts],
            )
            .expect("a row");
        }
    });
    std::fs::create_dir(ws.path(".mind")).expect("it is new");
    let (bank, mem) = (ws.home().join("bank"), ws.home().join("mem.db"));
    let native = ws.run(&["import", "native"]);
    let bank = ws.run(&["import", "memory-bank", bank.to_str().expect("UTF-8")]);
    let basic = ws.run(&["import", "basic-memory", home.to_str().expect("UTF-8")]);
    let mem = ws.run(&["import", "claude-mem", mem.to_str().expect("UTF-8")]);
    for output in [&native, &bank, &basic, &mem] {
        assert!(output.ok().contains("1 new"), "{output}");
    }
    nowhere(&ws, &[&native, &bank, &basic, &mem], &secrets);
    let topic = forge_app::document::parse_document(ws.read("knowledge/claude/topic.md"));
    assert_eq!(
        topic.problems,
        [],
        "redacting leaves the front matter whole"
    );
}

#[test]
fn claudes_own_memory_becomes_knowledge_with_its_agents() {
    let ws = ws("
        //- .claude/agent-memory/code-reviewer/MEMORY.md
        # Notes
        The reviewer likes small commits.
        //- .claude/agent-memory/code-reviewer/style.md
        ---
        name: style
        source: a book
        ---
        Short names.
    ");
    let memory = claude_folder(&ws).join("memory");
    put(
        &memory.join("MEMORY.md"),
        "# Memory\n- [Deploys](deploy_steps.md) — how\n",
    );
    put(
        &memory.join("deploy_steps.md"),
        "---\nname: Deploys\ndescription: how\ntype: project\n---\n\nBlue first, see [[deploy_steps]].\n",
    );
    put(&memory.join("latin.md"), b"caf\xe9\n");
    let output = ws.run(&["import", "native"]);
    assert!(output.ok().contains("Written: 3 new"), "{output}");
    assert!(
        output
            .stderr
            .contains("MEMORY.md` was not imported: it only points to the other files"),
        "{output}"
    );
    assert!(
        output
            .stderr
            .contains("latin.md` was not imported: line 1 is not UTF-8"),
        "{output}"
    );
    let text = ws.read("knowledge/claude/deploy-steps.md");
    assert!(text.starts_with("---\nname: Deploys\ndescription: how\ntype: project\naliases: [Deploys, deploy_steps]\nsource: claude-memory\nsource_id: memory/deploy_steps.md\n"), "{text}");
    assert!(
        text.ends_with("---\n\nBlue first, see [[deploy_steps]].\n"),
        "{text}"
    );
    let style = ws.read(".agents/memory/claude/code-reviewer/style.md");
    assert!(
        style.contains("original_source: a book\n")
            && style.contains("\nsource: claude-agent-memory\n"),
        "{style}"
    );
    assert!(ws.exists(".agents/memory/claude/code-reviewer/memory-notes.md"));
    assert_eq!(
        parsed(&ws.run(&["links", "check", "--json"]))["troubles"],
        json!([])
    );
    let before = ws.tree();
    ws.run(&["import", "native"]).ok();
    assert_eq!(ws.tree(), before);
    // Claude Code may have been told to live elsewhere.
    let moved = ws.home().join("moved");
    std::fs::rename(ws.home().join(".claude"), &moved).expect("it can be moved");
    assert!(
        ws.run(&["import", "native", "--json"])
            .ok()
            .contains("\"unchanged\": 2")
    );
    let output = ws.feed(
        "",
        &[("CLAUDE_CONFIG_DIR", moved.to_str().expect("UTF-8"))],
        &["import", "native", "--json"],
    );
    assert_eq!(parsed(&output)["unchanged"], 3, "{output}");
}

#[test]
fn a_memory_bank_becomes_knowledge_and_proposes_state() {
    let ws = ws("
        //- .mind/STATE.md
        # State
        //- bank/projectbrief.md
        # Project Brief
        A shop for wombats.
        //- bank/activeContext.md
        # Active Context
        ## Current Focus
        Checkout of the $(shop)
        ## Next Steps
        - Don't ship on Friday
        - Write the tests
        //- bank/features/cart.md
        # Cart
        It holds ten.
    ");
    let state = ws.read(".mind/STATE.md");
    let output = ws.run(&["import", "memory-bank", "bank"]);
    assert!(output.ok().contains("Written: 3 new"), "{output}");
    for command in [
        r"memory-forge mind set --active 'Checkout of the $(shop)'",
        r"memory-forge mind set --next 'Don'\''t ship on Friday'",
        r"memory-forge mind task add 'Write the tests'",
    ] {
        assert!(output.stdout.contains(command), "{command}: {output}");
    }
    assert_eq!(ws.read(".mind/STATE.md"), state);
    assert_eq!(
        found(&ws, "wombats", &["--mode", "text"]),
        ["knowledge/memory-bank/projectbrief.md"]
    );
    assert!(
        ws.exists("knowledge/memory-bank/activecontext.md")
            && ws.exists("knowledge/memory-bank/features/cart.md")
    );
    let before = ws.tree();
    ws.run(&["import", "memory-bank", "bank"]).ok();
    assert_eq!(ws.tree(), before);
    ws.run(&["import", "memory-bank", "nowhere"]).fails(2);
}

#[test]
fn notes_of_basic_memory_keep_their_words_and_their_links() {
    let ws = ws("");
    let body = "# Search Design\r\n\r\n- [decision] Use BM25 first #search (after a test)\r\n- relates_to [[Index Layout]]\r\n- part_of [[specs/engine]]\r\n";
    put(
        &ws.path("bm/specs/Search Design.md"),
        format!(
            "---\r\ntitle: Search Design\r\ntype: note\r\npermalink: specs/search-design\r\ntags:\r\n- search\r\n---\r\n\r\n{body}"
        ),
    );
    put(
        &ws.path("bm/specs/Index Layout.md"),
        "---\ntitle: Index Layout\npermalink: specs/index-layout\n---\n# Index Layout\n- implements [[specs/search-design]]\n",
    );
    put(
        &ws.path("bm/Engine.md"),
        "---\ntitle: Engine\npermalink: specs/engine\n---\nNo heading.\n",
    );
    let output = ws.run(&["import", "basic-memory", "bm"]);
    assert!(output.ok().contains("Written: 3 new"), "{output}");
    let text = ws.read("knowledge/basic-memory/specs/search-design.md");
    assert!(text.ends_with(&format!("---\r\n\r\n{body}")), "{text:?}");
    assert!(
        text.contains("type: note\r\npermalink: specs/search-design\r\ntags:\r\n- search\r\n"),
        "{text:?}"
    );
    ws.remove("bm");
    assert_eq!(
        parsed(&ws.run(&["links", "check", "--json"]))["troubles"],
        json!([]),
        "every relation finds its note"
    );
    assert_eq!(
        found(&ws, "BM25", &["--mode", "text"])[0],
        "knowledge/basic-memory/specs/search-design.md"
    );
}

/// A database of claude-mem as its newest versions make it.
fn database(path: &Path, fill: impl FnOnce(&rusqlite::Connection)) -> rusqlite::Connection {
    std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it can be made");
    let db = rusqlite::Connection::open(path).expect("a new database");
    db.execute_batch(
        "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT UNIQUE NOT NULL, memory_session_id TEXT UNIQUE, \
            project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL);
         CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, \
            title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
         CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, request TEXT, investigated TEXT, \
            learned TEXT, completed TEXT, next_steps TEXT, files_edited TEXT, notes TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
         CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT NOT NULL, prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, \
            created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);",
    )
    .expect("the schema");
    fill(&db);
    db
}

fn fill(db: &rusqlite::Connection) {
    db.execute_batch(
        "INSERT INTO sdk_sessions VALUES (1, 'c1', 'm1', 'ws', 'Speed up the numbat', '2026-01-05T10:00:00.000Z', 1767607200000);
         INSERT INTO sdk_sessions VALUES (2, '../../c2', 'm2', 'other', NULL, '2026-01-06T10:00:00.000Z', 1767693600000);
         INSERT INTO user_prompts VALUES (1, 'c1', 1, 'Speed up the numbat', '2026-01-05T10:00:00.000Z', 1767607200000);
         INSERT INTO observations VALUES (1, 'm1', 'ws', NULL, 'bugfix', 'Cache was cold', 'Warm it', '[\"It starts cold\",\"# Not a heading\"]', 'The cache starts cold.', '[\"cache\"]', '[]', '[\"src/cache.rs\"]', '2026-01-05T10:05:00.000Z', 1767607500000);
         INSERT INTO session_summaries VALUES (1, 'm1', 'ws', 'Speed', 'Caches', 'Cold start', 'Warmed', 'Measure', '[]', NULL, '2026-01-05T10:10:00.000Z', 1767607800000);
         INSERT INTO observations (memory_session_id, project, type, title, created_at, created_at_epoch) VALUES ('m2', 'other', 'decision', 'Elsewhere', '2026-01-06T10:00:00Z', 1767693600000);",
    )
    .expect("rows");
}

#[test]
fn claude_mem_is_read_while_it_is_open_and_never_written() {
    let ws = ws("");
    let path = ws.home().join(".claude-mem/claude-mem.db");
    let db = database(&path, |db| {
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;")
            .expect("WAL");
        fill(db);
    });
    let listing = || {
        let mut names: Vec<_> = std::fs::read_dir(path.parent().expect("a folder"))
            .expect("it is there")
            .flatten()
            .map(|it| {
                (
                    it.file_name(),
                    std::fs::read(it.path()).expect("readable").len(),
                )
            })
            .collect();
        names.sort();
        names
    };
    let before = listing();
    assert_eq!(
        before.len(),
        3,
        "the rows are in the log of an open database"
    );
    let output = ws.run(&["import", "claude-mem"]);
    assert!(output.ok().contains("Written: 1 new"), "{output}");
    assert_eq!(listing(), before);
    let page = "knowledge/imported/claude-mem/2026-01-05-speed-up-the-numbat-";
    let path_here = parsed(&ws.run(&["import", "claude-mem", "--json"]))["files"][0]["path"]
        .as_str()
        .expect("a path")
        .to_owned();
    assert!(path_here.starts_with(page), "{path_here}");
    let text = ws.read(&path_here);
    assert!(text.contains("## Prompt 1 · 2026-01-05 10:00\n\nSpeed up the numbat\n\n## Noted: bugfix: Cache was cold · 10:05\n\nWarm it\n\nThe cache starts cold.\n\n• It starts cold\n• # Not a heading\n\nConcepts: cache\n\nFiles modified: src/cache.rs\n\n## Summary · 10:10\n\nRequest: Speed\n"), "{text}");
    assert_eq!(
        found(&ws, "cache starts cold", &["--mode", "text"])[0],
        path_here
    );
    let tree = ws.tree();
    ws.run(&["import", "claude-mem"]).ok();
    assert_eq!(ws.tree(), tree);
    // Closed, it is one file, and stays one.
    drop(db);
    let before = listing();
    let all = ws.run(&["import", "claude-mem", "--all-projects", "--json"]);
    assert_eq!(
        (&parsed(&all)["new"], &parsed(&all)["unchanged"]),
        (&json!(1), &json!(1)),
        "{all}"
    );
    assert_eq!(listing(), before);
    let none = ws.run(&["import", "claude-mem", "--project", "nobody"]);
    assert!(
        none.stderr
            .contains("it has no session of this project; it has other (1), ws (1)"),
        "{none}"
    );
}

#[test]
fn an_older_claude_mem_is_read_as_far_as_it_goes() {
    let ws = ws("");
    let path = ws.home().join("old.db");
    let db = rusqlite::Connection::open(&path).expect("a new database");
    db.execute_batch(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT, type TEXT, created_at TEXT);
         INSERT INTO observations VALUES (1, 's', 'ws', 'The bilby digs.', 'discovery', '2025-10-01T00:00:00Z');",
    )
    .expect("a table");
    drop(db);
    let path = path.to_str().expect("UTF-8");
    let output = ws.run(&["import", "claude-mem", path]);
    assert!(output.ok().contains("1 new"), "{output}");
    assert!(output.stderr.contains("table `observations`: without title, subtitle, narrative, facts, concepts, files_read, files_modified, created_at_epoch"), "{output}");
    assert!(
        output
            .stderr
            .contains("table `user_prompts`: it is not there"),
        "{output}"
    );
    assert_eq!(found(&ws, "bilby", &["--mode", "text"]).len(), 1);
    ws.write(
        "no.db",
        "this is no database at all, however long it may be",
    );
    let output = ws.run(&["import", "claude-mem", "no.db"]);
    assert!(output.fails(1).contains("Could not read"), "{output}");
    ws.run(&["import", "claude-mem", "missing.db"]).fails(2);
}

/// Real transcripts of several tools.
#[test]
fn real_transcripts_are_imported_and_found() {
    let ws = ws("");
    if !unpack_bench("transcripts.tar.gz", &ws.home()) {
        return;
    }
    let folder = ws.home();
    let folder = folder.to_str().expect("UTF-8");
    let output = ws.run(&["import", "transcripts", folder, "--json"]);
    let value = parsed(&output);
    // Sixteen of Claude Code; five of another program, which are named.
    assert_eq!(value["new"], 16, "{output}");
    let skipped = value["skipped"].as_array().expect("a list");
    assert_eq!(skipped.len(), 5, "{output}");
    assert!(skipped.iter().all(|it| it["why"] == "it is a session of the pi coding agent, which is not supported"), "{output}");
    for file in value["files"].as_array().expect("a list") {
        let path = file["path"].as_str().expect("a path");
        let document = forge_app::document::parse_document(ws.read(path));
        assert_eq!(
            forge_app::import::count_entries(&document) as u64,
            file["entries"].as_u64().expect("a number"),
            "{path}"
        );
        assert_eq!(document.problems, [], "{path}");
        // An address in the text leads to the web and to no file.
        let mut links = document.links.iter();
        assert!(links.all(|link| link.kind == LinkKind::Auto), "{path}");
        assert!(!document.text.contains("<system-reminder>"), "{path}");
    }
    for (question, part) in [
        ("how do Python decorators work", "understand-how-python"),
        ("reverse a string in Python", "coding-question"),
        (
            "list all Python files in this project",
            "list-all-python-files",
        ),
        ("graph-monitor", "2025-07-22"),
    ] {
        let paths = found(&ws, question, &["--mode", "text"]);
        assert!(
            paths.iter().any(|path| path.contains(part)),
            "{question}: {paths:?}"
        );
    }
    let before = ws.tree_of_sources();
    let again = parsed(&ws.run(&["import", "transcripts", folder, "--json"]));
    assert_eq!(
        (&again["unchanged"], &again["changes"]),
        (&json!(16), &json!([]))
    );
    assert_eq!(ws.tree_of_sources(), before);
}

/// A session from before a correction still reads as it was, and says what
/// holds now; the second run finds nothing to do.
#[test]
fn what_was_corrected_since_is_imported_with_its_correction() {
    let ws = ws("");
    ws.run(&[
        "forget",
        "--fact",
        "the quokka job does not run then",
        "--instead",
        "The quokka job runs every day",
    ])
    .ok();
    put(
        &claude_folder(&ws).join(format!("{ID}.jsonl")),
        lines(&talk()),
    );
    ws.run(&["import", "transcripts"]).ok();
    let page = ws.read(PAGE);
    assert!(page.contains("The quokka job does not run then."), "{page}");
    let front = page.split("\n---\n").next().unwrap();
    assert!(front.contains("runs every day"), "{page}");
    ws.run(&["import", "transcripts"]).ok();
    assert_eq!(ws.read(PAGE), page);
}

/// A session in this folder, in which an option of `cat` was not accepted.
fn session_in(folder: &Path) -> Vec<Value> {
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let run = |minute: usize, id: &str, command: String| {
        let call = json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }]);
        said("assistant", minute, call)
    };
    let answer = |minute: usize, id: &str, text: &str, is_error: bool| {
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error }]);
        said("user", minute, result)
    };
    let mut records = vec![
        said("user", 0, json!("Show the log with its tabs")),
        run(1, "t1", "cat -A shop.log".to_owned()),
        answer(2, "t1", "Exit code 1\ncat: illegal option -- A", true),
        run(3, "t2", "cat -vet shop.log".to_owned()),
        answer(4, "t2", "a^Ib$", false),
        run(
            5,
            "t3",
            format!("curl -H 'Authorization: Bearer {secret}' localhost"),
        ),
        answer(6, "t3", "ok", false),
    ];
    for record in &mut records {
        record["cwd"] = folder.to_string_lossy().into();
    }
    records
}

#[test]
fn past_sessions_become_evidence_once() {
    let ws = ws("");
    let here = session_in(ws.root());
    let path = claude_folder(&ws).join(format!("{ID}.jsonl"));
    put(&path, lines(&here[..5]));
    let import = |flags: &[&str]| {
        let mut arguments = vec!["import", "transcripts", "--json"];
        arguments.extend(flags);
        parsed(&ws.run(&arguments))["evidence"].clone()
    };
    assert_eq!(import(&["--dry-run"]), 2);
    assert!(!ws.exists(".mind"), "a dry run writes nothing");
    assert_eq!(import(&[]), 2);
    let answer = parsed(&ws.run(&["search", "--scope", "evidence", "--json", "cat shop.log"]));
    assert_eq!(answer["results"][0]["text"], "cat -vet shop.log");
    let why = ws.run(&["why", "--command", "cat -A x"]);
    assert!(why.ok().contains("has never worked here"), "{why}");
    // Only what was added since is read, and a hook's entries are the same.
    assert_eq!(import(&[]), 0);
    put(&path, lines(&here));
    assert_eq!(import(&[]), 1);
    std::fs::remove_file(ws.path(".mind/evidence/positions.jsonl")).expect("removed");
    assert_eq!(import(&["--force"]), 0);
    assert!(!ws.read(".mind/evidence/log.jsonl").contains("a1B2c3D4e5"));
}

#[test]
fn an_import_that_finds_no_new_evidence_says_that_all_of_it_is_there() {
    let ws = ws("");
    let mut session = session_in(ws.root());
    let path = claude_folder(&ws).join(format!("{ID}.jsonl"));
    put(&path, lines(&session[..5]));
    let second = "9f8e7d6c-0000-4000-8000-000000000002";
    for record in &mut session {
        record["sessionId"] = second.into();
    }
    let import = || {
        let output = ws.run(&["import", "transcripts"]);
        let line = output.ok().lines().find(|it| it.contains("evidence"));
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(
        import(),
        "Kept as evidence: 2 facts about commands and files"
    );
    assert_eq!(
        import(),
        "Kept as evidence: 0 new, 1 session already imported"
    );
    // Its entries are there, although where the reading ended is not known.
    std::fs::remove_file(ws.path(".mind/evidence/positions.jsonl")).expect("removed");
    assert_eq!(
        import(),
        "Kept as evidence: 0 new, 1 session already imported"
    );
    put(
        &claude_folder(&ws).join(format!("{second}.jsonl")),
        lines(&session),
    );
    assert_eq!(
        import(),
        "Kept as evidence: 3 facts about commands and files, 1 session already imported"
    );
}

#[test]
fn sessions_of_another_project_are_no_evidence_here() {
    let ws = ws("");
    let path = ws.home().join("elsewhere.jsonl");
    put(&path, lines(&session_in(Path::new("/work/another"))));
    let path = path.to_string_lossy().into_owned();
    let report = parsed(&ws.run(&["import", "transcripts", "--json", &path]));
    assert_eq!(
        (&report["new"], &report["evidence"]),
        (&json!(1), &json!(0))
    );
    assert!(!ws.exists(".mind/evidence"));
}
