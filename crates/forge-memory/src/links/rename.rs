//! Renames of files after which every link leads where it did before.
//!
//! Each link of the vault is followed before and after the move; only links
//! that would lead elsewhere are rewritten, in the form that their author
//! chose.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::names::{LinkNames, LinkResolution, fold_name, join_path, reference_target};
use super::notes::{NoteLink, VaultNote, find_naming_key};
use super::vault::{NoteVault, is_local_link, resolve_with_names};
use crate::admit;
use crate::diagnostic::Diagnostic;
use crate::document::{self, Document, LinkKind, TextEdit, percent_decode};
use crate::workspace::{self, ChangeProposal, PathError, ProposedMove, RelPath, Workspace};

/// The changes that a rename would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamePlan {
    /// The path before.
    pub from: RelPath,
    /// The path after.
    pub to: RelPath,
    /// The files that change or move.
    pub proposal: ChangeProposal,
    /// Number of links that are rewritten.
    pub links: usize,
    /// File and line of links that should change and could not be rewritten.
    pub left_alone: Vec<(RelPath, usize)>,
}

/// The reason why a file cannot be renamed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// The caller named a file that the vault does not have.
    #[error("There is no file `{name}`")]
    Missing {
        /// The name that was given.
        name: String,
    },
    /// The caller's name fits several files.
    #[error("`{name}` may be {}", join_paths(files))]
    Ambiguous {
        /// The name that was given.
        name: String,
        /// The files that it fits.
        files: Vec<RelPath>,
    },
    /// The caller's new path is taken, or is the target of two moves.
    #[error("`{path}` exists already; choose another name")]
    Exists {
        /// The path that is taken.
        path: RelPath,
    },
    /// The caller's new path has characters that no link can contain.
    #[error(
        "No link can hold `{path}`: `[`, `]`, `|`, `#`, `^`, `<` and backticks have a meaning there, and names have no spaces around them"
    )]
    Unlinkable {
        /// The new path.
        path: RelPath,
    },
    /// The caller's new path begins with a dot, so that the note would vanish
    /// from the vault.
    #[error("`{path}` would be hidden: no note is looked for below a name that begins with a dot")]
    Hidden {
        /// The new path.
        path: RelPath,
    },
    /// The caller's new path contains a secret.
    #[error(transparent)]
    Refused(#[from] admit::TextRefusal),
    /// The caller's new path is invalid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The workspace cannot be read, or a file changed during the rename.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
}

