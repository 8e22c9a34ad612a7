//! Every secret here is put together when the test runs, so that the file
//! holds nothing a scanner would report.

use super::*;

/// Letters of both cases and digits, the same every time.
fn noise(length: usize) -> String {
    noise_of("A7kQz3Rv9LmX2bTc8WnY5dHf4GsJ6pEu1oVi0BqKyNtDxC", length)
}

fn hex(length: usize) -> String {
    noise_of("3f9a1c7e5b2d8046", length)
}

fn base58(length: usize) -> String {
    noise_of("A7kQz3Rv9LmX2bTc8WnY5dHf4GsJ6pEu1oViBqKyNtDxC", length)
}

fn noise_of(alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    (0..length)
        .map(|i| letters[(i * 7 + i / 5 * 3) % letters.len()])
        .collect()
}

#[track_caller]
fn check(before: &str, secret: &str, after: &str, rule: &str) {
    let text = format!("{before}{secret}{after}");
    let span = before.len()..before.len() + secret.len();
    let found = find_secrets(&text);
    assert!(
        found
            .iter()
            .any(|found| found.rule == rule && found.span == span),
        "expected {rule} at {span:?} of {:.200?}, found {found:?}",
        text
    );
    let clean = redact_secrets(&text);
    assert_eq!(clean, format!("{before}‹redacted: {rule}›{after}"));
    assert_eq!(redact_secrets(&clean), clean, "redacting twice");
}

#[test]
fn tokens_with_a_prefix() {
    let upper = noise(60).to_uppercase();
    check(
        "id: ",
        &format!("{}{}", concat!("AK", "IA"), &upper[..16]),
        "\n",
        "aws-access-key",
    );
    for prefix in [
        concat!("gh", "p_"),
        concat!("gh", "o_"),
        concat!("gh", "s_"),
    ] {
        check(
            "use ",
            &format!("{prefix}{}", noise(36)),
            ".",
            "github-token",
        );
    }
    check(
        "",
        &format!("{}{}", concat!("github", "_pat_"), noise(60)),
        "",
        "github-token",
    );
    check(
        "(",
        &format!("{}{}", concat!("gl", "pat-"), noise(20)),
        ")",
        "gitlab-token",
    );
    check(
        "`",
        &format!("{}{}-{}", concat!("xo", "xb-"), "2417893465", noise(24)),
        "`",
        "slack-token",
    );
    check(
        "",
        &format!("{}{}", concat!("sk", "_live_"), noise(24)),
        "",
        "stripe-key",
    );
    check(
        "",
        &format!("{}{}", concat!("AI", "za"), noise(35)),
        "",
        "google-key",
    );
    check(
        "key ",
        &format!("{}{}", concat!("sk-", "ant-api03-"), noise(90)),
        "",
        "anthropic-key",
    );
    check(
        "key ",
        &format!("{}{}", concat!("sk-", "proj-"), noise(48)),
        "",
        "openai-key",
    );
    check(
        "",
        &format!("{}{}", concat!("np", "m_"), noise(36)),
        "",
        "npm-token",
    );
    check(
        "",
        &format!("{}{}", concat!("pypi", "-AgE"), noise(80)),
        "",
        "pypi-token",
    );
    check(
        "",
        &format!("{}{}.{}", concat!("S", "G."), noise(22), noise(43)),
        "",
        "sendgrid-key",
    );
    check(
        "",
        &format!("{}{}", concat!("S", "K"), hex(32)),
        "",
        "twilio-key",
    );
    check(
        "",
        &format!("{}{}", concat!("h", "f_"), noise(34)),
        "",
        "huggingface-token",
    );
    check(
        concat!("Account", "Key="),
        &format!("{}==", noise(86)),
        ";",
        "azure-key",
    );
    let part = concat!("ey", "J");
    check(
        "",
        &format!("{part}{}.{part}{}.{}", noise(20), noise(40), noise(43)),
        "",
        "jwt",
    );
}

#[test]
fn long_tokens_are_covered_to_their_end() {
    let part = concat!("ey", "J");
    check(
        "",
        &format!("{part}{}.{part}{}.{}", noise(20), noise(40_000), noise(43)),
        " ",
        "jwt",
    );
}

