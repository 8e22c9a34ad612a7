use proptest::prelude::*;

use super::*;
use crate::document::parse_document;

const HOSTILE: &str = "---\ntitle: x\n---\n# Heading\n## Prompt 9\n- [ ] task\n```\nopen fence\n## in code\n\
    <!-- comment\n[[link]] [a](b.md) @import.md\n===\n| a | b |\n|---|---|\n";

#[test]
fn hostile_text_stays_text_of_its_entry() {
    let mut page = ConversationPage::default();
    page.add_entry(PageEntryKind::Prompt, None, HOSTILE);
    page.add_entry(PageEntryKind::Answer, None, HOSTILE);
    let tool = page.add_tool_call(None, HOSTILE);
    page.add_result(tool, HOSTILE);
    page.add_titled_entry(PageEntryKind::Noted, None, HOSTILE, "fine");
    let text = format!("# Title\n{}", page.render(|_| None));
    let document = parse_document(text.as_str());
    assert_eq!(count_entries(&document), 4, "{text}");
    let titles: Vec<&str> = document.sections.iter().map(|s| s.title.as_str()).collect();
    assert_eq!(
        titles[..5],
        ["", "Title", "Prompt 1", "Answer", "Tools"],
        "{text}"
    );
    assert_eq!(document.links, [], "{text}");
    assert_eq!(document.tasks, [], "{text}");
    assert_eq!(document.comments.len(), 0, "{text}");
}

#[test]
fn code_keeps_its_indentation_and_cannot_close_its_fence() {
    let text = quote_text("Look:\n```python\ndef f():\n    return '````'\n```\ndone # really");
    assert_eq!(
        text,
        "Look:\n\n`````python\ndef f():\n    return '````'\n`````\n\ndone # really"
    );
    let open = quote_text("~~~\nnever closed\n## x");
    assert_eq!(open, "```\nnever closed\n## x\n```");
}

#[test]
fn a_page_has_a_size_and_says_what_it_left_out() {
    let mut page = ConversationPage::default();
    for _ in 0..2_000 {
        page.add_entry(PageEntryKind::Answer, None, &"word ".repeat(400));
    }
    let text = page.render(|_| None);
    assert!(text.len() < 600 << 10, "{}", text.len());
    assert!(page.dropped_entries() > 1_000);
    assert!(text.contains(&format!("{} entries in the middle", page.dropped_entries())));
    assert_eq!(count_entries(&parse_document(text)), page.shown_entries());
}

#[test]
fn results_reach_their_tool_and_abandoned_records_are_marked() {
    let mut page = ConversationPage::default();
    let first = page.add_tool_call(None, "Bash: ls");
    let second = page.add_tool_call(None, "Read: a.md");
    page.add_result(second, "one\ntwo");
    page.add_result(first, "");
    page.set_record(second, 7);
    let text = page.render(|record| (record == 7).then_some(" (abandoned)"));
    assert_eq!(
        text,
        "\n### Tools\n\n- Bash: ls\n\n### Tools (abandoned)\n\n- Read: a.md → one two\n"
    );
}

proptest! {
    #[test]
    fn any_text_is_one_entry(texts in prop::collection::vec(any::<String>(), 1..6), marks in r"[#>`~\-|\[\]<!\n =*_:0-9a]{0,60}") {
        let mut page = ConversationPage::default();
        for text in texts.iter().chain([&marks]) {
            page.add_entry(PageEntryKind::Prompt, None, text);
            page.add_entry(PageEntryKind::Answer, None, &format!("{marks}\n{text}"));
            let tool = page.add_tool_call(None, text);
            page.add_result(tool, &marks);
            page.add_titled_entry(PageEntryKind::Noted, None, text, &marks);
        }
        let text = format!("# T\n{}", page.render(|_| None));
        let document = parse_document(text.as_str());
        prop_assert_eq!(count_entries(&document), page.shown_entries(), "{}", text);
        prop_assert_eq!(document.links.len(), 0, "{}", text);
    }
}

#[test]
fn an_example_that_is_cut_does_not_look_like_a_secret() {
    // Known as an example by `0123456789` at its end.
    let text = format!("use gh{}0123456789", "p_kQz7vLw2Rm9TxBn4HsJd8YcAfE5uWg");
    assert_eq!(crate::secrets::find_secrets(&text), []);
    assert!(crate::secrets::find_secrets(&text[..text.len() - 4]).len() == 1);
    let line = format_heading(&text, text.len() - 4);
    assert_eq!(line, "use ‹redacted: github-token›…");
    let part = cut_text(&text, text.len() - 4);
    assert!(part.starts_with("use ‹redacted: github-token›\n"), "{part}");
}
