//! Tables as rows and cells, and edits of single cells and rows. What an edit
//! does not name keeps its bytes: padding, alignment and line ends are the
//! author's.

use std::ops::Range;

use super::{BlockKind, Document, TextEdit, escape_markdown_line, lines, parse_document};

/// A table at the top level, not inside a list or a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownTable {
    /// Whole lines.
    pub span: Range<usize>,
    /// The row with the titles of the columns.
    pub header: MarkdownRow,
    /// Without the header and the line of dashes below it.
    pub rows: Vec<MarkdownRow>,
    /// The line of dashes, where rows may follow.
    rule: Range<usize>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownRow {
    /// The whole line, line end included.
    pub span: Range<usize>,
    /// The cells from left to right.
    pub cells: Vec<MarkdownCell>,
}

/// A cell of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownCell {
    /// The text without the spaces around it.
    pub text: Range<usize>,
    /// Everything between the bars.
    room: Range<usize>,
}

impl Document {
    /// Returns the tables in a span, in text order.
    pub fn tables(&self, within: &Range<usize>) -> Vec<MarkdownTable> {
        self.blocks
            .iter()
            .filter(|block| block.kind == BlockKind::Table)
            .filter(|block| within.start <= block.span.start && block.span.end <= within.end)
            .filter_map(|block| self.parse_table(&block.span))
            .collect()
    }

    fn parse_table(&self, span: &Range<usize>) -> Option<MarkdownTable> {
        let mut at = span.start;
        let mut rows = lines::split_lines(self.span_text(span)).map(|line| {
            at += line.len();
            self.parse_row(at - line.len()..at)
        });
        let header = rows.next()?;
        let rule = rows.next()?.span;
        Some(MarkdownTable {
            span: span.clone(),
            header,
            rule,
            rows: rows.collect(),
        })
    }

    fn parse_row(&self, span: Range<usize>) -> MarkdownRow {
        let line = lines::trim_line_end(&self.text, span.clone());
        let text = self.span_text(&line);
        let inner = text.trim();
        let start = line.start + (text.len() - text.trim_start().len());
        let mut bars = find_cell_bars(inner)
            .into_iter()
            .map(|bar| start + bar)
            .peekable();
        let mut from = start;
        bars.next_if_eq(&start).inspect(|bar| from = bar + 1);
        let end = start + inner.len();
        let mut cells = Vec::new();
        for bar in bars {
            cells.push(self.parse_cell(from..bar));
            from = bar + 1;
        }
        // A row may go without its last bar.
        if from < end {
            cells.push(self.parse_cell(from..end));
        }
        MarkdownRow { span, cells }
    }

    fn parse_cell(&self, room: Range<usize>) -> MarkdownCell {
        let text = self.span_text(&room);
        let start = room.start + (text.len() - text.trim_start().len());
        let end = room.start + text.trim_end().len();
        let text = if start < end {
            start..end
        } else {
            room.start..room.start
        };
        MarkdownCell { text, room }
    }

    /// Returns an edit that sets a cell to new Markdown, which must be one
    /// line; see [`escape_cell_text`]. Cells that the row lacks are added. Returns
    /// `None` if the cell has that text already, and also if the line would
    /// then be read as other cells or as no row: `[[` in one cell may wait for
    /// `]]` in another.
    pub fn set_cell(&self, row: &MarkdownRow, column: usize, text: &str) -> Option<TextEdit> {
        let line = lines::trim_line_end(&self.text, row.span.clone());
        let text = text.trim();
        let mut wanted = self.cell_texts(row);
        wanted.resize(wanted.len().max(column + 1), "");
        if wanted[column] == text {
            return None;
        }
        wanted[column] = text;
        let edit = match row.cells.get(column) {
            // An empty cell has no padding to keep.
            Some(cell) if cell.text.is_empty() => TextEdit {
                span: cell.room.clone(),
                text: format!(" {text} "),
            },
            Some(cell) => TextEdit {
                span: cell.text.clone(),
                text: text.to_owned(),
            },
            None => {
                let end = line.start + self.span_text(&line).trim_end().len();
                let bars = find_cell_bars(self.span_text(&(line.start..end)));
                let closed = bars.last().is_some_and(|bar| line.start + bar + 1 == end);
                let open = if closed { "" } else { " |" };
                let gap = " |".repeat(column - row.cells.len());
                TextEdit {
                    span: end..end,
                    text: format!("{open}{gap} {text} |"),
                }
            }
        };
        let before = self.span_text(&(line.start..edit.span.start));
        let behind = self.span_text(&(edit.span.end..line.end));
        parses_as_cells(&[before, &edit.text, behind].concat(), &wanted).then_some(edit)
    }

    fn cell_texts(&self, row: &MarkdownRow) -> Vec<&str> {
        row.cells
            .iter()
            .map(|cell| self.span_text(&cell.text))
            .collect()
    }