#[test]
fn private_keys() {
    for kind in ["", "RSA ", "OPENSSH "] {
        let begin = format!(
            "{}{kind}{}",
            concat!("-----BE", "GIN "),
            "PRIVATE KEY-----\n"
        );
        let end = format!("{}{kind}{}", concat!("-----E", "ND "), "PRIVATE KEY-----");
        let body = format!("{}\n{}\n", noise(64), noise(64));
        check(
            "text\n",
            &format!("{begin}{body}{end}"),
            "\nmore",
            "private-key",
        );
    }
    let begin = format!("{}{}", concat!("-----BE", "GIN "), "RSA PRIVATE KEY-----\n");
    let cut = format!("{begin}{}\n{}", noise(64), noise(64));
    check("", &cut, ".", "private-key");
    let end = format!("{}{}", concat!("-----E", "ND "), "RSA PRIVATE KEY-----");
    let locked = format!("{begin}Proc-Type: 4,ENCRYPTED\n\n{}\n{end}", noise(64));
    check("", &locked, "\n", "private-key");
    let prose = format!("It starts with `{begin}` and goes on until the closing line `{end}`.");
    assert_eq!(find_secrets(&prose), []);
}

#[test]
fn assignments() {
    let value = noise(24);
    let rule = "assigned-secret";
    check("password=", &value, "\n", "password");
    check("DB_PASSWORD=\"", &value, "\"", "password");
    check("secret: '", &value, "'", rule);
    check("api_key = ", &value, ", next", rule);
    check("\"apiKey\": \"", &value, "\",", rule);
    check("client_secret: ", &hex(32), "", rule);
    check("clientSecret => ", &value, "", rule);
    check("Password: ", concat!("Tr0ub4dor", "&3x!"), "", "password");
}

#[test]
fn other_places() {
    check(
        "postgres://app:",
        &noise(12),
        "@db.internal/main",
        "connection-url",
    );
    check("Authorization: Bearer ", &noise(40), "", "bearer-token");
    check(
        "The secret for staging is ",
        &noise(40),
        " since May",
        "assigned-secret",
    );
}

#[test]
fn places_with_a_form_of_their_own() {
    let value = noise(68);
    check(
        concat!("https://discord.com/api/web", "hooks/123456789012345678/"),
        &value,
        "",
        "webhook",
    );
    check(
        concat!("https://hooks.sl", "ack.com/services/"),
        &format!("T0A1B2C3D/B0A1B2C3D/{}", noise(24)),
        "\n",
        "slack-token",
    );
    check(
        "bot 123456789:",
        &format!("{}{}", concat!("A", "A"), noise(33)),
        " ",
        "telegram-token",
    );
    let uuid = format!("{}-{}-{}-{}-{}", hex(8), hex(4), hex(4), hex(4), hex(12));
    check(
        concat!("//registry.example/:_auth", "Token="),
        &uuid,
        "\n",
        "npmrc-token",
    );
    check(
        concat!("machine a.example login ann pass", "word "),
        "hunter22",
        "\n",
        "netrc-password",
    );
    check(
        concat!("client-key", "-data: "),
        &noise(900),
        "\n",
        "kubeconfig-key",
    );
    // `ann:hunter22`
    check(
        "\"auth\": \"",
        concat!("YW5uOmh1", "bnRlcjIy"),
        "\"",
        "registry-login",
    );
    check(
        concat!("Server=x;User Id=y;Pass", "word="),
        "hunter22",
        ";",
        "connection-string",
    );
    check(concat!("STRIPE_", "KEY="), &noise(32), "\n", "assigned-key");
    check(
        "",
        &format!("{}{}", concat!("gs", "k_"), noise(52)),
        " ",
        "groq-key",
    );
    check(
        "",
        &format!("{}{}", concat!("hv", "s."), noise(90)),
        " ",
        "vault-token",
    );
}

#[test]
fn a_piece_of_a_key_is_known_as_one() {
    let line = noise(64);
    let begin = format!("{}{}", concat!("-----BE", "GIN "), "RSA PRIVATE KEY-----\n");
    let end = format!("{}{}", concat!("-----E", "ND "), "RSA PRIVATE KEY-----\n");
    let body = format!("{line}\n{line}\n{line}\n{line}\n{}\n", noise(20));
    let told = |text: &str| replace_secrets(text, &find_secrets_in_part(text));
    for text in [
        format!("before\n{body}after\n"),
        format!("before\n{begin}{body}"),
        format!("{line}\n{end}after\n"),
        format!("before\n{begin}{body}{end}after\n"),
    ] {
        let told = told(&text);
        assert!(!told.contains(&line[..20]), "{told}");
        assert!(told.contains("‹redacted: private-key›"), "{told}");
    }
    // Nobody minds a certificate, a picture, or two sums.
    let kept = [
        format!("-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"),
        format!("![x](data:image/png;base64,{})\n", noise(4_000)),
        format!(
            "{}  a\n{}  b\n{}  c\n{}  d\n",
            hex(64),
            hex(64),
            hex(64),
            hex(64)
        ),
        format!("{}\n{}\n{}\n{}\n", hex(64), hex(64), hex(64), hex(64)),
    ];
    for text in kept {
        assert_eq!(told(&text), text);
    }
}

