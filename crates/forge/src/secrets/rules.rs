//! The table of rules and the tests that a candidate must pass. A rule never
//! fires on a hash, an identifier or a placeholder: a warning that is usually
//! wrong gets ignored when it is right.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

pub(super) struct Rule {
    pub(super) name: &'static str,
    /// Where to look: literals in any case. The pattern starts at the literal.
    hints: &'static [&'static str],
    /// Group 1, where there is one, is the secret.
    pattern: &'static str,
    check: fn(&Candidate<'_>) -> bool,
}

struct Candidate<'a> {
    /// From the hint to the secret, both excluded from the secret itself.
    before: &'a str,
    secret: &'a str,
    after: Option<char>,
}

/// Specific rules first: of two that meet, the first one gives the name.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "private-key",
        hints: &["-----BEGIN "],
        pattern: r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-[^-])+-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\s*(?:[A-Za-z0-9+/=]{40,}\s*)+)",
        check: key_body,
    },
    Rule {
        name: "aws-access-key",
        hints: &["AKIA", "ASIA", "ABIA", "ACCA"],
        pattern: r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}",
        check: not_placeholder,
    },
    Rule {
        name: "github-token",
        hints: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        pattern: r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})",
        check: not_placeholder,
    },
    Rule {
        name: "gitlab-token",
        hints: &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"],
        pattern: r"gl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_.\-]{20,255}",
        check: random,
    },
    Rule {
        name: "slack-token",
        hints: &["xox", "xapp-", "hooks.slack.com/services/"],
        pattern: r"(?:xox[abeoprs]-[A-Za-z0-9.\-]{10,255}|xapp-[A-Za-z0-9\-]{20,255}|hooks\.slack\.com/services/(T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}))",
        check: random,
    },
    Rule {
        name: "stripe-key",
        hints: &["sk_live_", "rk_live_", "whsec_"],
        pattern: r"(?:[sr]k_live_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/]{24,255}={0,2})",
        check: not_placeholder,
    },
    Rule {
        name: "google-key",
        hints: &["AIza", "GOCSPX-"],
        pattern: r"(?:AIza[A-Za-z0-9_\-]{35}|GOCSPX-[A-Za-z0-9_\-]{28})",
        check: not_placeholder,
    },
    Rule {
        name: "anthropic-key",
        hints: &["sk-ant-"],
        pattern: r"sk-ant-[A-Za-z0-9_\-]{20,255}",
        check: random,
    },
    Rule {
        name: "openai-key",
        hints: &["sk-"],
        pattern: r"sk-[A-Za-z0-9_\-]{20,255}",
        check: random,
    },
    Rule {
        name: "npm-token",
        hints: &["npm_"],
        pattern: r"npm_[A-Za-z0-9]{36}",
        check: random,
    },
    Rule {
        name: "pypi-token",
        hints: &["pypi-AgE"],
        pattern: r"pypi-AgE[A-Za-z0-9_\-]{50,1000}",
        check: not_placeholder,
    },
    Rule {
        name: "jwt",
        hints: &["eyJ"],
        pattern: r"eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
        check: not_placeholder,
    },
    Rule {
        name: "azure-key",
        hints: &["AccountKey=", "SharedAccessKey=", "sig="],
        pattern: r"(?:(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{43,88}={0,2})|sig=([A-Za-z0-9+/%]{43,}))",
        check: random,
    },
    Rule {
        name: "sendgrid-key",
        hints: &["SG."],
        pattern: r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}",
        check: random,
    },
    Rule {
        name: "twilio-key",
        hints: &["SK"],
        pattern: r"SK[0-9a-f]{32}",
        check: not_placeholder,
    },
    Rule {
        name: "service-token",
        hints: &["hf_", "dop_v1_", "shpat_", "dapi", "lin_api_", "figd_"],
        pattern: r"(?:hf_[A-Za-z0-9]{34}|dop_v1_[a-f0-9]{64}|shpat_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}|lin_api_[A-Za-z0-9]{40}|figd_[A-Za-z0-9_\-]{40})",
        check: random,
    },
    Rule {
        name: "connection-url",
        hints: &["://"],
        pattern: r#"://[^\s:/@'"`<>]{0,64}:([^\s/@'"`<>]{3,128})@[A-Za-z0-9\[$]"#,
        check: url_password,
    },
    Rule {
        name: "bearer-token",
        hints: &["bearer "],
        pattern: r"(?i:bearer) +([A-Za-z0-9_.=+/~\-]{20,1000})",
        check: random,
    },
    Rule {
        name: "assigned-secret",
        hints: WORDS,
        pattern: r#"(?i:passw(?:or)?d|passphrase|pwd|secret|(?:api|access|auth|private|encryption)[_\- ]?key|token|credentials?)(?:[_\-A-Z0-9][A-Za-z0-9_\-]{0,24})?["'`]?[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}(?:"([^"\s]{8,200})"|'([^'\s]{8,200})'|`([^`\s]{8,200})`|([^\s"'`,;(){}\[\]<>]{8,200}))"#,
        check: assigned,
    },
    Rule {
        name: "high-entropy",
        hints: WORDS,
        pattern: r#"(?i:passw(?:or)?d|passphrase|pwd|secret|(?:api|access|auth|private|encryption)[_\- ]?key|token|credentials?)\b[^\n‹›]{0,40}?[\s"'`=:(]([A-Za-z0-9+/_\-]{24,200}={0,2})"#,
        check: loose_token,
    },
];

