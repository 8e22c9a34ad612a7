//! Finds values behind a secret word, in every form in which people write them
//! down: `password=…`, `**Password:** …`, `"apiKey": "…"`, `--token …`, `the
//! password is …`, a cell of a table, the line below in YAML.

use std::ops::Range;

use crate::work::looked_at;

use super::checks::{
    entropy, has, is_default, is_hash, is_name, is_placeholder, is_uuid, is_words, looks_like_code,
    looks_like_place, names_something_else, random, variety,
};

/// The kind of value that a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) const WORDS: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwort", Kind::Password),
    ("kennwort", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("passcode", Kind::Password),
    ("pwd", Kind::Password),
    ("mot de passe", Kind::Password),
    ("contraseña", Kind::Password),
    ("senha", Kind::Password),
    ("_pass", Kind::Password),
    ("pass:", Kind::Password),
    ("pass=", Kind::Password),
    ("pw:", Kind::Password),
    ("pw=", Kind::Password),
    ("secret", Kind::Token),
    ("api_key", Kind::Token),
    ("api-key", Kind::Token),
    ("api key", Kind::Token),
    ("apikey", Kind::Token),
    ("access_key", Kind::Token),
    ("access-key", Kind::Token),
    ("access key", Kind::Token),
    ("accesskey", Kind::Token),
    ("auth_key", Kind::Token),
    ("auth-key", Kind::Token),
    ("authkey", Kind::Token),
    ("private_key", Kind::Token),
    ("private-key", Kind::Token),
    ("private key", Kind::Token),
    ("privatekey", Kind::Token),
    ("presharedkey", Kind::Token),
    ("encryption_key", Kind::Token),
    ("encryption-key", Kind::Token),
    ("encryptionkey", Kind::Token),
    ("signing_key", Kind::Token),
    ("signing-key", Kind::Token),
    ("signing key", Kind::Token),
    ("master_key", Kind::Token),
    ("master key", Kind::Token),
    ("license key", Kind::Token),
    ("license_key", Kind::Token),
    ("token", Kind::Token),
    ("credential", Kind::Token),
    ("_key", Kind::Key),
    ("adafruit", Kind::Service), ("adobe", Kind::Service), ("airtable", Kind::Service),
    ("algolia", Kind::Service), ("alibaba", Kind::Service), ("asana", Kind::Service),
    ("assemblyai", Kind::Service), ("atlassian", Kind::Service), ("beamer", Kind::Service),
    ("bitbucket", Kind::Service), ("bittrex", Kind::Service), ("clickup", Kind::Service),
    ("cloudflare", Kind::Service), ("codecov", Kind::Service), ("cohere", Kind::Service),
    ("coinbase", Kind::Service), ("confluent", Kind::Service), ("contentful", Kind::Service),
    ("datadog", Kind::Service), ("deepgram", Kind::Service), ("discord", Kind::Service),
    ("droneci", Kind::Service), ("dropbox", Kind::Service), ("etherscan", Kind::Service),
    ("etsy", Kind::Service), ("facebook", Kind::Service), ("fastly", Kind::Service),
    ("finicity", Kind::Service), ("finnhub", Kind::Service), ("flickr", Kind::Service),
    ("freshbooks", Kind::Service), ("freshdesk", Kind::Service), ("gitter", Kind::Service),
    ("heroku", Kind::Service), ("hubspot", Kind::Service), ("infura", Kind::Service),
    ("intercom", Kind::Service), ("jfrog", Kind::Service), ("jenkins", Kind::Service),
    ("jira", Kind::Service), ("kraken", Kind::Service), ("kucoin", Kind::Service),
    ("launchdarkly", Kind::Service), ("linkedin", Kind::Service), ("linode", Kind::Service),
    ("looker", Kind::Service), ("mailchimp", Kind::Service), ("mailgun", Kind::Service),
    ("mapbox", Kind::Service), ("mattermost", Kind::Service), ("meraki", Kind::Service),
    ("messagebird", Kind::Service), ("mistral", Kind::Service), ("netlify", Kind::Service),
    ("newrelic", Kind::Service), ("new_relic", Kind::Service), ("nexmo", Kind::Service),
    ("nytimes", Kind::Service), ("okta", Kind::Service), ("opsgenie", Kind::Service),
    ("pagerduty", Kind::Service), ("pivotal", Kind::Service), ("plaid", Kind::Service),
    ("postmark", Kind::Service), ("private_ai", Kind::Service), ("rapidapi", Kind::Service),
    ("rollbar", Kind::Service), ("sendbird", Kind::Service), ("sentry", Kind::Service),
    ("shodan", Kind::Service), ("snyk", Kind::Service), ("sonar", Kind::Service),
    ("spotify", Kind::Service), ("squarespace", Kind::Service), ("sumologic", Kind::Service),
    ("travis", Kind::Service), ("trello", Kind::Service), ("twilio", Kind::Service),
    ("twitch", Kind::Service), ("twitter", Kind::Service), ("typeform", Kind::Service),
    ("virustotal", Kind::Service), ("vultr", Kind::Service), ("wandb", Kind::Service),
    ("yandex", Kind::Service), ("zendesk", Kind::Service), ("zoom", Kind::Service),
];

