//! Changes a manifest by edits of rows and lines. Each leaves all other bytes
//! as they are, and is idempotent.

use std::ops::Range;

use forge_text::document::{
    EditError, MarkdownCell, MarkdownRow, TextEdit, apply_edits, escape_cell_text,
    unescape_cell_text,
};

use super::{
    MANAGED_MARKER, MANIFEST_FORMAT_VERSION, Manifest, ManifestEntry, ManifestMarker, ManifestPart,
    SUMMARY_FORMAT_MARKER,
};
use crate::workspace::RelPath;

/// An entry to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewManifestEntry<'a> {
    /// The domain, where the table has a column for it.
    pub name: &'a str,
    /// Without brackets and `.md`.
    pub target: &'a str,
    /// The summary, the purpose or the reason.
    pub text: &'a str,
    /// The volatility, the freshness or the date.
    pub note: &'a str,
}

impl Manifest {
    /// Applies edits that were all made from this manifest. The result is
    /// parsed again: if a change of one row changes others, as an open bracket
    /// above a table can cause, the edit fails and the user must repair the
    /// text.
    pub fn text_after_edits(&self, mut edits: Vec<TextEdit>) -> Result<String, EditError> {
        let after = apply_edits(self.text(), edits.clone())?;
        edits.sort_by_key(|edit| edit.span.start);
        let read = if self.page {
            Manifest::parse_page(after.as_str())
        } else {
            Manifest::parse(after.as_str())
        };
        let mut found = read.entries.iter();
        let mut kept = 0;
        for entry in &self.entries {
            let row = self.table_row(entry).map(|row| &row.span);
            let is_there = match row.map(|row| row_change(row, &edits)) {
                Some(RowChange::TakenOut) => continue,
                Some(RowChange::Cells) => found.any(|it| it.has_same_target(entry)),
                Some(RowChange::None) | None => {
                    found.any(|it| it.cell_values() == entry.cell_values())
                }
            };
            if !is_there {
                let line = self.document.line_number_at(row.map_or(0, |row| row.start));
                return Err(EditError::Disturbs { line });
            }
            kept += 1;
        }
        // The first row of an empty part takes the place of the blank line there.
        let is_blank = |edit: &TextEdit| self.text()[edit.span.clone()].trim().is_empty();
        let new_lines = |edit: &&TextEdit| is_blank(edit) && edit.text.contains(['\n', '\r']);
        if read.entries.len() - kept <= edits.iter().filter(new_lines).count() {
            Ok(after)
        } else {
            Err(EditError::Disturbs { line: 1 })
        }
    }

    fn table_row(&self, entry: &ManifestEntry) -> Option<&MarkdownRow> {
        let (sheet, row) = entry.row?;
        Some(&self.sheets[sheet].table.rows[row])
    }

    /// Sets the summary, purpose or reason of a row.
    pub fn set_summary(&self, entry: &ManifestEntry, text: &str) -> Option<TextEdit> {
        let (sheet, _) = entry.row?;
        let column = self.sheets[sheet].columns.text?;
        self.document
            .set_cell(self.table_row(entry)?, column, &escape_cell_text(text))
    }

    /// Returns `true` if a row has a cell for a summary at all.
    pub fn has_summary_cell(&self, entry: &ManifestEntry) -> bool {
        let sheet = entry.row.map(|(sheet, _)| &self.sheets[sheet]);
        sheet.is_some_and(|sheet| sheet.columns.text.is_some())
    }

    /// Sets the cell below a heading such as `Status`.
    pub fn set_cell_under(
        &self,
        entry: &ManifestEntry,
        heading: &str,
        text: &str,
    ) -> Option<TextEdit> {
        let (sheet, _) = entry.row?;
        let table = &self.sheets[sheet].table;
        let named = |cell: &MarkdownCell| {
            let title = self.document.span_text(&cell.text);
            title.trim_matches(['*', '`']).eq_ignore_ascii_case(heading)
        };
        let column = table.header.cells.iter().position(named)?;
        self.document
            .set_cell(self.table_row(entry)?, column, &escape_cell_text(text))
    }

