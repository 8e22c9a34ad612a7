//! Reads the user's own password file, `~/.pgpass`, by PostgreSQL's rules:
//! `host:port:database:login:password` a line, `*` for anything, the first line
//! that matches. A file that others may read is not used.

use std::fs;
use std::path::Path;

use forge_store::regular::{self, LinkPolicy};

/// Bytes of the largest password file.
const MAX_PASSFILE_BYTES: u64 = 1 << 20;

/// The login whose password is searched for.
pub(super) struct PasswordQuery<'a> {
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub login: &'a str,
}

/// Returns the password, or why the file was not used. A missing file is not an
/// error.
pub(super) fn find_password(path: &Path, wanted: &PasswordQuery) -> Result<Option<String>, String> {
    let Ok(about) = fs::metadata(path) else {
        return Ok(None);
    };
    let unusable = |why: &str| Err(format!("`{}` was not used: {why}", path.display()));
    if !about.is_file() {
        return unusable("it is not a file");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As `psql` does: a file that others may read is ignored.
        if about.permissions().mode() & 0o077 != 0 {
            return unusable("others may read it; `chmod 600` changes that");
        }
    }
    match regular::read_text(path, LinkPolicy::Follow, MAX_PASSFILE_BYTES) {
        Ok(text) => Ok(text.lines().find_map(|line| match_line(line, wanted))),
        Err(error) => unusable(&error.to_string()),
    }
}

/// Returns the password of a line that matches.
fn match_line(line: &str, wanted: &PasswordQuery) -> Option<String> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.starts_with('#') {
        return None;
    }
    let port = wanted.port.to_string();
    let mut rest = line;
    for value in [wanted.host, &port, wanted.database, wanted.login] {
        let (field, after) = next_field(rest)?;
        // Only a bare `*` matches anything; an escaped one is literal.
        let any = rest.starts_with("*:");
        if !any && field != value {
            return None;
        }
        rest = after;
    }
    // Colons of a password need no escape, but may have one.
    Some(unescape_field(rest)).filter(|it| !it.is_empty())
}

/// Splits off the field up to the next unescaped colon.
fn next_field(text: &str) -> Option<(String, &str)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' => return Some((unescape_field(&text[..at]), &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// Removes the escapes of a field.
fn unescape_field(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => chars.next().unwrap_or('\\'),
            c => c,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: PasswordQuery = PasswordQuery {
        host: "db.example.org",
        port: 5432,
        database: "memory",
        login: "ann",
    };

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        for (line, expect) in [
            ("db.example.org:5432:memory:ann:one", Some("one")),
            ("*:*:*:ann:two", Some("two")),
            ("*:*:*:*:with:colon", Some("with:colon")),
            (r"*:*:*:*:a\:b\\c", Some(r"a:b\c")),
            ("db.example.org:5432:memory:ann:ünï\r", Some("ünï")),
            ("# *:*:*:*:no", None),
            ("db.example.org:5433:memory:ann:no", None),
            ("other:5432:memory:ann:no", None),
            (r"\*:*:*:*:no", None),
            ("*:*:*:ann", None),
            ("*:*:*:ann:", None),
            ("", None),
        ] {
            assert_eq!(match_line(line, &WANTED).as_deref(), expect, "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pgpass");
        assert_eq!(find_password(&path, &WANTED), Ok(None));
        fs::write(&path, "other:*:*:*:no\n*:*:*:*:yes\n*:*:*:*:later\n").expect("written");
        for (mode, used) in [(0o644, false), (0o640, false), (0o600, true), (0o400, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            match find_password(&path, &WANTED) {
                Ok(found) => {
                    assert!(used, "{mode:o}");
                    assert_eq!(found.as_deref(), Some("yes"));
                }
                Err(why) => {
                    assert!(!used, "{mode:o}: {why}");
                    assert!(why.contains("chmod 600") && !why.contains("yes"), "{why}");
                }
            }
        }
    }
}
