//! Tokens that a service gives a beginning of their own. Each is a line of a
//! table: the beginning, and what follows it in a small language of classes
//! and counts. Nothing is compiled, so that a hook does not wait for it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use crate::work::record_work;

use super::checks::{byte_entropy, has_char, is_likely_name, is_placeholder};

/// A kind of token.
struct TokenRule {
    rule: &'static str,
    prefix: &'static str,
    /// What follows: a class and how many of it (`w36`, `t20-60`, `h40+`), or a
    /// text between quotes. See [`is_in_class`] for the classes.
    form: &'static str,
    /// Whether ordinary words begin like it, so that digits must be in it.
    common: bool,
    around: TokenBounds,
}

/// The text that must be around a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenBounds {
    Anything,
    /// The name of the service, in lower case, is near the token: tokens of
    /// other services have the same form.
    Name(&'static str),
    /// The token is not a piece of Base64 text.
    NoBase64,
}

const fn token(rule: &'static str, prefix: &'static str, form: &'static str) -> TokenRule {
    TokenRule {
        rule,
        prefix,
        form,
        common: false,
        around: TokenBounds::Anything,
    }
}

const fn common(rule: &'static str, prefix: &'static str, form: &'static str) -> TokenRule {
    TokenRule {
        common: true,
        ..token(rule, prefix, form)
    }
}

const fn token_near(name: &'static str, token: TokenRule) -> TokenRule {
    TokenRule {
        around: TokenBounds::Name(name),
        ..token
    }
}

/// Builds the rule for a private key of Bitcoin as wallets export it.
const fn wallet(prefix: &'static str, form: &'static str) -> TokenRule {
    TokenRule {
        around: TokenBounds::NoBase64,
        ..common("bitcoin-key", prefix, form)
    }
}

