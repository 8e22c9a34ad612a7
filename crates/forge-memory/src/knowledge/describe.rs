//! The record that the index keeps of a document: its names, date, standing and
//! passages. Secrets are redacted before anything is derived from the text.

use std::borrow::Cow;

use super::readme;
use crate::document::{
    self, Document, FrontMatter, document_date, shorten_name, without_heading_anchor,
};
use crate::index::chunk::{PassageSizes, split_into_passages};
use crate::index::{DocumentKind, DocumentRecord, DocumentStanding, FileStamp};
use crate::secrets;
use crate::workspace::{FileRole, RelPath};

/// Version of [`describe_document`]. Raise it whenever the function makes a different
/// record of the same document, so that existing indexes are filled again. A
/// test fails if it was forgotten.
pub const DESCRIPTION_VERSION: u32 = 4;

/// Returns the scope in which a document is searched. `README.md` and other
/// files that lead to documents belong to knowledge, and rank below what they
/// lead to.
pub fn search_scope(role: FileRole, document: Option<&Document>) -> &'static str {
    let archived = document
        .and_then(|d| d.front_matter.as_ref())
        .and_then(|f| f.text("status"))
        .is_some_and(|s| s.eq_ignore_ascii_case("archived"));
    match role {
        // The status in the front matter outweighs the folder.
        _ if archived => "archive",
        FileRole::Archive => "archive",
        FileRole::Agent => "agents",
        FileRole::State => "state",
        FileRole::Routing => "routing",
        _ => "knowledge",
    }
}

/// The findings of a look at a whole text, as the index keeps them for each
/// file. They show a check which files to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextTraits(u32);

impl TextTraits {
    const FRONT_MATTER: u32 = 1;
    const MALFORMED: u32 = 2;
    const UNMERGED: u32 = 4;
    const SECRET: u32 = 8;

    /// Returns the traits that an index keeps under these bits.
    pub fn from_bits(bits: u32) -> TextTraits {
        TextTraits(bits)
    }

    /// Returns the traits of a parsed document. `has_secret` is set if secrets
    /// were redacted from its text first.
    pub fn of_document(document: &Document, has_secret: bool) -> TextTraits {
        let bits = [
            (document.front_matter.is_some(), TextTraits::FRONT_MATTER),
            (!document.problems.is_empty(), TextTraits::MALFORMED),
            (
                document::find_merge_marker(&document.text).is_some(),
                TextTraits::UNMERGED,
            ),
            (has_secret, TextTraits::SECRET),
        ];
        let found = bits.into_iter().filter(|(is_found, _)| *is_found);
        TextTraits(found.fold(0, |all, (_, bit)| all | bit))
    }

    /// Returns `true` if the text begins with front matter.
    pub fn has_front_matter(self) -> bool {
        self.0 & TextTraits::FRONT_MATTER != 0
    }

    /// Returns `true` if a check of the text would report something.
    pub fn has_findings(self) -> bool {
        self.0 & !TextTraits::FRONT_MATTER != 0
    }
}

/// Describes a text, and returns the document that was parsed from it. Secrets
/// are redacted first: one that is longer than a passage can only be recognized
/// in the whole text, and titles and names may contain secrets too.
pub fn describe_document(
    path: &RelPath,
    role: FileRole,
    stamp: FileStamp,
    hash: String,
    text: &str,
    sizes: PassageSizes,
) -> (Document, DocumentRecord) {
    let text = match path.as_str() {
        readme::README_PATH => Cow::Owned(readme::text_without_list(text)),
        _ => Cow::Borrowed(text),
    };
    let redacted = secrets::redact_keeping_lines(&text);
    let has_secret = matches!(redacted, Cow::Owned(_));
    let document = document::parse_as(path.as_str(), redacted.into_owned());
    let put = DocumentRecord {
        traits: TextTraits::of_document(&document, has_secret).0,
        ..describe_fields(path, role, stamp, hash, &document, sizes)
    };
    (document, put)
}

