//! Counts with their nouns, as messages print them: `1 file`, `2 files`. It
//! knows regular English plurals and nothing else about words.

/// Formats a count with its noun in the right number.
///
/// ```
/// use forge_text::counts::count_noun;
/// assert_eq!(count_noun(1, "file"), "1 file");
/// assert_eq!(count_noun(2, "entry"), "2 entries");
/// ```
pub fn count_noun(count: usize, singular: &str) -> String {
    format!("{count} {}", match_number(count, singular))
}

/// Returns the noun in the number that the count needs, without the count.
pub fn match_number(count: usize, singular: &str) -> String {
    if count == 1 {
        return singular.to_owned();
    }
    let ends_in_hiss = ["s", "x", "ch", "sh"]
        .iter()
        .any(|end| singular.ends_with(end));
    match singular.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if ends_in_hiss => format!("{singular}es"),
        _ => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_counts() {
        let check = |count, noun, expected| assert_eq!(count_noun(count, noun), expected);
        check(0, "file", "0 files");
        check(1, "entry", "1 entry");
        check(3, "entry", "3 entries");
        check(2, "key", "2 keys");
        check(2, "match", "2 matches");
        check(2, "recent decision", "2 recent decisions");
    }
}
