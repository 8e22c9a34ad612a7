//! `cargo xtask site`: the pages of `docs/` as a site, by mdbook. It checks
//! every link before and after, needs no network, and never changes a page.

mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{repository, target};

/// `scripts/site.sh` installs it.
const MDBOOK: &str = "0.5.4";

/// Where pages that are not part of the site can be read.
const SOURCES: &str = "https://github.com/memory-forge/memory-forge/blob/main";

pub(crate) fn run() -> Result<()> {
    let broken = links::broken(repository());
    ensure!(
        broken.is_empty(),
        "links lead nowhere:\n  {}",
        broken.join("\n  ")
    );
    let mdbook = target().join("tools/bin/mdbook");
    let version = Command::new(&mdbook).arg("--version").output();
    let installed = version.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains(MDBOOK));
    ensure!(
        installed,
        "mdbook {MDBOOK} is not at {}: run scripts/site.sh, which installs it",
        mdbook.display()
    );
    let (staged, site) = (target().join("site-pages"), target().join("site"));
    for folder in [&staged, &site] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    stage(&staged)?;
    let built = Command::new(&mdbook)
        .arg("build")
        .arg(&staged)
        .arg("--dest-dir")
        .arg(std::path::absolute(&site)?)
        .status()?;
    ensure!(built.success(), "mdbook could not build the site");
    let broken = links::broken_in_site(&site)?;
    ensure!(
        broken.is_empty(),
        "links of the site lead nowhere:\n  {}",
        broken.join("\n  ")
    );
    println!("The site is in {}", site.join("index.html").display());
    Ok(())
}

/// Copies the pages. Links that leave `docs/` lead to the repository's own
/// pages then, a folder's README is its index as the web has it, and a page
/// that the summary forgot is added to it.
fn stage(to: &Path) -> Result<()> {
    let docs = repository().join("docs");
    let mut unlisted = Vec::new();
    let summary = fs::read_to_string(docs.join("SUMMARY.md"))?;
    for file in files_below(&docs)? {
        let relative = file.strip_prefix(&docs)?;
        let mut target = to.join(relative);
        if target.ends_with("README.md") {
            target.set_file_name("index.md");
        }
        fs::create_dir_all(target.parent().context("a file lies in a folder")?)?;
        if file.extension().is_none_or(|it| it != "md") {
            fs::copy(&file, &target)?;
            continue;
        }
        let text = fs::read_to_string(&file)?;
        fs::write(&target, links::leaving(&text, relative, SOURCES))?;
        let name = relative.to_string_lossy().replace('\\', "/");
        if name != "SUMMARY.md" && !summary.contains(&format!("({name})")) {
            unlisted.push(name);
        }
    }
    if !unlisted.is_empty() {
        let mut summary = fs::read_to_string(to.join("SUMMARY.md"))?;
        summary += "\n# More\n\n";
        for name in unlisted {
            let title = title(&fs::read_to_string(docs.join(&name))?).unwrap_or(name.clone());
            summary += &format!("- [{title}]({name})\n");
        }
        fs::write(to.join("SUMMARY.md"), summary)?;
    }
    Ok(())
}

fn title(text: &str) -> Option<String> {
    text.lines()
        .find_map(|line| line.strip_prefix("# "))
        .map(str::to_owned)
}

#[cfg(test)]
#[test]
fn the_script_installs_the_version_that_is_asked_for() {
    let script = fs::read_to_string(repository().join("scripts/site.sh")).expect("it is there");
    assert!(script.contains(&format!("version={MDBOOK}\n")), "{script}");
}

/// Every file below a folder, sorted.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.sort();
    Ok(files)
}
