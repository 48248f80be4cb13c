//! The engine `bare`: an emulated machine without an operating system, whose two cards are sockets here.
//!
//! One machine serves all vectors. It gets another configuration, or starts again with the one it has, by its console, which
//! also tells it the time. IPv6 is behind its left card and IPv4 behind its right one, each behind a router, which is
//! this program. After each packet the machine gets a ping of its link-local address by the same card, and then by the other one:
//! when it has answered both, it has sent whatever came of the packet.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use etherparse::PacketBuilder;
use isthmus_core::wire::resolution;
use isthmus_gateway::config::{self, Chance, LoadError, PackError, Secrets};
use isthmus_lab::subjects::bare::{self, Board, CARDS, Emulated};

use super::case::Case;
use super::pcap::Record;
use super::run::{Outcome, SEED};

/// The part of the machine's configuration that no vector has. The machine has no addresses but those that every card has on its
/// link, which no instance translates.
const OWN: &str = r#"
[[card]]
routes = [{ to = "::/0", via = "fe80::2" }]

[[card]]
routes = [{ to = "0.0.0.0/0", via = "fe80::2" }]
"#;
/// The router of each link.
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
/// The identifier of pings.
const PING: u16 = 0xba5e;
/// Bytes of a packet in a frame.
const FRAME: usize = 1500;
/// The end of the input, in nanoseconds: everything that waits has waited too long.
const END: u64 = 1 << 60;

/// The machine that runs, and the configuration that it has.
static MACHINE: Mutex<Option<Machine>> = Mutex::new(None);

struct Machine {
    emulated: Emulated,
    configuration: String,
    pings: u16,
}

/// Why the machine cannot run a vector by its design; `None` if it can.
pub(crate) fn beyond(case: &Case) -> Option<String> {
    if case.refused.is_some() {
        return Some("no engine takes its configuration".to_owned());
    }
    let inputs = case.steps.iter().map(|step| &step.input);
    let outputs = case.steps.iter().flat_map(|step| &step.outputs);
    let longest = inputs.chain(outputs).map(|packet| packet.bytes.len()).max();
    if longest > Some(FRAME) {
        return Some(format!("a card takes {FRAME} bytes at most"));
    }
    image(&case.configuration).err()
}

/// The configuration for the machine, or the first reason why there is none.
fn image(configuration: &str) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("vector.toml");
    fs::write(&file, format!("{configuration}{OWN}")).map_err(|e| e.to_string())?;
    let first = |report: &config::Report| {
        let problem = report
            .problems()
            .find(|problem| problem.severity == "error");
        problem.map(|problem| problem.message).unwrap_or_default()
    };
    let loaded = match config::load(&file) {
        Ok(loaded) => loaded,
        Err(LoadError::Invalid(report)) => return Err(first(&report)),
        Err(error) => return Err(error.to_string()),
    };
    let link = &loaded.document.link;
    if usize::from(link.ipv4_mtu.max(link.ipv6_mtu)) > FRAME {
        return Err(format!("a card takes {FRAME} bytes at most"));
    }
    match loaded.pack(&Secrets::repeated(SEED), Chance::Repeated(SEED)) {
        Ok(image) => Ok(image),
        Err(PackError::Beyond(report)) => Err(first(&report)),
        Err(error) => Err(error.to_string()),
    }
}

/// Sends packets through the machine.
pub(crate) fn translate(configuration: &str, inputs: &[Record]) -> Result<Outcome, String> {
    let mut place = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    // After an error nobody knows what the machine does.
    let started = match place.take() {
        Some(mut machine) => machine.restart(configuration).map(|()| machine),
        None => Machine::start(configuration),
    };
    let mut machine = started.map_err(|error| error.to_string())?;
    let outcome = machine.run(inputs).map_err(|error| error.to_string())?;
    *place = Some(machine);
    Ok(outcome)
}

/// Ends the machine.
pub(crate) fn end() {
    MACHINE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
}

impl Machine {
    fn start(configuration: &str) -> io::Result<Self> {
        let program = program().map_err(io::Error::other)?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("vector.bin");
        fs::write(&file, image(configuration).map_err(io::Error::other)?)?;
        let emulated = Emulated::start(Board::Q35, &program, &file, &[])?;
        emulated.says("isthmus: forwards")?;
        Ok(Self {
            emulated,
            configuration: configuration.to_owned(),
            pings: 0,
        })
    }

