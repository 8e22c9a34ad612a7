use super::*;
use std::fs;

/// A repository with three commits, at noon UTC of three days.
struct Repository {
    dir: tempfile::TempDir,
    commits: Vec<String>,
}

fn run(root: &Path, date: &str, args: &[&str]) {
    let mut command = git_command(root, args);
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "n")
            .env(format!("GIT_{role}_EMAIL"), "n@example.org");
        command.env(format!("GIT_{role}_DATE"), date);
    }
    // Tests must not depend on what the machine's owner has set up.
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = testkit::git::output(command);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn repository() -> Repository {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    run(root, "", &["init", "-q", "-b", "main"]);
    let mut commits = Vec::new();
    for (day, text) in [(10, "one\n"), (20, "two\n"), (30, "three\n")] {
        fs::create_dir_all(root.join("ws/knowledge")).unwrap();
        fs::write(root.join("ws/knowledge/a.md"), text).unwrap();
        if day == 20 {
            fs::write(root.join("ws/knowledge/größe \"x\".md"), "odd name").unwrap();
            fs::write(root.join("ws/knowledge/empty.md"), "").unwrap();
            fs::write(root.join("ws/other.md"), "binary \0 and\nlines").unwrap();
        }
        let date = format!("2026-01-{day}T12:00:00+00:00");
        run(root, &date, &["add", "."]);
        run(root, &date, &["commit", "-q", "-m", "c"]);
        commits.push(head_commit(root).unwrap());
    }
    run(root, "", &["tag", "v1", &commits[0]]);
    Repository { dir, commits }
}

#[test]
fn names_and_dates_find_commits() {
    let repository = repository();
    let root = repository.dir.path();
    let check = |asked: &str, expect: usize| {
        let rev = resolve_revision(root, asked).unwrap_or_else(|e| panic!("{asked}: {e}"));
        assert_eq!(rev.commit, repository.commits[expect], "for {asked}");
    };
    check("HEAD", 2);
    check("main", 2);
    check("HEAD~1", 1);
    check("v1", 0);
    check(&repository.commits[1][..10], 1);
    check("2026-01-15", 0);
    check("2026-01-25", 1);
    check("2026-01-25T10:00", 1);
    check("2026-01-25 10:00:30", 1);
    check("2026-01-20T12:00:00Z", 1);
    check("2026-01-20T11:59:59Z", 0);
    check("2030-01-01", 2);
    let rev = resolve_revision(root, "v1").unwrap();
    assert_eq!(rev.date.to_string(), "2026-01-10T12:00:00Z");
}

#[test]
fn what_is_neither_is_refused() {
    let repository = repository();
    let root = repository.dir.path();
    let check = |asked: &str, expect: &str| {
        let error = resolve_revision(root, asked).expect_err(asked).to_string();
        assert!(error.contains(expect), "{asked}: {error}");
    };
    for asked in [
        "nosuchbranch",
        "",
        " ",
        "-1",
        "--all",
        "--output=x",
        "--exec-path=x",
        "a\0b",
        "HEAD\n--all",
        "2026-13-45",
        "2026-02-30",
        "tomorrow morning",
        "x weeks ago",
        "2 fortnights ago",
        "main..v1",
        "99999999999 days ago",
    ] {
        check(asked, "is neither a commit, branch or tag nor a date");
    }
    check("2025-12-31", "There is no commit before `2025-12-31`");
    assert!(!root.join("x").exists());
}

#[test]
fn dates_are_made_exact_before_git_sees_them() {
    let check = |asked: &str, expect: Option<&str>| {
        assert_eq!(date_for_git(asked).as_deref(), expect, "for {asked}");
    };
    check("2026-01-31", Some("2026-01-31T23:59:59"));
    check("2026-01-31T10:00", Some("2026-01-31T10:00:00"));
    check("2026-01-31T10:00:00+02:00", Some("2026-01-31T08:00:00Z"));
    check("2 weeks ago", Some("2.weeks.ago"));
    check("A Month Ago", Some("1.months.ago"));
    check("1 day ago", Some("1.days.ago"));
    check("yesterday", Some("1.day.ago"));
    check("ago", None);
    check("-1 days ago", None);
    check("noon", None);
}

