//! The table of rules and the tests that a candidate must pass. A rule never
//! fires on a hash, an identifier or a placeholder: a warning that is usually
//! wrong gets ignored when it is right.

use std::ops::Range;
use std::sync::LazyLock;

use super::hints::{Hints, Place};

pub(super) struct Rule {
    pub(super) name: &'static str,
    /// Where to look: literals in any case. The pattern starts at the literal.
    hints: &'static [&'static str],
    /// Group 1, where there is one, is the secret.
    pattern: &'static str,
    check: fn(&Candidate<'_>) -> bool,
}

struct Candidate<'a> {
    /// The word that ends where the hint begins: `public` of `public_key`.
    name: &'a str,
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
        hints: &["xox", "xapp-", "hooks.slack.com/"],
        pattern: r"(?:xox[abcdeoprs][.\-][A-Za-z0-9.%\-]{10,255}|xapp-[A-Za-z0-9\-]{20,255}|hooks\.slack\.com/(?:services|workflows|triggers)/([A-Z0-9]{6,}/[A-Za-z0-9]{6,}/[A-Za-z0-9/]{16,}))",
        check: random,
    },
    Rule {
        name: "webhook",
        hints: &["/api/webhooks/", "webhook.office.com/webhookb2/"],
        pattern: r"(?:/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_\-]{50,100})|webhook\.office\.com/webhookb2/([A-Za-z0-9@\-]{40,}/IncomingWebhook/[A-Za-z0-9/\-]{20,}))",
        check: not_placeholder,
    },
    Rule {
        name: "telegram-token",
        hints: &[":AA"],
        pattern: r":(AA[A-Za-z0-9_\-]{33})",
        check: of_a_bot,
    },
    Rule {
        name: "stripe-key",
        hints: &["sk_live_", "rk_live_", "whsec_"],
        pattern: r"(?:[sr]k_live_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/]{24,255}={0,2})",
        check: not_placeholder,
    },
    Rule {
        name: "google-key",
        hints: &["AIza", "GOCSPX-", "ya29."],
        pattern: r"(?:AIza[A-Za-z0-9_\-]{35}|GOCSPX-[A-Za-z0-9_\-]{28}|ya29\.[A-Za-z0-9_\-]{30,1000})",
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
        hints: &[
            "hf_", "dop_v1_", "doo_v1_", "dor_v1_", "shp", "dapi", "lin_api_", "figd_",
        ],
        pattern: r"(?:hf_[A-Za-z0-9]{34}|do[por]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}|lin_api_[A-Za-z0-9]{40}|figd_[A-Za-z0-9_\-]{40})",
        check: random,
    },
    Rule {
        name: "provider-token",
        hints: &[
            "gsk_",
            "xai-",
            "pplx-",
            "r8_",
            "nvapi-",
            "tvly-",
            "sbp_",
            "sb_secret_",
            "dckr_pat_",
            "rubygems_",
            "PMAK-",
            "NRAK-",
            "ntn_",
            "secret_",
            "sntrys_",
            "sntryu_",
            "phx_",
            "hvs.",
            "hvb.",
            "sq0atp-",
            "sq0csp-",
            "xkeysib-",
            "tskey-",
            "pul-",
            "ATATT3",
            "ATBB",
            "bkua_",
            "glc_",
            "glsa_",
            "ops_eyJ",
            "dp.pt.",
            "ABSK",
            "CCIPAT_",
            "AGE-SECRET-KEY-1",
            "key-",
            "cio",
            "re_",
            "sk_test_",
            "fo1_",
            "rnd_",
            "cfut_",
            "vcp_",
            "LTAI",
        ],
        pattern: r"(?:gsk_[A-Za-z0-9]{40,60}|xai-[A-Za-z0-9]{60,90}|pplx-[A-Za-z0-9]{40,60}|r8_[A-Za-z0-9]{37}|nvapi-[A-Za-z0-9_\-]{50,80}|tvly-[A-Za-z0-9\-]{30,60}|sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_\-]{20,60}|dckr_pat_[A-Za-z0-9_\-]{27}|rubygems_[a-f0-9]{48}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|NRAK-[A-Z0-9]{27}|ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}|sntry[su]_[A-Za-z0-9+/=_]{40,300}|phx_[A-Za-z0-9]{40,60}|hv[sb]\.[A-Za-z0-9_\-]{24,300}|sq0(?:atp|csp)-[A-Za-z0-9_\-]{22,43}|xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}|tskey-[a-z]{2,10}-[A-Za-z0-9\-]{20,80}|pul-[a-f0-9]{40}|ATATT3[A-Za-z0-9_\-=]{80,300}|ATBB[A-Za-z0-9]{28,40}|bkua_[a-z0-9]{40}|glc_[A-Za-z0-9+/=]{32,400}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|ops_eyJ[A-Za-z0-9+/=_\-]{100,500}|dp\.pt\.[A-Za-z0-9]{40,50}|ABSK[A-Za-z0-9+/]{100,300}={0,2}|CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}|AGE-SECRET-KEY-1[A-Z0-9]{58}|key-[a-f0-9]{32}|cio[A-Za-z0-9]{32}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}|sk_test_[A-Za-z0-9]{24,255}|fo1_[A-Za-z0-9_\-]{43}|rnd_[A-Za-z0-9]{24,40}|cfut_[A-Za-z0-9]{40,60}|vcp_[A-Za-z0-9]{50,70}|LTAI[A-Za-z0-9]{16,24})",
        check: random,
    },
    Rule {
        name: "terraform-token",
        hints: &[".atlasv1."],
        pattern: r"\.atlasv1\.[A-Za-z0-9_\-=]{60,100}",
        check: random,
    },
    Rule {
        name: "npmrc-token",
        hints: &[":_authToken", ":_password", ":_auth"],
        pattern: r#":_(?:authToken|password|auth)[ \t]*=[ \t]*"?([A-Za-z0-9+/=_.\-]{8,300})"#,
        check: not_placeholder,
    },
    Rule {
        name: "netrc-password",
        hints: &["machine "],
        pattern: r"machine\s+[A-Za-z0-9.\-]{3,100}\s+login\s+\S+\s+password\s+([^\s`]{4,})",
        check: default_free,
    },
    Rule {
        name: "kubeconfig-key",
        hints: &["client-key-data:"],
        pattern: r#"client-key-data:[ \t]*"?([A-Za-z0-9+/]{40,}={0,2})"#,
        check: not_placeholder,
    },
    Rule {
        name: "registry-login",
        hints: &["\"auth\"", "basic "],
        pattern: r#"(?:"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{12,300}={0,2})"|(?i:basic)[ ]+([A-Za-z0-9+/]{12,300}={0,2}))"#,
        check: name_and_password,
    },
    Rule {
        name: "connection-string",
        hints: &[";password=", ";pwd=", "; password=", "; pwd="],
        pattern: r#";\s?(?i:password|pwd)\s?=\s?([^;\s"'`<>]{4,128})"#,
        check: default_free,
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
        pattern: r#"(?i:passw(?:or)?d|passphrase|pwd|secret|(?:api|access|auth|private|encryption)[_\- ]?key|token|credentials?)(?:[_\-A-Z0-9][A-Za-z0-9_\-]{0,24})?["'`]?[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}(?:"([^"\s]{8,})"|'([^'\s]{8,})'|`([^`\s]{8,})`|([^\s"'`,;(){}\[\]<>]{8,}))"#,
        check: assigned,
    },
    Rule {
        name: "high-entropy",
        hints: WORDS,
        pattern: r#"(?i:passw(?:or)?d|passphrase|pwd|secret|(?:api|access|auth|private|encryption)[_\- ]?key|token|credentials?)\b[^\n‹›]{0,40}?[\s"'`=:(]([A-Za-z0-9+/_\-]{24,200}={0,2})"#,
        check: loose_token,
    },
    Rule {
        name: "assigned-key",
        hints: &["_key=", "_key =", "_key:", "_key\""],
        pattern: r#"(?i:_key)["']?[ \t]{0,4}(?:=|:)[ \t]{0,4}["']?([A-Za-z0-9+/_\-]{20,200}={0,2})"#,
        check: key_of_a_service,
    },
];

