//! `search` on a terminal without a question: asks, and shows what the words
//! so far find while a person types. It changes nothing; the hit that is chosen
//! opens in the editor, or is printed where there is none.

use anstyle::Style;
use forge_app::library::KnowledgeLibrary;
use forge_app::recall::{RecallAnswer, RecallHit, RecallMode, snippet};
use forge_app::search::{SearchRequest, SearchScope};
use jiff::civil::Date;

use super::{SearchArgs, editor, first_shown_line, show_hit};
use crate::hits::{nearest, used_files};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{PickerKey, PickerLine, Ui, escape_hidden, style};

/// Hits that a person can choose from.
const MAX_PICKER_HITS: usize = 8;
/// Lines of the hit under the cursor.
const MAX_PREVIEW_LINES: usize = 3;
/// A question of fewer characters finds too much.
const MIN_QUESTION_CHARS: usize = 2;

/// Returns `true` if the arguments leave out the question.
pub(super) fn asks_question(args: &SearchArgs, ui: &Ui) -> bool {
    let is_plain = !args.json
        && !args.context
        && args.open.is_none()
        && args.budget.is_none()
        && args.as_of.is_none();
    let is_elsewhere = matches!(
        args.scope,
        Some(SearchScope::Sources | SearchScope::Org | SearchScope::Evidence)
    );
    args.query.is_empty() && is_plain && !is_elsewhere && ui.can_pick()
}

/// Asks for a question, narrows the hits at each key, and opens or prints the
/// one that is chosen.
pub(super) fn pick_hit(
    args: &SearchArgs,
    since: Option<Date>,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut library = crate::library::open_library(paths::open_workspace(settings, ui)?, settings);
    let opens = settings.editor.is_some();
    let mut typed = TypedQuestion::default();
    let mut answer = RecallAnswer::empty();
    let mut is_stale = false;
    let mut picker = ui.open_picker()?;
    let chosen = loop {
        if is_stale && !picker.has_waiting_keys() {
            answer = find(&mut library, args, since, &typed.text, settings)?;
            is_stale = false;
        }
        let lines = lines_of(&answer, &typed, is_stale, settings.width, opens);
        picker.draw("Search:", &typed.text, &lines);
        let key = picker.read_key();
        // These keys are about the hits of what was typed before them.
        let needs_hits = matches!(key, PickerKey::Accept | PickerKey::Up | PickerKey::Down);
        if is_stale && needs_hits {
            answer = find(&mut library, args, since, &typed.text, settings)?;
            is_stale = false;
        }
        match key {
            PickerKey::Leave => break None,
            PickerKey::Accept => {
                if let Some(hit) = answer.hits.get(typed.chosen) {
                    break Some(hit.clone());
                }
            }
            key => is_stale |= typed.apply(key, answer.hits.len()),
        }
    };
    drop(picker);
    let Some(hit) = chosen else {
        return Ok(CommandExit::Failure);
    };
    answer.hits = vec![hit];
    if let Some(index) = library.index() {
        index.record_uses(&used_files(&answer, None), &settings.now.to_string());
    }
    if opens {
        return editor::open_hit(&answer, 1, &library.workspace, settings, ui);
    }
    for hit in &answer.hits {
        show_hit(hit, &hit.passage.text, 0, args.explain, settings, ui)?;
    }
    Ok(CommandExit::Success)
}

/// What was typed so far, and which hit is under the cursor.
#[derive(Debug, Default)]
struct TypedQuestion {
    text: String,
    chosen: usize,
}

impl TypedQuestion {
    /// Returns `true` if the key changed the question.
    fn apply(&mut self, key: PickerKey, hits: usize) -> bool {
        let before = self.text.len();
        match key {
            PickerKey::Character(character) => self.text.push(character),
            PickerKey::Erase => drop(self.text.pop()),
            PickerKey::EraseWord => {
                let kept = self.text.trim_end();
                let end = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.text.truncate(end);
            }
            PickerKey::EraseAll => self.text.clear(),
            PickerKey::Up => self.chosen = self.chosen.saturating_sub(1),
            PickerKey::Down => self.chosen = (self.chosen + 1).min(hits.saturating_sub(1)),
            PickerKey::Accept | PickerKey::Leave | PickerKey::Other => {}
        }
        let is_changed = self.text.len() != before;
        if is_changed {
            self.chosen = 0;
        }
        is_changed
    }

    fn is_searched(&self) -> bool {
        self.text.trim().chars().count() >= MIN_QUESTION_CHARS
    }
}

