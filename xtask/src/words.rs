//! `cargo xtask words`: how the code is named and documented, compared with
//! other codebases. It counts what STYLE.md and `docs/explanation/glossary.md`
//! ask for, so that a change of style can be measured; it judges nothing.

mod draw;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::visit::{self, Visit};

/// Words of a translation, which plain English says in other words. The last
/// ones are two words each.
const REPLACED_WORDS: [&str; 17] = [
    "told",
    "tell",
    "tells",
    "said",
    "says",
    "asked",
    "whoever",
    "somebody",
    "nobody",
    "lies",
    "stands",
    "anew",
    "odd",
    "lifts",
    "settled",
    "beside",
    "meanwhile",
];
const REPLACED_PAIRS: [(&str, &str); 6] = [
    ("once", "more"),
    ("by", "itself"),
    ("goes", "on"),
    ("goes", "without"),
    ("taken", "back"),
    ("gives", "back"),
];

/// Verbs with which comments on functions begin, in their base form.
const VERBS: &str = "accept access acquire activate adapt add adjust admit advance aggregate align \
    allocate allow append apply archive assemble assert assign attach attempt await begin bind \
    block break bring build bump cache calculate call cancel canonicalize capture cast change \
    check choose clamp classify clean clear clone close collapse collect combine commit compact \
    compare compile complete compress compute concatenate configure confirm connect construct \
    consume contain continue convert copy correct count cover create cut deal decide declare decode \
    decompress decrement define delete delimit demote deny derive describe deserialize detach \
    detect determine discard display distribute divide download draw drain drop duplicate emit \
    embed enable encode end ensure enter enumerate erase escape estimate evaluate evict examine \
    execute exit expand expect export expose extend extract fail fall fetch fill filter find \
    finalize finish fit flatten flush fold follow force format forward free freeze fuse generate \
    get give grant group grow guard guess handle hash hide hold identify ignore implement import \
    include increment index indicate infer initialize inject insert inspect install interpret \
    intersect invalidate invoke is issue iterate join judge keep label leave limit link list load \
    locate lock log look lookup lower make map mark mask match measure merge migrate mirror move \
    name narrow normalize note notify number obtain offer omit open order override pack pad parse \
    partition pass patch pause peek perform persist pick place plan poll pop populate prefer \
    prepare prepend preserve prevent print probe process produce promote propose provide prune pull \
    purge push put query queue quote raise rank reach read rebuild receive recognize recompute \
    record recover redact reduce refresh refuse register reject release reload remove rename \
    render reorder repair repeat replace replay report represent request require rerank reserve \
    reset resize resolve respond restore restrict resume retain retrieve retry return reuse \
    revert reverse rewrite roll rotate round run sanitize save scan schedule score search seek \
    select send separate serialize serve set settle shift shorten show shrink shut shuffle sign \
    skip snapshot sort split spread spawn stage start stop store stream strip submit subscribe \
    substitute subtract suggest sum suspend swap switch sync take tell terminate test tokenize \
    trace track transform translate traverse treat trigger trim truncate try turn undo unescape \
    unify unlock unpack unregister unwrap update upgrade use validate verify visit wait wake walk \
    warn watch weave weigh wrap write yield";

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut rows = vec![CodeWords::read("ours", &sources)?];
    let (mut drawn, mut seed) = (None, 1);
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut value = || {
            let value = rest.next();
            value.with_context(|| format!("`{argument}` needs a value"))
        };
        let folder = match argument {
            "--beside" => value()?,
            "--draw" => {
                drawn = Some(value()?.parse()?);
                continue;
            }
            "--seed" => {
                seed = value()?.parse()?;
                continue;
            }
            other => bail!("unknown argument `{other}`"),
        };
        let folder = Path::new(folder);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        rows.push(CodeWords::read(&name, folder)?);
    }
    match drawn {
        Some(count) => draw::print_draw(&sources, count, seed),
        None => {
            print_table(&rows);
            Ok(())
        }
    }
}

/// What is counted in one codebase, tests left out.
#[derive(Default)]
struct CodeWords {
    name: String,
    lines: usize,
    inline_comment_lines: usize,
    doc_comment_lines: usize,
    longest_line: usize,
    words: usize,
    replaced_words: usize,
    bool_matches: usize,
    public_items: usize,
    undocumented_items: usize,
    documented_functions: usize,
    functions_with_verb: usize,
    functions: Vec<String>,
    types: Vec<String>,
    constants: Vec<String>,
}

impl CodeWords {
    fn read(name: &str, folder: &Path) -> Result<CodeWords> {
        let mut counts = CodeWords {
            name: name.to_owned(),
            ..CodeWords::default()
        };
        for path in shipped_sources(folder)? {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            // Templates and fixtures of other projects may not be Rust alone.
            let Ok(file) = syn::parse_file(&text) else {
                eprintln!("note: {} is not parsed", path.display());
                continue;
            };
            counts.add_text(shipped_text(&text));
            counts.visit_file(&file);
        }
        Ok(counts)
    }

