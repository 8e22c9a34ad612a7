//! Ids for things without a file, made from their words. The same words give
//! the same id wherever they are in a list, and other words give another.

use std::collections::HashMap;

use crate::links::fold_name;

/// Maximum length of a slug before a hash replaces the rest.
const MAX_SLUG_CHARS: usize = 48;

/// Returns letters and digits with dashes between the words.
pub(super) fn make_slug(text: &str) -> String {
    let mut slug = String::new();
    for char in fold_name(text).chars() {
        if char.is_alphanumeric() {
            slug.push(char);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if !slug.is_empty() && slug.chars().count() <= MAX_SLUG_CHARS {
        return slug.to_owned();
    }
    let start: String = slug.chars().take(MAX_SLUG_CHARS).collect();
    // Twelve digits are 48 bits, enough for the texts of one workspace.
    let sum = blake3::hash(fold_name(text).as_bytes()).to_hex();
    let start = start.trim_end_matches('-');
    match start {
        "" => sum[..12].to_owned(),
        start => format!("{start}-{}", &sum[..12]),
    }
}

/// Ids that are made unique: equal names get numbers in their order.
#[derive(Default)]
pub(super) struct UniqueIds(HashMap<String, usize>);

impl UniqueIds {
    /// Returns the id, with a number from its second use on.
    pub(super) fn make_unique(&mut self, id: String) -> String {
        let times = self.0.entry(id.clone()).or_default();
        *times += 1;
        match *times {
            1 => id,
            times => format!("{id}#{times}"),
        }
    }
}