/// Searches as the command does. Where that finds nothing, the last word may
/// be half of one: then every word that begins with it counts.
fn find(
    library: &mut KnowledgeLibrary,
    args: &SearchArgs,
    since: Option<Date>,
    typed: &str,
    settings: &Settings,
) -> Result<RecallAnswer, CommandError> {
    if typed.trim().chars().count() < MIN_QUESTION_CHARS {
        return Ok(RecallAnswer::empty());
    }
    let request = SearchRequest {
        // Without a scope, a configured server would be queried at every key.
        scope: Some(args.scope.unwrap_or(SearchScope::Knowledge)),
        mode: args.mode,
        unique: true,
        kinds: args.kinds.clone(),
        since,
        explain: args.explain,
        keep_noise: args.weak,
        ..SearchRequest::new(typed, MAX_PICKER_HITS, settings.now)
    };
    let found = forge_app::search::run_search(library, &request, None, &mut |_, _, _| {})?.answer;
    let is_half_word = typed.ends_with(char::is_alphanumeric);
    if !found.hits.is_empty() || !is_half_word {
        return Ok(found);
    }
    let question = format!("{typed}*");
    let begun = SearchRequest {
        question: &question,
        mode: Some(RecallMode::Text),
        keep_noise: true,
        ..request
    };
    let begun = forge_app::search::run_search(library, &begun, None, &mut |_, _, _| {})?.answer;
    Ok(if begun.hits.is_empty() { found } else { begun })
}

fn lines_of(
    answer: &RecallAnswer,
    typed: &TypedQuestion,
    is_stale: bool,
    width: usize,
    opens: bool,
) -> Vec<PickerLine> {
    let line = |text: String, style: Style| PickerLine { text, style };
    let mut lines = Vec::new();
    for (at, hit) in answer.hits.iter().enumerate() {
        let is_chosen = at == typed.chosen;
        let (sign, look) = if is_chosen {
            ('>', style::HEADING)
        } else {
            (' ', style::PATH)
        };
        lines.push(line(format!("{sign} {}", title_of(hit)), look));
        if is_chosen {
            let preview = preview_of(hit, width);
            lines.extend(preview.into_iter().map(|text| line(text, style::FAINT)));
        }
    }
    if answer.hits.is_empty() && typed.is_searched() && !is_stale {
        lines.push(line("  Nothing relevant so far".to_owned(), style::WARNING));
        for (title, place) in nearest(answer) {
            lines.push(line(format!("  nearest: {title}  {place}"), style::FAINT));
        }
    }
    let accept = if opens { "opens it" } else { "shows it" };
    let help = format!("  Up and Down choose, Enter {accept}, Esc leaves");
    lines.push(line(help, style::FAINT));
    lines
}

fn title_of(hit: &RecallHit) -> String {
    let start = hit.matches.first().map_or(0, |it| it.start);
    let place = format!("{}:{}", hit.passage.path, first_shown_line(hit, start));
    let headings = hit.passage.headings.join(" > ");
    let text = format!("{place}  {headings}  [{}]", hit.label().name());
    escape_hidden(&text).replace('\n', " ")
}

fn preview_of(hit: &RecallHit, width: usize) -> Vec<String> {
    let passage = &hit.passage;
    let room = width * MAX_PREVIEW_LINES;
    let window = snippet::excerpt(&passage.text, &hit.matches, &passage.headings, room);
    let lines = passage.text[window].lines().map(str::trim_end);
    lines
        .filter(|line| !line.is_empty())
        .take(MAX_PREVIEW_LINES)
        .map(|line| format!("    {}", escape_hidden(line)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed_after(keys: &[PickerKey], hits: usize) -> (String, usize) {
        let mut typed = TypedQuestion::default();
        for key in keys {
            typed.apply(*key, hits);
        }
        (typed.text, typed.chosen)
    }

    #[test]
    fn keys_edit_the_question_and_move_among_the_hits() {
        use PickerKey::{Character, Down, Erase, EraseAll, EraseWord, Up};
        let text = |text: &str| text.chars().map(Character).collect::<Vec<_>>();
        let net = text("net fish");
        let with = |more: &[PickerKey]| typed_after(&[&net[..], more].concat(), 3);
        assert_eq!(with(&[Erase, Erase]), ("net fi".to_owned(), 0));
        assert_eq!(with(&[EraseWord]), ("net ".to_owned(), 0));
        assert_eq!(with(&[EraseWord, EraseWord]), (String::new(), 0));
        assert_eq!(with(&[EraseAll, Erase]), (String::new(), 0));
        assert_eq!(with(&[Down, Down, Down, Down, Up]).1, 1);
        // Another question has other hits.
        assert_eq!(with(&[Down, Character('s')]).1, 0);
        assert_eq!(typed_after(&[Down, Up, Up], 0), (String::new(), 0));
    }
}
