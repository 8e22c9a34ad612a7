use proptest::prelude::*;

use super::*;
use crate::document::parse_document;

fn rendered(text: &str) -> String {
    let goal = |link: &DocumentLink| match link.target.as_str() {
        "tides" | "tides.md" => LinkDestination::File("knowledge/tides.md".to_owned()),
        "map.svg" => LinkDestination::File("knowledge/map.svg".to_owned()),
        _ => LinkDestination::Missing,
    };
    let html = render_html(&parse_document(text), &goal, usize::MAX);
    assert_eq!(html.left_out, 0);
    check_allowed(&html.html);
    html.html
}

#[track_caller]
fn check(text: &str, expect: &str) {
    assert_eq!(rendered(text).trim_end(), expect, "{text}");
}

/// Every tag as a browser would read it: of the list, with attributes of the
/// list in double quotes, and closed by what opened it.
#[track_caller]
fn check_allowed(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>'), "a bracket in text: {html}");
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "not closed in order: {html}");
            continue;
        }
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let allowed = ALLOWED_ELEMENTS.iter().find(|(it, _)| *it == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("<{tag}> in {html}"));
        while !attributes.is_empty() {
            let (attribute, after) = attributes.split_once("=\"").expect("a quoted value");
            let (value, after) = after.split_once('"').expect("the value ends");
            assert!(allowed.contains(&attribute), "`{attribute}` in <{tag}>");
            assert!(!value.contains(['<', '>', '\'']), "{tag}");
            if attribute == "href" {
                let safe = ["#/document/", "http:", "https:", "mailto:"];
                let bare = value.to_ascii_lowercase();
                assert!(safe.iter().any(|it| bare.starts_with(it)), "{tag}");
            }
            attributes = after.trim_start();
        }
        if !matches!(name, "br" | "hr" | "img") {
            open.push(name);
        }
    }
    assert!(!rest.contains('>'), "a bracket in text: {html}");
    assert!(open.is_empty(), "left open {open:?}: {html}");
}

#[test]
fn markdown_becomes_html() {
    check(
        "# A *b*\n\nc **d** `e<f`",
        "<h1 id=\"h-a-b\">A <em>b</em></h1>\n<p>c <strong>d</strong> <code>e&lt;f</code></p>",
    );
    check(
        "```rust\nlet a = \"<b>\";\n```",
        "<pre tabindex=\"0\" data-language=\"rust\"><code>let a = &quot;&lt;b&gt;&quot;;\n</code></pre>",
    );
    check(
        "3. a\n4. b",
        "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>",
    );
    check(
        "- [x] a",
        "<ul>\n<li><span class=\"task done\" title=\"done\">☑</span> a</li>\n</ul>",
    );
    check(
        "|a|b|\n|-|-:|\n|1|2|",
        "<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\">a</th><th scope=\"col\" class=\"right\">b</th></tr></thead><tbody>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</tbody></table></div>",
    );
}

#[test]
fn front_matter_is_no_part_of_it() {
    check("---\ntitle: x\n---\na", "<p>a</p>");
}

#[test]
fn links_lead_into_the_page() {
    check(
        "[[tides]]",
        "<p><a class=\"wiki\" href=\"#/document/knowledge/tides.md\">tides</a></p>",
    );
    check(
        "a [[tides#High water|b]] c",
        "<p>a <a class=\"wiki\" href=\"#/document/knowledge/tides.md?at=h-high-water\">b</a> c</p>",
    );
    check(
        "[x](tides.md#low)",
        "<p><a href=\"#/document/knowledge/tides.md?at=h-low\">x</a></p>",
    );
    check(
        "[[nowhere]]",
        "<p><span class=\"missing\" title=\"There is no such document\">nowhere</span></p>",
    );
    check("`[[tides]]`", "<p><code>[[tides]]</code></p>");
    check(
        "<https://a.example/?b&c>",
        "<p><a class=\"outside\" rel=\"noopener noreferrer\" target=\"_blank\" href=\"https://a.example/?b&amp;c\">https://a.example/?b&amp;c</a></p>",
    );
    check(
        "| [[tides\\|t]] |\n|-|",
        "<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\"><a class=\"wiki\" href=\"#/document/knowledge/tides.md\">t</a></th></tr></thead><tbody>\n</tbody></table></div>",
    );
}

