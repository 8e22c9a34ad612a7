//! The pages as a folder: without a server, without secrets, and never over
//! what somebody else put there.

use testkit::browser::Browser;

use crate::served::shop;

#[test]
fn a_copy_holds_no_secret_and_nothing_private() {
    let ws = shop();
    let key = format!("AKIA{}", "Q3EGV7XJ2M5KD8WN");
    ws.write(
        "knowledge/deploy.md",
        format!("# Deploy\n\nWith the key {key} it works.\n"),
    );
    ws.write("knowledge/leads.md", "# Leads\n\nSee [[private.local]].\n");
    let private = "---\npeople: [\"[[Grace]]\"]\n---\n# Salary of the team\n";
    ws.write("knowledge/private.local.md", private);
    ws.write("CLAUDE.local.md", "Be mine.\n");
    let output = ws.run(&["view", "--export", "site"]);
    assert!(output.ok().contains("site/index.html"), "{output}");
    let data = ws.read("site/data.js");
    for absent in [
        key.as_str(),
        "Salary",
        "private.local.md",
        "CLAUDE.local",
        "Grace",
    ] {
        assert!(!data.contains(absent), "{absent} is in the copy");
    }
    let root = ws.root().display().to_string();
    assert!(!data.contains(&root), "the machine's paths are in the copy");
    assert!(data.contains("Reconciliation"), "{}", &data[..200]);
    assert!(std::fs::read_dir(ws.path("site/files")).is_ok_and(|it| it.count() == 1));
    // Again is the same as once.
    let before = ws.tree();
    ws.run(&["view", "--export", "site"]).ok();
    assert_eq!(ws.tree(), before);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let ws = shop();
    ws.write("site/index.html", "<p>my page</p>");
    let output = ws.run(&["view", "--export", "site"]);
    assert!(output.fails(2).contains("is not empty"), "{output}");
    assert_eq!(ws.read("site/index.html"), "<p>my page</p>");
    assert!(!ws.exists("site/data.js"));
}

#[test]
fn a_copy_works_from_the_disk() {
    let Some(browser) = Browser::start(env!("CARGO_TARGET_TMPDIR"), 1280, 860) else {
        return;
    };
    let ws = shop();
    ws.run(&["view", "--export", "site"]).ok();
    // Browsers load no modules from the disk.
    assert!(ws.exists("site/page.js") && !ws.exists("site/start.js"));
    assert!(!ws.exists("site/pages"));
    let page = ws.read("site/index.html");
    assert!(!page.contains("module"), "{page}");
    let index = ws.path("site/index.html").display().to_string();
    browser.open(&format!("file://{index}"));
    assert!(browser.text(".now .next").contains("reconciliation"));
    for (page, expect) in [
        ("graph", "#main .stage"),
        ("timeline", ".lineage svg"),
        ("audit", ".finding"),
        ("documents", "tbody tr"),
    ] {
        browser.click(&format!("nav a[data-page={page}]"));
        browser.wait_for(
            page,
            &format!("return !!document.querySelector({expect:?})"),
        );
    }
    browser.click("nav a[data-page=search]");
    browser.fill("main input[type=search]", "idempotency");
    browser.wait_for(
        "a result",
        "return document.querySelectorAll('.hit').length > 0",
    );
    browser.click(".hit h3 a");
    browser.wait_for(
        "the document",
        "return location.hash.startsWith('#/document/') && !!document.querySelector('.prose')",
    );
    assert_eq!(
        browser.script("return document.querySelectorAll('#edit').length", &[]),
        0
    );
    let beyond: Vec<String> = browser
        .requests()
        .into_iter()
        .filter(|it| {
            !["file:", "data:", "chrome:"]
                .iter()
                .any(|own| it.starts_with(own))
        })
        .collect();
    assert_eq!(beyond, Vec::<String>::new());
    let console = browser.console();
    assert!(
        console
            .iter()
            .all(|it| !it.contains("SEVERE") && !it.contains("Refused")),
        "{console:?}"
    );
}
