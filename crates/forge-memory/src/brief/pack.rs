//! The one packer of all briefings: it packs pieces of text under caps that
//! always hold. A piece that is added first matters most; its place in the text
//! is independent of that.

use super::fence::clean_for_fence;
use crate::retractions::Corrections;
use crate::tokens::estimate_tokens;

/// Sizes in the three units in which clients cut what they are given. A unit
/// that is [`BriefBudget::NO_LIMIT`] is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BriefBudget {
    /// By estimate, since hooks load no vocabulary.
    pub tokens: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
    /// Characters.
    pub chars: usize,
}

/// Size of the line ends between two pieces.
const JOIN_SIZE: usize = 2;

impl BriefBudget {
    /// The value of a unit that is not limited.
    pub const NO_LIMIT: usize = usize::MAX;
    /// A budget without any limit.
    pub const UNLIMITED: BriefBudget = BriefBudget {
        tokens: BriefBudget::NO_LIMIT,
        bytes: BriefBudget::NO_LIMIT,
        chars: BriefBudget::NO_LIMIT,
    };

    /// Returns a budget of tokens and bytes.
    pub const fn of_text(tokens: usize, bytes: usize) -> BriefBudget {
        BriefBudget {
            tokens,
            bytes,
            chars: BriefBudget::NO_LIMIT,
        }
    }

    /// Returns a budget of characters.
    pub const fn of_chars(chars: usize) -> BriefBudget {
        BriefBudget {
            tokens: BriefBudget::NO_LIMIT,
            bytes: BriefBudget::NO_LIMIT,
            chars,
        }
    }

    /// Returns the size of a piece, with the line ends around it, in the units
    /// that this budget limits.
    pub(super) fn cost_of(self, text: &str) -> BriefBudget {
        let limited = |limit: usize, size: &dyn Fn() -> usize| {
            if limit == BriefBudget::NO_LIMIT {
                0
            } else {
                size()
            }
        };
        BriefBudget {
            // The estimate adds a constant to every text, which joined pieces
            // have only once.
            tokens: limited(self.tokens, &|| {
                estimate_tokens(text).saturating_sub(5) + JOIN_SIZE
            }),
            bytes: limited(self.bytes, &|| text.len() + JOIN_SIZE),
            chars: limited(self.chars, &|| text.chars().count() + JOIN_SIZE),
        }
    }

    /// Returns `true` if a cost fits into this budget.
    pub(super) fn can_hold(self, cost: BriefBudget) -> bool {
        cost.tokens <= self.tokens && cost.bytes <= self.bytes && cost.chars <= self.chars
    }

    pub(super) fn plus(self, cost: BriefBudget) -> BriefBudget {
        self.combine_units(cost, usize::saturating_add)
    }

    pub(super) fn minus(self, cost: BriefBudget) -> BriefBudget {
        self.combine_units(cost, usize::saturating_sub)
    }

    pub(super) fn smaller_of(self, other: BriefBudget) -> BriefBudget {
        BriefBudget {
            tokens: self.tokens.min(other.tokens),
            bytes: self.bytes.min(other.bytes),
            chars: self.chars.min(other.chars),
        }
    }

    /// Returns a share of the budget, in percent.
    pub(super) fn percent_share(self, hundredths: usize) -> BriefBudget {
        let hundredths = BriefBudget {
            tokens: hundredths,
            bytes: hundredths,
            chars: hundredths,
        };
        self.combine_units(hundredths, |whole, part| whole * part / 100)
    }

    /// Combines two budgets unit by unit. A unit without a limit stays without
    /// one.
    fn combine_units(self, other: BriefBudget, f: impl Fn(usize, usize) -> usize) -> BriefBudget {
        let one = |own: usize, other: usize| match own {
            BriefBudget::NO_LIMIT => own,
            own => f(own, other),
        };
        BriefBudget {
            tokens: one(self.tokens, other.tokens),
            bytes: one(self.bytes, other.bytes),
            chars: one(self.chars, other.chars),
        }
    }
}

/// A cost of nothing in every unit.
pub(super) const ZERO_COST: BriefBudget = BriefBudget {
    tokens: 0,
    bytes: 0,
    chars: 0,
};

/// A text on its way into a briefing.
#[derive(Clone, Copy)]
pub(super) struct BriefPiece<'t, S> {
    /// The part of the whole text in which it appears.
    pub(super) slot: S,
    /// Its place in that part.
    pub(super) order: usize,
    pub(super) text: &'t str,
    /// Upper bound for what it may take.
    pub(super) cap: BriefBudget,
    /// Room that stays free for the pieces after it.
    pub(super) floor: BriefBudget,
    /// The size of what is added with it: its heading.
    pub(super) around: BriefBudget,
    pub(super) shortening: ShorteningRule<'t>,
}

