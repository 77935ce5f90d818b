//! A headless Chromium, driven through chromedriver by the little of W3C `WebDriver` that the test needs.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The driver's process and its one session.
#[derive(Debug)]
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts both, with a profile of their own in `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        let mut driver = Command::new("chromedriver")
            .args(["--port=0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("chromedriver: {error}"));
        let output = BufReader::new(driver.stdout.take().unwrap());
        let mut lines = output.lines().map(Result::unwrap);
        let port = lines
            .find_map(|line| {
                line.strip_suffix('.')?
                    .rsplit_once(" on port ")?
                    .1
                    .parse()
                    .ok()
            })
            .unwrap_or_else(|| panic!("chromedriver did not say its port"));
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
        };
        let profile = format!("--user-data-dir={}", folder.join("profile").display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1300,1000",
            &profile,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}
        }}});
        let session = browser.call("POST", "/session", &wanted);
        browser.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    /// Opens a page and waits until it is there.
    pub(crate) fn open(&self, url: &str) {
        self.ask("/url", &json!({ "url": url }));
    }

    /// Runs a script in the page; gives what it returns.
    pub(crate) fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.ask(
            "/execute/sync",
            &json!({ "script": script, "args": arguments }),
        )
    }

    /// Has the page believe that the reader's system is `light` or `dark`.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let body =
            json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } });
        self.ask("/goog/cdp/execute", &body);
    }

    /// The page as PDF, in base 64.
    pub(crate) fn print(&self) -> String {
        self.ask("/print", &json!({ "background": true }))
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// What the browser's console says.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.ask("/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().unwrap().iter();
        entries
            .map(|entry| format!("{} {}", entry["level"], entry["message"]))
            .collect()
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}{path}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.exchange(method, path, body).unwrap()["value"].take();
        assert!(value["error"].is_null(), "{method} {path}: {value}");
        value
    }

    fn exchange(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_mins(2)))?;
        let (body, port) = (body.to_string(), self.port);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes())?;
        answer(&mut BufReader::new(stream))
    }
}

/// The body of an answer that says its length.
fn answer(stream: &mut BufReader<TcpStream>) -> std::io::Result<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

impl Drop for Browser {
    fn drop(&mut self) {
        // the end of the session ends the browser, which would outlive a driver that is killed
        if !self.session.is_empty() {
            drop(self.exchange("DELETE", &self.session, &json!({})));
        }
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
