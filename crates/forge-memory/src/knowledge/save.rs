//! Saves something learnt: as a document of `knowledge/`, as a skill where
//! agents load skills from, or in the context file of a module.
//!
//! Nothing that exists is overwritten. The text comes from outside: it may have
//! headings of its own, but it cannot break the front matter or the headings
//! around it, and it may contain no secret.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;

use super::readme::{self, ReadmeEntry};
use crate::admit::{self, AdmittedText, SubmittedText};
use crate::client::AgentClient;
use crate::diagnostic::Diagnostic;
use crate::document::{self, BlockKind, Document, TextEdit, day_of_timestamp};
use crate::workspace::{
    self, ChangeReceipt, FileRole, PathError, RelPath, Workspace, WorkspaceChange, role_by_path,
    slugify_name,
};

/// The reason why nothing was saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The caller's name cannot become a file name.
    #[error(transparent)]
    Name(#[from] PathError),
    /// The workspace cannot be read or written; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The caller's name has an ending with another meaning.
    #[error(
        "`{path}` would not be a document: names that end in `-index` or `-archive` have a meaning of their own"
    )]
    NotADocument {
        /// The path that the name would give.
        path: RelPath,
    },
    /// The caller's text is empty.
    #[error("There is no text to save")]
    Empty,
    /// The caller's text was refused by the gate.
    #[error(transparent)]
    Refused(#[from] admit::TextRefusal),
    /// The caller's name is taken by another document or skill.
    #[error("`{path}` already exists")]
    Exists {
        /// The file that has the name.
        path: RelPath,
    },
    /// The caller's title is taken by another section of the context file.
    #[error("A section `{title}` already exists in `{path}`")]
    SectionExists {
        /// The context file.
        path: RelPath,
        /// The title that is taken.
        title: String,
    },
}

impl Diagnostic for SaveError {
    fn code(&self) -> &'static str {
        match self {
            SaveError::Name(error) => error.code(),
            SaveError::Workspace(error) => error.code(),
            SaveError::NotADocument { .. } => "save.not-a-document",
            SaveError::Empty => "save.empty",
            SaveError::Refused(error) => error.code(),
            SaveError::Exists { .. } => "save.exists",
            SaveError::SectionExists { .. } => "save.section-exists",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            SaveError::Name(error) => return error.hints(),
            SaveError::Workspace(error) => return error.hints(),
            SaveError::Refused(error) => return error.hints(),
            SaveError::NotADocument { .. } => "Choose another name",
            SaveError::Empty => "Give it with `--content`, or pipe it in",
            SaveError::Exists { .. } => "Choose another name, or edit that file",
            SaveError::SectionExists { .. } => "Choose another name, or edit that section",
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        matches!(self, SaveError::Name(_))
    }
}

/// A document for `knowledge/`, or a section for a context file.
#[derive(Debug, Clone, Copy)]
pub struct NewDocument<'a> {
    /// The name of the document, or the title of the section.
    pub name: &'a str,
    /// The text.
    pub content: &'a str,
    /// The importance, from 1 to 10.
    pub importance: u8,
}

/// A skill for the clients that load skills.
#[derive(Debug, Clone, Copy)]
pub struct NewSkill<'a> {
    /// The name of the skill.
    pub name: &'a str,
    /// The text of the skill.
    pub content: &'a str,
    /// What it does, in one line; the first sentence of the text if it is missing.
    pub description: Option<&'a str>,
    /// When an agent should use it.
    pub trigger: Option<&'a str>,
    /// The problem that it solves.
    pub problem: Option<&'a str>,
    /// The importance, from 1 to 10.
    pub importance: u8,
    /// Additional clients to write it for; Claude Code and OpenCode are always
    /// included.
    pub clients: &'a [AgentClient],
}

impl SubmittedText for NewDocument<'_> {
    fn stated_texts(&self) -> Vec<&str> {
        vec![self.name, self.content]
    }
}

impl SubmittedText for NewSkill<'_> {
    fn stated_texts(&self) -> Vec<&str> {
        let texts = [self.description, self.trigger, self.problem];
        let texts = texts.into_iter().flatten();
        [self.name, self.content].into_iter().chain(texts).collect()
    }
}

/// The files that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedDocument {
    /// The title of the document or section.
    pub title: String,
    /// The files that were written.
    pub files: Vec<RelPath>,
    /// The receipt of the change.
    pub receipt: ChangeReceipt,
}

/// The importance that needs no front matter.
const DEFAULT_IMPORTANCE: u8 = 5;

