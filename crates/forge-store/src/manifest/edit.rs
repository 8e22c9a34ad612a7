//! Changes a manifest by edits of rows and lines. Each leaves all other bytes
//! as they are, and is idempotent.

use std::ops::Range;

use forge_text::document::{Cell, Edit, EditError, Row, apply, cell_shown, cell_text};

use super::{Entry, FORMAT, MARKER, Manifest, Marker, Part, VERSION};
use crate::workspace::RelPath;

/// An entry to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct New<'a> {
    /// The domain, where the table has a column for it.
    pub name: &'a str,
    /// Without brackets and `.md`.
    pub target: &'a str,
    pub text: &'a str,
    pub note: &'a str,
}

impl Manifest {
    /// Applies edits that were all made from this manifest. The result is
    /// parsed again: if a change of one row changes others, as an open bracket
    /// above a table can cause, the edit fails and the user must repair the
    /// text.
    pub fn edited(&self, mut edits: Vec<Edit>) -> Result<String, EditError> {
        let after = apply(self.text(), edits.clone())?;
        edits.sort_by_key(|edit| edit.span.start);
        let read = if self.page {
            Manifest::parse_page(after.as_str())
        } else {
            Manifest::parse(after.as_str())
        };
        let mut found = read.entries.iter();
        let mut kept = 0;
        for entry in &self.entries {
            let row = self.row(entry).map(|row| &row.span);
            let is_there = match row.map(|row| change_of(row, &edits)) {
                Some(RowChange::TakenOut) => continue,
                Some(RowChange::Cells) => found.any(|it| it.leads_as(entry)),
                Some(RowChange::None) | None => found.any(|it| it.words() == entry.words()),
            };
            if !is_there {
                let line = self.document.line_of(row.map_or(0, |row| row.start));
                return Err(EditError::Disturbs { line });
            }
            kept += 1;
        }
        // The first row of an empty part takes the place of the blank line there.
        let is_blank = |edit: &Edit| self.text()[edit.span.clone()].trim().is_empty();
        let new_lines = |edit: &&Edit| is_blank(edit) && edit.text.contains(['\n', '\r']);
        if read.entries.len() - kept <= edits.iter().filter(new_lines).count() {
            Ok(after)
        } else {
            Err(EditError::Disturbs { line: 1 })
        }
    }

    fn row(&self, entry: &Entry) -> Option<&Row> {
        let (sheet, row) = entry.row?;
        Some(&self.sheets[sheet].table.rows[row])
    }

    /// Sets the summary, purpose or reason of a row.
    pub fn set_text(&self, entry: &Entry, text: &str) -> Option<Edit> {
        let (sheet, _) = entry.row?;
        let column = self.sheets[sheet].columns.text?;
        self.document
            .set_cell(self.row(entry)?, column, &cell_text(text))
    }

    /// Returns `true` if a row has a cell for a summary at all.
    pub fn has_text(&self, entry: &Entry) -> bool {
        let sheet = entry.row.map(|(sheet, _)| &self.sheets[sheet]);
        sheet.is_some_and(|sheet| sheet.columns.text.is_some())
    }

    /// Sets the cell below a heading such as `Status`.
    pub fn set_under(&self, entry: &Entry, heading: &str, text: &str) -> Option<Edit> {
        let (sheet, _) = entry.row?;
        let table = &self.sheets[sheet].table;
        let named = |cell: &Cell| {
            let title = self.document.str(&cell.text);
            title.trim_matches(['*', '`']).eq_ignore_ascii_case(heading)
        };
        let column = table.header.cells.iter().position(named)?;
        self.document
            .set_cell(self.row(entry)?, column, &cell_text(text))
    }

