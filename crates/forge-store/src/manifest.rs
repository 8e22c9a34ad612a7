//! `_MANIFEST.md`: the map of the workspace, in every shape in which it exists.
//!
//! Reading never fails: what is not understood is left alone. Changes are
//! edits of rows and lines ([`edit`]); nothing here writes a file.

use std::collections::HashSet;
use std::ops::Range;

use forge_text::document::{self, Document, Row, Table, cell_shown, short_name};

use crate::workspace::{Error, RelPath, Workspace, slug};

mod edit;
mod listing;
#[cfg(test)]
mod tests;

pub use edit::{New, link};

/// The name of the manifest.
pub const FILE: &str = "_MANIFEST.md";

/// The version of the format that is written.
pub const VERSION: &str = "2.1.3";
/// The version of the summaries that are written.
pub const SUMMARY_FORMAT: u32 = 2;

/// The most folders in which a domain is searched that is not where the Hub Map
/// names it.
const MAX_PARENTS: usize = 32;

/// The marker of a manifest that a tool maintains. It is that of the tools
/// before us, so that both recognize the same workspace.
const MARKER: &str = "memex-managed";
const FORMAT: &str = "summary-format-version";

/// The most rows of the Hub Map that name a folder. Every file is compared with
/// every domain, so a manifest must not have any number of them; `lint` reports
/// the rows that are left out.
pub const MAX_HUBS: usize = 400;

/// The part that a tool plays in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// There is a marker: everything is kept up to date.
    Full,
    /// Tiers and no marker: what is there is used, and nothing is required.
    Compatible,
    /// No manifest, or a file of that name which is not one.
    Absent,
}

/// The age of a marker's version, compared with [`VERSION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    Older,
    Current,
    Newer,
}

/// A part of a manifest, by what its tables list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    Tier1,
    Tier2,
    Tier3,
    HubMap,
    Config,
}

/// An entry of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub part: Part,
    /// The domain that it belongs to, in Tier 2 and in the Hub Map; the key in
    /// the Config table.
    pub name: String,
    /// The target of the cell: without brackets, alias, heading and `.md`.
    pub target: String,
    /// Summary, purpose or reason.
    pub text: String,
    /// Volatility, freshness or date.
    pub note: String,
    /// Row and table of the entry; none for an entry in a list or a line.
    row: Option<(usize, usize)>,
}

/// A parsed `_MANIFEST.md`, or a hub page.
#[derive(Debug, Clone)]
pub struct Manifest {
    document: Document,
    marker: Option<Marker>,
    format: Option<Marker>,
    sheets: Vec<Sheet>,
    entries: Vec<Entry>,
    /// The folder of each row of the Hub Map, in its order.
    folders: Vec<Option<RelPath>>,
    /// Whether it is a hub page, all of whose tables count.
    page: bool,
}

/// `<!-- name:value -->`
#[derive(Debug, Clone, PartialEq, Eq)]
struct Marker {
    value: Range<usize>,
}

/// A table with the meaning of its columns.
#[derive(Debug, Clone)]
struct Sheet {
    part: Part,
    domain: String,
    table: Table,
    columns: Columns,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Columns {
    name: Option<usize>,
    target: Option<usize>,
    text: Option<usize>,
    note: Option<usize>,
}

impl Entry {
    /// Returns `true` if it is a row of a table, and not a line or an item.
    pub fn is_row(&self) -> bool {
        self.row.is_some()
    }

    /// Returns all fields of the entry, without its place.
    pub fn words(&self) -> (Part, [&str; 4]) {
        let words = [&self.name, &self.target, &self.text, &self.note];
        (self.part, words.map(String::as_str))
    }

    /// Returns `true` if both have the same target, whatever else was changed.
    /// A marker may be in the cell too.
    fn leads_as(&self, other: &Entry) -> bool {
        let target = |it: &Entry| it.target.split("<!--").next().map(str::to_owned);
        self.part == other.part && target(self) == target(other)
    }
}

impl Manifest {
    /// Reads the manifest of a workspace; `None` if it is missing or cannot be
    /// read.
    pub fn read(workspace: &Workspace) -> Option<Manifest> {
        Manifest::load(workspace).ok().flatten()
    }

    /// Reads the manifest as [`Manifest::read`] for a caller that will change
    /// it: a file that cannot be read is an error.
    pub fn load(workspace: &Workspace) -> Result<Option<Manifest>, Error> {
        let text = workspace.text_if_there(&path())?;
        Ok(text.map(|text| Manifest::parse(text).settled(workspace)))
    }

