//! The network cards of the guest, and the monitor of its machine (`tests/guest/run --wire`).

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::process;
use serde_json::{Value, json};

use super::PATIENCE;

/// One card for each line, as QEMU's option `-device` takes it.
const CARDS: &str = "/guest/cards";
/// The monitor, which speaks QMP.
const MONITOR: &str = "/dev/monitor";

/// A network card, which is in the first namespace until a test takes it.
#[derive(Clone, Debug)]
pub(super) struct Card {
    /// What plugs it in.
    device: String,
}

/// A wire with a card at both ends.
pub(super) struct Wire {
    pub(super) near: Card,
    pub(super) far: Card,
}

/// Returns two wires whose near ends are cards of this model with these properties. Prints the reason if there are fewer.
pub(super) fn wires(model: &str) -> Option<[Wire; 2]> {
    let listed = fs::read_to_string(CARDS).unwrap_or_default();
    let cards: Vec<Card> = listed
        .lines()
        .map(|line| Card {
            device: line.to_owned(),
        })
        .collect();
    let of_model = cards
        .chunks_exact(2)
        .filter(|ends| ends[0].device.split(",id=").next() == Some(model))
        .map(|ends| Wire {
            near: ends[0].clone(),
            far: ends[1].clone(),
        });
    let wires = <[Wire; 2]>::try_from(of_model.collect::<Vec<_>>());
    if wires.is_err() {
        eprintln!("skipped: this machine has no two wires with cards of the model {model}");
    }
    wires.ok()
}

impl Card {
    fn property(&self, name: &str) -> &str {
        let found = self.device.split(',').find_map(|property| {
            let (key, value) = property.split_once('=')?;
            (key == name).then_some(value)
        });
        found.unwrap_or_else(|| panic!("no {name}: {}", self.device))
    }

    /// Waits until the first namespace has it, and returns its name there.
    pub(super) fn found(&self) -> String {
        let address = self.property("mac");
        let begun = Instant::now();
        loop {
            let found = fs::read_dir("/sys/class/net")
                .unwrap()
                .map(|link| link.unwrap())
                .find(|link| {
                    let there = fs::read_to_string(link.path().join("address"));
                    there.is_ok_and(|there| there.trim() == address)
                });
            if let Some(link) = found {
                return link.file_name().into_string().unwrap();
            }
            assert!(begun.elapsed() < PATIENCE, "no link {address}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Pulls it out of the running machine.
    pub(super) fn unplug(&self, monitor: &mut Monitor) {
        let id = self.property("id");
        monitor.run("device_del", json!({ "id": id }));
        monitor.wait_for("DEVICE_DELETED", id);
    }

    /// Puts it in again.
    pub(super) fn plug(&self, monitor: &mut Monitor) {
        // The syntax of the option is that of a command for people.
        let line = json!({ "command-line": format!("device_add {}", self.device) });
        let said = monitor.run("human-monitor-command", line);
        assert_eq!(said, json!(""));
    }

    /// Puts the carrier on or takes it off.
    pub(super) fn carrier(&self, monitor: &mut Monitor, up: Carrier) {
        let up = matches!(up, Carrier::On);
        let id = self.property("id");
        monitor.run("set_link", json!({ "name": id, "up": up }));
    }
}

/// Whether a cable seems to be in a card.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carrier {
    On,
    Off,
}

/// The monitor of the machine that this is.
pub(super) struct Monitor {
    lines: BufReader<File>,
    to: File,
    sent: u64,
}

impl Monitor {
    pub(super) fn open() -> Self {
        // A read ends after a second without a word.
        let raw = ["-F", MONITOR, "raw", "-echo", "min", "0", "time", "10"];
        process::run(Command::new("stty").args(raw)).unwrap();
        let to = File::options()
            .read(true)
            .write(true)
            .open(MONITOR)
            .unwrap();
        let mut monitor = Self {
            lines: BufReader::new(to.try_clone().unwrap()),
            to,
            sent: 0,
        };
        // Until stty came, the line sent back all that the monitor said, and may have stopped amid a message. No
        // message has such an octet: the monitor forgets what came before it.
        monitor.to.write_all(b"\xff\n").unwrap();
        // Refused if the session has begun already.
        monitor.ask("qmp_capabilities", json!({}));
        monitor
    }

    /// Runs a command. Returns the answer.
    fn run(&mut self, command: &str, arguments: Value) -> Value {
        let mut answer = self.ask(command, arguments);
        assert!(answer["error"].is_null(), "{command}: {answer}");
        answer["return"].take()
    }

    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.sent += 1;
        // Another number than those of an earlier process.
        let id = json!([std::process::id(), self.sent]);
        let request = json!({ "execute": command, "arguments": arguments, "id": id });
        writeln!(self.to, "{request}").unwrap();
        self.message(|message| message["id"] == id)
    }

    fn wait_for(&mut self, event: &str, device: &str) {
        self.message(|message| message["event"] == event && message["data"]["device"] == device);
    }

    /// Reads until a message is the one. The first lines may be the rest of a greeting, and complaints about what the
    /// line sent back.
    fn message(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut line = String::new();
        let mut said = String::new();
        // A kernel asks only every ten seconds whether the last user of a card has let it go.
        while begun.elapsed() < 4 * PATIENCE {
            self.lines.read_line(&mut line).unwrap();
            if !line.ends_with('\n') {
                continue;
            }
            if let Ok(message) = serde_json::from_str::<Value>(line.trim())
                && is_it(&message)
            {
                return message;
            }
            said.push_str(&line);
            line.clear();
        }
        panic!("the monitor only says {said}{line}");
    }
}
