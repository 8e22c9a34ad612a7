//! Checks that a candidate must pass. A rule never fires on a hash, an
//! identifier or a placeholder: a warning that is usually wrong gets ignored
//! when it is right.

/// Passwords that documentation uses.
const DEFAULT_PASSWORDS: [&str; 34] = [
    "password",
    "passwd",
    "pass",
    "secret",
    "postgres",
    "root",
    "admin",
    "guest",
    "user",
    "token",
    "test",
    "mysql",
    "mypassword",
    "mysecret",
    "p@ssw0rd",
    "passw0rd",
    "password1",
    "password123",
    "pass123",
    "test123",
    "test1234",
    "admin123",
    "secret123",
    "user123",
    "hunter2",
    "foobar",
    "abc123",
    "123456",
    "12345678",
    "123456789",
    "1234567890",
    "qwerty",
    "letmein",
    "s3cret",
];

/// Returns `true` for a password that documentation uses for everything.
pub(super) fn is_default_password(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    // However it is spelled: `P4ssw0rd!`, `pa$$word1`.
    let plain: String = lower
        .chars()
        .map(|c| match c {
            '0' => 'o',
            '1' => 'i',
            '3' => 'e',
            '4' | '@' => 'a',
            '5' | '$' => 's',
            other => other,
        })
        .collect();
    DEFAULT_PASSWORDS.contains(&lower.as_str())
        || ["password", "passwd", "passwort"]
            .iter()
            .any(|word| plain.contains(word))
}

/// Returns `true` for digits among letters without a run of plain words.
pub(super) fn looks_random(value: &str) -> bool {
    !is_placeholder(value)
        && has_char(value, |c| c.is_ascii_digit())
        && byte_entropy(value) >= 3.2
        && !is_joined_words(value)
}

/// Counts the kinds of characters: small letters, capitals, digits, and signs
/// that do not join words.
pub(super) fn count_char_kinds(value: &str) -> usize {
    let kinds = [
        has_char(value, |c| c.is_ascii_lowercase()),
        has_char(value, |c| c.is_ascii_uppercase()),
        has_char(value, |c| c.is_ascii_digit()),
        has_char(value, |c| {
            !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.')
        }),
    ];
    kinds.iter().filter(|&&there| there).count()
}

/// Returns `true` for text that a secret will replace: `<password>`,
/// `${TOKEN}`, `your-key-here`. Brackets inside of a value do not make it one.
pub(super) fn is_placeholder(value: &str) -> bool {
    const PLACEHOLDER_MARKS: [&str; 26] = [
        "example",
        "changeme",
        "change-me",
        "change_me",
        "changethis",
        "your",
        "xxxx",
        "placeholder",
        "dummy",
        // `Min8Chars!Required` states what a password must be.
        "required",
        "characters",
        "insecure",
        "redacted",
        "insert",
        "replace",
        "fake",
        "sample",
        "todo",
        "****",
        "....",
        "…",
        "env.",
        "environ",
        "getenv",
        "0123456789",
        "abcdefgh",
    ];
    let lower = value.to_lowercase();
    let mut seen = [false; 256];
    lower
        .bytes()
        .for_each(|byte| seen[usize::from(byte)] = true);
    let distinct = seen.iter().filter(|&&it| it).count();
    // So few different characters, as in `xxxxxxxx`, only hold a place.
    distinct < 4
        || lower.starts_with('‹')
        || lower == "12345678"
        || is_variable(value)
        || is_placeholder_word(value)
        || PLACEHOLDER_MARKS
            .iter()
            .any(|mark| contains_word(value, mark))
}

/// Returns `true` if a word is in the value as people write it; chance makes
/// `yOuR`.
fn contains_word(value: &str, word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    value.contains(word)
        || value.contains(&upper)
        || word.len() > 1
            && value.contains(&format!(
                "{}{}",
                &upper[..upper.ceil_char_boundary(1)],
                &word[word.ceil_char_boundary(1)..]
            ))
}

