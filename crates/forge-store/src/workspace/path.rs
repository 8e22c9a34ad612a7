//! Defines paths inside the workspace, and slugs for new files.
//!
//! A [`RelPath`] cannot lead out of the workspace or into `.git`, whatever text
//! it came from. Nothing here reads the disk: symlinks are checked where files
//! are opened.

use std::fmt;
use std::path::{Component, Path};

use forge_text::diagnostic::Diagnostic;
use unicode_normalization::UnicodeNormalization;

use crate::system;

/// The suffix of private files.
pub const PRIVATE_SUFFIX: &str = ".local.md";

/// The suffix of a folder with a person's own notes.
const PRIVATE_FOLDER_SUFFIX: &str = ".local";

/// A path below the root: `/` between components, relative, normalised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

impl RelPath {
    /// Takes `a/b`, `./a//b/` and `a\b` alike, and refuses whatever could name
    /// a place outside of the workspace or inside of `.git`.
    pub fn new(text: &str) -> Result<RelPath, PathError> {
        let refuse = |why| Err(PathError::new(text, why));
        if text.len() > MAX_PATH_BYTES {
            return refuse("is too long");
        }
        if text.chars().any(char::is_control) {
            return refuse("contains a control character");
        }
        if text.starts_with(['/', '\\']) {
            return refuse("is absolute; name it relative to the workspace");
        }
        let mut path = String::with_capacity(text.len());
        for part in text.split(['/', '\\']) {
            if part.is_empty() || part == "." {
                continue;
            }
            if path.is_empty() && is_drive_letter(part) {
                return refuse("names a drive; name it relative to the workspace");
            }
            // Windows drops dots and spaces at the end of a name, so `.. ` and
            // `...` may lead upwards there.
            if part.trim_end_matches(['.', ' ']).is_empty() || is_only_dots(part) {
                return refuse("leads upwards; name it relative to the workspace");
            }
            if part.len() > MAX_COMPONENT_BYTES {
                return refuse("has a name of more than 255 bytes");
            }
            if is_git_folder(part) {
                return refuse("is in `.git`, which is never touched");
            }
            if let Some(why) = system::refused_name(part) {
                return refuse(why);
            }
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(part);
        }
        if path.is_empty() {
            return refuse("names no file");
        }
        Ok(RelPath(path))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns `true` if the file is private: `*.local.md`, which git ignores,
    /// or below a folder `*.local`. Text that is written for everyone must not
    /// mention it. Case does not matter, because some file systems ignore it.
    ///
    /// A symlink may have a name that is not private and lead to one that is:
    /// see [`Workspace::is_private`](super::Workspace::is_private).
    pub fn is_private(&self) -> bool {
        let ends = |name: &str, ending: &str| {
            let start = name.len().checked_sub(ending.len());
            start.is_some_and(|at| {
                at > 0 && name.is_char_boundary(at) && name[at..].eq_ignore_ascii_case(ending)
            })
        };
        ends(self.file_name(), PRIVATE_SUFFIX)
            || self.components().any(|it| ends(it, PRIVATE_FOLDER_SUFFIX))
    }

    /// Returns the file's name without its last extension.
    pub fn stem(&self) -> &str {
        let name = self.file_name();
        match name.rfind('.') {
            Some(dot) if dot > 0 => &name[..dot],
            _ => name,
        }
    }

    /// Returns the folder that holds it, or `None` if that is the root.
    pub fn parent(&self) -> Option<RelPath> {
        let (parent, _) = self.0.rsplit_once('/')?;
        Some(RelPath(parent.to_string()))
    }

    /// Joins a path below this one. Fails if it leads out of the workspace.
    pub fn join(&self, text: &str) -> Result<RelPath, PathError> {
        // Checked alone first, so that an absolute part stays refused.
        let below = RelPath::new(text)?;
        RelPath::new(&format!("{}/{}", self.0, below.0))
    }

    /// Returns the components, outermost first.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns `true` if some file system would take it for a place in the
    /// folder of derived files, which is ours to rebuild.
    pub fn is_derived(&self) -> bool {
        self.components()
            .next()
            .is_some_and(|first| lenient_name(first) == super::DERIVED_FOLDER)
    }

    /// Returns `true` if it is that folder or is inside it.
    pub fn starts_with(&self, folder: &str) -> bool {
        self.0
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns a path without checking it, for the scan, which has checked each
    /// name with [`is_plain_name`].
    pub(super) fn from_checked(path: String) -> RelPath {
        debug_assert!(RelPath::new(&path).is_ok_and(|p| p.0 == path), "{path:?}");
        RelPath(path)
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for RelPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for RelPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<RelPath, PathError> {
        RelPath::new(text)
    }
}

/// A name that cannot be used, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", escape_for_message(text))]
pub struct PathError {
    /// The name as it was given.
    pub text: String,
    /// Why it cannot be used, as the end of a sentence.
    pub why: &'static str,
}

impl Diagnostic for PathError {
    fn code(&self) -> &'static str {
        "path.invalid"
    }

    fn is_usage(&self) -> bool {
        true
    }
}

impl PathError {
    fn new(text: &str, why: &'static str) -> PathError {
        PathError {
            text: text.to_string(),
            why,
        }
    }
}

/// Makes a file name from a title: lower case, words joined by dashes. Accents
/// are dropped from Latin letters; other alphabets are kept. Fails if no letter
/// or digit is left.
pub fn slugify_name(name: &str) -> Result<String, PathError> {
    let refuse = |why| Err(PathError::new(name, why));
    if name.contains(['/', '\\']) {
        return refuse("contains a path separator; give the name alone");
    }
    let mut slug = String::with_capacity(name.len());
    for c in name.nfkc() {
        let before = slug.len();
        if let Some(plain) = plain_latin(c) {
            slug.push_str(&plain);
        } else if c.is_alphanumeric() || is_mark(c) && ends_with_letter(&slug) {
            slug.extend(c.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        // Cut before this character, which may have become several.
        if slug.len() > MAX_SLUG_BYTES {
            slug.truncate(before);
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() {
        return refuse("has no letters or digits to name a file with");
    }
    if is_reserved(slug) {
        return refuse("is a reserved name on some systems; add a word to it");
    }
    // Lower-casing may leave a letter next to a mark that composes with it.
    Ok(slug.nfc().collect())
}

/// Quotes a path so that a shell takes it for one word.
pub fn quote_shell_word(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/-_.".contains(c);
    if path.chars().all(plain) && !path.starts_with('-') {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// Returns `true` if a name found on disk can be part of a [`RelPath`] as it
/// is.
pub(super) fn is_plain_name(name: &str) -> bool {
    name.len() <= MAX_COMPONENT_BYTES
        && !name.contains('\\')
        && !name.chars().any(char::is_control)
        && !name.trim_end_matches(['.', ' ']).is_empty()
        && !is_only_dots(name)
        && !is_git_folder(name)
}

/// Returns `true` if a canonical path is below `root` and not in its `.git`.
pub(super) fn is_inside_root(root: &Path, real: &Path) -> bool {
    real.strip_prefix(root).is_ok_and(|rel| {
        rel.components().all(|c| match c {
            Component::Normal(name) => !name.to_str().is_some_and(is_git_folder),
            _ => false,
        })
    })
}

const MAX_PATH_BYTES: usize = 4096;
const MAX_COMPONENT_BYTES: usize = 255;
const MAX_SLUG_BYTES: usize = 100;

fn is_drive_letter(part: &str) -> bool {
    let bytes = part.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

/// Returns `true` if some file system would take this name for `.git`: case,
/// trailing dots and spaces, NTFS streams and short names, and code points that
/// HFS+ ignores are the ways in which git itself was once fooled.
fn is_git_folder(part: &str) -> bool {
    // Nearly every name is decided here, before anything is copied.
    if part.is_ascii() && !part.starts_with(['.', 'g', 'G']) {
        return false;
    }
    matches!(lenient_name(part).as_str(), ".git" | "git~1")
}

/// Returns `true` if some file system would see nothing but dots in the name:
/// invisible characters are dropped, and so is the name of a stream.
fn is_only_dots(part: &str) -> bool {
    (!part.is_ascii() || part.contains(':')) && lenient_name(part).is_empty()
}

/// Returns a name as the most lenient file system reads it.
fn lenient_name(part: &str) -> String {
    let seen: String = part
        .nfkc()
        .filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'))
        .flat_map(char::to_lowercase)
        .collect();
    let name = seen.split(':').next().unwrap_or(&seen);
    name.trim_end_matches(['.', ' ']).to_owned()
}

fn is_reserved(slug: &str) -> bool {
    let numbered = |prefix: &str| {
        slug.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    matches!(slug, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// Returns a letter or digit as plain ASCII, if it is one under its accents.
fn plain_latin(c: char) -> Option<String> {
    let special = match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'þ' | 'Þ' => "th",
        'ı' => "i",
        _ => "",
    };
    if !special.is_empty() {
        return Some(special.to_string());
    }
    let mut parts = std::iter::once(c).nfd();
    let base = parts.next()?;
    (base.is_ascii_alphanumeric() && parts.all(is_mark))
        .then(|| base.to_ascii_lowercase().to_string())
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Returns `true` if a mark may follow: it belongs to a letter of a script that
/// needs it. Behind a Latin letter it is an accent, and accents are dropped.
fn ends_with_letter(slug: &str) -> bool {
    slug.chars()
        .next_back()
        .is_some_and(|c| !c.is_ascii() && (c.is_alphanumeric() || is_mark(c)))
}

/// Escapes a hostile name for an error message.
fn escape_for_message(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(120)
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_default());
            let plain = (!c.is_control()).then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect();
    if text.chars().count() > 120 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expect: &str) {
        let got = match RelPath::new(text) {
            Ok(path) => path.0,
            Err(e) => format!("! {}", e.why.split(';').next().unwrap_or_default()),
        };
        assert_eq!(got, expect, "for {text:?}");
    }

    #[test]
    fn paths_are_normalised_or_refused() {
        check("knowledge/a.md", "knowledge/a.md");
        check("./knowledge//a.md", "knowledge/a.md");
        check("knowledge\\deep\\a.md", "knowledge/deep/a.md");
        check("knowledge/", "knowledge");
        check("a/./b", "a/b");
        if cfg!(unix) {
            check("a /b.", "a /b.");
            check("aux.md", "aux.md");
        } else {
            check("a /b.", "! ends with a dot or a space, which Windows drops");
            check("aux.md", "! has the name of a device");
        }
        check("wissen/größe.md", "wissen/größe.md");
        check(".gitignore", ".gitignore");
        check(
            ".github/copilot-instructions.md",
            ".github/copilot-instructions.md",
        );
        check("git/x.md", "git/x.md");
        check("", "! names no file");
        check("./", "! names no file");
        check("..", "! leads upwards");
        check("a/../b", "! leads upwards");
        check("a\\..\\..\\b", "! leads upwards");
        check(".. /b", "! leads upwards");
        check("...", "! leads upwards");
        check("a/.\u{200c}./b", "! leads upwards");
        check("a/::$INDEX_ALLOCATION", "! leads upwards");
        check("/etc/passwd", "! is absolute");
        check("\\\\server\\share", "! is absolute");
        check("C:\\x", "! names a drive");
        check("./c:x", "! names a drive");
        check("a\0b", "! contains a control character");
        check("a\nb", "! contains a control character");
        check(".git/config", "! is in `.git`, which is never touched");
        check("sub/.GIT/hooks/x", "! is in `.git`, which is never touched");
        check(".git. ", "! is in `.git`, which is never touched");
        check("GIT~1/x", "! is in `.git`, which is never touched");
        check(".g\u{200c}it/x", "! is in `.git`, which is never touched");
        check(
            ".git::$INDEX_ALLOCATION/x",
            "! is in `.git`, which is never touched",
        );
        check(&"x".repeat(256), "! has a name of more than 255 bytes");
        check(&"x/".repeat(2100), "! is too long");
    }

    #[test]
    fn parts_of_a_path() {
        let path = RelPath::new("knowledge/deep/a.b.md").unwrap();
        assert_eq!(path.file_name(), "a.b.md");
        assert_eq!(path.stem(), "a.b");
        assert_eq!(path.parent().unwrap().as_str(), "knowledge/deep");
        assert_eq!(RelPath::new("x").unwrap().parent(), None);
        assert_eq!(RelPath::new(".mind").unwrap().stem(), ".mind");
        assert!(path.starts_with("knowledge") && !path.starts_with("know"));
        assert!(path.join("/etc").is_err() && path.join("..").is_err());
        assert_eq!(
            RelPath::new("k").unwrap().join("a.md").unwrap().as_str(),
            "k/a.md"
        );
    }

    #[test]
    fn refusals_cannot_write_on_the_terminal() {
        let message = RelPath::new("a\x1b[2J\n").unwrap_err().to_string();
        assert_eq!(message, "`a\\u{1b}[2J\\n` contains a control character");
    }

    fn check_slug(name: &str, expect: &str) {
        let got = match slugify_name(name) {
            Ok(slug) => slug,
            Err(e) => format!("! {}", e.why.split(';').next().unwrap_or_default()),
        };
        assert_eq!(got, expect, "for {name:?}");
    }

    #[test]
    fn slugs() {
        check_slug("Auth Flow", "auth-flow");
        check_slug("--Already--kebab--", "already-kebab");
        check_slug("Café Über naïve", "cafe-uber-naive");
        check_slug("Cafe\u{301}", "cafe");
        check_slug("Straße Łódź", "strasse-lodz");
        check_slug("ﬁne", "fine");
        check_slug("日本語 メモ", "日本語-メモ");
        check_slug("Ёлка", "ёлка");
        check_slug("हिन्दी", "हिन्दी");
        check_slug("v1.2 (final)!", "v1-2-final");
        check_slug("100 %", "100");
        check_slug("", "! has no letters or digits to name a file with");
        check_slug("..", "! has no letters or digits to name a file with");
        check_slug("🙂", "! has no letters or digits to name a file with");
        check_slug("CON", "! is a reserved name on some systems");
        check_slug("com1", "! is a reserved name on some systems");
        check_slug("com10", "com10");
        check_slug("../../Evil", "! contains a path separator");
        check_slug("a\\b", "! contains a path separator");
    }

    /// Names out of the parts with which programs were fooled before.
    fn hostile_name() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "..",
            ".",
            "/",
            "\\",
            "C:",
            "\\\\?\\",
            "\\\\srv\\share\\",
            "\0",
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            "::$INDEX_ALLOCATION",
            ":x",
            "::$DATA",
            "\u{200c}",
            "\u{200d}",
            "\u{202e}",
            "\u{206f}",
            "\u{feff}",
            " ",
            ". ",
            "...",
            "i\u{307}",
            "\u{212a}",
            "ｇｉｔ",
            "．",
            ".g",
            "it",
            ".memory-forge",
            ".Memory-Forge",
            "knowledge",
            "con",
            "nul",
            "é",
            "e\u{301}",
            "~",
            "%2e%2e",
            "\n",
            "a",
        ]);
        prop::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
    }

    #[test]
    fn derived_files_are_known_in_any_spelling() {
        for path in [
            ".memory-forge/x",
            ".Memory-Forge/undo",
            #[cfg(unix)]
            ".MEMORY-FORGE. /x",
            ".memory\u{200c}-forge/x",
        ] {
            assert!(RelPath::new(path).unwrap().is_derived(), "{path:?}");
        }
        for path in [
            "memory-forge/x",
            "a/.memory-forge/x",
            ".memory-forge-notes/x",
        ] {
            assert!(!RelPath::new(path).unwrap().is_derived(), "{path:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_leads_out_of_the_workspace(text in r"(\.\.|\.|/|\\|C:|\x00|\.git|\.GIT|a| |é|\u{202e}|[[:any:]]){0,12}") {
            if let Ok(path) = RelPath::new(&text) {
                let joined = Path::new("/root").join(path.as_str());
                prop_assert!(joined.starts_with("/root"));
                prop_assert!(is_inside_root(Path::new("/root"), &joined));
                prop_assert!(path.components().all(|c| !c.is_empty() && c != ".." && c != "." && is_plain_name(c)));
                prop_assert_eq!(RelPath::new(path.as_str()).unwrap(), path);
            }
        }

        /// Whatever a name is made of: a file system that knows no case, drops
        /// what cannot be seen, composes letters and cuts the ends off names
        /// finds no `.git` and no way up in it.
        #[test]
        fn no_file_system_finds_its_way_to_git(text in hostile_name()) {
            if let Ok(path) = RelPath::new(&text) {
                for part in path.components() {
                    for name in [part.nfc().collect::<String>(), part.nfd().collect(), part.nfkc().collect()] {
                        let ignored = |c: &char| !matches!(*c as u32, 0x200c..=0x200f | 0x202a..=0x202e | 0x206a..=0x206f | 0xfeff);
                        let name: String = name.chars().filter(ignored).collect();
                        let name = name.to_lowercase();
                        let name = name.split(':').next().unwrap_or_default();
                        let name = name.trim_end_matches(['.', ' ']);
                        prop_assert!(!matches!(name, ".git" | "git~1" | "" | ".."), "{path:?}");
                    }
                }
                let folded = path.as_str().to_lowercase();
                prop_assert!(!folded.starts_with(".memory-forge/") || path.is_derived());
            }
        }

        #[test]
        fn a_slug_is_a_plain_file_name_and_its_own_slug(name in any::<String>()) {
            if let Ok(slug_once) = slugify_name(&name) {
                prop_assert!(slug_once.len() <= 2 * MAX_SLUG_BYTES);
                prop_assert!(!slug_once.starts_with('-') && !slug_once.ends_with('-') && !slug_once.contains("--"));
                prop_assert_eq!(RelPath::new(&slug_once).unwrap().to_string(), slug_once.clone());
                prop_assert_eq!(slugify_name(&slug_once).unwrap(), slug_once);
            }
        }
    }
}