/// Writes `knowledge/<slug>.md`.
pub fn save_document(
    workspace: &Workspace,
    context: &NewDocument,
    now: Timestamp,
) -> Result<SavedDocument, SaveError> {
    let path = RelPath::new(&format!("knowledge/{}.md", slugify_name(context.name)?))?;
    if role_by_path(&path) != FileRole::Knowledge {
        return Err(SaveError::NotADocument { path });
    }
    let context = admit_content(workspace, context, context.content)?;
    let title = title_from_name(context.name);
    let text = fit_content(context.content, 2, |content| {
        let front = match context.importance {
            DEFAULT_IMPORTANCE => String::new(),
            importance => format!("---\nimportance: {importance}\n---\n\n"),
        };
        let text = format!(
            "{front}# {title}\n\n{content}\n\n---\n\n_Added: {}_\n",
            day_of_timestamp(now)
        );
        let document = document::parse_document(text.as_str());
        // The text is accepted only if it parses back as written: an open fence
        // or a heading in it would change the outline.
        let outline =
            heading_titles(&document, 1) == [title.as_str()] && ends_in_paragraph(&document);
        let front = document.front_matter.is_some() == (context.importance != DEFAULT_IMPORTANCE);
        (outline && front).then_some(text)
    });
    create_files(
        workspace,
        &format!("Save {path}"),
        vec![path],
        title,
        &text,
        now,
    )
}

/// Writes `SKILL.md` for every client that loads it.
pub fn save_skill(
    workspace: &Workspace,
    skill: &NewSkill,
    now: Timestamp,
) -> Result<SavedDocument, SaveError> {
    let name = slugify_name(skill.name)?;
    let skill = admit_content(workspace, skill, skill.content)?;
    let mut paths = Vec::new();
    for folder in list_skill_folders(skill.clients) {
        paths.push(RelPath::new(&format!("{folder}/{name}/SKILL.md"))?);
    }
    let title = title_from_name(skill.name);
    let text = render_skill(&skill, &name, &title, day_of_timestamp(now));
    create_files(
        workspace,
        &format!("Save skill {name}"),
        paths,
        title,
        &text,
        now,
    )
}

/// Adds a section to context files, all of them together.
pub fn save_section(
    workspace: &Workspace,
    context: &NewDocument,
    files: &[RelPath],
    now: Timestamp,
) -> Result<SavedDocument, SaveError> {
    // Only the check is needed: names are refused by the same rule everywhere.
    slugify_name(context.name)?;
    let context = admit_content(workspace, context, context.content)?;
    let title = title_from_name(context.name);
    let body = fit_content(context.content, 3, |content| {
        let text = format!("## {title}\n\n{content}\n\n## End\n");
        let document = document::parse_document(text);
        (heading_titles(&document, 2) == [title.as_str(), "End"]).then(|| content.to_owned())
    });
    let what = format!("Save section {title}");
    let ((), receipt) = workspace.change_with(&what, now, |change| {
        for path in files {
            let text = change.read_text(path)?.unwrap_or_default();
            let document = document::parse_document(text);
            if document.find_section(&title).is_some() {
                let (path, title) = (path.clone(), title.clone());
                return Err(SaveError::SectionExists { path, title });
            }
            let edit = document.append_section(2, &title, &body);
            let after = document::apply_edits(&document.text, vec![edit])
                .map_err(|e| workspace::WorkspaceError::Refused(e.to_string()))?;
            change.write(path, after);
        }
        Ok(())
    })?;
    Ok(SavedDocument {
        title,
        files: files.to_vec(),
        receipt,
    })
}

/// The context files for a note that is made in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteRoute {
    /// The module that contains the folder.
    pub module: Option<RelPath>,
    /// One file, or both if a place has both.
    pub files: Vec<RelPath>,
}

/// Folders whose sub-folders are modules.
const MODULE_FOLDERS: [&str; 5] = ["apps", "libs", "packages", "services", "modules"];

/// Finds the context file of the nearest module above `folder`, else that of
/// the root. If a module has none, the note goes to the next place above.
pub fn route_note(
    workspace: &Workspace,
    folder: Option<&Path>,
    client: Option<AgentClient>,
) -> NoteRoute {
    let below = folder.and_then(|folder| folder.strip_prefix(workspace.root()).ok());
    let parts: Vec<&str> = below
        .and_then(Path::to_str)
        .map(|text| text.split(['/', '\\']).collect())
        .unwrap_or_default();
    let mut modules: Vec<RelPath> = Vec::new();
    for end in 2..=parts.len() {
        if MODULE_FOLDERS.contains(&parts[end - 2])
            && let Ok(module) = RelPath::new(&parts[..end].join("/"))
        {
            modules.push(module);
        }
    }
    let is_file = |path: &RelPath| {
        let meta = workspace.absolute_path(path).symlink_metadata();
        // A symlink to the other file is the same file.
        meta.is_ok_and(|meta| meta.is_file())
    };
    let there = |folder: Option<&RelPath>| -> Vec<RelPath> {
        let names = ["CLAUDE.md", "AGENTS.md"];
        let paths = names.iter().filter_map(|name| match folder {
            Some(folder) => folder.join(name).ok(),
            None => RelPath::new(name).ok(),
        });
        paths.filter(is_file).collect()
    };
    let module = modules.last().cloned();
    // The nearest module first, the root last.
    let places = modules.iter().rev().map(Some).chain([None]);
    let found = places.map(there).find(|files| !files.is_empty());
    let files = found.unwrap_or_else(|| {
        let name = match client {
            Some(AgentClient::Claude) => "CLAUDE.md",
            _ => "AGENTS.md",
        };
        vec![RelPath::new(name).expect("a constant that is a valid path")]
    });
    NoteRoute { module, files }
}

