//! Secrets: found on whole characters and in order, taken out once and for all,
//! and nothing else with them.

use forge_app::secrets::{find_secrets, redact_secrets};

pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let clean = redact_secrets(&text);
    let mut expect = String::new();
    let mut at = 0;
    for secret in find_secrets(&text) {
        assert!(
            secret.span.start >= at && !secret.span.is_empty(),
            "{secret:?}"
        );
        expect += text.get(at..secret.span.start).expect("whole characters");
        expect += &format!("‹redacted: {}›", secret.rule);
        at = secret.span.end;
    }
    expect += text.get(at..).expect("whole characters");
    assert_eq!(clean, expect);
    assert_eq!(redact_secrets(&clean), clean, "of {text:?}");
}
