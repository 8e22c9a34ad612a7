//! Links of every kind that a Markdown text can hold.
//!
//! The grammar's own links come from the parser; wikilinks, bare URLs and
//! `@path` imports are looked for here, never inside code or HTML.

use std::borrow::Cow;
use std::ops::Range;

use super::FrontMatter;
use super::walk::BodyOutline;

/// A link of any kind, with what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentLink {
    /// The form in which it is written.
    pub kind: LinkKind,
    /// Where it leads, percent signs decoded unless it is a URL, and without
    /// the fragment. Empty for a link into the same document.
    pub target: String,
    /// The text behind `#`; a block of Obsidian's begins with `^`.
    pub fragment: Option<String>,
    /// The text that a reader sees.
    pub label: String,
    /// The bytes of the link, markup included.
    pub span: Range<usize>,
}

/// The syntax of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `[[note]]`, also in table cells and in front matter.
    Wiki,
    /// `![[note]]`
    Embed,
    /// `[text](target)`
    Inline,
    /// `![text](target)`
    Image,
    /// `[text][label]`, `[label][]` and `[label]`
    Reference,
    /// `<https://example.org>` and bare URLs.
    Auto,
    /// `@path`, as agents read it in their instruction files.
    Import,
}

impl DocumentLink {
    pub(super) fn from_destination(
        kind: LinkKind,
        destination: &str,
        label: String,
        span: Range<usize>,
    ) -> DocumentLink {
        let (target, fragment) = split_fragment(destination);
        let decode = |part: &str| {
            if has_url_scheme(destination) {
                part.to_owned()
            } else {
                percent_decode(part).into_owned()
            }
        };
        DocumentLink {
            kind,
            target: decode(target),
            fragment: fragment.map(decode),
            label,
            span,
        }
    }
}

/// Finds all links of a text, in text order. `source` is the text with LF for
/// lone CR.
pub(super) fn find_links(
    source: &str,
    body: &Range<usize>,
    front_matter: Option<&FrontMatter>,
    outline: &mut BodyOutline,
) -> Vec<DocumentLink> {
    let mut links = Vec::new();
    if let Some(front_matter) = front_matter {
        collect_front_matter_links(source, front_matter.yaml.clone(), &mut links);
    }
    let grammar = std::mem::take(&mut outline.links);
    let mut wiki = Vec::new();
    scan_wikilinks(source, body.clone(), &outline.opaque, |link| {
        // `[[1]](url)` is a link of the grammar whose text has brackets.
        if range_covering(&outline.linked, link.span.start)
            .is_none_or(|it| it.start != link.span.start)
        {
            wiki.push(link);
        }
    });
    // `[[note]]` stays a wikilink where `[note]: url` is defined too.
    let in_wiki = |link: &DocumentLink| {
        let index = wiki.partition_point(|wiki| wiki.span.start < link.span.start);
        link.kind == LinkKind::Reference && index > 0 && link.span.end < wiki[index - 1].span.end
    };
    links.extend(grammar.into_iter().filter(|link| !in_wiki(link)));
    let free = |at: usize| {
        let index = wiki.partition_point(|link| link.span.start <= at);
        range_covering(&outline.opaque, at).is_none()
            && range_covering(&outline.linked, at).is_none()
            && (index == 0 || wiki[index - 1].span.end <= at)
    };
    collect_bare_urls(source, body.clone(), free, &mut links);
    collect_imports(source, body.clone(), free, &mut links);
    links.extend(wiki);
    links.sort_by_key(|link| link.span.start);
    links
}

/// Returns a heading's text with `[[target|alias]]` as the reader sees it.
/// `code` are the parts of the text where brackets are only brackets.
pub(super) fn without_wiki_marks<'a>(text: &'a str, code: &[Range<usize>]) -> Cow<'a, str> {
    if !text.contains("[[") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    scan_wikilinks(text, 0..text.len(), code, |link| {
        out.push_str(&text[at..link.span.start]);
        out.push_str(&link.label);
        at = link.span.end;
    });
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// Parses the import whose `@` is at `at`, and returns where it ends and its
/// path.
pub(super) fn parse_import_at(source: &str, at: usize) -> Option<(usize, String)> {
    let rest = &source[at + 1..];
    let mut path = String::new();
    let mut end = 0;
    let mut chars = rest.char_indices().peekable();
    while let Some((index, char)) = chars.next() {
        match char {
            '\\' if chars.peek().is_some_and(|(_, next)| *next == ' ') => {
                chars.next();
                path.push(' ');
                end = index + 2;
            }
            '`' | '|' | '<' | '>' | '"' | '\\' | '@' => break,
            char if char.is_whitespace() || char.is_control() => break,
            char => {
                path.push(char);
                end = index + char.len_utf8();
            }
        }
    }
    let trailing: &[char] = &[
        '.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '*', '_', '…',
    ];
    let kept = path.trim_end_matches(trailing).len();
    end -= path.len() - kept;
    path.truncate(kept);
    let path_like = path.contains(['/', '.', '~']) && !path.starts_with("//");
    (path_like && path.contains(char::is_alphanumeric)).then_some((at + 1 + end, path))
}

