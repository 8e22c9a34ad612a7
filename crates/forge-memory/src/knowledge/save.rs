//! Saves something learnt: as a document of `knowledge/`, as a skill where
//! agents load skills from, or in the context file of a module.
//!
//! Nothing that exists is overwritten. The text comes from outside: it may have
//! headings of its own, but it cannot break the front matter or the headings
//! around it, and it may contain no secret.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;

use super::readme::{self, Listed};
use crate::admit::{self, AdmittedText, SubmittedText};
use crate::client::Client;
use crate::diagnostic::Diagnostic;
use crate::document::{self, BlockKind, Document, Edit, day_of};
use crate::workspace::{
    self, Change, PathError, Receipt, RelPath, Role, Workspace, role_by_path, slug,
};

/// The reason why nothing was saved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's name cannot become a file name.
    #[error(transparent)]
    Name(#[from] PathError),
    /// The workspace cannot be read or written; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The caller's name has an ending with another meaning.
    #[error(
        "`{path}` would not be a document: names that end in `-index` or `-archive` have a meaning of their own"
    )]
    NotADocument { path: RelPath },
    /// The caller's text is empty.
    #[error("There is no text to save")]
    Empty,
    /// The caller's text was refused by the gate.
    #[error(transparent)]
    Refused(#[from] admit::Refusal),
    /// The caller's name is taken by another document or skill.
    #[error("`{path}` already exists")]
    Exists { path: RelPath },
    /// The caller's title is taken by another section of the context file.
    #[error("A section `{title}` already exists in `{path}`")]
    SectionExists { path: RelPath, title: String },
}

impl Diagnostic for Error {
    fn code(&self) -> &'static str {
        match self {
            Error::Name(error) => error.code(),
            Error::Workspace(error) => error.code(),
            Error::NotADocument { .. } => "save.not-a-document",
            Error::Empty => "save.empty",
            Error::Refused(error) => error.code(),
            Error::Exists { .. } => "save.exists",
            Error::SectionExists { .. } => "save.section-exists",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Error::Name(error) => return error.hints(),
            Error::Workspace(error) => return error.hints(),
            Error::Refused(error) => return error.hints(),
            Error::NotADocument { .. } => "Choose another name",
            Error::Empty => "Give it with `--content`, or pipe it in",
            Error::Exists { .. } => "Choose another name, or edit that file",
            Error::SectionExists { .. } => "Choose another name, or edit that section",
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        matches!(self, Error::Name(_))
    }
}

/// A document for `knowledge/`, or a section for a context file.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub name: &'a str,
    pub content: &'a str,
    pub importance: u8,
}

/// A skill for the clients that load skills.
#[derive(Debug, Clone, Copy)]
pub struct Skill<'a> {
    pub name: &'a str,
    pub content: &'a str,
    pub description: Option<&'a str>,
    pub trigger: Option<&'a str>,
    pub problem: Option<&'a str>,
    pub importance: u8,
    /// Additional clients to write it for; Claude Code and OpenCode are always
    /// included.
    pub clients: &'a [Client],
}

impl SubmittedText for Context<'_> {
    fn statements(&self) -> Vec<&str> {
        vec![self.name, self.content]
    }
}

impl SubmittedText for Skill<'_> {
    fn statements(&self) -> Vec<&str> {
        let texts = [self.description, self.trigger, self.problem];
        let texts = texts.into_iter().flatten();
        [self.name, self.content].into_iter().chain(texts).collect()
    }
}

/// The files that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub title: String,
    pub files: Vec<RelPath>,
    pub receipt: Receipt,
}

/// The importance that needs no front matter.
const USUAL_IMPORTANCE: u8 = 5;

/// Writes `knowledge/<slug>.md`.
pub fn context(workspace: &Workspace, context: &Context, now: Timestamp) -> Result<Saved, Error> {
    let path = RelPath::new(&format!("knowledge/{}.md", slug(context.name)?))?;
    if role_by_path(&path) != Role::Knowledge {
        return Err(Error::NotADocument { path });
    }
    let context = admitted(workspace, context, context.content)?;
    let title = title(context.name);
    let text = settled(context.content, 2, |content| {
        let front = match context.importance {
            USUAL_IMPORTANCE => String::new(),
            importance => format!("---\nimportance: {importance}\n---\n\n"),
        };
        let text = format!(
            "{front}# {title}\n\n{content}\n\n---\n\n_Added: {}_\n",
            day_of(now)
        );
        let document = document::parse(text.as_str());
        // The text is accepted only if it parses back as written: an open fence
        // or a heading in it would change the outline.
        let outline = outline(&document, 1) == [title.as_str()] && ends_in_paragraph(&document);
        let front = document.front_matter.is_some() == (context.importance != USUAL_IMPORTANCE);
        (outline && front).then_some(text)
    });
    create(
        workspace,
        &format!("Save {path}"),
        vec![path],
        title,
        &text,
        now,
    )
}