/// Words after which a random string is a secret.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "api_key",
    "api-key",
    "api key",
    "apikey",
    "access_key",
    "access-key",
    "access key",
    "accesskey",
    "auth_key",
    "auth-key",
    "authkey",
    "private_key",
    "private-key",
    "privatekey",
    "encryption_key",
    "encryption-key",
    "encryptionkey",
    "token",
    "credential",
];

/// No pattern reads further than this, except for keys and tokens that are
/// longer as a whole, which are followed to their end.
const WINDOW: usize = 512;
const LONG_WINDOW: usize = 16 * 1024;

struct Matcher {
    hints: AhoCorasick,
    /// The rule that each hint belongs to.
    rule_of: Vec<usize>,
    patterns: Vec<Regex>,
}

static MATCHER: LazyLock<Matcher> = LazyLock::new(|| {
    let (mut hints, mut rule_of) = (Vec::new(), Vec::new());
    for (rule, Rule { hints: own, .. }) in RULES.iter().enumerate() {
        hints.extend_from_slice(own);
        rule_of.extend(own.iter().map(|_| rule));
    }
    Matcher {
        hints: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(hints)
            .expect("the hints are few and short"),
        rule_of,
        patterns: RULES
            .iter()
            .map(|rule| {
                Regex::new(&format!(r"\A(?:{})", rule.pattern)).expect("the table is tested")
            })
            .collect(),
    }
});

/// Every match with the index of its rule, in no order.
pub(super) fn matches(text: &str) -> Vec<(Range<usize>, usize)> {
    let matcher = &*MATCHER;
    let mut found = Vec::new();
    // A key of many lines is not searched for others.
    let mut skip_to = 0;
    for hit in matcher.hints.find_overlapping_iter(text) {
        let rule = matcher.rule_of[hit.pattern().as_usize()];
        let start = hit.start();
        if start < skip_to || !begins_here(text, start, rule) {
            continue;
        }
        if let Some(span) = try_at(text, start, rule, &matcher.patterns[rule]) {
            if RULES[rule].name == "private-key" {
                skip_to = span.end;
            }
            found.push((span, rule));
        }
    }
    found
}

/// A token's prefix in the middle of a word is part of that word (`task-…`);
/// a word such as `password` may well end a longer name (`DB_PASSWORD`).
fn begins_here(text: &str, start: usize, rule: usize) -> bool {
    let names = [
        "assigned-secret",
        "high-entropy",
        "connection-url",
        "slack-token",
    ];
    let before = text.as_bytes()[..start].last();
    names.contains(&RULES[rule].name)
        || !before.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn try_at(text: &str, start: usize, rule: usize, pattern: &Regex) -> Option<Range<usize>> {
    let long = matches!(RULES[rule].name, "private-key" | "jwt");
    let window = if long { LONG_WINDOW } else { WINDOW };
    let window = &text[start..text.floor_char_boundary(start + window)];
    let (from, to) = if long {
        (0, pattern.find(window)?.end())
    } else {
        let groups = pattern.captures(window)?;
        let secret = groups
            .iter()
            .skip(1)
            .flatten()
            .next()
            .or_else(|| groups.get(0))?;
        (secret.start(), secret.end())
    };
    let candidate = Candidate {
        before: &window[..from],
        secret: &window[from..to],
        after: window[to..].chars().next(),
    };
    if !(RULES[rule].check)(&candidate) {
        return None;
    }
    let more = |extra: &[u8]| {
        let tail = text[start + to..].bytes();
        let tail = tail.take_while(|byte| is_token_byte(*byte) || extra.contains(byte));
        tail.count()
    };
    let end = match (RULES[rule].name, to == window.len()) {
        // What was cut by the window is followed to its end.
        (_, true) => start + to + more(b"-."),
        // These have a fixed length; a longer run is something else.
        ("aws-access-key" | "twilio-key" | "npm-token" | "service-token", _) if more(b"") > 0 => {
            return None;
        }
        _ => start + to,
    };
    Some(start + from..end)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'/' | b'=')
}

fn not_placeholder(candidate: &Candidate<'_>) -> bool {
    !is_placeholder(candidate.secret)
}

/// Two mentions of a key's first and last line are no key.
fn key_body(candidate: &Candidate<'_>) -> bool {
    let body = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let lines = candidate.secret.as_bytes().split(|&byte| !body(byte));
    lines.into_iter().any(|line| line.len() >= 32)
}

/// Digits among letters, and no run of plain words.
fn random(candidate: &Candidate<'_>) -> bool {
    not_placeholder(candidate)
        && has(candidate.secret, |c| c.is_ascii_digit())
        && entropy(candidate.secret) >= 3.2
        && !is_words(candidate.secret)
}

