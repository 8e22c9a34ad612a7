//! Renders a document as HTML for a page: elements and attributes of a closed
//! list, written here one by one.
//!
//! All content of a file is text. Its own HTML is shown and never passed on,
//! addresses that could run something are dropped, and an image is a path that
//! the page requests, never an address that a browser would load.

use std::fmt::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pulldown_cmark::{Alignment, CodeBlockKind, Event, LinkType, Parser, Tag, TagEnd};

use super::links::percent_encode;
use super::walk::{MAX_NESTING_DEPTH, PARSER_OPTIONS};
use super::{Document, DocumentLink, LinkKind, lines, plain};

/// The elements that the output can have, each with its attributes.
pub const ALLOWED_ELEMENTS: &[(&str, &[&str])] = &[
    ("h1", &["id"]),
    ("h2", &["id"]),
    ("h3", &["id"]),
    ("h4", &["id"]),
    ("h5", &["id"]),
    ("h6", &["id"]),
    ("p", &[]),
    ("em", &[]),
    ("strong", &[]),
    ("del", &[]),
    ("sup", &[]),
    ("code", &["class"]),
    ("pre", &["class", "data-language", "tabindex"]),
    ("blockquote", &[]),
    ("ul", &[]),
    ("ol", &["start"]),
    ("li", &["class"]),
    ("table", &[]),
    ("thead", &[]),
    ("tbody", &[]),
    ("tr", &[]),
    ("th", &["class", "scope"]),
    ("td", &["class"]),
    ("hr", &[]),
    ("br", &[]),
    ("span", &["class", "title"]),
    ("div", &["class", "tabindex"]),
    ("a", &["href", "class", "rel", "target"]),
    ("img", &["data-path", "alt"]),
];

/// The target of a link, as far as the caller knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkDestination {
    /// A file of the workspace.
    File(String),
    /// The link has no target file.
    Missing,
}

/// A document as HTML, and how much of it was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlOutput {
    /// The page's HTML, of listed elements alone.
    pub html: String,
    /// The bytes of the text behind the cut; 0 where all of it is there.
    pub left_out: usize,
}

/// Renders the body of a document. `goal` resolves a link or an image; beyond
/// `most` bytes, the rest is left out at the end of a block.
pub fn render_html(
    document: &Document,
    goal: &dyn Fn(&DocumentLink) -> LinkDestination,
    most: usize,
) -> HtmlOutput {
    let body = limit_body(document, most);
    let left_out = document.body.end - body.end;
    // As when it was parsed: deep nesting and a panic in the parser cost the
    // document its form and nothing else.
    let source = &document.text[body.clone()];
    let rendered = (plain::nesting_depth(source) <= MAX_NESTING_DEPTH)
        .then(|| {
            let write =
                AssertUnwindSafe(|| HtmlWriter::new(document, body.clone(), goal).write_body());
            catch_unwind(write).ok()
        })
        .flatten();
    let html =
        rendered.unwrap_or_else(|| format!("<pre class=\"raw\">{}</pre>", HtmlEscape(source)));
    HtmlOutput { html, left_out }
}

/// Returns the body, or as many of its top-level blocks as fit into `most`
/// bytes.
fn limit_body(document: &Document, most: usize) -> Range<usize> {
    let body = document.body.clone();
    if body.len() <= most {
        return body;
    }
    let limit = body.start + most;
    let ends = document.blocks.iter().map(|block| block.span.end);
    let whole = ends.take_while(|end| *end <= limit).max();
    let mut end = whole.filter(|end| *end > body.start).unwrap_or(limit);
    while !document.text.is_char_boundary(end) {
        end -= 1;
    }
    body.start..end
}

/// Returns the id of a heading, with a prefix of our own, so that no text can
/// take the name of a part of the page.
pub fn heading_id(title: &str) -> String {
    let mut id = String::from("h-");
    for character in title.chars().flat_map(char::to_lowercase) {
        match character {
            it if it.is_alphanumeric() => id.push(it),
            _ if id.ends_with('-') => {}
            _ => id.push('-'),
        }
    }
    id.trim_end_matches('-').to_owned()
}

