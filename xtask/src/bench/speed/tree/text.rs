//! Markdown made from a seed: prose with the word frequencies of a language,
//! headings, lists, tasks, code, tables and links. The same number gives the
//! same document on every machine and in every order.

use std::fmt::Write as _;

/// In one file of a thousand.
pub(crate) const RARE: &str = "quillwort";
/// In one file of twenty.
pub(crate) const FREQUENT: &str = "saltmarsh";

const COMMON: &str = "the of and to in is that for it as was with be by on not this are or from at which \
    but have an they you had we can all when there use been one would each how if will up other about out \
    many then them these so some her would make like him into time has look two more write go see number no \
    way could people my than first water been call who its now find long down day did get come made may part";

const DOMAINS: [&str; 20] = [
    "billing",
    "checkout",
    "ledger",
    "identity",
    "search",
    "shipping",
    "catalog",
    "alerts",
    "storage",
    "gateway",
    "reports",
    "payouts",
    "risk",
    "support",
    "mobile",
    "platform",
    "data",
    "release",
    "network",
    "onboarding",
];

const SYLLABLES: [&str; 40] = [
    "ba", "cor", "del", "en", "fi", "gra", "hol", "in", "jo", "ka", "lu", "mer", "no", "or", "pre",
    "qua", "ri", "sto", "ta", "un", "ver", "wi", "xe", "ya", "zo", "con", "dis", "per", "tion",
    "ment", "able", "ing", "er", "al", "ic", "ous", "ive", "ist", "ard", "eth",
];

/// A power of two.
const WORDS: usize = 8_192;

