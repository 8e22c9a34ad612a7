//! Debian's Chromium without a screen, driven over WebDriver: plain HTTP and
//! JSON on a port of the loopback. What it is told is what a person could do;
//! everything it asked of the network can be listed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fetched;

/// How long something may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(90);

/// WebDriver's name for an element in JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window, ended when dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    log: PathBuf,
    _profile: TempDir,
}

impl Browser {
    /// Skips the running test where there is no browser. `tmpdir` is
    /// `CARGO_TARGET_TMPDIR`.
    pub fn start(tmpdir: &str, width: u32, height: u32) -> Option<Browser> {
        let chromium = fetched::program(tmpdir, "browser", "chromium")?;
        let driver = fetched::program(tmpdir, "browser", "chromedriver")?;
        Some(Browser::of(&chromium, &driver, width, height))
    }

    /// # Panics
    ///
    /// Where the driver or the browser does not start; with their log.
    pub fn of(chromium: &Path, driver: &Path, width: u32, height: u32) -> Browser {
        let profile = tempfile::tempdir().expect("a folder can be made");
        let log = profile.path().join("driver.log");
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .arg(format!("--log-path={}", log.display()))
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the driver was found");
        let output = driver.stdout.take().expect("it is piped");
        let port = BufReader::new(output)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, port) = line.split_once("successfully on port ")?;
                port.trim_end_matches('.').parse().ok()
            });
        let mut browser = Browser {
            driver,
            port: port.unwrap_or(0),
            session: String::new(),
            log,
            _profile: profile,
        };
        assert!(browser.port > 0, "no driver\n{}", browser.told());
        let data = browser.log.with_file_name("profile");
        let arguments = [
            "--headless".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            "--disable-default-apps".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--hide-scrollbars".to_owned(),
            "--force-device-scale-factor=1".to_owned(),
            format!("--user-data-dir={}", data.display()),
            format!("--window-size={width},{height}"),
        ];
        let asked = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": chromium, "args": arguments },
            "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
            "unhandledPromptBehavior": "accept",
        } } });
        let made = browser.call("POST", "/session", &asked);
        let made = made.unwrap_or_else(|why| panic!("no browser: {why}\n{}", browser.told()));
        browser.session = made["sessionId"].as_str().unwrap_or_default().to_owned();
        browser
    }

    /// The last lines of the driver's log.
    fn told(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = match method {
            "POST" => body.to_string(),
            _ => String::new(),
        };
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                self.port,
                body.len()
            );
            stream.write_all(head.as_bytes())?;
            stream.write_all(body.as_bytes())?;
            let mut answer = Vec::new();
            let mut part = [0; 65536];
            // The driver keeps the connection open whatever it is told.
            loop {
                let read = stream.read(&mut part)?;
                answer.extend_from_slice(&part[..read]);
                if read == 0 || whole(&answer) {
                    return Ok(String::from_utf8_lossy(&answer).into_owned());
                }
            }
        };
        let answer = ask().map_err(|error| format!("{path}: {error}"))?;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let value: Value =
            serde_json::from_str(body).map_err(|error| format!("{error}: {body}"))?;
        match value["value"]["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", value["value"]["message"])),
            None => Ok(value["value"].clone()),
        }
    }

    #[track_caller]
    fn at(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        let answered = self.call(method, &path, body);
        answered.unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    #[track_caller]
    pub fn open(&self, address: &str) {
        self.at("POST", "/url", &json!({ "url": address }));
    }

    pub fn address(&self) -> String {
        self.at("GET", "/url", &Value::Null)
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// What a script of the test's own gives; `arguments` in it are these.
    #[track_caller]
    pub fn script(&self, script: &str, arguments: &[Value]) -> Value {
        let body = json!({ "script": script, "args": arguments });
        self.at("POST", "/execute/sync", &body)
    }

    /// As [`Browser::script`], for one that calls its last argument when done.
    #[track_caller]
    pub fn script_later(&self, script: &str, arguments: &[Value]) -> Value {
        let body = json!({ "script": script, "args": arguments });
        self.at("POST", "/execute/async", &body)
    }

    fn find(&self, css: &str) -> Option<String> {
        let path = format!("/session/{}/element", self.session);
        let body = json!({ "using": "css selector", "value": css });
        let found = self.call("POST", &path, &body).ok()?;
        Some(found[ELEMENT].as_str()?.to_owned())
    }

    /// Waits until a script gives something true, and gives it.
    #[track_caller]
    pub fn wait_for(&self, what: &str, script: &str) -> Value {
        let start = Instant::now();
        loop {
            let body = json!({ "script": script, "args": [] });
            let path = format!("/session/{}/execute/sync", self.session);
            let value = self.call("POST", &path, &body);
            if let Ok(value) = &value
                && !matches!(value, Value::Null | Value::Bool(false))
                && *value != json!("")
            {
                return value.clone();
            }
            if start.elapsed() > PATIENCE {
                let text = self.script("return document.body.innerText.slice(0, 3000)", &[]);
                panic!(
                    "waited in vain for {what}: {value:?}\n{}\n{text}",
                    self.address()
                );
            }
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    /// Waits for an element.
    #[track_caller]
    fn element(&self, css: &str) -> String {
        let quoted = json!(css);
        let script = format!("return !!document.querySelector({quoted})");
        self.wait_for(css, &script);
        self.find(css).unwrap_or_else(|| panic!("no {css}"))
    }

    /// The text of an element, once it is there.
    #[track_caller]
    pub fn text(&self, css: &str) -> String {
        let element = self.element(css);
        let text = self.at("GET", &format!("/element/{element}/text"), &Value::Null);
        text.as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn click(&self, css: &str) {
        let element = self.element(css);
        self.at("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Types into an element, as a person at a keyboard would.
    #[track_caller]
    pub fn keys(&self, css: &str, text: &str) {
        let element = self.element(css);
        let body = json!({ "text": text });
        self.at("POST", &format!("/element/{element}/value"), &body);
    }

    /// Clears a field, then types.
    #[track_caller]
    pub fn fill(&self, css: &str, text: &str) {
        let element = self.element(css);
        self.at("POST", &format!("/element/{element}/clear"), &json!({}));
        self.keys(css, text);
    }

    pub fn size(&self, width: u32, height: u32) {
        // The window would not become so narrow; what the page sees does.
        let mobile = width < 600;
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile }),
        );
    }

    /// `light` or `dark`, as the system would say.
    pub fn prefers(&self, scheme: &str) {
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.devtools("Emulation.setEmulatedMedia", &features);
    }

    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.at("POST", "/goog/cdp/execute", &body)
    }

    /// The page as a PNG, written to a file.
    pub fn screenshot(&self, file: &Path) {
        let picture = self.at("GET", "/screenshot", &Value::Null);
        let bytes = from_base64(picture.as_str().unwrap_or_default());
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).expect("a folder can be made");
        }
        std::fs::write(file, bytes).expect("a file can be written");
    }

    /// Every address that was asked for since the last call.
    pub fn requests(&self) -> Vec<String> {
        self.log_of("performance")
            .iter()
            .filter_map(|entry| {
                let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
                let message = &message["message"];
                let sent = matches!(
                    message["method"].as_str(),
                    Some("Network.requestWillBeSent" | "Network.webSocketCreated")
                );
                let address = message["params"]["request"]["url"]
                    .as_str()
                    .or(message["params"]["url"].as_str());
                sent.then(|| address.unwrap_or_default().to_owned())
            })
            .collect()
    }

    /// What the console says since the last call, errors and refusals by policy.
    pub fn console(&self) -> Vec<String> {
        let entries = self.log_of("browser");
        let text = |entry: &Value| entry["message"].as_str().unwrap_or_default().to_owned();
        entries.iter().map(text).collect()
    }

    fn log_of(&self, kind: &str) -> Vec<Value> {
        let entries = self.at("POST", "/se/log", &json!({ "type": kind }));
        entries.as_array().cloned().unwrap_or_default()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            let _ = self.call("DELETE", &path, &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Whether an answer has the length that its head announces.
fn whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|length| length.trim().parse::<usize>().ok());
    length.is_some_and(|length| answer.len() >= end + 4 + length)
}

fn from_base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut kept, mut bits) = (0_u32, 0);
    for letter in text.bytes() {
        let Some(value) = LETTERS.iter().position(|it| *it == letter) else {
            continue;
        };
        kept = kept << 6 | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((kept >> bits) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_read() {
        assert_eq!(super::from_base64("aGFsbG8="), b"hallo");
        assert_eq!(super::from_base64("/+8="), [0xff, 0xef]);
    }
}
