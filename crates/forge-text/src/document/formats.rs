//! The formats that documents come in, recognised by the end of a file's name, and
//! what of each is prose.
//!
//! [`DocumentFormat::prose`] gives a text for the one parser, as long as the
//! original and with the same lines: what is no prose becomes spaces, and what
//! marks a heading elsewhere marks one in Markdown. So lines and byte spans of
//! what is found there are those of the file.

use std::borrow::Cow;

mod asciidoc;
mod mdx;
mod restructured;

/// Format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentFormat {
    /// CommonMark with tables, tasks and footnotes.
    Markdown,
    /// Markdown with imports, exports and JSX.
    Mdx,
    /// AsciiDoc.
    AsciiDoc,
    /// reStructuredText.
    ReStructuredText,
    /// Text without markup.
    PlainText,
}

const ENDINGS: [(&str, DocumentFormat); 7] = [
    (".md", DocumentFormat::Markdown),
    (".markdown", DocumentFormat::Markdown),
    (".mdx", DocumentFormat::Mdx),
    (".adoc", DocumentFormat::AsciiDoc),
    (".asciidoc", DocumentFormat::AsciiDoc),
    (".rst", DocumentFormat::ReStructuredText),
    (".txt", DocumentFormat::PlainText),
];

impl DocumentFormat {
    /// Returns the format of a file with this name or path; `None` for other
    /// files.
    pub fn of(path: &str) -> Option<DocumentFormat> {
        let found = ENDINGS.iter().find(|(ending, _)| path.ends_with(ending));
        found.map(|(_, format)| *format)
    }

    /// Returns `true` for Markdown in any of its spellings: it is a document
    /// wherever documents lie, while other formats have to be named.
    pub fn is_markdown(self) -> bool {
        matches!(self, DocumentFormat::Markdown | DocumentFormat::Mdx)
    }

    /// Returns the text as the parser should see it.
    pub fn prose(self, text: &str) -> Cow<'_, str> {
        let prose = match self {
            DocumentFormat::Markdown | DocumentFormat::PlainText => return Cow::Borrowed(text),
            DocumentFormat::Mdx => mdx::prose(text),
            DocumentFormat::AsciiDoc => asciidoc::prose(text),
            DocumentFormat::ReStructuredText => restructured::prose(text),
        };
        debug_assert_eq!(prose.len(), text.len());
        Cow::Owned(prose)
    }
}

/// Returns a path or a name without the ending of its format.
pub fn without_ending(path: &str) -> &str {
    let mut endings = ENDINGS.iter();
    let found = endings.find_map(|(ending, _)| path.strip_suffix(ending));
    found.filter(|stem| !stem.is_empty()).unwrap_or(path)
}

/// Returns a line without its end, and the end.
fn split_end(line: &str) -> (&str, &str) {
    let body = line.trim_end_matches(['\n', '\r']);
    line.split_at(body.len())
}

/// Adds as many spaces as the text has bytes.
fn push_blank(out: &mut String, text: &str) {
    out.extend(std::iter::repeat_n(' ', text.len()));
}

#[cfg(test)]
mod tests;