/// Writes `SKILL.md` for every client that loads it.
pub fn skill(workspace: &Workspace, skill: &Skill, now: Timestamp) -> Result<Saved, Error> {
    let name = slug(skill.name)?;
    let skill = admitted(workspace, skill, skill.content)?;
    let mut paths = Vec::new();
    for folder in skill_folders(skill.clients) {
        paths.push(RelPath::new(&format!("{folder}/{name}/SKILL.md"))?);
    }
    let title = title(skill.name);
    let text = skill_text(&skill, &name, &title, day_of(now));
    create(
        workspace,
        &format!("Save skill {name}"),
        paths,
        title,
        &text,
        now,
    )
}

/// Adds a section to context files, all of them together.
pub fn into_context(
    workspace: &Workspace,
    context: &Context,
    files: &[RelPath],
    now: Timestamp,
) -> Result<Saved, Error> {
    // Only the check is needed: names are refused by the same rule everywhere.
    slug(context.name)?;
    let context = admitted(workspace, context, context.content)?;
    let title = title(context.name);
    let body = settled(context.content, 3, |content| {
        let text = format!("## {title}\n\n{content}\n\n## End\n");
        let document = document::parse(text);
        (outline(&document, 2) == [title.as_str(), "End"]).then(|| content.to_owned())
    });
    let what = format!("Save section {title}");
    let ((), receipt) = workspace.change_with(&what, now, |change| {
        for path in files {
            let text = change.read_text(path)?.unwrap_or_default();
            let document = document::parse(text);
            if document.find_section(&title).is_some() {
                let (path, title) = (path.clone(), title.clone());
                return Err(Error::SectionExists { path, title });
            }
            let edit = document.append_section(2, &title, &body);
            let after = document::apply(&document.text, vec![edit])
                .map_err(|e| workspace::Error::Refused(e.to_string()))?;
            change.write(path, after);
        }
        Ok(())
    })?;
    Ok(Saved {
        title,
        files: files.to_vec(),
        receipt,
    })
}

/// The context files for a note that is made in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The module that contains the folder.
    pub module: Option<RelPath>,
    /// One file, or both if a place has both.
    pub files: Vec<RelPath>,
}

/// Folders whose sub-folders are modules.
const MODULES: [&str; 5] = ["apps", "libs", "packages", "services", "modules"];

/// Finds the context file of the nearest module above `folder`, else that of
/// the root. If a module has none, the note goes to the next place above.
pub fn route(workspace: &Workspace, folder: Option<&Path>, client: Option<Client>) -> Route {
    let below = folder.and_then(|folder| folder.strip_prefix(workspace.root()).ok());
    let parts: Vec<&str> = below
        .and_then(Path::to_str)
        .map(|text| text.split(['/', '\\']).collect())
        .unwrap_or_default();
    let mut modules: Vec<RelPath> = Vec::new();
    for end in 2..=parts.len() {
        if MODULES.contains(&parts[end - 2])
            && let Ok(module) = RelPath::new(&parts[..end].join("/"))
        {
            modules.push(module);
        }
    }
    let is_file = |path: &RelPath| {
        let meta = workspace.absolute(path).symlink_metadata();
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
            Some(Client::Claude) => "CLAUDE.md",
            _ => "AGENTS.md",
        };
        vec![RelPath::new(name).expect("a constant that is a valid path")]
    });
    Route { module, files }
}

/// Returns the folders that these clients load skills from, and those of
/// Claude Code and OpenCode.
fn skill_folders(clients: &[Client]) -> Vec<&'static str> {
    let mut folders = Vec::new();
    for client in [Client::Claude, Client::OpenCode].iter().chain(clients) {
        if let Some(folder) = client.skill_folder()
            && !folders.contains(&folder)
        {
            folders.push(folder);
        }
    }
    folders
}

/// Renders the text of a skill.
fn skill_text(skill: &AdmittedText<&Skill>, name: &str, title: &str, day: Date) -> String {
    let description = skill.description.unwrap_or("No description provided");
    let front = format!(
        "---\nname: {}\ndescription: |\n{}author: Memory Forge\nversion: 1.0.0\ndate: {day}\nimportance: {}\n---\n",
        yaml_word(name),
        yaml_block(description),
        skill.importance
    );
    let problem = skill.problem.unwrap_or("No problem description provided.");
    let trigger = skill.trigger.unwrap_or("No trigger conditions provided.");
    let assemble = |problem: &str, trigger: &str, solution: &str| {
        let text = format!(
            "{front}\n# {title}\n\n## Problem\n\n{problem}\n\n## Trigger Conditions\n\n{trigger}\n\n\
             ## Solution\n\n{solution}\n\n## Verification\n\n(Add verification steps here)\n"
        );
        let document = document::parse(text.as_str());
        let expect = [
            title,
            "Problem",
            "Trigger Conditions",
            "Solution",
            "Verification",
        ];
        (outline(&document, 2) == expect && ends_in_paragraph(&document)).then_some(text)
    };
    // One part after the other: each is fitted among parts that are known to be
    // safe.
    let problem = settled(problem, 3, |p| assemble(p, "x", "x").map(|_| p.to_owned()));
    let trigger = settled(trigger, 3, |t| assemble("x", t, "x").map(|_| t.to_owned()));
    settled(skill.content, 3, |content| {
        assemble(&problem, &trigger, content)
    })
}

