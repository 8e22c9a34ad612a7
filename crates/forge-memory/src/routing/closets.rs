//! Maintains `_CLOSETS.md`: summaries of the files of a hub, by field, so that
//! an agent opens at most two files instead of all. An entry depends only on
//! its own file, and what an agent wrote into an entry is kept as long as the
//! file still states it.

pub mod build;
pub mod check;
mod extract;
pub mod file;
pub mod list;
mod merge;
mod people;
mod prose;
mod words;

#[cfg(test)]
mod tests;

pub use extract::{EntryContext, extract_entry};
pub use list::{ClosetListing, ListedEntry, list_closets};
pub(crate) use words::is_empty_word;

/// Maximum length of an entry, including its heading.
pub const MAX_ENTRY_CHARS: usize = 1500;
/// Maximum number of entries in `_CLOSETS.md`; the others are archived.
pub const MAX_PRIMARY_ENTRIES: usize = 30;
/// Maximum number of archived entries that `_CLOSETS.md` names.
pub const MAX_RECENT_ENTRIES: usize = 5;
/// Number of archived entries above which the hub should be consolidated.
pub const MANY_ARCHIVED_ENTRIES: usize = 100;

/// The summary of one file, by field. Every value is one line without active
/// Markdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClosetEntry {
    /// What the file is about.
    pub subjects: Vec<String>,
    /// People that it names.
    pub people: Vec<String>,
    /// Facts in the words of the text.
    pub claims: Vec<String>,
    /// Decisions that it states.
    pub decisions: Vec<String>,
    /// Dates such as `2026-03-12` or `2026-03 ("in March")`.
    pub dates: Vec<String>,
    /// `active`, `superseded`, `archived`, or another status that the file
    /// states.
    pub status: String,
}

/// The fields of an entry, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClosetField {
    /// What the file is about.
    Subjects,
    /// People that it names.
    People,
    /// Facts in the words of the text.
    Claims,
    /// Decisions that it states.
    Decisions,
    /// Dates that it names.
    Dates,
    /// Whether it is current.
    Status,
}

impl ClosetField {
    /// Every field.
    pub const ALL: [ClosetField; 6] = [
        ClosetField::Subjects,
        ClosetField::People,
        ClosetField::Claims,
        ClosetField::Decisions,
        ClosetField::Dates,
        ClosetField::Status,
    ];

    /// Returns the name of the field in the file.
    pub fn name(self) -> &'static str {
        match self {
            ClosetField::Subjects => "subjects",
            ClosetField::People => "people",
            ClosetField::Claims => "claims",
            ClosetField::Decisions => "decisions",
            ClosetField::Dates => "dates",
            ClosetField::Status => "status",
        }
    }

    /// Parses a field's name, in any case.
    pub fn from_name(name: &str) -> Option<ClosetField> {
        let name = name.trim();
        ClosetField::ALL
            .into_iter()
            .find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

impl ClosetEntry {
    /// Returns the values of a field.
    pub fn values(&self, field: ClosetField) -> &[String] {
        match field {
            ClosetField::Subjects => &self.subjects,
            ClosetField::People => &self.people,
            ClosetField::Claims => &self.claims,
            ClosetField::Decisions => &self.decisions,
            ClosetField::Dates => &self.dates,
            ClosetField::Status => std::slice::from_ref(&self.status),
        }
    }

    pub(super) fn values_mut(&mut self, field: ClosetField) -> Option<&mut Vec<String>> {
        Some(match field {
            ClosetField::Subjects => &mut self.subjects,
            ClosetField::People => &mut self.people,
            ClosetField::Claims => &mut self.claims,
            ClosetField::Decisions => &mut self.decisions,
            ClosetField::Dates => &mut self.dates,
            ClosetField::Status => return None,
        })
    }

    /// Renders a field as the file has it after its name; empty if it has no
    /// value.
    pub fn render_field(&self, field: ClosetField) -> String {
        let values = self.values(field).iter().filter(|value| !value.is_empty());
        match field {
            ClosetField::People => join_values(values.map(|name| format!("[[{name}]]")), ", "),
            ClosetField::Claims => join_values(values.map(|claim| format!("\"{claim}\"")), "; "),
            ClosetField::Decisions => join_values(values.cloned(), "; "),
            _ => join_values(values.cloned(), ", "),
        }
    }

    /// Renders all fields as list items, without empty ones.
    pub fn render_lines(&self) -> Vec<String> {
        ClosetField::ALL
            .into_iter()
            .filter_map(|field| {
                let value = self.render_field(field);
                (!value.is_empty()).then(|| format!("- {}: {value}", field.name()))
            })
            .collect()
    }

    /// Returns `true` if no field except the status has a value.
    pub fn is_empty(&self) -> bool {
        ClosetField::ALL[..5]
            .iter()
            .all(|field| self.values(*field).is_empty())
    }
}

fn join_values(values: impl Iterator<Item = String>, between: &str) -> String {
    values.collect::<Vec<_>>().join(between)
}
