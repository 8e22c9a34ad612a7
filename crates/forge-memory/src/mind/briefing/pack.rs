//! Packs pieces of text under two caps that hold always. What is put in first
//! matters most; where it stands in the text is another question.

use super::clean;
use crate::retractions::Corrections;
use crate::tokens::estimate;

/// Room for tokens, by estimate, and for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) tokens: usize,
    pub(super) bytes: usize,
}

impl Room {
    /// What a text takes, with the line ends around it.
    pub(super) fn of(text: &str) -> Room {
        // The estimate adds a constant to every text, and pieces are joined.
        Room {
            tokens: estimate(text).saturating_sub(5) + 2,
            bytes: text.len() + 2,
        }
    }

    pub(super) fn holds(self, other: Room) -> bool {
        other.tokens <= self.tokens && other.bytes <= self.bytes
    }

    pub(super) fn minus(self, other: Room) -> Room {
        Room {
            tokens: self.tokens.saturating_sub(other.tokens),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }

    /// A part of it, in hundredths.
    pub(super) fn share(self, hundredths: usize) -> Room {
        Room {
            tokens: self.tokens * hundredths / 100,
            bytes: self.bytes * hundredths / 100,
        }
    }

    pub(super) fn smaller(self, other: Room) -> Room {
        Room {
            tokens: self.tokens.min(other.tokens),
            bytes: self.bytes.min(other.bytes),
        }
    }
}

/// Where a piece stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    State,
    Checkpoint,
    Events,
    /// What is to be known of a workspace with a manifest.
    Overview,
    Progress,
    Blocked,
    Decisions,
    Session,
    /// What is known, a line each.
    Pointers,
}

/// How a piece went in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Whole,
    Cut,
    Out,
}

/// Pieces that fit. One that repeats a corrected fact takes its correction
/// with it, or stays out.
#[derive(Debug)]
pub(super) struct Pack<'a> {
    left: Room,
    pieces: Vec<(Slot, usize, String)>,
    corrections: &'a Corrections,
    nonce: &'a str,
}

impl<'a> Pack<'a> {
    pub(super) fn new(left: Room, corrections: &'a Corrections, nonce: &'a str) -> Pack<'a> {
        Pack {
            left,
            pieces: Vec::new(),
            corrections,
            nonce,
        }
    }

    /// What must stand behind a text.
    fn notes(&self, text: &str) -> String {
        let told = self.corrections.told_of(text).into_iter();
        told.map(|note| format!("\n[{}]", clean(&note, self.nonce)))
            .collect()
    }

    pub(super) fn left(&self) -> Room {
        self.left
    }

    /// Puts a piece in, whole or not at all. `order` is its place in the slot.
    pub(super) fn add(&mut self, slot: Slot, order: usize, text: &str) -> Fit {
        let text = format!("{text}{}", self.notes(text));
        let size = Room::of(&text);
        if !self.left.holds(size) {
            return Fit::Out;
        }
        self.left = self.left.minus(size);
        self.pieces.push((slot, order, text));
        Fit::Whole
    }

    /// Puts in the lines of a text, whole ones in their order, as many as fit
    /// into `most`. Gives how many did not.
    pub(super) fn lines(&mut self, slot: Slot, text: &str, most: Room) -> usize {
        let start = self.left;
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let mut shown = 0;
        for line in lines() {
            let line = clean(line.trim_end(), self.nonce);
            let used = start.minus(self.left);
            let noted = format!("{line}{}", self.notes(&line));
            let fits = most.minus(used).holds(Room::of(&noted));
            // Nothing behind the first that does not fit: order is meaning.
            if !fits || self.add(slot, shown, &line) == Fit::Out {
                break;
            }
            shown += 1;
        }
        lines().count() - shown
    }

    /// Puts a piece in, or as much of it as fits into `most`.
    pub(super) fn add_within(&mut self, slot: Slot, order: usize, text: &str, most: Room) -> Fit {
        let room = self.left.smaller(most);
        let notes = self.notes(text);
        if room.holds(Room::of(&format!("{text}{notes}"))) {
            return self.add(slot, order, text);
        }
        // A part repeats no more than the whole.
        let notes = if notes.is_empty() {
            Room {
                tokens: 0,
                bytes: 0,
            }
        } else {
            Room::of(&notes)
        };
        let short = shortened(text, room.minus(notes));
        if short.is_empty() {
            return Fit::Out;
        }
        match self.add(slot, order, &short) {
            Fit::Whole => Fit::Cut,
            other => other,
        }
    }

    pub(super) fn has(&self, slot: Slot) -> bool {
        self.pieces.iter().any(|(it, _, _)| *it == slot)
    }

    /// The pieces of a slot in their order.
    pub(super) fn take(&mut self, slot: Slot, between: &str) -> String {
        let mut pieces: Vec<(usize, String)> = Vec::new();
        self.pieces.retain_mut(|(it, order, text)| {
            let here = *it == slot;
            if here {
                pieces.push((*order, std::mem::take(text)));
            }
            !here
        });
        pieces.sort_by_key(|(order, _)| *order);
        let texts: Vec<String> = pieces.into_iter().map(|(_, text)| text).collect();
        texts.join(between)
    }
}