/// Returns `true` for a shell variable: `$DB_PASSWORD`, `%TOKEN%`, `$1`.
fn is_variable(value: &str) -> bool {
    let named = |mark: char| {
        value.strip_prefix(mark).is_some_and(|rest| {
            let name = rest.trim_end_matches(mark);
            let part =
                |byte: u8| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit();
            !name.is_empty() && name.bytes().all(part)
        })
    };
    let dollar = value.strip_prefix('$').is_some_and(|name| {
        !name.is_empty()
            && is_joined_words(name)
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    named('$') || named('%') || dollar
}

/// Returns `true` if too little for a secret is left without `${…}`, `{{…}}`,
/// `$(…)`, `<a name>` and `[a name]`.
fn is_placeholder_word(value: &str) -> bool {
    const BRACKET_PAIRS: [(&str, &str); 8] = [
        ("${", "}"),
        ("{{", "}}"),
        ("$(", ")"),
        ("#{", "}"),
        ("<%", "%>"),
        ("<", ">"),
        ("[", "]"),
        ("{", "}"),
    ];
    let name = |text: &str| {
        let text = text.trim();
        text.len() >= 2
            && is_joined_words(text.replace(' ', "-").as_str())
            && has_char(text, |c| c.is_ascii_alphabetic())
    };
    // Cut off, as at the quotes inside of `{{name("a")}}`.
    let begins = |open: &str| value.starts_with(open);
    if ["{{", "${", "$(", "<%", "#{"].into_iter().any(begins) {
        return true;
    }
    let mut left = value.to_owned();
    for (open, close) in BRACKET_PAIRS {
        while let Some(at) = left.find(open) {
            let inside = at + open.len();
            let Some(end) = left[inside..].find(close) else {
                break;
            };
            let only_names = open.len() == 1;
            if only_names && !name(&left[inside..inside + end]) {
                break;
            }
            left.replace_range(at..inside + end + close.len(), "");
        }
    }
    left.len() < value.len() && left.trim().len() < 8
}

/// Returns `true` if the name before a value announces something else than a
/// secret: `password_hash`, `token commit`, `secret_file`.
pub(super) fn names_something_else(before: &str) -> bool {
    const OTHER_VALUE_NAMES: [&str; 26] = [
        "hash",
        "version",
        "digest",
        "checksum",
        "sha1",
        "sha256",
        "sha512",
        "md5",
        "commit",
        "revision",
        "integrity",
        "uuid",
        "file",
        "path",
        "name",
        "url",
        "uri",
        "endpoint",
        "tokenizer",
        "count",
        "type",
        "public",
        "length",
        "expire",
        "policy",
        "field",
    ];
    let before = before.to_ascii_lowercase();
    OTHER_VALUE_NAMES.iter().any(|other| before.contains(other))
}

pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns `true` for a UUID, or a checksum with its algorithm in front
/// (`sha512-…`).
pub(super) fn is_uuid_or_checksum(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let named = [
        "sha1", "sha256", "sha384", "sha512", "md5", "blake3", "$2a$", "$2b$", "$2y$", "$argon2",
        "$6$", "$5$", "$apr1$", "$pbkdf2", "{ssha}",
    ];
    is_uuid(value) || named.iter().any(|algorithm| lower.starts_with(algorithm))
}

/// Returns `true` for a path, an address or a version.
pub(super) fn looks_like_place(value: &str) -> bool {
    value.contains("://")
        || value.starts_with(['/', '~', '.', '@', '#'])
        || value.matches('/').count() > 1
            && value
                .split('/')
                .filter(|part| !is_joined_words(part))
                .count()
                < 2
        || value.contains(".html")
        || [
            ".md", ".rs", ".json", ".js", ".ts", ".py", ".html", ".yaml", ".yml", ".toml",
        ]
        .iter()
        .any(|end| value.ends_with(end))
}

/// Returns `true` for `next_token2(input)`, `Vec<u8>`, `token::Bracket`,
/// `&token2`, `map[key]`.
pub(super) fn looks_like_code(value: &str) -> bool {
    let name = value
        .bytes()
        .take_while(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
        .count();
    let closes =
        |close: char| value.ends_with(close) || value[name..].contains(&format!("{close}."));
    let called = name > 0
        && is_joined_words(&value[..name])
        && match value.as_bytes().get(name) {
            Some(b'(') => true,
            Some(b'[') => closes(']'),
            Some(b'<') => closes('>'),
            Some(b'{') => closes('}'),
            _ => false,
        };
    called
        || value.starts_with([':', '&', '=', '(', '\\'])
        || value.contains("::")
        || value.contains("->")
        || value.contains("=>")
        || value.ends_with(");")
        || value.ends_with("};")
}

/// Returns `true` for words and numbers, joined by marks or written together:
/// `max-tokens-2024`, `X509CertificateFlag`. A random string changes between
/// small letters, capitals and digits every other character.
pub(super) fn is_joined_words(value: &str) -> bool {
    count_kind_changes(value).is_some_and(|(changes, letters)| changes * 5 <= letters)
}

/// Returns `true` as [`is_joined_words`] with a stricter limit, for places where a
/// secret is expected.
pub(super) fn is_likely_name(value: &str) -> bool {
    count_kind_changes(value).is_some_and(|(changes, letters)| changes * 8 <= letters)
}

/// Counts how often the kind of letter changes within words, and the letters;
/// `None` if there are signs that no name has.
fn count_kind_changes(value: &str) -> Option<(usize, usize)> {
    let (mut letters, mut changes) = (0, 0);
    let mut before = None;
    for c in value.chars() {
        let kind = match c {
            'a'..='z' => 0,
            'A'..='Z' => 1,
            '0'..='9' => 2,
            '-' | '_' | '.' | '/' | ':' | '|' | '+' | '=' => {
                before = None;
                continue;
            }
            _ => return None,
        };
        letters += 1;
        // A capital followed by small letters begins a word.
        let same = before.is_none_or(|before| before == kind || (before, kind) == (1, 0));
        changes += usize::from(!same);
        before = Some(kind);
    }
    Some((changes, letters))
}

pub(super) fn has_char(value: &str, kind: impl Fn(char) -> bool) -> bool {
    value.chars().any(kind)
}

/// Computes the entropy in bits per byte.
pub(super) fn byte_entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len().max(1) as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}