impl<'t, S> BriefPiece<'t, S> {
    /// Returns a piece that is added whole or not at all, wherever there is
    /// room.
    pub(super) fn new_whole(slot: S, order: usize, text: &'t str) -> BriefPiece<'t, S> {
        BriefPiece {
            slot,
            order,
            text,
            cap: BriefBudget::UNLIMITED,
            floor: ZERO_COST,
            around: ZERO_COST,
            shortening: ShorteningRule::Never,
        }
    }

    /// Returns a piece that is shortened to `cap`.
    pub(super) fn new_within(
        slot: S,
        order: usize,
        text: &'t str,
        cap: BriefBudget,
    ) -> BriefPiece<'t, S> {
        BriefPiece {
            cap,
            shortening: ShorteningRule::Marked,
            ..BriefPiece::new_whole(slot, order, text)
        }
    }
}

/// The rule for a piece that is too long.
#[derive(Clone, Copy)]
pub(super) enum ShorteningRule<'t> {
    /// It is left out.
    Never,
    /// It is cut, and a mark is added.
    Marked,
    /// It is cut, and a note about the number of characters shown and the end
    /// of its fence are added.
    Noted {
        note: &'t dyn Fn(usize) -> String,
        close: &'t str,
    },
}

/// The outcome of adding a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceFit {
    Whole,
    Cut,
    Out,
}

/// Pieces that fit. One that repeats a corrected fact takes its correction
/// with it, or stays out.
#[derive(Debug)]
pub(super) struct BriefPacker<'a, S> {
    left: BriefBudget,
    pieces: Vec<(S, usize, String)>,
    /// Slots of which something was cut or left out.
    lacking: Vec<S>,
    corrections: &'a Corrections,
    nonce: &'a str,
}

