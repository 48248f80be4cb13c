//! A headless Chromium, driven by its own protocol over a pipe (`--remote-debugging-pipe`): JSON messages with a zero
//! byte after each. It needs no driver and no crate.
//!
//! The tests see all errors and requests of the page, and the effects of real clicks and keys.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub(crate) struct Page {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    events: VecDeque<Value>,
    session: Option<String>,
    number: u64,
    /// The browser's profile, removed at the end.
    _profile: tempfile::TempDir,
}

/// Returns the browser, if one is installed.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = names
        .iter()
        .flat_map(|name| places.iter().map(move |place| place.join(name)));
    all.into_iter().find(|program| program.is_file())
}

/// Starts a browser with a profile. Its pipes are those of the protocol.
fn start(program: &Path, profile: &Path) -> Child {
    // The browser reads from 3 and writes to 4, which needs a shell without `unsafe`.
    Command::new("sh")
        .args([
            "-c",
            "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
        ])
        .arg(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            "--window-size=1600,1000",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("about:blank")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the messages that the browser writes.
fn messages(from: ChildStdout) -> Receiver<Value> {
    let (sender, messages) = channel();
    let mut reader = BufReader::new(from);
    std::thread::spawn(move || {
        let mut message = Vec::new();
        while reader
            .read_until(0, &mut message)
            .is_ok_and(|length| length > 0)
        {
            message.pop();
            let Ok(value) = serde_json::from_slice(&message) else {
                break;
            };
            if sender.send(value).is_err() {
                break;
            }
            message.clear();
        }
    });
    messages
}

impl Page {
    /// Starts a browser with an empty page.
    pub(crate) fn open(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut child = start(program, profile.path());
        let from = messages(child.stdout.take().unwrap());
        let mut page = Self {
            to: child.stdin.take(),
            child,
            from,
            events: VecDeque::new(),
            session: None,
            number: 0,
            _profile: profile,
        };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = target["targetId"].as_str().unwrap().to_owned();
        let session = page.call(
            "Target.attachToTarget",
            json!({"targetId": target, "flatten": true}),
        );
        page.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page
    }

    /// Calls a method of the protocol and returns its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.as_mut().unwrap().write_all(&bytes).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.from.recv_timeout(left);
            let mut answer = answer
                .unwrap_or_else(|error| panic!("{method}: the browser says nothing: {error}"));
            if answer["id"] == json!(self.number) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push_back(answer);
        }
    }

    /// Shows a file, and waits until it is loaded.
    pub(crate) fn visit(&mut self, file: &Path) {
        self.events.clear();
        let answer = self.call(
            "Page.navigate",
            json!({"url": format!("file://{}", file.display())}),
        );
        assert!(answer.get("errorText").is_none(), "{answer}");
        let deadline = Instant::now() + PATIENCE;
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = self.from.recv_timeout(left).expect("the page is loaded");
            self.events.push_back(event);
        }
    }

    /// Evaluates an expression in the page, as JSON.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let mut answer = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        );
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].take()
    }

    /// Clicks into the middle of an element with the mouse.
    pub(crate) fn click(&mut self, selector: &str) {
        let [x, y] = self.middle(selector);
        for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1}),
            );
        }
    }

    /// Moves the mouse over the middle of an element.
    pub(crate) fn hover(&mut self, selector: &str) {
        let [x, y] = self.middle(selector);
        self.call(
            "Input.dispatchMouseEvent",
            json!({"type": "mouseMoved", "x": x, "y": y}),
        );
    }

    /// Scrolls an element into view, waits until it rests, and returns its middle.
    fn middle(&mut self, selector: &str) -> [f64; 2] {
        let place = self.eval(&format!(
            "(async () => {{ const e = document.querySelector({});
                const frame = () => new Promise(done => requestAnimationFrame(done));
                const place = () => {{ const r = e.getBoundingClientRect();
                    return [r.x + r.width / 2, r.y + r.height / 2]; }};
                e.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}});
                for (let last = [], rest = 0; rest < 3;) {{
                    await frame();
                    const now = place();
                    rest = String(now) === String(last) ? rest + 1 : 0;
                    last = now;
                }}
                return place(); }})()",
            json!(selector)
        ));
        [0, 1].map(|axis| {
            place[axis]
                .as_f64()
                .unwrap_or_else(|| panic!("no {selector}"))
        })
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}),
            );
        }
    }

    /// Types into the element that has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Sets the size of the window.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
    }

    /// Sets a preference of the system, such as `prefers-color-scheme: dark`.
    pub(crate) fn prefer(&mut self, feature: &str, value: &str) {
        self.call(
            "Emulation.setEmulatedMedia",
            json!({"features": [
                {"name": feature, "value": value},
                // Nothing moves while the page is inspected.
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ]}),
        );
    }

    /// Returns all errors, exceptions and console messages of the page.
    pub(crate) fn complaints(&mut self) -> Vec<Value> {
        self.eval("1");
        let bad = [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ];
        let events = self.events.iter();
        events
            .filter(|event| bad.iter().any(|bad| event["method"] == *bad))
            .cloned()
            .collect()
    }

    /// Returns the addresses of all requests of the page.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        self.eval("1");
        let asked = self
            .events
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent");
        asked
            .map(|event| {
                event["params"]["request"]["url"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Without its pipe the browser ends itself, with all its processes.
        drop(self.to.take());
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
