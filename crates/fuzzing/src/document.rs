//! Markdown: what is read can be cut out of the text again, and an edit changes
//! what it names and nothing else.

use forge_app::document::{Document, TextEdit, apply_edits, escape_markdown_block, parse_document};

use crate::input::{choice, texts};

/// `pick ␞ text ␞ body ␞ title`.
pub(crate) fn run(data: &[u8]) {
    let [pick, text, body, title] = texts(data);
    let before = parse_document(text.as_str());
    assert_eq!(before.text, text);
    holds(&before);
    for task in 0..before.tasks.len() {
        for done in [true, false] {
            let after = edited(&before, before.set_task_done(task, done));
            assert_eq!(after.text.len(), text.len());
            if !leans_on_a_definition(&before) {
                assert_eq!(after.tasks.len(), before.tasks.len());
                assert_eq!(after.tasks[task].done, done);
            }
        }
    }
    if leans_on_a_definition(&before) {
        return;
    }
    let section = choice(&pick, before.sections.len());
    // Text that means to be Markdown may add headings of its own; those that
    // were there stay what they were.
    for edit in [
        before.replace_section(section, &body),
        before.append_to_section(section, &body),
        before.append_section(2, &title, &body),
        before.append_subsection(section, 3, &title, &body),
    ] {
        holds(&edited(&before, edit));
    }
    let inert = escape_markdown_block(&body);
    let after = edited(&before, before.replace_section(section, &inert));
    holds(&after);
    assert_eq!(outline(&after), outline(&before), "{:?}", after.text);
    for (index, (new, old)) in after.sections.iter().zip(&before.sections).enumerate() {
        let expect = if index == section {
            inert.clone()
        } else {
            plain(before.span_text(&old.own))
        };
        assert_eq!(plain(after.span_text(&new.own)), expect, "{:?}", after.text);
    }
    let again = edited(&after, after.replace_section(section, &inert));
    assert_eq!(again.text, after.text);

    let after = edited(&before, before.append_to_section(section, &inert));
    holds(&after);
    assert_eq!(outline(&after), outline(&before), "{:?}", after.text);
    let own = plain(after.span_text(&after.sections[section].own));
    assert!(own.starts_with(&plain(before.span_text(&before.sections[section].own))));
    assert!(own.ends_with(&inert));

    let after = edited(&before, before.append_section(2, &title, &inert));
    holds(&after);
    assert!(after.text.starts_with(&text));
    let (last, others) = after.sections.split_last().expect("there is the new one");
    assert_eq!(others.len(), before.sections.len(), "{:?}", after.text);
    assert_eq!(plain(after.span_text(&last.own)), inert, "{:?}", after.text);
}

/// Every span lies in the text, sections tile the body, and nothing but blank
/// lines stands between blocks.
pub(crate) fn holds(document: &Document) {
    let text = document.text.as_str();
    let spans = (document.sections.iter())
        .flat_map(|it| [&it.heading, &it.own, &it.span])
        .chain(document.blocks.iter().map(|it| &it.span))
        .chain(document.links.iter().map(|it| &it.span))
        .chain(document.tasks.iter().flat_map(|it| [&it.span, &it.mark]))
        .chain(document.code.iter().map(|it| &it.span))
        .chain(document.block_ids.iter().map(|it| &it.span))
        .chain(document.dates.iter().map(|it| &it.span))
        .chain(document.problems.iter().map(|it| &it.span))
        .chain(&document.inline_code)
        .chain(&document.comments);
    for span in spans {
        assert!(text.get(span.clone()).is_some(), "{span:?} of {text:?}");
        let (first, last) = document.line_range(span);
        assert!(1 <= first && first <= last && last <= document.line_starts.len());
    }
    let mut at = document.body.start;
    let mut rebuilt = text[..at].to_owned();
    for section in &document.sections {
        assert_eq!(section.heading.start, at);
        assert_eq!(section.heading.end, section.own.start);
        assert!(section.span.end >= section.own.end);
        let parent = section.parent.map(|parent| &document.sections[parent]);
        assert!(
            parent.is_none_or(|it| it.level < section.level && it.span.end >= section.span.end)
        );
        rebuilt += document.span_text(&section.heading);
        rebuilt += document.span_text(&section.own);
        at = section.own.end;
    }
    assert_eq!(rebuilt, text);
    let mut at = document.body.start;
    for block in &document.blocks {
        assert!(block.span.start >= at && !block.span.is_empty());
        assert!(text[at..block.span.start].trim_ascii().is_empty());
        at = block.span.end;
    }
    assert!(text[at..].trim_ascii().is_empty());
    for table in document.tables(&document.body) {
        for cell in table.rows.iter().flat_map(|row| &row.cells) {
            assert!(!document.span_text(&cell.text).contains(['\n', '\r']));
        }
    }
}

fn edited(document: &Document, edit: TextEdit) -> Document {
    parse_document(apply_edits(&document.text, vec![edit]).expect("edits of a document fit it"))
}

/// Without titles that have brackets: what is read in `[a][r]` hangs on a
/// definition that an edit may take away.
fn outline(document: &Document) -> Vec<(u8, &str, Option<usize>)> {
    (document.sections.iter())
        .map(|it| {
            let title = if document.span_text(&it.heading).contains('[') {
                ""
            } else {
                it.title.as_str()
            };
            (it.level, title, it.parent)
        })
        .collect()
}

/// A setext heading whose first line is indented like code is one only while a
/// link definition stands right above it.
fn leans_on_a_definition(document: &Document) -> bool {
    let indented = |heading: &str| heading.starts_with("    ") || heading.starts_with('\t');
    (document.sections.iter()).any(|it| indented(document.span_text(&it.heading)))
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .trim_matches([' ', '\t', '\n', '\u{c}'])
        .to_owned()
}