    /// Adds a row after the last one. Cells are Markdown of one line each.
    pub fn add_row(&self, table: &MarkdownTable, cells: &[&str]) -> TextEdit {
        let last = table.rows.last().map_or(&table.rule, |row| &row.span);
        let ended = self.span_text(last).ends_with(['\n', '\r']);
        // A CR before the LF of an empty line would be one line end with it.
        let newline = if self.text[last.end..].starts_with('\n') {
            "\n"
        } else {
            self.newline()
        };
        let row = format!("| {} |", cells.join(" | "));
        TextEdit {
            span: last.end..last.end,
            text: if ended {
                row + newline
            } else {
                newline.to_owned() + &row
            },
        }
    }

    /// Removes a row with its line.
    pub fn remove_row(&self, row: &MarkdownRow) -> TextEdit {
        self.delete_lines(row.span.clone())
    }
}

/// Escapes `text` for a cell: one line that neither ends the cell nor becomes
/// structure of its own.
pub fn escape_cell_text(text: &str) -> String {
    escape_markdown_line(text)
}

/// Unescapes the Markdown of a cell: bars without their backslash.
pub fn unescape_cell_text(text: &str) -> String {
    text.replace("\\|", "|").replace("\\[[", "[[")
}

/// Finds the bars that end cells. One behind a backslash does not, and neither
/// does the one before an alias in a link: parsers disagree there and people
/// forget the backslash.
fn find_cell_bars(line: &str) -> Vec<usize> {
    let bytes = line.as_bytes();
    let mut bars = Vec::new();
    let mut at = 0;
    let mut escaped = false;
    let mut no_link_before = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => escaped = !escaped,
            b'[' if !escaped && at >= no_link_before && bytes[at..].starts_with(b"[[") => {
                match find_link_end(&line[at..]) {
                    Ok(len) => {
                        at += len;
                        continue;
                    }
                    // Nothing up to there closes a link, so it is not looked
                    // for again.
                    Err(len) => no_link_before = at + len,
                }
            }
            b'|' if !escaped => bars.push(at),
            _ => {}
        }
        if bytes[at] != b'\\' {
            escaped = false;
        }
        at += 1;
    }
    bars
}

/// Returns `true` if this line of a table is one row with these cells.
fn parses_as_cells(line: &str, cells: &[&str]) -> bool {
    let document = parse_document(format!("| h |\n|---|\n{line}\n"));
    let tables = document.tables(&document.body);
    let [table] = &tables[..] else { return false };
    let [row] = &table.rows[..] else { return false };
    // The last cells may go without their bars when they are empty.
    let filled = |cells: &[&str]| cells.iter().rposition(|it| !it.is_empty());
    let read = document.cell_texts(row);
    filled(&read) == filled(cells) && read.iter().zip(cells).all(|(a, b)| a == b)
}

