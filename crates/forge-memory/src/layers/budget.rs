//! A hard budget shared among layers. Early layers go first, and each of the
//! others keeps a floor, so that no long file drives out what comes behind it.
//! Nothing here depends on the day.

use super::policy::RolePolicy;
use super::{AGE, Found, TITLE};

/// Room that a line about the age of a layer may take, whatever it says.
const AGE_NOTE: usize = 90;
/// Less than this of a layer is not worth its heading.
const LEAST: usize = 40;

/// Gives each layer what it may show.
pub(super) fn share(found: &mut [Found], budget: usize, role: &RolePolicy) {
    for layer in found.iter_mut().filter(|it| it.layer.outside_budget) {
        layer.shown = layer.is_resolved().then(|| layer.text.clone());
    }
    let notes = AGE_NOTE * found.len();
    let mut within: Vec<&mut Found> = found
        .iter_mut()
        .filter(|it| !it.layer.outside_budget && it.is_resolved())
        .collect();
    let frame = TITLE.chars().count() + AGE.chars().count() + notes;
    let mut left = budget.saturating_sub(frame);
    let half_a_share = left / (2 * within.len().max(1));
    let needs: Vec<usize> = within
        .iter()
        .map(|it| {
            let cap = role.caps.get(&it.layer.key).copied().unwrap_or(usize::MAX);
            it.text.chars().count().min(cap) + around(it)
        })
        .collect();
    let floors: Vec<usize> = needs.iter().map(|need| *need.min(&half_a_share)).collect();
    for (at, layer) in within.iter_mut().enumerate() {
        let kept: usize = floors[at + 1..].iter().sum();
        let room = needs[at].min(left.saturating_sub(kept));
        let room = room.saturating_sub(around(layer));
        let (shown, cut) = fitted(layer, room);
        left -= shown
            .as_ref()
            .map_or(0, |it| it.chars().count() + around(layer));
        (layer.shown, layer.cut) = (shown, cut);
    }
}

/// Characters of the heading and the lines around a layer.
fn around(found: &Found) -> usize {
    found.heading().chars().count() + 2
}

/// The text, or as many whole lines of it as fit, with a line that says so.
fn fitted(found: &Found, room: usize) -> (Option<String>, bool) {
    let all = found.text.chars().count();
    if all <= room {
        return (Some(found.text.clone()), false);
    }
    // A fence that was opened is closed again.
    let close = match found.text.rfind("\n</data ") {
        Some(at) if found.text.starts_with("<data ") => &found.text[at..],
        _ => "",
    };
    let path = found.path.as_ref().map(|path| format!(" in {path}"));
    let path = path.unwrap_or_default();
    let note = |shown: usize| format!("\n[… cut: {shown} of {all} characters; all of it is{path}]");
    let frame = note(all).chars().count() + close.chars().count();
    let Some(room) = room.checked_sub(frame).filter(|room| *room >= LEAST) else {
        return (None, true);
    };
    let end = found.text.char_indices().nth(room).map_or(all, |it| it.0);
    let head = &found.text[..end];
    let head = match (head.rfind('\n'), head.rfind(' ')) {
        (Some(line), _) if line * 2 > head.len() => &head[..line],
        (_, Some(space)) if space * 2 > head.len() => &head[..space],
        _ => head,
    };
    let head = head.trim_end();
    let shown = note(head.chars().count());
    (Some(format!("{head}{shown}{close}")), true)
}