#[rustfmt::skip]
static TOKEN_RULES: &[TokenRule] = &[
    // Clouds.
    token("aws-access-key", "A3T", "u17"),
    token("aws-access-key", "ABIA", "u16"),
    token("aws-access-key", "ACCA", "u16"),
    token("aws-access-key", "AKIA", "u16"),
    token("aws-access-key", "ASIA", "u16"),
    common("aws-bedrock-key", "ABSK", "b100+"),
    common("aws-bedrock-key", "bedrock-api-key-", "b30+"),
    token("amazon-token", "amzn.mws.", "t36"),
    token("amazon-token", "amzn1.oa2-cs.v1.", "h64"),
    token("google-key", "AIza", "t35"),
    token("google-key", "GOCSPX-", "t28"),
    token("google-key", "ya29.", "t30+"),
    common("google-key", "1//0", "t40+"),
    token("digitalocean-token", "dop_v1_", "h64"),
    token("digitalocean-token", "doo_v1_", "h64"),
    token("digitalocean-token", "dor_v1_", "h64"),
    common("alibaba-key", "LTAI", "w16-24"),
    common("tencent-key", "AKID", "w32"),
    common("yandex-key", "AQVN", "t35-38"),
    common("yandex-key", "YC", "t38"),
    common("yandex-key", "t1.", "t10-200'.'t86"),
    token("heroku-key", "HRKU-", "t36+"),
    token("scaleway-key", "SCW", "u17"),
    token("scalingo-token", "tk-us-", "t48"),
    token("flyio-token", "fo1_", "t43"),
    common("flyio-token", "fm1r_", "b100+"),
    common("flyio-token", "fm1a_", "b100+"),
    common("flyio-token", "fm2_", "b100+"),
    common("render-token", "rnd_", "w24-40"),
    common("vercel-token", "vcp_", "w50-70"),
    common("vercel-token", "vck_", "w40-70"),
    common("netlify-token", "nfp_", "w36-46"),
    common("cloudflare-token", "cfut_", "t40-60"),
    common("cloudflare-token", "cfat_", "t40-60"),
    token("cloudflare-token", "v1.0-", "h24'-'h146"),
    common("akamai-token", "akab-", "l16'-'l16"),
    common("supabase-key", "sbp_", "l40"),
    common("supabase-key", "sb_secret_", "t20-60"),
    common("neon-key", "napi_", "l60-70"),
    token("planetscale-token", "pscale_tkn_", "x32-64"),
    token("planetscale-token", "pscale_oauth_", "x32-64"),
    token("planetscale-token", "pscale_pw_", "x32-64"),
    common("clickhouse-key", "4b1d", "w38"),
    token("databricks-token", "dapi", "h32"),
    token("databricks-token", "dapi", "h32'-'d1"),
    common("confluent-key", "cflt", "b56-60"),
    common("ibm-key", "ApiKey-", "t36"),
    // Source code and builds.
    token("github-token", "ghp_", "w36+"),
    token("github-token", "gho_", "w36+"),
    token("github-token", "ghu_", "w36+"),
    token("github-token", "ghs_", "w36+"),
    token("github-token", "ghr_", "w36+"),
    token("github-token", "github_pat_", "i22+"),
    token("gitlab-token", "glpat-", "x20+"),
    token("gitlab-token", "gldt-", "x20+"),
    token("gitlab-token", "glrt-", "x20+"),
    token("gitlab-token", "glrtr-", "x20+"),
    common("gitlab-token", "glptt-", "h40"),
    token("gitlab-token", "glcbt-", "x20+"),
    token("gitlab-token", "glsoat-", "x20+"),
    token("gitlab-token", "glft-", "t20+"),
    token("gitlab-token", "glffct-", "t20+"),
    token("gitlab-token", "glimt-", "t25+"),
    token("gitlab-token", "glagent-", "t50+"),
    token("gitlab-token", "gloas-", "t64"),
    common("gitlab-token", "glwt-", "t20+"),
    common("gitlab-token", "GR1348941", "t20"),
    common("atlassian-token", "ATATT3", "x80+"),
    common("atlassian-token", "ATCTT3", "x80+"),
    common("atlassian-token", "ATBB", "w28-40"),
    common("trello-token", "ATTA", "h60-72"),
    common("npm-token", "npm_", "w36"),
    token("pypi-token", "pypi-AgE", "t50+"),
    common("nuget-key", "oy2", "l43"),
    token("rubygems-key", "rubygems_", "h48"),
    common("crates-token", "cio", "w32"),
    token("clojars-token", "CLOJARS_", "l60"),
    common("packagist-token", "packagist_ack_", "h40+"),
    common("packagist-token", "packagist_uut_", "h40+"),
    token("docker-token", "dckr_pat_", "t27"),
    token("docker-token", "dckr_oat_", "t27+"),
    common("artifactory-token", "AKCp", "w60-80"),
    common("artifactory-token", "cmVmd", "w59"),
    token("circleci-token", "CCIPAT_", "w22'_'h40"),
    common("circleci-token", "CCIPRJ_", "w22'_'h40"),
    token("buildkite-token", "bkua_", "l40"),
    common("buildkite-token", "bkct_", "t40+"),
    common("harness-key", "pat.", "t22'.'w24'.'w20"),
    common("harness-key", "sat.", "t22'.'w24'.'w20"),
    common("octopus-key", "API-", "u25-32"),
    common("snyk-token", "snyk_uat.", "h8'.'t30+"),
    common("snyk-token", "snyk_sat.", "h8'.'t30+"),
    token("wakatime-key", "waka_", "h8'-'h4'-'h4'-'h4'-'h12"),
    common("sonar-token", "squ_", "l40"),
    common("sonar-token", "sqp_", "l40"),
    common("sonar-token", "sqa_", "l40"),
    token("sourcegraph-token", "sgp_", "H40"),
    token("sourcegraph-token", "sgp_", "H16'_'H40"),
    token("sourcegraph-token", "sgp_local_", "H40"),
    token("sourcegraph-token", "slk_", "h64"),
    common("phabricator-token", "api-", "l28"),
    common("phabricator-token", "cli-", "l28"),
    token("postman-key", "PMAK-", "h24'-'h34"),
    common("pulumi-token", "pul-", "h40"),
    common("prefect-key", "pnu_", "w36"),
    common("prefect-key", "pnb_", "w36"),
    common("infracost-key", "ico-", "w32"),
    token("vault-token", "hvs.", "t24+"),
    token("vault-token", "hvb.", "t24+"),
    token("vault-token", "hvr.", "t24+"),
    common("vault-token", "s.", "w24"),
    common("doppler-token", "dp.pt.", "w40-44"),
    common("doppler-token", "dp.ct.", "w40-44"),
    common("doppler-token", "dp.sa.", "w40-44"),
    common("doppler-token", "dp.scim.", "w40-44"),
    common("doppler-token", "dp.audit.", "w40-44"),
    common("doppler-token", "dp.st.", "x40-80"),
    common("infisical-token", "st.", "h24'.'h32'.'h32"),
    token("onepassword-key", "A3-", "u6'-'u11'-'u5'-'u5'-'u5"),
    token("onepassword-key", "A3-", "u6'-'u6'-'u5'-'u5'-'u5'-'u5"),
    common("onepassword-key", "ops_eyJ", "B100+"),
    token("age-key", "AGE-SECRET-KEY-1", "u58"),
    common("tailscale-key", "tskey-", "t24+"),
    common("defined-networking-key", "dnkey-", "x26'-'x52"),
    token("openshift-token", "sha256~", "t43"),
    common("rancher-token", "token-", "l5':'l54"),
    common("teleport-token", "tctl-", "h32+"),
    common("okta-token", "SSWS ", "t40+"),
    common("ory-token", "ory_pat_", "t30+"),
    common("ory-token", "ory_at_", "t40+"),
    common("ory-token", "ory_rt_", "t40+"),
    common("authress-key", "sc_", "l5-30'.'l4-6'.acc'x40+"),
    common("authress-key", "ext_", "l5-30'.'l4-6'.acc'x40+"),
    common("authress-key", "scauth_", "l5-30'.'l4-6'.acc'x40+"),
    common("authress-key", "authress_", "l5-30'.'l4-6'.acc'x40+"),
    common("stytch-secret", "secret-live-", "x30+"),
    common("stytch-secret", "secret-test-", "x30+"),
    // Models.
    common("anthropic-key", "sk-ant-", "t20+"),
    common("openai-key", "sk-", "t20+"),
    common("openai-key", "sess-", "w40"),
    token("huggingface-token", "hf_", "w34"),
    token("huggingface-token", "api_org_", "w34"),
    common("groq-key", "gsk_", "w40-60"),
    common("xai-key", "xai-", "w60-90"),
    common("perplexity-key", "pplx-", "w40-60"),
    common("replicate-token", "r8_", "w37"),
    common("nvidia-key", "nvapi-", "t50-80"),
    common("tavily-key", "tvly-", "t30-60"),
    common("langsmith-key", "lsv2_pt_", "h32'_'h10"),
    common("langsmith-key", "lsv2_sk_", "h32'_'h10"),
    common("pinecone-key", "pcsk_", "i50-90"),
    common("elevenlabs-key", "sk_", "h48"),
    common("firecrawl-key", "fc-", "h32"),
    common("cerebras-key", "csk-", "l40-60"),
    common("wandb-key", "wandb_v1_", "i60+"),
    common("voyage-key", "pa-", "t43"),
    common("jina-key", "jina_", "t40-80"),
    common("fireworks-key", "fw_", "w20-40"),
    // Talk and mail.
    token("slack-token", "xoxa-", "s16+"),
    token("slack-token", "xoxb-", "s16+"),
    token("slack-token", "xoxc-", "s16+"),
    token("slack-token", "xoxd-", "s16+"),
    token("slack-token", "xoxe-", "s16+"),
    token("slack-token", "xoxe.", "s16+"),
    token("slack-token", "xoxo-", "s16+"),
    token("slack-token", "xoxp-", "s16+"),
    token("slack-token", "xoxr-", "s16+"),
    token("slack-token", "xoxs-", "s16+"),
    common("slack-token", "xapp-", "t20+"),
    common("discord-token", "M", "t22-27'.'t6'.'t27-45"),
    common("discord-token", "N", "t22-27'.'t6'.'t27-45"),
    common("discord-token", "O", "t22-27'.'t6'.'t27-45"),
    common("discord-token", "mfa.", "t84"),
    common("facebook-token", "EAA", "w90+"),
    common("instagram-token", "IGQ", "t100+"),
    common("twitter-token", "AAAAAAAAAAAAAAAAAAAA", "p60+"),
    common("linkedin-token", "WPL_AP1.", "x16+"),
    common("sendgrid-key", "SG.", "t16-32'.'t32-64"),
    common("brevo-key", "xkeysib-", "h64'-'w16"),
    common("brevo-key", "xsmtpsib-", "h64'-'w16"),
    token_near("mailgun", common("mailgun-key", "key-", "h32")),
    common("mandrill-key", "md-", "t22"),
    common("resend-key", "re_", "w8'_'w24"),
    common("twilio-key", "SK", "h32"),
    common("telnyx-key", "KEY", "u32'_'w20-24"),
    common("intercom-token", "dG9rOm", "b46-60"),
    // Money.
    token("stripe-key", "sk_live_", "w10+"),
    token("stripe-key", "rk_live_", "w10+"),
    token("stripe-key", "sk_test_", "w10+"),
    token("stripe-key", "rk_test_", "w10+"),
    common("stripe-key", "sk_prod_", "w10+"),
    common("stripe-key", "rk_prod_", "w10+"),
    token("stripe-key", "whsec_", "b24+"),
    common("square-token", "EAAA", "t60"),
    token("square-token", "sq0atp-", "t22"),
    token("square-token", "sq0csp-", "t43"),
    common("paypal-token", "access_token$production$", "l16'$'h32"),
    common("paypal-token", "access_token$sandbox$", "l16'$'h32"),
    token("razorpay-key", "rzp_live_", "w14+"),
    token("razorpay-key", "rzp_test_", "w14+"),
    common("flutterwave-key", "FLWSECK-", "l32-40'-X'"),
    common("flutterwave-key", "FLWSECK_TEST", "h12"),
    common("flutterwave-key", "FLWSECK_TEST-", "l12"),
    common("flutterwave-key", "FLWSECK_TEST-", "l32'-X'"),
    token("plaid-token", "access-development-", "h8'-'h4'-'h4'-'h4'-'h12"),
    token("plaid-token", "access-production-", "h8'-'h4'-'h4'-'h4'-'h12"),
    token("plaid-token", "access-sandbox-", "h8'-'h4'-'h4'-'h4'-'h12"),
    token("duffel-token", "duffel_live_", "x43"),
    token("duffel-token", "duffel_test_", "x43"),
    token("easypost-key", "EZAK", "w54"),
    token("easypost-key", "EZTK", "w54"),
    token("shippo-token", "shippo_live_", "H40"),
    token("shippo-token", "shippo_test_", "H40"),
    common("lob-key", "live_", "h35"),
    common("lob-key", "test_", "h35"),
    common("gocardless-token", "live_", "t40"),
    wallet("5H", "c49"), wallet("5J", "c49"), wallet("5K", "c49"),
    wallet("Kw", "c50"), wallet("Kx", "c50"), wallet("Ky", "c50"), wallet("Kz", "c50"),
    wallet("L1", "c50"), wallet("L2", "c50"), wallet("L3", "c50"), wallet("L4", "c50"),
    wallet("L5", "c50"),
    common("xprv-key", "xprv", "w107"),
    token("shopify-token", "shpat_", "H32"),
    token("shopify-token", "shpca_", "H32"),
    token("shopify-token", "shppa_", "H32"),
    token("shopify-token", "shpss_", "H32"),
    common("shopify-token", "shptka_", "H32"),
    token("shopify-token", "prtapi_", "H32"),
    common("onfido-token", "api_live.", "t11'.'t32"),
    common("onfido-token", "api_live_eu.", "t11'.'t32"),
    common("onfido-token", "api_live_us.", "t11'.'t32"),
    common("onfido-token", "api_live_ca.", "t11'.'t32"),
    common("onfido-token", "api_sandbox.", "t11'.'t32"),
    // Work and content.
    token("linear-key", "lin_api_", "w40"),
    common("linear-key", "lin_oauth_", "h64"),
    token("figma-token", "figd_", "t40+"),
    common("notion-token", "ntn_", "w40-60"),
    common("notion-token", "secret_", "w43"),
    common("airtable-token", "pat", "w14'.'h64"),
    common("airtable-token", "key", "w14"),
    common("asana-token", "0/", "d10-20':'h32"),
    common("asana-token", "1/", "d10-20':'h32"),
    common("asana-token", "2/", "d10-20'/'d10-20':'h32"),
    token("clickup-token", "pk_", "d6-10'_'u32"),
    common("hubspot-token", "pat-na1-", "h8'-'h4'-'h4'-'h4'-'h12"),
    common("hubspot-token", "pat-eu1-", "h8'-'h4'-'h4'-'h4'-'h12"),
    common("salesforce-token", "00D", "w12'!'x80+"),
    token("contentful-token", "CFPAT-", "t43"),
    common("typeform-token", "tfp_", "x40-64"),
    common("dropbox-token", "sl.", "x130+"),
    common("mapbox-token", "sk.", "w60-120'.'t22"),
    common("readme-key", "rdme_", "l70"),
    common("frameio-token", "fio-u-", "x64"),
    common("intra42-token", "s-s4t2ud-", "h64"),
    token("settlemint-token", "sm_pat_", "w16"),
    token("settlemint-token", "sm_aat_", "w16"),
    token("settlemint-token", "sm_sat_", "w16"),
    token("adobe-secret", "p8e-", "t32"),
    token("apify-token", "apify_api_", "w30-46"),
    // Watching.
    common("sentry-token", "sntrys_", "B40+"),
    token("sentry-token", "sntryu_", "h64"),
    common("grafana-token", "glc_", "b32+"),
    token("grafana-token", "glsa_", "w32'_'H8"),
    common("grafana-token", "eyJrIjoi", "b70+"),
    token("newrelic-key", "NRAK-", "u27"),
    common("newrelic-key", "NRII-", "t32"),
    common("newrelic-key", "NRIQ-", "t32"),
    common("newrelic-key", "NRJS-", "h19"),
    common("newrelic-key", "NRRA-", "h42"),
    token("dynatrace-token", "dt0c01.", "u24'.'u64"),
    token("dynatrace-token", "dt0s01.", "u24'.'u64"),
    token("dynatrace-token", "dt0s02.", "u8-24'.'u64"),
    common("honeycomb-key", "hcaik_", "l50-70"),
    common("honeycomb-key", "hcamk_", "l50-70"),
    common("posthog-key", "phx_", "w40-60"),
    common("posthog-key", "phs_", "w40-60"),
    common("launchdarkly-key", "sdk-", "h8'-'h4'-'h4'-'h4'-'h12"),
    common("launchdarkly-key", "api-", "h8'-'h4'-'h4'-'h4'-'h12"),
];

