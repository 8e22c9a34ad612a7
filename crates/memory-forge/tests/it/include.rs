//! Documents that a repository already has: found, counted, asked about, and
//! searched where they are.

use serde_json::json;
#[cfg(unix)]
use testkit::terminal;

use crate::harness::{answer, found, json as parsed, paths, ws};
use crate::mcp_client::Client;

/// A repository as they are: documents for people, and none for agents.
const PROJECT: &str = "
    //- README.md
    # Otter

    A tide table for the terminal.
    //- AGENTS.md
    # For agents

    Run `make lint` before every commit.
    //- docs/guide/lamps.mdx
    ---
    title: Lamps
    ---
    import { Tab } from '@site/tabs';

    <Tab title='Oil'>
      The harbour lamp burns whale oil until dawn.
    </Tab>
    //- docs/faq.md
    # Questions

    Nets are mended on Mondays.
    //- docs/notes.rst
    Buoys
    =====

    A buoy is painted every second spring.
    //- docs/AGENTS.md
    # Docs

    Write short sentences about herring.
    //- docs/requirements.txt
    sphinx==7 anchovy
    //- docs/.vitepress/theme.md
    # Theme

    Colours of the hidden sturgeon.
    //- docs/de/faq.md
    # Fragen

    Netze werden montags geflickt.
    //- node_modules/fish/README.md
    # Fish

    A dependency about mackerel.
    //- tests/fixtures/sample.md
    # Sample

    A fixture about turbot.
    ";

#[test]
fn a_repository_with_documents_is_searched_after_one_command() {
    let ws = ws(PROJECT);
    ws.git_init();
    let before = ws.run(&["search", "when are nets mended"]);
    assert!(
        before.stderr.contains(
            "4 documents in docs/, *.md are not searched; `memory-forge init --yes` includes them"
        ),
        "{before}"
    );
    let refused = ws.run(&["init"]);
    assert!(refused.fails(2).contains("pass `--yes` to "), "{refused}");
    assert!(
        refused.stderr.contains("Found 4 documents in docs/, *.md"),
        "{refused}"
    );
    assert!(!ws.exists("memory-forge.toml"));

    let init = ws.run(&["init", "--yes"]);
    assert!(
        init.ok().contains("✓ 4 documents can be searched"),
        "{init}"
    );
    assert!(
        init.stderr.contains(
            "Left out: 1 translation (`--translations` includes it), 1 file of tests, examples or prompts, 1 hidden folder, 1 folder of others' code"
        ),
        "{init}"
    );
    assert_eq!(
        ws.read("memory-forge.toml"),
        "[knowledge]\ninclude = [\"docs/**\", \"*.md\"]\nexclude = [\"docs/de/**\"]\n"
    );
    for (question, path) in [
        ("nets mended", "docs/faq.md"),
        ("harbour lamp", "docs/guide/lamps.mdx"),
        ("buoy painted", "docs/notes.rst"),
        ("tide table", "README.md"),
    ] {
        assert_eq!(found(&ws, question, &["-n", "1"]), [path], "{question}");
    }
    for word in [
        "herring", "anchovy", "sturgeon", "mackerel", "turbot", "montags",
    ] {
        let paths = found(&ws, word, &["--mode", "text"]);
        assert_eq!(paths, Vec::<String>::new(), "{word}");
    }
    // A second run finds nothing new.
    let again = ws.run(&["init", "--yes"]);
    assert_eq!(again.ok(), "✓ Everything is in place\n", "{again}");
}