/// Returns the record of a parsed document.
fn describe_fields(
    path: &RelPath,
    role: FileRole,
    stamp: FileStamp,
    hash: String,
    document: &Document,
    sizes: PassageSizes,
) -> DocumentRecord {
    let front = document.front_matter.as_ref();
    let stem = path.as_str().rsplit('/').next().unwrap_or(path.as_str());
    let stem = document::without_ending(stem);
    let named = front.is_some_and(|f| f.text("name").is_some() && f.text("description").is_some());
    let title = document
        .title()
        .map(without_heading_anchor)
        .or_else(|| front.and_then(|f| f.text("name")))
        .unwrap_or(stem);
    DocumentRecord {
        path: path.as_str().to_owned(),
        stamp,
        hash,
        scope: search_scope(role, Some(document)).to_owned(),
        kind: if named {
            DocumentKind::Skill
        } else {
            DocumentKind::Knowledge
        },
        title: shorten_name(title),
        names: shorten_name(&search_names(path, front)),
        date: document_date(document, stem).map(|d| d.to_string()),
        importance: front
            .and_then(|f| f.int("importance"))
            .filter(|i| (1..=10).contains(i))
            .unwrap_or(5),
        standing: document_standing(front),
        supersedes: front.map_or_else(Vec::new, |f| {
            let mut all = f.list("supersedes");
            all.extend(f.list("replaces"));
            all.into_iter().map(|s| s.replace('\n', " ")).collect()
        }),
        chunks: split_into_passages(document, sizes),
        traits: 0,
        problem: None,
    }
}

/// Describes a text as [`describe_document`] does, for an index that is in memory and
/// never compared with files.
pub fn describe_text(
    path: &RelPath,
    role: FileRole,
    text: &str,
    sizes: PassageSizes,
) -> (Document, DocumentRecord) {
    let stamp = FileStamp {
        size: text.len() as u64,
        mtime_ns: 0,
        recorded_ns: 0,
    };
    describe_document(path, role, stamp, document::content_hash(text), text, sizes)
}

/// Returns the record of a file that cannot be used, so that it is reported
/// once and not read again until it changes.
pub fn describe_unusable(
    path: &RelPath,
    role: FileRole,
    stamp: FileStamp,
    problem: String,
) -> DocumentRecord {
    DocumentRecord {
        path: path.as_str().to_owned(),
        stamp,
        hash: String::new(),
        scope: search_scope(role, None).to_owned(),
        kind: DocumentKind::Knowledge,
        title: String::new(),
        names: String::new(),
        date: None,
        importance: 5,
        standing: DocumentStanding::Current,
        supersedes: Vec::new(),
        chunks: Vec::new(),
        traits: 0,
        problem: Some(problem),
    }
}

/// Returns the words besides its text that find the document.
fn search_names(path: &RelPath, front: Option<&FrontMatter>) -> String {
    let path = path.as_str();
    let path = path.strip_prefix("knowledge/").unwrap_or(path);
    let mut names = document::without_ending(path).replace('/', " ");
    if let Some(front) = front {
        for key in ["name", "aliases", "alias", "tags", "keywords"] {
            for value in front.list(key) {
                names.push(' ');
                names.push_str(value);
            }
        }
    }
    names
}

