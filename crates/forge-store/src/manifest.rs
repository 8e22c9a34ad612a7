//! `_MANIFEST.md`: the map of the workspace, in every shape in which it exists.
//!
//! Reading never fails: what is not understood is left alone. Changes are
//! edits of rows and lines ([`edit`]); nothing here writes a file.

use std::collections::HashSet;
use std::ops::Range;

use forge_text::document::{
    self, Document, MarkdownRow, MarkdownTable, shorten_name, unescape_cell_text,
};

use crate::workspace::{RelPath, Workspace, WorkspaceError, slugify_name};

mod edit;
mod listing;
#[cfg(test)]
mod tests;

pub use edit::{NewManifestEntry, format_wikilink};

/// The name of the manifest.
pub const MANIFEST_FILE: &str = "_MANIFEST.md";

/// The version of the format that is written.
pub const MANIFEST_FORMAT_VERSION: &str = "2.1.3";
/// Version of the summary format that this program writes.
pub const SUMMARY_FORMAT_VERSION: u32 = 2;

/// Upper bound for the folders that are searched for a domain that is missing
/// from its place in the Hub Map.
const MAX_PARENT_FOLDERS: usize = 32;

/// The marker of a manifest that a tool maintains. It is that of the tools
/// before us, so that both recognize the same workspace.
const MANAGED_MARKER: &str = "memex-managed";
const SUMMARY_FORMAT_MARKER: &str = "summary-format-version";

/// Upper bound for rows of the Hub Map that name a folder. Every file is compared with
/// every domain, so a manifest must not have any number of them; `lint` reports
/// the rows that are left out.
pub const MAX_HUBS: usize = 400;

/// The part that a tool plays in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestMode {
    /// There is a marker: everything is kept up to date.
    Full,
    /// Tiers and no marker: what is there is used, and nothing is required.
    Compatible,
    /// No manifest, or a file of that name which is not one.
    Absent,
}

/// The age of a marker's version, compared with [`MANIFEST_FORMAT_VERSION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionAge {
    /// A version before ours.
    Older,
    /// Our own version.
    Current,
    /// A version after ours.
    Newer,
}

/// A part of a manifest, by what its tables list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManifestPart {
    /// The files that every session reads.
    Tier1,
    /// The documents of the domains.
    Tier2,
    /// The files that no search reads.
    Tier3,
    /// The hubs with their purposes.
    HubMap,
    /// The settings of the workspace.
    Config,
}

/// An entry of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The part that lists it.
    pub part: ManifestPart,
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
    marker: Option<ManifestMarker>,
    format: Option<ManifestMarker>,
    sheets: Vec<PartTable>,
    entries: Vec<ManifestEntry>,
    /// The folder of each row of the Hub Map, in its order.
    folders: Vec<Option<RelPath>>,
    /// Whether it is a hub page, all of whose tables count.
    page: bool,
}

/// `<!-- name:value -->`
#[derive(Debug, Clone, PartialEq, Eq)]
struct ManifestMarker {
    value: Range<usize>,
}

/// A table with the meaning of its columns.
#[derive(Debug, Clone)]
struct PartTable {
    part: ManifestPart,
    domain: String,
    table: MarkdownTable,
    columns: ColumnRoles,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ColumnRoles {
    name: Option<usize>,
    target: Option<usize>,
    text: Option<usize>,
    note: Option<usize>,
}

impl ManifestEntry {
    /// Returns `true` if it is a row of a table, and not a line or an item.
    pub fn is_table_row(&self) -> bool {
        self.row.is_some()
    }

    /// Returns all fields of the entry, without its place.
    pub fn cell_values(&self) -> (ManifestPart, [&str; 4]) {
        let words = [&self.name, &self.target, &self.text, &self.note];
        (self.part, words.map(String::as_str))
    }

