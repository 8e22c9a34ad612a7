//! Finds secrets without a prefix of their own by their places: forms such as
//! addresses, command lines and files of settings. A pattern is made when its
//! hint is first met, since hooks have milliseconds.

use std::ops::Range;
use std::sync::LazyLock;

use super::assigned::{self, SECRET_WORDS, SecretKind, TelltaleTable};
use super::checks::{
    byte_entropy, count_char_kinds, is_default_password, is_joined_words, is_placeholder,
    is_uuid_or_checksum, looks_like_code, looks_like_place, looks_random,
};
use super::hints::{HintMatch, HintTable};
use super::{keys, tokens};

/// A place with a form of its own, such as an address or a command line.
struct SecretForm {
    name: &'static str,
    /// The literals at which the pattern is tried, in any case. The pattern
    /// starts at the literal.
    hints: &'static [&'static str],
    /// The first group that matched is the secret.
    pattern: &'static str,
    /// Whether the hint may be in the middle of a word.
    anywhere: bool,
    /// A cheap look at the text from the hint on, before the pattern: to compile
    /// it costs more than all else that a hook at a prompt does, and some hints
    /// are ordinary words.
    may_match: fn(&str) -> bool,
    check: fn(&FormCandidate<'_>) -> bool,
}

struct FormCandidate<'a> {
    /// The word that ends where the hint begins.
    name: &'a str,
    /// From the hint to the secret.
    before: &'a str,
    secret: &'a str,
    after: Option<char>,
}