    /// Parses a text. Folders are as the text names them.
    pub fn parse(text: impl Into<String>) -> Manifest {
        let document = document::parse(text);
        let parts = parts(&document);
        let mut sheets = Vec::new();
        for (section, place) in document.sections.iter().zip(&parts) {
            let Some(Place { part, inner }) = *place else {
                continue;
            };
            let domain = match part {
                Part::Tier2 if inner => short_name(&section.title),
                _ => String::new(),
            };
            for table in document.tables(&section.own) {
                sheets.push(Sheet {
                    columns: columns(&document, part, &table.header),
                    domain: domain.clone(),
                    part,
                    table,
                });
            }
        }
        let mut entries = Vec::new();
        for (at, sheet) in sheets.iter().enumerate() {
            for (row, _) in sheet.table.rows.iter().enumerate() {
                entries.push(sheet.entry(&document, at, row));
            }
        }
        linked(&document, &parts, &sheets, &mut entries);
        let format = marker(&document, FORMAT);
        let marker =
            marker(&document, MARKER).or_else(|| marker(&document, "memory-forge-managed"));
        let mut manifest = Manifest {
            document,
            marker,
            format,
            sheets,
            entries,
            folders: Vec::new(),
            page: false,
        };
        let hubs = manifest.hub_rows();
        let hubs = hubs.iter().take(MAX_HUBS);
        manifest.folders = hubs.map(|hub| named_folder(hub)).collect();
        manifest
    }

    /// Parses a hub page: each of its tables lists files.
    pub fn parse_page(text: impl Into<String>) -> Manifest {
        let document = document::parse(text);
        let sheets: Vec<Sheet> = document
            .tables(&document.body)
            .into_iter()
            .map(|table| Sheet {
                columns: columns(&document, Part::Tier2, &table.header),
                domain: String::new(),
                part: Part::Tier2,
                table,
            })
            .collect();
        let rows = sheets.iter().enumerate();
        let rows =
            rows.flat_map(|(at, sheet)| (0..sheet.table.rows.len()).map(move |row| (at, row)));
        let entries = rows.map(|(at, row)| sheets[at].entry(&document, at, row));
        Manifest {
            entries: entries.collect(),
            marker: None,
            format: None,
            folders: Vec::new(),
            page: true,
            sheets,
            document,
        }
    }

    /// Resolves the folders on disk: domains may be in a folder that the Hub
    /// Map does not name.
    fn settled(mut self, workspace: &Workspace) -> Manifest {
        let there = |path: &RelPath| workspace.absolute(path).is_dir();
        let mut parents: Vec<RelPath> = self
            .folders
            .iter()
            .flatten()
            .filter(|folder| there(folder))
            .filter_map(RelPath::parent)
            .collect();
        parents.sort();
        parents.dedup();
        // Every missing folder is searched in each of these.
        parents.truncate(MAX_PARENTS);
        let mut below_root: Option<Vec<RelPath>> = None;
        for folder in self.folders.iter_mut().flatten() {
            if there(folder) {
                continue;
            }
            let inside = |parents: &[RelPath]| {
                let joined = parents.iter().filter_map(|p| p.join(folder.as_str()).ok());
                joined.into_iter().find(there)
            };
            let found = inside(&parents)
                .or_else(|| inside(below_root.get_or_insert_with(|| folders_of_root(workspace))));
            if let Some(found) = found {
                *folder = found;
            }
        }
        self
    }

    /// Returns the parsed document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the text of the manifest.
    pub fn text(&self) -> &str {
        &self.document.text
    }

    /// Returns how much a tool may do in this manifest.
    pub fn mode(&self) -> Mode {
        let tiers = [Part::Tier1, Part::Tier2, Part::Tier3, Part::HubMap];
        let parts = parts(&self.document);
        let mut listed = parts.iter().flatten().map(|place| place.part);
        match self.marker {
            Some(_) => Mode::Full,
            None if listed.any(|part| tiers.contains(&part)) => Mode::Compatible,
            None => Mode::Absent,
        }
    }

    /// Returns the marker's version; empty when it has none.
    pub fn version(&self) -> Option<&str> {
        let marker = self.marker.as_ref()?;
        Some(self.document.str(&marker.value))
    }

