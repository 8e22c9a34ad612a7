//! Measures text by the columns that it takes on a terminal, folds and
//! truncates it. It knows styles and wide characters, and nothing of streams.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Breaks lines that are longer than a terminal is wide, between words.
///
/// Further lines are indented like the first, behind the sign of a list. Styles
/// take no room; a word that is longer than a line, such as a path, stays
/// whole, so that it can be copied.
pub(crate) fn fold_lines(text: &str, columns: usize) -> String {
    let lines = text.split('\n').map(|line| {
        if columns_of(line) > columns {
            fold_line(line, columns)
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn fold_line(line: &str, columns: usize) -> String {
    let indent = hanging_indent(line, columns);
    let mut out = String::new();
    let mut used = 0;
    for piece in line.split_inclusive(' ') {
        let width = columns_of(piece.trim_end_matches(' '));
        let begun = used > indent;
        if begun && used + width > columns {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        }
        let folded_here = used == indent && out.ends_with(' ') && !out.trim().is_empty();
        if folded_here && width == 0 {
            // Skips the second of two spaces at which the line was broken.
            continue;
        }
        out.push_str(piece);
        used += columns_of(piece);
    }
    out
}

/// Returns the column of the second line of a long one: the last column of a
/// table that leaves it half of the room, else the one behind the sign of a
/// list.
fn hanging_indent(line: &str, columns: usize) -> usize {
    const LIST_SIGNS: [&str; 7] = ["-", "✓", "✗", "⚠", "→", "+", "*"];
    let plain = anstream::adapter::strip_str(line).to_string();
    let text = plain.trim_start_matches(' ');
    let before = plain.len() - text.len();
    let first = text.split(' ').next().unwrap_or_default();
    let list = if before == 0 || LIST_SIGNS.contains(&first) {
        before + 2
    } else {
        before
    };
    let cells = plain
        .char_indices()
        .filter(|(at, c)| *at > before && *c != ' ' && plain[..*at].ends_with("  "));
    let mut cells = cells.map(|(at, _)| columns_of(&plain[..at]));
    let cell = cells.rfind(|at| at * 2 <= columns);
    let longest = text.split(' ').map(columns_of).max().unwrap_or(0);
    cell.filter(|at| at + longest <= columns).unwrap_or(list)
}

/// Returns the columns that a text takes on a terminal, without its styles.
pub(crate) fn columns_of(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    anstream::adapter::strip_str(text)
        .map(UnicodeWidthStr::width)
        .sum()
}

/// Truncates a plain text to so many columns.
pub(crate) fn cut_to_columns(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    // One column is for the ellipsis.
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > most {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::Style;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn long_lines_are_folded_between_words() {
        let check = |text, columns, expect| assert_eq!(fold_lines(text, columns), expect);
        check("short", 10, "short");
        check(
            "  217  find   One two three four",
            28,
            "  217  find   One two three\n              four",
        );
        check(
            "a/path.md  A heading here",
            16,
            "a/path.md  A\n  heading here",
        );
        check("a/long/path.md  Heading", 16, "a/long/path.md\n  Heading");
        check("one two three", 9, "one two\n  three");
        check("    one two three", 12, "    one two\n    three");
        check("  - one two three", 12, "  - one two\n    three");
        check("漢字 漢字 漢字", 9, "漢字 漢字\n  漢字");
        check(
            "see knowledge/a-long-path.md",
            10,
            "see\n  knowledge/a-long-path.md",
        );
        check("a\nb c d e f g h i", 7, "a\nb c d e\n  f g h\n  i");
        let bold = Style::new().bold();
        let styled = format!("{bold}one{bold:#} two three");
        assert_eq!(plain(&fold_lines(&styled, 9)), "one two\n  three");
    }

    #[test]
    fn a_text_is_cut_by_columns() {
        let check = |text, most, expect| {
            assert_eq!(cut_to_columns(text, most), expect);
            assert!(columns_of(expect) <= most, "{expect}");
        };
        check("plain", 5, "plain");
        check("plain text", 7, "plain…");
        check("漢字漢字", 5, "漢字…");
        check("🚀🚀🚀", 4, "🚀…");
    }
}
