//! `search --open N`: a hit in the user's editor. The editor is started
//! directly, never through a shell.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use forge_app::recall::RecallAnswer;
use forge_app::workspace::{RelPath, Workspace};

use super::{first_shown_line, show_nothing};
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Opens hit `number`, counted from 1, at the line of its first match.
pub(super) fn open_hit(
    answer: &RecallAnswer,
    number: usize,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if answer.hits.is_empty() {
        show_nothing(answer, ui)?;
        return Ok(CommandExit::Failure);
    }
    let Some(hit) = answer.hits.get(number - 1) else {
        return Err(CommandError::usage(format!(
            "There is no result {number}; the search has {}",
            answer.hits.len()
        ))
        .hint("`-n` asks for more results"));
    };
    let editor = settings.editor.as_ref().and_then(|it| it.to_str());
    let words = editor.map(words_of).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Err(
            CommandError::usage("`--open` needs an editor, and `$EDITOR` is not set")
                .hint("Set it, such as `export EDITOR=vim`"),
        );
    };
    // A result of another workspace, or a path that leads out of this one, is
    // not opened.
    let path = RelPath::new(&hit.passage.path)
        .ok()
        .map(|path| workspace.root().join(path.as_str()))
        .filter(|path| path.is_file());
    let Some(path) = path else {
        return Err(CommandError::failure(format!(
            "`{}` is not a file of this workspace",
            escape_hidden(&hit.passage.path)
        )));
    };
    let start = hit.matches.first().map_or(0, |it| it.start);
    let line = first_shown_line(hit, start);
    ui.flush()?;
    let status = Command::new(program)
        .args(arguments)
        .args(place(program, &path, line))
        .status()
        .map_err(|error| {
            CommandError::failure(format!("Cannot start the editor `{program}`: {error}"))
                .hint("`$VISUAL` or `$EDITOR` names it")
        })?;
    if status.success() {
        Ok(CommandExit::Success)
    } else {
        Err(CommandError::failure(format!(
            "The editor `{program}` failed ({status})"
        )))
    }
}

/// Splits a setting into words as a shell would, without expanding anything:
/// quotes keep spaces.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The arguments that open a file at a line, as each editor wants them. An
/// editor that is not known gets the file alone.
fn place(program: &str, path: &Path, line: usize) -> Vec<OsString> {
    let name = Path::new(program)
        .file_stem()
        .and_then(|it| it.to_str())
        .unwrap_or_default()
        .to_lowercase();
    let with_line = || {
        let mut text = path.as_os_str().to_owned();
        text.push(format!(":{line}"));
        text
    };
    match name.as_str() {
        "vi" | "vim" | "nvim" | "gvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient"
        | "kak" | "micro" | "joe" | "ed" | "mg" | "jed" | "ne" | "gedit" => {
            vec![format!("+{line}").into(), path.into()]
        }
        "code" | "code-insiders" | "codium" | "cursor" | "windsurf" => {
            vec!["--goto".into(), with_line()]
        }
        "hx" | "helix" | "zed" | "subl" | "sublime_text" | "lapce" => vec![with_line()],
        _ => vec![path.into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_setting_is_split_and_never_expanded() {
        assert_eq!(words_of("vim"), ["vim"]);
        assert_eq!(words_of(" code  --wait "), ["code", "--wait"]);
        assert_eq!(
            words_of("'/opt/my editor/ed' \"-c x\""),
            ["/opt/my editor/ed", "-c x"]
        );
        assert_eq!(words_of("ed; rm -rf $HOME"), ["ed;", "rm", "-rf", "$HOME"]);
        assert!(words_of("   ").is_empty());
    }

    #[test]
    fn known_editors_get_the_line() {
        let at = |program: &str| place(program, Path::new("/w/a b.md"), 7);
        assert_eq!(at("/usr/bin/vim"), ["+7", "/w/a b.md"]);
        assert_eq!(at("code"), ["--goto", "/w/a b.md:7"]);
        assert_eq!(at("hx"), ["/w/a b.md:7"]);
        assert_eq!(at("my-editor"), ["/w/a b.md"]);
    }
}