fn url_password(candidate: &Candidate<'_>) -> bool {
    const DEFAULTS: [&str; 12] = [
        "password", "passwd", "pass", "secret", "postgres", "root", "admin", "guest", "user",
        "token", "test", "mysql",
    ];
    let user = candidate.before.trim_start_matches("://");
    let password = candidate.secret.to_ascii_lowercase();
    not_placeholder(candidate)
        && !DEFAULTS.contains(&password.as_str())
        && user.trim_end_matches(':') != candidate.secret
        // A port and a path: `http://host:8080/@scope`.
        && !password.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/')
}

/// What follows `password=` and its like.
fn assigned(candidate: &Candidate<'_>) -> bool {
    let value = candidate.secret;
    if is_placeholder(value) || is_hash(value) || names_something_else(candidate.before) {
        return false;
    }
    // `token = next2(input)`, `secret: Vec<u8>`, `token::Bracket`, `&token2`.
    let quoted = candidate.before.ends_with(['"', '\'', '`']);
    let code = value.starts_with([':', '&', '='])
        || value.contains("::")
        || value.contains("->")
        || candidate.after.is_some_and(|c| "([{<".contains(c));
    if !quoted && code {
        return false;
    }
    if looks_like_place(value) || is_words(value) {
        return false;
    }
    let kinds = [
        has(value, |c| c.is_ascii_lowercase()),
        has(value, |c| c.is_ascii_uppercase()),
        has(value, |c| c.is_ascii_digit()),
        has(value, |c| {
            !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.')
        }),
    ];
    let varied = kinds.iter().filter(|&&there| there).count();
    let bits = entropy(value);
    (varied >= 3 && bits >= 2.75) || (varied == 2 && kinds[2] && value.len() >= 16 && bits >= 3.2)
}

/// A random string somewhere after a telling word.
fn loose_token(candidate: &Candidate<'_>) -> bool {
    let value = candidate.secret.trim_end_matches('=');
    let hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    // Commits and sums are written in hexadecimal, so this is left to
    // assignments.
    !hex && random(candidate)
        && !is_hash(value)
        && !names_something_else(candidate.before)
        && !looks_like_place(value)
        && has(value, |c| c.is_ascii_lowercase())
        && has(value, |c| c.is_ascii_uppercase())
        && entropy(value) >= 4.0
}

/// The name before a value says that it is no secret: `password_hash`,
/// `token commit`, `secret_file`.
fn names_something_else(before: &str) -> bool {
    const OTHERS: [&str; 19] = [
        "hash",
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
    ];
    let before = before.to_ascii_lowercase();
    OTHERS.iter().any(|other| before.contains(other))
}

fn is_placeholder(value: &str) -> bool {
    const MARKS: [&str; 27] = [
        "example",
        "changeme",
        "change-me",
        "change_me",
        "your",
        "xxxx",
        "placeholder",
        "dummy",
        "redacted",
        "insert",
        "replace",
        "fake",
        "sample",
        "todo",
        "****",
        "....",
        "…",
        "<",
        "${",
        "{{",
        "$(",
        "%s",
        "env.",
        "environ",
        "getenv",
        "0123456789",
        "abcdefgh",
    ];
    let lower = value.to_lowercase();
    let distinct = lower
        .chars()
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    // A shell variable: `$DB_PASSWORD`, `%TOKEN%`.
    let variable = |mark: char| {
        value.strip_prefix(mark).is_some_and(|rest| {
            let name = rest.trim_end_matches(mark);
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
        })
    };
    distinct < 4
        || lower.starts_with('‹')
        || variable('$')
        || variable('%')
        || lower == "12345678"
        || MARKS.iter().any(|mark| lower.contains(mark))
}

/// A UUID, or a sum with its algorithm in front (`sha512-…`).
fn is_hash(value: &str) -> bool {
    let uuid = value.len() == 36
        && value.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    let lower = value.to_ascii_lowercase();
    uuid || ["sha1", "sha256", "sha384", "sha512", "md5", "blake3"]
        .iter()
        .any(|algorithm| lower.starts_with(algorithm))
}

/// A path, an address or a version.
fn looks_like_place(value: &str) -> bool {
    value.contains("://")
        || value.starts_with(['/', '~', '.', '@'])
        || value.matches('/').count() > 1
            && value.split('/').filter(|part| !is_words(part)).count() < 2
        || value.ends_with(".md")
        || value.ends_with(".rs")
        || value.ends_with(".json")
}

/// Words and numbers, joined by marks or written together: `max-tokens-2024`,
/// `X509CertificateFlag`. A random string changes between small letters,
/// capitals and digits every other character.
fn is_words(value: &str) -> bool {
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
            _ => return false,
        };
        letters += 1;
        // A capital followed by small letters begins a word.
        let same = before.is_none_or(|before| before == kind || (before, kind) == (1, 0));
        changes += usize::from(!same);
        before = Some(kind);
    }
    changes * 5 <= letters
}

fn has(value: &str, kind: impl Fn(char) -> bool) -> bool {
    value.chars().any(kind)
}

/// Bits per byte.
fn entropy(value: &str) -> f64 {
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