    /// Returns `true` if both have the same target, whatever else was changed.
    /// A marker may be in the cell too.
    fn has_same_target(&self, other: &ManifestEntry) -> bool {
        let target = |it: &ManifestEntry| it.target.split("<!--").next().map(str::to_owned);
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
    pub fn load(workspace: &Workspace) -> Result<Option<Manifest>, WorkspaceError> {
        let text = workspace.read_text_if_present(&manifest_path())?;
        Ok(text.map(|text| Manifest::parse(text).with_real_folders(workspace)))
    }

    /// Parses a text. Folders are as the text names them.
    pub fn parse(text: impl Into<String>) -> Manifest {
        let document = document::parse_document(text);
        let parts = locate_parts(&document);
        let mut sheets = Vec::new();
        for (section, place) in document.sections.iter().zip(&parts) {
            let Some(ManifestPlace { part, inner }) = *place else {
                continue;
            };
            let domain = match part {
                ManifestPart::Tier2 if inner => shorten_name(&section.title),
                _ => String::new(),
            };
            for table in document.tables(&section.own) {
                sheets.push(PartTable {
                    columns: detect_columns(&document, part, &table.header),
                    domain: domain.clone(),
                    part,
                    table,
                });
            }
        }
        let mut entries = Vec::new();
        for (at, sheet) in sheets.iter().enumerate() {
            for (row, _) in sheet.table.rows.iter().enumerate() {
                entries.push(sheet.read_entry(&document, at, row));
            }
        }
        collect_linked_entries(&document, &parts, &sheets, &mut entries);
        let format = find_marker(&document, SUMMARY_FORMAT_MARKER);
        let marker = find_marker(&document, MANAGED_MARKER)
            .or_else(|| find_marker(&document, "memory-forge-managed"));
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
        manifest.folders = hubs.map(|hub| hub_folder(hub)).collect();
        manifest
    }

    /// Parses a hub page: each of its tables lists files.
    pub fn parse_page(text: impl Into<String>) -> Manifest {
        let document = document::parse_document(text);
        let sheets: Vec<PartTable> = document
            .tables(&document.body)
            .into_iter()
            .map(|table| PartTable {
                columns: detect_columns(&document, ManifestPart::Tier2, &table.header),
                domain: String::new(),
                part: ManifestPart::Tier2,
                table,
            })
            .collect();
        let rows = sheets.iter().enumerate();
        let rows =
            rows.flat_map(|(at, sheet)| (0..sheet.table.rows.len()).map(move |row| (at, row)));
        let entries = rows.map(|(at, row)| sheets[at].read_entry(&document, at, row));
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
    fn with_real_folders(mut self, workspace: &Workspace) -> Manifest {
        let there = |path: &RelPath| workspace.absolute_path(path).is_dir();
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
        parents.truncate(MAX_PARENT_FOLDERS);
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
                .or_else(|| inside(below_root.get_or_insert_with(|| list_root_folders(workspace))));
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
    pub fn mode(&self) -> ManifestMode {
        let tiers = [
            ManifestPart::Tier1,
            ManifestPart::Tier2,
            ManifestPart::Tier3,
            ManifestPart::HubMap,
        ];
        let parts = locate_parts(&self.document);
        let mut listed = parts.iter().flatten().map(|place| place.part);
        match self.marker {
            Some(_) => ManifestMode::Full,
            None if listed.any(|part| tiers.contains(&part)) => ManifestMode::Compatible,
            None => ManifestMode::Absent,
        }
    }

    /// Returns the marker's version; empty when it has none.
    pub fn version(&self) -> Option<&str> {
        let marker = self.marker.as_ref()?;
        Some(self.document.span_text(&marker.value))
    }

    /// Returns the age of the marker's version; `None` without a marker.
    pub fn age(&self) -> Option<VersionAge> {
        let number = |text: &str| -> Vec<u64> {
            let parts = text.trim().split('.').map(|part| part.parse().unwrap_or(0));
            let mut parts: Vec<u64> = parts.collect();
            // `2.1` and `2.1.0` are the same version.
            while parts.last() == Some(&0) {
                parts.pop();
            }
            parts
        };
        Some(
            match number(self.version()?).cmp(&number(MANIFEST_FORMAT_VERSION)) {
                std::cmp::Ordering::Less => VersionAge::Older,
                std::cmp::Ordering::Equal => VersionAge::Current,
                std::cmp::Ordering::Greater => VersionAge::Newer,
            },
        )
    }

    /// Returns the version of the summaries, if the manifest states one.
    pub fn summary_format(&self) -> Option<u32> {
        let marker = self.format.as_ref()?;
        self.document.span_text(&marker.value).trim().parse().ok()
    }

    /// Returns all entries, in text order.
    pub fn entries(&self) -> &[ManifestEntry] {
        &self.entries
    }

    /// Returns the entries of one part.
    pub fn entries_of(&self, part: ManifestPart) -> impl Iterator<Item = &ManifestEntry> {
        self.entries.iter().filter(move |entry| entry.part == part)
    }

    /// Returns the value of a key in the Config table; keys are in lower case
    /// with dashes.
    pub fn config_value(&self, key: &str) -> Option<&str> {
        let entry = self
            .entries_of(ManifestPart::Config)
            .find(|entry| entry.name == key)?;
        Some(&entry.target)
    }

    /// Returns `true` if it has a table that could list files.
    pub fn has_table(&self) -> bool {
        !self.sheets.is_empty()
    }

    /// Returns the rows of the Hub Map with their folders. Without a Hub Map,
    /// the domains of Tier 2 take its place.
    pub fn hub_map(&self) -> Vec<(&ManifestEntry, Option<&RelPath>)> {
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
    pub fn retired_files(&self) -> RetiredFiles {
        let targets = self
            .entries_of(ManifestPart::Tier3)
            .map(|entry| comparison_key(&entry.target));
        RetiredFiles {
            targets: targets.filter(|target| !target.is_empty()).collect(),
        }
    }

    fn hub_rows(&self) -> Vec<&ManifestEntry> {
        let rows: Vec<&ManifestEntry> = self.entries_of(ManifestPart::HubMap).collect();
        if !rows.is_empty() {
            return rows;
        }
        let leads = |entry: &&ManifestEntry| entry.row.is_none() && is_hub_link(&entry.target);
        let mut seen: HashSet<&str> = HashSet::new();
        let mut rows: Vec<&ManifestEntry> =
            self.entries_of(ManifestPart::Tier2).filter(leads).collect();
        rows.retain(|entry| seen.insert(&entry.name));
        rows
    }
}

/// Files that the manifest keeps for reference only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetiredFiles {
    targets: std::collections::HashSet<String>,
}

impl RetiredFiles {
    /// Returns `true` if no file is listed.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns `true` if a row of Tier 3 names this file: by its whole path, or
    /// by the end of it.
    pub fn contains_path(&self, path: &str) -> bool {
        if self.targets.is_empty() {
            return false;
        }
        let path = comparison_key(path);
        let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        std::iter::once(path.as_str())
            .chain(ends)
            .any(|end| self.targets.contains(end))
    }
}

/// Returns the path of the manifest.
pub fn manifest_path() -> RelPath {
    RelPath::new(MANIFEST_FILE).expect("a constant that is a valid path")
}

/// Returns the name under which targets and paths are compared.
fn comparison_key(target: &str) -> String {
    let target = target.strip_suffix(".md").unwrap_or(target);
    target.trim_start_matches("./").to_lowercase()
}

/// The place of a section in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ManifestPlace {
    part: ManifestPart,
    /// Below the heading that names the part. A domain may be called anything,
    /// also after another part.
    inner: bool,
}

fn locate_parts(document: &Document) -> Vec<Option<ManifestPlace>> {
    let mut parts: Vec<Option<ManifestPlace>> = Vec::with_capacity(document.sections.len());
    for section in &document.sections {
        let around: Option<ManifestPlace> = section.parent.and_then(|parent| parts[parent]);
        let own = || {
            let part = parse_part_title(&section.title)?;
            Some(ManifestPlace { part, inner: false })
        };
        let place = match around {
            Some(ManifestPlace { part, .. }) => Some(ManifestPlace { part, inner: true }),
            None => own(),
        };
        parts.push(place);
    }
    parts
}

fn parse_part_title(title: &str) -> Option<ManifestPart> {
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
        Some(ManifestPart::Tier1)
    } else if tier("2").is_some() {
        Some(ManifestPart::Tier2)
    } else if tier("3").is_some() {
        Some(ManifestPart::Tier3)
    } else if title == "hub map" || title.starts_with("hub map ") || title == "hubs" {
        Some(ManifestPart::HubMap)
    } else if title == "config" || title == "configuration" {
        Some(ManifestPart::Config)
    } else {
        None
    }
}

/// Detects the meaning of the columns. Older manifests use Purpose for Summary
/// and Freshness for Volatility.
fn detect_columns(document: &Document, part: ManifestPart, header: &MarkdownRow) -> ColumnRoles {
    let titles: Vec<String> = header
        .cells
        .iter()
        .map(|cell| {
            document
                .span_text(&cell.text)
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
        ManifestPart::Config => Some(1),
        ManifestPart::HubMap => find(&["hub", "index", "closet", "file"], &[]).or(Some(1)),
        _ => find(&["file", "path", "document", "note", "page"], &[]).or(Some(0)),
    };
    if part == ManifestPart::Config {
        return ColumnRoles {
            name: Some(0),
            target,
            ..ColumnRoles::default()
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
    ColumnRoles {
        name: find(&["domain", "area"], &[]),
        target,
        text,
        // `Summary (updated weekly)` has no date in it.
        note: find(&note, &[target, text]),
    }
}

impl PartTable {
    fn read_entry(&self, document: &Document, sheet: usize, row: usize) -> ManifestEntry {
        let cells = &self.table.rows[row].cells;
        let cell = |column: Option<usize>| {
            let cell = column.and_then(|column| cells.get(column));
            cell.map_or("", |cell| document.span_text(&cell.text))
        };
        let name = match (self.part, self.columns.name) {
            (ManifestPart::Config, name) => config_key(cell(name)),
            (_, Some(_)) => parse_target(&unescape_cell_text(cell(self.columns.name))),
            (_, None) => self.domain.clone(),
        };
        ManifestEntry {
            part: self.part,
            name,
            target: parse_target(&unescape_cell_text(cell(self.columns.target))),
            text: unescape_cell_text(cell(self.columns.text)),
            note: unescape_cell_text(cell(self.columns.note)),
            row: Some((sheet, row)),
        }
    }
}

/// Links of tiers that stand outside of tables: `Closets: [[legal/_CLOSETS]]`,
/// or a list of files.
fn collect_linked_entries(
    document: &Document,
    parts: &[Option<ManifestPlace>],
    sheets: &[PartTable],
    entries: &mut Vec<ManifestEntry>,
) {
    let tiers = [
        ManifestPart::Tier1,
        ManifestPart::Tier2,
        ManifestPart::Tier3,
    ];
    let mut links = document.links.iter().peekable();
    for (section, place) in document.sections.iter().zip(parts) {
        let Some(ManifestPlace { part, inner }) = place.filter(|it| tiers.contains(&it.part))
        else {
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
            entries.push(ManifestEntry {
                part,
                name: if inner {
                    shorten_name(&section.title)
                } else {
                    String::new()
                },
                target: parse_target(&link.target),
                text: String::new(),
                note: String::new(),
                row: None,
            });
        }
    }
}

/// Parses the target of a cell: `[[a/b|alias]]`, `[text](a/b.md)`, `` `a/b` ``
/// or plain text.
fn parse_target(cell: &str) -> String {
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
fn hub_folder(hub: &ManifestEntry) -> Option<RelPath> {
    let target = hub.target.as_str();
    let by_name = || slugify_name(&hub.name).ok();
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
fn list_root_folders(workspace: &Workspace) -> Vec<RelPath> {
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
fn find_marker(document: &Document, name: &str) -> Option<ManifestMarker> {
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
        if document.is_in_code(at) || rest.contains(['\n', '\r']) {
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
                return Some(ManifestMarker { value });
            }
            None if rest.trim().is_empty() => {
                return Some(ManifestMarker {
                    value: after..after,
                });
            }
            None => {}
        }
    }
    None
}
