//! The index of pointers that is sent without a request: a session gets that of
//! the workspace, a helper its own and no other. This reads at most two files
//! besides the names of folders, since hooks call it.

use super::pack::take_lines;
use crate::agents::MemoryHome;
use crate::agents::pointers::{
    FALLBACK_FILE, MAX_INDEX_BYTES, MAX_INDEX_LINES, POINTER_INDEX_FILE, PRIVATE_INDEX_FILE,
};
use crate::document;
use crate::quote;
use crate::workspace::{RelPath, Workspace};

/// An index of pointers as a prompt contains it: a line for each topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerIndex {
    /// Links in the text are relative to this path.
    pub path: String,
    /// The lines of the index.
    pub text: String,
}

/// Returns the index of the workspace: that of `knowledge/`, else the one at
/// the root.
pub fn find_session_index(workspace: &Workspace) -> Option<PointerIndex> {
    let home = MemoryHome::for_knowledge();
    if let Some(text) = read_pointer_index(workspace, &home, MAX_INDEX_BYTES) {
        let path = home.file_path(POINTER_INDEX_FILE).ok()?.to_string();
        return Some(PointerIndex { path, text });
    }
    let path = RelPath::new(POINTER_INDEX_FILE).ok()?;
    let text = workspace.read_text_if_present(&path).ok().flatten()?;
    let document = document::parse_document(quote::sanitize_unrequested(&text).into_owned());
    let text = document.text[document.body.clone()].trim();
    (!text.is_empty()).then(|| PointerIndex {
        path: path.to_string(),
        text: text.to_owned(),
    })
}

/// Returns the memory of the agent that a client calls by this name: `agent`,
/// `squad/agent`, `squad:agent`, or `plugin:agent`. Returns `None` if several
/// squads have an agent of that name.
pub fn find_helper_index(workspace: &Workspace, name: &str) -> Option<PointerIndex> {
    let home = find_agent_home(workspace, name)?;
    let text = read_pointer_index(workspace, &home, MAX_INDEX_BYTES)?;
    let there = |file: &str| {
        let path = home.file_path(file).ok()?;
        workspace
            .absolute_path(&path)
            .is_file()
            .then(|| path.to_string())
    };
    let path = there(POINTER_INDEX_FILE).or_else(|| there(FALLBACK_FILE));
    Some(PointerIndex {
        path: path.unwrap_or_else(|| home.folder().to_string()),
        text,
    })
}

fn find_agent_home(workspace: &Workspace, name: &str) -> Option<MemoryHome> {
    let is_there = |home: &MemoryHome| workspace.absolute_path(home.folder()).is_dir();
    if let Some((squad, agent)) = name.split_once(['/', ':']) {
        let named = MemoryHome::for_agent(squad, agent).ok().filter(is_there);
        // The text before a colon may be the plugin that brought the agent.
        return named.or_else(|| {
            if name.contains(':') {
                MemoryHome::find_by_name(workspace, agent)
                    .ok()
                    .filter(is_agent_home)
            } else {
                None
            }
        });
    }
    MemoryHome::find_by_name(workspace, name)
        .ok()
        .filter(is_agent_home)
}

/// Returns `true` if the memory belongs to an agent. A client may call an agent
/// `knowledge`, and that memory is shared.
fn is_agent_home(home: &MemoryHome) -> bool {
    home.squad_and_agent().is_some()
}

/// Returns the memory that an agent receives at its start: the index, shared
/// and private, within `max_bytes` and the caps of the file; `state.md` if
/// there is no index. The last line names what was left out.
pub fn read_pointer_index(
    workspace: &Workspace,
    home: &MemoryHome,
    max_bytes: usize,
) -> Option<String> {
    let read = |name: &str| -> Option<(String, String)> {
        let path = home.file_path(name).ok()?;
        let text = workspace.read_text(&path).ok()?;
        let shown = prepare_for_prompt(&text);
        (!shown.is_empty()).then(|| (path.to_string(), shown))
    };
    let mut parts: Vec<(String, String)> = [POINTER_INDEX_FILE, PRIVATE_INDEX_FILE]
        .into_iter()
        .filter_map(read)
        .collect();
    if parts.is_empty() {
        parts.extend(home.squad_and_agent().and_then(|_| read(FALLBACK_FILE)));
    }
    take_within_caps(&parts, max_bytes.min(MAX_INDEX_BYTES), MAX_INDEX_LINES)
}

