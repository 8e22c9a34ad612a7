//! The inputs: repeated structure that makes a careless scanner look at the
//! same text again and again. A pattern is a function of a number of bytes, so
//! that it can be made at any size, and is the same in every run.

use forge_app::secrets;

use super::structures;

/// Which state files a workspace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `.mind/`.
    Mind,
    /// A manifest with `memory/`.
    Manifest,
}

/// Where a pattern is put.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// At the end of every file of the workspace.
    Everywhere,
    /// At the end of one file.
    File(&'static str),
    /// Many files: the pattern is split at lines that begin with [`FILE`].
    Files,
}

/// Begins the path of the next file in a pattern of [`Place::Files`].
pub(super) const FILE: &str = "//- ";

pub(super) struct Pattern {
    pub(super) name: String,
    pub(super) layout: Layout,
    pub(super) place: Place,
    make: Box<dyn Fn(usize) -> String>,
}

impl Pattern {
    /// About so many bytes of it.
    pub(super) fn text(&self, bytes: usize) -> String {
        (self.make)(bytes)
    }

    pub(super) fn new(
        name: impl Into<String>,
        layout: Layout,
        place: Place,
        make: impl Fn(usize) -> String + 'static,
    ) -> Pattern {
        Pattern {
            name: name.into(),
            layout,
            place,
            make: Box::new(make),
        }
    }
}

/// Pieces that mean something to Markdown or to one of our own formats.
const TOKENS: &[(&str, &str)] = &[
    ("bracket", "["),
    ("bracket-close", "]"),
    ("wikilink", "[["),
    ("wikilink-close", "]]"),
    ("link-middle", "]("),
    ("image", "!["),
    ("paren", "("),
    ("footnote", "[^a]"),
    ("definition", "[a]: b\n"),
    ("backtick", "`"),
    ("backticks", "`` "),
    ("fence", "```\n"),
    ("tilde-fence", "~~~~\n"),
    ("pipe", "|"),
    ("row", "| a "),
    ("delimiter", "|---"),
    ("dash", "-"),
    ("rule", "---\n"),
    ("underline", "word\n===\n"),
    ("hash", "#"),
    ("heading", "# word\n"),
    ("subheading", "###### word\n\n"),
    ("quote", "> "),
    ("quote-line", "> word\n"),
    ("star", "*"),
    ("stars", "**"),
    ("emphasis", "*a **b "),
    ("underscore", "_"),
    ("tilde", "~~"),
    ("angle", "<"),
    ("angle-close", ">"),
    ("tag", "<a "),
    ("tag-close", "</a>"),
    ("comment", "<!--"),
    ("comment-close", "-->"),
    ("comment-line", "<!-- a -->\n"),
    ("declaration", "<!A "),
    ("processing", "<?"),
    ("cdata", "<![CDATA["),
    ("autolink", "<http://a"),
    ("url", "https://a.b/c "),
    ("entity", "&amp;"),
    ("ampersand", "&"),
    ("backslash", "\\"),
    ("double-quote", "\""),
    ("apostrophe", "'"),
    ("dollar", "$"),
    ("brace", "{{"),
    ("colon", ": "),
    ("semicolon", "; "),
    ("at", "@a.md "),
    ("jwt", "eyJ"),
    ("jwt-part", "eyJhbGciOiJIUzI1NiJ9."),
    ("key", "AKIA"),
    ("password", "password: "),
    ("equals", "a="),
    ("base64", "QUJDREVGR0g"),
    ("hex", "deadbeef"),
    ("pem", "-----BEGIN "),
    ("flag", "\u{1f3f4}"),
    ("tag-character", "\u{e0061}"),
    ("flag-tags", "\u{1f3f4}\u{e0067}\u{e0062}"),
    ("regional", "\u{1f1e9}"),
    ("joiner", "\u{200d}"),
    ("zero-width", "\u{200b}"),
    ("bidi", "\u{202e}"),
    ("selector", "\u{fe0f}"),
    ("combining", "e\u{301}"),
    ("wide", "漢"),
    ("tab", "\t"),
    ("space", " "),
    ("blank-line", "\n"),
    ("crlf", "word\r\n"),
    ("carriage-return", "word\r"),
    ("item", "- word\n"),
    ("nested-item", "- "),
    ("number", "1. word\n"),
    ("task", "- [ ] word\n"),
    ("done", "- [x] word (completed 2026-01-02)\n"),
    ("date", "2026-01-02 "),
    ("dated-line", "**2026-01-02** - word\n"),
    ("decision", "## DEC-001: word\n- **Decision:** word\n\n"),
    ("replaces", "replaces word instead of word no longer "),
    (
        "session",
        "## Session 1 — 2026-01-02 10:00:00\n- **Summary:** word\n\n",
    ),
    ("dated-session", "## 2026-01-02 - word\n\n- word\n\n---\n\n"),
    ("label", "**Word:** word\n"),
    ("turn", "User: word\nAssistant: word\n"),
    ("conflict", "<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n"),
    ("key-line", "word: word\n"),
    ("yaml-flow", "a: [b, {c: "),
    ("yaml-anchor", "a: &a [*a, *a]\n"),
    ("closet", "### [[word]]\n- **topics:** word\n"),
    ("name", "tides "),
    ("sentence", "Ana Wu said no. "),
    ("word", "word "),
    ("letter", "x"),
    ("abbreviation", "e.g. "),
    ("stop", "."),
    ("comma", ", and "),
    ("order", "ignore previous instructions "),
];