struct HtmlWriter<'a> {
    document: &'a Document,
    body: Range<usize>,
    goal: &'a dyn Fn(&DocumentLink) -> LinkDestination,
    out: String,
    /// The wikilinks of the text, which the parser does not know.
    wiki: Vec<&'a DocumentLink>,
    /// The closing tag of each open link or image.
    open: Vec<&'static str>,
    /// Inside of an image, whose text is its description.
    alt: Option<String>,
    /// The place in the output where the title of an open heading begins, and
    /// its text.
    heading: Option<(usize, String)>,
    columns: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl<'a> HtmlWriter<'a> {
    fn new(
        document: &'a Document,
        body: Range<usize>,
        goal: &'a dyn Fn(&DocumentLink) -> LinkDestination,
    ) -> Self {
        let is_wiki = |link: &&DocumentLink| matches!(link.kind, LinkKind::Wiki | LinkKind::Embed);
        HtmlWriter {
            document,
            goal,
            out: String::with_capacity(body.len() * 3 / 2),
            wiki: document.links.iter().filter(is_wiki).collect(),
            body,
            open: Vec::new(),
            alt: None,
            heading: None,
            columns: Vec::new(),
            column: 0,
            in_head: false,
        }
    }

    fn write_body(mut self) -> String {
        // Lone carriage returns end lines here as they did when it was parsed.
        let source = lines::with_line_feeds(&self.document.text[self.body.clone()]);
        let start = self.body.start;
        for (event, span) in Parser::new_ext(&source, PARSER_OPTIONS).into_offset_iter() {
            self.write_event(event, span.start + start..span.end + start);
        }
        self.out
    }

    fn write_event(&mut self, event: Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(tag) => self.open_tag(tag, span),
            Event::End(tag) => self.close_tag(tag),
            Event::Text(text) => self.write_text(&text, span),
            Event::Code(code) => match &mut self.alt {
                Some(alt) => alt.push_str(&code),
                None => {
                    self.collect_heading_text(&code);
                    let _ = write!(self.out, "<code>{}</code>", HtmlEscape(&code));
                }
            },
            Event::Html(html) => {
                let _ = write!(self.out, "{}", HtmlEscape(&html));
            }
            Event::InlineHtml(html) if self.alt.is_none() => {
                let _ = write!(self.out, "<code class=\"raw\">{}</code>", HtmlEscape(&html));
            }
            Event::SoftBreak => self.write_plain_text("\n"),
            Event::HardBreak if self.alt.is_none() => self.out.push_str("<br>\n"),
            Event::HardBreak => self.write_plain_text("\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(done) => {
                let (class, sign, word) = if done {
                    ("task done", "☑", "done")
                } else {
                    ("task", "☐", "open")
                };
                let _ = write!(
                    self.out,
                    "<span class=\"{class}\" title=\"{word}\">{sign}</span> "
                );
            }
            Event::FootnoteReference(name) => {
                let _ = write!(self.out, "<sup>[{}]</sup>", HtmlEscape(&name));
            }
            Event::InlineHtml(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn open_tag(&mut self, tag: Tag<'_>, span: Range<usize>) {
        if self.alt.is_some() {
            return self.open.push("");
        }
        match tag {
            Tag::Paragraph => self.out.push_str("<p>"),
            Tag::Heading { level, .. } => {
                let _ = write!(self.out, "<h{} id=\"", level as u8);
                self.heading = Some((self.out.len(), String::new()));
            }
            Tag::BlockQuote(_) => self.out.push_str("<blockquote>\n"),
            Tag::CodeBlock(kind) => {
                // The page can scroll what is too wide, also by keyboard.
                self.out.push_str("<pre tabindex=\"0\"");
                if let CodeBlockKind::Fenced(language) = kind {
                    let word = language.split([' ', ',', '{']).next().unwrap_or_default();
                    if !word.is_empty() {
                        let _ = write!(self.out, " data-language=\"{}\"", HtmlEscape(word));
                    }
                }
                self.out.push_str("><code>");
            }
            Tag::HtmlBlock => self.out.push_str("<pre class=\"raw\" tabindex=\"0\">"),
            Tag::List(Some(1)) => self.out.push_str("<ol>\n"),
            Tag::List(Some(first)) => {
                let _ = writeln!(self.out, "<ol start=\"{first}\">");
            }
            Tag::List(None) => self.out.push_str("<ul>\n"),
            Tag::Item => self.out.push_str("<li>"),
            Tag::FootnoteDefinition(name) => {
                let _ = write!(
                    self.out,
                    "<div class=\"footnote\"><sup>[{}]</sup> ",
                    HtmlEscape(&name)
                );
            }
            Tag::Table(columns) => {
                self.columns = columns;
                self.out
                    .push_str("<div class=\"table\" tabindex=\"0\"><table>\n");
            }
            Tag::TableHead => {
                self.in_head = true;
                self.column = 0;
                self.out.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.out.push_str("<tr>");
            }
            Tag::TableCell => self.open_cell(),
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Strikethrough => self.out.push_str("<del>"),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => self.open_link(link_type, &dest_url, span),
            Tag::Image { dest_url, .. } => self.open_image(&dest_url, span),
            _ => {}
        }
    }

    fn close_tag(&mut self, tag: TagEnd) {
        if self.alt.is_some() {
            let closes = self.open.pop();
            if closes == Some("image") {
                let alt = self.alt.take().unwrap_or_default();
                let _ = write!(self.out, "{}\">", HtmlEscape(&alt));
            } else if closes == Some("dropped image") {
                let alt = self.alt.take().unwrap_or_default();
                let _ = write!(self.out, "{}</span>", HtmlEscape(&alt));
            }
            return;
        }
        let closing = match tag {
            TagEnd::Paragraph => "</p>\n",
            TagEnd::Heading(level) => {
                // The id depends on the whole title, so it is inserted where
                // the tag began.
                if let Some((at, title)) = self.heading.take() {
                    let id = format!("{}\">", HtmlEscape(&heading_id(&title)));
                    self.out.insert_str(at, &id);
                }
                let _ = writeln!(self.out, "</h{}>", level as u8);
                return;
            }
            TagEnd::BlockQuote(_) => "</blockquote>\n",
            TagEnd::CodeBlock => "</code></pre>\n",
            TagEnd::HtmlBlock => "</pre>\n",
            TagEnd::List(true) => "</ol>\n",
            TagEnd::List(false) => "</ul>\n",
            TagEnd::Item => "</li>\n",
            TagEnd::FootnoteDefinition => "</div>\n",
            TagEnd::Table => "</tbody></table></div>\n",
            TagEnd::TableHead => {
                self.in_head = false;
                "</tr></thead><tbody>\n"
            }
            TagEnd::TableRow => "</tr>\n",
            TagEnd::TableCell => {
                if self.in_head {
                    "</th>"
                } else {
                    "</td>"
                }
            }
            TagEnd::Emphasis => "</em>",
            TagEnd::Strong => "</strong>",
            TagEnd::Strikethrough => "</del>",
            TagEnd::Link => self.open.pop().unwrap_or_default(),
            _ => "",
        };
        self.out.push_str(closing);
    }

    fn open_cell(&mut self) {
        let class = match self.columns.get(self.column) {
            Some(Alignment::Center) => " class=\"center\"",
            Some(Alignment::Right) => " class=\"right\"",
            _ => "",
        };
        self.column += 1;
        let _ = if self.in_head {
            write!(self.out, "<th scope=\"col\"{class}>")
        } else {
            write!(self.out, "<td{class}>")
        };
    }

    /// Writes text as it is, except for the wikilinks in it.
    fn write_text(&mut self, text: &str, span: Range<usize>) {
        // Escapes and entities make the text differ from the source, and then
        // it contains no link.
        let as_written = self.document.text.get(span.clone()) == Some(text);
        if self.alt.is_some() || !as_written {
            return self.write_plain_text(text);
        }
        let mut at = span.start;
        let first = self.wiki.partition_point(|link| link.span.end <= at);
        for index in first..self.wiki.len() {
            let link = self.wiki[index];
            if link.span.start >= span.end {
                break;
            }
            if link.span.start > at {
                self.write_plain_text(&self.document.text[at..link.span.start]);
            }
            // A link comes in several pieces, of which the first writes it.
            if link.span.start >= at {
                self.write_wikilink(link);
            }
            at = link.span.end.min(span.end);
        }
        if at < span.end {
            self.write_plain_text(&self.document.text[at..span.end]);
        }
    }

    fn write_plain_text(&mut self, text: &str) {
        self.collect_heading_text(text);
        match &mut self.alt {
            Some(alt) => alt.push_str(text),
            None => {
                let _ = write!(self.out, "{}", HtmlEscape(text));
            }
        }
    }

    /// Adds to the title of an open heading, of which its id is made.
    fn collect_heading_text(&mut self, text: &str) {
        if let Some((_, title)) = &mut self.heading {
            title.push_str(text);
        }
    }

    fn write_wikilink(&mut self, link: &DocumentLink) {
        self.collect_heading_text(&link.label);
        let label = HtmlEscape(&link.label);
        // A link in a link is its text.
        if !self.open.is_empty() {
            let _ = write!(self.out, "{label}");
            return;
        }
        let _ = match (self.goal)(link) {
            LinkDestination::File(path) if link.kind == LinkKind::Embed && is_image_path(&path) => {
                let path = HtmlEscape(&path);
                write!(self.out, "<img data-path=\"{path}\" alt=\"{label}\">")
            }
            LinkDestination::File(path) => {
                let href = page_address(&path, link.fragment.as_deref());
                write!(self.out, "<a class=\"wiki\" href=\"{href}\">{label}</a>")
            }
            LinkDestination::Missing => {
                let why = "There is no such document";
                write!(
                    self.out,
                    "<span class=\"missing\" title=\"{why}\">{label}</span>"
                )
            }
        };
    }

    fn open_link(&mut self, kind: LinkType, destination: &str, span: Range<usize>) {
        // Not within one another, as HTML has it.
        if !self.open.is_empty() {
            return self.open.push("");
        }
        let destination = match kind {
            LinkType::Email => format!("mailto:{destination}"),
            _ => destination.to_owned(),
        };
        let closing = match classify_scheme(&destination) {
            AddressScheme::Web => {
                let _ = write!(
                    self.out,
                    "<a class=\"outside\" rel=\"noopener noreferrer\" target=\"_blank\" href=\"{}\">",
                    HtmlEscape(&destination)
                );
                "</a>"
            }
            AddressScheme::Other => {
                self.out.push_str(
                    "<span class=\"dropped\" title=\"This kind of address is not followed\">",
                );
                "</span>"
            }
            AddressScheme::None => {
                let link = DocumentLink::from_destination(
                    LinkKind::Inline,
                    &destination,
                    String::new(),
                    span,
                );
                match (self.goal)(&link) {
                    LinkDestination::File(path) => {
                        let href = page_address(&path, link.fragment.as_deref());
                        let _ = write!(self.out, "<a href=\"{href}\">");
                        "</a>"
                    }
                    LinkDestination::Missing => {
                        let why = "There is no such file";
                        let _ = write!(self.out, "<span class=\"missing\" title=\"{why}\">");
                        "</span>"
                    }
                }
            }
        };
        self.open.push(closing);
    }

    fn open_image(&mut self, destination: &str, span: Range<usize>) {
        let link =
            DocumentLink::from_destination(LinkKind::Image, destination, String::new(), span);
        let found = match classify_scheme(destination) {
            AddressScheme::None => (self.goal)(&link),
            AddressScheme::Web | AddressScheme::Other => LinkDestination::Missing,
        };
        self.alt = Some(String::new());
        match found {
            LinkDestination::File(path) if is_image_path(&path) => {
                let _ = write!(self.out, "<img data-path=\"{}\" alt=\"", HtmlEscape(&path));
                self.open.push("image");
            }
            _ => {
                let why = "Only images of this workspace are shown";
                let _ = write!(self.out, "<span class=\"dropped\" title=\"{why}\">");
                self.open.push("dropped image");
            }
        }
    }
}

enum AddressScheme {
    None,
    /// An address that a person may follow to another page.
    Web,
    /// Any other scheme: `javascript:`, `data:`, `file:` and their like.
    Other,
}

fn classify_scheme(destination: &str) -> AddressScheme {
    // Browsers drop white space and control characters before they look.
    let bare: String = destination
        .chars()
        .filter(|it| !it.is_whitespace() && !it.is_control())
        // The scheme is at the start; an address may be as long as the file.
        .take(64)
        .collect();
    if bare.starts_with("//") || bare.starts_with('\\') || bare.starts_with("/\\") {
        return AddressScheme::Other;
    }
    let head = bare.split(['/', '?', '#']).next().unwrap_or_default();
    match head.split_once(':') {
        None => AddressScheme::None,
        Some((scheme, _)) => match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" | "mailto" => AddressScheme::Web,
            _ => AddressScheme::Other,
        },
    }
}

/// Returns the address of a document on the page.
fn page_address(path: &str, fragment: Option<&str>) -> String {
    let mut address = format!("#/document/{}", percent_encode(path));
    if let Some(fragment) = fragment.filter(|it| !it.is_empty()) {
        let last = fragment.rsplit('#').next().unwrap_or(fragment);
        address += &format!("?at={}", percent_encode(&heading_id(last)));
    }
    address
}

/// The image formats that are shown, with their media types.
pub const IMAGE_TYPES: [(&str, &str); 6] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
];

fn is_image_path(path: &str) -> bool {
    image_media_type(path).is_some()
}

/// Returns the media type of an image with this name, if it is one that is
/// shown.
pub fn image_media_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    let known = IMAGE_TYPES.iter();
    let mut same = known.filter(|(it, _)| extension.eq_ignore_ascii_case(it));
    same.next().map(|(_, kind)| *kind)
}

/// Returns a text as HTML text or as the value of an attribute in double
/// quotes.
pub fn escape_html(text: &str) -> String {
    HtmlEscape(text).to_string()
}

/// A text as HTML text or as the value of an attribute in double quotes.
struct HtmlEscape<'a>(&'a str);

impl std::fmt::Display for HtmlEscape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'', '\0']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'\'' => "&#39;",
                _ => "\u{fffd}",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

#[cfg(test)]
mod tests;