impl<'a, S: Copy + PartialEq> BriefPacker<'a, S> {
    pub(super) fn new(
        left: BriefBudget,
        corrections: &'a Corrections,
        nonce: &'a str,
    ) -> BriefPacker<'a, S> {
        BriefPacker {
            left,
            pieces: Vec::new(),
            lacking: Vec::new(),
            corrections,
            nonce,
        }
    }

    /// Returns the corrections that must follow a text.
    fn correction_notes(&self, text: &str) -> String {
        let found_notes = self.corrections.describe_found(text).into_iter();
        found_notes
            .map(|note| format!("\n[{}]", clean_for_fence(&note, self.nonce)))
            .collect()
    }

    /// Returns the room that is left.
    pub(super) fn room_left(&self) -> BriefBudget {
        self.left
    }

    /// Adds a piece: whole, or as much of it as there is room for.
    pub(super) fn put(&mut self, piece: &BriefPiece<'_, S>) -> PieceFit {
        let fit = self.fit_piece(piece);
        if fit != PieceFit::Whole {
            self.note_lack(piece.slot);
        }
        fit
    }

    /// Adds a piece without recording what it lacks.
    fn fit_piece(&mut self, piece: &BriefPiece<'_, S>) -> PieceFit {
        let room = self.left.minus(piece.floor).smaller_of(piece.cap);
        let notes = self.correction_notes(piece.text);
        let whole = format!("{}{notes}", piece.text);
        if room.can_hold(room.cost_of(&whole).plus(piece.around)) {
            self.take_room(piece, whole);
            return PieceFit::Whole;
        }
        // A part contains no more corrected facts than the whole.
        let notes = match notes.as_str() {
            "" => ZERO_COST,
            notes => room.cost_of(notes),
        };
        let room = room.minus(piece.around).minus(notes);
        let Some(short) = shorten_text(piece.text, room, piece.shortening) else {
            return PieceFit::Out;
        };
        let short = format!("{short}{}", self.correction_notes(&short));
        let size = self.left.cost_of(&short).plus(piece.around);
        if !self.left.can_hold(size) {
            return PieceFit::Out;
        }
        self.take_room(piece, short);
        PieceFit::Cut
    }

    /// Adds a text and takes its room.
    fn take_room(&mut self, piece: &BriefPiece<'_, S>, text: String) {
        self.left = self.left.minus(self.left.cost_of(&text).plus(piece.around));
        self.pieces.push((piece.slot, piece.order, text));
    }

    /// Adds the whole lines of a text in their order, as many as fit into
    /// `cap`. Returns the number of lines that did not fit.
    pub(super) fn put_lines(&mut self, slot: S, text: &str, cap: BriefBudget) -> usize {
        let start = self.left;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let mut shown = 0;
        take_lines(lines, |line| {
            let line = clean_for_fence(line.trim_end(), self.nonce);
            let piece = BriefPiece {
                // The cap less what earlier lines took.
                cap: cap.minus(start.minus(self.left)),
                ..BriefPiece::new_whole(slot, shown, &line)
            };
            shown += 1;
            self.put(&piece) == PieceFit::Whole
        })
    }

    /// Returns `true` if a slot has a piece.
    pub(super) fn has_pieces(&self, slot: S) -> bool {
        self.pieces.iter().any(|(it, _, _)| *it == slot)
    }

    /// Returns `true` if something of this slot was cut or stayed out.
    pub(super) fn has_lack(&self, slot: S) -> bool {
        self.lacking.contains(&slot)
    }

    /// Records that there is more of a slot than was added.
    pub(super) fn note_lack(&mut self, slot: S) {
        self.lacking.push(slot);
    }

    /// Removes the pieces of a slot and returns them in their order.
    pub(super) fn take_slot(&mut self, slot: S, between: &str) -> String {
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

/// Takes lines in their order as long as they fit. Order has a meaning, so that
/// nothing after the first line that does not fit is taken. Returns the number
/// of lines left.
pub(super) fn take_lines<'t>(
    mut lines: impl Iterator<Item = &'t str>,
    mut put: impl FnMut(&'t str) -> bool,
) -> usize {
    while let Some(line) = lines.next() {
        if !put(line) {
            return 1 + lines.count();
        }
    }
    0
}

/// Divides room among parts by what each needs: every part gets an equal share,
/// and what it does not need goes to the others. `shorten` brings a part to its
/// share.
pub(super) fn divide_room(
    parts: &mut [String],
    mut room: usize,
    shorten: impl Fn(&str, usize) -> String,
) {
    let mut order: Vec<usize> = (0..parts.len())
        .filter(|at| !parts[*at].is_empty())
        .collect();
    // Short parts first: what they leave of their share goes to the longer
    // ones.
    order.sort_by_key(|at| parts[*at].chars().count());
    for (done, at) in order.iter().enumerate() {
        let share = room / (order.len() - done);
        parts[*at] = shorten(&parts[*at], share);
        room -= parts[*at].chars().count().min(room);
    }
}

/// The mark behind a text that was cut.
const CUT_MARK: &str = " […]";
/// Minimum size of a marked text.
const MIN_MARKED_BYTES: usize = 8;
/// Minimum length of a noted text; fewer characters are not worth a heading.
const MIN_NOTED_CHARS: usize = 40;

/// Shortens a text so that it fits, cut at a line or between words where that
/// loses little. Returns `None` if next to nothing would fit.
pub(super) fn shorten_text(
    text: &str,
    room: BriefBudget,
    how: ShorteningRule<'_>,
) -> Option<String> {
    let text = text.trim_end();
    match how {
        ShorteningRule::Never => None,
        ShorteningRule::Marked if room.can_hold(room.cost_of(text)) => {
            (!text.is_empty()).then(|| text.to_owned())
        }
        ShorteningRule::Marked => {
            let mark = BriefBudget {
                tokens: 3,
                bytes: CUT_MARK.len(),
                chars: CUT_MARK.chars().count(),
            };
            let head = longest_fitting_prefix(text, room.minus(mark));
            // The last word may cost at most a third of the text.
            let head = cut_at_border(head, |space, all| space * 3 > all * 2);
            (head.len() >= MIN_MARKED_BYTES).then(|| format!("{head}{CUT_MARK}"))
        }
        ShorteningRule::Noted { note, close } => {
            let frame = note(text.chars().count()).chars().count() + close.chars().count();
            let room = room.minus(BriefBudget {
                chars: frame,
                ..ZERO_COST
            });
            if room.chars < MIN_NOTED_CHARS + JOIN_SIZE {
                return None;
            }
            let head = longest_fitting_prefix(text, room);
            let head = cut_at_border(head, |space, all| space * 2 > all);
            let note = note(head.chars().count());
            Some(format!("{head}{note}{close}"))
        }
    }
}

/// Returns the longest beginning of a text that fits.
fn longest_fitting_prefix(text: &str, room: BriefBudget) -> &str {
    // No prefix longer than its bytes and characters can fit; this bounds the
    // search.
    let of_chars = match room.chars {
        BriefBudget::NO_LIMIT => None,
        chars => text.char_indices().nth(chars.saturating_sub(JOIN_SIZE)),
    };
    let of_chars = of_chars.map_or(text.len(), |(at, _)| at);
    let (mut low, mut high) = (0, text.floor_char_boundary(room.bytes).min(of_chars));
    // Without a limit in tokens the bound itself usually fits, and no search is
    // needed.
    if room.tokens == BriefBudget::NO_LIMIT && room.can_hold(room.cost_of(&text[..high])) {
        low = high;
    }
    while low < high {
        let middle = text
            .floor_char_boundary(low + (high - low).div_ceil(2))
            .max(low);
        let middle = if middle == low {
            text.ceil_char_boundary(low + 1)
        } else {
            middle
        };
        if middle <= high && room.can_hold(room.cost_of(&text[..middle])) {
            low = middle;
        } else {
            high = text.floor_char_boundary(middle - 1).min(high - 1);
        }
    }
    &text[..low]
}

/// Shortens a beginning to the end of a line, or to a space where
/// `keeps_enough` allows it.
fn cut_at_border(head: &str, keeps_enough: impl Fn(usize, usize) -> bool) -> &str {
    let head = match (head.rfind('\n'), head.rfind(' ')) {
        (Some(line), _) if line * 2 > head.len() => &head[..line],
        (_, Some(space)) if keeps_enough(space, head.len()) => &head[..space],
        _ => head,
    };
    head.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retractions as corrections;

    fn texts() -> [String; 5] {
        [
            "word ".repeat(500),
            "line of words\n".repeat(200),
            "日本語".repeat(400),
            "é".repeat(999),
            "x".repeat(3000),
        ]
    }

    #[test]
    fn a_shortened_text_fits_and_wastes_little() {
        for text in texts() {
            for bytes in [0, 5, 20, 100, 777, 2000] {
                for tokens in [0, 3, 40, 300] {
                    let room = BriefBudget::of_text(tokens, bytes);
                    let short =
                        shorten_text(&text, room, ShorteningRule::Marked).unwrap_or_default();
                    assert!(
                        short.is_empty() || room.can_hold(room.cost_of(&short)),
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
    fn a_note_states_how_much_is_shown_and_the_fence_is_closed() {
        let note = |shown: usize| format!("\n[{shown} shown]");
        for text in texts() {
            let how = ShorteningRule::Noted {
                note: &note,
                close: "</data>",
            };
            for chars in [0, 40, 63, 100, 777] {
                let room = BriefBudget::of_chars(chars);
                let Some(short) = shorten_text(&text, room, how) else {
                    assert!(chars < 70, "{chars}");
                    continue;
                };
                assert!(
                    short.chars().count() <= chars - JOIN_SIZE,
                    "{chars} {short}"
                );
                let (head, rest) = short.rsplit_once("\n[").expect("a note");
                let shown = head.chars().count();
                assert_eq!(rest, format!("{shown} shown]</data>"));
                assert!(
                    text.starts_with(head) && shown * 3 > chars,
                    "{chars} {short}"
                );
            }
        }
    }

    #[test]
    fn pieces_come_back_in_their_order() {
        let mut packer = BriefPacker::new(
            BriefBudget::of_text(100, 100),
            &corrections::NO_CORRECTIONS,
            "n",
        );
        assert_eq!(
            packer.put(&BriefPiece::new_whole('a', 2, "second")),
            PieceFit::Whole
        );
        assert_eq!(
            packer.put(&BriefPiece::new_whole('a', 1, "first")),
            PieceFit::Whole
        );
        let long = "x ".repeat(90);
        assert_eq!(
            packer.put(&BriefPiece::new_whole('b', 0, &long)),
            PieceFit::Out
        );
        assert!(packer.has_lack('b') && !packer.has_lack('a'));
        assert_eq!(packer.take_slot('a', "\n"), "first\nsecond");
        assert!(!packer.has_pieces('b'));
    }

    #[test]
    fn a_piece_leaves_the_floor_of_those_behind_it_free() {
        let text = "word ".repeat(40);
        let mut packer =
            BriefPacker::new(BriefBudget::of_chars(200), &corrections::NO_CORRECTIONS, "");
        let first = BriefPiece {
            floor: BriefBudget::of_chars(60),
            around: BriefBudget {
                chars: 10,
                ..ZERO_COST
            },
            ..BriefPiece::new_within(0, 0, text.trim(), BriefBudget::UNLIMITED)
        };
        assert_eq!(packer.put(&first), PieceFit::Cut);
        assert!((60..80).contains(&packer.room_left().chars), "{packer:?}");
        assert_eq!(
            packer.put(&BriefPiece::new_whole(1, 0, &"y".repeat(58))),
            PieceFit::Whole,
            "the floor was kept"
        );
    }

    #[test]
    fn lines_go_in_as_long_as_they_fit() {
        let mut packer = BriefPacker::new(
            BriefBudget::of_text(500, 500),
            &corrections::NO_CORRECTIONS,
            "",
        );
        let lines = "one\n\ntwo\na much longer line\nfour\n";
        let left = packer.put_lines((), lines, BriefBudget::of_text(100, 12));
        assert_eq!((left, packer.take_slot((), "|").as_str()), (2, "one|two"));
    }

    #[test]
    fn what_a_part_does_not_need_goes_to_the_others() {
        let mut parts = ["a".repeat(50), String::new(), "b".repeat(4), "c".repeat(50)];
        divide_room(&mut parts, 44, |text, most| {
            text[..most.min(text.len())].to_owned()
        });
        assert_eq!(parts.map(|it| it.len()), [20, 0, 4, 20]);
    }
}