#[test]
fn a_token_inside_a_value_takes_the_whole_value() {
    let token = format!("{}{}", concat!("gh", "p_"), noise(36));
    check("token=", &token, "", "github-token");
    check("token=", &format!("{token}&Scope1"), "", "github-token");
}

/// What Markdown really holds: bold names, cells, sentences, blocks, command
/// lines and other languages.
#[test]
fn passwords_as_people_write_them_down() {
    let value = concat!("kQ7!", "xv9Rw2");
    for (before, after) in [
        ("**Password:** ", "\n"),
        ("**Password**: `", "`"),
        ("- Passwort: ", "\n"),
        ("The admin password is ", "\n"),
        ("Password (staging): ", "\n"),
        ("| Password | ", " |\n"),
        ("| User | Password |\n|---|---|\n| ann | ", " |\n"),
        ("password: |\n  ", "\n"),
        ("<password>", "</password>"),
        ("deploy --password ", " --env prod"),
        ("PGPASSWORD=", " psql -h db"),
        ("https://host/login?user=a&password=", "&next=b"),
    ] {
        check(before, value, after, "password");
    }
    for (before, after) in [
        ("mysql -u root -p", " shop"),
        ("curl -u admin:", " https://api.internal/v1"),
        ("sshpass -p ", " ssh root@host"),
        ("docker login -u ann -p ", " registry.internal"),
    ] {
        check(before, value, after, "login-option");
    }
}

/// What a second look from outside still found in the index.
#[test]
fn secrets_that_once_passed() {
    let value = concat!("kQ7!", "xv9Rw2");
    for (before, after, rule) in [
        ("{\\\"password\\\": \\\"", "\\\"}", "password"),
        (
            "{\\\\\\\"password\\\\\\\":\\\\\\\"",
            "\\\\\\\", ",
            "password",
        ),
        (
            "dotnet user-secrets set \"Db:Password\" \"",
            "\"",
            "login-option",
        ),
        ("Login: admin / ", "\n", "password"),
        ("**Login:** `admin` / `", "`", "password"),
        ("requirepass ", "\n", "password"),
        ("Password - ", "\n", "password"),
        ("Password:\n\n```\n", "\n```\n", "password"),
        ("**Password**:\n\n    ", "\n", "password"),
        ("htpasswd -b f bob ", "\n", "login-option"),
        ("htpasswd -nbB bob ", " | tee f", "login-option"),
        ("openssl enc -aes-256-cbc -k ", " -in f", "login-option"),
        ("openssl enc -k ", "", "login-option"),
        ("openssl rsa -passin pass:", " -in f", "login-option"),
        ("net use z: \\\\h\\s /user:bob ", "", "login-option"),
        ("net use z: \\\\h\\s ", " /user:bob", "login-option"),
        ("snowsql -a acme -u ann -p ", " -d z", "login-option"),
        ("7z a -p", " archive2.7z", "login-option"),
        ("<input type=\"password\" value=\"", "\">", "password"),
        (
            "<input name=\"p\" value=\"",
            "\" type=\"password\">",
            "password",
        ),
    ] {
        check(before, value, after, rule);
    }
    for (name, length) in [
        ("DD_APP_KEY", 40),
        ("AZURE_OPENAI_KEY", 32),
        ("HMAC_KEY", 64),
    ] {
        check(&format!("{name}="), &hex(length), "\n", "assigned-key");
        check(
            &format!("export {name}=\""),
            &hex(length),
            "\"\n",
            "assigned-key",
        );
    }
    let uuid = format!("{}-{}-{}-{}-{}", hex(8), hex(4), hex(4), hex(4), hex(12));
    for (token, rule) in [
        (
            format!("{}{}", concat!("prt", "api_"), hex(32)),
            "shopify-token",
        ),
        (
            format!("{}{}", hex(36), concat!("NR", "AL")),
            "newrelic-key",
        ),
        (
            format!("{}{}.{}", concat!("api_", "live."), noise(11), noise(32)),
            "onfido-token",
        ),
        (
            format!("{}{}{}", concat!("ji", "na_"), hex(32), noise(28)),
            "jina-key",
        ),
        (
            format!("{}{}", concat!("f", "w_"), noise(24)),
            "fireworks-key",
        ),
        (
            format!("{}{}.{}", concat!("snyk", "_uat."), hex(8), noise(60)),
            "snyk-token",
        ),
        (format!("{}{uuid}", concat!("wa", "ka_")), "wakatime-key"),
        (format!("5J{}", base58(49)), "bitcoin-key"),
        (format!("Kx{}", base58(50)), "bitcoin-key"),
        (format!("L4{}", base58(50)), "bitcoin-key"),
    ] {
        check("use ", &token, " for it", rule);
    }
    check(
        "The key of Mailgun is ",
        &format!("{}{}", concat!("ke", "y-"), hex(32)),
        ".",
        "mailgun-key",
    );
}

