//! `cargo xtask words --draw 40 --seed 1`: comments, messages and names with
//! one use each, drawn at random, for a reader who has not seen them. The same
//! seed draws the same places from the same sources; it changes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};

use super::{is_test, shipped_sources, shipped_text};

/// Shortest text of a literal that counts as a message, in words.
const MIN_MESSAGE_WORDS: usize = 3;

/// Lines below a comment that show what it is about.
const LINES_BELOW_COMMENT: usize = 3;

/// Prints `count` comments, messages and names each.
pub(super) fn print_draw(folder: &Path, count: usize, seed: u64) -> Result<()> {
    let mut places = DrawnPlaces::default();
    for path in shipped_sources(folder)? {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let file = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        let shown = path.strip_prefix(folder).unwrap_or(&path);
        places.add_source(&shown.display().to_string(), shipped_text(&text), &file);
    }
    let mut random = SplitMix(seed);
    for (title, list) in [
        ("Comments", &places.comments),
        ("Messages", &places.messages),
        ("Names", &places.names()),
    ] {
        println!("## {title}\n");
        for (number, place) in random.choose(list, count).into_iter().enumerate() {
            println!("{}. {place}\n", number + 1);
        }
    }
    Ok(())
}

#[derive(Default)]
struct DrawnPlaces {
    comments: Vec<String>,
    messages: Vec<String>,
    /// Names of functions, types and constants, with the place of each.
    declared: BTreeMap<String, String>,
    /// Lines of code that are no declaration, with their places.
    code: Vec<(String, String)>,
}

impl DrawnPlaces {
    fn add_source(&mut self, path: &str, text: &str, file: &syn::File) {
        let lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        while at < lines.len() {
            let is_comment = |line: &str| line.trim_start().starts_with("//");
            let first = at;
            while at < lines.len() && is_comment(lines[at]) {
                at += 1;
            }
            if at == first {
                self.code
                    .push((format!("{path}:{}", at + 1), lines[at].trim().to_owned()));
                at += 1;
                continue;
            }
            let end = (at + LINES_BELOW_COMMENT).min(lines.len());
            let shown = lines[first..end].join("\n");
            self.comments.push(format!("{path}:{}\n{shown}", first + 1));
        }
        let mut visit = LiteralVisit::default();
        visit.visit_file(file);
        for message in visit.messages {
            self.messages.push(format!("{path}\n{message}"));
        }
        for name in visit.names {
            self.declared.entry(name).or_insert_with(|| path.to_owned());
        }
    }

    /// Returns each name with its place and the first line that uses it.
    fn names(&self) -> Vec<String> {
        let mut uses: BTreeMap<&str, &(String, String)> = BTreeMap::new();
        for line in &self.code {
            let text = &line.1;
            let is_declaration = ["fn ", "struct ", "enum ", "const ", "trait ", "use "]
                .iter()
                .any(|word| text.contains(word));
            if is_declaration {
                continue;
            }
            for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
                if let Some((name, _)) = self.declared.get_key_value(word) {
                    uses.entry(name).or_insert(line);
                }
            }
        }
        let shown = uses.iter().map(|(name, (place, line))| {
            let declared = &self.declared[*name];
            format!("{name} ({declared})\n{place}: {line}")
        });
        shown.collect()
    }
}

/// Collects texts that people or agents may read, and declared names.
#[derive(Default)]
struct LiteralVisit {
    messages: Vec<String>,
    names: Vec<String>,
}

impl LiteralVisit {
    /// Adds the literals of a macro's arguments, which are not parsed.
    fn add_tokens(&mut self, tokens: &str) {
        let mut rest = tokens;
        while let Some(start) = rest.find('"') {
            let body = &rest[start + 1..];
            let mut end = None;
            let mut escaped = false;
            for (at, c) in body.char_indices() {
                match c {
                    '"' if !escaped => {
                        end = Some(at);
                        break;
                    }
                    _ => escaped = c == '\\' && !escaped,
                }
            }
            let Some(end) = end else { return };
            self.add_message(&body[..end]);
            rest = &body[end + 1..];
        }
    }

    fn add_message(&mut self, text: &str) {
        let words = text.split_whitespace();
        let words = words.filter(|it| it.chars().any(char::is_alphabetic));
        if words.count() >= MIN_MESSAGE_WORDS {
            self.messages.push(text.to_owned());
        }
    }
}

impl<'a> Visit<'a> for LiteralVisit {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.names.push(item.sig.ident.to_string());
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if item.trait_.is_none() {
            for member in &item.items {
                if let syn::ImplItem::Fn(function) = member {
                    self.names.push(function.sig.ident.to_string());
                }
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.names.push(item.ident.to_string());
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.names.push(item.ident.to_string());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.names.push(item.ident.to_string());
        visit::visit_item_const(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        // The text of an error is in an attribute; documentation is a comment.
        if let syn::Meta::List(list) = &attribute.meta
            && attribute.path().is_ident("error")
        {
            self.add_tokens(&list.tokens.to_string());
        }
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.add_tokens(&item.tokens.to_string());
    }

    fn visit_lit_str(&mut self, literal: &'a syn::LitStr) {
        self.add_message(&literal.value());
    }
}

/// The generator SplitMix64, which needs no other crate.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Chooses `count` different entries, in random order.
    fn choose<'a>(&mut self, list: &'a [String], count: usize) -> Vec<&'a String> {
        let mut left: Vec<&String> = list.iter().collect();
        let mut chosen = Vec::new();
        while chosen.len() < count && !left.is_empty() {
            let at = self.next() % left.len() as u64;
            chosen.push(left.swap_remove(at as usize));
        }
        chosen
    }
}