/// Returns the folders that these clients load skills from, and those of
/// Claude Code and OpenCode.
fn list_skill_folders(clients: &[AgentClient]) -> Vec<&'static str> {
    let mut folders = Vec::new();
    for client in [AgentClient::Claude, AgentClient::OpenCode]
        .iter()
        .chain(clients)
    {
        if let Some(folder) = client.skill_folder()
            && !folders.contains(&folder)
        {
            folders.push(folder);
        }
    }
    folders
}

/// Renders the text of a skill.
fn render_skill(skill: &AdmittedText<&NewSkill>, name: &str, title: &str, day: Date) -> String {
    let description = skill.description.unwrap_or("No description provided");
    let front = format!(
        "---\nname: {}\ndescription: |\n{}author: Memory Forge\nversion: 1.0.0\ndate: {day}\nimportance: {}\n---\n",
        quote_yaml_word(name),
        indent_yaml_block(description),
        skill.importance
    );
    let problem = skill.problem.unwrap_or("No problem description provided.");
    let trigger = skill.trigger.unwrap_or("No trigger conditions provided.");
    let assemble = |problem: &str, trigger: &str, solution: &str| {
        let text = format!(
            "{front}\n# {title}\n\n## Problem\n\n{problem}\n\n## Trigger Conditions\n\n{trigger}\n\n\
             ## Solution\n\n{solution}\n\n## Verification\n\n(Add verification steps here)\n"
        );
        let document = document::parse_document(text.as_str());
        let expect = [
            title,
            "Problem",
            "Trigger Conditions",
            "Solution",
            "Verification",
        ];
        (heading_titles(&document, 2) == expect && ends_in_paragraph(&document)).then_some(text)
    };
    // One part after the other: each is fitted among parts that are known to be
    // safe.
    let problem = fit_content(problem, 3, |p| assemble(p, "x", "x").map(|_| p.to_owned()));
    let trigger = fit_content(trigger, 3, |t| assemble("x", t, "x").map(|_| t.to_owned()));
    fit_content(skill.content, 3, |content| {
        assemble(&problem, &trigger, content)
    })
}

/// Returns `content` in the first form that `accept` takes: with its headings
/// moved down to `level`, then also with its last fence closed, then as lines
/// without any structure.
fn fit_content(content: &str, level: u8, accept: impl Fn(&str) -> Option<String>) -> String {
    let lower = lower_headings(content, level);
    let closed = close_last_fence(&lower);
    let inert = document::escape_markdown_block(content);
    let forms = [lower, closed, inert];
    let last = forms[2].clone();
    forms.iter().find_map(|form| accept(form)).unwrap_or(last)
}

/// Lowers the headings of `content` so that the highest is of `level`. Front
/// matter becomes an example in a code block.
fn lower_headings(content: &str, level: u8) -> String {
    let content = content.replace("\r\n", "\n").replace('\r', "\n");
    let content = content
        .trim_start_matches('\u{feff}')
        .trim_matches('\n')
        .trim_end();
    let document = document::parse_document(content);
    let mut edits = Vec::new();
    if let Some(front) = &document.front_matter {
        let yaml = document.span_text(&front.yaml);
        edits.push(TextEdit {
            span: front.span.clone(),
            text: format!("```yaml\n{yaml}```\n"),
        });
    }
    let headings = || document.sections.iter().filter(|section| section.level > 0);
    let highest = headings()
        .map(|section| section.level)
        .min()
        .unwrap_or(level);
    let by = level.saturating_sub(highest);
    for heading in headings().filter(|_| by > 0) {
        let source = document.span_text(&heading.heading);
        let indent = source.len() - source.trim_start_matches(' ').len();
        let marks = "#".repeat(usize::from((heading.level + by).min(6)));
        let text = match source.trim_start().trim_start_matches('#') {
            rest if source.trim_start().starts_with('#') => format!("{marks}{}", rest),
            // An underlined heading loses its underline, and its text becomes
            // one line.
            rest => {
                let lines: Vec<&str> = rest.trim_end().lines().collect();
                let words: Vec<&str> = lines[..lines.len() - 1].iter().map(|l| l.trim()).collect();
                format!("{marks} {}\n", words.join(" "))
            }
        };
        edits.push(TextEdit {
            span: heading.heading.start + indent..heading.heading.end,
            text,
        });
    }
    match document::apply_edits(content, edits) {
        Ok(text) => text.trim_end().to_owned(),
        Err(_) => document::escape_markdown_block(content),
    }
}

