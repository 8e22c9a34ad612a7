//! Every question that the page can ask, without a browser.

use serde_json::json;

use crate::served::{Page, shop};

#[test]
fn the_overview_has_state_cost_and_findings() {
    let ws = shop();
    let page = Page::of(&ws);
    let told = page.get("overview");
    assert_eq!(told["state"]["phase"], "Refunds", "{told}");
    assert_eq!(told["state"]["blocked"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["cost"]["critical"], 5000, "{told}");
    let clients = told["cost"]["clients"].as_array().expect("a list");
    assert_eq!(clients.len(), 5);
    assert_eq!(clients[0]["parts"][0]["path"], "CLAUDE.md", "{told}");
    let trend = page.get("trend");
    let points = trend["points"].as_array().expect("a list");
    assert_eq!(points.len(), 4, "{trend}");
    assert!(
        points[0]["tokens"].as_u64() < points[3]["tokens"].as_u64(),
        "{trend}"
    );
}

/// One number, wherever it is shown.
#[test]
fn the_page_and_status_agree_on_every_number() {
    let ws = shop();
    ws.run(&["setup", "claude", "codex", "--yes"]).ok();
    ws.run(&["index"]).ok();
    let page = Page::of(&ws);
    let shown = page.get("overview");
    let status = ws.run(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(status.ok()).expect("JSON");
    for part in ["state", "tokens", "index", "installed"] {
        assert_eq!(shown[part], status[part], "{part}");
    }
    let costs = status["tokens"]["alwaysOn"].as_array().expect("a list");
    assert!(costs.len() >= 2, "{status}");
    let bars = shown["cost"]["clients"].as_array().expect("a list");
    for cost in costs {
        let bar = bars.iter().find(|it| it["client"] == cost["client"]);
        let bar = bar.expect("the page shows every client");
        assert_eq!(bar["tokens"], cost["count"], "{bar}");
        assert_eq!(bar["tokenizer"], cost["tokenizer"], "{bar}");
        let parts = bar["parts"].as_array().expect("a list");
        let files = parts.len() as u64 + bar["more"]["files"].as_u64().unwrap_or_default();
        assert_eq!(files, cost["files"], "{bar}");
    }
    // The page counts what it can open, which is more than what is searched.
    assert!(shown["documents"].as_u64() >= status["index"]["files"].as_u64());
    let audit = ws.run(&["audit", "--json"]);
    let audit: serde_json::Value = serde_json::from_str(&audit.stdout).expect("JSON");
    for level in ["critical", "warnings"] {
        let count = audit[level].as_array().map_or(0, Vec::len);
        assert_eq!(shown["findings"][level], count, "{level}");
    }
}

#[test]
fn search_is_the_commands_own() {
    let ws = shop();
    let page = Page::of(&ws);
    let asked = page.get("search?q=idempotency%20key&mode=text");
    let by_command = ws.run(&[
        "search",
        "idempotency key",
        "--mode",
        "text",
        "--json",
        "-n",
        "12",
    ]);
    let by_command: serde_json::Value = serde_json::from_str(by_command.ok()).expect("JSON");
    let paths = |value: &serde_json::Value| -> Vec<String> {
        let all = value["results"].as_array().expect("results");
        all.iter()
            .map(|it| format!("{}:{}", it["path"], it["lines"]))
            .collect()
    };
    assert_eq!(paths(&asked), paths(&by_command));
    assert!(
        asked["results"][0]["reason"]
            .as_str()
            .expect("why")
            .contains("BM25"),
        "{asked}"
    );
    let pieces = asked["results"][0]["text"].as_array().expect("pieces");
    assert!(pieces.len() > 1, "something is marked: {asked}");
    for wrong in [
        "search",
        "search?q=",
        "search?q=a&scope=moon",
        "search?q=a&since=soon",
    ] {
        assert_eq!(page.ask("GET", wrong, "").0, 400, "{wrong}");
    }
}

#[test]
fn an_edit_goes_through_the_journal_and_comes_back() {
    let ws = shop();
    // Not everyone's lines end alike.
    ws.write(
        "knowledge/windows.md",
        "\u{feff}# Windows\r\n\r\nOne.\r\nTwo.\n",
    );
    let page = Page::of(&ws);
    let given = page.get("source?path=knowledge/windows.md");
    assert_eq!(given["source"], "# Windows\n\nOne.\nTwo.\n");
    let typed = json!({ "path": "knowledge/windows.md", "base": given["text"], "source": "# Windows\n\nOne and a half.\nTwo.\n" });
    let (status, saved) = page.post("save", &typed);
    assert_eq!(status, 200, "{saved}");
    assert_eq!(
        ws.read("knowledge/windows.md"),
        "\u{feff}# Windows\r\n\r\nOne and a half.\r\nTwo.\n"
    );
    // The same edit again is made against what is no longer there.
    let (status, refused) = page.post("save", &typed);
    assert_eq!(status, 409, "{refused}");
    assert_eq!(
        ws.read("knowledge/windows.md"),
        "\u{feff}# Windows\r\n\r\nOne and a half.\r\nTwo.\n"
    );
    let (status, undone) = page.post("undo", &json!({ "id": saved["change"] }));
    assert_eq!(status, 200, "{undone}");
    assert_eq!(
        ws.read("knowledge/windows.md"),
        "\u{feff}# Windows\r\n\r\nOne.\r\nTwo.\n"
    );
    let changes = page.get("changes");
    assert_eq!(
        changes["changes"][0]["undoes"], saved["change"],
        "{changes}"
    );
}

#[test]
fn somebody_elses_edit_is_never_overwritten() {
    let ws = shop();
    let page = Page::of(&ws);
    let given = page.get("source?path=knowledge/refunds.md");
    ws.write(
        "knowledge/refunds.md",
        "# Refunds\n\nRewritten by a colleague.\n",
    );
    let typed = json!({ "path": "knowledge/refunds.md", "base": given["text"], "source": "mine" });
    let (status, refused) = page.post("save", &typed);
    assert_eq!(status, 409, "{refused}");
    assert_eq!(
        ws.read("knowledge/refunds.md"),
        "# Refunds\n\nRewritten by a colleague.\n"
    );
}

#[test]
fn secrets_are_neither_shown_nor_written() {
    let ws = shop();
    let key = format!("AKIA{}", "Q3EGV7XJ2M5KD8WN");
    ws.write(
        "knowledge/deploy.md",
        format!("# Deploy\n\nWith the key {key} it works.\n"),
    );
    let page = Page::of(&ws);
    let shown = page.get("document?path=knowledge/deploy.md");
    assert!(!shown.to_string().contains(&key), "{shown}");
    assert!(shown["notEditable"].is_string(), "{shown}");
    assert_eq!(
        page.ask("GET", "source?path=knowledge/deploy.md", "").0,
        422
    );
    let found = page.get("search?q=deploy%20key&mode=text");
    assert!(!found.to_string().contains(&key), "{found}");
    let given = page.get("source?path=knowledge/refunds.md");
    let typed = json!({ "path": "knowledge/refunds.md", "base": given["text"], "source": format!("# Refunds\n\n{key}\n") });
    let before = ws.read("knowledge/refunds.md");
    assert_eq!(page.post("save", &typed).0, 422);
    assert_eq!(ws.read("knowledge/refunds.md"), before);
}

#[test]
fn only_documents_of_the_workspace_can_be_asked_for() {
    let ws = shop();
    std::fs::write(ws.home().join("outside.md"), "# Outside\n").expect("it can be written");
    std::os::unix::fs::symlink(ws.home().join("outside.md"), ws.path("knowledge/link.md"))
        .expect("a link");
    let page = Page::of(&ws);
    for path in [
        "../home/outside.md",
        "..%2Fhome%2Foutside.md",
        "%2Fetc%2Fpasswd",
        "knowledge/link.md",
        ".git/config",
        ".memory-forge/undo/0001/entry.json",
        "knowledge",
        "knowledge/nothing.md",
        "",
    ] {
        for question in ["document", "source", "history", "image"] {
            let (status, told) = page.ask("GET", &format!("{question}?path={path}"), "");
            assert!(
                (400..500).contains(&status),
                "{question} {path}: {status} {told}"
            );
            assert!(!told.to_string().contains("Outside"), "{told}");
        }
        let typed = json!({ "path": path, "base": "", "source": "x" });
        let (status, told) = page.post("save", &typed);
        assert!((400..500).contains(&status), "save {path}: {status} {told}");
    }
    assert_eq!(
        page.ask("GET", "image?path=knowledge/refunds.md", "").0,
        404
    );
    assert_eq!(page.ask("GET", "nothing", "").0, 404);
    assert_eq!(page.ask("POST", "overview", "{}").0, 404);
    assert_eq!(page.ask("POST", "save", "no json").0, 400);
}

#[test]
fn a_repair_is_applied_as_it_was_shown_and_taken_back() {
    let ws = shop();
    let page = Page::of(&ws);
    let audit = page.get("audit");
    assert!(
        audit["critical"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
            || audit["warnings"]
                .as_array()
                .is_some_and(|it| !it.is_empty()),
        "{audit}"
    );
    let before = ws.read("CLAUDE.md");
    let plan = page.get("repair");
    assert_eq!(ws.read("CLAUDE.md"), before, "looking changes nothing");
    assert!(
        plan["files"]
            .as_array()
            .is_some_and(|it| it.iter().any(|file| file["path"] == "CLAUDE.md")),
        "{plan}"
    );
    let (status, _) = page.post("repair", &json!({ "plan": "another" }));
    assert_eq!(status, 409);
    assert_eq!(ws.read("CLAUDE.md"), before);
    let (status, done) = page.post("repair", &json!({ "plan": plan["plan"] }));
    assert_eq!(status, 200, "{done}");
    assert!(ws.read("CLAUDE.md").len() < before.len());
    let (status, undone) = page.post("undo", &json!({ "id": done["change"] }));
    assert_eq!(status, 200, "{undone}");
    assert_eq!(ws.read("CLAUDE.md"), before);
}

#[test]
fn documents_know_their_backlinks_and_their_past() {
    let ws = shop();
    let page = Page::of(&ws);
    let shown = page.get("document?path=knowledge/ledger.md");
    let leading = shown["backlinks"].as_array().expect("a list");
    assert!(
        leading
            .iter()
            .any(|it| it["path"] == "knowledge/reconciliation.md"),
        "{shown}"
    );
    let history = page.get("history?path=knowledge/ledger.md");
    let first = &history["commits"][0];
    assert_eq!(first["subject"], "Payments: first notes", "{history}");
    ws.write("knowledge/ledger.md", "# Ledger\n\nNew.\n");
    let commit = first["commit"].as_str().expect("an id");
    let past = page.get(&format!("past?path=knowledge/ledger.md&commit={commit}"));
    let rows = past["diff"]["rows"].to_string();
    assert!(rows.contains("[\"+\",\"New.\"]"), "{past}");
    let wrong = page.ask("GET", "past?path=knowledge/ledger.md&commit=--all", "");
    assert_eq!(wrong.0, 400, "{}", wrong.1);
    let (status, _) = page.ask("GET", "image?path=knowledge/map.svg", "");
    assert_eq!(status, 200);
}

#[test]
fn the_graph_and_the_timeline_are_told() {
    let ws = shop();
    let page = Page::of(&ws);
    let graph = page.get("graph");
    let nodes = graph["nodes"].as_array().expect("nodes");
    assert!(
        nodes.iter().any(|it| it[2] == "knowledge/ledger.md"),
        "{graph}"
    );
    assert!(
        !graph["edges"].as_array().expect("edges").is_empty(),
        "{graph}"
    );
    let time = page.get("timeline");
    let decisions = time["decisions"].as_array().expect("decisions");
    let replaced: Vec<_> = decisions
        .iter()
        .filter(|it| it["superseded"] == true)
        .collect();
    assert_eq!(replaced.len(), 1, "{time}");
    assert_eq!(replaced[0]["id"], "DEC-001", "{time}");
    let newer = decisions
        .iter()
        .find(|it| it["number"] == replaced[0]["supersededBy"]);
    assert_eq!(newer.expect("the newer one")["id"], "DEC-003", "{time}");
    assert_eq!(time["sessions"].as_array().map(Vec::len), Some(2), "{time}");
    assert_eq!(
        time["checkpoints"].as_array().map(Vec::len),
        Some(1),
        "{time}"
    );
}

#[test]
fn a_checkpoint_can_be_read_and_not_edited() {
    let ws = shop();
    let page = Page::of(&ws);
    let time = page.get("timeline");
    let path = time["checkpoints"][0]["path"].as_str().expect("a path");
    let shown = page.get(&format!("document?path={path}"));
    assert!(
        shown["html"].as_str().expect("HTML").contains("Refunds"),
        "{shown}"
    );
    let typed = json!({ "path": path, "base": shown["text"], "source": "x" });
    assert_eq!(page.post("save", &typed).0, 404);
}

#[test]
fn the_fleet_is_what_is_registered() {
    let ws = shop();
    ws.run(&["sources", "add", "shop"]).ok();
    let page = Page::of(&ws);
    let told = page.get("fleet");
    assert_eq!(told["workspaces"][0]["name"], "shop", "{told}");
    assert_eq!(told["workspaces"][0]["here"], true, "{told}");
    let next = told["workspaces"][0]["state"]["next"].as_str();
    assert!(
        next.is_some_and(|it| it.contains("reconciliation")),
        "{told}"
    );
}

#[test]
fn the_overview_counts_what_hooks_brought_as_status_does() {
    let ws = shop();
    let failed = json!({
        "hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": "Bash",
        "tool_use_id": "c1", "tool_input": {"command": "cat -A ledger.csv"},
        "tool_response": "Exit code 1\ncat: illegal option -- A",
    });
    let again = json!({
        "hook_event_name": "PreToolUse", "session_id": "s2", "tool_name": "Bash",
        "tool_use_id": "c2", "tool_input": {"command": "cat -A refunds.csv"},
    });
    let page = Page::of(&ws);
    assert_eq!(page.get("overview")["pushes"]["count"], 0);
    for event in [failed, again] {
        let output = ws.feed(event.to_string(), &[], &["hook", "--client=claude"]);
        output.ok();
    }
    let shown = page.get("overview");
    assert_eq!(shown["pushes"]["count"], 1, "{shown}");
    assert_eq!(shown["pushes"]["open"], 1);
    assert!(shown["pushes"]["tokens"]["count"].as_u64() > Some(10));
    let status = ws.run(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(status.ok()).expect("JSON");
    assert_eq!(shown["pushes"], status["pushes"]);
}

#[test]
fn looking_at_everything_changes_no_file() {
    let ws = shop();
    let before = ws.tree_of_sources();
    let page = Page::of(&ws);
    for question in [
        "overview",
        "trend",
        "graph",
        "timeline",
        "documents",
        "document?path=knowledge/ledger.md",
        "audit",
        "repair",
        "changes",
        "search?q=refund",
    ] {
        page.get(question);
    }
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn an_audit_can_be_a_picture() {
    let ws = shop();
    let picture = ws.run(&["audit", "--client", "all", "--svg"]);
    assert!(picture.ok().starts_with("<svg "), "{picture}");
    assert!(picture.ok().contains("critical 5,000"), "{picture}");
}