    /// Returns the age of the marker's version; `None` without a marker.
    pub fn age(&self) -> Option<Age> {
        let number = |text: &str| -> Vec<u64> {
            let parts = text.trim().split('.').map(|part| part.parse().unwrap_or(0));
            let mut parts: Vec<u64> = parts.collect();
            // `2.1` and `2.1.0` are the same version.
            while parts.last() == Some(&0) {
                parts.pop();
            }
            parts
        };
        Some(match number(self.version()?).cmp(&number(VERSION)) {
            std::cmp::Ordering::Less => Age::Older,
            std::cmp::Ordering::Equal => Age::Current,
            std::cmp::Ordering::Greater => Age::Newer,
        })
    }

    /// Returns the version of the summaries, if the manifest states one.
    pub fn summary_format(&self) -> Option<u32> {
        let marker = self.format.as_ref()?;
        self.document.str(&marker.value).trim().parse().ok()
    }

    /// Returns all entries, in text order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entries of one part.
    pub fn part(&self, part: Part) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.part == part)
    }

    /// Returns the value of a key in the Config table; keys are in lower case
    /// with dashes.
    pub fn config(&self, key: &str) -> Option<&str> {
        let entry = self.part(Part::Config).find(|entry| entry.name == key)?;
        Some(&entry.target)
    }

    /// Returns `true` if it has a table that could list files.
    pub fn has_table(&self) -> bool {
        !self.sheets.is_empty()
    }

    /// Returns the rows of the Hub Map with their folders. Without a Hub Map,
    /// the domains of Tier 2 take its place.
    pub fn hub_map(&self) -> Vec<(&Entry, Option<&RelPath>)> {
        let folders = self.folders.iter().map(Option::as_ref);
        self.hub_rows().into_iter().zip(folders).collect()
    }

    /// Returns how many rows of the Hub Map are beyond [`MAX_HUBS`].
    pub fn hubs_left_out(&self) -> usize {
        self.hub_rows().len().saturating_sub(MAX_HUBS)
    }

    /// Returns the folders of the Hub Map that hold knowledge.
    pub fn domains(&self) -> Vec<String> {
        let mut domains: Vec<String> = Vec::new();
        for folder in self.folders.iter().flatten() {
            let first = folder.components().next().unwrap_or_default();
            // These folders have roles of their own.
            let own = first.starts_with('.') || ["memory", "scratch"].contains(&first);
            if !own && !domains.iter().any(|it| it == folder.as_str()) {
                domains.push(folder.to_string());
            }
        }
        domains
    }

    /// Returns the files that Tier 3 lists.
    pub fn retired(&self) -> Retired {
        let targets = self.part(Part::Tier3).map(|entry| key(&entry.target));
        Retired {
            targets: targets.filter(|target| !target.is_empty()).collect(),
        }
    }

    fn hub_rows(&self) -> Vec<&Entry> {
        let rows: Vec<&Entry> = self.part(Part::HubMap).collect();
        if !rows.is_empty() {
            return rows;
        }
        let leads = |entry: &&Entry| entry.row.is_none() && is_hub_link(&entry.target);
        let mut seen: HashSet<&str> = HashSet::new();
        let mut rows: Vec<&Entry> = self.part(Part::Tier2).filter(leads).collect();
        rows.retain(|entry| seen.insert(&entry.name));
        rows
    }
}

/// Files that the manifest keeps for reference only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retired {
    targets: std::collections::HashSet<String>,
}

impl Retired {
    /// Returns `true` if no file is listed.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns `true` if a row of Tier 3 names this file: by its whole path, or
    /// by the end of it.
    pub fn holds(&self, path: &str) -> bool {
        if self.targets.is_empty() {
            return false;
        }
        let path = key(path);
        let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        std::iter::once(path.as_str())
            .chain(ends)
            .any(|end| self.targets.contains(end))
    }
}

/// Returns the path of the manifest.
pub fn path() -> RelPath {
    RelPath::new(FILE).expect("a constant that is a valid path")
}

/// Returns the name under which targets and paths are compared.
fn key(target: &str) -> String {
    let target = target.strip_suffix(".md").unwrap_or(target);
    target.trim_start_matches("./").to_lowercase()
}

/// The place of a section in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    part: Part,
    /// Below the heading that names the part. A domain may be called anything,
    /// also after another part.
    inner: bool,
}