/// Byte spans and lines are those of the file, whatever its format.
#[test]
fn a_passage_of_mdx_has_its_own_lines_and_no_code() {
    let ws = ws(PROJECT);
    ws.run(&["init", "--include", "docs/**"]).ok();
    let hit = ws.run(&["search", "--json", "-n", "1", "whale oil"]);
    let hit = &parsed(&hit)["results"][0];
    assert_eq!(hit["path"], "docs/guide/lamps.mdx");
    assert_eq!(hit["title"], "Lamps");
    let text = hit["text"].as_str().expect("a text");
    assert!(
        text.contains("whale oil") && !text.contains("import"),
        "{text}"
    );
    assert!(!text.contains("<Tab"), "{text}");
    let lines = [&hit["lines"][0], &hit["lines"][1]].map(|it| it.as_u64().expect("a line"));
    let file = ws.read("docs/guide/lamps.mdx");
    let at = 1 + file
        .lines()
        .position(|line| line.contains("whale oil"))
        .expect("it is there");
    assert!(
        lines[0] <= at as u64 && at as u64 <= lines[1],
        "{lines:?} {at}"
    );
}

#[test]
fn settings_are_added_to_and_what_is_named_is_taken() {
    let ws = ws(PROJECT);
    ws.write("memory-forge.toml", "# ours\n[search]\nlimit = 3\n");
    let init = ws.run(&["init", "--include", "docs/**", "--exclude", "docs/de/**"]);
    assert!(
        init.ok().contains("✓ 3 documents can be searched"),
        "{init}"
    );
    assert_eq!(
        ws.read("memory-forge.toml"),
        "# ours\n[search]\nlimit = 3\n\n[knowledge]\ninclude = [\"docs/**\"]\nexclude = [\"docs/de/**\"]\n"
    );
    let nothing = ws.run(&["init", "--include", "nowhere/**"]);
    assert!(nothing.fails(2).contains("names no document"), "{nothing}");
    // What is not included leaves the index.
    ws.write(
        "memory-forge.toml",
        "[knowledge]\ninclude = [\"README.md\"]\n",
    );
    assert_eq!(
        found(&ws, "nets mended", &["--mode", "text"]),
        Vec::<String>::new()
    );
    assert_eq!(found(&ws, "tide table", &[]), ["README.md"]);
    let left_out = ws.run(&["index"]);
    assert!(
        left_out.ok().contains("README.md (unchanged)"),
        "{left_out}"
    );
}

#[test]
fn an_answer_that_only_agents_load_is_pointed_at() {
    let ws = ws(PROJECT);
    ws.run(&["init", "--yes"]).ok();
    let output = ws.run(&["search", "lint before commit"]);
    assert!(
        output.stderr.contains("n AGENTS.md:3, which agents load"),
        "{output}"
    );
    assert!(!output.stdout.contains("AGENTS.md"), "{output}");
    let elsewhere = ws.run(&["search", "nets mended on mondays"]);
    assert!(!elsewhere.stderr.contains("agents load"), "{elsewhere}");
    let mut client = Client::legacy(&ws, &[]);
    let told = client.text("search_knowledge", json!({ "query": "lint before commit" }));
    assert!(told.contains("AGENTS.md:3, which agents load"), "{told}");
}

#[test]
#[cfg(unix)]
fn one_question_decides_and_places_can_be_picked() {
    let prepared = |typed: &str| {
        let ws = ws(PROJECT);
        let mut command = ws.command();
        command.args(["init"]);
        let screen = terminal::run(command, 100, typed);
        assert_eq!(screen.status, Some(0), "{}", screen.text());
        assert!(ws.exists("knowledge/README.md"), "{}", screen.text());
        let questions = screen.text().matches("search them too? [Y/n/pick]").count();
        assert_eq!(questions, 1, "{}", screen.text());
        assert!(!screen.text().contains("[y/N]"), "{}", screen.text());
        if ws.exists("memory-forge.toml") {
            ws.read("memory-forge.toml")
        } else {
            String::new()
        }
    };
    assert!(prepared("\n").contains("include = [\"docs/**\", \"*.md\"]"));
    assert_eq!(prepared("n\n"), "");
    assert!(prepared("pick\n1\n").contains("include = [\"docs/**\"]"));
}

