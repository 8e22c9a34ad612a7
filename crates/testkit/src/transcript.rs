//! A long session as a client's transcript: many different commands and files,
//! with results of real size. It draws from a seed, so that every run is the
//! same.

use serde_json::{Value, json};

/// A session, and what happened in it.
pub struct LongSession {
    /// The lines of the transcript, one call with its result each, in the form
    /// of Claude Code.
    pub calls: Vec<String>,
    /// The commands that worked, each once.
    pub worked: Vec<String>,
    /// The commands that failed, each once.
    pub failed: Vec<String>,
    /// The files that were read or changed, each once.
    pub files: Vec<String>,
}

impl LongSession {
    /// Draws a session with so many commands and files.
    pub fn draw(seed: u64, commands: usize, files: usize) -> LongSession {
        let mut session = LongSession {
            calls: Vec::new(),
            worked: Vec::new(),
            failed: Vec::new(),
            files: Vec::new(),
        };
        let mut dice = Dice(seed);
        while session.worked.len() + session.failed.len() < commands || session.files.len() < files
        {
            if dice.below(commands + files) < commands {
                session.add_command(&mut dice, commands);
            } else {
                session.add_file(&mut dice, files);
            }
        }
        session
    }

    fn add_command(&mut self, dice: &mut Dice, most: usize) {
        if self.worked.len() + self.failed.len() >= most {
            return;
        }
        let (place, name) = (dice.word(&PLACES), dice.word(&NAMES));
        let number = dice.below(400);
        let command = match dice.below(10) {
            0 => format!("cargo test -p {place} {name}_{number}"),
            1 => format!("npm run {name} -- --filter {place}-{number}"),
            2 => format!("python3 scripts/{place}_{name}.py --limit {number}"),
            3 => format!("psql -c \"select count(*) from {name}_{place} where id > {number}\""),
            4 => format!("git log --oneline -n {number} -- src/{place}/{name}.rs"),
            5 => format!("docker compose run --rm {place} ./bin/{name} {number}"),
            6 => format!("rg -n '{name}.*{place}' src | head -{number}"),
            7 => format!("curl -s 'http://localhost:8080/{place}/{name}?page={number}' | jq ."),
            8 => format!("make -C {place} {name} JOBS={number}"),
            _ => format!("sed -n '{number},{}p' docs/{place}/{name}.md", number + 20),
        };
        if self.worked.contains(&command) || self.failed.contains(&command) {
            return;
        }
        let output = "a line of output with some words\n".repeat(1 + dice.below(600));
        let fails = dice.below(5) == 0;
        let result = if fails {
            format!("Exit code 1\nerror: {name} is not ready in {place} ({number})\n{output}")
        } else {
            output
        };
        self.add_call("Bash", &json!({ "command": command }), &result, fails);
        if fails {
            self.failed.push(command);
        } else {
            self.worked.push(command);
        }
    }

    fn add_file(&mut self, dice: &mut Dice, most: usize) {
        if self.files.len() >= most {
            return;
        }
        let (place, name) = (dice.word(&PLACES), dice.word(&NAMES));
        let ending = dice.word(&["rs", "ts", "md", "py", "sql"]);
        let path = format!("src/{place}/{name}_{}.{ending}", dice.below(300));
        if self.files.contains(&path) {
            return;
        }
        let text = "1 a line of the file\n".repeat(1 + dice.below(300));
        if dice.below(2) == 0 {
            self.add_call("Read", &json!({ "file_path": path }), &text, false);
        } else {
            let input = json!({ "file_path": path, "old_string": "a", "new_string": "b" });
            self.add_call("Edit", &input, "The file has been updated.", false);
        }
        self.files.push(path);
    }

    fn add_call(&mut self, tool: &str, input: &Value, result: &str, is_error: bool) {
        let number = self.calls.len();
        let (hour, minute, second) = (8 + number / 3_600, number / 60 % 60, number % 60);
        let at = format!("2026-02-27T{hour:02}:{minute:02}:{second:02}Z");
        let id = format!("call-{number}");
        let call = json!({ "type": "assistant", "timestamp": at, "message": { "content": [
            { "type": "tool_use", "id": id, "name": tool, "input": input },
        ] } });
        let result = json!({ "type": "user", "timestamp": at, "message": { "content": [
            { "type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error },
        ] } });
        self.calls.push(format!("{call}\n{result}\n"));
    }
}

const PLACES: [&str; 16] = [
    "billing", "search", "auth", "mailer", "reports", "import", "gateway", "catalog", "orders",
    "stock", "web", "admin", "audit", "queue", "cache", "tax",
];
const NAMES: [&str; 16] = [
    "refund", "invoice", "session", "token", "migrate", "render", "export", "retry", "schema",
    "ledger", "batch", "lint", "build", "seed", "verify", "report",
];

/// A generator of numbers that needs no crate.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    fn word<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }
}
