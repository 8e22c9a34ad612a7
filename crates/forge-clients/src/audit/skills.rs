//! Reads skills: clients put a line about each into the context and read the
//! file only when it is used. Clients differ in where they look and in what the
//! line holds.

use std::collections::HashSet;
use std::rc::Rc;

use super::loads::{FileLoad, strip_comments, truncate_to_utf16, utf16_len};
use super::source::{AuditSource, SourcePlace, SourceReader};
use super::{AuditFinding, AuditFindingKind, AuditLevel, FileOrigin};
use crate::document::{BlockKind, Document, YamlValue};
use crate::workspace::RelPath;

/// Front matter of a skill, as far as a client's listing needs it.
pub(super) struct SkillHeader {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) when_to_use: Option<String>,
    /// Whether only a person may start it, so that the model is not shown it.
    pub(super) hidden: bool,
    /// Whether it is offered with matching files, not at start.
    pub(super) scoped: bool,
}

impl SkillHeader {
    pub(super) fn from_document(document: &Document, fallback: &str) -> SkillHeader {
        let front = document.front_matter.as_ref();
        let text = |key| front.and_then(|f| f.text(key)).map(one_line);
        SkillHeader {
            name: text("name").unwrap_or_else(|| fallback.to_owned()),
            description: text("description").unwrap_or_default(),
            when_to_use: text("when_to_use").filter(|t| !t.is_empty()),
            hidden: front.is_some_and(|f| f.flag("disable-model-invocation")),
            scoped: is_scoped(document),
        }
    }
}

/// Returns `true` if `paths` limits a rule or a skill to some files.
pub(super) fn is_scoped(document: &Document) -> bool {
    let paths = document.front_matter.as_ref().and_then(|f| f.get("paths"));
    match paths {
        Some(YamlValue::Text(text)) => !text.trim().is_empty(),
        Some(YamlValue::List(list)) => !list.is_empty(),
        _ => false,
    }
}

/// Rules by which a client lists its skills.
pub(super) struct SkillListing {
    /// Folders of the project that hold skills; of two skills with the same
    /// name the first in this order counts.
    pub(super) project: &'static [&'static str],
    /// Folders below home that hold skills.
    pub(super) home: &'static [&'static str],
    /// Renderer of the line about one skill.
    pub(super) line: fn(&SkillHeader, &AuditSource) -> String,
    /// Whether `disable-model-invocation` keeps a skill out, and the first
    /// paragraph stands in for a missing description.
    pub(super) as_claude: bool,
    /// Whether a skill with `paths` waits for matching files.
    pub(super) waits_for_paths: bool,
    /// Upper bound for a description in UTF-16 units; a skill with a longer one
    /// is not listed.
    pub(super) max_description: usize,
}

pub(super) fn list_skills(reader: &SourceReader, listing: &SkillListing) -> Vec<FileLoad> {
    let mut loads = Vec::new();
    let mut names = HashSet::new();
    for folder in listing.project {
        for source in skills_in_folder(reader, folder) {
            loads.push(skill_load(
                &source,
                FileOrigin::Project,
                listing,
                &mut names,
            ));
        }
    }
    for folder in listing.home {
        for source in reader.read_home_files(folder, 1) {
            if is_skill(&source) {
                loads.push(skill_load(&source, FileOrigin::User, listing, &mut names));
            }
        }
    }
    loads
}

fn skill_load(
    source: &Rc<AuditSource>,
    origin: FileOrigin,
    listing: &SkillListing,
    names: &mut HashSet<String>,
) -> FileLoad {
    let mut skill = SkillHeader::from_document(&source.document, &folder_name(source));
    if listing.as_claude && skill.description.is_empty() {
        skill.description = first_paragraph(&source.document);
    }
    let (body, _) = strip_comments(&source.document);
    let (why, text) = if !names.insert(skill.name.clone()) {
        return FileLoad::with_part(
            source,
            origin,
            "another skill has this name",
            "nothing",
            String::new(),
        );
    } else if listing.as_claude && skill.hidden {
        ("skill that only a person starts", String::new())
    } else if listing.waits_for_paths && skill.scoped {
        ("skill for matching files", String::new())
    } else if !listing.as_claude && skill.description.is_empty() {
        ("skill without a description", String::new())
    } else if utf16_len(&skill.description) > listing.max_description {
        ("skill with too long a description", String::new())
    } else {
        ("skill", (listing.line)(&skill, source))
    };
    let part = if text.is_empty() {
        "nothing until then"
    } else {
        "name and description"
    };
    FileLoad {
        invoke: Some(body),
        ..FileLoad::with_part(source, origin, why, part, text)
    }
}