/// SplitMix64: short, and good enough for text.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `limit`, which is far below 2^32, so that the bias is nothing.
    fn below(&mut self, limit: usize) -> usize {
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

pub(crate) struct Generator {
    /// From the most to the least frequent.
    words: Vec<String>,
}

impl Generator {
    pub(crate) fn new() -> Generator {
        let mut random = Random(7);
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        while words.len() < WORDS {
            let syllables = 2 + random.below(3);
            words.push(
                (0..syllables)
                    .map(|_| SYLLABLES[random.below(SYLLABLES.len())])
                    .collect(),
            );
        }
        Generator { words }
    }

    pub(crate) fn path(&self, number: usize) -> String {
        let mut random = Random(number as u64 ^ 0x70a7);
        let domain = DOMAINS[number % DOMAINS.len()];
        let shelf = number / DOMAINS.len() % 10;
        format!(
            "{domain}/part-{shelf}/{}-{number:05}.md",
            self.rare_word(&mut random)
        )
    }

    pub(crate) fn document(&self, number: usize, files: usize) -> String {
        let mut random = Random(number as u64 ^ 0xd0c5);
        // Cubed: most files are small and a few are large, as in life.
        let draw = random.below(1_000) as u64;
        let size = 1_000 + (19_000 * draw.pow(3) / 1_000_000_000) as usize;
        let mut text = String::with_capacity(size + 2_000);
        let title = self.title(&mut random);
        if random.chance(35) {
            let (month, day) = (1 + random.below(12), 1 + random.below(28));
            let tag = DOMAINS[random.below(DOMAINS.len())];
            let _ = write!(
                text,
                "---\ntitle: {title}\ndate: 2025-{month:02}-{day:02}\ntags: [{tag}]\n---\n\n"
            );
        }
        let _ = write!(text, "# {title}\n\n");
        if number % 1_000 == 7 {
            let _ = write!(text, "The {RARE} procedure is described here.\n\n");
        }
        if number % 20 == 3 {
            let _ = write!(text, "It belongs to the {FREQUENT} group.\n\n");
        }
        self.paragraph(&mut random, &mut text);
        while text.len() < size {
            let level = if random.chance(70) { "##" } else { "###" };
            let _ = write!(text, "{level} {}\n\n", self.title(&mut random));
            self.paragraph(&mut random, &mut text);
            match random.below(6) {
                0 => self.list(&mut random, &mut text),
                1 => self.code(&mut random, &mut text),
                2 => self.table(&mut random, &mut text),
                3 => self.link(&mut random, &mut text, files),
                _ => self.paragraph(&mut random, &mut text),
            }
        }
        text
    }

    /// Each doubling of the rank is as likely as the one before: close to how
    /// words are spread, and in integers, so that no machine rounds otherwise.
    fn word(&self, random: &mut Random) -> &str {
        let octave = 1 << random.below(WORDS.ilog2() as usize);
        &self.words[octave - 1 + random.below(octave)]
    }

    fn rare_word(&self, random: &mut Random) -> &str {
        &self.words[200 + random.below(self.words.len() - 200)]
    }

    fn title(&self, random: &mut Random) -> String {
        let words: Vec<&str> = (0..2 + random.below(3))
            .map(|_| self.rare_word(random))
            .collect();
        let title = words.join(" ");
        title[..1].to_uppercase() + &title[1..]
    }

    fn sentence(&self, random: &mut Random, text: &mut String) {
        let start = text.len();
        for place in 0..6 + random.below(14) {
            if place > 0 {
                text.push_str(if random.chance(6) { ", " } else { " " });
            }
            text.push_str(self.word(random));
        }
        // Words are ASCII, so the first byte is the first letter.
        let first = text[start..=start].to_uppercase();
        text.replace_range(start..=start, &first);
        text.push('.');
    }

    fn paragraph(&self, random: &mut Random, text: &mut String) {
        for place in 0..2 + random.below(5) {
            if place > 0 {
                text.push(' ');
            }
            self.sentence(random, text);
        }
        text.push_str("\n\n");
    }

    fn list(&self, random: &mut Random, text: &mut String) {
        let marker = ["- ", "- [ ] ", "- [x] ", "1. "][random.below(4)];
        for _ in 0..3 + random.below(5) {
            text.push_str(marker);
            self.sentence(random, text);
            text.push('\n');
        }
        text.push('\n');
    }

    fn code(&self, random: &mut Random, text: &mut String) {
        text.push_str("```rust\n");
        for _ in 0..3 + random.below(8) {
            let (verb, noun, argument) = (
                self.rare_word(random),
                self.rare_word(random),
                self.rare_word(random),
            );
            let limit = random.below(10_000);
            let _ = writeln!(text, "let {noun} = {verb}_{noun}(&{argument}, {limit})?;");
        }
        text.push_str("```\n\n");
    }

    fn table(&self, random: &mut Random, text: &mut String) {
        let _ = writeln!(
            text,
            "| {} | {} | limit |\n|---|---|---|",
            self.rare_word(random),
            self.rare_word(random)
        );
        for _ in 0..3 + random.below(6) {
            let (left, right) = (self.rare_word(random), self.word(random));
            let _ = writeln!(text, "| `{left}` | {right} | {} |", random.below(1_000));
        }
        text.push('\n');
    }

    fn link(&self, random: &mut Random, text: &mut String, files: usize) {
        let path = self.path(random.below(files));
        let stem = path
            .rsplit('/')
            .next()
            .unwrap_or(&path)
            .trim_end_matches(".md")
            .to_owned();
        let _ = write!(text, "See [{stem}](../../{path}) and [[{stem}]]. ");
        self.sentence(random, text);
        text.push_str("\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_gives_one_document() {
        let (first, second) = (Generator::new(), Generator::new());
        for number in [0, 3, 7, 9_999] {
            assert_eq!(first.path(number), second.path(number));
            assert_eq!(
                first.document(number, 10_000),
                second.document(number, 10_000)
            );
        }
    }

    #[test]
    fn planted_words_are_where_they_should_be() {
        let generator = Generator::new();
        let count = |word| {
            (0..2_000)
                .filter(|&n| generator.document(n, 2_000).contains(word))
                .count()
        };
        assert_eq!(count(RARE), 2);
        assert_eq!(count(FREQUENT), 100);
    }

    #[test]
    fn sizes_are_as_promised() {
        let generator = Generator::new();
        let sizes: Vec<usize> = (0..1_000)
            .map(|n| generator.document(n, 1_000).len())
            .collect();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        assert!(sizes.iter().all(|size| (1_000..23_000).contains(size)));
        assert!((5_000..7_500).contains(&mean), "{mean}");
    }
}
