//! Finds the marks that git leaves in a file where it could not merge two
//! versions. They are only found; people decide which side is kept.

/// Returns the line of the first conflict marker of an unfinished merge, where
/// git wrote both sides into the file. Examples in code do not count.
pub fn find_merge_marker(text: &str) -> Option<usize> {
    // Hooks ask this of long files, and hardly any has such a mark.
    memchr::memmem::find(text.as_bytes(), b"<<<<<<< ")?;
    let mut fence = None;
    let mut began = None;
    let mut parted = false;
    for (number, line) in text.lines().enumerate() {
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|it| line.trim_start().starts_with(it));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if line.starts_with("<<<<<<< ") && fence.is_none() {
            (began, parted) = (Some(number + 1), false);
        } else if line == "=======" {
            parted = true;
        } else if line.starts_with(">>>>>>> ") && parted && began.is_some() {
            return began;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<usize>) {
        assert_eq!(find_merge_marker(text), expect, "{text}");
        assert_eq!(
            find_merge_marker(&text.replace('\n', "\r\n")),
            expect,
            "{text}"
        );
    }

    #[test]
    fn all_three_marks_make_a_merge() {
        check("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> work\n", Some(2));
        check(
            "<<<<<<< ours\n||||||| base\nb\n=======\n>>>>>>> theirs",
            Some(1),
        );
        check("Title\n=======\n\n>>>>>>> quoted\n", None);
        check("<<<<<<< HEAD\nb\n", None);
        check("", None);
    }

    #[test]
    fn examples_in_code_are_none() {
        let marks = "<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> work\n";
        check(&format!("```sh\n{marks}```\n"), None);
        check(&format!("~~~\n{marks}~~~\n"), None);
        check(&format!("```\nx\n```\n{marks}"), Some(4));
        // A fence that one side opened does not hide the end.
        check("<<<<<<< a\n```\n=======\nx\n>>>>>>> b\n", Some(1));
    }
}