#[test]
fn relative_dates_reach_back() {
    let repository = repository();
    let rev = resolve_revision(repository.dir.path(), "1 second ago");
    // The commits are of a fixed day; on any later one this is the newest.
    match rev {
        Ok(rev) => assert!(repository.commits.contains(&rev.commit)),
        Err(error) => assert!(error.to_string().contains("no commit before"), "{error}"),
    }
}

#[test]
fn files_and_contents_of_the_past() {
    let repository = repository();
    let root = repository.dir.path().join("ws");
    let rev = resolve_revision(&root, "2026-01-25").unwrap();
    let files = list_files_at(&root, &rev, "").unwrap();
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "knowledge/a.md",
            "knowledge/empty.md",
            "knowledge/größe \"x\".md",
            "other.md"
        ]
    );
    let ids: Vec<&str> = files.iter().map(|(_, id)| id.as_str()).collect();
    let contents = read_blobs(&root, &ids).unwrap();
    let expect: [&[u8]; 4] = [b"two\n", b"", b"odd name", b"binary \0 and\nlines"];
    assert_eq!(contents, expect);
    assert_eq!(list_files_at(&root, &rev, "knowledge").unwrap().len(), 3);
    assert_eq!(list_files_at(&root, &rev, "knowledge/").unwrap().len(), 3);
    assert_eq!(list_files_at(&root, &rev, "know*").unwrap(), []);
    assert!(list_files_at(&root, &rev, "../").is_err());
    assert_eq!(
        read_blobs(&root, &[] as &[&str]).unwrap(),
        Vec::<Vec<u8>>::new()
    );
    // The whole repository sees the same files below the folder.
    let top = resolve_revision(repository.dir.path(), "2026-01-25").unwrap();
    assert_eq!(
        list_files_at(repository.dir.path(), &top, "ws/knowledge")
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn many_contents_do_not_block() {
    let repository = repository();
    let root = repository.dir.path();
    let rev = resolve_revision(root, "HEAD").unwrap();
    let id = list_files_at(root, &rev, "ws/other.md")
        .unwrap()
        .remove(0)
        .1;
    let ids = vec![id; 20_000];
    assert_eq!(read_blobs(root, &ids).unwrap().len(), 20_000);
}

#[test]
fn a_content_that_is_not_there_is_an_error() {
    let repository = repository();
    let root = repository.dir.path();
    let none = "0123456789012345678901234567890123456789";
    assert!(
        read_blobs(root, &[none])
            .unwrap_err()
            .to_string()
            .contains("git has no file content")
    );
    assert!(read_blobs(root, &["--help"]).is_err());
    let tree = resolve_revision(root, "HEAD").unwrap().tree;
    assert!(
        read_blobs(root, &[tree]).is_err(),
        "a folder is not a content"
    );
}

#[cfg(unix)]
#[test]
fn symlinks_are_left_out() {
    let repository = repository();
    let root = repository.dir.path();
    std::os::unix::fs::symlink("/etc/passwd", root.join("ws/link.md")).unwrap();
    run(root, "2026-01-31T12:00:00+00:00", &["add", "."]);
    run(
        root,
        "2026-01-31T12:00:00+00:00",
        &["commit", "-q", "-m", "c"],
    );
    let files = list_files_at(root, &resolve_revision(root, "HEAD").unwrap(), "").unwrap();
    assert!(files.iter().all(|(path, _)| path != "ws/link.md"));
}

#[test]
fn without_a_repository_or_a_commit_it_says_so() {
    if testkit::git::is_missing() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let error = resolve_revision(dir.path(), "HEAD")
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("is not in a git repository, so it has no history to search"),
        "{error}"
    );
    assert_eq!(head_commit(dir.path()), None);
    run(dir.path(), "", &["init", "-q"]);
    assert_eq!(head_commit(dir.path()), None);
    let error = resolve_revision(dir.path(), "2026-01-01")
        .unwrap_err()
        .to_string();
    assert_eq!(error, "The repository has no commit yet");
}