/// Below a rule that is a row, the head still holds, and a cell that is read
/// for one head is not lost for another.
#[test]
fn every_row_below_a_head_is_read() {
    let value = concat!("kQ7!", "xv9Rw2");
    let head = "| User | Password |\n|---|---|\n| ann | none |\n|---|---|\n| bob | ";
    check(head, value, " |\n", "password");
    let other = "| Password file | x |\n|---|---|\n| Password | y |\n|---|---|\n| ";
    check(other, value, " | z |\n", "password");
    let apart = "| a | Password |\n|---|---|\n| b | none |\n\n| c | Password |\n|---|---|\n| d | ";
    check(apart, value, " |\n", "password");
}

/// A `<` or `{` inside a value does not make it a placeholder; a whole value
/// such as `<password>`, `{{ x }}` or `${X}` is one.
#[test]
fn brackets_inside_of_a_value_hide_nothing() {
    for value in [concat!("aB3<dE9", "{fG7hJ2"), concat!("x9}Kq<", "2mW[7z!")] {
        check("password: ", value, "\n", "password");
        check("password = \"", value, "\"", "password");
    }
    for text in [
        "password: <password>",
        "password: {{ db_password }}",
        "password: {{db_password2}}",
        "password: ${DB_PASSWORD}",
        "password: $(pass show db/9)",
        "password: [password1]",
        "password=%DB_PASSWORD2%",
    ] {
        assert_eq!(find_secrets(text), [], "{text}");
    }
}

#[test]
fn a_secret_is_known_through_its_disguise_beside_another() {
    let upper = noise(60).to_uppercase();
    let key = format!("{}{}", concat!("AK", "IA"), &upper[..16]);
    let other = format!("{}{}", concat!("AK", "IA"), &upper[20..36]);
    let mark = "‹redacted: aws-access-key›";
    for hidden in [
        format!("{}\u{200b}{}", &key[..7], &key[7..]),
        key.replace('A', "\\u0041"),
        format!("{}\u{e0041}{}", &key[..9], &key[9..]),
    ] {
        // As many are found with the disguise as without it.
        let text = format!("one {hidden} and {other} two");
        assert_eq!(redact_secrets(&text), format!("one {mark} and {mark} two"));
    }
    let escaped = format!("use {}{}", concat!("sk", "\\_live\\_"), noise(24));
    assert_eq!(redact_secrets(&escaped), "use ‹redacted: stripe-key›");
}

/// However long a key is, all of it goes.
#[test]
fn a_key_of_many_lines_goes_whole() {
    let line = format!("{}\n", noise(64));
    let title = format!("{} PRIVATE KEY", "PGP");
    let key = format!(
        "-----BEGIN {title}-----\n{}-----END {title}-----",
        line.repeat(1_000)
    );
    check("before\n", &key, "\nafter", "private-key");
}

/// The work grows with the text: what begins often and never ends, and what
/// is longer than every window. Quadratic work would not end here.
#[test]
fn long_runs_are_looked_at_once() {
    let part = concat!("ey", "J");
    let often = format!("{part}-").repeat(500_000);
    let dotted = format!("{}.{part}", format!("{part}-").repeat(2_000)).repeat(200);
    let assigned = "password=".repeat(200_000);
    let opened = concat!("-----BE", "GIN ").repeat(100_000);
    for text in [often, dotted, assigned, opened] {
        let twice = format!("{text}{text}");
        assert!(find_secrets(&twice).len() <= 2 * find_secrets(&text).len() + 1);
    }
}

