//! Finds values behind a secret word, in every form in which people write them
//! down: `password=…`, `**Password:** …`, `"apiKey": "…"`, `--token …`, `the
//! password is …`, a cell of a table, the line below in YAML.

use std::ops::Range;

use crate::work::record_work;

use super::checks::{
    byte_entropy, count_char_kinds, has_char, is_default_password, is_joined_words, is_likely_name,
    is_placeholder, is_uuid, is_uuid_or_checksum, looks_like_code, looks_like_place, looks_random,
    names_something_else,
};

/// The kind of value that a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// A value that a person may have chosen.
    Password,
    /// A value that a machine generated.
    Token,
    /// `STRIPE_KEY`, of which many are no secrets.
    Key,
    /// A service whose tokens have no beginning of their own.
    Service,
}

/// Words before a secret.
#[rustfmt::skip]
pub(super) const SECRET_WORDS: &[(&str, SecretKind)] = &[
    ("password", SecretKind::Password),
    ("passwort", SecretKind::Password),
    ("kennwort", SecretKind::Password),
    ("passwd", SecretKind::Password),
    ("passphrase", SecretKind::Password),
    ("passcode", SecretKind::Password),
    ("pwd", SecretKind::Password),
    ("mot de passe", SecretKind::Password),
    ("contraseña", SecretKind::Password),
    ("senha", SecretKind::Password),
    ("_pass", SecretKind::Password),
    ("pass:", SecretKind::Password),
    ("pass=", SecretKind::Password),
    ("pw:", SecretKind::Password),
    ("pw=", SecretKind::Password),
    ("secret", SecretKind::Token),
    ("api_key", SecretKind::Token),
    ("api-key", SecretKind::Token),
    ("api key", SecretKind::Token),
    ("apikey", SecretKind::Token),
    ("access_key", SecretKind::Token),
    ("access-key", SecretKind::Token),
    ("access key", SecretKind::Token),
    ("accesskey", SecretKind::Token),
    ("auth_key", SecretKind::Token),
    ("auth-key", SecretKind::Token),
    ("authkey", SecretKind::Token),
    ("private_key", SecretKind::Token),
    ("private-key", SecretKind::Token),
    ("private key", SecretKind::Token),
    ("privatekey", SecretKind::Token),
    ("presharedkey", SecretKind::Token),
    ("encryption_key", SecretKind::Token),
    ("encryption-key", SecretKind::Token),
    ("encryptionkey", SecretKind::Token),
    ("signing_key", SecretKind::Token),
    ("signing-key", SecretKind::Token),
    ("signing key", SecretKind::Token),
    ("master_key", SecretKind::Token),
    ("master key", SecretKind::Token),
    ("license key", SecretKind::Token),
    ("license_key", SecretKind::Token),
    ("token", SecretKind::Token),
    ("credential", SecretKind::Token),
    ("_key", SecretKind::Key),
    ("adafruit", SecretKind::Service), ("adobe", SecretKind::Service), ("airtable", SecretKind::Service),
    ("algolia", SecretKind::Service), ("alibaba", SecretKind::Service), ("asana", SecretKind::Service),
    ("assemblyai", SecretKind::Service), ("atlassian", SecretKind::Service), ("beamer", SecretKind::Service),
    ("bitbucket", SecretKind::Service), ("bittrex", SecretKind::Service), ("clickup", SecretKind::Service),
    ("cloudflare", SecretKind::Service), ("codecov", SecretKind::Service), ("cohere", SecretKind::Service),
    ("coinbase", SecretKind::Service), ("confluent", SecretKind::Service), ("contentful", SecretKind::Service),
    ("datadog", SecretKind::Service), ("deepgram", SecretKind::Service), ("discord", SecretKind::Service),
    ("droneci", SecretKind::Service), ("dropbox", SecretKind::Service), ("etherscan", SecretKind::Service),
    ("etsy", SecretKind::Service), ("facebook", SecretKind::Service), ("fastly", SecretKind::Service),
    ("finicity", SecretKind::Service), ("finnhub", SecretKind::Service), ("flickr", SecretKind::Service),
    ("freshbooks", SecretKind::Service), ("freshdesk", SecretKind::Service), ("gitter", SecretKind::Service),
    ("heroku", SecretKind::Service), ("hubspot", SecretKind::Service), ("infura", SecretKind::Service),
    ("intercom", SecretKind::Service), ("jfrog", SecretKind::Service), ("jenkins", SecretKind::Service),
    ("jira", SecretKind::Service), ("kraken", SecretKind::Service), ("kucoin", SecretKind::Service),
    ("launchdarkly", SecretKind::Service), ("linkedin", SecretKind::Service), ("linode", SecretKind::Service),
    ("looker", SecretKind::Service), ("mailchimp", SecretKind::Service), ("mailgun", SecretKind::Service),
    ("mapbox", SecretKind::Service), ("mattermost", SecretKind::Service), ("meraki", SecretKind::Service),
    ("messagebird", SecretKind::Service), ("mistral", SecretKind::Service), ("netlify", SecretKind::Service),
    ("newrelic", SecretKind::Service), ("new_relic", SecretKind::Service), ("nexmo", SecretKind::Service),
    ("nytimes", SecretKind::Service), ("okta", SecretKind::Service), ("opsgenie", SecretKind::Service),
    ("pagerduty", SecretKind::Service), ("pivotal", SecretKind::Service), ("plaid", SecretKind::Service),
    ("postmark", SecretKind::Service), ("private_ai", SecretKind::Service), ("rapidapi", SecretKind::Service),
    ("rollbar", SecretKind::Service), ("sendbird", SecretKind::Service), ("sentry", SecretKind::Service),
    ("shodan", SecretKind::Service), ("snyk", SecretKind::Service), ("sonar", SecretKind::Service),
    ("spotify", SecretKind::Service), ("squarespace", SecretKind::Service), ("sumologic", SecretKind::Service),
    ("travis", SecretKind::Service), ("trello", SecretKind::Service), ("twilio", SecretKind::Service),
    ("twitch", SecretKind::Service), ("twitter", SecretKind::Service), ("typeform", SecretKind::Service),
    ("virustotal", SecretKind::Service), ("vultr", SecretKind::Service), ("wandb", SecretKind::Service),
    ("yandex", SecretKind::Service), ("zendesk", SecretKind::Service), ("zoom", SecretKind::Service),
];