const SECRET_FORMS: &[SecretForm] = &[
    SecretForm {
        name: "slack-token",
        hints: &["hooks.slack.com/"],
        pattern: concat!(
            r"hooks\.slack\.com/(?:services|workflows|",
            r"triggers)/([A-Z0-9]{6,}/[A-Za-z0-9]{6,}/[A-Za-z0-9/]{16,})",
        ),
        anywhere: true,
        may_match: always_matches,
        check: is_not_placeholder,
    },
    SecretForm {
        name: "webhook",
        hints: &[
            "/api/webhooks/",
            "webhook.office.com/webhookb2/",
            "outlook.office.com/webhook/",
            "hooks.zapier.com/hooks/catch/",
            "/with/key/",
            "chat.googleapis.com/v1/spaces/",
        ],
        pattern: concat!(
            r"(?i:/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_\-]{50,100})|",
            r"(?:webhook\.office\.com/webhookb2|",
            r"outlook\.office\.com/webhook)/([A-Za-z0-9@\-]{40,}/IncomingWebhook/[A-Za-z0-9/\-]{20,})|",
            r"hooks\.zapier\.com/hooks/catch/([0-9]{4,}/[A-Za-z0-9]{5,})|",
            r"/with/key/([A-Za-z0-9_\-]{20,60})|",
            r"chat\.googleapis\.com/v1/spaces/[A-Za-z0-9_\-]+/messages\?(key=[A-Za-z0-9_\-]{20,}&token=[A-Za-z0-9_\-%]{20,}))",
        ),
        anywhere: true,
        may_match: always_matches,
        check: is_not_placeholder,
    },
    SecretForm {
        name: "telegram-token",
        hints: &[":AA"],
        pattern: r":(A[A-Za-z0-9_\-]{34})",
        anywhere: true,
        may_match: always_matches,
        check: is_bot_token,
    },
    SecretForm {
        name: "firebase-key",
        hints: &[":APA91b"],
        pattern: r":(APA91b[A-Za-z0-9_\-]{100,200})",
        anywhere: true,
        may_match: always_matches,
        check: is_not_placeholder,
    },
    SecretForm {
        name: "terraform-token",
        hints: &[".atlasv1."],
        pattern: r"\.atlasv1\.[A-Za-z0-9_\-=]{60,100}",
        anywhere: true,
        may_match: always_matches,
        check: is_random,
    },
    SecretForm {
        name: "azure-key",
        hints: &[
            "AccountKey=",
            "SharedAccessKey=",
            "SharedAccessSignature=",
            "sig=",
            "?code=",
            "&code=",
        ],
        pattern: concat!(
            r"(?i:(?:(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{43,88}={0,2})|",
            r"sig=([A-Za-z0-9+/%]{43,}={0,2})|",
            r"SharedAccessSignature=([A-Za-z0-9+/%&=\-:.]{43,})|",
            r"[?&]code=([A-Za-z0-9_/\-]{40,60}={0,2})))",
        ),
        anywhere: true,
        may_match: always_matches,
        check: is_random,
    },
    SecretForm {
        name: "signed-address",
        hints: &[
            "x-amz-signature=",
            "x-goog-signature=",
            "x-amz-security-token=",
        ],
        pattern: r"(?i:x-(?:amz|goog)-(?:signature|security-token))=([A-Za-z0-9+/%=_\-]{40,})",
        anywhere: true,
        may_match: always_matches,
        check: is_not_placeholder,
    },
    SecretForm {
        name: "npmrc-token",
        hints: &[":_authToken", ":_password", ":_auth"],
        pattern: r#"(?i:_authToken|:_authToken|:_password|:_auth)[ \t]*=[ \t]*"?([A-Za-z0-9+/=_.\-]{8,300})"#,
        anywhere: true,
        may_match: always_matches,
        check: is_not_placeholder,
    },
    SecretForm {
        name: "netrc-password",
        hints: &["machine ", "login "],
        pattern: concat!(
            r"(?:machine\s+[A-Za-z0-9.\-]{2,100}\s+login\s+\S{1,100}\s+|",
            r"login\s+\S{1,100}[ \t]*\n[ \t]*)password\s+([^\s`]{4,128})",
        ),
        anywhere: false,
        may_match: names_password,
        check: is_not_default,
    },
    SecretForm {
        name: "kubeconfig-key",
        hints: &["client-key-data:"],
        pattern: r#"client-key-data:[ \t]*"?([A-Za-z0-9+/]{40,}={0,2})"#,
        anywhere: false,
        may_match: always_matches,
        check: is_not_placeholder,
    },
    SecretForm {
        name: "registry-login",
        hints: &["\"auth\"", "basic "],
        pattern: concat!(
            r#"(?:"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{8,300}={0,2})"|"#,
            r#"(?i:basic)[ ]+([A-Za-z0-9+/]{8,300}={0,2}))"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_basic_login,
    },
    SecretForm {
        name: "connection-string",
        hints: &[";password=", ";pwd=", "; password=", "; pwd="],
        pattern: r#";\s?(?i:password|pwd)\s?=\s?([^;\s"'`]{4,128})"#,
        anywhere: true,
        may_match: always_matches,
        check: is_not_default,
    },
    SecretForm {
        name: "connection-url",
        hints: &["://"],
        pattern: r#"://[^\s:/@'"`<>]{0,64}:([^\s/'"`]{3,128}?)@[A-Za-z0-9\[$_]"#,
        anywhere: true,
        may_match: always_matches,
        check: is_url_password,
    },
    SecretForm {
        name: "connection-url",
        hints: &["oracle:thin:"],
        pattern: r"(?i:oracle:thin):[^/\s]{1,64}/([^@\s/]{3,128})@",
        anywhere: true,
        may_match: always_matches,
        check: is_not_default,
    },
    SecretForm {
        name: "pgpass-password",
        hints: &[":5432:", ":6432:"],
        pattern: r":[0-9]{4}:[^:\s]{1,64}:[^:\s]{1,64}:([^\s`]{4,128})",
        anywhere: true,
        may_match: always_matches,
        check: is_not_default,
    },
    SecretForm {
        name: "login-option",
        hints: &["curl ", "wget ", "http "],
        pattern: concat!(
            r#"(?:curl|wget|http)\b(?:[^\n]|\\\n){0,300}?\s(?:-u|--user|--proxy-user|-a|"#,
            r#"--auth|--http-password|"#,
            r#"--password)[ =]?["']?(?:[^\s:"']{1,64}:)?([^\s"'`]{3,128})"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "login-option",
        hints: &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mariadb",
            "sshpass",
            "docker login",
            "podman login",
            "helm registry login",
            "redis-cli",
            "mongosh ",
            "mongo ",
            "mongodump",
            "ldapsearch",
            "sqlcmd",
            "psql ",
            "az login",
            "gpg ",
            "sqlplus ",
            "smbclient",
            "rabbitmqctl",
            "xfreerdp",
            "plink ",
            "7z ",
            "zip ",
            "unzip ",
        ],
        pattern: concat!(
            r#"(?i:mysql(?:dump|admin)?|mariadb(?:-dump)?|sshpass|(?:docker|podman|"#,
            r#"helm registry|az) login|redis-cli|mongo(?:sh|dump)?|ldapsearch|sqlcmd|psql|"#,
            r#"gpg|sqlplus|smbclient|rabbitmqctl|xfreerdp|plink|7z|zip|unzip)\b(?:[^\n`]|"#,
            r#"\\\n){0,240}?(?:\s(?:-p|-P|-a[ ]|-w|-pw|/p:|--password[ =]|--pass[ =]|"#,
            r#"--passphrase[ =]|-U\s+[^\s%]{1,40}%|-x\s+-w\s+)[ ]?["']?([^\s"'`\-=|"#,
            r#"<>][^\s"'`|<>]{3,128})|\s(?:add_user|"#,
            r#"change_password)\s+\S+\s+["']?([^\s"'`]{4,128})|"#,
            r#"sqlplus\s+[^\s/]{1,40}/([^\s@]{4,64})@)"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "login-option",
        hints: &["openssl "],
        pattern: concat!(
            r#"(?i:openssl)\b(?:[^\n`]|\\\n){0,240}?\s(?:-k[ ]+|-pass(?:in|"#,
            r#"out)?\s+pass:)["']?([^\s"'`\-|<>][^\s"'`|<>]{3,128})"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "login-option",
        hints: &["snowsql "],
        // Its `-a` is an account.
        pattern: concat!(
            r#"snowsql\b(?:[^\n`]|\\\n){0,240}?\s(?:-p|--password)[ =]["']?([^\s"'`\-|"#,
            r#"<>][^\s"'`|<>]{3,128})"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "login-option",
        hints: &["net use "],
        pattern: concat!(
            r#"(?i:net use)[ \t]+(?:\S{1,2}[ \t]+)?\\{1,4}[^\s\\]\S{0,150}[ \t]+(?:["']?([^\s"'`/][^\s"'`]{3,128})["']?[ \t]+(?i:/user:)|"#,
            r#"(?:/\S{1,40}[ \t]+){0,3}?(?i:/user:)\S{1,80}[ \t]+["']?([^\s"'`/][^\s"'`]{3,128}))"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "login-option",
        hints: &["htpasswd "],
        // The options, of which one has a `b`, then the file and the user, or
        // the user alone.
        pattern: concat!(
            r#"htpasswd[ \t]+(?:-[A-Za-z]{1,6}[ \t]+(?:[0-9]{1,2}[ \t]+)?){0,3}?-[A-Za-z]{0,5}b[A-Za-z]{0,5}[ \t]+(?:-[A-Za-z]{1,6}[ \t]+)?(?:[0-9]{1,2}[ \t]+)?(?:[^\s"'`\-|"#,
            r#"<>‹]\S{0,100}[ \t]+){1,2}["']?([^\s"'`|<>‹]{4,128})"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "login-option",
        hints: &["user-secrets set"],
        pattern: r#"user-secrets[ ]set[ \t]+(?:--\S{1,20}[ \t]+\S{1,80}[ \t]+)?["']?[^\s"']{1,100}["']?[ \t]+["']?([^\s"'`\-][^\s"'`]{3,200})"#,
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "password",
        hints: &["requirepass", "masterauth"],
        pattern: r#"(?i:requirepass|masterauth)(?:[ \t]+|=)["']?([^\s"'`]{6,128})"#,
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "password",
        hints: &["login", "credentials", "creds", "zugang"],
        pattern: concat!(
            r#"(?i:login|credentials|creds|"#,
            r#"zugang(?:sdaten)?)[*_`"']{0,4}[ \t]{0,4}[:=][*_`"' \t]{0,6}[^\s/:`|"#,
            r#"]{1,64}`?[ \t]{0,2}/[ \t]{0,2}`?([^\s`|]{6,128})"#,
        ),
        anywhere: false,
        may_match: has_slash_on_line,
        check: is_written_password,
    },
    SecretForm {
        name: "password",
        hints: &["<input "],
        pattern: concat!(
            r#"(?i:<input)\s(?:[^<>]{0,200}?(?i:type=["']?password\b)[^<>]{0,200}?\s(?i:value)=["']([^"'\s]{4,128})["']|"#,
            r#"[^<>]{0,200}?(?i:value)=["']([^"'\s]{4,128})["'][^<>]{0,200}?\s(?i:type=["']?password\b))"#,
        ),
        anywhere: true,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "sql-password",
        hints: &[
            "identified by",
            "identified with",
            "with password",
            "password '",
        ],
        pattern: concat!(
            r"(?i:identified\s+(?:with\s+\S+\s+)?by(?:\s+password)?|",
            r"(?:with\s+)?(?:encrypted\s+)?password)\s+'([^'\n]{4,128})'",
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_option_password,
    },
    SecretForm {
        name: "bearer-token",
        hints: &["bearer ", "authorization"],
        pattern: concat!(
            r#"(?i:bearer|(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:token|"#,
            r#"apikey|api-key|key|bot|ssws|sso-key|bearer|pat|"#,
            r#"genericlogin)?)[ :=]{1,3}(?:token=)?["']?([A-Za-z0-9_.=+/~:\-]{16,1000})"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_random,
    },
    SecretForm {
        name: "web-key",
        hints: &["\"d\"", "\"k\""],
        pattern: r#""[dk]"\s{0,4}:\s{0,4}"([A-Za-z0-9_\-]{40,700})""#,
        anywhere: false,
        may_match: always_matches,
        check: is_random,
    },
    SecretForm {
        name: "salt",
        hints: &["define("],
        pattern: concat!(
            r#"(?i:define\(\s{0,4}['"][A-Z_]*(?:KEY|SALT|SECRET|"#,
            r#"PASSWORD)['"]\s{0,4},\s{0,4})(?:'([^'\n]{8,200})'|"([^"\n]{8,200})")"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_salt_value,
    },
    SecretForm {
        name: "session-cookie",
        hints: &["_gitlab_session=", "connect.sid=s%3a"],
        pattern: r"(?i:_gitlab_session=|connect\.sid=s%3a)([A-Za-z0-9%_.\-]{24,300})",
        anywhere: true,
        may_match: always_matches,
        check: is_random,
    },
    SecretForm {
        name: "seed-phrase",
        hints: &["mnemonic", "seed phrase", "recovery phrase"],
        pattern: concat!(
            r#"(?i:mnemonic|(?:seed|recovery) phrase)["'`*_]{0,4}\s{0,4}(?:is|:|"#,
            r#"=)[*\s"'`]{0,8}((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b"#,
        ),
        anywhere: false,
        may_match: always_matches,
        check: is_seed_phrase,
    },
    SecretForm {
        name: "nuget-password",
        hints: &["add key=\""],
        pattern: r#"(?i:add key="(?:ClearText)?Password"\s+value=")([^"\n]{4,200})""#,
        anywhere: false,
        may_match: always_matches,
        check: is_not_default,
    },
    SecretForm {
        name: "gem-login",
        hints: &["contribsys"],
        pattern: r"(?i:contribsys__com)[ =:'\x22]{1,4}([a-f0-9]{8}:[a-f0-9]{8})",
        anywhere: true,
        may_match: always_matches,
        check: is_not_placeholder,
    },
];

/// Rules that are matched in code, behind those of the forms.
const PEM_RULE: usize = SECRET_FORMS.len();
const PUTTY_RULE: usize = PEM_RULE + 1;
const MIDDLES_RULE: usize = PEM_RULE + 2;
const WORDS_RULE: usize = PEM_RULE + 3;

/// Letters in the middle of a secret, by which it is known.
const SECRET_MIDDLES: &[&str] = &["Q~", "-us", "_mmk", "NRAL", "|"];

/// The bytes that a pattern reads from its hint on. Secrets that are longer are
/// followed to their end.
const PATTERN_WINDOW_BYTES: usize = 512;
const LONG_WINDOW_BYTES: usize = 16 * 1024;
/// Bytes of the name before a hint that are looked at.
const NAME_REACH_BYTES: usize = 32;

static SECRET_HINTS: LazyLock<HintTable> = LazyLock::new(|| {
    let by_hand = [
        vec!["-----BEGIN "],
        vec!["private-lines:"],
        SECRET_MIDDLES.to_vec(),
        SECRET_WORDS.iter().map(|(word, _)| *word).collect(),
    ];
    HintTable::new(
        true,
        SECRET_FORMS
            .iter()
            .map(|it| it.hints.to_vec())
            .chain(by_hand),
    )
});

/// Returns every hint, and every word before a secret.
pub(super) fn all_hints() -> impl Iterator<Item = &'static str> {
    let forms = SECRET_FORMS.iter().flat_map(|it| it.hints.iter().copied());
    forms.chain(SECRET_WORDS.iter().map(|(word, _)| *word))
}

/// A place with the rank of its rule and the rule's name: the lowest rank wins.
pub(super) type RankedMatch = (Range<usize>, usize, &'static str);

/// Finds every match, in no order.
pub(super) fn match_rules(text: &str) -> Vec<RankedMatch> {
    let mut found: Vec<RankedMatch> = Vec::new();
    tokens::match_tokens(text, |span, rule| found.push((span, 1, rule)));
    // A key of many lines is not searched for others, nor is a long value.
    let mut skip_to = 0;
    let mut lines_end = 0;
    let mut table = TelltaleTable::default();
    for HintMatch {
        rule,
        hint,
        start,
        end,
    } in SECRET_HINTS.find_hints(text)
    {
        if rule == PEM_RULE {
            if let Some(span) = keys::find_pem_key(text, start) {
                skip_to = skip_to.max(span.end);
                found.push((span, 0, keys::PRIVATE_KEY_RULE));
            }
            continue;
        }
        if start < skip_to {
            continue;
        }
        match rule {
            // One line can name the lines below it often.
            PUTTY_RULE if start < lines_end => {}
            PUTTY_RULE => {
                let (span, end) = keys::find_putty_lines(text, start);
                lines_end = end;
                found.extend(span.map(|span| (span, 0, keys::PRIVATE_KEY_RULE)));
            }
            MIDDLES_RULE => found.extend(
                match_around_middle(text, start, SECRET_MIDDLES[hint])
                    .map(|(span, rule)| (span, 1, rule)),
            ),
            WORDS_RULE => {
                let kind = SECRET_WORDS[hint].1;
                let name = start - assigned::word_before(text, start).len();
                if ends_with_placeholder(&text[..name]) {
                    continue;
                }
                let mut spans = assigned::find_values(text, start, end, kind);
                spans.extend(assigned::find_column_values(text, start, kind, &mut table));
                for mut span in spans {
                    if touches_placeholder(text, &span) {
                        continue;
                    }
                    if span.len() >= PATTERN_WINDOW_BYTES {
                        span.end = token_run_end(text, span.end);
                        skip_to = skip_to.max(span.end);
                    }
                    found.push((span, 3 + hint, assigned_rule(kind)));
                }
            }
            form => {
                if !SECRET_FORMS[form].anywhere && !is_word_start(text, start) {
                    continue;
                }
                if let Some(span) = match_form_at(text, start, form) {
                    if span.len() >= PATTERN_WINDOW_BYTES {
                        skip_to = skip_to.max(span.end);
                    }
                    found.push((span, 2, SECRET_FORMS[form].name));
                }
            }
        }
    }
    found
}

fn assigned_rule(kind: SecretKind) -> &'static str {
    match kind {
        SecretKind::Password => "password",
        SecretKind::Token => "assigned-secret",
        SecretKind::Key => "assigned-key",
        SecretKind::Service => "service-token",
    }
}

fn is_word_start(text: &str, start: usize) -> bool {
    let before = text.as_bytes()[..start].last();
    !before.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the end of a token that is longer than the window.
fn token_run_end(text: &str, from: usize) -> usize {
    let more = text[from..].bytes();
    from + more
        .take_while(|byte| is_token_byte(*byte) || b"-.%~".contains(byte))
        .count()
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'/' | b'=')
}

/// The beginning of a placeholder; see [`super::redact_secrets`].
pub(super) const PLACEHOLDER_PREFIX: &str = "‹redacted: ";

fn ends_with_placeholder(text: &str) -> bool {
    let near = text.floor_char_boundary(text.len().saturating_sub(2 * NAME_REACH_BYTES));
    let inside = text[near..].strip_suffix('›');
    inside.is_some_and(|it| it.rfind(PLACEHOLDER_PREFIX) > it.rfind('›'))
}

/// Returns `true` if a placeholder touches the span: that text was redacted as
/// a whole before.
fn touches_placeholder(text: &str, span: &Range<usize>) -> bool {
    let reach = text.floor_char_boundary(span.end + PLACEHOLDER_PREFIX.len());
    text[span.start..reach].contains(PLACEHOLDER_PREFIX)
}

fn always_matches(_: &str) -> bool {
    true
}

fn names_password(window: &str) -> bool {
    window.contains("password")
}

fn has_slash_on_line(window: &str) -> bool {
    let line = window.split('\n').next().unwrap_or(window);
    line.contains('/')
}

fn match_form_at(text: &str, start: usize, form: usize) -> Option<Range<usize>> {
    let long = SECRET_FORMS[form].name == "kubeconfig-key";
    let window = if long {
        LONG_WINDOW_BYTES
    } else {
        PATTERN_WINDOW_BYTES
    };
    let window = &text[start..text.floor_char_boundary(start + window)];
    if !(SECRET_FORMS[form].may_match)(window) {
        return None;
    }
    let pattern = SECRET_HINTS.compiled_pattern(form, || SECRET_FORMS[form].pattern.to_owned());
    let (from, to) = {
        let groups = pattern.captures(window.as_bytes())?;
        let secret = groups.iter().skip(1).flatten().next();
        let secret = secret.or_else(|| groups.get(0))?;
        let from = window.floor_char_boundary(secret.start());
        let to = window.ceil_char_boundary(secret.end());
        // Classes of bytes know the spaces of ASCII only.
        let wide_space = |c: char| !c.is_ascii() && c.is_whitespace();
        let cut = window[from..to].find(wide_space);
        (from, cut.map_or(to, |at| from + at))
    };
    let name = text[..start].bytes().rev().take(NAME_REACH_BYTES);
    let name = name.take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let name = start - name.count();
    let span = start + from..start + to;
    if ends_with_placeholder(&text[..name]) || touches_placeholder(text, &span) {
        return None;
    }
    let candidate = FormCandidate {
        name: &text[name..start],
        before: &window[..from],
        secret: &window[from..to],
        after: window[to..].chars().next(),
    };
    if !(SECRET_FORMS[form].check)(&candidate) {
        return None;
    }
    // What was cut by the window is followed to its end.
    let end = if to == window.len() {
        token_run_end(text, span.end)
    } else {
        span.end
    };
    Some(span.start..end)
}

/// Finds secrets that are recognized by their middle: `abc8Q~…` of Azure,
/// `…-us12` of Mailchimp, `…_mmk` of MaxMind, `…NRAL` of New Relic, `digits|…`
/// of Facebook.
fn match_around_middle(
    text: &str,
    at: usize,
    middle: &str,
) -> Option<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    let back = |from: usize, most: usize, part: fn(u8) -> bool| {
        bytes[..from]
            .iter()
            .rev()
            .take(most)
            .take_while(|&&it| part(it))
            .count()
    };
    let ahead = |from: usize, most: usize, part: fn(u8) -> bool| {
        bytes[from..]
            .iter()
            .take(most)
            .take_while(|&&it| part(it))
            .count()
    };
    let hex: fn(u8) -> bool = |it| it.is_ascii_digit() || matches!(it, b'a'..=b'f');
    let word: fn(u8) -> bool = |it| it.is_ascii_alphanumeric();
    let wide: fn(u8) -> bool = |it| it.is_ascii_alphanumeric() || b"_~.-".contains(&it);
    let free = |at: usize| at == 0 || !word(bytes[at - 1]);
    match middle {
        "Q~" => {
            let long = ahead(at + 2, 40, wide);
            let is_one = at >= 4
                && bytes[at - 1].is_ascii_digit()
                && bytes[at - 4..at - 1].iter().all(|&it| wide(it))
                && free(at - 4)
                && (31..=37).contains(&long);
            is_one.then(|| (at - 4..at + 2 + long, "azure-secret"))
        }
        "-us" => {
            let long = back(at, 33, hex);
            let digits = ahead(at + 3, 3, |it| it.is_ascii_digit());
            let is_one = long == 32 && (1..=2).contains(&digits) && free(at - 32);
            is_one.then(|| (at - 32..at + 3 + digits, "mailchimp-key"))
        }
        "_mmk" => {
            let second = back(at, 30, word);
            let is_one = second == 29
                && bytes.get(at.wrapping_sub(30)) == Some(&b'_')
                && back(at - 30, 7, word) == 6;
            is_one.then(|| (at - 36..at + 4, "maxmind-key"))
        }
        "NRAL" => {
            let part: fn(u8) -> bool = |it| it.is_ascii_digit() || it.is_ascii_lowercase();
            let is_one = text[at..].starts_with("NRAL")
                && back(at, 37, part) == 36
                && free(at - 36)
                && !bytes.get(at + 4).is_some_and(|&it| word(it) || it == b'_')
                && looks_random(&text[at - 36..at]);
            is_one.then(|| (at - 36..at + 4, "newrelic-key"))
        }
        _ => {
            let id = back(at, 17, |it| it.is_ascii_digit());
            let long = ahead(at + 1, 41, |it| {
                it.is_ascii_alphanumeric() || b"-_".contains(&it)
            });
            let is_one = (15..=16).contains(&id)
                && (27..=40).contains(&long)
                && looks_random(&text[at + 1..at + 1 + long]);
            is_one.then(|| (at - id..at + 1 + long, "facebook-token"))
        }
    }
}

impl FormCandidate<'_> {
    /// Returns `true` for the address of a database, where a plain word may be
    /// the password.
    fn is_database(&self) -> bool {
        const DATABASE_SCHEMES: [&str; 12] = [
            "postgres",
            "postgresql",
            "mysql",
            "mariadb",
            "mongodb",
            "srv",
            "redis",
            "rediss",
            "amqp",
            "amqps",
            "ftp",
            "smtp",
        ];
        DATABASE_SCHEMES.contains(&self.name)
    }
}

fn is_not_placeholder(candidate: &FormCandidate<'_>) -> bool {
    !is_placeholder(candidate.secret)
}

fn is_random(candidate: &FormCandidate<'_>) -> bool {
    looks_random(candidate.secret) && !is_uuid_or_checksum(candidate.secret)
}

fn is_url_password(candidate: &FormCandidate<'_>) -> bool {
    let user = candidate
        .before
        .trim_start_matches("://")
        .trim_end_matches(':');
    let password = candidate.secret;
    is_not_default(candidate)
        && user != password
        && (password.bytes().any(|it| !it.is_ascii_lowercase() && !b"-_.".contains(&it)) || candidate.is_database())
        // A port and a path: `http://host:8080/@scope`.
        && !password.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/')
}

/// Returns `true` for anything but placeholders and the usual examples, where a
/// password is expected.
fn is_not_default(candidate: &FormCandidate<'_>) -> bool {
    !is_placeholder(candidate.secret) && !is_default_password(candidate.secret)
}

/// Returns `true` behind a name and a slash, for values that can only be a
/// password.
fn is_written_password(candidate: &FormCandidate<'_>) -> bool {
    let secret = candidate.secret;
    is_option_password(candidate)
        && count_char_kinds(secret) >= 3
        && byte_entropy(secret) >= 2.75
        && !is_joined_words(secret)
        && !looks_like_code(secret)
}

/// Returns `true` for a password behind an option of a command.
fn is_option_password(candidate: &FormCandidate<'_>) -> bool {
    let secret = candidate.secret;
    // `7z a -p archive.7z` asks for the password; what has one has no space.
    let is_prompted = candidate.before.starts_with("7z") && candidate.before.ends_with("-p ");
    if is_prompted {
        return false;
    }
    let varied = secret
        .bytes()
        .any(|it| !it.is_ascii_alphabetic() && !b"-_./:,".contains(&it));
    let lower = secret.bytes().any(|it| it.is_ascii_lowercase());
    let varied = varied || lower && secret.bytes().skip(1).any(|it| it.is_ascii_uppercase());
    is_not_default(candidate)
        && varied
        && !looks_like_place(secret)
        && !secret.starts_with('-')
        && !is_version_or_port(secret)
        && candidate.after != Some('(')
}

/// Returns `true` for `8080`, `3306:3306`, `1.2.3`.
fn is_version_or_port(value: &str) -> bool {
    value
        .bytes()
        .all(|it| it.is_ascii_digit() || b".:,".contains(&it))
}

fn is_salt_value(candidate: &FormCandidate<'_>) -> bool {
    let secret = candidate.secret;
    is_not_default(candidate)
        && byte_entropy(secret) >= 2.75
        && !is_joined_words(&secret.replace(' ', "-"))
}

/// Returns `true` for words that do not repeat.
fn is_seed_phrase(candidate: &FormCandidate<'_>) -> bool {
    let words: std::collections::BTreeSet<&str> = candidate.secret.split(' ').collect();
    let count = candidate.secret.split(' ').count();
    words.len() * 4 >= count * 3
        && !["the", "and", "with", "that"]
            .iter()
            .any(|it| words.contains(it))
}

/// Returns `true` for the token of a bot, `<digits>:AA…`.
fn is_bot_token(candidate: &FormCandidate<'_>) -> bool {
    let id = candidate.name.strip_prefix("bot").unwrap_or(candidate.name);
    (5..=16).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_digit())
        && !candidate.after.is_some_and(|c| c.is_ascii_alphanumeric())
        && looks_random(candidate.secret)
}

/// Returns `true` for Base64 of `name:password`.
fn is_basic_login(candidate: &FormCandidate<'_>) -> bool {
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
        !user.is_empty()
            && password.len() >= 4
            && !password.bytes().all(|it| it.is_ascii_lowercase())
            && plain.bytes().all(|byte| byte.is_ascii_graphic())
            && !is_placeholder(&plain)
            && !is_default_password(password)
            // The example of the standard: `Aladdin:open sesame`.
            && !password.to_ascii_lowercase().contains("sesame")
    })
}
