//! A project with memory, a home of its own and a client that runs in it with
//! an empty environment and a deadline.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use testkit::{Output, TestWorkspace};

use crate::stand_in::{Request, StandIn};

/// In the state, the briefing and the nudge.
pub(crate) const PHASE: &str = "Grey heron counts the boats";
/// In the state, the briefing and the nudge.
pub(crate) const NEXT: &str = "Paint the seventh hull";
/// In the briefing alone.
pub(crate) const WORK: &str = "Otter carries the rope";
/// The first words of a briefing.
pub(crate) const BRIEFING: &str = "=== SESSION BRIEFING ===";
/// The first words of the briefing after a compaction.
pub(crate) const RESTORED: &str = "=== CONTEXT RESTORED (post-compaction) ===";
/// The first word of the line that comes with a prompt.
pub(crate) const NUDGE: &str = "[Memory] Phase:";
/// A line of the stub.
pub(crate) const STUB: &str = "Where the work stands: `memory-forge mind show`";

/// A client starts in seconds, and in many more on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

const MEMORY: &str = "
    //- .mind/STATE.md
    # State

    ## Current Phase
    Grey heron counts the boats

    ## Next Action
    Paint the seventh hull
    //- .mind/PROGRESS.md
    # Progress

    ## In Progress
    - [ ] Otter carries the rope
    //- src/main.c
    int main(void) { return 0; }
";

/// A client's program, or a note that the running test is skipped.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    testkit::fetched::program(env!("CARGO_TARGET_TMPDIR"), "clients", name)
}

/// A project in which a client can be set up and run.
pub(crate) struct Project {
    pub(crate) ws: TestWorkspace,
    pub(crate) model: StandIn,
    program: PathBuf,
    /// Words before the client's own, where it is a script.
    prefix: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Project {
    /// Skips the running test where the client is absent.
    pub(crate) fn with(client: &str) -> Option<Project> {
        let program = program(client)?;
        let ws = TestWorkspace::files(MEMORY)
            .binary(env!("CARGO_BIN_EXE_memory-forge"))
            .env("PATH", &search_path());
        ws.git_init();
        Some(Project {
            ws,
            model: StandIn::start(),
            program,
            prefix: Vec::new(),
            environment: Vec::new(),
        })
    }

    /// Runs the client's file with this interpreter.
    pub(crate) fn run_by(mut self, interpreter: &Path) -> Project {
        let script = std::mem::replace(&mut self.program, interpreter.to_owned());
        self.prefix.push(script.to_string_lossy().into_owned());
        self
    }

    /// Adds a variable to the client's environment, in which `[url]` stands
    /// for the model's address.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Project {
        let value = value.replace("[url]", &self.model.url());
        self.environment.push((name.to_owned(), value));
        self
    }

    /// Writes a file into the home; `[url]` and `[root]` are replaced.
    pub(crate) fn home(self, path: &str, text: &str) -> Project {
        let file = self.ws.home().join(path);
        let folder = file.parent().expect("a path has a folder");
        fs::create_dir_all(folder).expect("the home can be written");
        let text = text.replace("[url]", &self.model.url());
        let text = text.replace("[root]", &self.ws.root().to_string_lossy());
        fs::write(file, text).expect("the home can be written");
        self
    }

    #[track_caller]
    pub(crate) fn memory_forge(&self, arguments: &[&str]) -> String {
        self.ws.run(arguments).ok().to_owned()
    }

    /// As if nobody had touched the state for hours.
    pub(crate) fn make_state_old(&self) {
        let state = File::options()
            .write(true)
            .open(self.ws.path(".mind/STATE.md"));
        let hours_ago = SystemTime::now() - Duration::from_secs(5 * 3600);
        let set = state.and_then(|state| state.set_modified(hours_ago));
        set.expect("the file is ours");
    }

    /// Runs the client to its end, which must be a success.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let output = self.start(arguments);
        output.ok();
        output
    }

    /// Runs the client and gives the one question it put to the model that
    /// has this text, as a person would have typed it.
    #[track_caller]
    pub(crate) fn ask(&self, prompt: &str, arguments: &[&str]) -> Request {
        self.model.forget();
        let output = self.run(arguments);
        let questions = self.model.questions();
        let meant = |question: &&Request| question.text().contains(prompt);
        let found = questions.iter().rfind(meant).cloned();
        found.unwrap_or_else(|| panic!("the model was never asked `{prompt}`:\n{output}"))
    }

    #[track_caller]
    fn start(&self, arguments: &[&str]) -> Output {
        // Files instead of pipes: what a client leaves running in the
        // background would keep a pipe open.
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
        let file = |path: &Path| Stdio::from(File::create(path).expect("the folder is ours"));
        let mut child = Command::new(&self.program)
            .args(&self.prefix)
            .args(arguments)
            .current_dir(self.ws.root())
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", self.ws.home())
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(file(&stdout))
            .stderr(file(&stderr))
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it is our child") {
                break Some(status);
            }
            if begun.elapsed() > DEADLINE {
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        end_group(child.id());
        let _ = child.wait();
        let read = |path: &Path| {
            let bytes = fs::read(path).expect("it was just written");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let output = Output {
            status: status.and_then(|status| status.code()),
            stdout: read(&stdout),
            stderr: read(&stderr),
        };
        assert!(
            status.is_some(),
            "not done after {DEADLINE:?} and killed: {arguments:?}\n{output}"
        );
        output
    }
}