/// The bytes behind a name within which its value begins.
const REACH: usize = 96;
/// The bytes of a value that are read in one step; a longer one is followed to
/// its end.
const MAX_VALUE: usize = 512;

/// The way in which the value is joined to the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    /// `=`, `:`, `=>` and a cell of a table.
    Sign,
    /// `is`, or a dash between words.
    Word,
    /// It is on the next line.
    Below,
}

/// Finds the values behind a name that begins at `start` and ends at `end`.
pub(super) fn values(text: &str, start: usize, end: usize, kind: Kind) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let from_service = kind == Kind::Service;
    let name_end = match name_end(text, end, kind) {
        Some(it) => it,
        None => return found,
    };
    let is_flag = flag_before(text, start);
    let in_xml = text[..start].ends_with('<');
    let joined = joint(text, name_end, is_flag, in_xml, from_service);
    if let Some((value_at, joint)) = joined
        && let Some(value) = value_at_place(text, value_at, start)
    {
        let judged = Judged {
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
    if found.is_empty() && matches!(kind, Kind::Password | Kind::Token) {
        found.extend(in_sentence(text, start, name_end));
    }
    found
}

/// Returns where the whole name ends: `token` of `tokenSecret_2`. If small
/// letters follow, it is another word.
fn name_end(text: &str, end: usize, kind: Kind) -> Option<usize> {
    let bytes = text.as_bytes();
    let closed = matches!(bytes[end - 1], b':' | b'=');
    if closed {
        return Some(end - 1);
    }
    let mut at = end;
    // Only the last letters: the text before may be long, and names are many.
    let word = &bytes[end.saturating_sub("credential".len())..end];
    looked_at(word.len());
    let plural = kind == Kind::Token && word.eq_ignore_ascii_case(b"credential");
    if plural && bytes.get(at) == Some(&b's') {
        at += 1;
    }
    if bytes.get(at).is_some_and(u8::is_ascii_lowercase) {
        return (kind == Kind::Service).then_some(at);
    }
    let tail = bytes[at..].iter().take(32);
    at += tail
        .take_while(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'))
        .count();
    Some(at)
}

/// Returns `true` if the name is an option of a command: `--db-password`.
fn flag_before(text: &str, start: usize) -> bool {
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
fn joint(
    text: &str,
    from: usize,
    is_flag: bool,
    in_xml: bool,
    loose: bool,
) -> Option<(usize, Joint)> {
    let limit = text.floor_char_boundary(from + REACH);
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
            Joint::Sign
        }
        None if near[at..].starts_with('>') && in_xml => {
            at += 1;
            Joint::Sign
        }
        None if near[at..].starts_with(", ") && near[..at].contains(['\'', '"']) => {
            at += 1;
            Joint::Sign
        }
        None if is_flag && at > 0 && near[..at].ends_with([' ', '\t']) => Joint::Sign,
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
            Joint::Word
        }
    };
    at = skip(at, "*_", 3);
    at = skip(at, " \t", 16);
    at = skip(at, "*", 3);
    // The line below: a block of YAML, a list, a block of code.
    let block = skip(at, "|>+-0123456789", 3);
    let rest = near[block..].trim_start_matches([' ', '\t', '\r']);
    if rest.starts_with('\n') && joint == Joint::Sign {
        let mut line = from + near.len() - rest.len() + 1;
        line += blank_line_before_code(&text[line..]);
        for fence in ["```", "~~~"] {
            let near = &text[line..text.floor_char_boundary(line + REACH)];
            let after = near.trim_start_matches([' ', '\t', '\r']);
            if after.starts_with(fence) {
                line += near.len() - after.len() + after.find('\n')? + 1;
            }
        }
        let indent = text[line..].bytes().take(REACH);
        line += indent.take_while(|it| b" \t".contains(it)).count();
        if text[line..].starts_with("- ") {
            line += 2;
        }
        return (line > from).then_some((line, Joint::Below));
    }
    Some((from + at, joint))
}