/// The rule that pieces of keys are reported under.
const PRIVATE_KEY: usize = 0;

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
/// Bytes of the name before a hint that are looked at.
const NAME: usize = 32;

static HINTS: LazyLock<Hints> =
    LazyLock::new(|| Hints::new(true, RULES.iter().map(|it| it.hints.to_vec())));

/// Every match with the index of its rule, in no order.
pub(super) fn matches(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut found = Vec::new();
    // A key of many lines is not searched for others.
    let mut skip_to = 0;
    for Place { rule, start, .. } in HINTS.places(text) {
        if start < skip_to || !begins_here(text, start, rule) {
            continue;
        }
        if let Some(span) = try_at(text, start, rule) {
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
        "assigned-key",
        "high-entropy",
        "connection-url",
        "connection-string",
        "slack-token",
        "webhook",
        "telegram-token",
        "terraform-token",
        "npmrc-token",
    ];
    let before = text.as_bytes()[..start].last();
    names.contains(&RULES[rule].name)
        || !before.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// How a placeholder begins; see [`super::redact`].
pub(super) const PLACEHOLDER: &str = "‹redacted: ";

fn ends_with_placeholder(text: &str) -> bool {
    let near = text.floor_char_boundary(text.len().saturating_sub(2 * NAME));
    let inside = text[near..].strip_suffix('›');
    inside.is_some_and(|it| it.rfind(PLACEHOLDER) > it.rfind('›'))
}

fn try_at(text: &str, start: usize, rule: usize) -> Option<Range<usize>> {
    let pattern = HINTS.pattern(rule, || RULES[rule].pattern.to_owned());
    let long = matches!(RULES[rule].name, "private-key" | "jwt" | "kubeconfig-key");
    let window = if long { LONG_WINDOW } else { WINDOW };
    let window = &text[start..text.floor_char_boundary(start + window)];
    let (from, to) = {
        let groups = pattern.captures(window)?;
        let secret = groups
            .iter()
            .skip(1)
            .flatten()
            .next()
            .or_else(|| groups.get(0))?;
        (secret.start(), secret.end())
    };
    let name = text[..start].bytes().rev();
    let name = name
        .take(NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let name = start - name.count();
    // What touches a placeholder was judged as a whole before that was there.
    let reach = text.floor_char_boundary(start + to + PLACEHOLDER.len());
    if ends_with_placeholder(&text[..name]) || text[start + from..reach].contains(PLACEHOLDER) {
        return None;
    }
    let candidate = Candidate {
        name: &text[name..start],
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
        (
            "aws-access-key" | "twilio-key" | "npm-token" | "service-token" | "provider-token"
            | "telegram-token",
            _,
        ) if more(b"") > 0 => return None,
        _ => start + to,
    };
    Some(start + from..end)
}

/// Lines of a key whose first or last line is missing: runs of lines of Base64
/// of one length, or what stands before the last line of a key.
pub(super) fn pieces_of_keys(text: &str) -> Vec<(Range<usize>, usize)> {
    const LEAST: usize = 3;
    let mut found = Vec::new();
    let mut run: Option<(Range<usize>, usize, usize)> = None;
    let mut public = false;
    let mut at = 0;
    let mut close = |run: &mut Option<(Range<usize>, usize, usize)>, must: bool, public: bool| {
        if let Some((span, lines, _)) = run.take()
            && (must || lines >= LEAST && !public)
        {
            found.push((span, PRIVATE_KEY));
        }
    };
    for line in text.split_inclusive('\n') {
        let start = at + line.len() - line.trim_start().len();
        let body = line.trim();
        at += line.len();
        let base64 = body.len() >= 16
            && body.bytes().all(|byte| is_token_byte(byte) && byte != b'_')
            && has(body, |c| c.is_ascii_uppercase())
            && has(body, |c| c.is_ascii_lowercase());
        if !base64 {
            let last = body.starts_with("-----END ") && body.contains("PRIVATE KEY");
            close(&mut run, last, public);
            // What a certificate says is for everyone.
            public = body.starts_with("-----BEGIN ") && !body.contains("PRIVATE KEY");
            continue;
        }
        let end = start + body.len();
        match &mut run {
            Some((span, lines, length)) if body.len() <= *length => {
                // A shorter line is the last.
                let last = body.len() < *length;
                (span.end, *lines) = (end, *lines + 1);
                if last {
                    *length = 0;
                }
            }
            _ => {
                close(&mut run, false, public);
                run = matches!(body.len(), 60..=80).then_some((start..end, 1, body.len()));
            }
        }
    }
    close(&mut run, false, public);
    found
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

/// What documentation has for a password.
const DEFAULTS: [&str; 16] = [
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
];

fn url_password(candidate: &Candidate<'_>) -> bool {
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

/// In a place where a password is expected: anything but the usual examples.
fn default_free(candidate: &Candidate<'_>) -> bool {
    let password = candidate.secret.to_ascii_lowercase();
    not_placeholder(candidate) && !DEFAULTS.contains(&password.as_str())
}

/// `<digits>:AA…`
fn of_a_bot(candidate: &Candidate<'_>) -> bool {
    let id = candidate.name;
    (8..=12).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_digit())
        && random(candidate)
}

/// Base64 of `name:password`.
fn name_and_password(candidate: &Candidate<'_>) -> bool {
    let mut bits = 0u32;
    let mut count = 0;
    let mut plain = Vec::new();
    for byte in candidate.secret.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            plain.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    let Ok(plain) = String::from_utf8(plain) else {
        return false;
    };
    plain.split_once(':').is_some_and(|(user, password)| {
        let password = password.to_ascii_lowercase();
        !user.is_empty()
            && password.len() >= 4
            && plain.bytes().all(|byte| byte.is_ascii_graphic())
            && !is_placeholder(&plain)
            && !DEFAULTS.contains(&password.as_str())
            // The example of the standard: `Aladdin:open sesame`.
            && !password.contains("sesame")
    })
}

/// `STRIPE_KEY=…`, while keys of tables and caches are none, and public ones
/// no secret.
fn key_of_a_service(candidate: &Candidate<'_>) -> bool {
    const OTHERS: [&str; 15] = [
        "public",
        "publishable",
        "anon",
        "primary",
        "foreign",
        "cache",
        "sort",
        "partition",
        "site",
        "object",
        "storage",
        "row",
        "group",
        "pub",
        "idempotency",
    ];
    let name = candidate.name.to_ascii_lowercase();
    let value = candidate.secret.trim_end_matches('=');
    !OTHERS.iter().any(|other| name.contains(other))
        && !value.bytes().all(|byte| byte.is_ascii_hexdigit())
        && random(candidate)
        && !is_hash(value)
        && !looks_like_place(value)
        && !value.starts_with("pk_")
        && has(value, |c| c.is_ascii_lowercase())
        && has(value, |c| c.is_ascii_uppercase())
        && entropy(value) >= 3.8
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
    const OTHERS: [&str; 20] = [
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
        || (lower.starts_with('[') && lower.ends_with(']'))
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