/// Returns the length of the link that begins here, or how far no link ends.
fn find_link_end(text: &str) -> Result<usize, usize> {
    let inside = &text[2..];
    let stop = inside.find(['[', ']']).unwrap_or(inside.len());
    let is_link = stop > 0 && inside[stop..].starts_with("]]");
    // Two bars are two cells and no alias.
    let bars = inside[..stop].matches('|').count();
    if is_link && bars <= 1 {
        Ok(2 + stop + 2)
    } else {
        Err(2 + stop)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document::apply_edits;

    fn cells(line: &str) -> Vec<String> {
        let document = parse_document(format!("| h |\n|---|\n{line}\n"));
        let table = document.tables(&document.body).remove(0);
        let row = &table.rows[0];
        row.cells
            .iter()
            .map(|cell| document.span_text(&cell.text).to_owned())
            .collect()
    }

    #[test]
    fn an_added_row_keeps_the_empty_line_below_it() {
        let document = parse_document("a\r\r\r\r| h |\n|---|\n| a |\n\ntext\n");
        let table = document.tables(&document.body).remove(0);
        let edit = document.add_row(&table, &["b"]);
        let after = apply_edits(&document.text, vec![edit]).expect("it fits");
        assert!(after.ends_with("| a |\n| b |\n\ntext\n"), "{after:?}");
    }

    #[test]
    fn a_cell_closes_no_link_of_another() {
        let set = |line: &str, column: usize, text: &str| {
            let document = parse_document(format!("| h | i | j |\n|---|---|---|\n{line}\n"));
            let row = &document.tables(&document.body)[0].rows[0];
            let edit = document.set_cell(row, column, text)?;
            let after = apply_edits(&document.text, vec![edit]).expect("it fits");
            let again = parse_document(after.as_str());
            let row = &again.tables(&again.body)[0].rows[0];
            assert_eq!(again.set_cell(row, column, text), None);
            after.lines().last().map(str::to_owned)
        };
        assert_eq!(set("| [[a | b | c |", 1, "x]]"), None);
        assert_eq!(set("| [[a |", 1, "x]]"), None);
        let is = |line: &str| Some(line.to_owned());
        assert_eq!(set("| [[a]] | b |", 1, "x]]"), is("| [[a]] | x]] |"));
        assert_eq!(set("| a | [[b | c |", 0, "x]]"), is("| x]] | [[b | c |"));
    }

    #[test]
    fn a_row_stays_one() {
        for (line, column, text) in [
            // It would be an empty line, which ends the table.
            ("a", 0, ""),
            // Only the backtick in the second cell keeps it from being a fence.
            ("```a | `b` |", 1, "c"),
        ] {
            let document = parse_document(format!("| h | i |\n|---|---|\n{line}\n| z |\n"));
            let rows = &document.tables(&document.body)[0].rows;
            assert_eq!(rows.len(), 2, "{line}");
            assert_eq!(document.set_cell(&rows[0], column, text), None, "{line}");
        }
    }

    #[test]
    fn cells_of_a_row() {
        let check = |line: &str, expect: &[&str]| assert_eq!(cells(line), expect, "{line}");
        check("| a | b |", &["a", "b"]);
        check("|a|b", &["a", "b"]);
        check("a | b", &["a", "b"]);
        check("| a |  | c |", &["a", "", "c"]);
        check("| a \\| b | c |", &["a \\| b", "c"]);
        check("| [[a|b]] | c |", &["[[a|b]]", "c"]);
        check("| [[a\\|b]] | c |", &["[[a\\|b]]", "c"]);
        check("| [[a | b | c]] |", &["[[a", "b", "c]]"]);
        check("| [[ | b ]] [[c]] |", &["[[ | b ]] [[c]]"]);
        check("| größe | 漢 |", &["größe", "漢"]);
    }

    const TEXT: &str = "| A | B |\r\n|:--|--:|\r\n| x  |y|\r\n| z |\r\n";

    fn edited(f: impl Fn(&Document, &MarkdownTable) -> Option<TextEdit>) -> String {
        let document = parse_document(TEXT);
        let table = document.tables(&document.body).remove(0);
        let edit = f(&document, &table);
        apply_edits(TEXT, edit.into_iter().collect()).unwrap()
    }

    #[test]
    fn a_cell_changes_and_nothing_else() {
        let set = |row: usize, column: usize, text: &str| {
            edited(|d, t| d.set_cell(&t.rows[row], column, text))
        };
        assert_eq!(set(0, 0, "new"), TEXT.replace("| x  |", "| new  |"));
        assert_eq!(set(0, 1, "new"), TEXT.replace("|y|", "|new|"));
        assert_eq!(set(0, 1, "y"), TEXT);
        assert_eq!(set(1, 1, "new"), TEXT.replace("| z |", "| z | new |"));
        assert_eq!(set(1, 2, "new"), TEXT.replace("| z |", "| z | | new |"));
    }

    #[test]
    fn rows_come_and_go() {
        assert_eq!(
            edited(|d, t| Some(d.add_row(t, &["n", "m"]))),
            format!("{TEXT}| n | m |\r\n")
        );
        assert_eq!(
            edited(|d, t| Some(d.remove_row(&t.rows[0]))),
            TEXT.replace("| x  |y|\r\n", "")
        );
        let open = "| A |\n|---|";
        let document = parse_document(open);
        let table = document.tables(&document.body).remove(0);
        let edit = document.add_row(&table, &["n"]);
        assert_eq!(
            apply_edits(open, vec![edit]).unwrap(),
            "| A |\n|---|\n| n |"
        );
    }

    proptest! {
        /// Whatever is put into a cell, the table keeps its shape and every
        /// other cell its text.
        #[test]
        fn hostile_text_never_makes_structure(text in r"([\\|\[\]#`<>!\-*_^@$&\n\r\t ]|[[:any:]]){0,20}") {
            let document = parse_document(TEXT);
            let table = document.tables(&document.body).remove(0);
            let cell = escape_cell_text(&text);
            let after = match document.set_cell(&table.rows[0], 0, &cell) {
                Some(edit) => apply_edits(TEXT, vec![edit]).unwrap(),
                None => TEXT.to_owned(),
            };
            let read = parse_document(after.clone());
            let tables = read.tables(&read.body);
            prop_assert_eq!(tables.len(), 1, "{}", &after);
            prop_assert_eq!(tables[0].rows.len(), 2, "{}", &after);
            let row = &tables[0].rows[0];
            prop_assert_eq!(row.cells.len(), 2, "{}", &after);
            prop_assert_eq!(read.span_text(&row.cells[0].text), cell.trim());
            prop_assert_eq!(read.span_text(&row.cells[1].text), "y");
            // Twice is once.
            prop_assert!(read.set_cell(row, 0, cell.trim()).is_none());
        }
    }
}
