use std::fs;

use super::*;

fn load(files: &[(&str, &str)]) -> (WorkspaceConfig, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let (config, problems) = WorkspaceConfig::load(dir.path());
    (config, problems.iter().map(ToString::to_string).collect())
}

/// The problems of a `memory-forge.toml`; everything in it must be without
/// effect.
fn check(text: &str, expect: &[&str]) {
    let (config, problems) = load(&[(CONFIG_FILE, text)]);
    assert_eq!(problems, expect, "for {text:?}");
    assert_eq!(config, WorkspaceConfig::default(), "for {text:?}");
}

#[test]
fn without_a_file_the_defaults_apply() {
    let (config, problems) = load(&[]);
    assert_eq!((config, problems), (WorkspaceConfig::default(), Vec::new()));
}

#[test]
fn every_key_can_be_set_and_is_documented() {
    for doc in config_reference() {
        let (section, key) = doc.key.split_once('.').unwrap();
        let text = format!("[{section}]\n{key} = {}\n", doc.default);
        check(&text, &[]);
        assert_eq!(WorkspaceConfig::default().get(doc.key), Some(doc.default));
        assert!(
            doc.about.ends_with('.') && doc.about.len() < 120,
            "{}",
            doc.key
        );
        assert!(!doc.kind.is_empty());
    }
    let text = "[index]\nmax_file_bytes = 0x10_0000\nchunk_tokens = 300\n\n[search]\nlimit = 7\nembed_budget_ms = 0\nmode = \"text\"\n
[audit]\nfile_warn = 600\ntokenizer = 'chars4'\n[forget]\nprotect_importance = 9\n[mind]\nkeep_sessions = 1\n";
    let (config, problems) = load(&[(CONFIG_FILE, text)]);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(
        (config.index.max_file_bytes, config.index.chunk_tokens),
        (1 << 20, 300)
    );
    assert_eq!((config.search.limit, config.search.embed_budget_ms), (7, 0));
    assert_eq!(config.search.mode, SearchMode::Text);
    assert_eq!(
        (
            config.audit.file_warn,
            config.audit.tokenizer.to_string().as_str()
        ),
        (600, "chars4")
    );
    assert_eq!(
        (config.forget.protect_importance, config.mind.keep_sessions),
        (9, 1)
    );
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let shown: Vec<String> = config_reference()
        .iter()
        .map(|doc| format!("{} {}", doc.key, doc.default))
        .collect();
    for expect in [
        "index.max_file_bytes 33554432",
        "index.chunk_tokens 500",
        "search.limit 5",
        "search.embed_budget_ms 300",
        "search.mode \"hybrid\"",
        "search.model \"\"",
        "audit.file_warn 500",
        "audit.file_critical 1000",
        "audit.skill_warn 300",
        "audit.skill_critical 600",
        "audit.total_warn 2000",
        "audit.total_critical 5000",
        "audit.tokenizer \"o200k\"",
        "forget.protect_importance 8",
        "mind.compress_bytes 12000",
    ] {
        assert!(shown.iter().any(|line| line == expect), "{expect}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_the_default_applies() {
    check(
        "# settings\n[search]\nlimti = 3\n",
        &[
            "`memory-forge.toml` line 3: `search.limti` is not a known key; did you mean `search.limit`?",
        ],
    );
    check(
        "limit = 3\n",
        &["`memory-forge.toml` line 1: `limit` is not a known key; did you mean `search.limit`?"],
    );
    check(
        "\n[zzz]\nqqq = 1\n",
        &["`memory-forge.toml` line 3: `zzz.qqq` is not a known key"],
    );
    check(
        "[serach]\n",
        &["`memory-forge.toml` line 1: `serach` is not a known key; did you mean `search.mode`?"],
    );
    check("[search]\n[audit]\n", &[]);
    check(
        "[search]\nlimit = 0\n",
        &[
            "`memory-forge.toml` line 2: `search.limit` must be a number from 1 to 100; the default 5 applies",
        ],
    );
    check(
        "[search]\nlimit = -5\nembed_budget_ms = 1.5\n",
        &[
            "`memory-forge.toml` line 3: `search.embed_budget_ms` must be a number from 0 to 60000; the default 300 applies",
            "`memory-forge.toml` line 2: `search.limit` must be a number from 1 to 100; the default 5 applies",
        ],
    );
    check(
        "search = { limit = \"five\" }\n",
        &[
            "`memory-forge.toml` line 1: `search.limit` must be a number from 1 to 100; the default 5 applies",
        ],
    );
    check(
        "[search]\nmode = \"hybird\"\n",
        &[
            "`memory-forge.toml` line 2: `search.mode` must be one of \"hybrid\", \"text\", \"vector\"; the default \"hybrid\" applies; did you mean `hybrid`?",
        ],
    );
    check(
        "[audit]\nfile_warn = 2000\n",
        &[
            "`memory-forge.toml`: `audit.file_warn` is above `audit.file_critical`; the defaults of both apply",
        ],
    );
}

#[test]
fn broken_toml_is_one_problem_and_all_defaults() {
    let (config, problems) = load(&[(CONFIG_FILE, "[search]\nlimit = 7\nmode = \n[audit\n")]);
    assert_eq!(config, WorkspaceConfig::default());
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("`memory-forge.toml` line 3 is not valid TOML: "),
        "{}",
        problems[0]
    );
}

#[test]
fn the_older_file_counts_where_the_newer_is_silent() {
    let old = "{\n  \"keepSessionsFull\": 7,\n  \"maxCheckpointFiles\": 20\n}";
    let (config, problems) = load(&[
        (LEGACY_CONFIG_FILE, old),
        (CONFIG_FILE, "[mind]\ncheckpoints = 5\n"),
    ]);
    assert_eq!((config.mind.keep_sessions, config.mind.checkpoints), (7, 5));
    assert_eq!(problems, Vec::<String>::new());
    let old = "{\n  \"keepSessionFull\": 7,\n  \"archiveAfterDays\": 0,\n  \"staleWarningSeconds\": 1e308\n}";
    let (config, problems) = load(&[(LEGACY_CONFIG_FILE, old)]);
    assert_eq!(config, WorkspaceConfig::default());
    let expect = [
        "`.memoryforge.config.json` line 2: `keepSessionFull` is not a known key; did you mean `keepSessionsFull`?",
        "`.memoryforge.config.json` line 3: `archiveAfterDays` must be a number from 1 to 1000000; the default 30 applies",
        "`.memoryforge.config.json` line 4: `staleWarningSeconds` must be a number from 60 to 4294967295; the default 1800 applies",
    ];
    assert_eq!(problems, expect);
    let (_, problems) = load(&[(LEGACY_CONFIG_FILE, "[]")]);
    assert_eq!(
        problems,
        ["`.memoryforge.config.json` line 1 is not a JSON object"]
    );
    let (_, problems) = load(&[(LEGACY_CONFIG_FILE, "{\n\"a\": }")]);
    assert!(
        problems[0].starts_with("`.memoryforge.config.json` line 2 is not valid JSON"),
        "{problems:?}"
    );
}

#[test]
fn a_flag_sets_a_key_by_the_same_rules() {
    let mut config = WorkspaceConfig::default();
    config.set("search.limit", "9", "--set").unwrap();
    config.set("search.mode", "vector", "--set").unwrap();
    assert_eq!(
        (config.search.limit, config.search.mode),
        (9, SearchMode::Vector)
    );
    let problem = config.set("search.limit", "many", "--set").unwrap_err();
    assert!(
        problem
            .to_string()
            .starts_with("`--set`: `search.limit` must be a number"),
        "{problem}"
    );
    assert_eq!(config.search.limit, 9);
}

#[cfg(unix)]
#[test]
fn a_symlinked_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("other.toml"), "[search]\nlimit = 7\n").unwrap();
    for name in [CONFIG_FILE, LEGACY_CONFIG_FILE] {
        std::os::unix::fs::symlink("other.toml", dir.path().join(name)).unwrap();
    }
    let (config, problems) = WorkspaceConfig::load(dir.path());
    assert_eq!(config, WorkspaceConfig::default());
    assert_eq!(problems.len(), 2);
    assert!(
        problems
            .iter()
            .all(|p| p.message.starts_with("is a symlink")),
        "{problems:?}"
    );
}

#[test]
fn what_is_not_a_text_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(CONFIG_FILE)).unwrap();
    fs::write(dir.path().join(LEGACY_CONFIG_FILE), b"{\xff}").unwrap();
    let (config, problems) = WorkspaceConfig::load(dir.path());
    assert_eq!((config, problems.len()), (WorkspaceConfig::default(), 2));
}

#[test]
fn globs_are_a_list_or_one_text_and_a_bad_one_stands_alone() {
    let (config, problems) = load(&[(
        CONFIG_FILE,
        "[knowledge]\ninclude = [\"docs/**\", \"../x\"]\nexclude = \"docs/old/**\"\n",
    )]);
    assert_eq!(config.knowledge.include, ["docs/**"]);
    assert_eq!(config.knowledge.exclude, ["docs/old/**"]);
    assert_eq!(
        problems,
        [
            "`memory-forge.toml` line 2: `knowledge.include` has the glob `../x`, which leads out of the workspace and is not used"
        ]
    );
    check(
        "[knowledge]\ninclude = [1]\n",
        &[
            "`memory-forge.toml` line 2: `knowledge.include` must be a list of globs such as \"docs/**\"; the default [] applies",
        ],
    );
}
