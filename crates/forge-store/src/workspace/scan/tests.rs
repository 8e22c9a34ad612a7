use super::*;

fn root(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = crate::system::canonicalize(dir.path()).unwrap();
    for path in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text").unwrap();
    }
    (dir, root)
}

fn found(scan: &WorkspaceScan) -> Vec<(&str, FileRole)> {
    scan.files
        .iter()
        .map(|f| (f.path.as_str(), f.role))
        .collect()
}

fn problems(scan: &WorkspaceScan) -> Vec<String> {
    scan.problems
        .iter()
        .map(|p| format!("{} {}", p.path, p.message))
        .collect()
}

#[test]
fn markdown_of_the_right_folders_sorted() {
    use FileRole::*;
    let (_dir, root) = root(&[
        "knowledge/b.md",
        "knowledge/a.md",
        "knowledge/a/z.md",
        "knowledge/README.md",
        "knowledge/api-index.md",
        "knowledge/archive/old.md",
        "knowledge/CLAUDE.md",
        "knowledge/picture.png",
        "knowledge/notes.MD",
        "knowledge/.hidden.md",
        "knowledge/._a.md",
        "knowledge/.obsidian/x.md",
        "knowledge/.git/x.md",
        "knowledge/.memory-forge-123.tmp",
        ".agents/memory/squad/agent/state.md",
        ".agents/memory/squad/goals.md",
        ".agents/squads/x.md",
        "src/knowledge/x.md",
        "README.md",
        "working/legal/contract.md",
    ]);
    let scan = scan_memory(&root, &PathRoles::default());
    let expect = [
        (".agents/memory/squad/agent/state.md", Agent),
        (".agents/memory/squad/goals.md", Untracked),
        ("knowledge/.hidden.md", Knowledge),
        ("knowledge/CLAUDE.md", Knowledge),
        ("knowledge/README.md", Routing),
        ("knowledge/a.md", Knowledge),
        ("knowledge/a/z.md", Knowledge),
        ("knowledge/api-index.md", Routing),
        ("knowledge/archive/old.md", Archive),
        ("knowledge/b.md", Knowledge),
    ];
    assert_eq!(found(&scan), expect);
    assert_eq!(problems(&scan), Vec::<String>::new());
    assert_eq!(scan.files[5].size, 4);
    let meta = fs::metadata(root.join("knowledge/a.md")).unwrap();
    let modified = meta
        .modified()
        .unwrap()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(
        i128::from(scan.files[5].mtime_ns),
        modified.as_nanos() as i128
    );
}

#[test]
fn domains_are_walked_once() {
    let (_dir, root) = root(&[
        "working/legal/contract.md",
        "working/legal/deep/x.md",
        "knowledge/a.md",
    ]);
    let domains = [
        "working/legal",
        "working/legal/deep",
        "knowledge/",
        "../outside",
        "gone",
    ];
    let scan = scan_memory(
        &root,
        &PathRoles::new(domains.map(str::to_string).to_vec(), None),
    );
    let paths: Vec<&str> = scan.files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "knowledge/a.md",
            "working/legal/contract.md",
            "working/legal/deep/x.md"
        ]
    );
    assert!(scan.files.iter().all(|f| f.role == FileRole::Knowledge));
}

#[test]
fn an_empty_workspace_has_no_files_and_no_problems() {
    let (_dir, root) = root(&[]);
    assert_eq!(
        scan_memory(&root, &PathRoles::default()),
        WorkspaceScan::default()
    );
    fs::write(root.join("knowledge"), "a file").unwrap();
    assert_eq!(
        scan_memory(&root, &PathRoles::default()),
        WorkspaceScan::default()
    );
}

#[test]
fn a_folder_named_like_a_document_is_told_and_walked() {
    let (_dir, root) = root(&["knowledge/x.md/inner.md", "knowledge/a.md"]);
    let scan = scan_memory(&root, &PathRoles::default());
    assert_eq!(found(&scan).len(), 2);
    assert_eq!(
        problems(&scan),
        ["knowledge/x.md is a folder, although it is named like a document"]
    );
}