/// Returns the length of the empty line that Markdown needs before a block of
/// code; 0 if something else follows.
fn blank_line_before_code(text: &str) -> usize {
    let near = &text[..text.floor_char_boundary(REACH)];
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
            .take(MAX_VALUE)
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
    let mut value = &text[start..text.floor_char_boundary(start + MAX_VALUE)];
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
    let near = text.floor_char_boundary(name.saturating_sub(MAX_VALUE));
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
    let near = &rest[start..rest.floor_char_boundary(start + MAX_VALUE)];
    let end = near.find(|c: char| c == quote || c.is_whitespace());
    let end = end.unwrap_or(near.len());
    let is_closed = end == near.len() || near[end..].starts_with(quote);
    let value = near[..end].trim_end_matches('\\');
    (is_closed && !value.is_empty()).then(|| start..start + value.len())
}

/// A candidate with all that is known about it.
struct Judged<'a> {
    kind: Kind,
    joint: Joint,
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

impl Judged<'_> {
    fn is_secret(&self) -> bool {
        let value = &self.value[..self.value.floor_char_boundary(256)];
        let fits = match self.kind {
            Kind::Password => self.is_password(value),
            Kind::Token => self.is_token(value),
            Kind::Key => self.is_key(value),
            Kind::Service => self.is_of_service(value),
        };
        fits && !looks_like_place(value)
            && (self.quoted || !looks_like_code(value))
            && !names_something_else(self.name)
            && !is_placeholder(value)
    }

    fn is_password(&self, value: &str) -> bool {
        if is_hash(value) || is_default(value) || value.len() < 6 {
            return false;
        }
        if self.quoted && (self.before.contains("'test") || self.before.contains("\"test")) {
            // A test makes users of its own: `login(user='test1', password='…')`.
            return false;
        }
        let kinds = variety(value);
        let strong = value.len() >= 8 && kinds >= 3 && entropy(value) >= 2.75 && !is_words(value);
        // `PASS: TestName/case_1` is the result of a test.
        let short = self.name.starts_with("pass:") || self.name.starts_with("pass=");
        if self.name.starts_with("PASS:") || (short && value.contains('/')) {
            return false;
        }
        let digits = has(value, |c| c.is_ascii_digit()) && !value.contains(['_', '/', '(', ',']);
        let letters = has(value, |c| c.is_ascii_alphabetic());
        let mixed = has(value, |c| c.is_ascii_lowercase())
            && has(&value[value.ceil_char_boundary(1)..], |c| {
                c.is_ascii_uppercase()
            });
        if mixed && (self.is_typed || self.is_variable()) {
            return true;
        }
        match self.joint {
            Joint::Sign => {
                strong || (digits && letters && value.len() >= 7 && entropy(value) >= 2.5)
            }
            Joint::Below if self.name.starts_with("pass:") => false,
            Joint::Word | Joint::Below => {
                strong || (self.quoted && digits && letters && value.len() >= 8)
            }
        }
    }

    /// Returns `true` if the name is a variable: `PGPASSWORD=…`,
    /// `SNYK_TOKEN="…"`.
    fn is_variable(&self) -> bool {
        let upper = |text: &str| !has(text, |c| c.is_ascii_lowercase());
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
        if is_hash(value) || is_name(value) || value.ends_with("()") || value.len() < 8 {
            return false;
        }
        let kinds = variety(value);
        let bits = entropy(value);
        let digits = has(value, |c| c.is_ascii_digit());
        match self.joint {
            Joint::Sign => {
                (kinds >= 3 && bits >= 2.75 && !is_words(value))
                    || (kinds == 2 && digits && value.len() >= 14 && bits >= 3.0)
            }
            Joint::Word => kinds >= 3 && digits && bits >= 3.0,
            Joint::Below => kinds >= 2 && digits && value.len() >= 16 && bits >= 3.2,
        }
    }

    /// Returns `true` for values such as that of `STRIPE_KEY=…`. Keys of tables
    /// and caches are not secrets, and neither are public keys.
    fn is_key(&self, value: &str) -> bool {
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
        let left = self.left.to_ascii_lowercase();
        if value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return self.is_hex_key(value, &left)
                && !OTHERS.iter().any(|other| left.contains(other));
        }
        let value = value
            .strip_prefix("base64:")
            .unwrap_or(value)
            .trim_end_matches('=');
        self.joint == Joint::Sign
            && value.len() >= 20
            && value
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"+/_-".contains(&it))
            && !OTHERS.iter().any(|other| left.contains(other))
            && random(value)
            && !is_hash(value)
            && !value.starts_with("pk_")
            && has(value, |c| c.is_ascii_lowercase())
            && has(value, |c| c.is_ascii_uppercase())
            && entropy(value) >= 3.8
    }

    /// Returns `true` for `DD_APP_KEY=` with as many hexadecimal digits as keys
    /// have. Checksums and commits look the same, so the name must be a
    /// variable and must not announce one of them.
    fn is_hex_key(&self, value: &str, left: &str) -> bool {
        const SUMS: [&str; 9] = [
            "gpg", "pgp", "sha", "md5", "hash", "sum", "commit", "digest", "finger",
        ];
        self.is_variable()
            && [32, 40, 64].contains(&value.len())
            && !SUMS.iter().any(|sum| left.contains(sum))
            && has(value, |c| c.is_ascii_digit())
            && has(value, |c| c.is_ascii_lowercase())
            && !has(value, |c| c.is_ascii_uppercase())
            && entropy(value) >= 3.0
    }

    fn is_of_service(&self, value: &str) -> bool {
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
        self.joint == Joint::Sign
            && lengths
            && (telling || value.len() >= 20)
            && value
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"+/_=-%.|".contains(&it))
            && has(value, |c| c.is_ascii_digit())
            && !is_name(value)
            && !is_hash(value)
            && entropy(value) >= 3.0
    }
}

