//! Errors that carry their advice as data, so that a terminal, JSON, an agent
//! and the page show the same and can separate the message from the advice.
//!
//! It is in the lowest crate because every error of a library implements it.

/// An error of a library, with what a person can do about it.
pub trait Diagnostic: std::error::Error {
    /// Returns a name for the kind of error that does not change between
    /// versions, like `workspace.not-utf8`.
    fn code(&self) -> &'static str;

    /// Returns what the user can do about it, the most useful first.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns `true` if the request was wrong, rather than what it met.
    fn is_usage(&self) -> bool {
        false
    }

    /// Returns message and first hint in one line, for lists of problems in
    /// which every line has to speak for itself.
    fn describe(&self) -> String {
        let message = self.to_string();
        match self.hints().first() {
            Some(hint) => format!("{message}; {}", uncapitalize(hint)),
            None => message,
        }
    }
}

fn uncapitalize(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("`a.md` is missing")]
    struct Missing(Vec<String>);

    impl Diagnostic for Missing {
        fn code(&self) -> &'static str {
            "test.missing"
        }

        fn hints(&self) -> Vec<String> {
            self.0.clone()
        }
    }

    #[test]
    fn a_description_is_the_message_with_the_first_hint() {
        let hints = ["Name another file".to_owned(), "Or make it".to_owned()];
        assert_eq!(
            Missing(hints.to_vec()).describe(),
            "`a.md` is missing; name another file"
        );
        assert_eq!(Missing(Vec::new()).describe(), "`a.md` is missing");
    }
}
