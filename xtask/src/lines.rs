//! `cargo xtask lines`: how many lines of our own Rust the first program links,
//! crate by crate, without tests. It follows the dependencies of the manifests,
//! so that a new crate counts without a change here.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::words::{shipped_sources, shipped_text};

/// The crate of the first program.
const CORE_PROGRAM: &str = "memory-forge";

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let folder = match arguments {
        [] => crate::repository().to_owned(),
        ["--in", folder] => Path::new(folder).to_owned(),
        _ => bail!("usage: lines [--in FOLDER]"),
    };
    let crates = folder.join("crates");
    let mut total = LineCounts::default();
    println!("{:24}{:>10}{:>10}{:>10}", "", "lines", "not blank", "code");
    for name in linked_crates(&crates)? {
        let mut counts = LineCounts::default();
        for path in shipped_sources(&crates.join(&name).join("src"))? {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            counts.add_text(shipped_text(&text));
        }
        counts.print(&name);
        total.add(&counts);
    }
    total.print("together");
    Ok(())
}

/// Returns the crates of ours that the program links, by their names.
fn linked_crates(crates: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut open = vec![CORE_PROGRAM.to_owned()];
    while let Some(name) = open.pop() {
        let path = crates.join(&name).join("Cargo.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let manifest: toml_edit::DocumentMut = text.parse()?;
        let used = manifest.get("dependencies").and_then(|it| it.as_table());
        let used = used.into_iter().flat_map(|table| table.iter());
        for (dependency, _) in used {
            if crates.join(dependency).is_dir() && !found.contains(dependency) {
                open.push(dependency.to_owned());
            }
        }
        found.insert(name);
    }
    Ok(found)
}

/// Lines of source: all, those with text, and those of these that are no
/// comment.
#[derive(Default)]
struct LineCounts {
    all: usize,
    not_blank: usize,
    code: usize,
}

impl LineCounts {
    fn add_text(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            self.all += 1;
            self.not_blank += usize::from(!line.is_empty());
            self.code += usize::from(!line.is_empty() && !line.starts_with("//"));
        }
    }

    fn add(&mut self, other: &LineCounts) {
        self.all += other.all;
        self.not_blank += other.not_blank;
        self.code += other.code;
    }

    fn print(&self, name: &str) {
        println!(
            "{name:24}{:>10}{:>10}{:>10}",
            self.all, self.not_blank, self.code
        );
    }
}
