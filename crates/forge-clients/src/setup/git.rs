//! Wires our merge driver for `setup --git`: lines in `.gitattributes` that
//! name it, and the setting of this clone that holds its command. A clone
//! without that setting merges as git always does.

use std::ops::Range;

use crate::teams;
use crate::workspace::Workspace;
use crate::workspace::git::{self, MergeDriver};

use super::hooks::ProgramPath;
use super::lines::{append_block, cut_block, newline_of};

pub(super) const ATTRIBUTES_FILE: &str = ".gitattributes";

const BEGIN_MARKER: &str = "# memory-forge:begin";
const END_MARKER: &str = "# memory-forge:end";

/// Change of the driver's setting in this clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverSetting {
    /// The command that git calls today.
    pub before: Option<String>,
    /// The command that it shall call.
    pub after: Option<String>,
}

/// State of the driver in the files and in this clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverWiring {
    /// Neither the files nor the clone name the driver.
    None,
    /// The files and the settings of the clone name the driver.
    Whole,
    /// The files name the driver, and the clone has no setting for it.
    NotInThisClone,
}

impl DriverWiring {
    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        match self {
            DriverWiring::None => "none",
            DriverWiring::Whole => "whole",
            DriverWiring::NotInThisClone => "not-in-this-clone",
        }
    }
}

/// Returns the state of the driver without changing anything. Git is started
/// only if the files name the driver, since that takes longer than reading a
/// file.
pub fn driver_wiring(workspace: &Workspace) -> DriverWiring {
    let named = teams::has_merge_driver(workspace);
    match named.then(|| git::merge_driver(workspace.root())) {
        None | Some(MergeDriver::NoRepository) => DriverWiring::None,
        Some(MergeDriver::Set(_)) => DriverWiring::Whole,
        Some(MergeDriver::Missing) => DriverWiring::NotInThisClone,
    }
}

/// Returns `true` if our lines are in `.gitattributes`.
pub fn has_driver_lines(text: &str) -> bool {
    find_block(text).is_some()
}

/// Returns `.gitattributes` with our lines, at the end unless they are there already.
pub fn with_driver_lines(current: Option<&str>) -> String {
    let text = current.unwrap_or_default();
    let found = find_block(text);
    let newline = newline_of(found.clone().map_or(text, |span| &text[span]));
    let lines = teams::MERGED_FILE_PATTERNS
        .iter()
        .map(|it| format!("{it} {}", teams::MERGE_ATTRIBUTE));
    let lines: Vec<String> = std::iter::once(BEGIN_MARKER.to_owned())
        .chain(lines)
        .chain([END_MARKER.to_owned()])
        .collect();
    let ours = lines.join(newline);
    match (current, found) {
        (None, _) => ours + newline,
        (_, Some(span)) => {
            let mut text = text.to_owned();
            text.replace_range(span, &ours);
            text
        }
        (_, None) => append_block(text, &ours, newline),
    }
}

/// Returns `.gitattributes` without our lines; `None` if the file was created
/// for them.
pub fn without_driver_lines(text: &str) -> Option<String> {
    match find_block(text) {
        Some(span) => cut_block(text, span),
        None => Some(text.to_owned()),
    }
}

/// Returns the span of our lines. Only whole lines count as markers; a block
/// without an end is not removed, since it may hold lines of others.
fn find_block(text: &str) -> Option<Range<usize>> {
    let mut at = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        match line.trim_end() {
            BEGIN_MARKER => start = start.or(Some(at)),
            END_MARKER if start.is_some() => return start.map(|it| it..at + END_MARKER.len()),
            _ => {}
        }
        at += line.len();
    }
    None
}

/// Returns the line that git hands to a shell. If the program is missing, too
/// old or broken, git's own merge does the work: the file must never end as one
/// side alone.
pub fn driver_command(program: &ProgramPath) -> String {
    // Git replaces what follows a percent sign.
    let program = program.as_shell_word().replace('%', "%%");
    // Exit code 1 is a merge with conflicts, which git understands; any higher
    // code means that our driver did not merge.
    format!(
        "{program} merge %O %A %B %P; s=$?; \
         if [ $s -gt 1 ]; then git merge-file -q -L ours -L base -L theirs %A %O %B; s=$?; fi; \
         exit $s"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_end_of_a_file_comes_back() {
        for text in ["", "\n", "*.md text", "*.md text\n", "a\r\nb\r\n"] {
            let with_it = with_driver_lines(Some(text));
            assert!(has_driver_lines(&with_it), "{with_it:?}");
            assert_eq!(with_driver_lines(Some(&with_it)), with_it, "twice is once");
            assert_eq!(without_driver_lines(&with_it).as_deref(), Some(text));
        }
        assert_eq!(without_driver_lines(&with_driver_lines(None)), None);
    }
}