#[test]
fn innocents() {
    let commit = hex(40);
    let sum = hex(64);
    let uuid = format!("{}-{}-{}-{}-{}", hex(8), hex(4), hex(4), hex(4), hex(12));
    for text in [
        "password = your-api-key-1234",
        "password: <token>",
        "password: ${DB_PASSWORD}",
        "DB_PASSWORD=$DB_PASSWORD2",
        "api_key = xxxxxxxxxxxxxxxxxxxx",
        "secret: changeme123!",
        "export API_KEY=abcdefgh12345678",
        "token: process.env.GITHUB_TOKEN1",
        "secret = config.auth.secretKey2",
        "let token = next_token2(input);",
        "tokenizer: o200k_base",
        "max_tokens = 4096",
        "tokens: 12,345,678 in total",
        "password_hash: $2b$12$abcDEF123ghi",
        "The password policy asks for 12 characters.",
        "Password - see Section2 of the guide",
        "Password:\n\n```yaml\napiVersion: v1\nkind: Secret2\n```",
        "Reset the password:\n\n    kubectl delete Pod1 now",
        "secret santa list 2024-2025",
        "postgres://postgres:postgres@localhost/db",
        "postgres://user:password@localhost/db",
        "https://user:${TOKEN}@host",
        "postgresql://postgres.[ref]:[password]@host:6543/postgres",
        "Sec-Token-Crypto-Version: PrivateStateTokenV1VOPRF",
        "http://localhost:8080/@scope/pkg",
        "git@github.com:owner/repo.git",
        "task-list-with-a-very-long-name-2024-final-version",
        "disk-usage-report-for-the-whole-cluster-2024",
        "sk-learn-based-model-selection-and-evaluation-2",
        "AKIAIOSFODNN7EXAMPLE",
        "token in crates/forge-app/src/secrets/rules2.rs",
        "the token see knowledge/2026/architecture-decision-records/Auth2Flow.md",
        "eyJust a word. eyJack.",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "auth token: see 1Password vault",
        "Authorization: Bearer <your token here>",
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "Basic usage: see BasicAuthenticationProvider2 below",
        "primary_key: CustomerOrderNumber2024Abc",
        "PUBLIC_KEY=AbCdEf0123GhIjKl4567MnOp",
        "machine learning login password reset",
        "Server=x;Password=password;",
        "/api/webhooks/123/abc",
        "key-value-store-with-a-long-name-2024",
        "comparing [the-secret-number]: ch02-00-guessing-game.html#comparing",
        "| `--password` | Contraseña de cifrado2 |",
        "password: p4ssw0rd!1",
        "csrftoken=zIPUJsAZv6pcgCBJSCj1zU6pQZbfMUAT",
        "in login or password reset2 forms",
        "docker run -p 8080:80 image2",
        "mkdir -p build2/out",
        "ssh -p 2222 host1",
        "7z a -p archive2.7z files",
        "openssl enc -aes-256-cbc -in a1 -out b2",
        "| password | `Min8Chars!Required` |",
        "| field | password |\n|---|---|\n| rule | `Min8Chars!Required` |",
        "Login: https://host.internal/Path9/a",
        "Login: see docs / README9.md",
        "ENV GPG_KEY=E3FF2839C048B25C084DEBE9B26995E310250568",
        "requirepass foobared",
        "dotnet user-secrets set \"Movies:ServiceApiKey\" \"12345\"",
        "<input type=\"password\" value=\"\" name=\"p1\">",
        "<input type=\"password\" value=\"Some value9\" readonly />",
        "htpasswd -c /etc/nginx/users2 ann",
        "net use z: \\\\host\\share /persistent:yes",
        &format!("key-{}", &hex(40)),
        &format!("key-{}", &hex(32)),
        &format!("COMMIT_KEY={}", hex(40)),
        &format!("cache_key={}", hex(64)),
        &format!("+Kx{}/", base58(50)),
        &format!("checksum = \"{}\"", hex(64)),
        &format!("![x](data:image/png;base64,{})", noise(400)),
        &format!("commit {commit}"),
        &format!("token fix landed in {commit}"),
        &format!("secret scanning: sha256 {sum}"),
        &format!("\"integrity\": \"sha512-{}==\"", noise(86)),
        &format!("token: sha512-{}", noise(86)),
        &format!("secret id {uuid}"),
        &format!("token: {uuid}"),
        &noise(64),
    ] {
        assert_eq!(find_secrets(text), [], "{text:?}");
        assert!(matches!(redact_secrets(text), Cow::Borrowed(_)));
    }
}

