//! Characters that people do not see and agents read: text that reorders
//! itself, spells words in invisible letters, or hides between visible ones.
//! What scripts and emoji need is left alone.

use std::borrow::Cow;
use std::collections::HashSet;

pub use crate::secrets::is_unseen;
use crate::work::record_work;

/// Escapes every hidden character as `‹U+202E›`, and returns how many there
/// were.
pub fn reveal_hidden(text: &str) -> (Cow<'_, str>, usize) {
    let mut places = Vec::new();
    for_each_hidden(text, |_, _, line, at| places.push((line, at)));
    if places.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let mut shown = String::with_capacity(text.len() + 8 * places.len());
    let mut next = places.iter().peekable();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        for (at, c) in line.chars().enumerate() {
            if next.next_if_eq(&&(number, at)).is_some() {
                shown.push_str(&escape_char(c));
            } else {
                shown.push(c);
            }
        }
    }
    (Cow::Owned(shown), places.len())
}

/// Escapes text that is not ours for a terminal or an agent: as [`reveal_hidden`],
/// and also a byte order mark at its beginning and all that drives a terminal
/// except line feeds and tabs.
pub fn escape_for_terminal(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) || matches!(byte, b'\n' | b'\t');
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let drives = |c: char, next: Option<char>| match c {
        '\r' => next != Some('\n'),
        '\u{c}' | '\u{feff}' => true,
        _ => false,
    };
    let (text, _) = reveal_hidden(text);
    if !text.contains(['\r', '\u{c}', '\u{feff}']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if drives(c, chars.peek().copied()) {
            out.push_str(&escape_char(c))
        } else {
            out.push(c)
        }
    }
    Cow::Owned(out)
}

/// Formats a character as `‹U+202E›`.
fn escape_char(c: char) -> String {
    format!("‹U+{:04X}›", u32::from(c))
}

/// Escapes the hidden characters in the texts of printed JSON.
pub fn escape_json_for_terminal(json: &str) -> Cow<'_, str> {
    // In JSON these are escapes: `\b`, `\u001b`.
    let mut plain = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (text, escape) = rest.split_at(at);
        plain.push_str(text);
        let code = escape.get(2..6).filter(|_| escape.starts_with("\\u"));
        let code = code.and_then(|it| u32::from_str_radix(it, 16).ok());
        let long = match (code, escape.as_bytes().get(1)) {
            (Some(code), _) if char::from_u32(code).is_some_and(char::is_control) => {
                plain.push_str(&format!("‹U+{code:04X}›"));
                6
            }
            (_, Some(b'b')) => {
                plain.push_str("‹U+0008›");
                2
            }
            _ => {
                let long = escape.ceil_char_boundary(2);
                plain.push_str(&escape[..long]);
                long
            }
        };
        rest = &escape[long..];
    }
    if plain.is_empty() {
        return escape_for_terminal(json);
    }
    plain.push_str(rest);
    Cow::Owned(escape_for_terminal(&plain).into_owned())
}

/// Replaces hidden characters by JSON escapes, so that the JSON keeps its
/// meaning and can be printed.
pub fn escape_hidden_json(json: &str) -> Cow<'_, str> {
    // A set: each character of the text is looked up, and as many as the text
    // has may be hidden.
    let mut hidden = HashSet::new();
    let mut count = 0;
    for_each_hidden(json, |_, c, _, _| {
        hidden.insert(c);
        count += 1;
    });
    if json.contains('\u{feff}') {
        hidden.insert('\u{feff}');
    }
    if hidden.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8 * count);
    for c in json.chars() {
        record_work(1);
        if !c.is_ascii() && hidden.contains(&c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The classes of hidden characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HiddenClass {
    /// Shows text in another order than it is read.
    Reordering,
    /// Carries whole words in characters without a shape.
    Smuggled,
    /// Has no shape and no purpose here.
    Invisible,
    /// Drives terminals rather than readers.
    Control,
}

/// Calls `found` with each hidden character, its class, its line and its place
/// in the line.
pub fn for_each_hidden(text: &str, mut found: impl FnMut(HiddenClass, char, usize, usize)) {
    // Nearly every file is decided here.
    let suspicious = |b: u8| b >= 0x80 || (b < 0x20 && !is_layout_byte(b)) || b == 0x7f;
    if !text.bytes().any(suspicious) {
        return;
    }
    for (number, line) in (1..).zip(text.split('\n')) {
        if !line.bytes().any(suspicious) {
            continue;
        }
        let chars: Vec<char> = line.chars().collect();
        let right_to_left = chars.iter().any(|&c| is_right_to_left(c));
        let mut flag_end = 0;
        for (at, &c) in chars.iter().enumerate() {
            if c == BLACK_FLAG {
                flag_end = flag_end_at(&chars, at);
            }
            let before = at.checked_sub(1).map(|i| chars[i]);
            let after = chars.get(at + 1).copied();
            let class = match c {
                // A byte order mark at the start of a file is usual and
                // harmless.
                '\u{feff}' if number == 1 && at == 0 => None,
                '\u{200e}' | '\u{200f}' | '\u{61c}' if right_to_left => None,
                '\u{e0000}'..='\u{e007f}' if at < flag_end => None,
                _ => classify_char(before, c, after),
            };
            if let Some(class) = class {
                found(class, c, number, at);
            }
        }
    }
}

fn classify_char(before: Option<char>, c: char, after: Option<char>) -> Option<HiddenClass> {
    let both = |needs: fn(char) -> bool| before.is_some_and(needs) && after.is_some_and(needs);
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(HiddenClass::Reordering),
        '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' => Some(HiddenClass::Smuggled),
        // One selector picks a form of the character before it; a row of them
        // carries bytes.
        '\u{fe00}'..='\u{fe0f}' => {
            (before.is_some_and(is_selector) || before.is_none()).then_some(HiddenClass::Smuggled)
        }
        '\u{e0100}'..='\u{e01ef}' => {
            (!before.is_some_and(is_ideograph)).then_some(HiddenClass::Smuggled)
        }
        // Persian, the Indic scripts and emoji are written with joiners.
        '\u{200c}' | '\u{200d}' => {
            (!both(|c| c >= '\u{600}' || is_pictograph(c))).then_some(HiddenClass::Invisible)
        }
        // A hint where a long word may break.
        '\u{ad}' => (!both(char::is_alphabetic)).then_some(HiddenClass::Invisible),
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => {
            let hangul = |c: char| matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7ff}');
            let has_neighbour = before.is_some_and(hangul) || after.is_some_and(hangul);
            (!has_neighbour).then_some(HiddenClass::Invisible)
        }
        // Formulas have invisible operators, one at a time.
        '\u{2061}'..='\u{2064}' => {
            let has_neighbour =
                before.is_some_and(is_zero_width) || after.is_some_and(is_zero_width);
            has_neighbour.then_some(HiddenClass::Invisible)
        }
        '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{61c}'
        | '\u{2060}'
        | '\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{feff}'
        | '\u{180e}'
        | '\u{34f}'
        | '\u{fff9}'..='\u{fffb}' => Some(HiddenClass::Invisible),
        // They end a line for some readers and not for others.
        '\u{2028}' | '\u{2029}' => Some(HiddenClass::Control),
        c if c.is_control() && !u8::try_from(c).is_ok_and(is_layout_byte) => {
            Some(HiddenClass::Control)
        }
        _ => None,
    }
}