    fn add_text(&mut self, text: &str) {
        for line in text.lines() {
            let trimmed = line.trim_start();
            self.lines += 1;
            self.longest_line = self.longest_line.max(line.chars().count());
            if trimmed.starts_with("///") || trimmed.starts_with("//!") {
                self.doc_comment_lines += 1;
            } else if trimmed.starts_with("//") {
                self.inline_comment_lines += 1;
            }
        }
        let mut before = String::new();
        for word in text.split(|c: char| !c.is_ascii_alphabetic()) {
            if word.is_empty() {
                continue;
            }
            let word = word.to_ascii_lowercase();
            self.words += 1;
            if REPLACED_WORDS.contains(&word.as_str())
                || REPLACED_PAIRS.contains(&(before.as_str(), word.as_str()))
            {
                self.replaced_words += 1;
            }
            before = word;
        }
    }

    fn add_item(&mut self, visibility: &syn::Visibility, attributes: &[syn::Attribute]) {
        if matches!(visibility, syn::Visibility::Public(_)) {
            self.public_items += 1;
            self.undocumented_items += usize::from(first_word(attributes).is_none());
        }
    }

    fn add_function(&mut self, name: &syn::Ident, attributes: &[syn::Attribute]) {
        self.functions.push(name.to_string());
        if let Some(word) = first_word(attributes) {
            self.documented_functions += 1;
            self.functions_with_verb += usize::from(is_verb(&word));
        }
    }
}

impl<'a> Visit<'a> for CodeWords {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.add_item(&item.vis, &item.attrs);
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.add_item(&item.vis, &item.attrs);
            self.add_function(&item.sig.ident, &item.attrs);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if is_test(&item.attrs) {
            return;
        }
        // Names and documents of a trait's functions belong to the trait.
        if item.trait_.is_none() {
            for member in &item.items {
                if let syn::ImplItem::Fn(function) = member {
                    self.add_item(&function.vis, &function.attrs);
                    self.add_function(&function.sig.ident, &function.attrs);
                }
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add_item(&item.vis, &item.attrs);
        self.types.push(item.ident.to_string());
        for member in &item.items {
            if let syn::TraitItem::Fn(function) = member {
                self.add_item(&item.vis, &function.attrs);
                self.add_function(&function.sig.ident, &function.attrs);
            }
        }
        visit::visit_item_trait(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        if !is_test(&item.attrs) {
            self.add_item(&item.vis, &item.attrs);
            self.types.push(item.ident.to_string());
        }
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        if !is_test(&item.attrs) {
            self.add_item(&item.vis, &item.attrs);
            self.types.push(item.ident.to_string());
        }
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        if !is_test(&item.attrs) && item.ident != "_" {
            self.add_item(&item.vis, &item.attrs);
            self.constants.push(item.ident.to_string());
        }
    }

    fn visit_expr_match(&mut self, item: &'a syn::ExprMatch) {
        let is_bool = |arm: &syn::Arm| matches!(&arm.pat, syn::Pat::Lit(literal) if matches!(literal.lit, syn::Lit::Bool(_)));
        self.bool_matches += usize::from(item.arms.iter().any(is_bool));
        visit::visit_expr_match(self, item);
    }
}

/// Returns the first word of a documentation comment.
fn first_word(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let syn::Expr::Lit(literal) = &pair.value else {
            return None;
        };
        let syn::Lit::Str(text) = &literal.lit else {
            return None;
        };
        let is_doc = attribute.path().is_ident("doc");
        let text = text.value();
        let word = text.split_whitespace().next().filter(|_| is_doc)?;
        Some(
            word.trim_matches(|c: char| !c.is_alphanumeric())
                .to_lowercase(),
        )
    })
}

fn is_verb(word: &str) -> bool {
    VERBS.split_whitespace().any(|verb| {
        word == verb
            || word.strip_suffix('s') == Some(verb)
            || word.strip_suffix("es") == Some(verb)
            || (word.strip_suffix("ies") == verb.strip_suffix('y') && verb.ends_with('y'))
    })
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Path>()
                    .is_ok_and(|path| path.is_ident("test")))
    })
}

/// Returns the text above the tests at the end of a file.
pub(crate) fn shipped_text(text: &str) -> &str {
    let at = text.find("\n#[cfg(test)]\nmod tests {");
    &text[..at.unwrap_or(text.len())]
}