/// The bytes behind a name within which its value begins.
const VALUE_REACH_BYTES: usize = 96;
/// The bytes of a value that are read in one step; a longer one is followed to
/// its end.
const MAX_VALUE_BYTES: usize = 512;

/// The way in which the value is joined to the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueJoint {
    /// `=`, `:`, `=>` and a cell of a table.
    Sign,
    /// `is`, or a dash between words.
    Word,
    /// It is on the next line.
    Below,
}

/// Finds the values behind a name that begins at `start` and ends at `end`.
pub(super) fn find_values(
    text: &str,
    start: usize,
    end: usize,
    kind: SecretKind,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let from_service = kind == SecretKind::Service;
    let name_end = match find_name_end(text, end, kind) {
        Some(it) => it,
        None => return found,
    };
    let is_flag = is_command_flag(text, start);
    let in_xml = text[..start].ends_with('<');
    let joined = find_joint(text, name_end, is_flag, in_xml, from_service);
    if let Some((value_at, joint)) = joined
        && let Some(value) = value_at_place(text, value_at, start)
    {
        let judged = ValueCandidate {
            kind,
            joint,
            left: word_before(text, start),
            name: &text[start..value_at],
            quoted: value.1,
            before: text_before(text, start),
            is_typed: is_flag,
            value: &text[value.0.clone()],
        };
        if judged.is_secret() {
            found.push(value.0);
        }
    }
    if found.is_empty() && matches!(kind, SecretKind::Password | SecretKind::Token) {
        found.extend(find_in_sentence(text, start, name_end));
    }
    found
}