#[test]
fn what_could_run_is_text_or_nothing() {
    check(
        "<script>alert(1)</script>",
        "<pre class=\"raw\" tabindex=\"0\">&lt;script&gt;alert(1)&lt;/script&gt;</pre>",
    );
    check(
        "a <img src=x onerror=alert(1)> b",
        "<p>a <code class=\"raw\">&lt;img src=x onerror=alert(1)&gt;</code> b</p>",
    );
    let dropped =
        "<p><span class=\"dropped\" title=\"This kind of address is not followed\">x</span></p>";
    for address in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java&#x0A;script:alert(1)",
        "&#x01;javascript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example/x",
        "\\\\evil.example",
        "blob:x",
    ] {
        check(&format!("[x](<{address}>)"), dropped);
    }
}

#[test]
fn images_are_paths_of_the_workspace_or_their_description() {
    check(
        "![a \"map\"](map.svg)",
        "<p><img data-path=\"knowledge/map.svg\" alt=\"a &quot;map&quot;\"></p>",
    );
    let dropped =
        "<p><span class=\"dropped\" title=\"Only images of this workspace are shown\">a</span></p>";
    check("![a](https://evil.example/pixel.png)", dropped);
    check("![a](data:image/svg+xml,x)", dropped);
    check("![a](tides.md)", dropped);
    check(
        "![a [b](c) *d*](map.svg)",
        "<p><img data-path=\"knowledge/map.svg\" alt=\"a b d\"></p>",
    );
}

#[test]
fn a_long_text_is_cut_between_blocks_and_says_so() {
    let text = "first\n\nsecond\n\nthird\n";
    let html = render_html(&parse_document(text), &|_| LinkDestination::Missing, 16);
    assert_eq!(html.html, "<p>first</p>\n<p>second</p>\n");
    assert_eq!(html.left_out, "\nthird\n".len());
}

#[test]
fn deep_nesting_is_shown_as_it_was_written() {
    let text = ">".repeat(5_000);
    assert!(rendered(&text).starts_with("<pre class=\"raw\">&gt;"));
}

/// Pieces of which hostile and ordinary documents are made.
fn piece() -> impl Strategy<Value = String> {
    let fragments = [
        "<script>",
        "</script>",
        "<img src=x onerror=a>",
        "<svg/onload=a>",
        "javascript:a",
        "data:text/html,",
        "[x](",
        "![x](",
        ")",
        "[[",
        "]]",
        "[[tides]]",
        "![[map.svg]]",
        "|",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "# ",
        "```\n",
        "`",
        "*",
        "**",
        "<!--",
        "-->",
        "&lt;",
        "&#60;",
        "\"",
        "'",
        "<",
        ">",
        "\\",
        "[a]: javascript:b\n",
        "[a]",
        "<a href=\"",
        "\r",
        "\0",
        "|-|\n",
        "[^1]",
        "[^1]: ",
        "- [x] ",
        "1. ",
        "~~",
        "---\n",
        "<b",
        "&quot;",
        "é",
        "\u{202e}",
    ];
    prop_oneof![
        4 => prop::sample::select(fragments.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,8}",
        1 => "\\PC{0,4}",
    ]
}

proptest! {
    #[test]
    fn no_text_makes_an_element_or_attribute_outside_the_list(
        pieces in prop::collection::vec(piece(), 0..40)
    ) {
        rendered(&pieces.concat());
    }

    #[test]
    fn a_cut_is_as_safe(pieces in prop::collection::vec(piece(), 0..40), most in 0_usize..80) {
        let html = render_html(&parse_document(pieces.concat()), &|_| LinkDestination::Missing, most);
        check_allowed(&html.html);
    }
}