fn is_layout_byte(byte: u8) -> bool {
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

const BLACK_FLAG: char = '\u{1f3f4}';

/// Returns where the flag that begins here ends, or `at` if there is none. The
/// flags of England, Scotland, Wales and the like are a black flag and up to
/// seven tags, the last of which ends them.
fn flag_end_at(chars: &[char], at: usize) -> usize {
    const MAX_TAGS: usize = 7;
    let tags = chars[at + 1..].iter().take(MAX_TAGS + 1);
    let run = tags
        .take_while(|c| matches!(c, '\u{e0000}'..='\u{e007f}'))
        .count();
    if run <= MAX_TAGS && chars[at + run] == '\u{e007f}' {
        at + run + 1
    } else {
        at
    }
}

/// Describes a character by its code point, with a name if it is a common one.
pub fn describe_char(c: char) -> String {
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
    fn escaping_json_grows_with_the_text() {
        // As many hidden characters of other kinds as there is text.
        let text = |count: u32| {
            let kinds = (0..count).map(|nth| 0xe0000 + nth % 0x1000);
            let hidden = kinds.filter_map(char::from_u32).map(|c| format!("é{c}"));
            format!("{{\"a\": \"{}\"}}", hidden.collect::<String>())
        };
        let work = |count| crate::work::counted(|| escape_hidden_json(&text(count)).len());
        let (once, twice) = (work(2_000), work(4_000));
        assert!(twice * 10 <= once * 23, "{once}, {twice}");
    }

    #[test]
    fn hidden_text_is_found() {
        let check = |text: &str, expect: &[(HiddenClass, usize)]| {
            let mut found = Vec::new();
            for_each_hidden(text, |class, _, line, _| found.push((class, line)));
            assert_eq!(found, expect, "{text:?}");
        };
        use HiddenClass::{Control, Invisible, Reordering, Smuggled};
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
            assert_eq!(reveal_hidden(text).1, 0, "{text:?}");
        }
    }

    /// Each tag is looked at once, however many follow a flag: quadratic work
    /// would not end here.
    #[test]
    fn a_flag_is_known_by_its_first_tags() {
        let tags = "\u{e0041}".repeat(400_000);
        let text = format!("\u{1f3f4}{tags}");
        assert_eq!(reveal_hidden(&text).1, 400_000);
        let flags = "\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}".repeat(1_000);
        assert_eq!(reveal_hidden(&flags).1, 0);
        assert_eq!(reveal_hidden("\u{1f3f4}\u{e0067}x\u{e007f}").1, 2);
    }

    #[test]
    fn names_and_json_show_what_they_hide() {
        assert_eq!(
            escape_for_terminal("\u{feff}a\rb\r\n"),
            "‹U+FEFF›a‹U+000D›b\r\n"
        );
        assert!(matches!(escape_for_terminal("plain\n"), Cow::Borrowed(_)));
        let json = "{\"a\": \"x\\u001b[2J\\b\u{202e}\\n\\\\u001b\"}";
        let expect = "{\"a\": \"x‹U+001B›[2J‹U+0008›‹U+202E›\\n\\\\u001b\"}";
        assert_eq!(escape_json_for_terminal(json), expect);
        assert_eq!(
            escape_hidden_json("\"\u{85}\u{e0041}é\""),
            "\"\\u0085\\udb40\\udc41é\""
        );
    }

    #[test]
    fn hidden_text_can_be_shown() {
        let check = |text: &str, expect: &str| assert_eq!(reveal_hidden(text).0, expect);
        check("plain\n", "plain\n");
        check("a\u{202e}b\nc\u{200b}", "a‹U+202E›b\nc‹U+200B›");
        // The same character, once meant and once not.
        check("می\u{200c}خ a\u{200c}b", "می\u{200c}خ a‹U+200C›b");
        assert_eq!(reveal_hidden("\u{1b}[2J\u{1b}").1, 2);
    }
}