/// The bytes around a token within which the name of its service must be.
const SERVICE_REACH_BYTES: usize = 200;

/// Tokens by the first byte of their prefix.
static RULES_BY_BYTE: LazyLock<Vec<Vec<u16>>> = LazyLock::new(|| {
    let mut by_byte = vec![Vec::new(); 128];
    for (nth, token) in (0..).zip(TOKEN_RULES) {
        if let Some(list) = by_byte.get_mut(usize::from(token.prefix.as_bytes()[0])) {
            list.push(nth);
        }
    }
    by_byte
});

/// Returns the prefixes of all tokens, each once.
pub(super) fn all_prefixes() -> impl Iterator<Item = &'static str> {
    let all: BTreeSet<&str> = TOKEN_RULES.iter().map(|it| it.prefix).collect();
    all.into_iter()
}

/// Finds every token of a text, with the name of its rule. A token that begins
/// inside of another one is a part of it.
pub(super) fn match_tokens(text: &str, mut found: impl FnMut(Range<usize>, &'static str)) {
    let bytes = text.as_bytes();
    let by_byte = &*RULES_BY_BYTE;
    let mut jwt_none_before = 0;
    let mut runs = FailedRuns::default();
    let mut at = 0;
    while at < bytes.len() {
        let list = by_byte
            .get(usize::from(bytes[at]))
            .map_or(&[][..], Vec::as_slice);
        if list.is_empty() || !is_token_start(bytes, at) {
            at += 1;
            continue;
        }
        let mut best: Option<(usize, &'static str)> = None;
        for token in list.iter().map(|&nth| &TOKEN_RULES[usize::from(nth)]) {
            if let Some(end) = token.find_token_end(text, at, &mut runs)
                && best.is_none_or(|(most, _)| end > most)
            {
                best = Some((end, token.rule));
            }
        }
        if bytes[at..].starts_with(b"eyJ") && at >= jwt_none_before {
            match find_jwt_end(bytes, at) {
                Ok(end) if best.is_none_or(|(most, _)| end > most) => best = Some((end, "jwt")),
                Ok(_) => {}
                // Whatever begins in the same run ends like it.
                Err(run) => jwt_none_before = run,
            }
        }
        match best {
            Some((end, rule)) => {
                found(at..end, rule);
                at = end;
            }
            None => at += 1,
        }
    }
}

/// Returns `true` if a token may begin here. A prefix in the middle of a word
/// is part of that word (`task-…`), except behind an escape such as `\n` in
/// quoted text.
fn is_token_start(bytes: &[u8], at: usize) -> bool {
    match bytes[..at] {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., before] => !before.is_ascii_alphanumeric() && before != b'_',
        [] => true,
    }
}

impl TokenRule {
    /// Returns where the token that begins here ends.
    fn find_token_end(&self, text: &str, at: usize, runs: &mut FailedRuns) -> Option<usize> {
        let bytes = text.as_bytes();
        if !bytes[at..].starts_with(self.prefix.as_bytes()) {
            return None;
        }
        let start = at + self.prefix.len();
        let end = follow_token_form(self.form.as_bytes(), bytes, start, runs)?;
        // A longer run is something else.
        if bytes
            .get(end)
            .is_some_and(|&it| it.is_ascii_alphanumeric() || it == b'_')
        {
            return None;
        }
        let body = text.get(start..end)?;
        let body = &body[..body.floor_char_boundary(512)];
        // A rare prefix is nearly proof; a common one needs a random rest.
        let by_chance = if self.common {
            has_char(body, |c| c.is_ascii_digit())
                && byte_entropy(body) >= 3.0
                && !is_likely_name(body)
        } else {
            byte_entropy(body) >= 1.5
        };
        (by_chance && !is_placeholder(body) && self.around.are_met_by(text, at..end)).then_some(end)
    }
}

impl TokenBounds {
    fn are_met_by(self, text: &str, token: Range<usize>) -> bool {
        match self {
            TokenBounds::Anything => true,
            TokenBounds::Name(name) => {
                let from =
                    text.floor_char_boundary(token.start.saturating_sub(SERVICE_REACH_BYTES));
                let to = text.floor_char_boundary(token.end + SERVICE_REACH_BYTES);
                text[from..to].to_ascii_lowercase().contains(name)
            }
            TokenBounds::NoBase64 => {
                let sign = |at: Option<&u8>| at.is_some_and(|it| b"+/=".contains(it));
                let bytes = text.as_bytes();
                !sign(bytes[..token.start].last()) && !sign(bytes.get(token.end))
            }
        }
    }
}

/// The last run of each class that was followed, begin and end. A text that
/// begins many tokens in one run, such as `sk-sk-sk-`, is followed once.
struct FailedRuns([(usize, usize); 128]);

impl Default for FailedRuns {
    fn default() -> FailedRuns {
        FailedRuns([(0, 0); 128])
    }
}

impl FailedRuns {
    fn run_end(&mut self, class: u8, bytes: &[u8], at: usize) -> usize {
        let known = &mut self.0[usize::from(class & 127)];
        if !(known.0..known.1).contains(&at) {
            let rest = bytes[at..].iter();
            let long = rest.take_while(|&&it| is_in_class(class, it)).count();
            record_work(long);
            *known = (at, at + long);
        }
        known.1
    }
}

/// Follows a form from `at` and returns its end.
fn follow_token_form(
    form: &[u8],
    bytes: &[u8],
    mut at: usize,
    runs: &mut FailedRuns,
) -> Option<usize> {
    let mut rest = form;
    while let Some((&class, more)) = rest.split_first() {
        if class == b'\'' {
            let close = more.iter().position(|&it| it == b'\'')?;
            if !bytes[at..].starts_with(&more[..close]) {
                return None;
            }
            at += close;
            rest = &more[close + 1..];
            continue;
        }
        let (least, more) = parse_count(more);
        let (most, more) = match more.first() {
            Some(b'+') => (None, &more[1..]),
            Some(b'-') => {
                let (most, more) = parse_count(&more[1..]);
                (Some(most), more)
            }
            _ => (Some(least), more),
        };
        let count = match most {
            Some(most) => {
                let run = bytes[at..].iter().take(most);
                let count = run.take_while(|&&byte| is_in_class(class, byte)).count();
                record_work(count);
                count
            }
            None => runs.run_end(class, bytes, at) - at,
        };
        if count < least {
            return None;
        }
        at += count;
        rest = more;
    }
    Some(at)
}

fn parse_count(form: &[u8]) -> (usize, &[u8]) {
    let digits = form.iter().take_while(|it| it.is_ascii_digit()).count();
    let value = form[..digits]
        .iter()
        .fold(0, |sum, &it| sum * 10 + usize::from(it - b'0'));
    (value, &form[digits..])
}

fn is_in_class(class: u8, byte: u8) -> bool {
    match class {
        b'd' => byte.is_ascii_digit(),
        b'h' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        b'H' => byte.is_ascii_hexdigit(),
        // Small letters and digits.
        b'l' => matches!(byte, b'0'..=b'9' | b'a'..=b'z'),
        // Capitals and digits.
        b'u' => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
        // Letters and digits.
        b'w' => byte.is_ascii_alphanumeric(),
        // Base58: without the four that look alike.
        b'c' => byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l'),
        // As an identifier.
        b'i' => byte.is_ascii_alphanumeric() || byte == b'_',
        b't' => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
        // Base64, and with its other two signs.
        b'b' => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        b'B' => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'),
        b'x' => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'='),
        // As in addresses.
        b'p' => byte.is_ascii_alphanumeric() || byte == b'%',
        b's' => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'%'),
        _ => false,
    }
}