/// What a server may read by name is what is searched.
#[test]
fn documents_that_are_included_can_be_read_and_others_not() {
    let ws = ws(PROJECT);
    ws.git_init();
    ws.write(".gitignore", "docs/secret.md\n");
    ws.write("docs/secret.md", "# Secret\n\nThe pike sleeps.\n");
    ws.run(&["init", "--include", "docs/**", "--yes"]).ok();
    assert_eq!(
        found(&ws, "pike", &["--mode", "text"]),
        Vec::<String>::new()
    );
    let is_indexed = |path: &str| {
        let output = ws.run(&["preview", path]);
        output.ok();
        !output.stderr.contains("is not indexed")
    };
    assert!(is_indexed("docs/faq.md"));
    assert!(!is_indexed("docs/secret.md"));
    assert!(!is_indexed("docs/AGENTS.md"));
}

/// "domain add content says ✓ and indexes 0 of 515": what is said is what is
/// searched.
#[test]
fn a_domain_of_mdx_pages_is_searched_and_counted() {
    let ws = ws(PROJECT);
    ws.run(&["init", "--workspace", "Otter", "--yes"]).ok();
    ws.write("content/a.mdx", "# Kelp\n\nKelp grows a foot a day.\n");
    ws.write("content/b.mdx", "# Foam\n\nFoam settles at noon.\n");
    let added = ws.run(&["domain", "add", "content"]);
    assert!(
        added.ok().contains("2 documents of it are searched"),
        "{added}"
    );
    assert_eq!(found(&ws, "kelp grows", &["-n", "1"]), ["content/a.mdx"]);
}

#[test]
fn the_name_alone_says_where_a_project_stands() {
    let ws = ws(PROJECT);
    ws.git_init();
    let stand = || {
        let output = ws.run::<&str>(&[]);
        let text = output.ok().to_owned();
        assert!(text.lines().count() <= 10, "{text}");
        text
    };
    let text = stand();
    assert!(
        text.contains("0 documents") && text.contains("4 documents in docs/, *.md"),
        "{text}"
    );
    assert!(text.contains("Next: memory-forge init "), "{text}");
    ws.run(&["init", "--yes"]).ok();
    let text = stand();
    assert!(text.contains("4 documents in 4 passages"), "{text}");
    assert!(text.contains("Next: memory-forge setup "), "{text}");
}

#[test]
fn an_index_can_be_left_to_follow() {
    let ws = ws(PROJECT);
    ws.run(&["init", "--include", "docs/**"]).ok();
    ws.write("docs/new.md", "# New\n\nThe eel swims upstream.\n");
    let short = ws.run(&["index", "--seconds", "0"]);
    assert!(
        short.stderr.contains("passages have a vector so far"),
        "{short}"
    );
    let status = parsed(&ws.run(&["status", "--json"]));
    assert_eq!(status["index"]["passages"], 5);
    assert_eq!(status["index"]["embedded"], 4);
    // One that the next search adds is not worth a line.
    assert!(!ws.run(&["status"]).ok().contains("Vectors"));
    let parts: Vec<String> = (0..40)
        .map(|at| {
            let text = "The eel swims upstream. ".repeat(60);
            format!("## Part {at}\n\n{text}\n\n")
        })
        .collect();
    ws.write("docs/long.md", format!("# Long\n\n{}", parts.concat()));
    ws.run(&["index", "--no-vectors"]).ok();
    let status = ws.run(&["status"]);
    assert!(status.ok().contains("Vectors    4 of "), "{status}");
    let background = ws.run(&["index", "--background"]);
    assert!(
        background
            .stderr
            .contains("in the background, for at most 600 s"),
        "{background}"
    );
}

/// A manual in four languages, as sites have them.
const MANUAL: &str = "
    //- docs/en/refunds.md
    # Refunds

    A refund is possible within thirty days. Error ERR_REFUND_17 means that the time is over.
    //- docs/en/only.md
    # Only in English

    The harbour has a lamp.
    //- docs/de/refunds.md
    # Erstattungen

    Eine Erstattung ist innerhalb von dreißig Tagen möglich. Der Fehler ERR_REFUND_17 heißt, dass die Zeit um ist.
    //- docs/fr/refunds.md
    # Remboursements

    Un remboursement est possible dans les trente jours. L'erreur ERR_REFUND_17 veut dire que le temps est passé.
    //- docs/ja/refunds.md
    # 返金

    返金は三十日以内に可能です。エラー ERR_REFUND_17 は期限切れを意味します。
    //- docs/it/orders.md
    # Orders of the IT department

    How to order a machine from the people of IT, and what you get with it.