fn parts(document: &Document) -> Vec<Option<Place>> {
    let mut parts: Vec<Option<Place>> = Vec::with_capacity(document.sections.len());
    for section in &document.sections {
        let around: Option<Place> = section.parent.and_then(|parent| parts[parent]);
        let own = || {
            let part = part_of(&section.title)?;
            Some(Place { part, inner: false })
        };
        let place = match around {
            Some(Place { part, .. }) => Some(Place { part, inner: true }),
            None => own(),
        };
        parts.push(place);
    }
    parts
}

fn part_of(title: &str) -> Option<Part> {
    let title = title.to_lowercase().replace(['-', '_'], " ");
    // A sign may stand before the words.
    let title = title
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .trim_end();
    let tier = |n: &str| {
        let rest = title.strip_prefix("tier")?.trim_start().strip_prefix(n)?;
        (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some(())
    };
    if tier("1").is_some() {
        Some(Part::Tier1)
    } else if tier("2").is_some() {
        Some(Part::Tier2)
    } else if tier("3").is_some() {
        Some(Part::Tier3)
    } else if title == "hub map" || title.starts_with("hub map ") || title == "hubs" {
        Some(Part::HubMap)
    } else if title == "config" || title == "configuration" {
        Some(Part::Config)
    } else {
        None
    }
}

/// Detects the meaning of the columns. Older manifests use Purpose for Summary
/// and Freshness for Volatility.
fn columns(document: &Document, part: Part, header: &Row) -> Columns {
    let titles: Vec<String> = header
        .cells
        .iter()
        .map(|cell| {
            document
                .str(&cell.text)
                .trim_matches(['*', '`', ' '])
                .to_lowercase()
        })
        .collect();
    let find = |words: &[&str], taken: &[Option<usize>]| {
        let named = |title: &String| words.iter().any(|word| title.contains(word));
        let mut found = (0..).zip(&titles).filter(|(_, title)| named(title));
        found
            .find(|(at, _)| !taken.contains(&Some(*at)))
            .map(|(at, _)| at)
    };
    let target = match part {
        Part::Config => Some(1),
        Part::HubMap => find(&["hub", "index", "closet", "file"], &[]).or(Some(1)),
        _ => find(&["file", "path", "document", "note", "page"], &[]).or(Some(0)),
    };
    if part == Part::Config {
        return Columns {
            name: Some(0),
            target,
            ..Columns::default()
        };
    }
    // A column of places is not one to write a summary into, whatever else is
    // in its title: `File (what it is)`.
    let summary = [
        "summary",
        "purpose",
        "reason",
        "description",
        "content",
        "what",
    ];
    let note = ["volatil", "fresh", "date", "archived", "updated"];
    let text = find(&summary, &[target]);
    Columns {
        name: find(&["domain", "area"], &[]),
        target,
        text,
        // `Summary (updated weekly)` has no date in it.
        note: find(&note, &[target, text]),
    }
}

impl Sheet {
    fn entry(&self, document: &Document, sheet: usize, row: usize) -> Entry {
        let cells = &self.table.rows[row].cells;
        let cell = |column: Option<usize>| {
            let cell = column.and_then(|column| cells.get(column));
            cell.map_or("", |cell| document.str(&cell.text))
        };
        let name = match (self.part, self.columns.name) {
            (Part::Config, name) => config_key(cell(name)),
            (_, Some(_)) => target_of(&cell_shown(cell(self.columns.name))),
            (_, None) => self.domain.clone(),
        };
        Entry {
            part: self.part,
            name,
            target: target_of(&cell_shown(cell(self.columns.target))),
            text: cell_shown(cell(self.columns.text)),
            note: cell_shown(cell(self.columns.note)),
            row: Some((sheet, row)),
        }
    }
}

/// Links of tiers that stand outside of tables: `Closets: [[legal/_CLOSETS]]`,
/// or a list of files.
fn linked(
    document: &Document,
    parts: &[Option<Place>],
    sheets: &[Sheet],
    entries: &mut Vec<Entry>,
) {
    let tiers = [Part::Tier1, Part::Tier2, Part::Tier3];
    let mut links = document.links.iter().peekable();
    for (section, place) in document.sections.iter().zip(parts) {
        let Some(Place { part, inner }) = place.filter(|it| tiers.contains(&it.part)) else {
            continue;
        };
        while links
            .next_if(|l| l.span.start < section.own.start)
            .is_some()
        {}
        while let Some(link) = links.next_if(|link| link.span.start < section.own.end) {
            // Tables stand in text order and apart from one another.
            let behind = sheets.partition_point(|s| s.table.span.start <= link.span.start);
            let in_table = sheets[..behind]
                .last()
                .is_some_and(|s| s.table.span.contains(&link.span.start));
            if in_table || link.target.is_empty() || link.target.contains("://") {
                continue;
            }
            entries.push(Entry {
                part,
                name: if inner {
                    short_name(&section.title)
                } else {
                    String::new()
                },
                target: target_of(&link.target),
                text: String::new(),
                note: String::new(),
                row: None,
            });
        }
    }
}

/// Parses the target of a cell: `[[a/b|alias]]`, `[text](a/b.md)`, `` `a/b` ``
/// or plain text.
fn target_of(cell: &str) -> String {
    let cell = cell.trim();
    let wiki = cell
        .split_once("[[")
        .and_then(|(_, rest)| rest.split_once("]]"))
        .map(|(inside, _)| inside.split(['|', '#', '^']).next().unwrap_or(inside));
    let inline = || {
        let (_, rest) = cell.split_once("](")?;
        let (inside, _) = rest.split_once(')')?;
        Some(
            inside
                .split('#')
                .next()
                .unwrap_or(inside)
                .trim_matches(['<', '>']),
        )
    };
    let target = wiki.or_else(inline).unwrap_or(cell);
    let target = target
        .trim()
        .trim_matches(['`', '*'])
        .trim_end_matches('\\');
    let target = target.strip_suffix(".md").unwrap_or(target);
    target
        .trim_start_matches("./")
        .trim_end_matches('/')
        .trim()
        .to_owned()
}

fn config_key(cell: &str) -> String {
    let name = cell.trim_matches(['`', '*', ' ']).to_lowercase();
    name.trim_end_matches(".md").replace([' ', '_'], "-")
}

fn is_hub_link(target: &str) -> bool {
    target.ends_with("_CLOSETS") || target.ends_with("-index")
}

/// Returns the folder that a row of the Hub Map names.
fn named_folder(hub: &Entry) -> Option<RelPath> {
    let target = hub.target.as_str();
    let by_name = || slug(&hub.name).ok();
    let folder = match target.rsplit_once('/') {
        Some((folder, name)) if is_hub_link(name) => Some(folder.to_owned()),
        _ if target == "_CLOSETS" || target.is_empty() => by_name(),
        _ => match target.strip_suffix("-index") {
            Some(stem) => Some(stem.to_owned()),
            None => Some(target.to_owned()),
        },
    };
    folder.and_then(|folder| RelPath::new(&folder).ok())
}

/// Returns the folders right below the root in which domains may be.
fn folders_of_root(workspace: &Workspace) -> Vec<RelPath> {
    let Ok(entries) = std::fs::read_dir(workspace.root()) else {
        return Vec::new();
    };
    let mut folders: Vec<RelPath> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.') && name != "node_modules")
        .filter_map(|name| RelPath::new(&name).ok())
        .collect();
    folders.sort();
    folders
}

/// Finds a comment `<!-- name -->` or `<!-- name:value -->` on one line outside
/// of code.
fn marker(document: &Document, name: &str) -> Option<Marker> {
    let text = &document.text;
    let mut end = 0;
    for (at, _) in text.match_indices("<!--") {
        let inside = at + 4;
        // Comments that are not closed before the next begins end with it, and
        // the text between is searched once.
        if end < inside {
            end = inside + text[inside..].find("-->")?;
        }
        let comment = &text[inside..end];
        let start = inside + (comment.len() - comment.trim_start().len());
        if !text[start..end].starts_with(name) {
            continue;
        }
        let Some(rest) = text[start..end].strip_prefix(name) else {
            continue;
        };
        // A comment of several lines was not closed, and its end belongs to
        // another.
        if document.in_code(at) || rest.contains(['\n', '\r']) {
            continue;
        }
        let after = start + name.len();
        match rest.strip_prefix(':') {
            Some(value) => {
                let from = after + 1 + (value.len() - value.trim_start().len());
                // The text behind its first word is a remark, or another cell.
                let ends = |c: char| c.is_whitespace() || c == '|';
                let word = value.trim_start().split(ends).next().unwrap_or_default();
                let value = from..(from + word.len());
                return Some(Marker { value });
            }
            None if rest.trim().is_empty() => {
                return Some(Marker {
                    value: after..after,
                });
            }
            None => {}
        }
    }
    None
}
