//! Draws an audit as a picture: what each view loads, as bars with the limits
//! across. One file without dependencies, the same bytes everywhere.

use std::fmt::Write;

use super::{AuditItem, AuditReport, AuditView, FileOrigin};
use crate::graph::escape_xml;
use crate::quote;
use crate::tokens::format_thousands;

/// Upper bound for parts of a bar that are drawn one by one; the others are one
/// part.
const MAX_BAR_PARTS: usize = 6;

const BARS_LEFT_PX: f64 = 128.0;
const BARS_WIDTH_PX: f64 = 560.0;
const ROW_HEIGHT_PX: f64 = 44.0;
const FIRST_ROW_PX: f64 = 64.0;

/// Colours from the heaviest part to the lightest; the last one is the rest.
const PART_COLOURS: [&str; 7] = [
    "#2f5d62", "#5e8b7e", "#a7c4a0", "#d9b26f", "#c9774b", "#8c4a4a", "#9aa3a7",
];

/// Draws one bar for each report.
pub fn render_svg(reports: &[AuditReport]) -> String {
    let Some(first) = reports.first() else {
        return String::new();
    };
    let limits = first.total_limits;
    let loaded =
        |report: &AuditReport| project_items(report).map(|item| item.judged).sum::<usize>();
    let most = reports.iter().map(loaded).max().unwrap_or(0);
    // Leaves room behind the longest bar and the critical limit.
    let scale = BARS_WIDTH_PX / (most.max(limits.critical) as f64 * 1.08).max(1.0);
    let bottom = FIRST_ROW_PX + ROW_HEIGHT_PX * reports.len() as f64;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 {0:.0}\" width=\"800\" height=\"{0:.0}\" font-family=\"ui-sans-serif, system-ui, sans-serif\" font-size=\"13\" role=\"img\">",
        bottom + 48.0
    );
    let label = first.judge.label();
    let _ = writeln!(
        out,
        "<title>What agents load at every start, in tokens ({label})</title>"
    );
    out.push_str("<rect width=\"100%\" height=\"100%\" fill=\"#fbfaf7\"/>\n");
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"30\" font-size=\"16\" font-weight=\"600\" fill=\"#23292b\">What agents load at every start</text>"
    );
    for (row, report) in reports.iter().enumerate() {
        let y = FIRST_ROW_PX + ROW_HEIGHT_PX * row as f64;
        draw_bar(&mut out, report, y, scale);
    }
    for (limit, name, colour) in [
        (limits.warn, "warning", "#8a6100"),
        (limits.critical, "critical", "#a3262a"),
    ] {
        let x = BARS_LEFT_PX + limit as f64 * scale;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.0}\" y2=\"{bottom:.0}\" stroke=\"{colour}\" stroke-dasharray=\"4 3\"/>\n<text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"{colour}\" font-size=\"11\">{name} {}</text>",
            FIRST_ROW_PX - 8.0,
            bottom + 16.0,
            format_thousands(limit)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"{:.0}\" fill=\"#5a6467\" font-size=\"11\">Tokens ({label}); `memory-forge audit` names every file</text>\n</svg>",
        bottom + 38.0
    );
    out
}

/// Returns the project's own files that cost something.
fn project_items(report: &AuditReport) -> impl Iterator<Item = &AuditItem> {
    report
        .items
        .iter()
        .filter(|item| item.origin == FileOrigin::Project && item.judged > 0)
}

fn draw_bar(out: &mut String, report: &AuditReport, y: f64, scale: f64) {
    let name = match report.view {
        AuditView::Plain => "All files",
        AuditView::Client(client) => client.title(),
    };
    let _ = writeln!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"#23292b\">{name}</text>",
        BARS_LEFT_PX - 10.0,
        y + 19.0
    );
    let mut items: Vec<&AuditItem> = project_items(report).collect();
    items.sort_by_key(|item| (std::cmp::Reverse(item.judged), item.path.as_str()));
    let rest = items.split_off(items.len().min(MAX_BAR_PARTS));
    let mut parts: Vec<(String, usize)> = items
        .iter()
        .map(|item| (quote::sanitize_text(&item.path).into_owned(), item.judged))
        .collect();
    if !rest.is_empty() {
        let tokens = rest.iter().map(|item| item.judged).sum();
        parts.push((format!("{} more files", rest.len()), tokens));
    }
    let mut x = BARS_LEFT_PX;
    let mut sum = 0;
    for ((path, tokens), colour) in parts.iter().zip(PART_COLOURS) {
        // At least half a unit wide, so that a small part stays visible.
        let width = *tokens as f64 * scale;
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{:.0}\" width=\"{:.1}\" height=\"24\" fill=\"{colour}\"><title>{}: {}</title></rect>",
            y + 3.0,
            width.max(0.5),
            escape_xml(path),
            format_thousands(*tokens)
        );
        x += width;
        sum += tokens;
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.0}\" fill=\"#23292b\">{}</text>",
        x + 8.0,
        y + 19.0,
        format_thousands(sum)
    );
}

#[cfg(test)]
mod tests {
    use super::super::{AuditOptions, audit_views};
    use super::*;
    use crate::client::AgentClient;
    use crate::tokens::Tokenizer;
    use crate::workspace::Workspace;

    #[test]
    fn bars_limits_and_names_are_drawn() {
        let files = testkit::TestWorkspace::empty();
        files.write("CLAUDE.md", "Words and more words.\n".repeat(300));
        files.write("AGENTS.md", "Short.\n");
        let workspace = Workspace::open(files.root()).expect("it is a folder");
        let options = AuditOptions {
            view: AuditView::Plain,
            tokenizer: Tokenizer::O200k,
            home: None,
            now: testkit::workspace::NOW.parse().expect("a time"),
        };
        let views: Vec<AuditView> = AgentClient::with_audit().map(AuditView::Client).collect();
        let picture = render_svg(&audit_views(&workspace, &options, &views));
        for part in [
            "<svg ",
            "Claude Code",
            "Copilot CLI",
            "warning 2,000",
            "critical 5,000",
            "CLAUDE.md: ",
        ] {
            assert!(picture.contains(part), "no {part}:\n{picture}");
        }
        assert!(picture.ends_with("</svg>\n"), "{picture}");
    }
}