#[test]
fn a_folder_that_came_later_is_told() {
    let repository = repository();
    let later = repository.dir.path().join("later");
    fs::create_dir(&later).unwrap();
    let error = resolve_revision(&later, "HEAD").unwrap_err().to_string();
    assert!(
        error.starts_with("The workspace did not exist yet"),
        "{error}"
    );
}

#[test]
fn ignored_says_by_which_file() {
    let ws = testkit::TestWorkspace::files("//- .gitignore\n*.log\n!kept.log\n");
    let check = |path: &str, expect: IgnoreStatus| {
        assert_eq!(ignore_status(ws.root(), path), expect, "{path}")
    };
    check("a.log", IgnoreStatus::Unknown);
    ws.git_init();
    check("a.log", IgnoreStatus::By(".gitignore".to_string()));
    check("kept.log", IgnoreStatus::No);
    check(".memory-forge/", IgnoreStatus::No);
    ws.add("//- .memory-forge/.gitignore\n*\n");
    check(
        ".memory-forge/",
        IgnoreStatus::By(".memory-forge/.gitignore".to_string()),
    );
    assert_eq!(count_tracked_below(ws.root(), ".memory-forge").unwrap(), 0);
    ws.git(&["add", "--force", ".memory-forge/.gitignore"]);
    assert_eq!(count_tracked_below(ws.root(), ".memory-forge").unwrap(), 1);
}

/// What a repository names is read only where it lies inside the repository:
/// a name may be absolute, and any file may be a link.
#[cfg(unix)]
#[test]
fn a_head_that_leads_out_of_the_repository_is_not_read() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    let (root, id) = (base.join("ws"), "a".repeat(40));
    let git = root.join(".git");
    fs::create_dir_all(git.join("refs/heads")).unwrap();
    let outside = base.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("key"), &id).unwrap();
    let head = |text: &str| {
        let _ = fs::remove_file(git.join("HEAD"));
        fs::write(git.join("HEAD"), text).unwrap();
        read_head_file(&root)
    };
    assert_eq!(head(&id).as_ref(), Some(&id));
    fs::write(git.join("refs/heads/main"), &id).unwrap();
    assert_eq!(head("ref: refs/heads/main\n").as_ref(), Some(&id));

    let key = outside.join("key");
    assert_eq!(head(&format!("ref: {}", key.display())), None);
    assert_eq!(head("ref: /dev/zero\n"), None);
    assert_eq!(head("ref: refs/../../../outside/key"), None);
    symlink(&key, git.join("refs/heads/link")).unwrap();
    assert_eq!(head("ref: refs/heads/link"), None);
    symlink(&outside, git.join("refs/elsewhere")).unwrap();
    assert_eq!(head("ref: refs/elsewhere/key"), None);
    fs::remove_file(git.join("HEAD")).unwrap();
    symlink(&key, git.join("HEAD")).unwrap();
    assert_eq!(read_head_file(&root), None);
    // A key in hexadecimal digits is no commit, however long.
    assert_eq!(head(&"b".repeat(48)), None);
}

