//! What the index keeps of a document: its names, date, standing and passages.

use crate::document::{self, Document, FrontMatter, own_date};
use crate::index::chunk::{Sizes, chunks};
use crate::index::{Kind, Put, Stamp, Standing};
use crate::workspace::{RelPath, Role};

/// Where a document is searched. `README.md` and other files that lead to
/// documents are found with knowledge, below what they lead to.
pub fn scope(role: Role, document: Option<&Document>) -> &'static str {
    let archived = document
        .and_then(|d| d.front_matter.as_ref())
        .and_then(|f| f.text("status"))
        .is_some_and(|s| s.eq_ignore_ascii_case("archived"));
    match role {
        _ if archived => "archive",
        Role::Archive => "archive",
        Role::Agent => "agents",
        Role::State => "state",
        Role::Routing => "routing",
        _ => "knowledge",
    }
}

pub fn describe(
    path: &RelPath,
    role: Role,
    stamp: Stamp,
    hash: String,
    document: &Document,
    sizes: Sizes,
) -> Put {
    let front = document.front_matter.as_ref();
    let stem = path.as_str().rsplit('/').next().unwrap_or(path.as_str());
    let stem = stem.strip_suffix(".md").unwrap_or(stem);
    let named = front.is_some_and(|f| f.text("name").is_some() && f.text("description").is_some());
    let title = document
        .title()
        .or_else(|| front.and_then(|f| f.text("name")))
        .unwrap_or(stem)
        .to_owned();
    Put {
        path: path.as_str().to_owned(),
        stamp,
        hash,
        scope: scope(role, Some(document)).to_owned(),
        kind: if named { Kind::Skill } else { Kind::Knowledge },
        title,
        names: names(path, front),
        date: own_date(document, stem).map(|d| d.to_string()),
        importance: front
            .and_then(|f| f.int("importance"))
            .filter(|i| (1..=10).contains(i))
            .unwrap_or(5),
        standing: standing(front),
        supersedes: front.map_or_else(Vec::new, |f| {
            let mut all = f.list("supersedes");
            all.extend(f.list("replaces"));
            all.into_iter().map(|s| s.replace('\n', " ")).collect()
        }),
        chunks: chunks(document, sizes),
        problem: None,
    }
}

/// A text for an index that lives in memory and is never compared with files,
/// with the document that was read from it.
pub fn of_text(path: &RelPath, role: Role, text: String, sizes: Sizes) -> (Document, Put) {
    let stamp = Stamp {
        size: text.len() as u64,
        mtime_ns: 0,
        recorded_ns: 0,
    };
    let hash = document::content_hash(&text);
    let document = document::parse(text);
    let put = describe(path, role, stamp, hash, &document, sizes);
    (document, put)
}

/// A file that is there but cannot be used, so that it is named once and not
/// read again until it changes.
pub fn unusable(path: &RelPath, role: Role, stamp: Stamp, problem: String) -> Put {
    Put {
        path: path.as_str().to_owned(),
        stamp,
        hash: String::new(),
        scope: scope(role, None).to_owned(),
        kind: Kind::Knowledge,
        title: String::new(),
        names: String::new(),
        date: None,
        importance: 5,
        standing: Standing::Current,
        supersedes: Vec::new(),
        chunks: Vec::new(),
        problem: Some(problem),
    }
}

/// Words that lead to the document besides its text.
fn names(path: &RelPath, front: Option<&FrontMatter>) -> String {
    let path = path.as_str();
    let mut names = path
        .strip_prefix("knowledge/")
        .unwrap_or(path)
        .trim_end_matches(".md")
        .replace('/', " ");
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

fn standing(front: Option<&FrontMatter>) -> Standing {
    let Some(front) = front else {
        return Standing::Current;
    };
    for key in [
        "superseded_by",
        "superseded-by",
        "replaced_by",
        "replaced-by",
    ] {
        if let Some(by) = front.list(key).first().filter(|b| !b.trim().is_empty()) {
            return Standing::SupersededBy((*by).to_owned());
        }
    }
    let status = front.text("status").unwrap_or("").to_lowercase();
    if front.flag("deprecated")
        || matches!(status.as_str(), "deprecated" | "superseded" | "obsolete")
    {
        return Standing::Deprecated;
    }
    Standing::Current
}
