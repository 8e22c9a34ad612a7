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

pub use extract::{Context, extract};
pub use list::{Listed, Listing, list};
pub(crate) use words::is_empty_word;

/// Maximum length of an entry, including its heading.
pub const LONGEST_ENTRY: usize = 1500;
/// Maximum number of entries in `_CLOSETS.md`; the others are archived.
pub const PRIMARY: usize = 30;
/// Maximum number of archived entries that `_CLOSETS.md` names.
pub const RECENT: usize = 5;
/// Number of archived entries above which the hub should be consolidated.
pub const MANY_ARCHIVED: usize = 100;

/// The summary of one file, by field. Every value is one line without active
/// Markdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    pub subjects: Vec<String>,
    pub people: Vec<String>,
    /// Facts in the words of the text.
    pub claims: Vec<String>,
    pub decisions: Vec<String>,
    /// Dates such as `2026-03-12` or `2026-03 ("in March")`.
    pub dates: Vec<String>,
    /// `active`, `superseded`, `archived`, or another status that the file
    /// states.
    pub status: String,
}

/// The fields of an entry, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    Subjects,
    People,
    Claims,
    Decisions,
    Dates,
    Status,
}

impl Field {
    /// Every field.
    pub const ALL: [Field; 6] = [
        Field::Subjects,
        Field::People,
        Field::Claims,
        Field::Decisions,
        Field::Dates,
        Field::Status,
    ];

    /// Returns the name of the field in the file.
    pub fn name(self) -> &'static str {
        match self {
            Field::Subjects => "subjects",
            Field::People => "people",
            Field::Claims => "claims",
            Field::Decisions => "decisions",
            Field::Dates => "dates",
            Field::Status => "status",
        }
    }

    /// Parses a field's name, in any case.
    pub fn named(name: &str) -> Option<Field> {
        let name = name.trim();
        Field::ALL
            .into_iter()
            .find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

impl Entry {
    /// Returns the values of a field.
    pub fn values(&self, field: Field) -> &[String] {
        match field {
            Field::Subjects => &self.subjects,
            Field::People => &self.people,
            Field::Claims => &self.claims,
            Field::Decisions => &self.decisions,
            Field::Dates => &self.dates,
            Field::Status => std::slice::from_ref(&self.status),
        }
    }

    pub(super) fn values_mut(&mut self, field: Field) -> Option<&mut Vec<String>> {
        Some(match field {
            Field::Subjects => &mut self.subjects,
            Field::People => &mut self.people,
            Field::Claims => &mut self.claims,
            Field::Decisions => &mut self.decisions,
            Field::Dates => &mut self.dates,
            Field::Status => return None,
        })
    }

    /// Renders a field as the file has it after its name; empty if it has no
    /// value.
    pub fn written(&self, field: Field) -> String {
        let values = self.values(field).iter().filter(|value| !value.is_empty());
        match field {
            Field::People => join(values.map(|name| format!("[[{name}]]")), ", "),
            Field::Claims => join(values.map(|claim| format!("\"{claim}\"")), "; "),
            Field::Decisions => join(values.cloned(), "; "),
            _ => join(values.cloned(), ", "),
        }
    }

    /// Renders all fields as list items, without empty ones.
    pub fn lines(&self) -> Vec<String> {
        Field::ALL
            .into_iter()
            .filter_map(|field| {
                let value = self.written(field);
                (!value.is_empty()).then(|| format!("- {}: {value}", field.name()))
            })
            .collect()
    }

    /// Returns `true` if no field except the status has a value.
    pub fn is_empty(&self) -> bool {
        Field::ALL[..5]
            .iter()
            .all(|field| self.values(*field).is_empty())
    }
}

fn join(values: impl Iterator<Item = String>, between: &str) -> String {
    values.collect::<Vec<_>>().join(between)
}
