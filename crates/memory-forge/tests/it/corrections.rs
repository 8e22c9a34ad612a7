//! A person says that a fact is wrong, and it cannot be learnt again from old
//! text.

use serde_json::json;
use testkit::TestWorkspace;

use crate::harness::{answer, json as parsed, paths, ws};
use crate::mcp_client::Client;

const NOTES: &str = "
    //- knowledge/old.md
    # Gateway limit

    The gateway limit is **100 requests** a minute. The gateway counts requests.
    //- knowledge/new.md
    # Gateway

    The gateway is in front of everything and has a limit on requests.
    //- .agents/memory/eng/builder/state.md
    Building.
    //- .mind/STATE.md
    # Project State

    ## Current Phase
    Build

    ## Next Action
    Remember: the gateway limit is 100 requests a minute
";

const WRONG: &str = "The gateway limit is 100 requests a minute";

fn corrected() -> TestWorkspace {
    let ws = ws(NOTES);
    let output = ws.run(&[
        "forget",
        "--fact",
        WRONG,
        "--instead",
        "The gateway limit is 250 requests a minute",
        "--reason",
        "read off the old plan",
    ]);
    assert!(output.ok().contains("knowledge/_FORGOTTEN.md"), "{output}");
    ws
}

const TOLD: &str = "\"The gateway limit is 100 requests a minute\" is wrong; instead: \"The gateway limit is 250 requests a minute\" (read off the old plan)";

#[test]
fn what_was_corrected_is_found_last_and_with_its_correction() {
    let plain = ws(NOTES);
    let question = "gateway limit 100 requests a minute";
    let flags = ["--mode", "text"];
    assert_eq!(
        paths(&answer(&plain, question, &flags))[0],
        "knowledge/old.md"
    );
    let ws = corrected();
    let found = answer(&ws, question, &flags);
    assert_eq!(paths(&found), ["knowledge/new.md", "knowledge/old.md"]);
    let last = &found["results"][1];
    assert_eq!(last["corrections"][0]["fact"], WRONG);
    assert!(
        last["corrections"][0]["told"]
            .as_str()
            .unwrap()
            .contains(TOLD)
    );
    assert_eq!(found["results"][0]["corrections"], json!(null));
    // With room for one only, the correction is still told.
    let one = answer(&ws, question, &["--mode", "text", "-n", "1"]);
    assert_eq!(paths(&one), ["knowledge/new.md"]);
    assert_eq!(one["corrections"][0]["fact"], WRONG);
    for form in [&["--context"][..], &[]] {
        let mut arguments = vec!["search", question, "--mode", "text"];
        arguments.extend(form);
        let output = ws.run(&arguments);
        assert!(output.ok().contains(TOLD), "{output}");
    }
    let mut client = Client::legacy(&ws, &[]);
    let text = client.text("search_knowledge", json!({ "query": question }));
    assert!(text.contains(TOLD), "{text}");
    let text = client.text("memory_search", json!({ "query": "gateway limit" }));
    assert!(text.contains(TOLD), "{text}");
    client.end();
    let lifted = ws.run(&[
        "restore",
        "--fact",
        "the GATEWAY limit is `100` requests a minute!",
    ]);
    assert!(lifted.ok().contains("Lifted"), "{lifted}");
    let found = answer(&ws, question, &flags);
    assert_eq!(paths(&found)[0], "knowledge/old.md");
}

#[test]
fn what_was_corrected_is_not_written_again() {
    let ws = corrected();
    let said = "As we know, the *Gateway* limit is\n\"100 requests\" a minute.";
    let before = ws.tree_of_sources();
    for arguments in [
        &["save", "context", "limits", "--content", said][..],
        &["save", "skill", "limits", "--content", said],
        &[
            "save",
            "context",
            "limits",
            "--into-context",
            "--content",
            said,
        ],
        &["mind", "decide", "Limit", "--decision", said],
        &["mind", "log", said],
        &["mind", "set", "--next", said],
        &["mind", "task", "add", said],
        &["session", "end", "--did", said],
        &["idea", said],
        &[
            "agent",
            "remember",
            "Limits",
            "--agent",
            "eng/builder",
            "--content",
            said,
        ],
        &["agent", "learn", said, "--squad", "eng"],
    ] {
        let output = ws.run(arguments);
        let error = output.fails(1);
        assert!(error.contains(TOLD), "{arguments:?}: {output}");
        assert!(error.contains("memory-forge restore --fact"), "{output}");
    }
    let mut client = Client::legacy(&ws, &[]);
    for (tool, arguments) in [
        (
            "save_knowledge",
            json!({ "type": "context", "name": "x", "content": said }),
        ),
        (
            "memory_save_decision",
            json!({ "title": "x", "decision": said }),
        ),
        ("memory_save_progress", json!({ "task": said })),
        ("memory_save_session", json!({ "summary": said })),
        ("memory_update_state", json!({ "next_action": said })),
    ] {
        let text = client.refused(tool, arguments);
        assert!(
            text.contains(TOLD) && text.contains("restore --fact"),
            "{tool}: {text}"
        );
    }
    client.end();
    assert_eq!(ws.tree_of_sources(), before);
    // The right one, and one that shares words, may be said.
    for (name, said) in [
        ("right", "The gateway limit is 250 requests a minute"),
        ("near", "Requests: 100 a minute is not the gateway limit"),
    ] {
        ws.run(&["save", "context", name, "--content", said]).ok();
    }
}