/// Returns where the whole name ends: `token` of `tokenSecret_2`. If small
/// letters follow, it is another word.
fn find_name_end(text: &str, end: usize, kind: SecretKind) -> Option<usize> {
    let bytes = text.as_bytes();
    let closed = matches!(bytes[end - 1], b':' | b'=');
    if closed {
        return Some(end - 1);
    }
    let mut at = end;
    // Only the last letters: the text before may be long, and names are many.
    let word = &bytes[end.saturating_sub("credential".len())..end];
    record_work(word.len());
    let plural = kind == SecretKind::Token && word.eq_ignore_ascii_case(b"credential");
    if plural && bytes.get(at) == Some(&b's') {
        at += 1;
    }
    if bytes.get(at).is_some_and(u8::is_ascii_lowercase) {
        return (kind == SecretKind::Service).then_some(at);
    }
    let tail = bytes[at..].iter().take(32);
    at += tail
        .take_while(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'))
        .count();
    Some(at)
}

/// Returns `true` if the name is an option of a command: `--db-password`.
fn is_command_flag(text: &str, start: usize) -> bool {
    let part = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
    let long = text.as_bytes()[..start]
        .iter()
        .rev()
        .take(32)
        .take_while(|it| part(it))
        .count();
    text[start - long..start].starts_with("--")
}

/// Returns the word that ends where the name begins: `public` of `public_key`.
pub(super) fn word_before(text: &str, start: usize) -> &str {
    let bytes = text[..start].bytes().rev().take(32);
    let long = bytes
        .take_while(|it| it.is_ascii_alphanumeric() || *it == b'_')
        .count();
    &text[start - long..start]
}

/// Returns the text before a name on its line, as far as it is used.
fn text_before(text: &str, start: usize) -> &str {
    let near = &text[text.floor_char_boundary(start.saturating_sub(48))..start];
    near.rsplit('\n').next().unwrap_or(near)
}

/// Finds where the value behind a name begins, and how it is joined to the
/// name.
fn find_joint(
    text: &str,
    from: usize,
    is_flag: bool,
    in_xml: bool,
    loose: bool,
) -> Option<(usize, ValueJoint)> {
    let limit = text.floor_char_boundary(from + VALUE_REACH_BYTES);
    let near = &text[from..limit];
    let mut at = 0;
    let skip = |at: usize, of: &str, most: usize| {
        at + near[at..]
            .bytes()
            .take(most)
            .take_while(|it| of.as_bytes().contains(it))
            .count()
    };
    if loose {
        // More words of the name: `algolia admin key`.
        at += near
            .bytes()
            .take(40)
            .take_while(|it| it.is_ascii_alphanumeric() || b" \t_.-".contains(it))
            .count();
    }
    at = skip(at, "\"'`*_)]\\", 5);
    if near[..at].ends_with(']') && near[at..].starts_with(':') {
        // A link is defined here.
        return None;
    }
    at = skip(at, " \t", 8);
    if near[at..].starts_with('(')
        && let Some(close) = near[at..].find(')').filter(|it| *it <= 40)
    {
        at = skip(at + close + 1, "*_` \t", 6);
    }
    let sign = [":=", "=>", "->", "?=", "=", ":", "|", "→", "＝", "："]
        .into_iter()
        .find(|sign| near[at..].starts_with(sign));
    let joint = match sign {
        Some(":") if near[at..].starts_with("::") => return None,
        Some("=") if near[at..].starts_with("==") => return None,
        // A table of options.
        Some("|") if is_flag => return None,
        Some(sign) => {
            at += sign.len();
            ValueJoint::Sign
        }
        None if near[at..].starts_with('>') && in_xml => {
            at += 1;
            ValueJoint::Sign
        }
        None if near[at..].starts_with(", ") && near[..at].contains(['\'', '"']) => {
            at += 1;
            ValueJoint::Sign
        }
        None if is_flag && at > 0 && near[..at].ends_with([' ', '\t']) => ValueJoint::Sign,
        None => {
            let words = [
                "is set to ",
                "is now ",
                "is ",
                "was ",
                "ist ",
                "lautet ",
                "- ",
                "– ",
                "— ",
            ];
            let word = words
                .into_iter()
                .find(|word| near[at..].starts_with(word))?;
            at += word.len();
            at = skip(at, ":", 1);
            ValueJoint::Word
        }
    };
    at = skip(at, "*_", 3);
    at = skip(at, " \t", 16);
    at = skip(at, "*", 3);
    // The line below: a block of YAML, a list, a block of code.
    let block = skip(at, "|>+-0123456789", 3);
    let rest = near[block..].trim_start_matches([' ', '\t', '\r']);
    if rest.starts_with('\n') && joint == ValueJoint::Sign {
        let mut line = from + near.len() - rest.len() + 1;
        line += blank_line_before_code(&text[line..]);
        for fence in ["```", "~~~"] {
            let near = &text[line..text.floor_char_boundary(line + VALUE_REACH_BYTES)];
            let after = near.trim_start_matches([' ', '\t', '\r']);
            if after.starts_with(fence) {
                line += near.len() - after.len() + after.find('\n')? + 1;
            }
        }
        let indent = text[line..].bytes().take(VALUE_REACH_BYTES);
        line += indent.take_while(|it| b" \t".contains(it)).count();
        if text[line..].starts_with("- ") {
            line += 2;
        }
        return (line > from).then_some((line, ValueJoint::Below));
    }
    Some((from + at, joint))
}

/// Returns the length of the empty line that Markdown needs before a block of
/// code; 0 if something else follows.
fn blank_line_before_code(text: &str) -> usize {
    let near = &text[..text.floor_char_boundary(VALUE_REACH_BYTES)];
    let Some((blank, code)) = near.split_once('\n') else {
        return 0;
    };
    let is_code = ["```", "~~~", "    ", "\t"]
        .iter()
        .any(|begin| code.starts_with(begin));
    if blank.trim().is_empty() && is_code {
        blank.len() + 1
    } else {
        0
    }
}

/// Returns the value at a place, without what is around it, and whether it is
/// quoted.
fn value_at_place(text: &str, at: usize, name: usize) -> Option<(Range<usize>, bool)> {
    let rest = &text[at..];
    if let Some(value) = escaped_value(rest) {
        return Some((at + value.start..at + value.end, true));
    }
    let first = rest.chars().next()?;
    if matches!(first, '"' | '\'' | '`') {
        let inner = &rest[1..];
        let inside = |it: &u8| *it != first as u8 && *it != b'\n';
        let long = inner
            .as_bytes()
            .iter()
            .take(MAX_VALUE_BYTES)
            .take_while(|it| inside(it))
            .count();
        let closed = inner.as_bytes().get(long) == Some(&(first as u8));
        let value = &inner[..long];
        if closed && long > 0 && !value.contains([' ', '\t']) {
            return Some((at + 1..at + 1 + long, true));
        }
        if closed {
            return None;
        }
    }
    let start = at + usize::from(matches!(first, '"' | '\'' | '`'));
    let mut value = &text[start..text.floor_char_boundary(start + MAX_VALUE_BYTES)];
    let is_cut = start + value.len() < text.len();
    let end = value
        .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '|'))
        .unwrap_or(value.len());
    if end == value.len() && is_cut {
        // Its end is looked for where it is known to be a secret.
        return Some((start..start + end, false));
    }
    value = &value[..end];
    // Of an address only the parameter.
    let near = text.floor_char_boundary(name.saturating_sub(MAX_VALUE_BYTES));
    let line = text[near..name]
        .rfind(['\n', ' '])
        .map_or(near, |it| near + it + 1);
    let before = &text[line..name];
    if before.contains(['?', '&']) || before.contains("://") {
        value = &value[..value.find(['&', '#', ')', '>']).unwrap_or(value.len())];
    }
    // Of XML only the text.
    if text[..at].ends_with('>') {
        value = &value[..value.find("</")?];
    }
    if let Some(semicolon) = value.find(';') {
        // What follows in a connection string is another part.
        value = &value[..semicolon];
    }
    loop {
        let less = value.trim_end_matches([',', '.', ':', '\\']);
        let less = match less.strip_suffix("**") {
            Some(bold) => bold,
            None => less,
        };
        let unpaired = |open: char, close: char| less.ends_with(close) && !less.contains(open);
        let less = if [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')]
            .into_iter()
            .any(|(open, close)| unpaired(open, close))
        {
            &less[..less.len() - 1]
        } else {
            less
        };
        if less.len() == value.len() {
            break;
        }
        value = less;
    }
    (!value.is_empty()).then(|| (start..start + value.len(), false))
}