/// Closes the last code block of a text.
fn close_last_fence(content: &str) -> String {
    let document = document::parse_document(content);
    let Some(code) = document.code.iter().rfind(|code| code.fenced) else {
        return content.to_owned();
    };
    let first = document.span_text(&code.span).trim_start();
    let fence = first.chars().next().unwrap_or('`');
    let length = first.chars().take_while(|c| *c == fence).count();
    format!("{content}\n{}", fence.to_string().repeat(length))
}

/// Creates the files in one change. Fails if one of them exists.
fn create_files(
    workspace: &Workspace,
    what: &str,
    files: Vec<RelPath>,
    title: String,
    text: &str,
    now: Timestamp,
) -> Result<SavedDocument, SaveError> {
    let ((), receipt) = workspace.change_with(what, now, |change| {
        for path in &files {
            change.create(path, text).map_err(|error| match error {
                workspace::WorkspaceError::Exists { .. } => {
                    SaveError::Exists { path: path.clone() }
                }
                other => other.into(),
            })?;
            list_in_readme(change, path, text)?;
        }
        Ok::<_, SaveError>(())
    })?;
    Ok(SavedDocument {
        title,
        files,
        receipt,
    })
}

/// Adds a document to the list for people, where `knowledge/README.md` has one.
fn list_in_readme(
    change: &mut WorkspaceChange,
    path: &RelPath,
    text: &str,
) -> Result<(), workspace::WorkspaceError> {
    if !path.starts_with("knowledge") || path.is_private() {
        return Ok(());
    }
    let new = ReadmeEntry::new(path.clone(), text);
    let readme = readme::readme_path();
    // Another command reports a README that cannot be read.
    let there = change.read_text(&readme).ok().flatten();
    if let Some(after) = there.and_then(|text| readme::add_document(&text, &new)) {
        change.write(&readme, after);
    }
    Ok(())
}

/// Admits a document with this content. Fails if the content is empty.
fn admit_content<T: SubmittedText>(
    workspace: &Workspace,
    document: T,
    content: &str,
) -> Result<AdmittedText<T>, SaveError> {
    if content.trim().is_empty() {
        return Err(SaveError::Empty);
    }
    Ok(admit::admit_text(workspace, document)?)
}

/// Returns the name as a heading: `retry-policy` becomes `Retry Policy`.
fn title_from_name(name: &str) -> String {
    let words: Vec<String> = name
        .split('-')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(|word| {
            let mut chars = word.chars();
            let first = chars.next().into_iter().flat_map(char::to_uppercase);
            first.chain(chars).collect()
        })
        .collect();
    let line = document::escape_markdown_line(&words.join(" "));
    // Without markup, as the parser reads the heading back.
    let document = document::parse_document(format!("# {line}\n"));
    let plain = document.title().unwrap_or(&line).to_owned();
    match document::parse_document(format!("# {plain}\n")).title() {
        Some(same) if same == plain => plain,
        _ => slugify_name(name).unwrap_or(plain),
    }
}

/// Returns the titles of headings down to a level.
fn heading_titles(document: &Document, level: u8) -> Vec<&str> {
    let sections = document.sections.iter();
    sections
        .filter(|section| (1..=level).contains(&section.level))
        .map(|section| section.title.as_str())
        .collect()
}

/// Returns `true` if the last block is a paragraph of one line.
fn ends_in_paragraph(document: &Document) -> bool {
    let last = document.blocks.last();
    last.is_some_and(|block| {
        block.kind == BlockKind::Paragraph
            && document.line_range(&block.span).0 == document.line_range(&block.span).1
    })
}

/// Returns a slug as a YAML string, quoted where `true` or `100` would be
/// another type.
fn quote_yaml_word(slug: &str) -> String {
    let document = document::parse_document(format!("---\nname: {slug}\n---\n"));
    let front = document.front_matter.as_ref();
    match front.and_then(|front| front.text("name")) {
        Some(text) if text == slug => slug.to_owned(),
        _ => format!("\"{slug}\""),
    }
}

/// Renders a text as the lines of a YAML block, which takes any text that is
/// indented alike.
fn indent_yaml_block(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line: String = line
            .chars()
            .filter(|c| !c.is_control() && *c != '\u{feff}')
            .collect();
        line.trim().to_owned()
    });
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests;