impl Diagnostic for RenameError {
    fn code(&self) -> &'static str {
        match self {
            RenameError::Missing { .. } => "links.missing",
            RenameError::Ambiguous { .. } => "links.ambiguous",
            RenameError::Exists { .. } => "links.exists",
            RenameError::Unlinkable { .. } => "links.unlinkable",
            RenameError::Hidden { .. } => "links.hidden",
            RenameError::Refused(error) => error.code(),
            RenameError::Path(error) => error.code(),
            RenameError::Workspace(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            RenameError::Refused(error) => return error.hints(),
            RenameError::Path(error) => return error.hints(),
            RenameError::Workspace(error) => return error.hints(),
            RenameError::Exists { .. }
            | RenameError::Unlinkable { .. }
            | RenameError::Hidden { .. } => {
                return Vec::new();
            }
            RenameError::Ambiguous { .. } => "Give its path",
            RenameError::Missing { .. } => "Give its path from the root, as `notes/plan.md`",
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        matches!(self, RenameError::Path(_))
    }
}

fn join_paths(files: &[RelPath]) -> String {
    let names: Vec<String> = files.iter().map(|it| format!("`{it}`")).collect();
    names.join(" or ")
}

/// Resolves the new path of the file `from`. A bare name stays in the folder, a
/// folder keeps the file name, and the ending stays.
pub fn resolve_destination(
    vault: &NoteVault,
    from: &RelPath,
    text: &str,
) -> Result<RelPath, RenameError> {
    let folder = RelPath::new(text).ok().filter(|path| {
        vault
            .files
            .iter()
            .any(|file| file.path != *path && file.path.starts_with(path.as_str()))
    });
    let path = match folder {
        _ if text.ends_with('/') => RelPath::new(text)?.join(from.file_name())?,
        Some(folder) => folder.join(from.file_name())?,
        None if text.contains('/') => RelPath::new(text)?,
        None => match from.parent() {
            Some(folder) => folder.join(text)?,
            None => RelPath::new(text)?,
        },
    };
    match from.file_name().rsplit_once('.') {
        Some((_, ending)) if !path.as_str().ends_with(&format!(".{ending}")) => {
            Ok(RelPath::new(&format!("{path}.{ending}"))?)
        }
        _ => Ok(path),
    }
}

/// Plans the rename of one file.
pub fn rename_file(
    workspace: &Workspace,
    vault: &NoteVault,
    from: &RelPath,
    to: &RelPath,
) -> Result<RenamePlan, RenameError> {
    // The name is written into every link, and shown wherever the file is.
    admit::refuse_secrets([to.as_str()])?;
    let moves = vec![ProposedMove {
        from: from.clone(),
        to: to.clone(),
    }];
    rename_files(workspace, vault, moves)
}

/// Plans the rename of several files at once; each link is rewritten once, for
/// the vault as it will be in the end. Fails if there are no moves.
pub fn rename_files(
    workspace: &Workspace,
    vault: &NoteVault,
    moves: Vec<ProposedMove>,
) -> Result<RenamePlan, RenameError> {
    let mut moved: BTreeMap<u32, &RelPath> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for ProposedMove { from, to } in &moves {
        let Some(index) = vault.position_of(from) else {
            return Err(RenameError::Missing {
                name: from.to_string(),
            });
        };
        let there = vault.position_of(to).is_some()
            || workspace.absolute_path(to).symlink_metadata().is_ok()
            || !taken.insert(to);
        if there || moved.insert(index, to).is_some() {
            return Err(RenameError::Exists { path: to.clone() });
        }
        let name = to.as_str();
        let name = name.strip_suffix(".md").unwrap_or(name);
        if name.contains(['[', ']', '|', '#', '^', '<', '`']) || name.trim() != name {
            return Err(RenameError::Unlinkable { path: to.clone() });
        }
        let in_hidden = |path: &RelPath| path.as_str().split('/').any(|it| it.starts_with('.'));
        if to.file_name().starts_with('.') || in_hidden(to) && !in_hidden(from) {
            return Err(RenameError::Hidden { path: to.clone() });
        }
    }
    let after = VaultAfterMove::new(vault, moved);
    let first = moves.first().ok_or(RenameError::Missing {
        name: String::new(),
    })?;
    let mut renaming = RenamePlan {
        from: first.from.clone(),
        to: first.to.clone(),
        proposal: ChangeProposal {
            moves: moves.clone(),
            files: Vec::new(),
        },
        links: 0,
        left_alone: Vec::new(),
    };
    for (index, file, note) in vault.notes() {
        let wanted = after.find_rewrites(index, note);
        let names = after.find_plain_rewrites(index, note);
        if wanted.is_empty() && names.is_empty() {
            continue;
        }
        let text = workspace.read_text(&file.path)?;
        let document = document::parse_document(text.as_str());
        let mut edits = Vec::new();
        // Only files with reference links need the definitions.
        let definitions = LazyCell::new(|| find_definitions(&text));
        let mut written: HashSet<String> = HashSet::new();
        for (link, new) in wanted {
            let before = edits.len();
            after.add_link_edits(&text, link, &new, &definitions, &mut edits);
            if edits.len() > before {
                written.insert(new);
            } else if !written.contains(&new) {
                renaming.left_alone.push((file.path.clone(), link.line));
            }
        }
        edits.extend(edit_plain_names(&document, names));
        edits.sort_by_key(|edit| edit.span.start);
        // A definition that several links use is edited once.
        edits.dedup();
        let unlinking = find_unlinking_edits(&document, &edits);
        for start in &unlinking {
            let line = document.line_number_at(*start);
            renaming.left_alone.push((file.path.clone(), line));
        }
        edits.retain(|it| !unlinking.contains(&it.span.start));
        renaming.links += edits.len();
        let changed = document::apply_edits(&text, edits)
            .map_err(|_| changed_since_error(workspace, &file.path))?;
        let path = after.moved.get(&index).copied().unwrap_or(&file.path);
        renaming.proposal.add(path.clone(), Some(text), changed);
    }
    Ok(renaming)
}

/// Maximum number of parses of a file to find the edits that unlink something.
const MAX_PARSES: usize = 64;

/// Returns the starts of edits that would turn a link into something else:
/// `related: [[a, b]]` in front matter is a list. Halves are tried, since few
/// or no edits do so; if many do, the untried ones count as well.
fn find_unlinking_edits(document: &Document, edits: &[TextEdit]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut parts = vec![edits];
    let mut parses = 0;
    while let Some(part) = parts.pop() {
        parses += 1;
        if parses <= MAX_PARSES {
            let changed = document::apply_edits(&document.text, part.to_vec());
            if !changed
                .is_ok_and(|it| document::parse_document(it).links.len() != document.links.len())
            {
                continue;
            }
            if part.len() > 1 {
                let (left, right) = part.split_at(part.len() / 2);
                parts.extend([right, left]);
                continue;
            }
        }
        found.extend(part.iter().map(|it| it.span.start));
    }
    found
}

/// Returns the error for a file that changed during the operation.
fn changed_since_error(workspace: &Workspace, path: &RelPath) -> RenameError {
    RenameError::Workspace(workspace::WorkspaceError::ChangedSince {
        path: workspace.absolute_path(path),
    })
}

/// The vault after the moves.
struct VaultAfterMove<'a> {
    vault: &'a NoteVault,
    moved: BTreeMap<u32, &'a RelPath>,
    names: LinkNames,
}

