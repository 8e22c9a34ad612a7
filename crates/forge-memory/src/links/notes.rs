//! The facts of one note that links need: its names, the places in it that can
//! be linked to, and the links that it contains. The text itself is not kept.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::names::fold_name;
use crate::document::{self, Document, DocumentLink, LinkKind, YamlValue};

/// The keys of front matter whose values are notes, with or without brackets.
pub const NAMING_KEYS: [&str; 15] = [
    "people",
    "projects",
    "supersedes",
    "superseded-by",
    "blocks",
    "blocked-by",
    "made-by",
    "assigned-to",
    "part-of",
    "produced",
    "checked-by",
    "verified-by",
    "commands",
    "reports-to",
    "knows",
];

/// Returns the key of [`NAMING_KEYS`] that a spelling means: `superseded_by`
/// counts too.
pub fn find_naming_key(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase().replace('_', "-");
    NAMING_KEYS.into_iter().find(|it| *it == key)
}

/// The names, link targets and links of one note.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VaultNote {
    /// The title, by front matter or the first heading.
    pub title: Option<String>,
    /// Other names that its front matter gives.
    pub aliases: Vec<String>,
    /// The headings in text order.
    pub headings: Vec<NoteHeading>,
    /// `^id` at the end of a block, without the caret.
    pub blocks: Vec<String>,
    /// Ids in HTML, which Markdown's own links can lead to.
    pub anchors: Vec<String>,
    /// In text order, those in front matter first.
    pub links: Vec<NoteLink>,
    /// `None` without front matter.
    pub front_matter: Option<Vec<(String, YamlValue)>>,
    /// Whether the text has the version marker of closets.
    pub closets_marker: bool,
}

/// A heading of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteHeading {
    /// The level, from 1 to 6.
    pub level: u8,
    /// The text of the heading.
    pub title: String,
}

/// A link in a note, or in its front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteLink {
    /// The form in which it is written.
    pub kind: LinkKind,
    /// The file alone, without fragment and label.
    pub target: String,
    /// The heading or block that it leads to.
    pub fragment: Option<String>,
    /// The bytes of the whole link.
    pub span: Range<usize>,
    /// The range of the target in the text, as its author wrote it. `None` if
    /// it was not found there, and for links into the same note.
    pub at: Option<Range<usize>>,
    /// The line of the link.
    pub line: usize,
    /// The key of the front matter whose value contains the link.
    pub key: Option<String>,
    /// Whether the link begins its heading or item, as entries of an index do.
    pub leads: bool,
}

impl NoteLink {
    /// Returns `true` if the link is in the value of this key of the front
    /// matter.
    pub fn is_under_key(&self, key: &str) -> bool {
        let under = self.key.as_deref().and_then(find_naming_key);
        under == Some(key)
    }

    /// Returns `true` if the rules of Obsidian decide where the link leads.
    pub fn is_wikilink(&self) -> bool {
        matches!(self.kind, LinkKind::Wiki | LinkKind::Embed)
    }
}

impl VaultNote {
    /// Parses a note. `label_first` is for vaults in which `[[label|note]]` is
    /// the custom.
    pub(super) fn from_text(text: String, label_first: bool) -> VaultNote {
        let document = document::parse_document(text);
        let comments = find_comments(&document);
        let keys = document
            .front_matter
            .as_ref()
            .map(|it| it.entry_spans(&document.text))
            .unwrap_or_default();
        let links = document
            .links
            .iter()
            .filter(|link| !matches!(link.kind, LinkKind::Auto))
            .filter(|link| find_covering(&comments, link.span.start).is_none())
            .filter_map(|link| build_note_link(&document, link, &keys, label_first))
            .collect();
        let headings = document.sections.iter().filter(|section| section.level > 0);
        VaultNote {
            title: document.title().map(str::to_owned),
            aliases: read_aliases(&document),
            headings: headings
                .map(|section| NoteHeading {
                    level: section.level,
                    title: section.title.clone(),
                })
                .collect(),
            blocks: find_block_ids(&document),
            anchors: find_html_anchors(&document),
            links,
            closets_marker: document.text.contains("<!-- memex-closets:"),
            front_matter: document.front_matter.map(|it| it.entries),
        }
    }

