//! `_CLOSETS.md`: what is in each file of a hub, by field, so that an agent
//! opens none to two files instead of all. An entry depends on its own file
//! alone, and nothing that an agent wrote into one is dropped while the file
//! still says so.

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

/// No entry has more characters, heading and all.
pub const LONGEST_ENTRY: usize = 1500;
/// So many entries stay in `_CLOSETS.md`; the others are archived.
pub const PRIMARY: usize = 30;
/// So many of the archived are named in `_CLOSETS.md`.
pub const RECENT: usize = 5;
/// With more in the archive, it is time to consolidate.
pub const MANY_ARCHIVED: usize = 100;

/// What one file holds, by field. Every value is a piece of text on one line
/// that Markdown does not act on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    pub subjects: Vec<String>,
    pub people: Vec<String>,
    /// Facts in the words of the text.
    pub claims: Vec<String>,
    pub decisions: Vec<String>,
    /// `2026-03-12`, `2026-03 ("in March")`.
    pub dates: Vec<String>,
    /// `active`, `superseded`, `archived`, or another word of the file's own.
    pub status: String,
}

/// The fields, in the order in which they are written.
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
    pub const ALL: [Field; 6] = [
        Field::Subjects,
        Field::People,
        Field::Claims,
        Field::Decisions,
        Field::Dates,
        Field::Status,
    ];

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

    pub fn named(name: &str) -> Option<Field> {
        let name = name.trim();
        Field::ALL
            .into_iter()
            .find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

impl Entry {
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

    /// A field as it stands in the file behind its name; empty when it has no
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

    /// All fields as list items, empty ones left out.
    pub fn lines(&self) -> Vec<String> {
        Field::ALL
            .into_iter()
            .filter_map(|field| {
                let value = self.written(field);
                (!value.is_empty()).then(|| format!("- {}: {value}", field.name()))
            })
            .collect()
    }

    pub fn is_empty(&self) -> bool {
        Field::ALL[..5]
            .iter()
            .all(|field| self.values(*field).is_empty())
    }
}

fn join(values: impl Iterator<Item = String>, between: &str) -> String {
    values.collect::<Vec<_>>().join(between)
}