const CUT: &str = " […]";

/// The beginning of a text that fits, cut at a line or between words where
/// that loses little; empty when next to nothing would fit.
pub(super) fn shortened(text: &str, room: Room) -> String {
    let text = text.trim_end();
    if room.holds(Room::of(text)) {
        return text.to_owned();
    }
    let room = room.minus(Room {
        tokens: 3,
        bytes: CUT.len(),
    });
    // No prefix longer than the bytes can fit; this bounds the search.
    let (mut low, mut high) = (0, text.floor_char_boundary(room.bytes));
    while low < high {
        let middle = text
            .floor_char_boundary(low + (high - low).div_ceil(2))
            .max(low);
        let middle = if middle == low {
            text.ceil_char_boundary(low + 1)
        } else {
            middle
        };
        if middle <= high && room.holds(Room::of(&text[..middle])) {
            low = middle;
        } else {
            high = text.floor_char_boundary(middle - 1).min(high - 1);
        }
    }
    let head = &text[..low];
    let head = match (head.rfind('\n'), head.rfind(' ')) {
        (Some(line), _) if line * 2 > head.len() => &head[..line],
        (_, Some(space)) if space * 3 > head.len() * 2 => &head[..space],
        _ => head,
    };
    let head = head.trim_end();
    if head.len() < 8 {
        String::new()
    } else {
        format!("{head}{CUT}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_fits_and_wastes_little() {
        for text in [
            "word ".repeat(500),
            "line of words\n".repeat(200),
            "日本語".repeat(400),
            "é".repeat(999),
            "x".repeat(3000),
        ] {
            for bytes in [0, 5, 20, 100, 777, 2000] {
                for tokens in [0, 3, 40, 300] {
                    let room = Room { tokens, bytes };
                    let short = shortened(&text, room);
                    assert!(
                        short.is_empty() || room.holds(Room::of(&short)),
                        "{room:?} {short}"
                    );
                    if tokens >= 40 && bytes >= 100 {
                        assert!(short.len() > 20, "{room:?} {short:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_come_back_in_their_order() {
        let room = Room {
            tokens: 100,
            bytes: 100,
        };
        let mut pack = Pack::new(room, &crate::retractions::NONE, "n");
        assert_eq!(pack.add(Slot::State, 2, "second"), Fit::Whole);
        assert_eq!(pack.add(Slot::State, 1, "first"), Fit::Whole);
        assert_eq!(pack.add(Slot::Events, 0, &"x ".repeat(90)), Fit::Out);
        assert_eq!(pack.take(Slot::State, "\n"), "first\nsecond");
        assert!(!pack.has(Slot::Events));
    }
}