/// Returns the value of JSON inside of JSON: `\"…\"`, however deep.
fn escaped_value(rest: &str) -> Option<Range<usize>> {
    let slashes = rest.bytes().take(8).take_while(|it| *it == b'\\').count();
    let quote = rest[slashes..].chars().next()?;
    if slashes == 0 || !matches!(quote, '"' | '\'') {
        return None;
    }
    let start = slashes + 1;
    let near = &rest[start..rest.floor_char_boundary(start + MAX_VALUE_BYTES)];
    let end = near.find(|c: char| c == quote || c.is_whitespace());
    let end = end.unwrap_or(near.len());
    let is_closed = end == near.len() || near[end..].starts_with(quote);
    let value = near[..end].trim_end_matches('\\');
    (is_closed && !value.is_empty()).then(|| start..start + value.len())
}

/// A candidate with all that is known about it.
struct ValueCandidate<'a> {
    kind: SecretKind,
    joint: ValueJoint,
    /// The word before the telling one.
    left: &'a str,
    /// From the telling word to the value.
    name: &'a str,
    quoted: bool,
    /// The text before the name, on the same line.
    before: &'a str,
    /// Whether it follows an option on a command line.
    is_typed: bool,
    value: &'a str,
}

impl ValueCandidate<'_> {
    fn is_secret(&self) -> bool {
        let value = &self.value[..self.value.floor_char_boundary(256)];
        let fits = match self.kind {
            SecretKind::Password => self.is_password(value),
            SecretKind::Token => self.is_token(value),
            SecretKind::Key => self.is_key(value),
            SecretKind::Service => self.is_service_token(value),
        };
        fits && !looks_like_place(value)
            && (self.quoted || !looks_like_code(value))
            && !names_something_else(self.name)
            && !is_placeholder(value)
    }

    fn is_password(&self, value: &str) -> bool {
        if is_uuid_or_checksum(value) || is_default_password(value) || value.len() < 6 {
            return false;
        }
        if self.quoted && (self.before.contains("'test") || self.before.contains("\"test")) {
            // A test makes users of its own: `login(user='test1', password='…')`.
            return false;
        }
        let kinds = count_char_kinds(value);
        let strong = value.len() >= 8
            && kinds >= 3
            && byte_entropy(value) >= 2.75
            && !is_joined_words(value);
        // `PASS: TestName/case_1` is the result of a test.
        let short = self.name.starts_with("pass:") || self.name.starts_with("pass=");
        if self.name.starts_with("PASS:") || (short && value.contains('/')) {
            return false;
        }
        let digits =
            has_char(value, |c| c.is_ascii_digit()) && !value.contains(['_', '/', '(', ',']);
        let letters = has_char(value, |c| c.is_ascii_alphabetic());
        let mixed = has_char(value, |c| c.is_ascii_lowercase())
            && has_char(&value[value.ceil_char_boundary(1)..], |c| {
                c.is_ascii_uppercase()
            });
        if mixed && (self.is_typed || self.is_variable()) {
            return true;
        }
        match self.joint {
            ValueJoint::Sign => {
                strong || (digits && letters && value.len() >= 7 && byte_entropy(value) >= 2.5)
            }
            ValueJoint::Below if self.name.starts_with("pass:") => false,
            ValueJoint::Word | ValueJoint::Below => {
                strong || (self.quoted && digits && letters && value.len() >= 8)
            }
        }
    }

    /// Returns `true` if the name is a variable: `PGPASSWORD=…`,
    /// `SNYK_TOKEN="…"`.
    fn is_variable(&self) -> bool {
        let upper = |text: &str| !has_char(text, |c| c.is_ascii_lowercase());
        let assigned = self.name.contains('=') && !self.name.contains(' ');
        assigned && upper(self.name) && upper(self.left) && !self.left.is_empty()
    }

    fn is_token(&self, value: &str) -> bool {
        let left = self.left.to_ascii_lowercase();
        if left.contains("csrf") || left.contains("xsrf") {
            return false;
        }
        if is_uuid(value) {
            // As a variable of the environment, a UUID is a key.
            return self.is_variable();
        }
        if is_uuid_or_checksum(value)
            || is_likely_name(value)
            || value.ends_with("()")
            || value.len() < 8
        {
            return false;
        }
        let kinds = count_char_kinds(value);
        let bits = byte_entropy(value);
        let digits = has_char(value, |c| c.is_ascii_digit());
        match self.joint {
            ValueJoint::Sign => {
                (kinds >= 3 && bits >= 2.75 && !is_joined_words(value))
                    || (kinds == 2 && digits && value.len() >= 14 && bits >= 3.0)
            }
            ValueJoint::Word => kinds >= 3 && digits && bits >= 3.0,
            ValueJoint::Below => kinds >= 2 && digits && value.len() >= 16 && bits >= 3.2,
        }
    }

    /// Returns `true` for values such as that of `STRIPE_KEY=…`. Keys of tables
    /// and caches are not secrets, and neither are public keys.
    fn is_key(&self, value: &str) -> bool {
        const OTHER_KEY_WORDS: [&str; 15] = [
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
        let left = self.left.to_ascii_lowercase();
        if value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return self.is_hex_key(value, &left)
                && !OTHER_KEY_WORDS.iter().any(|other| left.contains(other));
        }
        let value = value
            .strip_prefix("base64:")
            .unwrap_or(value)
            .trim_end_matches('=');
        self.joint == ValueJoint::Sign
            && value.len() >= 20
            && value
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"+/_-".contains(&it))
            && !OTHER_KEY_WORDS.iter().any(|other| left.contains(other))
            && looks_random(value)
            && !is_uuid_or_checksum(value)
            && !value.starts_with("pk_")
            && has_char(value, |c| c.is_ascii_lowercase())
            && has_char(value, |c| c.is_ascii_uppercase())
            && byte_entropy(value) >= 3.8
    }

    /// Returns `true` for `DD_APP_KEY=` with as many hexadecimal digits as keys
    /// have. Checksums and commits look the same, so the name must be a
    /// variable and must not announce one of them.
    fn is_hex_key(&self, value: &str, left: &str) -> bool {
        const CHECKSUM_WORDS: [&str; 9] = [
            "gpg", "pgp", "sha", "md5", "hash", "sum", "commit", "digest", "finger",
        ];
        self.is_variable()
            && [32, 40, 64].contains(&value.len())
            && !CHECKSUM_WORDS.iter().any(|sum| left.contains(sum))
            && has_char(value, |c| c.is_ascii_digit())
            && has_char(value, |c| c.is_ascii_lowercase())
            && !has_char(value, |c| c.is_ascii_uppercase())
            && byte_entropy(value) >= 3.0
    }

    fn is_service_token(&self, value: &str) -> bool {
        let name = self.name.to_ascii_lowercase();
        let telling = [
            "key",
            "token",
            "secret",
            "auth",
            "bearer",
            "pass",
            "credential",
        ]
        .iter()
        .any(|word| name.contains(word));
        if is_uuid(value) {
            return telling;
        }
        let hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
        let lengths = if hex {
            [24, 32, 37, 40, 64].contains(&value.len())
        } else {
            value.len() >= 14
        };
        self.joint == ValueJoint::Sign
            && lengths
            && (telling || value.len() >= 20)
            && value
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"+/_=-%.|".contains(&it))
            && has_char(value, |c| c.is_ascii_digit())
            && !is_likely_name(value)
            && !is_uuid_or_checksum(value)
            && byte_entropy(value) >= 3.0
    }
}