impl<'a> VaultAfterMove<'a> {
    fn new(vault: &'a NoteVault, moved: BTreeMap<u32, &'a RelPath>) -> VaultAfterMove<'a> {
        let paths = (0..).zip(&vault.files).map(|(index, file)| {
            let path = moved.get(&index).copied().unwrap_or(&file.path);
            path.as_str()
        });
        let mut names = LinkNames::new(paths);
        for (index, _, note) in vault.notes() {
            for alias in &note.aliases {
                names.add_alias(alias, index);
            }
        }
        VaultAfterMove {
            vault,
            moved,
            names,
        }
    }

    /// Returns the path of a file after the moves.
    fn path_after(&self, file: u32) -> &str {
        match self.moved.get(&file) {
            Some(to) => to.as_str(),
            None => self.vault.file(file).path.as_str(),
        }
    }

    /// Returns the links of a note that must be rewritten, with their new
    /// target.
    fn find_rewrites<'n>(&self, from: u32, note: &'n VaultNote) -> Vec<(&'n NoteLink, String)> {
        let rewrite = |link: &NoteLink| {
            if link.target.is_empty() {
                return None;
            }
            let Some(file) = self.vault.resolve(from, link).opened_file() else {
                return self.rewrite_unlisted(from, link);
            };
            let new = resolve_with_names(&self.names, self.path_after(from), from, link);
            let was_clear = matches!(self.vault.resolve(from, link), LinkResolution::File(_));
            let is_clear = matches!(new, LinkResolution::File(_));
            let old = self.vault.file(from).path.as_str();
            let by_path = self.leads_by_path(&self.vault.names, old, link, file);
            // Obsidian finds by name what other programs find by path alone.
            let lost =
                by_path && !self.leads_by_path(&self.names, self.path_after(from), link, file);
            // A relative path changes with the folder, and the shorter form is
            // required: the way back must restore the same bytes.
            let relative = by_path && !link.target.starts_with('/')
                || link.target.starts_with("./")
                || link.target.starts_with("../");
            if relative && parent_folder(old) != parent_folder(self.path_after(from)) {
                let written = self.render_target(from, file, link);
                return (written != link.target).then_some(written);
            }
            let same = new.opened_file() == Some(file) && (is_clear || !was_clear) && !lost;
            (!same).then(|| self.render_target(from, file, link))
        };
        let links = note.links.iter();
        links
            .filter_map(|link| Some((link, rewrite(link)?)))
            .collect()
    }

    /// Returns `true` if one of Markdown's own links leads to the file by its
    /// path.
    fn leads_by_path(&self, names: &LinkNames, from: &str, link: &NoteLink, file: u32) -> bool {
        !link.is_wikilink() && names.resolve_path(&link.target, from).opened_file() == Some(file)
    }

    /// Returns the new target for a link of the moved file to something that is
    /// not in the listing, such as a folder.
    fn rewrite_unlisted(&self, from: u32, link: &NoteLink) -> Option<String> {
        let old = self.vault.file(from).path.as_str();
        let relative =
            self.moved.contains_key(&from) && !link.is_wikilink() && !link.target.starts_with('/');
        let url = link.target.contains("://") || link.target.starts_with("mailto:");
        if !relative || url || link.target.starts_with('~') {
            return None;
        }
        let full = join_path(parent_folder(old), &link.target)?;
        // A link to nothing stays as its author wrote it.
        let known = !is_local_link(old, link)
            || self
                .vault
                .files
                .iter()
                .any(|file| file.path.starts_with(&full));
        let mut new = relative_path(parent_folder(self.path_after(from)), &full);
        if link.target.ends_with('/') && !new.ends_with('/') {
            new.push('/');
        }
        (known && new != link.target).then_some(new)
    }

    /// Returns the name of `file` in the form that the author of `link` chose.
    fn render_target(&self, from: u32, file: u32, link: &NoteLink) -> String {
        let author = link.target.as_str();
        let path = self.path_after(file);
        let ending = author.len() > 3 && fold_name(author).ends_with(".md");
        let path = match path.strip_suffix(".md") {
            Some(stem) if !ending => stem,
            _ => path,
        };
        let here = self.path_after(from);
        let old = self.vault.file(from).path.as_str();
        let by_path = self.leads_by_path(&self.vault.names, old, link, file);
        if let Some(_root) = author.strip_prefix('/') {
            return format!("/{path}");
        }
        if author.starts_with("./") || author.starts_with("../") || by_path {
            let relative = relative_path(parent_folder(here), path);
            let dotted = author.starts_with("./") || link.is_wikilink();
            return if relative.starts_with("..") || !dotted {
                relative
            } else {
                format!("./{relative}")
            };
        }
        self.shortest_name(path, author.matches('/').count() + 1, file, here)
    }

    /// Returns the shortest end of a path, with at least `parts` parts, that
    /// means `file` alone.
    fn shortest_name(&self, path: &str, parts: usize, file: u32, here: &str) -> String {
        let all: Vec<&str> = path.split('/').collect();
        (parts.min(all.len())..=all.len())
            .map(|count| all[all.len() - count..].join("/"))
            .find(|name| self.names.resolve(name, here) == LinkResolution::File(file))
            .unwrap_or_else(|| format!("/{path}"))
    }

    /// Adds the edits that one link needs; none where it is not found.
    fn add_link_edits(
        &self,
        text: &str,
        link: &NoteLink,
        new: &str,
        definitions: &HashMap<String, Vec<Range<usize>>>,
        edits: &mut Vec<TextEdit>,
    ) {
        if link.kind == LinkKind::Reference {
            for span in definitions.get(&link.target).into_iter().flatten() {
                let text = encode_path(text, span, new);
                let span = span.clone();
                edits.push(TextEdit { span, text });
            }
            return;
        }
        let Some(span) = link.at.clone() else { return };
        let Some(old) = text.get(span.clone()) else {
            return;
        };
        if link.is_wikilink() && old == link.target {
            let text = new.to_owned();
            edits.push(TextEdit { span, text });
        } else if !link.is_wikilink() && percent_decode(old) == link.target {
            let new = match link.kind {
                LinkKind::Import => new.replace(' ', "\\ "),
                _ => encode_path(text, &span, new),
            };
            edits.push(TextEdit { span, text: new });
        }
    }

    /// Returns the names without brackets in front matter that must change:
    /// key, old and new name.
    fn find_plain_rewrites<'n>(
        &self,
        from: u32,
        note: &'n VaultNote,
    ) -> Vec<(&'n str, String, String)> {
        let old = self.vault.file(from).path.as_str();
        let mut found = Vec::new();
        let keys = note.front_matter.iter().flatten().map(|(key, _)| key);
        for key in keys.filter(|key| find_naming_key(key).is_some()) {
            for text in note.plain_names(key) {
                let name = reference_target(text);
                let Some(file) = self.vault.names.resolve(name, old).opened_file() else {
                    continue;
                };
                if self
                    .names
                    .resolve(name, self.path_after(from))
                    .opened_file()
                    == Some(file)
                {
                    continue;
                }
                let link = NoteLink {
                    kind: LinkKind::Wiki,
                    target: name.to_owned(),
                    fragment: None,
                    span: 0..0,
                    at: None,
                    line: 0,
                    key: None,
                    leads: false,
                };
                found.push((
                    key.as_str(),
                    name.to_owned(),
                    self.render_target(from, file, &link),
                ));
            }
        }
        found
    }
}