#[test]
fn everything_else_is_kept() {
    let value = noise(24);
    let text = format!("é日本\r\npassword={value}\r\n\0🦀 secret: '{value}'\t");
    let clean = redact_secrets(&text);
    let mark = "‹redacted: assigned-secret›";
    let password = "‹redacted: password›";
    assert_eq!(
        clean,
        format!("é日本\r\npassword={password}\r\n\0🦀 secret: '{mark}'\t")
    );
    assert_eq!(redact_secrets(&clean), clean);
}

/// What was no secret as part of a longer run is none when the rest is gone.
#[test]
fn what_touches_a_placeholder_is_left_as_it_is() {
    let (value, mark) = (noise(32), "‹redacted: github-token›");
    for clean in [
        format!("token: {mark}_key={value}"),
        format!("token: {value}{mark}"),
    ] {
        assert_eq!(redact_secrets(&clean), clean);
    }
    let apart = format!("{mark} SERVICE_KEY={value}\n‹token›password={value}");
    assert_eq!(find_secrets(&apart).len(), 2, "{apart}");
}

proptest::proptest! {
    #[test]
    fn spans_are_in_order_and_redacting_is_idempotent(
        parts in proptest::collection::vec("(password|secret: |token=|sk-|://a:|@|eyJ|\\.|[A-Za-z0-9]{1,30}|[ \n\"'é🦀])", 0..40)
    ) {
        let text = parts.concat();
        let mut last = 0;
        for SecretSpan { span, .. } in find_secrets(&text) {
            proptest::prop_assert!(last <= span.start && span.start < span.end);
            proptest::prop_assert!(text.get(span.clone()).is_some());
            last = span.end;
        }
        let once = redact_secrets(&text);
        proptest::prop_assert_eq!(redact_secrets(&once), once.as_ref());
    }
}

#[test]
fn the_fingerprint_of_the_rules_covers_every_file_of_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/secrets");
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "tests.rs").collect();
    names.sort();
    assert_eq!(names, RULE_SOURCES.map(|(name, _)| name));
}

/// Twice the text is at most twice the work, whatever it repeats: every
/// beginning of a token, every hint, every telling word, in prose and as the
/// head of a table.
#[test]
fn the_work_grows_with_the_text_for_every_beginning() {
    const SIZE: usize = 2_500;
    let repeat = |unit: &str, bytes: usize| unit.repeat(bytes / unit.len() + 1);
    let mut units: Vec<String> = Vec::new();
    for prefix in token_prefixes() {
        units.extend([prefix.to_owned(), format!("{prefix}9-")]);
    }
    for word in hint_words() {
        units.push(format!("The {word} is not here. "));
        units.push(format!("{word}:\n"));
        units.push(format!("| {word} |\n|---|\n"));
    }
    let mut steep = Vec::new();
    for unit in units {
        let once = work_of(&repeat(&unit, SIZE));
        let twice = work_of(&repeat(&unit, 2 * SIZE));
        if twice * 10 > once * 23 + 10 * SIZE {
            steep.push(format!("{unit:?}: {once}, {twice}"));
        }
    }
    assert!(steep.is_empty(), "{} are steep: {steep:#?}", steep.len());
}

/// Where one text is followed from many places.
#[test]
fn the_work_grows_with_the_text_for_what_begins_often_and_ends_once() {
    let table = |rows: usize| {
        let head = "| password | token | secret | password |\n|---|---|---|---|\n";
        format!("{head}{}", "| a | b | c | d |\n".repeat(rows))
    };
    let columns = |rows: usize| {
        let row = |nth: usize| format!("{}password |\n|--|\n", "|".repeat(nth % 400));
        (0..rows).map(row).collect::<String>()
    };
    let putty = |count: usize| {
        let heads = "private-lines: ".repeat(count);
        let line = format!("{}\n", noise(20));
        format!("{heads}\n{}", line.repeat(count))
    };
    let putty_alone = |count: usize| "private-lines: ".repeat(count);
    let makers: [(&str, &dyn Fn(usize) -> String); 4] = [
        ("table", &table),
        ("columns", &columns),
        ("putty", &putty),
        ("putty without a block", &putty_alone),
    ];
    for (name, make) in makers {
        let (once, twice) = (work_of(&make(1_000)), work_of(&make(2_000)));
        assert!(twice * 10 <= once * 23 + 100_000, "{name}: {once}, {twice}");
    }
}

fn work_of(text: &str) -> usize {
    crate::work::counted(|| find_secrets(text))
}