/// Finds a random string behind a secret word on the same line.
fn find_in_sentence(text: &str, start: usize, from: usize) -> Option<Range<usize>> {
    const MIN_VALUE_BYTES: usize = 20;
    if word_before(text, start)
        .to_ascii_lowercase()
        .contains("csrf")
    {
        return None;
    }
    let limit = text.floor_char_boundary(from + 64);
    let line = &text[from..limit];
    let line = &line[..line.find(['\n', '‹', '›']).unwrap_or(line.len())];
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte);
    let mut at = 0;
    while at < line.len() {
        let bytes = &line.as_bytes()[at..];
        let long = bytes.iter().take_while(|&&byte| part(byte)).count();
        if long == 0 {
            at += 1;
            continue;
        }
        let begin = from + at;
        at += long;
        let before = text[..begin].chars().next_back();
        if !before.is_some_and(|c| c.is_whitespace() || "\"'`=:(*".contains(c)) {
            continue;
        }
        // It may be longer than what was looked at.
        let whole = text[begin..]
            .bytes()
            .take(256)
            .take_while(|&byte| part(byte))
            .count();
        let value = &text[begin..begin + whole];
        let name = &text[start..begin];
        let is_cut_short = text[begin + whole..].starts_with(['…', '.']);
        if whole >= MIN_VALUE_BYTES && !is_cut_short && is_loose_secret(value, name) {
            let padding = text[begin + whole..]
                .bytes()
                .take(2)
                .take_while(|&it| it == b'=')
                .count();
            return Some(begin..begin + whole + padding);
        }
    }
    None
}

