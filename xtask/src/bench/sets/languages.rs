//! The same handbook in many languages: each section without its heading is a
//! file, and its heading is the question.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use forge_app::document;

use super::{File, Group, Question};

const HANDBOOK: &str = "obsidian-help-all";
const LANGUAGES: [&str; 16] = [
    "en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "ru", "el", "ar", "ja", "zh", "ko", "th",
];
/// Questions to each language, taken evenly from all headings.
const MOST: usize = 80;
/// Characters of a section; shorter ones say too little to be found.
const SHORTEST: usize = 120;

pub(super) fn load(data: &Path) -> Result<Vec<Group>> {
    let unpacked = unpack(data)?;
    LANGUAGES
        .iter()
        .map(|language| group(&unpacked.join(language), language))
        .collect()
}

fn unpack(data: &Path) -> Result<PathBuf> {
    let into = crate::target().join("bench");
    let folder = into.join(HANDBOOK);
    if !folder.join("README.md").exists() {
        fs::create_dir_all(&into)?;
        let done = Command::new("tar")
            .arg("-xzf")
            .arg(data.join(format!("md/{HANDBOOK}.tar.gz")))
            .arg("-C")
            .arg(&into)
            .status()
            .context("cannot run `tar`")?;
        ensure!(done.success(), "cannot unpack {HANDBOOK}");
    }
    Ok(folder)
}

fn group(folder: &Path, language: &str) -> Result<Group> {
    let mut paths = BTreeMap::new();
    pages(folder, &mut paths)?;
    let mut group = Group {
        name: language.to_owned(),
        ..Group::default()
    };
    let mut headings: Vec<(String, String)> = Vec::new();
    for (page, text) in paths.into_values().enumerate() {
        let document = document::parse_document(text);
        for (at, section) in document.sections.iter().enumerate() {
            let text = document.text[section.heading.end..section.own.end].trim();
            if section.level < 2 || text.chars().count() < SHORTEST {
                continue;
            }
            let id = format!("{language}-{page}-{at}");
            headings.push((section.title.clone(), id.clone()));
            group.files.push(File {
                id,
                text: format!("{text}\n"),
            });
        }
    }
    // A heading that stands twice asks for neither.
    let mut times: HashMap<String, usize> = HashMap::new();
    for (heading, _) in &headings {
        *times.entry(heading.to_lowercase()).or_default() += 1;
    }
    headings
        .retain(|(heading, _)| times[&heading.to_lowercase()] == 1 && heading.chars().count() >= 4);
    let step = headings.len().div_ceil(MOST).max(1);
    for (text, id) in headings.into_iter().step_by(step) {
        group.questions.push(Question {
            id: id.clone(),
            text,
            kind: language.to_owned(),
            date: None,
            gold: HashSet::from([id]),
        });
    }
    Ok(group)
}

fn pages(folder: &Path, into: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            pages(&path, into)?;
        } else if path.extension().is_some_and(|it| it == "md") {
            let text = fs::read_to_string(&path)?;
            into.insert(path, text);
        }
    }
    Ok(())
}