/// Returns the range of a sorted, disjoint list that holds `at`.
fn range_covering(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let index = ranges.partition_point(|range| range.start <= at);
    ranges[..index].last().filter(|range| at < range.end)
}

fn collect_front_matter_links(source: &str, yaml: Range<usize>, links: &mut Vec<DocumentLink>) {
    // The text on the line before the link is read up to `seen`, so that a line
    // with many links is read once.
    let mut seen = yaml.start;
    let (mut double, mut single, mut first) = (false, false, None);
    scan_wikilinks(source, yaml.clone(), &[], |link| {
        for c in source[seen..link.span.start].chars() {
            match c {
                '\n' => (double, single, first) = (false, false, None),
                '"' => double = true,
                '\'' => single = true,
                _ => {}
            }
            if first.is_none() && !c.is_whitespace() {
                first = Some(c);
            }
        }
        seen = link.span.start;
        // Unquoted, `[[1, 2]]` is a list in a list.
        let list = link.target.contains(',') && !double && !single;
        // In double quotes two backslashes are one.
        let before = &source.as_bytes()[yaml.start..link.span.start];
        let backslashes = before.iter().rev().take_while(|it| **it == b'\\').count();
        let escaped = double && backslashes % 4 == 2;
        if first != Some('#') && !list && !escaped {
            links.push(link);
        }
    });
}

/// Calls `found` for each wikilink of `within` that no range of `opaque` touches.
fn scan_wikilinks(
    source: &str,
    within: Range<usize>,
    opaque: &[Range<usize>],
    mut found: impl FnMut(DocumentLink),
) {
    let bytes = &source.as_bytes()[..within.end];
    let finder = memchr::memmem::Finder::new("[[");
    let mut at = within.start;
    while let Some(next) = finder.find(&bytes[at..]) {
        let open = at + next;
        if let Some(range) = range_covering(opaque, open) {
            at = range.end;
            continue;
        }
        if is_escaped(bytes, open) {
            at = open + 1;
            continue;
        }
        match find_wikilink_close(bytes, open + 2) {
            Ok(close) => {
                at = close + 2;
                let inner = &source[open + 2..close];
                let code = range_covering(opaque, close).is_some()
                    || opaque
                        .get(opaque.partition_point(|range| range.start <= open))
                        .is_some_and(|range| range.start < target_end(inner) + open + 2);
                if code {
                    at = open + 2;
                } else if let Some(mut link) = parse_wikilink(inner) {
                    let embed = open > within.start
                        && bytes[open - 1] == b'!'
                        && !is_escaped(bytes, open - 1);
                    let start = if embed { open - 1 } else { open };
                    link.kind = if embed {
                        LinkKind::Embed
                    } else {
                        LinkKind::Wiki
                    };
                    link.span = start..close + 2;
                    found(link);
                }
            }
            Err(resume) => at = resume,
        }
    }
}

/// Finds the `]]` that closes a wikilink whose inside begins at `from`; an
/// error holds the place where the search continues. No byte is read twice,
/// however many brackets there are.
fn find_wikilink_close(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let mut at = from;
    let mut in_alias = false;
    while let Some(next) = memchr::memchr3(b'[', b']', b'\n', &bytes[at..]) {
        let here = at + next;
        in_alias = in_alias || bytes[at..here].contains(&b'|');
        let twice = bytes.get(here + 1) == Some(&bytes[here]);
        match bytes[here] {
            b']' if twice => return Ok(here),
            b'[' if twice => return Err(here),
            b'\n' => return Err(here + 1),
            // Of three brackets the inner two may open a link.
            b'[' if here == from => return Err(from - 1),
            // A name holds no brackets; an alias may.
            _ if !in_alias => return Err(here + 1),
            _ => at = here + 1,
        }
    }
    Err(bytes.len())
}

fn target_end(inner: &str) -> usize {
    inner.find('|').unwrap_or(inner.len())
}