    /// Returns the names under a key of the front matter that have no brackets.
    pub fn plain_names(&self, key: &str) -> Vec<&str> {
        let entries = self.front_matter.as_deref().unwrap_or_default();
        let Some((_, value)) = entries.iter().find(|(name, _)| name == key) else {
            return Vec::new();
        };
        let values = match value {
            YamlValue::List(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        let texts = values.iter().filter_map(|value| match value {
            YamlValue::Text(text) if !text.contains("[[") => Some(text.trim()),
            _ => None,
        });
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// Returns `true` if the part of a link behind `#` names something in this
    /// note.
    pub fn has_fragment(&self, fragment: &str, places: &NotePlaces) -> bool {
        let fragment = fragment.trim();
        let parts: Vec<&str> = fragment
            .split('#')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let Some(end) = parts.last() else {
            return true;
        };
        if let Some(block) = end.strip_prefix('^') {
            return places.blocks.contains(fold_name(block).as_ref());
        }
        if parts.len() > 1 && self.has_heading_chain(&parts) {
            return true;
        }
        if parts.len() > 1 {
            return false;
        }
        places.headings.contains(&heading_key(end))
            || places
                .anchors
                .get_or_init(|| self.all_anchors())
                .contains(fold_name(end).as_ref())
    }

    /// Returns `true` for `#a#b#c` if these headings follow each other, each
    /// deeper than the last.
    fn has_heading_chain(&self, parts: &[&str]) -> bool {
        let parts: Vec<String> = parts.iter().map(|part| heading_key(part)).collect();
        let mut shallowest = vec![u8::MAX; parts.len()];
        for heading in &self.headings {
            let key = heading_key(&heading.title);
            for index in (0..parts.len()).rev() {
                let follows = index == 0 || shallowest[index - 1] < heading.level;
                if follows && parts[index] == key {
                    shallowest[index] = shallowest[index].min(heading.level);
                }
            }
        }
        shallowest.last().is_some_and(|level| *level != u8::MAX)
    }

    /// Returns the lookup tables for [`VaultNote::has_fragment`].
    pub fn link_places(&self) -> NotePlaces {
        let headings = self.headings.iter();
        NotePlaces {
            headings: headings.map(|it| heading_key(&it.title)).collect(),
            blocks: self
                .blocks
                .iter()
                .map(|id| fold_name(id).into_owned())
                .collect(),
            anchors: OnceCell::new(),
        }
    }

    /// Returns the ids in HTML, and headings as URLs name them, repeated ones
    /// with a number.
    fn all_anchors(&self) -> HashSet<String> {
        let mut anchors: HashSet<String> = self.anchors.iter().cloned().collect();
        let mut seen = HashMap::new();
        for heading in &self.headings {
            let slug = heading_slug(&heading.title);
            let times = seen.entry(slug.clone()).or_insert(0);
            if *times > 0 {
                anchors.insert(format!("{slug}-{times}"));
            }
            *times += 1;
            anchors.insert(slug);
        }
        anchors
    }
}

/// The places of one note by their folded names.
#[derive(Debug, Clone, Default)]
pub struct NotePlaces {
    headings: HashSet<String>,
    blocks: HashSet<String>,
    /// Computed at the first link that no heading answers.
    anchors: OnceCell<HashSet<String>>,
}

/// Returns a heading as Obsidian compares it: characters that a link cannot
/// contain are spaces.
fn heading_key(title: &str) -> String {
    let mut key = String::with_capacity(title.len());
    for char in fold_name(title).chars() {
        let blank = char.is_whitespace() || char.is_ascii_punctuation() && !"-_'".contains(char);
        if !blank {
            key.push(char);
        } else if !key.is_empty() && !key.ends_with(' ') {
            key.push(' ');
        }
    }
    key.truncate(key.trim_end().len());
    key
}

/// Returns a heading as GitHub names it in a URL.
fn heading_slug(title: &str) -> String {
    fold_name(title)
        .chars()
        .filter_map(|char| match char {
            ' ' => Some('-'),
            '-' | '_' => Some(char),
            char if char.is_alphanumeric() => Some(char),
            _ => None,
        })
        .collect()
}

/// Returns the aliases in the front matter.
fn read_aliases(document: &Document) -> Vec<String> {
    let Some(front_matter) = &document.front_matter else {
        return Vec::new();
    };
    let mut aliases = Vec::new();
    for key in ["aliases", "alias"] {
        let values = match front_matter.get(key) {
            Some(YamlValue::List(values)) => values.iter().map(ToString::to_string).collect(),
            Some(YamlValue::Text(text)) => text.split(',').map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        aliases.extend(values.iter().map(|it| it.trim().to_owned()));
    }
    aliases.retain(|alias| !alias.is_empty());
    aliases
}

/// Returns the ids of blocks, also those right after an embed, without the
/// space that a block of text needs.
fn find_block_ids(document: &Document) -> Vec<String> {
    let mut ids: Vec<String> = document.block_ids.iter().map(|it| it.id.clone()).collect();
    for at in memchr::memmem::find_iter(document.text.as_bytes(), "]]^") {
        let rest = &document.text[at + 3..];
        let id = rest.lines().next().unwrap_or("").trim_end();
        let plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
        if !id.is_empty() && id.bytes().all(plain) && !document.is_in_code(at) {
            ids.push(id.to_owned());
        }
    }
    ids
}

/// Returns the values of `id` and `name` in HTML.
fn find_html_anchors(document: &Document) -> Vec<String> {
    let text = &document.text;
    let mut found = Vec::new();
    for mark in ["id=", "name="] {
        for at in memchr::memmem::find_iter(text.as_bytes(), mark) {
            let rest = &text[at + mark.len()..];
            let Some(quote) = rest.chars().next().filter(|it| matches!(it, '"' | '\'')) else {
                continue;
            };
            // A value that is never closed must not be searched to the end of
            // the file.
            if let Some(end) = rest[1..].bytes().take(200).position(|it| it == quote as u8) {
                found.push(fold_name(&rest[1..1 + end]).into_owned());
            }
        }
    }
    found
}

/// Returns Obsidian's comments, `%% … %%`, outside code; one that is never
/// closed hides nothing.
pub(super) fn find_comments(document: &Document) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    for at in memchr::memmem::find_iter(document.text[document.body.clone()].as_bytes(), "%%") {
        let at = document.body.start + at;
        if document.is_in_code(at) {
            continue;
        }
        match open.take() {
            Some(start) => found.push(start..at + 2),
            None => open = Some(at),
        }
    }
    found
}

/// Returns the range of a sorted, disjoint list that contains `at`.
pub(super) fn find_covering(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let index = ranges.partition_point(|range| range.start <= at);
    ranges[..index].last().filter(|range| at < range.end)
}

/// Returns the link as the vault needs it; `None` for links that name no note.
fn build_note_link(
    document: &Document,
    link: &DocumentLink,
    keys: &[(String, Range<usize>)],
    label_first: bool,
) -> Option<NoteLink> {
    let mut target = link.target.clone();
    let mut fragment = link.fragment.clone();
    let wiki = matches!(link.kind, LinkKind::Wiki | LinkKind::Embed);
    let source = document.span_text(&link.span);
    let mut at = if wiki {
        find_target_place(source, &target, |before| {
            before.trim_start_matches('!').trim_end() == "[["
        })
    } else {
        find_destination(source, link)
    };
    if wiki && label_first && source.contains('|') {
        let (name, part) = match link.label.split_once('#') {
            Some((name, part)) => (name.trim(), Some(part.trim().to_owned())),
            None => (link.label.as_str(), None),
        };
        at = find_target_place(source, name, |before| before.trim_end().ends_with('|'));
        target = name.to_owned();
        fragment = part;
    }
    if wiki && label_first {
        // In such vaults `#from,1:#to` is a part of a note, and `name.*` are
        // many notes.
        fragment = fragment.map(|it| it.split([',', ':']).next().unwrap_or("").to_owned());
        if target.ends_with('*') {
            return None;
        }
    }
    if wiki && fragment.is_none() {
        // `[[note^block]]` and `[[^block]]` leave out the `#`.
        if let Some((name, block)) = target.split_once('^')
            && !block.is_empty()
            && block
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'-')
        {
            at = at.map(|range| range.start..range.start + name.trim_end().len());
            fragment = Some(format!("^{block}"));
            target = name.trim_end().to_owned();
        }
    }
    // `[x]([[note]])` is a wikilink in brackets.
    if !wiki && target.contains("[[") {
        return None;
    }
    if target.is_empty() && fragment.as_deref().is_none_or(str::is_empty) {
        return None;
    }
    let at = at
        .map(|range| link.span.start + range.start..link.span.start + range.end)
        .filter(|_| !target.is_empty());
    let key = keys
        .iter()
        .filter(|_| link.span.start < document.body.start)
        .find(|(_, span)| span.contains(&link.span.start))
        .map(|(key, _)| key.clone());
    let line = document.line_number_at(link.span.start);
    let before = &document.text[document.line_starts[line - 1]..link.span.start];
    Some(NoteLink {
        kind: link.kind,
        line,
        leads: before.trim_matches(['#', '-', '*', ' ', '\t']).is_empty(),
        span: link.span.clone(),
        target,
        fragment,
        at,
        key,
    })
}

/// Returns the range of `wanted` in `source`, behind text for which `fits`
/// returns `true`.
fn find_target_place(
    source: &str,
    wanted: &str,
    fits: impl Fn(&str) -> bool,
) -> Option<Range<usize>> {
    if wanted.is_empty() {
        return None;
    }
    let mut places = memchr::memmem::find_iter(source.as_bytes(), wanted);
    let start = places.find(|start| fits(&source[..*start]))?;
    Some(start..start + wanted.len())
}

/// Returns the range of the path in one of Markdown's own links.
fn find_destination(source: &str, link: &DocumentLink) -> Option<Range<usize>> {
    if link.kind == LinkKind::Import {
        return source[1..]
            .starts_with(&link.target)
            .then(|| 1..1 + link.target.len());
    }
    if !matches!(link.kind, LinkKind::Inline | LinkKind::Image) {
        return None;
    }
    // Searches backwards for the last `](` with this target: a title may
    // contain another.
    let mut before = source.len();
    while let Some(open) = source[..before].rfind("](") {
        before = open;
        let start = open + 2;
        let rest = &source[start..];
        let start = start + (rest.len() - rest.trim_start().len());
        let pointed = source[start..].starts_with('<');
        let start = start + usize::from(pointed);
        let rest = &source[start..];
        let end = if pointed {
            rest.find(['#', '>', '\n'])
        } else {
            rest.find(|c: char| {
                c == '#' || c == ')' && !link.target.contains(')') || c.is_whitespace()
            })
        };
        let raw = &rest[..end.unwrap_or(rest.len())];
        if document::percent_decode(raw) == link.target {
            return Some(start..start + raw.len());
        }
        // The target has brackets of its own, as in `(a_(b).md)`.
        if let Some(raw) = raw.get(..link.target.len())
            && raw == link.target
        {
            return Some(start..start + raw.len());
        }
    }
    None
}