/// Ends what the client started and left behind.
fn end_group(leader: u32) {
    let _ = Command::new("/bin/sh")
        .args(["-c", &format!("kill -KILL -{leader}")])
        .stderr(Stdio::null())
        .status();
}

/// Where clients and their hooks find programs: ours, and the system's.
fn search_path() -> String {
    let ours = Path::new(env!("CARGO_BIN_EXE_memory-forge"));
    let folder = ours.parent().expect("a program lies in a folder");
    format!("{}:/usr/bin:/bin", folder.display())
}

/// A colleague has the settings from git and not the program: whatever the
/// prompt is, it reaches the model, and nothing of ours does.
#[track_caller]
pub(crate) fn loses_no_prompt_without_the_program(
    project: Project,
    client: &str,
    prompt: &str,
    arguments: &[&str],
) -> Output {
    project.memory_forge(&["setup", client, "--yes"]);
    let project = project.env("PATH", "/usr/bin:/bin");
    project.model.forget();
    let output = project.run(arguments);
    let asked = project.model.questions();
    let text = asked
        .iter()
        .map(Request::text)
        .find(|text| text.contains(prompt))
        .unwrap_or_else(|| panic!("the prompt was lost\n{output}"));
    counts(&text, BRIEFING, 0);
    counts(&text, NUDGE, 0);
    output
}

/// The first question of a session has the briefing once, and with it the
/// whole state.
#[track_caller]
pub(crate) fn is_briefed(question: &Request) -> String {
    let text = question.text();
    counts(&text, BRIEFING, 1);
    counts(&text, STUB, 1);
    for mark in [PHASE, NEXT, WORK] {
        assert!(text.contains(mark), "{mark}:\n{text}");
    }
    text
}

/// The client starts the server that `setup` told it of, and the model's call
/// of a tool comes back to the model with what our server found.
#[track_caller]
pub(crate) fn searches_the_memory(project: &Project, client: &str, arguments: &[&str]) {
    project.ws.add(
        "
        //- knowledge/tides.md
        # Tides

        High water at the old pier comes with the seventh bell.
    ",
    );
    project.memory_forge(&["setup", client, "--mcp", "--yes"]);
    project.model.forget();
    let query = serde_json::json!({"query": "high water at the pier"});
    project.model.will_call("search_knowledge", query);
    let output = project.run(arguments);
    let questions = project.model.questions();
    let came_back = questions.iter().any(|question| {
        let text = question.text();
        text.contains("with the seventh bell") && text.contains("knowledge/tides.md")
    });
    let last = questions.last().map(|question| &question.body["tools"]);
    assert!(
        came_back,
        "nothing came back from the server\n{output}\noffered: {last:?}"
    );
}

/// The first words of what is brought before an action.
pub(crate) const PUSH: &str = "has never worked here";

/// A command that no shell accepts: the option does not exist.
pub(crate) const FAILS: &str = "cat --frobnicate src/main.c";

/// In one session, the model runs a command that fails. In the next one it
/// runs it again: what the client then asks the model with is returned.
#[track_caller]
pub(crate) fn runs_what_failed_again(
    project: &Project,
    tool: &'static str,
    arguments: &[&str],
) -> String {
    let call = || {
        project
            .model
            .will_call(tool, serde_json::json!({ "command": FAILS }))
    };
    call();
    project.run(arguments);
    let log = project.ws.read(".mind/evidence/log.jsonl");
    assert!(log.contains("--frobnicate"), "no evidence of it in {log}");
    project.model.forget();
    call();
    let output = project.run(arguments);
    let questions = project.model.questions();
    let last = questions.iter().rfind(|it| it.text().contains(FAILS));
    last.unwrap_or_else(|| panic!("the command never ran\n{output}"))
        .text()
}

/// Fails until there is a remote of this name.
const PUSH_TO_BACKUP: &str = "git push backup main";