";

/// "The same page in twelve languages is one document with a language, found by
/// a question in any of them, shown in the asker's."
#[test]
fn a_page_in_four_languages_is_one_result_in_the_language_of_the_question() {
    let ws = ws(MANUAL);
    let without = ws.run(&["init", "--dry-run"]);
    assert!(
        without.stderr.contains("Found 3 documents in docs/")
            && without.stderr.contains("Left out: 3 translations"),
        "{without}"
    );
    let init = ws.run(&["init", "--yes", "--translations"]);
    assert!(
        init.ok().contains("✓ 6 documents can be searched"),
        "{init}"
    );
    assert!(
        init.stderr.contains("3 of them are translations; a search shows such a page once, in the language of the question"),
        "{init}"
    );
    for (question, path, language) in [
        ("how long is a refund possible", "docs/en/refunds.md", "en"),
        (
            "was bedeutet der Fehler ERR_REFUND_17",
            "docs/de/refunds.md",
            "de",
        ),
        (
            "dans quels jours un remboursement",
            "docs/fr/refunds.md",
            "fr",
        ),
        ("返金は何日以内ですか", "docs/ja/refunds.md", "ja"),
        // An identifier alone is in no language: the original is shown.
        ("ERR_REFUND_17", "docs/en/refunds.md", "en"),
    ] {
        let answer = answer(&ws, question, &[]);
        let pages = paths(&answer);
        let of_family: Vec<&String> = pages
            .iter()
            .filter(|it| it.ends_with("/refunds.md"))
            .collect();
        assert_eq!(of_family, [path], "{question}: {answer}");
        assert_eq!(answer["results"][0]["language"], language, "{question}");
        let others = answer["results"][0]["translations"].as_array();
        assert_eq!(others.map(Vec::len), Some(3), "{question}");
    }
    let shown = ws.run(&["search", "ERR_REFUND_17"]);
    assert!(
        shown.ok().contains(
            "Also in other languages: docs/de/refunds.md, docs/fr/refunds.md, docs/ja/refunds.md"
        ),
        "{shown}"
    );
    let context = ws.run(&["search", "ERR_REFUND_17", "--context"]);
    assert!(
        context
            .ok()
            .contains("_Also in other languages: docs/de/refunds.md"),
        "{context}"
    );
    // A folder that only looks like a language is a place of its own.
    let answer = answer(&ws, "order a machine from the people of IT", &[]);
    assert_eq!(paths(&answer)[0], "docs/it/orders.md");
    assert!(
        answer["results"][0].get("translations").is_none(),
        "{answer}"
    );
}

#[test]
fn double_suffixes_are_documents_and_hidden_folders_are_counted() {
    let ws = ws("
        //- site/a.html.markdown
        # Tides

        The spring tide comes with the new moon.
        //- site/b.html.md
        # Moorings

        A mooring needs two ropes.
        //- site/.cache/c.md
        # Cached

        A hidden turbot.
        //- site/deep/.drafts/d.md
        # Draft

        A hidden herring.
    ");
    let init = ws.run(&["init", "--include", "site/**", "--yes"]);
    assert!(
        init.ok().contains("✓ 2 documents can be searched"),
        "{init}"
    );
    assert!(init.stderr.contains("Left out: 2 hidden folders"), "{init}");
    assert_eq!(
        found(&ws, "spring tide", &["-n", "1"]),
        ["site/a.html.markdown"]
    );
    assert_eq!(
        found(&ws, "mooring ropes", &["-n", "1"]),
        ["site/b.html.md"]
    );
    assert_eq!(
        found(&ws, "turbot", &["--mode", "text"]),
        Vec::<String>::new()
    );
}
