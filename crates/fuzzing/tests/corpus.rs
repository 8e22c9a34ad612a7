//! Every file of `fuzz/corpus/` through its target, on any toolchain and
//! without libFuzzer. What once crashed stays in there.

use std::fs;
use std::path::{Path, PathBuf};

use fuzzing::TARGETS;

/// The corpus is for the tests and must stay quick to run and to read.
const MOST_FILES: usize = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn files(target: &str) -> Vec<PathBuf> {
    let folder = root().join("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|_| panic!("no corpus for {target}"));
    let mut files: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn every_file_of_the_corpus_passes() {
    let mut failed = Vec::new();
    for target in &TARGETS {
        for path in files(target.name) {
            let data = fs::read(&path).expect("it can be read");
            // Also cut off, as files and messages are.
            for end in [data.len(), data.len() / 2, data.len() * 3 / 4] {
                let run = || (target.run)(&data[..end]);
                if std::panic::catch_unwind(run).is_err() {
                    failed.push(format!("{} up to byte {end}", path.display()));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn the_corpus_is_small_and_every_target_has_one() {
    for target in &TARGETS {
        let files = files(target.name);
        assert!(
            (1..=MOST_FILES).contains(&files.len()),
            "{}: {}",
            target.name,
            files.len()
        );
        for path in files {
            let length = fs::metadata(&path).expect("it is there").len() as usize;
            assert!(length <= target.longest, "{} is too long", path.display());
        }
    }
    let corpora = fs::read_dir(root().join("corpus")).expect("a corpus");
    assert_eq!(corpora.count(), TARGETS.len(), "a corpus without a target");
}