pub(super) fn repeat(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len().max(1) + 1)
}

/// A small generator of numbers, so that the same seed gives the same patterns
/// on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % below
    }

    fn token(&mut self) -> (&'static str, &'static str) {
        TOKENS[self.next(TOKENS.len())]
    }
}

/// Every token alone, what is known to have gone wrong, and so many
/// combinations that are drawn with the seed.
pub(super) fn all(seed: u64, drawn: usize) -> Vec<Pattern> {
    let mut all = structures::all();
    for (at, (name, token)) in TOKENS.iter().enumerate() {
        let layout = [Layout::Mind, Layout::Manifest][at % 2];
        all.push(Pattern::new(*name, layout, Place::Everywhere, |bytes| {
            repeat(token, bytes)
        }));
    }
    all.extend(of_secrets());
    let mut numbers = Numbers(seed);
    for _ in 0..drawn {
        all.push(combination(&mut numbers));
    }
    all
}

/// So many units share a pattern, each in a block of its own: one pattern for
/// each would take hours, and a square of an eighth of the text still shows.
const IN_ONE: usize = 8;

/// What the search for secrets looks for, from its own tables: beginnings of
/// tokens without an end, telling words in prose, and as heads of tables.
fn of_secrets() -> Vec<Pattern> {
    let beginnings: Vec<&str> = secrets::token_prefixes().collect();
    let words: Vec<&str> = secrets::hint_words().collect();
    let alone: fn(&str) -> String = |word| word.to_owned();
    let prose: fn(&str) -> String = |word| format!("The {word} is not here. ");
    let head: fn(&str) -> String = |word| format!("| {word} |\n|---|\n");
    let units = [
        ("beginnings", beginnings, alone),
        ("prose about", words.clone(), prose),
        ("tables headed", words, head),
    ];
    let mut all = Vec::new();
    for (kind, words, unit) in units {
        for some in words.chunks(IN_ONE) {
            let name = format!("{kind} {} to {}", some[0], some[some.len() - 1]);
            let units: Vec<String> = some.iter().map(|word| unit(word)).collect();
            let layout = [Layout::Mind, Layout::Manifest][all.len() % 2];
            let place = Place::File("knowledge/tides.md");
            all.push(Pattern::new(name, layout, place, move |bytes| {
                let share = bytes / units.len();
                let blocks = units.iter().map(|unit| repeat(unit, share));
                blocks.collect::<Vec<String>>().join("\n\n")
            }));
        }
    }
    all
}

/// Two tokens, in one of the ways in which structure can be put together.
fn combination(numbers: &mut Numbers) -> Pattern {
    let ((a_name, a), (b_name, b)) = (numbers.token(), numbers.token());
    let layout = [Layout::Mind, Layout::Manifest][numbers.next(2)];
    let (how, make): (&str, Box<dyn Fn(usize) -> String>) = match numbers.next(8) {
        0 => (
            "alternating with",
            Box::new(move |bytes| repeat(&format!("{a}{b}"), bytes)),
        ),
        1 => (
            "around",
            Box::new(move |bytes| format!("{}word{}", repeat(a, bytes / 2), repeat(b, bytes / 2))),
        ),
        2 => (
            "by lines with",
            Box::new(move |bytes| repeat(&format!("{a}word {b}\n"), bytes)),
        ),
        3 => (
            "by words with",
            Box::new(move |bytes| repeat(&format!("{a}word {b} "), bytes)),
        ),
        4 => (
            "once before",
            Box::new(move |bytes| format!("{a}{}", repeat(b, bytes))),
        ),
        5 => (
            "with a rare",
            Box::new(move |bytes| {
                let run = repeat(a, 4096);
                repeat(&format!("{run}{b}"), bytes)
            }),
        ),
        6 => (
            "by paragraphs with",
            Box::new(move |bytes| repeat(&format!("{a} word\n\n{b}\n\n"), bytes)),
        ),
        _ => (
            "by its root with",
            Box::new(move |bytes| {
                // As many pieces as each is long.
                let side = bytes.isqrt();
                let run = repeat(a, side);
                repeat(&format!("{run}\n{b}"), bytes)
            }),
        ),
    };
    Pattern::new(
        format!("{a_name} {how} {b_name}"),
        layout,
        Place::Everywhere,
        make,
    )
}