/// Lists Rust sources that are neither tests, benches, examples nor tools.
pub(crate) fn shipped_sources(folder: &Path) -> Result<Vec<PathBuf>> {
    const LEFT_OUT: [&str; 16] = [
        "tests",
        "test",
        "benches",
        "bench",
        "examples",
        "fuzz",
        "fuzzing",
        "target",
        "xtask",
        "soak",
        "testkit",
        "test-utils",
        "vendor",
        "third_party",
        "node_modules",
        "testsuite",
    ];
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        let listing = std::fs::read_dir(&here);
        for entry in listing.with_context(|| format!("cannot list {}", here.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') || LEFT_OUT.contains(&name.as_ref()) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file()
                && name.ends_with(".rs")
                && !["tests.rs", "test.rs", "build.rs"].contains(&name.as_ref())
                && !name.ends_with("_tests.rs")
                && !name.ends_with("_test.rs")
            {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn print_table(rows: &[CodeWords]) {
    print!("{:<44}", "");
    for row in rows {
        print!("{:>14}", row.name);
    }
    println!();
    type Cell = fn(&CodeWords) -> String;
    let lines: [(&str, Cell); 16] = [
        ("source lines", |it| it.lines.to_string()),
        ("replaced words per 1,000 words", |it| {
            format!("{:.2}", 1000.0 * ratio(it.replaced_words, it.words))
        }),
        ("function names: letters", |it| mean_letters(&it.functions)),
        ("function names of one word", |it| one_word(&it.functions)),
        ("type names: letters", |it| mean_letters(&it.types)),
        ("type names of one word", |it| one_word(&it.types)),
        ("type names that are a participle", |it| {
            let participles = it.types.iter().filter(|name| is_participle(name));
            participles.count().to_string()
        }),
        ("type names that are unique", |it| {
            percent(unique(&it.types))
        }),
        ("constants of one word", |it| one_word(&it.constants)),
        ("functions with a comment", |it| {
            percent(ratio(it.documented_functions, it.functions.len()))
        }),
        ("of these, begin with a verb", |it| {
            percent(ratio(it.functions_with_verb, it.documented_functions))
        }),
        ("public items without a comment", |it| {
            percent(ratio(it.undocumented_items, it.public_items))
        }),
        ("`match` on a boolean", |it| it.bool_matches.to_string()),
        ("inline comments, share of lines", |it| {
            percent(ratio(it.inline_comment_lines, it.lines))
        }),
        ("documentation, share of lines", |it| {
            percent(ratio(it.doc_comment_lines, it.lines))
        }),
        ("longest line", |it| it.longest_line.to_string()),
    ];
    for (title, cell) in lines {
        print!("{title:<44}");
        for row in rows {
            print!("{:>14}", cell(row));
        }
        println!();
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn mean_letters(names: &[String]) -> String {
    let letters = names.iter().map(|name| name.replace('_', "").len()).sum();
    format!("{:.1}", ratio(letters, names.len()))
}

fn one_word(names: &[String]) -> String {
    let single = names.iter().filter(|name| word_count(name) == 1).count();
    percent(ratio(single, names.len()))
}

/// Returns the number of words of a name in snake, camel or capital letters.
fn word_count(name: &str) -> usize {
    let has_lower = name.chars().any(char::is_lowercase);
    let has_upper = name.chars().any(char::is_uppercase);
    if has_lower && has_upper {
        return name.chars().filter(|c| c.is_uppercase()).count();
    }
    name.split('_').filter(|word| !word.is_empty()).count()
}

fn is_participle(name: &str) -> bool {
    const IRREGULAR: [&str; 13] = [
        "Told", "Given", "Made", "Kept", "Left", "Found", "Held", "Taken", "Known", "Shown",
        "Said", "Written", "Drawn",
    ];
    word_count(name) == 1
        && (IRREGULAR.contains(&name)
            || (name.ends_with("ed") && !["Embed", "Feed", "Seed"].contains(&name)))
}

/// Returns how many distinct names there are for each declared type.
fn unique(names: &[String]) -> f64 {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    ratio(counts.len(), names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_name_are_counted_in_every_spelling() {
        for (name, expected) in [
            ("rank", 1),
            ("rank_hits", 2),
            ("SearchRequest", 2),
            ("Told", 1),
            ("MAX_HITS", 2),
            ("POOL", 1),
        ] {
            assert_eq!(word_count(name), expected, "{name}");
        }
    }

    #[test]
    fn a_source_is_counted_without_its_tests() {
        let text = "//! A room.\n\n/// Returns it.\npub fn told() -> bool {\n    // why\n    \
                    match true { true => false, false => true }\n}\n\npub struct Given;\n\n\
                    #[cfg(test)]\nmod tests {\n    fn helper() {}\n}\n";
        let mut counts = CodeWords::default();
        counts.add_text(shipped_text(text));
        counts.visit_file(&syn::parse_file(text).expect("it is Rust"));
        assert_eq!(counts.functions, ["told"]);
        assert_eq!(counts.types, ["Given"]);
        assert_eq!(
            (counts.documented_functions, counts.functions_with_verb),
            (1, 1)
        );
        assert_eq!((counts.public_items, counts.undocumented_items), (2, 1));
        assert_eq!((counts.bool_matches, counts.replaced_words), (1, 1));
        assert_eq!(
            (counts.inline_comment_lines, counts.doc_comment_lines),
            (1, 2)
        );
    }

    #[test]
    fn verbs_are_known_in_both_forms() {
        for word in ["returns", "return", "applies", "matches", "is"] {
            assert!(is_verb(word), "{word}");
        }
        for word in ["the", "what", "whether", "names of"] {
            assert!(!is_verb(word), "{word}");
        }
    }
}
