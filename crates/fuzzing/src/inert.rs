//! Text from outside: made inert it is text wherever it is put.

use forge_app::document::{
    BlockKind, LinkKind, escape_markdown_block, escape_markdown_line, parse_document,
};

pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let line = escape_markdown_line(&text);
    assert!(!line.contains(char::is_control), "{line:?}");
    assert_eq!(escape_markdown_line(&line), line);
    let block = escape_markdown_block(&text);
    assert_eq!(escape_markdown_block(&block), block);
    let places = [
        line.clone(),
        block,
        format!("- {line}\n"),
        format!("para\n{line}"),
    ];
    for place in places {
        let document = parse_document(place);
        let shown = &document.text;
        assert!(document.front_matter.is_none(), "{shown:?}");
        assert_eq!(document.sections.len(), 1, "{shown:?}");
        let kinds = [BlockKind::Paragraph, BlockKind::List];
        let plain = (document.blocks.iter()).all(|it| kinds.contains(&it.kind));
        assert!(plain, "{shown:?} {:?}", document.blocks);
        assert!(document.tasks.is_empty(), "{shown:?}");
        assert!(document.code.is_empty(), "{shown:?}");
        assert!(document.comments.is_empty(), "{shown:?}");
        assert!(document.block_ids.is_empty(), "{shown:?}");
        let acts = |kind| {
            use LinkKind::{Embed, Import, Reference, Wiki};
            matches!(kind, Wiki | Embed | Import | Reference)
        };
        let link = document.links.iter().find(|it| acts(it.kind));
        assert_eq!(link, None, "{shown:?}");
    }
    let table = format!("| {line} | end |\n|---|---|\n| {line} | end |\n");
    let document = parse_document(table.as_str());
    let tables = document.tables(&document.body);
    assert_eq!(tables.len(), 1, "{table:?}");
    assert_eq!(tables[0].rows.len(), 1, "{table:?}");
    assert_eq!(tables[0].rows[0].cells.len(), 2, "{table:?}");
}
