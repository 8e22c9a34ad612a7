//! A replay as one page: no script, no address, all texts escaped, and no more
//! rows than a person reads.

use std::fmt::Write as _;

use forge_app::counts::count_noun;
use forge_app::document::html;
use forge_app::replay;

use super::{describe_precision, explain_need};
use crate::ui::escape_hidden;

/// Rows of a table.
const MAX_ROWS: usize = 200;
/// Characters of a text in a cell.
const MAX_CELL_CHARS: usize = 400;

/// The page may load nothing; its styles are its own.
const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">
<title>Replay</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #8886; padding: 0.25rem 0.75rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
caption { text-align: left; }
</style>
</head>
<body>
<h1>What hooks would have brought</h1>
";

pub(super) fn render_page(report: &replay::ReplayReport) -> String {
    let total = report.total();
    let mut page = HEAD.to_owned();
    let pushes = count_noun(total.pushes, "push");
    let precision = describe_precision(report).map_or_else(
        || format!("{} of {pushes} right", total.right),
        |it| format!("{} of {pushes} right. {it}", total.right),
    );
    let summary = format!(
        "{}, {}. {precision}. {} of {} met in time, {} late. {} and {} of the user could have been saved, with ~{} tokens.",
        count_noun(report.sessions.len(), "session"),
        count_noun(report.moments(), "moment"),
        total.met,
        count_noun(total.needs, "need"),
        total.late,
        count_noun(total.steps_saved, "step"),
        count_noun(total.turns_saved, "turn"),
        total.tokens
    );
    let _ = writeln!(page, "<p>{}</p>", cell(&summary));
    let counts = |it: &replay::ReplayCounts| {
        [
            it.pushes,
            it.right,
            it.contradicted,
            it.needs,
            it.met,
            it.late,
            it.steps_saved,
            it.turns_saved,
            it.tokens,
        ]
    };
    const COUNTS: &[&str] = &[
        "Pushes",
        "Right",
        "Contradicted",
        "Needs",
        "Met",
        "Late",
        "Steps",
        "Turns",
        "~Tokens",
    ];
    let rows = report.by_key.iter();
    let rows: Vec<_> = rows
        .map(|(key, it)| (vec![(*key).to_owned()], counts(it).to_vec()))
        .collect();
    write_table(&mut page, "Keys", &["Key"], COUNTS, &rows);
    let rows: Vec<_> = report
        .items()
        .into_iter()
        .map(|it| {
            let counts = &it.counts;
            let numbers = vec![
                counts.pushes,
                counts.right,
                counts.contradicted,
                counts.steps_saved,
                counts.turns_saved,
                counts.tokens,
            ];
            (vec![it.item, it.text], numbers)
        })
        .collect();
    let title = "Items, the most useful first";
    // A need belongs to an action and not to an item.
    let numbers = &[
        "Pushes",
        "Right",
        "Contradicted",
        "Steps",
        "Turns",
        "~Tokens",
    ];
    write_table(&mut page, title, &["Item", "Last shown"], numbers, &rows);
    let rows: Vec<_> = report
        .missed()
        .map(|it| {
            let when = if it.timing == replay::NeedTiming::Late {
                "late"
            } else {
                "missed"
            };
            let texts = vec![
                when.to_owned(),
                it.key.to_owned(),
                it.what.clone(),
                explain_need(it),
            ];
            (texts, vec![it.place.session, it.place.line])
        })
        .collect();
    let names = &["", "Key", "Needed", "Reason"];
    write_table(&mut page, "Missed", names, &["Session", "Line"], &rows);
    let rows: Vec<_> = report
        .pushes
        .iter()
        .map(|it| {
            let outcome = match (it.is_right, it.is_contradicted) {
                (true, _) => "right",
                (_, true) => "contradicted",
                _ => "wrong",
            };
            let texts = vec![outcome.to_owned(), it.key.to_owned(), it.text.clone()];
            (texts, vec![it.place.session, it.place.line])
        })
        .collect();
    let names = &["", "Key", "Text"];
    write_table(&mut page, "Pushes", names, &["Session", "Line"], &rows);
    let rows: Vec<_> = report
        .sessions
        .iter()
        .map(|it| {
            let mut numbers = vec![it.number, it.moments];
            numbers.extend(counts(&it.counts));
            (vec![it.id.clone()], numbers)
        })
        .collect();
    let mut names = vec!["Number", "Moments"];
    names.extend(COUNTS);
    write_table(&mut page, "Sessions", &["Session"], &names, &rows);
    page + "</body>\n</html>\n"
}

fn write_table(
    page: &mut String,
    title: &str,
    texts: &[&str],
    numbers: &[&str],
    rows: &[(Vec<String>, Vec<usize>)],
) {
    let _ = writeln!(page, "<h2>{title}</h2>");
    if rows.is_empty() {
        page.push_str("<p>None</p>\n");
        return;
    }
    page.push_str("<table>\n<tr>");
    for name in texts.iter().chain(numbers) {
        let _ = write!(page, "<th scope=\"col\">{name}</th>");
    }
    page.push_str("</tr>\n");
    for (texts, numbers) in rows.iter().take(MAX_ROWS) {
        page.push_str("<tr>");
        for text in texts {
            let _ = write!(page, "<td>{}</td>", cell(text));
        }
        for number in numbers {
            let _ = write!(page, "<td class=\"number\">{number}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
    if rows.len() > MAX_ROWS {
        let _ = writeln!(page, "<p>{} more rows</p>", rows.len() - MAX_ROWS);
    }
}

/// Returns a text of anyone as the content of a cell.
fn cell(text: &str) -> String {
    let shown: String = text.chars().take(MAX_CELL_CHARS).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", html::escape_html(&escape_hidden(&shown)))
}
