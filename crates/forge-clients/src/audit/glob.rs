//! Matches patterns of file names as clients write them: `*`, `**`, `?`, `[a-c]`
//! and `{a,b}`. It compares text and never looks at a disk.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern of whole paths with `/` between their names.
pub(super) struct PathPattern {
    text: String,
    /// None for a malformed pattern, which names nothing but itself.
    matcher: Option<GlobMatcher>,
}

impl PathPattern {
    pub(super) fn new(pattern: &str) -> PathPattern {
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .empty_alternates(true)
            .build();
        PathPattern {
            text: pattern.to_owned(),
            matcher: glob.ok().map(|it| it.compile_matcher()),
        }
    }

    /// Returns `true` if the pattern matches the whole path.
    pub(super) fn matches(&self, path: &str) -> bool {
        match &self.matcher {
            Some(matcher) => matcher.is_match(path),
            None => self.text == path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        let check = |pattern, path, expect| {
            assert_eq!(
                PathPattern::new(pattern).matches(path),
                expect,
                "{pattern} {path}"
            )
        };
        check("docs/a.md", "docs/a.md", true);
        check("docs/*.md", "docs/a.md", true);
        check("docs/*.md", "docs/x/a.md", false);
        check("docs/**/*.md", "docs/x/y/a.md", true);
        check("docs/**/*.md", "docs/a.md", true);
        check("**", "a/b", true);
        check("**/CLAUDE.md", "/work/x/CLAUDE.md", true);
        check("{a,b}/?.md", "b/c.md", true);
        check("{a,b}/?.md", "c/c.md", false);
        check("a*b*c", "aXbYc", true);
        check("a*b*c", "aXbY", false);
        check("", "a", false);
        check("a{,.local}.md", "a.local.md", true);
        check("a{,.local}.md", "a.md", true);
        check("a{b", "a{b", true);
        check("a{b", "ab", false);
    }

    #[test]
    fn hostile_patterns_end() {
        assert!(!PathPattern::new(&"a*".repeat(500)).matches(&"a".repeat(499)));
        assert!(!PathPattern::new(&"{a,b}".repeat(500)).matches("a"));
        assert!(!PathPattern::new(&"**/x/".repeat(300)).matches(&"x/".repeat(200)));
    }
}