    /// Adds an entry, or updates the row that lists it already.
    pub fn list(&self, part: Part, new: &New<'_>) -> Option<Edit> {
        // Compared as it will be read again.
        let wanted = super::key(&super::target_of(&cell_shown(&link(new.target))));
        let same = |entry: &&Entry| super::key(&entry.target) == wanted;
        if let Some(entry) = self.part(part).find(same) {
            // A new entry without a summary must not erase one.
            return if new.text.is_empty() {
                None
            } else {
                self.set_text(entry, new.text)
            };
        }
        let listed = |after: &Manifest| after.part(part).any(|it| same(&it));
        let sheet = self.sheets.iter().find(|sheet| sheet.part == part);
        let Some(sheet) = sheet else {
            return self.read_again(self.start_table(part, new), listed);
        };
        let mut cells = vec![String::new(); sheet.table.header.cells.len()];
        let columns = sheet.columns;
        let values = [
            (columns.name, cell_text(new.name)),
            (columns.text, cell_text(new.text)),
            (columns.note, cell_text(new.note)),
            (columns.target, link(new.target)),
        ];
        for (column, value) in values {
            if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                *cell = value;
            }
        }
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        self.read_again(self.document.add_row(&sheet.table, &cells), listed)
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
    pub fn add_file(&self, target: &str, text: &str, status: &str) -> Option<Edit> {
        let sheet = self.sheets.first()?;
        let mut cells = vec![String::new(); sheet.table.header.cells.len()];
        let header = sheet.table.header.cells.iter();
        let titled = |it: &Cell| {
            let title = self.document.str(&it.text);
            title
                .trim_matches(['*', '`'])
                .eq_ignore_ascii_case("Status")
        };
        let columns = [
            (header.clone().position(titled), cell_text(status)),
            (sheet.columns.text, cell_text(text)),
            (sheet.columns.target, link(target)),
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
    pub fn unlist(&self, entry: &Entry) -> Option<Edit> {
        Some(self.document.remove_row(self.row(entry)?))
    }

    /// Adds a domain to Tier 2, unless it is there or no link can lead to it.
    pub fn add_domain(&self, name: &str, target: &str) -> Option<Edit> {
        let is_path = RelPath::new(target).is_ok_and(|path| path.as_str() == target);
        if !is_path || !link(target).starts_with("[[") {
            return None;
        }
        let wanted = super::key(&super::target_of(&link(target)));
        let same = |entry: &Entry| super::key(&entry.target) == wanted;
        if self.part(Part::Tier2).any(same) {
            return None;
        }
        let title = cell_text(name);
        let body = format!("Closets: {}", link(target));
        let tier = self.heading_of(Part::Tier2);
        let edit = match tier {
            Some(tier) => {
                let level = self.document.sections[tier].level + 1;
                self.document.append_subsection(tier, level, &title, &body)
            }
            None => {
                let marks = "#".repeat(usize::from(self.level_at_end()) + 1);
                self.start_part(Part::Tier2, &format!("{marks} {title}\n\n{body}"))
            }
        };
        self.read_again(edit, |after| after.part(Part::Tier2).any(same))
    }

    /// Sets the version that maintains this manifest. A marker keeps its name;
    /// a newer version is left alone.
    pub fn set_version(&self) -> Option<Edit> {
        match &self.marker {
            Some(_) if self.age() != Some(super::Age::Older) => None,
            Some(marker) => Some(self.set_marker(marker, VERSION)),
            None => self.read_again(self.new_marker(MARKER, VERSION), |it| it.marker.is_some()),
        }
    }

    /// Sets the version of the summaries.
    pub fn set_summary_format(&self, version: u32) -> Option<Edit> {
        match &self.format {
            Some(_) if self.summary_format().is_some_and(|is| is >= version) => None,
            Some(marker) => Some(self.set_marker(marker, &version.to_string())),
            None => self.read_again(self.new_marker(FORMAT, &version.to_string()), |it| {
                it.format.is_some()
            }),
        }
    }

    /// Returns an edit that adds something if the parsed result has it; else it
    /// would be added again at every run.
    fn read_again(&self, edit: Edit, there: impl Fn(&Manifest) -> bool) -> Option<Edit> {
        let after = apply(self.text(), vec![edit.clone()]).ok()?;
        there(&Manifest::parse(after)).then_some(edit)
    }

    fn set_marker(&self, marker: &Marker, value: &str) -> Edit {
        let text = match self.text()[..marker.value.start].ends_with(':') {
            _ if !marker.value.is_empty() => value.to_owned(),
            true => value.to_owned(),
            false => format!(":{value}"),
        };
        Edit {
            span: marker.value.clone(),
            text,
        }
    }

    /// Adds a marker below the existing one if that has its own line, else
    /// below the first heading, else at the top. Within a table a new line
    /// would end the table.
    fn new_marker(&self, name: &str, value: &str) -> Edit {
        let document = &self.document;
        let title = document.sections.iter().find(|section| section.level == 1);
        let below = self.marker.as_ref().and_then(|it| self.below_comment(it));
        let at = match (below, title) {
            (Some(at), _) => at,
            (None, Some(title)) => title.own.start,
            (None, None) => document.body.start,
        };
        let newline = document.newline();
        let before = &self.text()[..at];
        let open = !before.is_empty() && before != "\u{feff}" && !before.ends_with(['\n', '\r']);
        let open = if open { newline } else { "" };
        Edit {
            span: at..at,
            text: format!("{open}<!-- {name}:{value} -->{newline}"),
        }
    }

    /// Returns where the next line begins, if the marker's line holds nothing
    /// else.
    fn below_comment(&self, marker: &Marker) -> Option<usize> {
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
    fn heading_of(&self, part: Part) -> Option<usize> {
        let wanted = super::Place { part, inner: false };
        let parts = super::parts(&self.document);
        parts.iter().position(|place| *place == Some(wanted))
    }

    /// Adds a part that is missing, with its first row.
    fn start_table(&self, part: Part, new: &New<'_>) -> Edit {
        let row = match part {
            Part::HubMap => [cell_text(new.name), link(new.target), cell_text(new.text)],
            _ => [link(new.target), cell_text(new.text), cell_text(new.note)],
        };
        let header = match part {
            Part::Tier1 => "| File | Summary | Volatility |",
            Part::Tier2 => "| File | Summary | Status |",
            Part::Tier3 => "| File | Reason | Date |",
            Part::HubMap => "| Domain | Hub | Summary |",
            Part::Config => "| Key | Value | Remark |",
        };
        let body = format!("{header}\n|---|---|---|\n| {} |", row.join(" | "));
        match self.heading_of(part) {
            Some(section) => self.document.append_to_section(section, &body),
            None => self.start_part(part, &body),
        }
    }

    fn start_part(&self, part: Part, body: &str) -> Edit {
        let level = self.level_at_end();
        self.document.append_section(level, heading(part), body)
    }

    /// Returns the level of a part that is added at the end: that of the part
    /// before it, which would else enclose it.
    fn level_at_end(&self) -> u8 {
        let parts = super::parts(&self.document);
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
fn change_of(line: &Range<usize>, edits: &[Edit]) -> RowChange {
    let first = edits.partition_point(|edit| edit.span.end <= line.start);
    match edits.get(first) {
        Some(Edit { span, .. }) if span.start <= line.start && line.end <= span.end => {
            RowChange::TakenOut
        }
        Some(Edit { span, .. }) if span.start < line.end => RowChange::Cells,
        _ => RowChange::None,
    }
}

/// Returns the heading of a new part.
fn heading(part: Part) -> &'static str {
    match part {
        Part::Tier1 => "Tier 1 - Always Load",
        Part::Tier2 => "Tier 2 - By Domain",
        Part::Tier3 => "Tier 3 - Archive",
        Part::HubMap => "Hub Map",
        Part::Config => "Config",
    }
}

/// Formats a link to a file, or its name as text if no link could hold it.
pub fn link(target: &str) -> String {
    let plain = !target.contains(['[', ']', '|', '#', '^', '\\', '<', '>', '`'])
        && !target.contains(char::is_control)
        && !target.trim().is_empty();
    if plain {
        format!("[[{target}]]")
    } else {
        cell_text(target)
    }
}