    /// Starts it again, without sessions, and with another configuration if this is one.
    fn restart(&mut self, configuration: &str) -> io::Result<()> {
        if self.configuration == configuration {
            self.emulated.press(b"r")?;
        } else {
            let image = image(configuration).map_err(io::Error::other)?;
            let length = u32::try_from(image.len()).map_err(io::Error::other)?;
            let keys = [b"l".as_slice(), &length.to_le_bytes(), &image].concat();
            self.emulated.press(&keys)?;
            self.configuration = configuration.to_owned();
        }
        self.emulated.says("isthmus: forwards")?;
        self.pings = 0;
        Ok(())
    }

    fn run(&mut self, inputs: &[Record]) -> io::Result<Outcome> {
        let mut packets = Vec::new();
        for input in inputs {
            self.tell(input.at * 1000)?;
            let card = usize::from(is_v4(&input.bytes));
            self.emulated.send_packet(card, &input.bytes)?;
            let out = self.pass(card)?;
            packets.extend(out.into_iter().map(|bytes| Record {
                at: input.at,
                bytes,
            }));
        }
        self.tell(END)?;
        self.emulated.press(b"c")?;
        Ok(Outcome {
            packets,
            counters: self.counters()?,
        })
    }

    /// Tells the time, and lets the machine find its routers again, which it may have forgotten.
    fn tell(&mut self, nanos: u64) -> io::Result<()> {
        let keys = [b"t".as_slice(), &nanos.to_le_bytes()].concat();
        self.emulated.press(&keys)?;
        self.emulated.says("time")?;
        self.pass(0).map(|_| ())
    }

    /// Waits until the machine has done all that came by a card, and returns the packets that it has sent by both.
    fn pass(&mut self, card: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut packets = self.ping(card)?;
        packets.extend(self.ping(1 - card)?);
        Ok(packets)
    }

    /// Waits until the machine has answered a ping by a card, and returns the packets that it has sent before.
    fn ping(&mut self, card: usize) -> io::Result<Vec<Vec<u8>>> {
        self.pings += 1;
        let (request, reply) = ping(resolution::link_local(CARDS[card]), self.pings);
        self.emulated.send_packet(card, &request)?;
        let mut packets = Vec::new();
        loop {
            match self.emulated.receive()? {
                (from, packet) if from == card && packet == reply => return Ok(packets),
                (_, packet) => packets.push(packet),
            }
        }
    }

    /// The counters of all instances, without the pings.
    fn counters(&self) -> io::Result<BTreeMap<String, u64>> {
        let mut counters = BTreeMap::new();
        for line in self.emulated.says("counters end")? {
            let mut words = line.split(' ');
            let (Some("counter"), Some(_), Some(name), Some(number)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let number: u64 = number.parse().map_err(io::Error::other)?;
            *counters.entry(name.to_owned()).or_default() += number;
        }
        if let Some(not_ours) = counters.get_mut("not-ours") {
            *not_ours -= u64::from(self.pings);
        }
        Ok(counters)
    }
}

/// The machine's program, built once.
fn program() -> Result<PathBuf, String> {
    static BUILT: Mutex<Option<Result<PathBuf, String>>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let build = || bare::build().map_err(|error| error.to_string());
    built.get_or_insert_with(build).clone()
}

/// Why no machine can run here, if so.
pub(crate) fn missing() -> Option<String> {
    let able = isthmus_lab::network::process::require("qemu-system-x86_64", "qemu-system-x86");
    able.err().map(|error| error.to_string())
}

fn is_v4(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 4)
}

/// A ping of a machine's address, and its answer.
fn ping(own: Ipv6Addr, number: u16) -> (Vec<u8>, Vec<u8>) {
    let way = |from: Ipv6Addr, to: Ipv6Addr| PacketBuilder::ipv6(from.octets(), to.octets(), 64);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    let written = way(ROUTER, own)
        .icmpv6_echo_request(PING, number)
        .write(&mut request, &[])
        .and_then(|()| {
            let answer = way(own, ROUTER).icmpv6_echo_reply(PING, number);
            answer.write(&mut reply, &[])
        });
    written.expect("memory takes a packet");
    (request, reply)
}