/// What makes it work.
pub(crate) const ADDS_THE_REMOTE: &str = "git remote add backup ./mirror.git";

/// In one session, the model needs four commands to solve an error. In the next
/// one it has the same error: what the client then asks the model with is
/// returned.
#[track_caller]
pub(crate) fn fails_as_in_an_earlier_session(
    project: &Project,
    tool: &'static str,
    arguments: &[&str],
) -> String {
    project
        .ws
        .write("memory-forge.toml", "[recall]\npush = \"all\"\n");
    project.ws.commit("Begin");
    project.ws.git(&["branch", "-M", "main"]);
    let calls = [
        PUSH_TO_BACKUP,
        "git remote -v",
        "git init -q --bare mirror.git",
        ADDS_THE_REMOTE,
        PUSH_TO_BACKUP,
    ];
    let command = |text: &str| serde_json::json!({ "command": text });
    project.model.will_call_in_turn(tool, calls.map(command));
    project.run(arguments);
    let keys = project.ws.read(".mind/evidence/keys.jsonl");
    assert!(keys.contains(ADDS_THE_REMOTE), "it is no key: {keys}");
    project.ws.git(&["remote", "remove", "backup"]);
    project.model.forget();
    project.model.will_call(tool, command(PUSH_TO_BACKUP));
    let output = project.run(arguments);
    let questions = project.model.questions();
    let last = questions.iter().rfind(|it| it.text().contains(FATAL));
    last.unwrap_or_else(|| panic!("the command did not fail\n{output}"))
        .text()
}

/// What git answers without that remote.
const FATAL: &str = "does not appear to be a git repository";

/// A prompt that repeats what is known to be wrong gets the correction.
#[track_caller]
pub(crate) fn is_corrected_at_a_prompt(project: &Project, client: &str, arguments: &[&str]) {
    project
        .ws
        .write("memory-forge.toml", "[recall]\npush = \"all\"\n");
    project.memory_forge(&["setup", client, "--yes"]);
    project.memory_forge(&[
        "forget",
        "--fact",
        "The harbour closes at nine",
        "--instead",
        "The harbour closes at six",
        "--yes",
    ]);
    let prompt = "The harbour closes at nine, so hurry";
    let mut words = arguments.to_vec();
    words.push(prompt);
    let text = project.ask(prompt, &words).text();
    counts(&text, "The harbour closes at six", 1);
    // Once in a session, and nothing where it is turned off.
    let pushes = project.ws.read(".mind/.pushes");
    assert_eq!(pushes.matches("UserPromptSubmit").count(), 1, "{pushes}");
}

/// A prompt that is a question gets a pointer to the document that answers it.
#[track_caller]
pub(crate) fn is_pointed_to_an_answer(project: &Project, client: &str, arguments: &[&str]) {
    let settings = "[recall]\npush = \"all\"\n";
    project.ws.write("memory-forge.toml", settings);
    project.ws.write(
        "knowledge/retries.md",
        "# Retries\n\nA failed payment is attempted again after one minute, at most five times.\n",
    );
    // Beside one document alone, nothing stands out.
    let other = "# Cache\n\nThumbnails are kept for one day.\n";
    project.ws.write("knowledge/cache.md", other);
    project.memory_forge(&["setup", client, "--yes"]);
    // The hook runs under the user's own key, which the client's environment has.
    let state = project.ws.home().join(".local/state");
    let state = state.to_string_lossy();
    let index = project
        .ws
        .feed("", &[("XDG_STATE_HOME", &*state)], &["index"]);
    index.ok();
    let prompt = "How often is a failed payment attempted again?";
    let mut words = arguments.to_vec();
    words.push(prompt);
    let text = project.ask(prompt, &words).text();
    // Gemini CLI writes the signs of a mark as entities.
    counts(&text, "[Memory] May answer this: ", 1);
    counts(&text, "knowledge/retries.md:3 Retries: ", 1);
}

/// What the client keeps in its own files is not compared.
#[track_caller]
pub(crate) fn goes_without_a_trace(project: &Project, client: &str) {
    let before = project.ws.tree_of_sources();
    project.memory_forge(&["setup", client, "--hooks", "all", "--yes"]);
    assert_ne!(project.ws.tree_of_sources(), before, "{client} was set up");
    project.memory_forge(&["uninstall", client, "--yes"]);
    assert_eq!(
        project.ws.tree_of_sources(),
        before,
        "{client} was taken out"
    );
}

/// The text must be in there exactly this often.
#[track_caller]
pub(crate) fn counts(text: &str, what: &str, times: usize) {
    assert_eq!(text.matches(what).count(), times, "`{what}` in:\n{text}");
}
