use super::*;

#[test]
fn names_that_windows_takes_for_something_else_are_recognized() {
    for name in [
        "NUL",
        "nul",
        "aux.md",
        "Con.tar.gz",
        "com1",
        "LPT9.md",
        "COM¹",
        "prn .md",
        "a:b",
        "a.",
        "a ",
        "what?.md",
        "a*b",
        "<a>",
        "a|b",
        "\"a\"",
        "CONOUT$",
    ] {
        assert!(refused_on_windows(name).is_some(), "{name}");
    }
    for name in [
        "null.md",
        "console.md",
        "com.md",
        "com0.md",
        "com10.md",
        "auxiliary",
        ".gitignore",
        "a b.md",
        "lptx.md",
        "Über.md",
        "a'b&c.md",
    ] {
        assert_eq!(refused_on_windows(name), None, "{name}");
    }
}

#[test]
fn the_prefix_is_removed_only_where_the_short_path_means_the_same() {
    for (path, expect) in [
        (
            r"\\?\C:\Users\Jörg Müller\a.md",
            Some(r"C:\Users\Jörg Müller\a.md"),
        ),
        (r"\\?\C:\", Some(r"C:\")),
        (r"\\?\UNC\server\share\a", Some(r"\\server\share\a")),
        (r"C:\a", None),
        (r"\\?\C:\a\aux.md", None),
        (r"\\?\C:\a.\b", None),
        (r"\\?\C:\a/b", None),
        (r"\\?\Volume{0}\a", None),
        (r"\\?\", None),
        (r"\\?\é", None),
    ] {
        assert_eq!(strip_verbatim_prefix(path).as_deref(), expect, "{path}");
    }
}

#[test]
fn a_file_has_one_number_under_all_its_names_and_another_one_when_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let number = |name: &str| file_number(&at(name), &at(name).symlink_metadata().unwrap());
    std::fs::write(at("a"), "a").unwrap();
    std::fs::write(at("b"), "b").unwrap();
    assert_ne!(number("a"), number("b"));
    let other_names = |name: &str| has_other_names(&at(name), &at(name).metadata().unwrap());
    assert!(!other_names("a"));
    std::fs::hard_link(at("a"), at("c")).unwrap();
    assert_eq!(number("a"), number("c"));
    assert!(other_names("a") && !other_names("b"));
    let before = number("b");
    rename_over(&at("a"), &at("b")).unwrap();
    assert_ne!(number("b"), before);
}

#[test]
fn an_open_file_is_not_the_one_that_took_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = File::create(&path).unwrap();
    assert!(is_still_named(&file, &path));
    std::fs::rename(&path, folder.path().join("old")).unwrap();
    assert!(!is_still_named(&file, &path));
    std::fs::write(&path, "new").unwrap();
    assert!(!is_still_named(&file, &path));
}

/// A reader has the file open while it is replaced.
#[test]
#[cfg_attr(windows, ignore = "wine replaces no open file; Windows 10 does")]
fn a_file_is_replaced_while_it_is_read() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::write(&old, "old").unwrap();
    std::fs::write(&new, "new").unwrap();
    let mut reader = File::open(&old).unwrap();
    rename_over(&new, &old).unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "old");
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "new");
}

#[test]
fn a_path_beyond_260_characters_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = canonicalize(folder.path()).unwrap();
    let long = root.join(["a-name-of-thirty-characters-xx"; 10].join("/"));
    std::fs::create_dir_all(&long).unwrap();
    let (from, to) = (long.join("a"), long.join("b"));
    std::fs::write(&from, "a").unwrap();
    rename_over(&from, &to).unwrap();
    let mut options = File::options();
    assert!(open_no_follow(options.read(true), &to).is_ok());
}
