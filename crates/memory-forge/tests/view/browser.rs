//! The page in a real browser: every page is opened and used by mouse and
//! keyboard, looked at by axe-core in both lights, and given a hostile document.
//!
//! Pictures are written to `target/view`; with `MEMORY_FORGE_SCREENSHOTS` set to
//! a folder, also there.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::fetched;

use crate::served::{Page, named, shop};

const TMP: &str = env!("CARGO_TARGET_TMPDIR");

/// What each page shows once it is there.
const PAGES: [(&str, &str); 8] = [
    ("overview", ".now .next"),
    ("search?q=refund", ".hit"),
    ("graph", "canvas[data-settled=true]"),
    ("timeline", ".lineage svg"),
    ("documents", "tbody tr"),
    ("document/knowledge/reconciliation.md", ".prose table"),
    ("audit", ".finding"),
    ("fleet", ".ship"),
];

fn picture(browser: &Browser, name: &str) {
    let mut folders = vec![Path::new(TMP).with_file_name("view")];
    folders.extend(std::env::var_os("MEMORY_FORGE_SCREENSHOTS").map(PathBuf::from));
    for folder in folders {
        browser.screenshot(&folder.join(format!("{name}.png")));
    }
}

#[track_caller]
fn visit(browser: &Browser, page: &Page, place: &str, expect: &str) {
    let (origin, place) = (json!(page.origin()), json!(format!("#/{place}")));
    browser.script(&format!("if (!location.href.startsWith({origin})) throw new Error(location.href); document.getElementById('main').replaceChildren(); location.hash = '#/none'; location.hash = {place};"), &[]);
    browser.wait_for(
        expect,
        &format!("return !!document.querySelector({})", json!(expect)),
    );
    // What comes later on a page comes too.
    browser.wait_for("the rest", "return !document.querySelector('.loading') && !document.body.innerText.includes('Reading git')");
}