/// Reads the skills of a folder of the project: `<folder>/<name>/SKILL.md`.
fn skills_in_folder(reader: &SourceReader, folder: &str) -> Vec<Rc<AuditSource>> {
    let direct = |path: &RelPath| {
        let below = path.as_str().strip_prefix(folder)?.strip_prefix('/')?;
        (below.split('/').count() == 2 && path.file_name() == "SKILL.md").then_some(())
    };
    let files = reader.autoload_files().iter();
    files
        .filter(|file| direct(&file.path).is_some())
        .filter_map(|file| reader.read_source(&SourcePlace::Inside(file.path.clone())))
        .collect()
}

fn is_skill(source: &AuditSource) -> bool {
    source.shown.ends_with("/SKILL.md")
}

pub(super) fn folder_name(source: &AuditSource) -> String {
    source.shown.rsplit('/').nth(1).unwrap_or("").to_owned()
}

/// Returns `- name: description - when`, with at most 1,536 characters behind
/// the name: how Claude Code lists skills and commands.
pub(super) fn claude_line(skill: &SkillHeader) -> String {
    let mut about = skill.description.clone();
    if let Some(when) = &skill.when_to_use {
        about = format!("{about} - {when}");
    }
    format!("- {}: {}\n", skill.name, truncate_to_utf16(&about, 1536))
}

/// Returns the element by which Gemini CLI, Copilot CLI and OpenCode list a
/// skill; `place` is where the client says that it is.
pub(super) fn skill_xml(name: &str, about: &str, place: &str) -> String {
    format!(
        "<skill>\n  <name>{name}</name>\n  <description>{about}</description>\n  \
         <location>{place}</location>\n</skill>\n"
    )
}

/// Returns [`skill_xml`] with the absolute path that Gemini CLI and OpenCode
/// give. The home and the root have made-up names of a common length, so that a
/// count is the same wherever the project lies.
pub(super) fn skill_xml_with_path(skill: &SkillHeader, source: &AuditSource) -> String {
    let place = match source.shown.strip_prefix("~/") {
        Some(below) => format!("/home/user/{below}"),
        None => format!("/home/user/work/project/{}", source.shown),
    };
    let element = skill_xml(&skill.name, &skill.description, &place);
    element.lines().map(|line| format!("  {line}\n")).collect()
}

/// Returns the first paragraph of a text, for a skill without a description.
pub(super) fn first_paragraph(document: &Document) -> String {
    let mut blocks = document.blocks.iter();
    let first = blocks.find(|block| block.kind == BlockKind::Paragraph);
    first.map_or_else(String::new, |block| {
        one_line(document.span_text(&block.span))
    })
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reports what keeps a skill from working, by the rules that clients share.
pub(super) fn check_skill(source: &AuditSource, findings: &mut Vec<AuditFinding>) {
    if !is_skill(source) {
        return;
    }
    let shown = &source.shown;
    let mut say = |line: usize, what: String, advice: &str| {
        let message = format!("{shown}: {what}");
        let finding =
            AuditFinding::new(AuditLevel::Warning, AuditFindingKind::Skill, shown, message);
        findings.push(finding.at_line(line).with_advice(advice));
    };
    // Broken front matter has a finding of its own, and its values are
    // unreliable.
    if !source.document.problems.is_empty() {
        return;
    }
    let Some(front) = &source.document.front_matter else {
        return say(
            1,
            "has no front matter, so that no client knows what it is for".to_owned(),
            "Begin it with `name` and `description` between two lines of `---`",
        );
    };
    let line = |key: &str| {
        let yaml = source.document.span_text(&front.yaml);
        let at = yaml.lines().position(|l| l.starts_with(key));
        source.document.line_number_at(front.yaml.start) + at.unwrap_or(0)
    };
    let folder = folder_name(source);
    match front.text("name") {
        Some(name) if name != folder => say(
            line("name"),
            format!("is named `{}`, but its folder `{folder}`", one_line(name)),
            "Give both the same name; some clients refuse the skill otherwise",
        ),
        _ => {}
    }
    match front.text("description").map(str::trim) {
        None | Some("") => say(
            1,
            "has no description, so that no client knows when to use it".to_owned(),
            "Add a `description` of what it does and when to use it",
        ),
        Some(text) if text.chars().count() > 1024 => say(
            line("description"),
            format!(
                "has a description of {} characters; clients take 1,024",
                crate::tokens::format_thousands(text.chars().count())
            ),
            "Say in the first sentence what it does and when to use it; move the rest to the body",
        ),
        Some(_) => {}
    }
}