/// Returns the edits that replace whole names in the lines of their keys.
fn edit_plain_names(document: &Document, mut names: Vec<(&str, String, String)>) -> Vec<TextEdit> {
    names.sort();
    names.dedup();
    let text = document.text.as_str();
    let Some(front_matter) = &document.front_matter else {
        return Vec::new();
    };
    let mut lines_of: HashMap<String, Range<usize>> = HashMap::new();
    for (key, lines) in front_matter.entry_spans(text) {
        lines_of.entry(key).or_insert(lines);
    }
    let edge = |char: Option<char>| {
        char.is_none_or(|it| it.is_whitespace() || matches!(it, '"' | '\'' | ',' | '[' | ']' | '#'))
    };
    let edit = |(key, old, new): (&str, String, String)| {
        let lines = lines_of.get(key)?.clone();
        let value = lines.start + text[lines.clone()].find(':')? + 1;
        let mut places = memchr::memmem::find_iter(&text.as_bytes()[value..lines.end], &old);
        let start = places.find(|at| {
            let start = value + at;
            edge(text[..start].chars().next_back())
                && edge(text[start + old.len()..].chars().next())
        })? + value;
        Some(TextEdit {
            span: start..start + old.len(),
            text: new,
        })
    };
    names.into_iter().filter_map(edit).collect()
}