/// Finds a random string behind a secret word on the same line.
fn in_sentence(text: &str, start: usize, from: usize) -> Option<Range<usize>> {
    const LEAST: usize = 20;
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
        if whole >= LEAST && !is_cut_short && is_loose(value, name) {
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

fn is_loose(value: &str, name: &str) -> bool {
    // Commits and sums are written in hexadecimal, so this is left to
    // assignments.
    // Sums of Go's modules are marked by `h1:`.
    !value.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !name.ends_with("h1:")
        && random(value)
        && !is_hash(value)
        && !names_something_else(name)
        && !looks_like_place(value)
        && has(value, |c| c.is_ascii_lowercase())
        && has(value, |c| c.is_ascii_uppercase())
        && entropy(value) >= 3.8
}

/// A table whose rows were read. A row can be a head again, so without this
/// each row would be read from every head above it.
#[derive(Default)]
pub(super) struct TelltaleTable {
    /// The end of the last line with a bar.
    end: usize,
    /// The columns that were read, each for one kind of secret.
    columns: Vec<(usize, Kind)>,
}

/// Columns of a table that are searched. No real table has more secret columns,
/// and without a bound a hostile one would be read again for each.
const MAX_COLUMNS: usize = 16;

/// Finds the cells below a secret word in the head of a table. Heads come in
/// the order of the text.
pub(super) fn column(
    text: &str,
    start: usize,
    kind: Kind,
    table: &mut TelltaleTable,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !matches!(kind, Kind::Password | Kind::Token) {
        return found;
    }
    let near = text.floor_char_boundary(start.saturating_sub(MAX_VALUE));
    let line_start = match text[near..start].rfind('\n') {
        Some(at) => near + at + 1,
        None if near == 0 => 0,
        None => return found,
    };
    let head = &text[line_start..text.floor_char_boundary(start + MAX_VALUE)];
    let Some(head) = head
        .split_once('\n')
        .map(|it| it.0)
        .filter(|it| it.contains('|'))
    else {
        return found;
    };
    let nth = text[line_start..start].matches('|').count();
    let name = cell(head, nth).map_or("", |it| &head[it]);
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
        looked_at(row.len());
        if !row.contains('|') {
            break;
        }
        if let Some(place) = cell(row, nth)
            && let Some(value) = value_at_place(
                row,
                place.start + row[place.clone()].len()
                    - row[place.clone()]
                        .trim_start_matches([' ', '\t', '*'])
                        .len(),
                0,
            )
        {
            let judged = Judged {
                kind,
                joint: Joint::Sign,
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
fn cell(row: &str, nth: usize) -> Option<Range<usize>> {
    let mut bars = row.match_indices('|').map(|(at, _)| at);
    let start = match nth {
        0 => 0,
        nth => bars.nth(nth - 1)? + 1,
    };
    let end = row[start..].find('|').map_or(row.len(), |it| start + it);
    Some(start..end)
}
