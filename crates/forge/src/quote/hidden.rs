//! Characters that people do not see and agents read: text that reorders
//! itself, spells words in invisible letters, or hides between visible ones.
//! What scripts and emoji need is left alone.

use std::borrow::Cow;

/// The text with every such character written out as `‹U+202E›`, and how many
/// there were.
pub fn revealed(text: &str) -> (Cow<'_, str>, usize) {
    let mut places = Vec::new();
    each(text, |_, _, line, at| places.push((line, at)));
    if places.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let mut shown = String::with_capacity(text.len() + 8 * places.len());
    let mut next = places.iter().peekable();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        for (at, c) in line.chars().enumerate() {
            if next.next_if_eq(&&(number, at)).is_some() {
                shown.push_str(&format!("‹U+{:04X}›", u32::from(c)));
            } else {
                shown.push(c);
            }
        }
    }
    (Cow::Owned(shown), places.len())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Shows text in another order than it is read.
    Reordering,
    /// Whole words in characters without a shape.
    Smuggled,
    /// Nothing to see, nothing to say.
    Invisible,
    /// Drives terminals rather than readers.
    Control,
}

/// Calls `found` with each character, its line and its place in the line.
pub fn each(text: &str, mut found: impl FnMut(Class, char, usize, usize)) {
    // Nearly every file is decided here.
    let suspicious = |b: u8| b >= 0x80 || (b < 0x20 && !is_layout(b)) || b == 0x7f;
    if !text.bytes().any(suspicious) {
        return;
    }
    for (number, line) in (1..).zip(text.split('\n')) {
        if !line.bytes().any(suspicious) {
            continue;
        }
        let chars: Vec<char> = line.chars().collect();
        let right_to_left = chars.iter().any(|&c| is_right_to_left(c));
        for (at, &c) in chars.iter().enumerate() {
            let before = at.checked_sub(1).map(|i| chars[i]);
            let after = chars.get(at + 1).copied();
            let class = match c {
                '\u{feff}' if number == 1 && at == 0 => None,
                '\u{200e}' | '\u{200f}' | '\u{61c}' if right_to_left => None,
                '\u{e0000}'..='\u{e007f}' if in_a_flag(&chars, at) => None,
                _ => class(before, c, after),
            };
            if let Some(class) = class {
                found(class, c, number, at);
            }
        }
    }
}

fn class(before: Option<char>, c: char, after: Option<char>) -> Option<Class> {
    let both = |needs: fn(char) -> bool| before.is_some_and(needs) && after.is_some_and(needs);
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(Class::Reordering),
        '\u{e0000}'..='\u{e007f}' => Some(Class::Smuggled),
        // One selector picks a form of the character before it; a row of them
        // carries bytes.
        '\u{fe00}'..='\u{fe0f}' => {
            (before.is_some_and(is_selector) || before.is_none()).then_some(Class::Smuggled)
        }
        '\u{e0100}'..='\u{e01ef}' => (!before.is_some_and(is_ideograph)).then_some(Class::Smuggled),
        // Persian, the Indic scripts and emoji are written with joiners.
        '\u{200c}' | '\u{200d}' => {
            (!both(|c| c >= '\u{600}' || is_pictograph(c))).then_some(Class::Invisible)
        }
        // A hint where a long word may break.
        '\u{ad}' => (!both(char::is_alphabetic)).then_some(Class::Invisible),
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => {
            let hangul = |c: char| matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7ff}');
            let beside = before.is_some_and(hangul) || after.is_some_and(hangul);
            (!beside).then_some(Class::Invisible)
        }
        // Formulas have invisible operators, one at a time.
        '\u{2061}'..='\u{2064}' => {
            let beside = before.is_some_and(is_zero_width) || after.is_some_and(is_zero_width);
            beside.then_some(Class::Invisible)
        }
        '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{61c}'
        | '\u{2060}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{180e}'
        | '\u{34f}'
        | '\u{fff9}'..='\u{fffb}' => Some(Class::Invisible),
        c if c.is_control() && !u8::try_from(c).is_ok_and(is_layout) => Some(Class::Control),
        _ => None,
    }
}

/// Characters that can stand between the letters of a word without being seen.
pub fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
}

