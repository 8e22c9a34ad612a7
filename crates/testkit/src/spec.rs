//! Reads specification files: Markdown in which each H2 or H3 is a case and
//! the fenced blocks below it are its inputs and expectations.
//!
//! Knows headings and fences only, so that a fault in the parser under test
//! cannot hide a case.

/// A case of a specification file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The heading, with the H2 above it for an H3: `Links / in tables`.
    pub name: String,
    /// Info string and text of each fenced block, in order. The text ends with
    /// a line end unless it is empty.
    pub blocks: Vec<(String, String)>,
}

impl Case {
    /// The text of the first block whose info string begins with this word.
    pub fn block(&self, word: &str) -> Option<&str> {
        self.blocks
            .iter()
            .find(|(info, _)| info.split_whitespace().next() == Some(word))
            .map(|(_, text)| text.as_str())
    }
}

/// The cases of a file. Headings without a fenced block are prose.
pub fn cases(markdown: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut group = "";
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        if let Some(open) = fence {
            let blocks = &mut cases
                .last_mut()
                .expect("a fence is opened only in a case")
                .blocks;
            let text = &mut blocks.last_mut().expect("an open fence has a block").1;
            if line.len() >= open.len()
                && line.starts_with(open)
                && line.trim_end().trim_matches('`').is_empty()
            {
                fence = None;
            } else {
                text.push_str(line);
                text.push('\n');
            }
            continue;
        }
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks >= 3 && !cases.is_empty() {
            fence = Some(&line[..ticks]);
            let info = line[ticks..].trim().to_owned();
            cases
                .last_mut()
                .expect("checked above")
                .blocks
                .push((info, String::new()));
        } else if let Some(title) = line.strip_prefix("## ") {
            group = title.trim();
            cases.push(Case {
                name: group.to_owned(),
                blocks: Vec::new(),
            });
        } else if let Some(title) = line.strip_prefix("### ") {
            cases.push(Case {
                name: format!("{group} / {}", title.trim()),
                blocks: Vec::new(),
            });
        }
    }
    cases.retain(|case| !case.blocks.is_empty());
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_cases_and_fences_their_blocks() {
        let text =
            "# T\n\n## A\nprose\n```in x\n## not a case\n```\n### B\n````out\n```\n````\n## C\n";
        let found = cases(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].name, "A");
        assert_eq!(
            found[0].blocks,
            [("in x".to_owned(), "## not a case\n".to_owned())]
        );
        assert_eq!(found[0].block("in"), Some("## not a case\n"));
        assert_eq!(found[1].name, "A / B");
        assert_eq!(found[1].block("out"), Some("```\n"));
    }
}
