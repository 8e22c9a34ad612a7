//! The trees that are measured on: one made from a seed, the same on every
//! machine, and one of real documentation where its archive is at hand. Each
//! is a git repository of its own below the target directory.

mod text;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use text::Generator;

/// Changes with the generated text, so that an old tree is not taken for a
/// new one.
const GENERATOR: u32 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Generated,
    Mdn,
}

pub(crate) struct Tree {
    root: PathBuf,
    kind: Kind,
    name: String,
    files: usize,
    bytes: u64,
    hash: String,
    /// The file that [`edit`](Tree::edit) changes, and its text.
    victim: PathBuf,
    victim_text: String,
}

impl Tree {
    /// Makes a tree or takes the one of an earlier run. `None`, after saying
    /// so, when its source is not on this machine.
    pub(crate) fn prepare(
        bench: &Path,
        kind: Kind,
        files: usize,
        purpose: &str,
    ) -> Result<Option<Tree>> {
        let name = match kind {
            Kind::Generated => format!("generated-{GENERATOR}-{files}"),
            Kind::Mdn => "mdn-content".to_owned(),
        };
        let root = bench.join(format!("{name}-{purpose}"));
        // Written last: a tree that was interrupted has none.
        let finished = bench.join(format!("{name}-{purpose}.finished"));
        if !finished.is_file() {
            if root.exists() {
                std::fs::remove_dir_all(&root)
                    .with_context(|| format!("Cannot remove {}", root.display()))?;
            }
            let knowledge = root.join("knowledge");
            std::fs::create_dir_all(&knowledge)
                .with_context(|| format!("Cannot create {}", knowledge.display()))?;
            eprintln!("bench: making {}", root.display());
            match kind {
                Kind::Generated => generate(&knowledge, files)?,
                Kind::Mdn if !unpack_mdn(&knowledge)? => return Ok(None),
                Kind::Mdn => {}
            }
            std::fs::write(root.join(".gitignore"), ".memory-forge/\n")?;
            git(&root, &["init", "--quiet", "--initial-branch=main"])?;
            git(&root, &["add", "--all"])?;
            git(&root, &["commit", "--quiet", "-m", "A tree to measure on"])?;
            std::fs::write(&finished, "")?;
        }
        let tree = Tree::open(root, kind, name)?;
        tree.restore()?;
        Ok(Some(tree))
    }

    fn open(root: PathBuf, kind: Kind, name: String) -> Result<Tree> {
        let (mut files, mut bytes, mut victim) = (0, 0, None);
        let mut stack = vec![root.join("knowledge")];
        while let Some(directory) = stack.pop() {
            let mut entries: Vec<_> = std::fs::read_dir(&directory)?.collect::<Result<_, _>>()?;
            entries.sort_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                let path = entry.path();
                if entry.file_type()?.is_dir() {
                    stack.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    files += 1;
                    bytes += entry.metadata()?.len();
                    victim.get_or_insert(path);
                }
            }
        }
        let victim = victim.context("The tree holds no Markdown")?;
        git(&root, &["checkout", "--quiet", "--", "."])?;
        let victim_text = std::fs::read_to_string(&victim)?;
        let hash = git(&root, &["rev-parse", "HEAD^{tree}"])?;
        Ok(Tree {
            root,
            kind,
            name,
            files,
            bytes,
            hash,
            victim,
            victim_text,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn files(&self) -> usize {
        self.files
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Git's id of the tree: equal ids are equal files.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// A word of few files and one of many.
    pub(crate) fn words(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Generated => (text::RARE, text::FREQUENT),
            Kind::Mdn => ("scrollsnapchanging", "deprecated"),
        }
    }

    pub(crate) fn forget_index(&self) -> Result<()> {
        let derived = self.root.join(".memory-forge");
        if derived.exists() {
            std::fs::remove_dir_all(&derived)
                .with_context(|| format!("Cannot remove {}", derived.display()))?;
        }
        Ok(())
    }

    /// Really edits one file: a sentence at its end that no run had before.
    pub(crate) fn edit(&self, round: usize) -> Result<()> {
        let moment = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(0, |since| since.as_nanos());
        let text = format!(
            "{}\nEdited in round {round}, at {moment}.\n",
            self.victim_text
        );
        std::fs::write(&self.victim, text)
            .with_context(|| format!("Cannot edit {}", self.victim.display()))
    }

    /// Takes the edits back.
    pub(crate) fn restore(&self) -> Result<()> {
        git(&self.root, &["checkout", "--quiet", "--", "."]).map(drop)
    }
}

fn generate(knowledge: &Path, files: usize) -> Result<()> {
    let generator = Generator::new();
    for number in 0..files {
        let path = knowledge.join(generator.path(number));
        let parent = path.parent().context("A generated path has a directory")?;
        std::fs::create_dir_all(parent)?;
        std::fs::write(&path, generator.document(number, files))?;
    }
    Ok(())
}

fn unpack_mdn(knowledge: &Path) -> Result<bool> {
    let archive = super::super::data_folder().map(|data| data.join("md/mdn-content.tar.gz"));
    let Some(archive) = archive.filter(|archive| archive.is_file()) else {
        eprintln!(
            "skipped: md/mdn-content.tar.gz is not here; set MEMORY_FORGE_BENCH_DATA to where md/ lies"
        );
        return Ok(false);
    };
    let status = Command::new("tar")
        .arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(knowledge)
        .status()
        .context("Cannot run tar")?;
    if !status.success() {
        bail!("tar could not unpack {}", archive.display());
    }
    Ok(true)
}

/// Git with an identity and dates of its own, so that ids are reproducible.
fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    const DATE: &str = "2026-03-01T09:00:00+00:00";
    let output = Command::new("git")
        // No collection that would go on in the background while we measure.
        .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([
            ("GIT_AUTHOR_NAME", "Bench"),
            ("GIT_AUTHOR_EMAIL", "bench@example.com"),
            ("GIT_AUTHOR_DATE", DATE),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "Bench"),
            ("GIT_COMMITTER_EMAIL", "bench@example.com"),
            ("GIT_COMMITTER_DATE", DATE),
        ])
        .output()
        .context("Cannot run git")?;
    if !output.status.success() {
        bail!(
            "git {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