/// Returns the spans of the targets of definitions `[label]: target`, by
/// target.
fn find_definitions(text: &str) -> HashMap<String, Vec<Range<usize>>> {
    let mut found: HashMap<String, Vec<Range<usize>>> = HashMap::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(colon) = line.find("]:") else {
            continue;
        };
        if !line.trim_start_matches([' ', '>']).starts_with('[') {
            continue;
        }
        let rest = &line[colon + 2..];
        let begin = colon + 2 + (rest.len() - rest.trim_start().len());
        let begin = begin + usize::from(line[begin..].starts_with('<'));
        let end = line[begin..].find(|c: char| c.is_whitespace() || matches!(c, '#' | '>'));
        let end = begin + end.unwrap_or(line.len() - begin);
        found
            .entry(percent_decode(&line[begin..end]).into())
            .or_default()
            .push(start + begin..start + end);
    }
    found
}

/// Encodes a path for one of Markdown's own links, as the author encoded the
/// old one.
fn encode_path(text: &str, span: &Range<usize>, path: &str) -> String {
    let pointed = text[..span.start].ends_with('<');
    let old = &text[span.clone()];
    let was_encoded = old.contains('%');
    let mut out = String::with_capacity(path.len());
    for char in path.chars() {
        let needed = match char {
            '%' | '#' | '?' | '<' | '>' => true,
            ' ' => !pointed,
            '(' | ')' => !pointed && !old.contains(char),
            char => was_encoded && !char.is_ascii(),
        };
        if needed {
            let mut buffer = [0; 4];
            for byte in char.encode_utf8(&mut buffer).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(char);
        }
    }
    out
}

/// Returns the folder of a path; empty at the root.
fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the relative path from a folder to a path, both from the root.
fn relative_path(folder: &str, path: &str) -> String {
    let here: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    let there: Vec<&str> = path.split('/').collect();
    let shared = here
        .iter()
        .zip(&there[..there.len() - 1])
        .take_while(|(a, b)| a == b)
        .count();
    let mut parts = vec![".."; here.len() - shared];
    parts.extend(&there[shared..]);
    parts.join("/")
}