/// Returns the standing that the front matter states: current, superseded or
/// deprecated.
fn document_standing(front: Option<&FrontMatter>) -> DocumentStanding {
    let Some(front) = front else {
        return DocumentStanding::Current;
    };
    for key in [
        "superseded_by",
        "superseded-by",
        "replaced_by",
        "replaced-by",
    ] {
        if let Some(by) = front.list(key).first().filter(|b| !b.trim().is_empty()) {
            return DocumentStanding::SupersededBy(shorten_name(by));
        }
    }
    let status = front.text("status").unwrap_or("").to_lowercase();
    if front.flag("deprecated")
        || matches!(status.as_str(), "deprecated" | "superseded" | "obsolete")
    {
        return DocumentStanding::Deprecated;
    }
    DocumentStanding::Current
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::MAX_NAME_BYTES;

    #[test]
    fn names_that_go_with_each_passage_have_a_limit() {
        let many = "word, ".repeat(10_000);
        let text =
            format!("---\ntitle: {many}\ntags: [{many}end]\nsuperseded_by: {many}\n---\n\nText.\n");
        let path = RelPath::new("knowledge/a.md").expect("a path");
        let (_, put) = describe_text(
            &path,
            FileRole::Knowledge,
            &text,
            PassageSizes::with_limit(500),
        );
        let DocumentStanding::SupersededBy(by) = &put.standing else {
            panic!("{:?}", put.standing);
        };
        for name in [&put.title, &put.names, by] {
            assert!(
                name.len() <= MAX_NAME_BYTES && name.ends_with('…'),
                "{name}"
            );
        }
    }

    #[test]
    fn secrets_are_in_no_field() {
        let secret = concat!("ghp_16C7e42F292c6912", "E7710c838347Ae178B4a");
        let text = format!(
            "---\naliases: {secret}\nsuperseded_by: {secret}\n---\n\n# {secret}\n\n{secret}\n"
        );
        let path = RelPath::new("knowledge/a.md").expect("a path");
        let (document, put) = describe_text(
            &path,
            FileRole::Knowledge,
            &text,
            PassageSizes::with_limit(500),
        );
        let kept = format!(
            "{} {} {} {:?} {:?}",
            document.text, put.title, put.names, put.standing, put.chunks
        );
        assert!(!kept.contains(secret), "{kept}");
        assert!(put.title.contains("redacted"), "{kept}");
    }

    const DOCUMENT: &str = "---\ntitle: Tides\ntags: [sea, moon]\naliases: water\nimportance: 8\n---\n\n# Tides\n\nHigh water comes at noon.\n\n## Table\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Code\n\n```sh\ntide --at noon\n```\n\n### Long\n\n- one\n- two\n";

    /// What an index keeps of the document, for each version of the rules.
    const KNOWN: [(u32, u32, &str); 4] = [
        (1, 1, "d1c87db88e49285c"),
        (1, 2, "d1c87db88e49285c"),
        (1, 3, "93064d6ff642b8ed"),
        (2, 4, "93064d6ff642b8ed"),
    ];

    /// An index holds passages that were made by the rules of its time. If this
    /// fails, raise `PASSAGE_FORMAT_VERSION` (the cutter) or `DESCRIPTION_VERSION` (everything else) and
    /// add a row: indexes from before are then filled again.
    #[test]
    fn the_same_document_makes_the_same_passages_within_a_version() {
        let path = RelPath::new("knowledge/sea/tides.md").unwrap();
        let long = DOCUMENT.to_owned() + &"Words about the sea. ".repeat(400);
        let mut hasher = blake3::Hasher::new();
        for (text, tokens) in [(DOCUMENT.to_owned(), 500), (long, 100)] {
            let (_, put) = describe_text(
                &path,
                FileRole::Knowledge,
                &text,
                PassageSizes::with_limit(tokens),
            );
            let kept = (
                (put.scope, put.kind, put.title, put.names, put.date),
                (put.importance, put.standing, put.supersedes, put.chunks),
                put.traits,
            );
            hasher.update(format!("{kept:?}").as_bytes());
        }
        let hash = hasher.finalize().to_hex();
        let versions = (
            crate::index::chunk::PASSAGE_FORMAT_VERSION,
            DESCRIPTION_VERSION,
        );
        let known = KNOWN.iter().find(|row| (row.0, row.1) == versions);
        assert_eq!(known.map(|row| row.2), Some(&hash[..16]), "{versions:?}");
    }
}
