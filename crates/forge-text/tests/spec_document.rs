//! Runs `spec/document.md`. The format is explained at the top of that file.

use forge_text::document::{self, Document, LinkKind};
use testkit::spec;

#[test]
fn spec_document() {
    let text = include_str!("../../../spec/document.md");
    let mut failures = String::new();
    let cases = spec::cases(text);
    assert!(cases.len() > 30, "the specification was not read");
    for case in cases {
        let mut document = None;
        for (info, text) in &case.blocks {
            let mut words = info.split_whitespace();
            match words.next() {
                Some("markdown") => document = Some(document::parse_document(input(text, words))),
                Some("expect") => {
                    let document = document
                        .as_ref()
                        .expect("an input comes before what is expected");
                    let found: String = words.map(|kind| outline(document, kind)).collect();
                    if found != *text {
                        failures +=
                            &format!("{}\n--- expected\n{text}--- found\n{found}\n", case.name);
                    }
                }
                _ => failures += &format!("{}: unknown block `{info}`\n", case.name),
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

fn input<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> String {
    words.fold(text.to_owned(), |text, word| match word {
        "crlf" => text.replace('\n', "\r\n"),
        "cr" => text.replace('\n', "\r"),
        "bom" => format!("\u{feff}{text}"),
        "open" => text.trim_end_matches('\n').to_owned(),
        _ => panic!("unknown word `{word}` behind `markdown`"),
    })
}

fn outline(document: &Document, kind: &str) -> String {
    let lines = |span: &std::ops::Range<usize>| match document.line_range(span) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let found: Vec<String> = match kind {
        "sections" => document
            .sections
            .iter()
            .filter(|section| {
                section.level > 0 || !document.span_text(&section.own).trim().is_empty()
            })
            .map(|section| match section.level {
                0 => format!("preamble ({})", lines(&section.span)),
                level => {
                    let marks = "#".repeat(usize::from(level));
                    format!("{marks} {} ({})", section.title, lines(&section.span))
                }
            })
            .collect(),
        "blocks" => document
            .blocks
            .iter()
            .map(|block| format!("{:?} ({})", block.kind, lines(&block.span)))
            .collect(),
        "links" => document
            .links
            .iter()
            .map(|link| {
                let fragment = link.fragment.as_ref().map(|it| format!("#{it}"));
                let target = format!("{}{}", link.target, fragment.unwrap_or_default());
                format!(
                    "{} {target} \"{}\" ({})",
                    kind_name(link.kind),
                    link.label,
                    lines(&link.span)
                )
            })
            .collect(),
        "tasks" => document
            .tasks
            .iter()
            .map(|task| {
                let mark = if task.done { 'x' } else { ' ' };
                format!("[{mark}] {} ({})", task.text, lines(&task.span))
            })
            .collect(),
        "code" => document
            .code
            .iter()
            .map(|code| {
                let kind = if code.fenced { "fenced" } else { "indented" };
                format!("{kind} {} ({})", code.language, lines(&code.span)).replace("  ", " ")
            })
            .collect(),
        "ids" => document
            .block_ids
            .iter()
            .map(|id| format!("^{} ({})", id.id, lines(&id.span)))
            .collect(),
        "comments" => document
            .comments
            .iter()
            .map(|span| format!("comment ({})", lines(span)))
            .collect(),
        "dates" => document
            .dates
            .iter()
            .map(|it| format!("{} ({})", it.date, lines(&it.span)))
            .collect(),
        "front-matter" => document
            .front_matter
            .iter()
            .flat_map(|it| &it.entries)
            .map(|(key, value)| format!("{key} = {value:?}"))
            .collect(),
        "problems" => document
            .problems
            .iter()
            .map(|problem| format!("line {}: {}", problem.line, problem.message))
            .collect(),
        "title" => vec![document.title().unwrap_or("(none)").to_owned()],
        _ => panic!("unknown word `{kind}` behind `expect`"),
    };
    found.into_iter().map(|line| line + "\n").collect()
}

fn kind_name(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Wiki => "wiki",
        LinkKind::Embed => "embed",
        LinkKind::Inline => "inline",
        LinkKind::Image => "image",
        LinkKind::Reference => "reference",
        LinkKind::Auto => "auto",
        LinkKind::Import => "import",
    }
}