/// Returns `content` in the first form that `accept` takes: with its headings
/// moved down to `level`, then also with its last fence closed, then as lines
/// without any structure.
fn settled(content: &str, level: u8, accept: impl Fn(&str) -> Option<String>) -> String {
    let lower = below(content, level);
    let closed = with_fence_closed(&lower);
    let inert = document::inert_block(content);
    let forms = [lower, closed, inert];
    let last = forms[2].clone();
    forms.iter().find_map(|form| accept(form)).unwrap_or(last)
}

/// Lowers the headings of `content` so that the highest is of `level`. Front
/// matter becomes an example in a code block.
fn below(content: &str, level: u8) -> String {
    let content = content.replace("\r\n", "\n").replace('\r', "\n");
    let content = content
        .trim_start_matches('\u{feff}')
        .trim_matches('\n')
        .trim_end();
    let document = document::parse(content);
    let mut edits = Vec::new();
    if let Some(front) = &document.front_matter {
        let yaml = document.str(&front.yaml);
        edits.push(Edit {
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
        let source = document.str(&heading.heading);
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
        edits.push(Edit {
            span: heading.heading.start + indent..heading.heading.end,
            text,
        });
    }
    match document::apply(content, edits) {
        Ok(text) => text.trim_end().to_owned(),
        Err(_) => document::inert_block(content),
    }
}

/// Closes the last code block of a text.
fn with_fence_closed(content: &str) -> String {
    let document = document::parse(content);
    let Some(code) = document.code.iter().rfind(|code| code.fenced) else {
        return content.to_owned();
    };
    let first = document.str(&code.span).trim_start();
    let fence = first.chars().next().unwrap_or('`');
    let length = first.chars().take_while(|c| *c == fence).count();
    format!("{content}\n{}", fence.to_string().repeat(length))
}

/// Creates the files in one change. Fails if one of them exists.
fn create(
    workspace: &Workspace,
    what: &str,
    files: Vec<RelPath>,
    title: String,
    text: &str,
    now: Timestamp,
) -> Result<Saved, Error> {
    let ((), receipt) = workspace.change_with(what, now, |change| {
        for path in &files {
            change.create(path, text).map_err(|error| match error {
                workspace::Error::Exists { .. } => Error::Exists { path: path.clone() },
                other => other.into(),
            })?;
            list(change, path, text)?;
        }
        Ok::<_, Error>(())
    })?;
    Ok(Saved {
        title,
        files,
        receipt,
    })
}

/// Adds a document to the list for people, where `knowledge/README.md` has one.
fn list(change: &mut Change, path: &RelPath, text: &str) -> Result<(), workspace::Error> {
    if !path.starts_with("knowledge") || path.is_private() {
        return Ok(());
    }
    let new = Listed::new(path.clone(), text);
    let readme = readme::path();
    // Another command reports a README that cannot be read.
    let there = change.read_text(&readme).ok().flatten();
    if let Some(after) = there.and_then(|text| readme::with_document(&text, &new)) {
        change.write(&readme, after);
    }
    Ok(())
}

/// Admits a document with this content. Fails if the content is empty.
fn admitted<T: SubmittedText>(
    workspace: &Workspace,
    document: T,
    content: &str,
) -> Result<AdmittedText<T>, Error> {
    if content.trim().is_empty() {
        return Err(Error::Empty);
    }
    Ok(admit::admit(workspace, document)?)
}

/// Returns the name as a heading: `retry-policy` becomes `Retry Policy`.
fn title(name: &str) -> String {
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
    let line = document::inert_line(&words.join(" "));
    // Without markup, as the parser reads the heading back.
    let document = document::parse(format!("# {line}\n"));
    let plain = document.title().unwrap_or(&line).to_owned();
    match document::parse(format!("# {plain}\n")).title() {
        Some(same) if same == plain => plain,
        _ => slug(name).unwrap_or(plain),
    }
}

/// Returns the titles of headings down to a level.
fn outline(document: &Document, level: u8) -> Vec<&str> {
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
            && document.lines_of(&block.span).0 == document.lines_of(&block.span).1
    })
}

/// Returns a slug as a YAML string, quoted where `true` or `100` would be
/// another type.
fn yaml_word(slug: &str) -> String {
    let document = document::parse(format!("---\nname: {slug}\n---\n"));
    let front = document.front_matter.as_ref();
    match front.and_then(|front| front.text("name")) {
        Some(text) if text == slug => slug.to_owned(),
        _ => format!("\"{slug}\""),
    }
}

/// Renders a text as the lines of a YAML block, which takes any text that is
/// indented alike.
fn yaml_block(text: &str) -> String {
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