#[test]
fn every_page_is_shown_and_can_be_used_by_everyone() {
    let Some(browser) = Browser::start(TMP, 1280, 900) else {
        return;
    };
    let Some(axe) = fetched::program(TMP, "browser", "axe") else {
        return;
    };
    let axe = std::fs::read_to_string(axe).expect("it was fetched");
    let ws = shop();
    let root = named(&ws, "tidewater-pay");
    let place = root.display().to_string();
    ws.run(&["sources", "add", "tidewater-pay", &place]).ok();
    ws.run(&["sources", "add", "another-shop"]).ok();
    ws.run(&["sources", "set", "another-shop", "--searchable", "false"])
        .ok();
    let page = Page::at(&ws, &root);
    browser.prefers("light");
    browser.open(&page.address);
    let mut found = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefers(scheme);
        browser.size(1280, 900);
        for (place, expect) in PAGES {
            visit(&browser, &page, place, expect);
            let name = place.split(['?', '/']).next().unwrap_or_default();
            picture(&browser, &format!("{name}-{scheme}"));
            if name == "audit" {
                browser.click(".finding button");
                browser.wait_for("the fix", "return !!document.querySelector('.diff')");
                picture(&browser, &format!("fix-{scheme}"));
            }
            let script = format!(
                "{axe}\nconst done = arguments[arguments.length - 1]; axe.run(document, {{ resultTypes: ['violations'] }}).then((it) => done(it.violations.map((v) => [v.id, v.impact, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary)])), (e) => done([[String(e), 'critical', []]]))"
            );
            let violations = browser.script_later(&script, &[]);
            for one in violations.as_array().expect("a list") {
                if matches!(one[1].as_str(), Some("serious" | "critical")) {
                    found.push(format!("{scheme} {place}: {one}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "axe-core found:\n{}", found.join("\n"));

    // At phone width nothing sticks out of the page.
    for scheme in ["light", "dark"] {
        browser.prefers(scheme);
        browser.size(390, 844);
        for (place, expect) in PAGES {
            visit(&browser, &page, place, expect);
            let name = place.split(['?', '/']).next().unwrap_or_default();
            picture(&browser, &format!("{name}-phone-{scheme}"));
            let wide = browser.script("return document.documentElement.scrollWidth", &[]);
            assert!(wide.as_u64() <= Some(390), "{place} is {wide} wide");
        }
    }
    check_requests(&browser, &page);
}

/// Nothing was asked of anyone but our own port, and nothing broke.
#[track_caller]
fn check_requests(browser: &Browser, page: &Page) {
    let ours = format!("{}/", page.origin());
    let requests = browser.requests();
    assert!(
        requests.iter().any(|it| it.starts_with(&ours)),
        "{requests:?}"
    );
    for address in &requests {
        let own =
            address.starts_with(&ours) || address.starts_with(&format!("blob:{}", page.origin()));
        let none = address.starts_with("data:")
            || address.starts_with("about:")
            || address.starts_with("chrome:");
        assert!(own || none, "asked for {address}");
        assert!(
            !address.contains(page.token()),
            "the token left the page: {address}"
        );
    }
}

#[test]
fn a_person_finds_edits_and_takes_back() {
    let Some(browser) = Browser::start(TMP, 1280, 900) else {
        return;
    };
    let ws = shop();
    let page = Page::of(&ws);
    browser.open(&page.address);
    assert!(browser.text(".now .next").contains("reconciliation"));
    let address = browser.address();
    assert!(!address.contains("token"), "{address}");

    // Search as you type, by keyboard alone.
    browser.keys("body", "/");
    browser.wait_for(
        "the field",
        "return document.activeElement && document.activeElement.type === 'search'",
    );
    browser.keys("main input[type=search]", "partial refund");
    browser.wait_for("results", "return document.querySelector('#results').dataset.for === 'partial refund' && document.querySelectorAll('.hit mark').length > 0");
    browser.click("input[name=explain]");
    browser.wait_for("reasons", "return !!document.querySelector('.why table')");
    assert!(browser.text(".why").contains("BM25"));
    picture(&browser, "explain-light");
    browser.click("#results .hit h3 a");
    browser.wait_for(
        "the document",
        "return location.hash.startsWith('#/document/') && !!document.querySelector('.prose')",
    );

    // Edit, save, undo.
    let before = ws.read("knowledge/reconciliation.md");
    visit(
        &browser,
        &page,
        "document/knowledge/reconciliation.md",
        "#edit",
    );
    browser.wait_for(
        "the image",
        "const it = document.querySelector('.prose img'); return it && it.naturalWidth === 40",
    );
    browser.keys("body", "e");
    browser.keys(
        "textarea",
        "\u{e009}\u{e010}\u{e009}Written in a browser.\n",
    );
    picture(&browser, "edit-light");
    browser.click("#save");
    browser.wait_for("the new text", "return document.querySelector('.prose') && document.querySelector('.prose').innerText.includes('Written in a browser.')");
    assert_eq!(
        ws.read("knowledge/reconciliation.md"),
        format!("{before}Written in a browser.\n")
    );
    browser.click(".toast button");
    browser.wait_for("the old text", "return document.querySelector('.prose') && !document.querySelector('.prose').innerText.includes('Written in a browser.')");
    assert_eq!(ws.read("knowledge/reconciliation.md"), before);

    // An edit against what somebody else has changed stays in the box.
    visit(&browser, &page, "document/knowledge/refunds.md", "#edit");
    browser.click("#edit");
    browser.keys("textarea", "Mine. ");
    ws.write(
        "knowledge/refunds.md",
        "# Refunds\n\nRewritten by a colleague.\n",
    );
    browser.click("#save");
    browser.wait_for("the refusal", "const it = document.querySelector('[role=alert]'); return it && !it.hidden && it.innerText.includes('another program')");
    let typed = browser.script("return document.querySelector('textarea').value", &[]);
    assert!(
        typed.as_str().is_some_and(|it| it.starts_with("Mine. ")),
        "{typed}"
    );
    assert_eq!(
        ws.read("knowledge/refunds.md"),
        "# Refunds\n\nRewritten by a colleague.\n"
    );
    browser.script("window.confirm = () => true", &[]);
    browser.click("#cancel");
    browser.wait_for(
        "the editor is closed",
        "return !document.querySelector('textarea')",
    );

    // A click on a node opens its document.
    visit(&browser, &page, "graph", "canvas[data-settled=true]");
    browser.fill("input[name=find]", "ledger");
    browser.wait_for(
        "one node",
        "return document.querySelector('[role=status]').innerText.startsWith('1 node')",
    );
    browser.wait_for(
        "it stands still",
        "return !!document.querySelector('canvas[data-settled=true]')",
    );
    browser.click("canvas");
    browser.wait_for(
        "its document",
        "return location.hash === '#/document/knowledge/ledger.md'",
    );

    // The past of a document.
    browser.wait_for(
        "history",
        "return !!document.querySelector('#history button')",
    );
    browser.click("#history button");
    browser.wait_for(
        "the past",
        "return document.body.innerText.includes('As of 2026-01-12')",
    );

    // A finding's fix, applied and undone.
    let before = ws.read("CLAUDE.md");
    visit(&browser, &page, "audit", ".finding");
    assert!(browser.text("#main").contains("Preview only"));
    browser.click(".finding button");
    browser.click("#apply");
    browser.wait_for("it is done", "return document.querySelector('.toast') && document.querySelector('.toast').innerText.includes('Fixed ')");
    assert_ne!(ws.read("CLAUDE.md"), before);
    browser.click(".toast button");
    browser.wait_for("it is undone", "return [...document.querySelectorAll('.toast')].some((it) => it.innerText.includes('Undone: '))");
    assert_eq!(ws.read("CLAUDE.md"), before);

    // Shortcuts and colours.
    visit(&browser, &page, "overview", ".now .next");
    browser.keys("body", "gt");
    browser.wait_for(
        "the timeline",
        "return location.hash === '#/timeline' && !!document.querySelector('.time')",
    );
    browser.keys("body", "?");
    browser.wait_for(
        "the list",
        "return document.getElementById('shortcuts').open",
    );
    assert!(browser.text("#shortcuts").contains("Shortcuts on"));
    picture(&browser, "shortcuts-light");
    browser.script("document.getElementById('shortcuts').close()", &[]);
    browser.prefers("light");
    let paper = || {
        browser.script(
            "return getComputedStyle(document.documentElement).backgroundColor",
            &[],
        )
    };
    let light = paper();
    browser.click("#theme");
    browser.click("#theme");
    assert_eq!(browser.text("#theme"), "Theme: dark");
    assert_ne!(paper(), light);
    check_requests(&browser, &page);

    // A tab without the token says so, and gets nothing.
    browser.script("sessionStorage.clear(); location.reload()", &[]);
    browser.wait_for(
        "the refusal",
        "return document.body.innerText.includes('This tab has no token')",
    );
}

/// Each outcome keeps its number, also where the card is narrow.
#[test]
fn what_hooks_brought_is_shown_with_what_followed() {
    let Some(browser) = Browser::start(TMP, 1280, 900) else {
        return;
    };
    let ws = shop();
    let mut log = String::new();
    for at in 0..12 {
        let call = format!("c{at}");
        let push = json!({
            "at": 1, "session": "s", "event": "PreToolUse", "call": call, "item": "large a.csv",
            "version": "1", "subject": {"about": "large", "path": "a.csv"}, "text": "-",
            "tokens": 40,
        });
        let outcome = match at {
            0..8 => "avoided",
            8..10 => "ignored",
            _ => "contradicted",
        };
        let outcome = json!({"session": "s", "call": call, "item": "large a.csv",
            "outcome": outcome});
        log += &format!(
            "{push}\n{}",
            if at == 11 {
                String::new()
            } else {
                format!("{outcome}\n")
            }
        );
    }
    ws.write(".mind/.pushes", log);
    let page = Page::of(&ws);
    browser.open(&page.address);
    visit(&browser, &page, "overview", ".stat.wide");
    let words = "return [...document.querySelectorAll('.stat.wide :is(b, small, li)')].map((it) => it.innerText)";
    assert_eq!(
        browser.script(words, &[]),
        json!([
            "12",
            "items brought to agents, ~480 tokens",
            "8 avoided",
            "2 ignored",
            "1 contradicted",
            "1 unknown",
        ])
    );
    let lines = "return [...document.querySelectorAll('.stat.wide li')].every((it) => it.offsetHeight < 2.2 * parseFloat(getComputedStyle(it).fontSize))";
    assert_eq!(browser.script(lines, &[]), true);
    picture(&browser, "pushes");
}

#[test]
fn numbers_agree_with_their_nouns() {
    let Some(browser) = Browser::start(TMP, 1280, 900) else {
        return;
    };
    let ws = shop();
    let page = Page::of(&ws);
    browser.open(&page.address);
    for (expression, expected) in [
        ("format.plural(1, 'file')", "1 file"),
        ("format.plural(1234, 'file')", "1,234 files"),
        ("format.plural(2, 'entry', 'entries')", "2 entries"),
        (
            "widgets.moreNote(8, 'change').textContent",
            "8 more changes",
        ),
        ("widgets.moreNote(1, 'change').textContent", "1 more change"),
        ("String(widgets.moreNote(0, 'change'))", "null"),
        (
            "format.formatAge('2026-01-01T00:00Z', Date.parse('2026-01-03T01:00Z'))",
            "2 days ago",
        ),
    ] {
        let script = format!(
            "const done = arguments[arguments.length - 1]; Promise.all(['/format.js', '/widgets.js'].map((it) => import(new URL(it, location)))).then(([format, widgets]) => done({expression}))"
        );
        assert_eq!(browser.script_later(&script, &[]), expected, "{expression}");
    }
}

/// Everything that was ever used to run a script from a text.
const HOSTILE: &str = r#"---
title: "<img src=x onerror=alert(1)>"
---
# Hostile <script>window.ran = 1</script>

<script>window.ran = 2</script>
<img src="x" onerror="window.ran = 3">
<svg onload="window.ran = 4" width="100000" height="100000"><script>window.ran = 5</script><foreignObject><iframe src="javascript:parent.ran=6"></iframe></foreignObject></svg>
<iframe srcdoc="<script>parent.ran = 7</script>"></iframe>
<math><mtext><table><mglyph><style><img src onerror="window.ran=8"></style></mglyph></table></mtext></math>
<a href="javascript:window.ran=9" id="main">click</a> <form action="https://evil.example"><button>send</button></form>
<base href="https://evil.example/"> <meta http-equiv="refresh" content="0;url=https://evil.example"> <link rel="stylesheet" href="https://evil.example/x.css">
<style>body { display: none } @import url(https://evil.example/x.css);</style>

[one](javascript:window.ran=10) [two](JaVaScRiPt:window.ran=11) [three](data:text/html,<script>opener.ran=12</script>) [four](<java
script:window.ran=13>) [five](&#106;avascript:window.ran=14) [six](vbscript:x) [seven](//evil.example/a)
![pixel](https://evil.example/pixel.png) ![x](x" onerror="window.ran=15) ![data](data:image/svg+xml,<svg/onload=alert(1)>) ![file](file:///etc/passwd) ![svg](picture.svg)
[[x" onmouseover="window.ran=16|wiki]] [[javascript:window.ran=17]] ![[https://evil.example/p.png]]

<https://example.org/" onmouseover="window.ran=18>

```html" onmouseover="window.ran=19
</code></pre><script>window.ran = 20</script>
```

| <script>window.ran = 21</script> | `</td><script>` |
|---|---|
| <img src=x onerror=window.ran=22> | &lt;script&gt;window.ran = 23&lt;/script&gt; |

[ref]: javascript:window.ran=24 "title"
A [ref] and a footnote[^<script>] and a <!-- comment --><plaintext>
"#;

#[test]
fn a_hostile_document_runs_nothing_and_asks_nobody() {
    let Some(browser) = Browser::start(TMP, 1280, 900) else {
        return;
    };
    let ws = shop();
    ws.write("knowledge/hostile.md", HOSTILE);
    let huge = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100000000\" height=\"100000000\" onload=\"parent.ran=25\"><script>parent.ran=26</script><image href=\"https://evil.example/a.png\"/>{}</svg>",
        "<g>".repeat(200) + &"</g>".repeat(200)
    );
    ws.write("knowledge/picture.svg", huge);
    ws.write(
        "knowledge/<img src=x onerror=ran=27>.md",
        "# <script>window.ran = 28</script>\n\nLeads to [[hostile]].\n",
    );
    ws.git(&["add", "--all"]);
    ws.commit_at("<script>window.ran = 29</script>", "2026-02-27T09:00:00Z");
    ws.run(&[
        "mind",
        "set",
        "--next",
        "<img src=x onerror='window.ran=30'>",
        "--phase",
        "<script>window.ran=31</script>",
    ])
    .ok();
    ws.run(&[
        "mind",
        "decide",
        "<svg onload=window.ran=32>",
        "-d",
        "<script>window.ran=33</script>",
    ])
    .ok();
    let page = Page::of(&ws);
    browser.open(&page.address);
    for (place, expect) in PAGES.iter().copied().chain([
        ("document/knowledge/hostile.md", "#history button"),
        ("search?q=window.ran&explain=1&mode=text", ".hit"),
        (
            "document/knowledge/%3Cimg%20src%3Dx%20onerror%3Dran%3D27%3E.md",
            ".prose",
        ),
    ]) {
        if place == "fleet" {
            continue;
        }
        visit(&browser, &page, place, expect);
        let hit = browser.script(
            "return window.ran === undefined ? 'nothing' : String(window.ran)",
            &[],
        );
        assert_eq!(hit, "nothing", "{place}");
    }
    visit(
        &browser,
        &page,
        "document/knowledge/hostile.md",
        "#history button",
    );
    // Whatever can be clicked is clicked, and whatever can be hovered hovered.
    browser.script("for (const it of document.querySelectorAll('.prose *')) { it.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })); if (it.tagName === 'A' && !it.classList.contains('outside')) it.setAttribute('data-clicked', it.getAttribute('href')); }", &[]);
    let strange = browser.script(
        "const out = []; for (const it of document.querySelectorAll('.prose *')) { if (['SCRIPT','IFRAME','STYLE','SVG','FORM','BASE','META','LINK','OBJECT','EMBED','MATH'].includes(it.tagName.toUpperCase())) out.push(it.outerHTML); for (const a of it.attributes) if (a.name.startsWith('on') || /^\\s*(javascript|data|vbscript|file):/i.test(a.value)) out.push(it.outerHTML); } return out",
        &[],
    );
    assert_eq!(strange, Value::Array(Vec::new()));
    browser.click("#history button");
    browser.wait_for(
        "the past",
        "return document.body.innerText.includes('As of')",
    );
    let hit = browser.script(
        "return window.ran === undefined ? 'nothing' : String(window.ran)",
        &[],
    );
    assert_eq!(hit, "nothing");
    picture(&browser, "hostile-light");
    check_requests(&browser, &page);
    let refused: Vec<String> = browser
        .console()
        .into_iter()
        .filter(|it| it.contains("Content Security Policy"))
        .collect();
    // The policy is the second wall: the first one held if it was never asked.
    assert_eq!(refused, Vec::<String>::new());
}
