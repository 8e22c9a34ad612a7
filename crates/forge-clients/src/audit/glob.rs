//! Matches patterns of file names as clients write them: `*`, `**`, `?` and
//! `{a,b}`. It compares text and never looks at a disk.

/// Returns `true` if a pattern matches a whole path with `/` between its names.
pub(super) fn matches_path(pattern: &str, path: &str) -> bool {
    expand_braces(pattern).iter().any(|one| {
        let pattern: Vec<&str> = one.split('/').collect();
        let path: Vec<&str> = path.split('/').collect();
        components_match(&pattern, &path)
    })
}

/// Upper bound for the alternatives of one pattern: their number grows
/// exponentially with the braces, and no pattern that people write has more.
const MAX_BRACE_ALTERNATIVES: usize = 1000;

/// Expands braces: `a{b,c}` becomes `ab` and `ac`.
fn expand_braces(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(one) = open.pop() {
        let close = one.find('}');
        let start = close.and_then(|close| one[..close].rfind('{'));
        match (start, close) {
            (Some(start), Some(close)) if done.len() + open.len() < MAX_BRACE_ALTERNATIVES => {
                for middle in one[start + 1..close].split(',') {
                    open.push(format!("{}{middle}{}", &one[..start], &one[close + 1..]));
                }
            }
            _ => done.push(one),
        }
    }
    done
}

/// Returns `true` if pattern and path match name by name; `**` matches any
/// number of names, including none.
///
/// If a later `**` fails, an earlier one need not be tried again, so the time
/// is bounded by the product of both lengths.
fn components_match(pattern: &[&str], path: &[&str]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut back = None;
    while t < path.len() {
        if p < pattern.len() && pattern[p] == "**" {
            back = Some((p, t));
            p += 1;
        } else if p < pattern.len() && name_matches(pattern[p], path[t]) {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = back {
            back = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|part| *part == "**")
}

/// Returns `true` if one name matches a pattern of `*` and `?`.
fn name_matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut back = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            back = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = back {
            back = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        let check = |pattern, path, expect| {
            assert_eq!(matches_path(pattern, path), expect, "{pattern} {path}")
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
    }

    #[test]
    fn hostile_patterns_end() {
        assert!(!matches_path(&"a*".repeat(500), &"a".repeat(499)));
        assert!(!matches_path(&"{a,b}".repeat(500), "a"));
        assert!(!matches_path(&"**/x/".repeat(300), &"x/".repeat(200)));
    }
}