/// Returns the end of a token of two or three parts, of which the first two are
/// JSON. An error holds the end of the run in which there is none.
fn find_jwt_end(bytes: &[u8], at: usize) -> Result<usize, usize> {
    const MIN_PART_BYTES: usize = 11;
    let run = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|&&it| is_in_class(b't', it)).count()
    };
    let first = run(at);
    if first - at < MIN_PART_BYTES || !bytes[first..].starts_with(b".eyJ") {
        return Err(first);
    }
    let second = run(first + 1);
    if second - first - 1 < MIN_PART_BYTES {
        return Err(first);
    }
    match bytes.get(second) {
        Some(b'.') => Ok(run(second + 1)),
        _ => Ok(second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_can_be_read() {
        for token in TOKEN_RULES {
            let mut rest = token.form.as_bytes();
            while let Some((&class, more)) = rest.split_first() {
                if class == b'\'' {
                    let close = more.iter().position(|&it| it == b'\'');
                    rest = &more[close.expect("a text ends") + 1..];
                    continue;
                }
                assert!(
                    (0..128).any(|byte| is_in_class(class, byte)),
                    "{}: {}",
                    token.prefix,
                    char::from(class)
                );
                let (least, more) = parse_count(more);
                assert!(least > 0, "{}: {}", token.prefix, token.form);
                rest = match more.first() {
                    Some(b'+') => &more[1..],
                    Some(b'-') => parse_count(&more[1..]).1,
                    _ => more,
                };
            }
        }
    }

    /// Each byte of a long run is looked at a fixed number of times, however
    /// many tokens seem to begin in it.
    #[test]
    fn a_run_without_an_end_is_followed_once() {
        let one = format!("{}-", concat!("ey", "J"));
        let run = one.repeat(5_000);
        let bytes = run.as_bytes();
        assert_eq!(find_jwt_end(bytes, 0), Err(bytes.len()));
        let mut tries = 0;
        let mut none_before = 0;
        for at in (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"eyJ")) {
            if at >= none_before
                && let Err(end) = find_jwt_end(bytes, at)
            {
                (tries, none_before) = (tries + 1, end);
            }
        }
        assert_eq!(tries, 1);
    }
}
