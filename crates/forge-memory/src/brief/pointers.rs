//! The index of pointers that is sent without a request: a session gets that of
//! the workspace, a helper its own and no other. This reads at most two files
//! besides the names of folders, since hooks call it.

use super::pack::take_lines;
use crate::agents::Home;
use crate::agents::pointers::{FALLBACK, FILE, MAX_BYTES, MAX_LINES, PRIVATE};
use crate::document;
use crate::quote;
use crate::workspace::{RelPath, Workspace};

/// An index of pointers as a prompt contains it: a line for each topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerIndex {
    /// Links in the text are relative to this path.
    pub path: String,
    pub text: String,
}

/// Returns the index of the workspace: that of `knowledge/`, else the one at
/// the root.
pub fn find_for_session(workspace: &Workspace) -> Option<PointerIndex> {
    let home = Home::knowledge();
    if let Some(text) = read_index(workspace, &home, MAX_BYTES) {
        let path = home.file(FILE).ok()?.to_string();
        return Some(PointerIndex { path, text });
    }
    let path = RelPath::new(FILE).ok()?;
    let text = workspace.text_if_there(&path).ok().flatten()?;
    let document = document::parse(quote::unasked(&text).into_owned());
    let text = document.text[document.body.clone()].trim();
    (!text.is_empty()).then(|| PointerIndex {
        path: path.to_string(),
        text: text.to_owned(),
    })
}

/// Returns the memory of the agent that a client calls by this name: `agent`,
/// `squad/agent`, `squad:agent`, or `plugin:agent`. Returns `None` if several
/// squads have an agent of that name.
pub fn find_for_helper(workspace: &Workspace, name: &str) -> Option<PointerIndex> {
    let home = home_of(workspace, name)?;
    let text = read_index(workspace, &home, MAX_BYTES)?;
    let there = |file: &str| {
        let path = home.file(file).ok()?;
        workspace
            .absolute(&path)
            .is_file()
            .then(|| path.to_string())
    };
    let path = there(FILE).or_else(|| there(FALLBACK));
    Some(PointerIndex {
        path: path.unwrap_or_else(|| home.folder().to_string()),
        text,
    })
}

fn home_of(workspace: &Workspace, name: &str) -> Option<Home> {
    let is_there = |home: &Home| workspace.absolute(home.folder()).is_dir();
    if let Some((squad, agent)) = name.split_once(['/', ':']) {
        let named = Home::open(squad, agent).ok().filter(is_there);
        // The text before a colon may be the plugin that brought the agent.
        return named.or_else(|| {
            if name.contains(':') {
                Home::find(workspace, agent).ok().filter(is_agent)
            } else {
                None
            }
        });
    }
    Home::find(workspace, name).ok().filter(is_agent)
}

/// Returns `true` if the memory belongs to an agent. A client may call an agent
/// `knowledge`, and that memory is shared.
fn is_agent(home: &Home) -> bool {
    home.agent().is_some()
}

/// Returns the memory that an agent receives at its start: the index, shared
/// and private, within `max_bytes` and the caps of the file; `state.md` if
/// there is no index. The last line names what was left out.
pub fn read_index(workspace: &Workspace, home: &Home, max_bytes: usize) -> Option<String> {
    let read = |name: &str| -> Option<(String, String)> {
        let path = home.file(name).ok()?;
        let text = workspace.read_text(&path).ok()?;
        let shown = shown(&text);
        (!shown.is_empty()).then(|| (path.to_string(), shown))
    };
    let mut parts: Vec<(String, String)> = [FILE, PRIVATE].into_iter().filter_map(read).collect();
    if parts.is_empty() {
        parts.extend(home.agent().and_then(|_| read(FALLBACK)));
    }
    within(&parts, max_bytes.min(MAX_BYTES), MAX_LINES)
}

/// Returns the lines of a file for a prompt: without front matter, and without
/// anything that must not be sent unasked.
fn shown(text: &str) -> String {
    let text = document::normalise(text);
    let document = document::parse(quote::unasked(&text).into_owned());
    let body = &document.text[document.body.clone()];
    let body = body.trim_start_matches('\u{feff}');
    body.trim_matches('\n').to_owned()
}

/// Returns whole lines of these files in their order, as many as fit. The last
/// line contains the number and the files of those that did not.
fn within(parts: &[(String, String)], max_bytes: usize, max_lines: usize) -> Option<String> {
    let whole: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    let whole = whole.join("\n");
    if whole.len() < max_bytes && whole.lines().count() <= max_lines {
        return (!whole.is_empty()).then(|| whole + "\n");
    }
    let note = |left: &[(&str, usize)]| {
        let told: Vec<String> = left
            .iter()
            .map(|(path, count)| {
                let lines = if *count == 1 { "line" } else { "lines" };
                format!("{count} more {lines} in {path}")
            })
            .collect();
        format!("… {}\n", told.join(", "))
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

    fn builder() -> Home {
        Home::open("eng", "builder").expect("good names")
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
        let whole = read_index(&workspace, &builder(), 100_000).expect("there is one");
        assert_eq!(whole, format!("{lines}- [Me](me.local.md)\n"));
        for cap in 0..1200 {
            let Some(text) = read_index(&workspace, &builder(), cap) else {
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
        let short = read_index(&workspace, &builder(), 400).expect("there is room");
        assert!(short.starts_with("- [T0](t0.md) — why\n"), "{short}");
    }

    #[test]
    fn without_an_index_the_state_is_told() {
        let ws = TestWorkspace::files(&format!(
            "//- {AT}/state.md\n---\na: b\n---\n\nBusy\u{1b}[2J with it.\n"
        ));
        let workspace = opened(&ws);
        let told = read_index(&workspace, &builder(), 1000);
        assert_eq!(told.as_deref(), Some("Busy‹U+001B›[2J with it.\n"));
        let other = Home::open("eng", "nobody").expect("good names");
        assert_eq!(read_index(&workspace, &other, 1000), None);
        assert_eq!(read_index(&workspace, &Home::knowledge(), 1000), None);
    }
}