/// Parses the text between the brackets.
fn parse_wikilink(inner: &str) -> Option<DocumentLink> {
    let end = target_end(inner);
    // In a table cell the bar is written `\|`.
    let name = inner[..end]
        .strip_suffix('\\')
        .unwrap_or(&inner[..end])
        .trim();
    let alias = inner
        .get(end + 1..)
        .map(str::trim)
        .filter(|alias| !alias.is_empty());
    let (target, fragment) = split_fragment(name);
    if target.is_empty() && fragment.is_none() {
        return None;
    }
    Some(DocumentLink {
        kind: LinkKind::Wiki,
        target: target.to_owned(),
        fragment: fragment.map(str::to_owned),
        label: alias.unwrap_or(name).to_owned(),
        span: 0..0,
    })
}

fn collect_bare_urls(
    source: &str,
    within: Range<usize>,
    free: impl Fn(usize) -> bool,
    links: &mut Vec<DocumentLink>,
) {
    let bytes = &source.as_bytes()[..within.end];
    let finder = memchr::memmem::Finder::new("://");
    let mut at = within.start;
    while let Some(next) = finder.find(&bytes[at..]) {
        let colon = at + next;
        let scheme = bytes[at..colon]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphabetic())
            .count();
        let start = colon - scheme;
        at = colon + 3;
        let known = [&b"http"[..], b"https"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(&bytes[start..colon]));
        let joined = start > within.start && bytes[start - 1].is_ascii_alphanumeric();
        if !known || joined || !free(start) {
            continue;
        }
        let end = find_url_end(bytes, colon + 3);
        if end > colon + 3 {
            at = end;
            let url = &source[start..end];
            links.push(DocumentLink::from_destination(
                LinkKind::Auto,
                url,
                url.to_owned(),
                start..end,
            ));
        }
    }
}

/// Returns the end of a bare URL. Punctuation that closes the sentence around
/// it and a bracket that was opened before it are not part of it.
fn find_url_end(bytes: &[u8], from: usize) -> usize {
    let stop = |byte: &u8| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || matches!(
                byte,
                b'<' | b'>' | b'"' | b'`' | b'|' | b'[' | b']' | b'\\' | b'{' | b'}'
            )
    };
    let mut end = bytes[from..]
        .iter()
        .position(stop)
        .map_or(bytes.len(), |len| from + len);
    let count = |mark: u8| {
        bytes[from..end]
            .iter()
            .filter(|byte| **byte == mark)
            .count()
    };
    let mut unopened = count(b')').saturating_sub(count(b'('));
    while end > from {
        match bytes[end - 1] {
            b')' if unopened > 0 => unopened -= 1,
            b'?' | b'!' | b'.' | b',' | b':' | b';' | b'*' | b'_' | b'~' | b'\'' => {}
            _ => break,
        }
        end -= 1;
    }
    end
}

fn collect_imports(
    source: &str,
    within: Range<usize>,
    free: impl Fn(usize) -> bool,
    links: &mut Vec<DocumentLink>,
) {
    let bytes = &source.as_bytes()[within.clone()];
    let mut done = within.start;
    for at in memchr::memchr_iter(b'@', bytes).map(|at| within.start + at) {
        let starts_word = source[within.start..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace);
        if at < done || !starts_word || !free(at) {
            continue;
        }
        if let Some((end, path)) = parse_import_at(&source[..within.end], at) {
            done = end;
            let (target, fragment) = split_fragment(&path);
            links.push(DocumentLink {
                kind: LinkKind::Import,
                target: target.to_owned(),
                fragment: fragment.map(str::to_owned),
                label: source[at + 1..end].to_owned(),
                span: at..end,
            });
        }
    }
}

fn split_fragment(target: &str) -> (&str, Option<&str>) {
    match target.split_once('#') {
        Some((target, fragment)) => (target.trim_end(), Some(fragment.trim())),
        None => (target, None),
    }
}

fn is_escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count()
        % 2
        == 1
}

fn has_url_scheme(destination: &str) -> bool {
    destination.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    })
}

/// Encodes a text as a part of an address; [`percent_decode`] reverses it.
pub fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            it if it.is_ascii_alphanumeric() || b"-._~/".contains(&it) => out.push(it.into()),
            it => out.push_str(&format!("%{it:02X}")),
        }
    }
    out
}

/// Decodes `%20` and the like in the path of a link.
pub fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |index: usize| bytes.get(index).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    // Bytes that are no UTF-8 were not meant as percent signs.
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}