fn is_loose_secret(value: &str, name: &str) -> bool {
    // Commits and sums are written in hexadecimal, so this is left to
    // assignments.
    // Sums of Go's modules are marked by `h1:`.
    !value.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !name.ends_with("h1:")
        && looks_random(value)
        && !is_uuid_or_checksum(value)
        && !names_something_else(name)
        && !looks_like_place(value)
        && has_char(value, |c| c.is_ascii_lowercase())
        && has_char(value, |c| c.is_ascii_uppercase())
        && byte_entropy(value) >= 3.8
}

/// A table whose rows were read. A row can be a head again, so without this
/// each row would be read from every head above it.
#[derive(Default)]
pub(super) struct TelltaleTable {
    /// The end of the last line with a bar.
    end: usize,
    /// The columns that were read, each for one kind of secret.
    columns: Vec<(usize, SecretKind)>,
}

/// Columns of a table that are searched. No real table has more secret columns,
/// and without a bound a hostile one would be read again for each.
const MAX_COLUMNS: usize = 16;

/// Finds the cells below a secret word in the head of a table. Heads come in
/// the order of the text.
pub(super) fn find_column_values(
    text: &str,
    start: usize,
    kind: SecretKind,
    table: &mut TelltaleTable,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !matches!(kind, SecretKind::Password | SecretKind::Token) {
        return found;
    }
    let near = text.floor_char_boundary(start.saturating_sub(MAX_VALUE_BYTES));
    let line_start = match text[near..start].rfind('\n') {
        Some(at) => near + at + 1,
        None if near == 0 => 0,
        None => return found,
    };
    let head = &text[line_start..text.floor_char_boundary(start + MAX_VALUE_BYTES)];
    let Some(head) = head
        .split_once('\n')
        .map(|it| it.0)
        .filter(|it| it.contains('|'))
    else {
        return found;
    };
    let nth = text[line_start..start].matches('|').count();
    let name = nth_cell(head, nth).map_or("", |it| &head[it]);
    if names_something_else(name) {
        return found;
    }
    if line_start >= table.end {
        *table = TelltaleTable::default();
    }
    let is_read = table.columns.contains(&(nth, kind));
    if is_read || table.columns.len() >= MAX_COLUMNS {
        return found;
    }
    let mut at = line_start + head.len() + 1;
    let mut rows = text[at..].split_inclusive('\n');
    let Some(rule) = rows.next() else {
        return found;
    };
    if !rule.contains("--") || !rule.trim().bytes().all(|it| b"|-: ".contains(&it)) {
        return found;
    }
    at += rule.len();
    for row in rows {
        record_work(row.len());
        if !row.contains('|') {
            break;
        }
        if let Some(place) = nth_cell(row, nth)
            && let Some(value) = value_at_place(
                row,
                place.start + row[place.clone()].len()
                    - row[place.clone()]
                        .trim_start_matches([' ', '\t', '*'])
                        .len(),
                0,
            )
        {
            let judged = ValueCandidate {
                kind,
                joint: ValueJoint::Sign,
                left: "",
                name,
                quoted: value.1,
                before: "",
                is_typed: false,
                value: &row[value.0.clone()],
            };
            if value.0.end <= place.end && judged.is_secret() {
                found.push(at + value.0.start..at + value.0.end);
            }
        }
        at += row.len();
    }
    table.end = at;
    table.columns.push((nth, kind));
    found
}

/// Returns the cell of a row after this many bars.
fn nth_cell(row: &str, nth: usize) -> Option<Range<usize>> {
    let mut bars = row.match_indices('|').map(|(at, _)| at);
    let start = match nth {
        0 => 0,
        nth => bars.nth(nth - 1)? + 1,
    };
    let end = row[start..].find('|').map_or(row.len(), |it| start + it);
    Some(start..end)
}