    /// Adds an entry, or updates the row that lists it already.
    pub fn list_entry(&self, part: ManifestPart, new: &NewManifestEntry<'_>) -> Option<TextEdit> {
        // Compared as it will be read again.
        let wanted = super::comparison_key(&super::parse_target(&unescape_cell_text(
            &format_wikilink(new.target),
        )));
        let same = |entry: &&ManifestEntry| super::comparison_key(&entry.target) == wanted;
        if let Some(entry) = self.entries_of(part).find(same) {
            // A new entry without a summary must not erase one.
            return if new.text.is_empty() {
                None
            } else {
                self.set_summary(entry, new.text)
            };
        }
        let listed = |after: &Manifest| after.entries_of(part).any(|it| same(&it));
        let sheet = self.sheets.iter().find(|sheet| sheet.part == part);
        let Some(sheet) = sheet else {
            return self.keep_if_readable(self.start_table(part, new), listed);
        };
        let mut cells = vec![String::new(); sheet.table.header.cells.len()];
        let columns = sheet.columns;
        let values = [
            (columns.name, escape_cell_text(new.name)),
            (columns.text, escape_cell_text(new.text)),
            (columns.note, escape_cell_text(new.note)),
            (columns.target, format_wikilink(new.target)),
        ];
        for (column, value) in values {
            if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                *cell = value;
            }
        }
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        self.keep_if_readable(self.document.add_row(&sheet.table, &cells), listed)
    }

    /// Returns the text of a hub page with an empty table at its end, for a
    /// page that has none.
    pub fn with_table(&self) -> String {
        let newline = self.document.newline();
        let text = self.text().trim_end();
        let table = format!("| File | Purpose | Status |{newline}|---|---|---|{newline}");
        if text.is_empty() {
            table
        } else {
            format!("{text}{newline}{newline}{table}")
        }
    }

    /// Adds a row for a file to the first table of a hub page; `None` if the
    /// page has no table.
    pub fn add_file_row(&self, target: &str, text: &str, status: &str) -> Option<TextEdit> {
        let sheet = self.sheets.first()?;
        let mut cells = vec![String::new(); sheet.table.header.cells.len()];
        let header = sheet.table.header.cells.iter();
        let titled = |it: &MarkdownCell| {
            let title = self.document.span_text(&it.text);
            title
                .trim_matches(['*', '`'])
                .eq_ignore_ascii_case("Status")
        };
        let columns = [
            (header.clone().position(titled), escape_cell_text(status)),
            (sheet.columns.text, escape_cell_text(text)),
            (sheet.columns.target, format_wikilink(target)),
        ];
        for (column, value) in columns {
            if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                *cell = value;
            }
        }
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        Some(self.document.add_row(&sheet.table, &cells))
    }

    /// Removes a row. Entries in a line or a list are left to people.
    pub fn remove_entry(&self, entry: &ManifestEntry) -> Option<TextEdit> {
        Some(self.document.remove_row(self.table_row(entry)?))
    }

    /// Adds a domain to Tier 2, unless it is there or no link can lead to it.
    pub fn add_domain(&self, name: &str, target: &str) -> Option<TextEdit> {
        let is_path = RelPath::new(target).is_ok_and(|path| path.as_str() == target);
        if !is_path || !format_wikilink(target).starts_with("[[") {
            return None;
        }
        let wanted = super::comparison_key(&super::parse_target(&format_wikilink(target)));
        let same = |entry: &ManifestEntry| super::comparison_key(&entry.target) == wanted;
        if self.entries_of(ManifestPart::Tier2).any(same) {
            return None;
        }
        let title = escape_cell_text(name);
        let body = format!("Closets: {}", format_wikilink(target));
        let tier = self.part_section(ManifestPart::Tier2);
        let edit = match tier {
            Some(tier) => {
                let level = self.document.sections[tier].level + 1;
                self.document.append_subsection(tier, level, &title, &body)
            }
            None => {
                let marks = "#".repeat(usize::from(self.level_at_end()) + 1);
                self.start_part(ManifestPart::Tier2, &format!("{marks} {title}\n\n{body}"))
            }
        };
        self.keep_if_readable(edit, |after| {
            after.entries_of(ManifestPart::Tier2).any(same)
        })
    }

    /// Sets the version that maintains this manifest. A marker keeps its name;
    /// a newer version is left alone.
    pub fn set_version(&self) -> Option<TextEdit> {
        match &self.marker {
            Some(_) if self.age() != Some(super::VersionAge::Older) => None,
            Some(marker) => Some(self.set_marker(marker, MANIFEST_FORMAT_VERSION)),
            None => self.keep_if_readable(
                self.insert_marker(MANAGED_MARKER, MANIFEST_FORMAT_VERSION),
                |it| it.marker.is_some(),
            ),
        }
    }

    /// Sets the version of the summaries.
    pub fn set_summary_format(&self, version: u32) -> Option<TextEdit> {
        match &self.format {
            Some(_) if self.summary_format().is_some_and(|is| is >= version) => None,
            Some(marker) => Some(self.set_marker(marker, &version.to_string())),
            None => self.keep_if_readable(
                self.insert_marker(SUMMARY_FORMAT_MARKER, &version.to_string()),
                |it| it.format.is_some(),
            ),
        }
    }

    /// Returns an edit that adds something if the parsed result has it; else it
    /// would be added again at every run.
    fn keep_if_readable(
        &self,
        edit: TextEdit,
        there: impl Fn(&Manifest) -> bool,
    ) -> Option<TextEdit> {
        let after = apply_edits(self.text(), vec![edit.clone()]).ok()?;
        there(&Manifest::parse(after)).then_some(edit)
    }

    fn set_marker(&self, marker: &ManifestMarker, value: &str) -> TextEdit {
        let has_colon = self.text()[..marker.value.start].ends_with(':');
        let text = if has_colon || !marker.value.is_empty() {
            value.to_owned()
        } else {
            format!(":{value}")
        };
        TextEdit {
            span: marker.value.clone(),
            text,
        }
    }

    /// Adds a marker below the existing one if that has its own line, else
    /// below the first heading, else at the top. Within a table a new line
    /// would end the table.
    fn insert_marker(&self, name: &str, value: &str) -> TextEdit {
        let document = &self.document;
        let title = document.sections.iter().find(|section| section.level == 1);
        let below = self
            .marker
            .as_ref()
            .and_then(|it| self.line_below_marker(it));
        let at = match (below, title) {
            (Some(at), _) => at,
            (None, Some(title)) => title.own.start,
            (None, None) => document.body.start,
        };
        let newline = document.newline();
        let before = &self.text()[..at];
        let open = !before.is_empty() && before != "\u{feff}" && !before.ends_with(['\n', '\r']);
        let open = if open { newline } else { "" };
        TextEdit {
            span: at..at,
            text: format!("{open}<!-- {name}:{value} -->{newline}"),
        }
    }

    /// Returns where the next line begins, if the marker's line holds nothing
    /// else.
    fn line_below_marker(&self, marker: &ManifestMarker) -> Option<usize> {
        let (before, rest) = self.text().split_at(marker.value.end);
        let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let end = marker.value.end + length;
        let line = self.text()[start..end].trim_start_matches('\u{feff}');
        let inside = line.trim_start_matches(' ');
        let alone = line.len() - inside.len() < 4
            && inside.starts_with("<!--")
            && inside.trim_end().ends_with("-->");
        let newline = match &rest[length..] {
            it if it.starts_with("\r\n") => 2,
            it => it.len().min(1),
        };
        alone.then_some(end + newline)
    }

    /// Returns the section that names a part.
    fn part_section(&self, part: ManifestPart) -> Option<usize> {
        let wanted = super::ManifestPlace { part, inner: false };
        let parts = super::locate_parts(&self.document);
        parts.iter().position(|place| *place == Some(wanted))
    }

    /// Adds a part that is missing, with its first row.
    fn start_table(&self, part: ManifestPart, new: &NewManifestEntry<'_>) -> TextEdit {
        let row = match part {
            ManifestPart::HubMap => [
                escape_cell_text(new.name),
                format_wikilink(new.target),
                escape_cell_text(new.text),
            ],
            _ => [
                format_wikilink(new.target),
                escape_cell_text(new.text),
                escape_cell_text(new.note),
            ],
        };
        let header = match part {
            ManifestPart::Tier1 => "| File | Summary | Volatility |",
            ManifestPart::Tier2 => "| File | Summary | Status |",
            ManifestPart::Tier3 => "| File | Reason | Date |",
            ManifestPart::HubMap => "| Domain | Hub | Summary |",
            ManifestPart::Config => "| Key | Value | Remark |",
        };
        let body = format!("{header}\n|---|---|---|\n| {} |", row.join(" | "));
        match self.part_section(part) {
            Some(section) => self.document.append_to_section(section, &body),
            None => self.start_part(part, &body),
        }
    }

    fn start_part(&self, part: ManifestPart, body: &str) -> TextEdit {
        let level = self.level_at_end();
        self.document
            .append_section(level, part_heading(part), body)
    }

    /// Returns the level of a part that is added at the end: that of the part
    /// before it, which would else enclose it.
    fn level_at_end(&self) -> u8 {
        let parts = super::locate_parts(&self.document);
        let sections = self.document.sections.iter().zip(parts).rev();
        sections
            .map_while(|(section, place)| Some((section, place?)))
            .find(|(_, place)| !place.inner)
            .map_or(2, |(section, _)| section.level)
    }
}