#[test]
fn an_agent_corrects_what_it_was_told_is_wrong() {
    let ws = ws(NOTES);
    let right = "The gateway limit is 250 requests a minute";
    let arguments = json!({ "fact": WRONG, "instead": right, "reason": "new contract" });
    let mut client = Client::legacy(&ws, &[]);
    let told = client.text("correct_knowledge", arguments.clone());
    assert!(told.contains("is wrong; instead"), "{told}");
    assert!(told.contains("memory-forge restore --fact"), "{told}");
    let list = ws.read("knowledge/_FORGOTTEN.md");
    assert!(list.contains(WRONG) && list.contains(right), "{list}");
    let told = client.text("correct_knowledge", arguments);
    assert!(told.starts_with("It is corrected already."), "{told}");
    assert_eq!(ws.read("knowledge/_FORGOTTEN.md"), list);
    let again = json!({ "type": "context", "name": "limit", "content": WRONG });
    let told = client.refused("save_knowledge", again);
    assert!(told.contains(right), "{told}");
    let told = client.text("search_knowledge", json!({ "query": "gateway limit" }));
    assert!(told.contains(right), "{told}");
    // One word would be in too many texts, and nothing is no fact.
    for fact in ["gateway", " "] {
        client.refused("correct_knowledge", json!({ "fact": fact }));
    }
    client.end();
    assert_eq!(ws.read("knowledge/_FORGOTTEN.md"), list);
    let lifted = ws.run(&["restore", "--fact", WRONG]);
    assert!(lifted.ok().contains("Lifted"), "{lifted}");
}

#[test]
fn no_briefing_repeats_it_without_the_correction() {
    let ws = corrected();
    let output = ws.feed(r#"{"hook_event_name":"SessionStart"}"#, &[], &["hook"]);
    let answer = parsed(&output);
    let text = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(
        text.contains("limit is 100") && text.contains(TOLD),
        "{text}"
    );
    let output = ws.feed(
        r#"{"hook_event_name":"UserPromptSubmit","prompt":"x"}"#,
        &[],
        &["hook"],
    );
    assert!(!output.ok().contains("limit is 100"), "{output}");
    let output = ws.run(&["session", "start"]);
    assert!(output.ok().contains(TOLD), "{output}");
}

#[test]
fn closets_do_not_bring_it_back() {
    let ws = ws("
        //- knowledge/me.md
        # About me

        I'm allergic to penicillin. I have a dog called Rex.
    ");
    ws.run(&["closets", "build"]).ok();
    assert!(ws.read("knowledge/_CLOSETS.md").contains("penicillin\""));
    ws.run(&["forget", "--fact", "I'm allergic to penicillin"])
        .ok();
    ws.run(&["closets", "build"]).ok();
    let closets = ws.read("knowledge/_CLOSETS.md");
    assert!(!closets.contains("allergic to penicillin\""), "{closets}");
    ws.run(&["closets", "build"]).ok();
    assert_eq!(ws.read("knowledge/_CLOSETS.md"), closets);
    ws.run(&["closets", "build", "--force"]).ok();
    assert_eq!(ws.read("knowledge/_CLOSETS.md"), closets);
}

#[test]
fn statistics_count_it_and_twice_is_once() {
    let ws = corrected();
    ws.run(&["index"]).ok();
    let stats = parsed(&ws.run(&["stats", "--json"]));
    assert_eq!(stats["corrected"].as_array().unwrap().len(), 1);
    assert!(ws.run(&["stats"]).ok().contains("Corrected facts: 1"));
    let list = ws.read("knowledge/_FORGOTTEN.md");
    let again = ws.run(&["forget", "--fact", WRONG, "--json"]);
    assert_eq!(parsed(&again)["changed"], false);
    assert_eq!(ws.read("knowledge/_FORGOTTEN.md"), list);
    ws.run(&["forget", "--fact", "Kubernetes"]).fails(2);
    ws.run(&["forget", "--fact", "a b", "knowledge/old.md"])
        .fails(2);
    ws.run(&["restore", "--fact", "never said so"]).fails(1);
    // Forgetting documents does not disturb it.
    ws.run(&["forget", "knowledge/old.md", "--yes"]).ok();
    ws.run(&["restore", "--all"]).ok();
    let stats = parsed(&ws.run(&["stats", "--json"]));
    assert_eq!(stats["corrected"].as_array().unwrap().len(), 1);
    ws.run(&["doctor", "--undo"]);
}
