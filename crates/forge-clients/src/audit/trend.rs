//! Computes what agents would have loaded at earlier commits: the weight of
//! memory over time. It asks git and reads nothing of the work tree.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::tokens::{Tokenizer, count_tokens};
use crate::workspace::{FileRole, RelPath, Workspace, WorkspaceError, git, role_by_path};

/// Cost at one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrendPoint {
    /// Shortened id of the commit.
    pub commit: String,
    /// Time of the commit.
    pub date: Timestamp,
    /// First line of its message.
    pub subject: String,
    /// Files that some client loads at start, and their tokens, counted whole.
    pub files: usize,
    /// Tokens of these files.
    pub tokens: usize,
    /// Documents of the knowledge.
    pub documents: usize,
}

/// Upper bound for the commits that points are chosen from.
const MAX_COMMITS: usize = 2_000;
/// Upper bound for the bytes of a file that are counted; a longer file counts
/// as its beginning.
const MAX_COUNTED_BYTES: usize = 1_000_000;

/// Returns at most `most` commits of the last 2,000, oldest first, evenly apart
/// and the newest among them, and the number of commits.
pub fn compute_trend(
    workspace: &Workspace,
    tokenizer: Tokenizer,
    most: usize,
) -> Result<(Vec<TrendPoint>, usize), WorkspaceError> {
    let root = workspace.root();
    let commits = git::list_commits(root, None, MAX_COMMITS)?;
    let mut points = Vec::new();
    // Most commits leave most of these files alone.
    let mut counted: HashMap<String, usize> = HashMap::new();
    for commit in spread_evenly(&commits, most) {
        let rev = git::resolve_revision(root, &commit.id)?;
        let mut point = TrendPoint {
            commit: commit.id.clone(),
            date: commit.date,
            subject: commit.subject.clone(),
            files: 0,
            tokens: 0,
            documents: 0,
        };
        for (path, blob) in git::list_files_at(root, &rev, "")? {
            let Ok(path) = RelPath::new(&path) else {
                continue;
            };
            match role_by_path(&path) {
                FileRole::Knowledge => point.documents += 1,
                FileRole::Autoload if path.as_str().ends_with(".md") => {
                    point.files += 1;
                    point.tokens += match counted.get(&blob) {
                        Some(tokens) => *tokens,
                        None => {
                            let bytes = git::read_blobs(root, &[&blob])?.pop().unwrap_or_default();
                            let bytes = &bytes[..bytes.len().min(MAX_COUNTED_BYTES)];
                            let tokens = count_tokens(tokenizer, &String::from_utf8_lossy(bytes));
                            counted.insert(blob, tokens);
                            tokens
                        }
                    };
                }
                _ => {}
            }
        }
        points.push(point);
    }
    points.reverse();
    Ok((points, commits.len()))
}

/// Returns `most` elements evenly apart, the first and the last included.
fn spread_evenly<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let count = all.len().min(most.max(1));
    (0..count).map(move |index| match count {
        1 => &all[0],
        count => &all[index * (all.len() - 1) / (count - 1)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_from_the_first_to_the_last() {
        let all: Vec<u8> = (0..10).collect();
        let check = |most, expect: &[u8]| {
            let found: Vec<u8> = spread_evenly(&all, most).copied().collect();
            assert_eq!(found, expect, "{most}");
        };
        check(20, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        check(4, &[0, 3, 6, 9]);
        check(1, &[0]);
        assert_eq!(spread_evenly(&[0_u8; 0], 4).count(), 0);
    }

    #[test]
    fn a_file_that_grew_shows_in_the_trend() {
        let files = testkit::TestWorkspace::files(
            "
            //- CLAUDE.md
            Be brief.
            //- knowledge/a.md
            # A
            ",
        );
        files.git_init();
        files.commit("first");
        files.write("CLAUDE.md", "Be brief, and be kind.\n".repeat(20));
        files.write("knowledge/b.md", "# B\n");
        files.commit("second");
        let workspace = Workspace::open(files.root()).expect("it is a folder");
        let (points, all) = compute_trend(&workspace, Tokenizer::O200k, 10).expect("git answers");
        assert_eq!(all, 2);
        let subjects: Vec<&str> = points.iter().map(|it| it.subject.as_str()).collect();
        assert_eq!(subjects, ["first", "second"]);
        assert!(points[0].tokens < points[1].tokens, "{points:?}");
        assert_eq!((points[0].documents, points[1].documents), (1, 2));
        assert_eq!(points[1].files, 1);
    }
}