fn is_layout(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fdf}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}')
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{60b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// The flags of England, Scotland, Wales and the like are a black flag and up
/// to six tags, the last of which ends them.
fn in_a_flag(chars: &[char], at: usize) -> bool {
    let tag = |c: &char| matches!(c, '\u{e0000}'..='\u{e007f}');
    let start = chars[..at].iter().rposition(|c| !tag(c));
    let Some(start) = start.filter(|&s| chars[s] == '\u{1f3f4}') else {
        return false;
    };
    let run = chars[start + 1..].iter().take_while(|c| tag(c)).count();
    run <= 7 && chars[start + run] == '\u{e007f}'
}

/// Its code point, with a name where it is a common one.
pub fn name(c: char) -> String {
    let name = match c {
        '\0' => "null",
        '\u{8}' => "backspace",
        '\u{1b}' => "escape",
        '\u{ad}' => "soft hyphen",
        '\u{200b}' => "zero width space",
        '\u{200c}' => "zero width non-joiner",
        '\u{200d}' => "zero width joiner",
        '\u{200e}' => "left-to-right mark",
        '\u{200f}' => "right-to-left mark",
        '\u{202a}' => "left-to-right embedding",
        '\u{202b}' => "right-to-left embedding",
        '\u{202c}' => "pop directional formatting",
        '\u{202d}' => "left-to-right override",
        '\u{202e}' => "right-to-left override",
        '\u{2060}' => "word joiner",
        '\u{2066}'..='\u{2069}' => "directional isolate",
        '\u{feff}' => "byte order mark",
        '\u{e0000}'..='\u{e007f}' => "tag",
        c if is_selector(c) => "variation selector",
        _ => "",
    };
    match name {
        "" => format!("U+{:04X}", u32::from(c)),
        name => format!("U+{:04X} ({name})", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_text_is_found() {
        let check = |text: &str, expect: &[(Class, usize)]| {
            let mut found = Vec::new();
            each(text, |class, _, line, _| found.push((class, line)));
            assert_eq!(found, expect, "{text:?}");
        };
        use Class::{Control, Invisible, Reordering, Smuggled};
        check(
            "a\nb \u{202e}c\u{202c}",
            &[(Reordering, 2), (Reordering, 2)],
        );
        check("\u{2066}", &[(Reordering, 1)]);
        check("x\u{e0041}\u{e0042}", &[(Smuggled, 1), (Smuggled, 1)]);
        check("a\u{fe01}\u{fe02}", &[(Smuggled, 1)]);
        check("a\u{e0101}", &[(Smuggled, 1)]);
        check("pass\u{200b}word", &[(Invisible, 1)]);
        check("a\u{2062}\u{2064}b", &[(Invisible, 1), (Invisible, 1)]);
        check("a\u{200d}b", &[(Invisible, 1)]);
        check("a \u{ad}b", &[(Invisible, 1)]);
        check("\u{feff}a\u{feff}", &[(Invisible, 1)]);
        check("abc \u{200f}", &[(Invisible, 1)]);
        check("\u{1b}[2J", &[(Control, 1)]);
        check("a\u{0}", &[(Control, 1)]);
    }

    #[test]
    fn what_scripts_and_emoji_need_is_left_alone() {
        for text in [
            "plain\ttext\r\nwith é, 漢字, кириллица",
            "\u{feff}# Title",
            "👨\u{200d}👩\u{200d}👧 and ❤\u{fe0f}\u{200d}🔥 and ⚠\u{fe0f}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "שלום\u{200f}!",
            "Donau\u{ad}dampf\u{ad}schiff",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "葛\u{e0100}",
            "2\u{2062}x",
        ] {
            assert_eq!(revealed(text).1, 0, "{text:?}");
        }
    }

    #[test]
    fn hidden_text_can_be_shown() {
        let check = |text: &str, expect: &str| assert_eq!(revealed(text).0, expect);
        check("plain\n", "plain\n");
        check("a\u{202e}b\nc\u{200b}", "a‹U+202E›b\nc‹U+200B›");
        // The same character, once meant and once not.
        check("می\u{200c}خ a\u{200c}b", "می\u{200c}خ a‹U+200C›b");
        assert_eq!(revealed("\u{1b}[2J\u{1b}").1, 2);
    }
}