/// Returns the lines of a file for a prompt: without front matter, and without
/// anything that must not be sent unasked.
fn prepare_for_prompt(text: &str) -> String {
    let text = document::normalize_text(text);
    let document = document::parse_document(quote::sanitize_unrequested(&text).into_owned());
    let body = &document.text[document.body.clone()];
    let body = body.trim_start_matches('\u{feff}');
    body.trim_matches('\n').to_owned()
}

/// Returns whole lines of these files in their order, as many as fit. The last
/// line contains the number and the files of those that did not.
fn take_within_caps(
    parts: &[(String, String)],
    max_bytes: usize,
    max_lines: usize,
) -> Option<String> {
    let whole: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    let whole = whole.join("\n");
    if whole.len() < max_bytes && whole.lines().count() <= max_lines {
        return (!whole.is_empty()).then(|| whole + "\n");
    }
    let note = |left: &[(&str, usize)]| {
        let counts: Vec<String> = left
            .iter()
            .map(|(path, count)| {
                let lines = if *count == 1 { "line" } else { "lines" };
                format!("{count} more {lines} in {path}")
            })
            .collect();
        format!("… {}\n", counts.join(", "))
    };
    let all: Vec<(&str, usize)> = parts
        .iter()
        .map(|(path, text)| (path.as_str(), text.lines().count()))
        .collect();
    // The longest possible note.
    let room = max_bytes.checked_sub(note(&all).len())?;
    let (mut out, mut taken) = (String::new(), 0);
    let mut left: Vec<(&str, usize)> = Vec::new();
    for (path, text) in parts {
        // Nothing of a file after the first one that did not fit.
        let is_full = !left.is_empty();
        let rest = take_lines(text.lines(), |line| {
            let fits = !is_full && out.len() + line.len() < room && taken + 1 < max_lines;
            if fits {
                out.push_str(line);
                out.push('\n');
                taken += 1;
            }
            fits
        });
        if rest > 0 {
            left.push((path, rest));
        }
    }
    Some(out + &note(&left))
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::*;

    const AT: &str = ".agents/memory/eng/builder";

    fn builder() -> MemoryHome {
        MemoryHome::for_agent("eng", "builder").expect("good names")
    }

    fn opened(files: &TestWorkspace) -> Workspace {
        Workspace::open(files.root()).expect("a workspace")
    }

    #[test]
    fn a_briefing_fits_its_cap_and_names_what_it_left_out() {
        let lines: String = (0..50)
            .map(|n| format!("- [T{n}](t{n}.md) — why\n"))
            .collect();
        let ws = TestWorkspace::files("");
        ws.write(
            &format!("{AT}/MEMORY.md"),
            format!("\u{feff}{}", lines.replace('\n', "\r\n")),
        );
        ws.write(&format!("{AT}/MEMORY.local.md"), "- [Me](me.local.md)\n");
        ws.write(&format!("{AT}/state.md"), "unused\n");
        let workspace = opened(&ws);
        let whole = read_pointer_index(&workspace, &builder(), 100_000).expect("there is one");
        assert_eq!(whole, format!("{lines}- [Me](me.local.md)\n"));
        for cap in 0..1200 {
            let Some(text) = read_pointer_index(&workspace, &builder(), cap) else {
                continue;
            };
            assert!(text.len() <= cap, "{cap}: {text}");
            assert!(
                lines.starts_with(text.lines().next().expect("a line")) || text.starts_with('…')
            );
            let rest = text.lines().next_back().expect("a line");
            assert!(
                rest.starts_with("… ") && rest.contains("MEMORY.md"),
                "{rest}"
            );
            assert!(rest.contains("1 more line in .agents/memory/eng/builder/MEMORY.local.md"));
        }
        let short = read_pointer_index(&workspace, &builder(), 400).expect("there is room");
        assert!(short.starts_with("- [T0](t0.md) — why\n"), "{short}");
    }

    #[test]
    fn without_an_index_the_state_is_told() {
        let ws = TestWorkspace::files(&format!(
            "//- {AT}/state.md\n---\na: b\n---\n\nBusy\u{1b}[2J with it.\n"
        ));
        let workspace = opened(&ws);
        let counts = read_pointer_index(&workspace, &builder(), 1000);
        assert_eq!(counts.as_deref(), Some("Busy‹U+001B›[2J with it.\n"));
        let other = MemoryHome::for_agent("eng", "nobody").expect("good names");
        assert_eq!(read_pointer_index(&workspace, &other, 1000), None);
        assert_eq!(
            read_pointer_index(&workspace, &MemoryHome::for_knowledge(), 1000),
            None
        );
    }
}