/// A folder that came as an archive may say that its repository is another
/// one: what a person committed elsewhere is not shown here.
#[cfg(unix)]
#[test]
fn a_repository_elsewhere_is_asked_only_if_it_names_this_folder() {
    use std::os::unix::fs::symlink;
    let elsewhere = repository();
    let other = fs::canonicalize(elsewhere.dir.path()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(dir.path()).unwrap();
    let entry = here.join(".git");
    let refused = |why: &str| {
        let error = resolve_revision(&here, "HEAD").expect_err(why).to_string();
        assert!(error.contains("git was not run"), "{why}: {error}");
        assert_eq!(head_commit(&here), None, "{why}");
        assert!(list_commits(&here, None, 3).is_err(), "{why}");
        assert!(set_driver(&here, "x").is_err(), "{why}");
    };
    fs::write(&entry, format!("gitdir: {}/.git\n", other.display())).unwrap();
    refused("a file that names a repository");
    fs::remove_file(&entry).unwrap();
    symlink(other.join(".git"), &entry).unwrap();
    refused("a link to a repository");
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    for name in ["objects", "refs"] {
        symlink(other.join(".git").join(name), entry.join(name)).unwrap();
    }
    fs::write(entry.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    refused("a repository with the objects of another");
    for name in ["objects", "refs"] {
        fs::remove_file(entry.join(name)).unwrap();
        fs::create_dir(entry.join(name)).unwrap();
    }
    let common = format!("{}/.git\n", other.display());
    fs::write(entry.join("commondir"), common).unwrap();
    refused("a repository that shares another");
    fs::remove_dir_all(&entry).unwrap();

    // Worktrees and submodules are named by their repository.
    let worktree = here.join("worktree");
    let path = worktree.to_str().unwrap();
    run(&other, "", &["worktree", "add", "-q", "--detach", path]);
    let rev = resolve_revision(&worktree, "HEAD").unwrap();
    assert_eq!(rev.commit, elsewhere.commits[2]);
    let module = here.join("module");
    let path = module.to_str().unwrap();
    let folder = other.join(".git/modules/m");
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let separate = format!("--separate-git-dir={}", folder.display());
    run(&other, "", &["init", "-q", &separate, path]);
    let mut config = fs::read_to_string(folder.join("config")).unwrap();
    config.push_str(&format!("[core]\n\tworktree = {path}\n"));
    fs::write(folder.join("config"), config).unwrap();
    assert!(list_commits(&module, None, 3).unwrap().is_empty());
}

/// What git would wait for, or write through, is seen before it is asked.
#[cfg(unix)]
#[test]
fn a_repository_with_pipes_in_it_is_not_asked() {
    for name in [
        ".git/HEAD",
        ".git/config",
        ".git/index",
        ".gitignore",
        ".git/refs/heads/main",
    ] {
        let repository = repository();
        let root = fs::canonicalize(repository.dir.path()).unwrap();
        let path = root.join(name);
        let _ = fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|it| it.success()), "mkfifo is in coreutils");
        let error = resolve_revision(&root, "HEAD").expect_err(name).to_string();
        assert!(error.contains("is not a regular file"), "{name}: {error}");
    }
}

/// Whoever asks five things of a git that does not answer waits once.
#[cfg(unix)]
#[test]
fn a_git_that_gives_no_answer_is_asked_once() {
    let repository = repository();
    let root = repository.dir.path();
    let wait = Duration::from_millis(50);
    let pipe = root.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|it| it.success()), "mkfifo is in coreutils");
    let hanging = || {
        // It waits for its input, which whoever reads it keeps open.
        let input = fs::File::options().read(true).write(true).open(&pipe);
        let mut command = git_command(root, &["cat-file", "--batch"]);
        command.stdin(input.unwrap());
        command
    };
    let error = run_command(root, hanging(), None, AnswerWait::Silent(wait)).unwrap_err();
    assert!(error.to_string().contains("took longer"), "{error}");
    assert!(is_known_late(root, wait));
    // What would answer is not even started.
    let quick = || git_command(root, &["rev-parse", "HEAD"]);
    assert!(run_command(root, quick(), None, AnswerWait::Whole(wait)).is_err());
    // Who has more time may try.
    assert!(run_command(root, quick(), None, AnswerWait::Silent(ANSWER_WAIT)).is_ok());
}