#[cfg(unix)]
#[test]
fn symlinks_count_only_as_files_inside() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x.md"), "outside").unwrap();
    let (_dir, root) = root(&["knowledge/a.md", "docs/longer.md", ".git/x.md"]);
    fs::write(root.join("docs/longer.md"), "longer text").unwrap();
    let k = root.join("knowledge");
    symlink("../docs/longer.md", k.join("in.md")).unwrap();
    symlink("../.git/x.md", k.join("git.md")).unwrap();
    symlink(outside.path().join("x.md"), k.join("out.md")).unwrap();
    symlink(outside.path().join("x.md"), k.join("not-markdown")).unwrap();
    symlink("nowhere", k.join("dangling.md")).unwrap();
    symlink("loop.md", k.join("loop.md")).unwrap();
    symlink(".", k.join("circle")).unwrap();
    let scan = scan_memory(&root, &PathRoles::default());
    assert_eq!(
        found(&scan),
        [
            ("knowledge/a.md", FileRole::Knowledge),
            ("knowledge/in.md", FileRole::Knowledge)
        ]
    );
    assert_eq!(scan.files[1].size, 11, "the size is that of the target");
    let problems = problems(&scan);
    let expect = [
        "knowledge/circle is a symlink to a folder, which is not followed",
        "knowledge/dangling.md is a symlink to a file that does not exist",
        "knowledge/git.md is a symlink that leads out of the workspace",
        "knowledge/loop.md cannot be read: ",
        "knowledge/out.md is a symlink that leads out of the workspace",
    ];
    assert_eq!(problems.len(), expect.len(), "{problems:?}");
    for (problem, expect) in problems.iter().zip(expect) {
        assert!(problem.starts_with(expect), "{problem}");
    }
}

#[cfg(unix)]
#[test]
fn a_symlinked_knowledge_folder_is_told() {
    let (_dir, root) = root(&["docs/a.md"]);
    std::os::unix::fs::symlink("docs", root.join("knowledge")).unwrap();
    let scan = scan_memory(&root, &PathRoles::default());
    assert_eq!(
        problems(&scan),
        ["knowledge is reached by a symlink, which is not followed"]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn odd_names_are_told_and_the_rest_is_found() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let (_dir, root) = root(&["knowledge/a.md", "knowledge/größe.md", "knowledge/a b.md"]);
    let k = root.join("knowledge");
    fs::write(k.join(OsStr::from_bytes(b"b\xff.md")), "").unwrap();
    fs::write(k.join(OsStr::from_bytes(b"b\xff.png")), "").unwrap();
    fs::create_dir(k.join(OsStr::from_bytes(b"dir\xff"))).unwrap();
    fs::write(k.join("line\nbreak.md"), "").unwrap();
    fs::write(k.join("back\\slash.md"), "").unwrap();
    let scan = scan_memory(&root, &PathRoles::default());
    assert_eq!(found(&scan).len(), 3);
    let paths: Vec<&str> = scan.problems.iter().map(|p| p.path.as_str()).collect();
    let expect = [
        "knowledge/back\\slash.md",
        "knowledge/b\u{fffd}.md",
        "knowledge/dir\u{fffd}",
        "knowledge/line\u{fffd}break.md",
    ];
    let mut expect = expect.to_vec();
    expect.sort();
    assert_eq!(paths, expect);
}

#[cfg(unix)]
#[test]
fn an_unreadable_folder_is_told_and_the_rest_is_found() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, root) = root(&["knowledge/a.md", "knowledge/shut/b.md"]);
    let shut = root.join("knowledge/shut");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    let scan = scan_memory(&root, &PathRoles::default());
    // A privileged user can read it all the same.
    let readable = fs::read_dir(&shut).is_ok();
    assert_eq!(scan.files.len(), if readable { 2 } else { 1 });
    assert_eq!(scan.problems.is_empty(), readable);
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn errors_while_walking_become_problems() {
    let denied = unreadable_problem(
        "knowledge/x".to_string(),
        &io::ErrorKind::PermissionDenied.into(),
    );
    assert_eq!(denied.message, "cannot be read: permission denied");
    let gone = unreadable_problem("knowledge/x".to_string(), &io::ErrorKind::NotFound.into());
    assert_eq!(gone.message, "vanished while it was looked at");
    // A folder that went away between being found and being listed.
    let (_dir, root) = root(&["knowledge/a.md"]);
    let memory = ["knowledge", "knowledge/gone"].map(str::to_string);
    let folders = memory.iter().map(|path| ScanFolder {
        path: path.clone(),
        extent: ScanExtent::Memory,
        rules: None,
        is_ignored: false,
    });
    let scan = walk_folders(&root, &PathRoles::default(), &memory, folders.collect());
    assert_eq!(found(&scan).len(), 1);
    assert_eq!(
        problems(&scan),
        ["knowledge/gone vanished while it was looked at"]
    );
}

#[test]
fn many_folders_are_all_found() {
    let names: Vec<String> = (0..600)
        .map(|n| format!("knowledge/{}/{}/{n}.md", n % 7, n % 31))
        .collect();
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    let (_dir, root) = root(&paths);
    let scan = scan_memory(&root, &PathRoles::default());
    assert_eq!(scan.files.len(), 600);
    assert!(
        scan.files
            .windows(2)
            .all(|pair| pair[0].path < pair[1].path)
    );
}