/// The effect of edits on a row.
enum RowChange {
    None,
    Cells,
    TakenOut,
}

/// Returns what edits in text order do to the row in this line.
fn row_change(line: &Range<usize>, edits: &[TextEdit]) -> RowChange {
    let first = edits.partition_point(|edit| edit.span.end <= line.start);
    match edits.get(first) {
        Some(TextEdit { span, .. }) if span.start <= line.start && line.end <= span.end => {
            RowChange::TakenOut
        }
        Some(TextEdit { span, .. }) if span.start < line.end => RowChange::Cells,
        _ => RowChange::None,
    }
}

/// Returns the heading of a new part.
fn part_heading(part: ManifestPart) -> &'static str {
    match part {
        ManifestPart::Tier1 => "Tier 1 - Always Load",
        ManifestPart::Tier2 => "Tier 2 - By Domain",
        ManifestPart::Tier3 => "Tier 3 - Archive",
        ManifestPart::HubMap => "Hub Map",
        ManifestPart::Config => "Config",
    }
}

/// Formats a link to a file, or its name as text if no link could hold it.
pub fn format_wikilink(target: &str) -> String {
    let plain = !target.contains(['[', ']', '|', '#', '^', '\\', '<', '>', '`'])
        && !target.contains(char::is_control)
        && !target.trim().is_empty();
    if plain {
        format!("[[{target}]]")
    } else {
        escape_cell_text(target)
    }
}