#[test]
fn the_tree_has_files_of_every_kind() {
    let (_dir, root) = root(&[
        "README.md",
        ".gitignore",
        "a/image.png",
        "a/._image.png",
        "a/Note.one.md",
        "a/.obsidian/x.json",
        "b/c/no-ending",
        "memory/.graph.md",
        ".git/config",
        ".claude/skills/x.md",
        ".memory-forge/index.db",
        "node_modules/p/index.js",
        "b/__pycache__/m.pyc",
        "b/venv/lib.py",
        "target/debug/x",
    ]);
    let tree = scan_tree(&root, &PathRoles::default());
    let files: Vec<(&str, bool)> = tree
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.is_markdown()))
        .collect();
    let expect = [
        (".gitignore", false),
        ("README.md", true),
        ("a/Note.one.md", true),
        ("a/image.png", false),
        ("b/c/no-ending", false),
        ("memory/.graph.md", true),
    ];
    assert_eq!(files, expect);
    assert_eq!(tree.problems, []);
}

#[cfg(unix)]
#[test]
fn the_tree_takes_symlinks_to_files_inside() {
    use std::os::unix::fs::symlink;
    let (_dir, root) = root(&["a.png", "b/c.md"]);
    symlink("../a.png", root.join("b/link.png")).unwrap();
    symlink("nowhere", root.join("b/gone.png")).unwrap();
    symlink("nowhere", root.join("b/gone.md")).unwrap();
    symlink("b", root.join("d")).unwrap();
    let tree = scan_tree(&root, &PathRoles::default());
    let files: Vec<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["a.png", "b/c.md", "b/link.png"]);
    let problems: Vec<&str> = tree.problems.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(problems, ["b/gone.md", "d"]);
}

fn including(include: &[&str]) -> PathRoles {
    let config = crate::workspace::KnowledgeConfig {
        include: include.iter().map(|it| it.to_string()).collect(),
        exclude: Vec::new(),
    };
    PathRoles::new(Vec::new(), IncludedFiles::of(&config).map(Arc::new))
}

#[test]
fn included_documents_are_knowledge_and_the_rest_is_counted() {
    use FileRole::*;
    let (_dir, root) = root(&[
        "knowledge/a.md",
        "docs/guide.md",
        "docs/deep/page.mdx",
        "docs/old.html.markdown",
        "docs/notes.rst",
        "docs/picture.png",
        "docs/AGENTS.md",
        "docs/.claude/skills/a/SKILL.md",
        "docs/.vitepress/theme.md",
        "docs/node_modules/a/README.md",
        "docs/made/x.md",
        "docs/draft.md",
        "README.md",
        "CHANGELOG.md",
        "crates/a/docs/b.md",
        "crates/a/src/b.md",
        "target/doc/x.md",
    ]);
    fs::write(root.join(".gitignore"), "made/\n").unwrap();
    fs::write(root.join("docs/.gitignore"), "/draft.md\n").unwrap();
    let roles = including(&["docs/**", "README.md", "crates/*/docs/**", "target/**/*.rs"]);
    let scan = scan_memory(&root, &roles);
    let expect = [
        ("README.md", Knowledge),
        ("crates/a/docs/b.md", Knowledge),
        ("docs/deep/page.mdx", Knowledge),
        ("docs/guide.md", Knowledge),
        ("docs/notes.rst", Knowledge),
        ("docs/old.html.markdown", Knowledge),
        ("knowledge/a.md", Knowledge),
    ];
    assert_eq!(found(&scan), expect);
    let expect = LeftOutCounts {
        hidden_folders: 2,
        vendored_folders: 1,
        ignored: 2,
        links: 0,
    };
    assert_eq!(scan.left_out, expect);
    assert_eq!(problems(&scan), Vec::<String>::new());
    let tree = scan_tree(&root, &roles);
    let knowledge: Vec<&str> = tree
        .files
        .iter()
        .filter(|it| it.role == Knowledge)
        .map(|it| it.path.as_str())
        .collect();
    let scanned: Vec<&str> = scan.files.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(knowledge, scanned, "both listings agree");
}

#[test]
#[cfg(unix)]
fn an_included_link_is_no_second_copy_and_no_way_to_what_agents_load() {
    use std::os::unix::fs::symlink;
    let (_dir, root) = root(&["docs/a.md", "AGENTS.md", "other/b.md"]);
    symlink("a.md", root.join("docs/copy.md")).unwrap();
    symlink("../AGENTS.md", root.join("docs/agents.md")).unwrap();
    symlink("../other/b.md", root.join("docs/b.md")).unwrap();
    symlink("../other", root.join("docs/other")).unwrap();
    let scan = scan_memory(&root, &including(&["docs/**"]));
    let paths: Vec<&str> = scan.files.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["docs/a.md", "docs/b.md"]);
    assert_eq!(scan.left_out.links, 1);
}
