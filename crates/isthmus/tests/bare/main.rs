//! The machine without an operating system by itself: what a packet costs it, what it stands, and what it says when it
//! cannot go on. Its cards are sockets of this test, which needs QEMU, and no rights.

mod attacks;
mod e1000e;
mod instructions;
mod mmio;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use etherparse::PacketBuilder;
use isthmus_lab::network::process;
use isthmus_lab::subjects::bare::{self, Board, CARDS, Emulated};

const SIIT: &str = r#"
[[card]]
addresses = ["2001:db8:1::1/64"]

[[card]]
addresses = ["192.0.2.1/24"]

[[instance]]
name = "siit"
mechanism = "siit"
prefix = "2001:db8:46::/96"
eam = [{ v4 = "198.51.100.7", v6 = "2001:db8:1::2" }]
"#;
const NAT64: &str = r#"
[[card]]
addresses = ["2001:db8:1::1/64"]

[[card]]
addresses = ["192.0.2.1/24"]

[[instance]]
name = "plat"
mechanism = "nat64"
prefix = "64:ff9b::/96"
allow-non-global = true
pool = [{ addresses = "192.0.2.64/28" }]
max-sessions = 1024
max-bindings = 1024
"#;
/// The line of a machine that works.
const FORWARDS: &str = "isthmus: forwards";
const LEFT: usize = 0;
const RIGHT: usize = 1;
/// The host, the server, and each for the other.
const HOST: &str = "2001:db8:1::2";
const SERVER: &str = "192.0.2.2";
const HOST_V4: &str = "198.51.100.7";
const SERVER_V6: &str = "2001:db8:46::c000:202";

/// The machine's program; `None` where it cannot run, with the reason.
fn program() -> Option<&'static Path> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Err(reason) = process::require("qemu-system-x86_64", "qemu-system-x86") {
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(BUILT.get_or_init(|| bare::build().unwrap()))
}

/// Starts a machine with a configuration, packed with these options, and these of the emulator. Waits for a line of its console
/// that begins like `awaited`, and returns the lines before.
fn boot(
    board: Board,
    configuration: &str,
    pack_options: &[&str],
    options: &[&str],
    awaited: &str,
) -> Option<(Emulated, Vec<String>)> {
    let program = program()?;
    let folder = tempfile::tempdir().unwrap();
    let [text, image] = ["bare.toml", "bare.bin"].map(|name| folder.path().join(name));
    fs::write(&text, configuration).unwrap();
    let mut pack = Command::new(env!("CARGO_BIN_EXE_isthmus"));
    pack.args(["bare", "pack"])
        .args(pack_options)
        .arg("-o")
        .args([&image, &text]);
    process::run(&mut pack).unwrap();
    let machine = Emulated::start(board, program, &image, options).unwrap();
    let said = machine.says(awaited).unwrap();
    Some((machine, said))
}

/// One machine at a time: each takes a processor.
static ONE: Mutex<()> = Mutex::new(());

/// A machine, and the packets that it is sent.
struct Bench {
    machine: Emulated,
    /// How many pings it was sent.
    pings: u16,
}

impl Bench {
    /// Starts a machine whose clock is [told](Self::tell), with these options of the emulator.
    fn start(configuration: &str, options: &[&str]) -> Option<Self> {
        Self::packed(Board::Q35, configuration, &["--seed", "1"], options)
    }

    fn packed(
        board: Board,
        configuration: &str,
        pack_options: &[&str],
        options: &[&str],
    ) -> Option<Self> {
        let (machine, _) = boot(board, configuration, pack_options, options, FORWARDS)?;
        Some(Self { machine, pings: 0 })
    }

    /// The counters of all instances, and the frames and ticks of the work.
    fn counters(&mut self) -> BTreeMap<String, u64> {
        self.machine.press(b"c").unwrap();
        let mut counters = BTreeMap::new();
        for line in self.machine.says("counters end").unwrap() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["counter", _, name, number] => {
                    *counters.entry(name.to_owned()).or_default() += number.parse::<u64>().unwrap();
                }
                ["work", frames, "frames", ticks, "ticks", away, "away"] => {
                    for (name, number) in [("frames", frames), ("ticks", ticks), ("away", away)] {
                        counters.insert(name.to_owned(), number.parse().unwrap());
                    }
                }
                _ => {}
            }
        }
        counters
    }

    /// Tells the time, in seconds.
    fn tell(&mut self, seconds: u64) {
        let nanos = seconds * 1_000_000_000;
        self.machine
            .press(&[&b"t"[..], &nanos.to_le_bytes()].concat())
            .unwrap();
        self.machine.says("time").unwrap();
    }

    /// Sends a packet, and returns the next one that comes.
    fn exchange(&mut self, card: usize, packet: &[u8]) -> (usize, Vec<u8>) {
        self.machine.send_packet(card, packet).unwrap();
        self.machine.receive().unwrap()
    }

    /// Whether a ping of the machine's own address comes back, by each card: then it has done what came before. A ping is
    /// sent again as often as a host would, because an answer may be lost: only one packet waits for a neighbour that the
    /// machine asks for, and what comes by the other card may take its place.
    fn answers_a_ping(&mut self) -> bool {
        let way = PacketBuilder::ipv4(octets_v4(SERVER), octets_v4("192.0.2.1"), 64);
        let v4 = way.icmpv4_echo_request(1, self.number());
        let mut request = Vec::new();
        v4.write(&mut request, b"bare").unwrap();
        let is_answered = self.answers(RIGHT, &request, 20, 0);
        let way = PacketBuilder::ipv6(octets_v6(HOST), octets_v6("2001:db8:1::1"), 64);
        let v6 = way.icmpv6_echo_request(1, self.number());
        let mut request = Vec::new();
        v6.write(&mut request, b"bare").unwrap();
        is_answered && self.answers(LEFT, &request, 40, 129)
    }

    /// The number of a ping.
    fn number(&mut self) -> u16 {
        self.pings = self.pings.wrapping_add(1);
        self.pings
    }

    /// Whether the echo request is answered, by a message of this type that is at this place of a packet.
    fn answers(&mut self, card: usize, request: &[u8], at: usize, message: u8) -> bool {
        const TRIES: usize = 60;
        // Identifier, number and payload.
        let told = &request[at + 4..];
        (0..TRIES).any(|_| {
            self.machine.send_packet(card, request).unwrap();
            // What the machine has sent before comes first.
            while let Ok((from, packet)) = self.machine.receive_within(Duration::from_secs(1)) {
                if from == card && packet.get(at) == Some(&message) && packet.ends_with(told) {
                    return true;
                }
            }
            false
        })
    }
}

fn octets_v4(address: &str) -> [u8; 4] {
    address.parse::<std::net::Ipv4Addr>().unwrap().octets()
}

fn octets_v6(address: &str) -> [u8; 16] {
    address.parse::<std::net::Ipv6Addr>().unwrap().octets()
}

fn udp_v6(to: &str, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let way = PacketBuilder::ipv6(octets_v6(HOST), octets_v6(to), 64);
    way.udp(5000, 5001).write(&mut packet, payload).unwrap();
    packet
}

fn udp_v4(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let way = PacketBuilder::ipv4(octets_v4(SERVER), octets_v4(HOST_V4), 64);
    way.udp(5001, 5000).write(&mut packet, payload).unwrap();
    packet
}

/// Packets go both ways through the cards of a board, also after another start. Returns the machine; `None` without an emulator.
fn starts_again(board: Board) -> Option<Emulated> {
    let (mut machine, _) = boot(board, SIIT, &[], &[], FORWARDS)?;
    forwards(&mut machine, LEFT, RIGHT);
    machine.press(b"r").unwrap();
    machine.says(FORWARDS).unwrap();
    forwards(&mut machine, LEFT, RIGHT);
    Some(machine)
}

/// Packets go both ways between the host behind one card and the server behind the other one.
fn forwards(machine: &mut Emulated, host: usize, server: usize) {
    machine
        .send_packet(host, &udp_v6(SERVER_V6, &[7; 80]))
        .unwrap();
    let (card, packet) = machine.receive().unwrap();
    assert_eq!((card, &packet[16..20]), (server, &octets_v4(SERVER)[..]));
    machine.send_packet(server, &udp_v4(&[7; 1000])).unwrap();
    let (card, packet) = machine.receive().unwrap();
    assert_eq!((card, &packet[24..40]), (host, &octets_v6(HOST)[..]));
}

/// A generator of pseudo-random numbers (SplitMix64): the same ones in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, limit: u64) -> usize {
        (self.next() % limit) as usize
    }

    /// A frame of random bytes, or a right one with a few bytes that are wrong.
    fn frame(&mut self, card: usize, right: &[Vec<u8>]) -> Vec<u8> {
        let mut frame = match self.below(4) {
            0 => (0..self.below(1600)).map(|_| self.next() as u8).collect(),
            _ => right[self.below(right.len() as u64)].clone(),
        };
        for _ in 0..self.below(4) {
            if let Some(limit) = frame.len().checked_sub(1) {
                let at = self.below(limit as u64 + 1);
                frame[at] = self.next() as u8;
            }
        }
        if self.below(8) == 0 {
            frame.truncate(self.below(1600));
        }
        let kind: [u8; 2] = [[0x08, 0x00], [0x86, 0xdd], [0x08, 0x06]][match frame.first() {
            Some(0x40..=0x4f) => 0,
            Some(0x00) => 2,
            _ => 1,
        }];
        [
            &CARDS[card],
            &[2, 0, 0, 0, 1, 1 + card as u8][..],
            &kind,
            &frame,
        ]
        .concat()
    }
}

/// Packets that the machine has something to do with: whole ones, fragments, errors, neighbours.
fn right(server: &str) -> Vec<Vec<u8>> {
    let mut packets = vec![
        udp_v6(server, &[1; 100]),
        udp_v4(&[2; 1000]),
        udp_v6(server, &[3; 1400]),
    ];
    // Fragments of both families.
    for (offset, more) in [(0u16, true), (4, true), (8, false)] {
        let mut v4 = udp_v4(&[4; 24]);
        v4[6..8].copy_from_slice(&(offset | if more { 0x2000 } else { 0 }).to_be_bytes());
        packets.push(v4);
        let mut v6 = udp_v6(server, &[5; 24]);
        let header = [
            17,
            0,
            (offset >> 5) as u8,
            (offset << 3) as u8 | u8::from(more),
            0,
            0,
            0,
            9,
        ];
        v6[6] = 44;
        v6[4..6].copy_from_slice(&40u16.to_be_bytes());
        v6.splice(40..40, header);
        packets.push(v6);
    }
    let mut ping = Vec::new();
    let way = PacketBuilder::ipv6(octets_v6(HOST), octets_v6(server), 64);
    way.icmpv6_echo_request(1, 2)
        .write(&mut ping, &[6; 64])
        .unwrap();
    packets.push(ping.clone());
    // A question for a neighbour, and an error about a packet.
    ping[40] = 135;
    ping[7] = 255;
    packets.push(ping.clone());
    ping[40] = 2;
    packets.push(ping);
    packets
}

fn stands_random_frames(board: Board, configuration: &str, server: &str) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let frames: u64 = std::env::var("FRAMES").map_or(20_000, |number| number.parse().unwrap());
    let Some(mut bench) = Bench::packed(board, configuration, &["--seed", "1"], &[]) else {
        return;
    };
    let (right, mut random) = (right(server), Random(17));
    // Intel's card gives longer frames to nobody.
    let longest = match board {
        Board::E1000e => 1518,
        _ => usize::MAX,
    };
    let mut taken = 0;
    let before = bench.counters();
    for number in 0..frames {
        let card = random.below(2);
        let frame = random.frame(card, &right);
        taken += u64::from(frame.len() <= longest);
        bench.machine.send(card, &frame).unwrap();
        // Its queues take so many.
        if number % 64 == 63 {
            assert!(bench.answers_a_ping());
        }
        if number % 1024 == 1023 {
            bench.tell(1 + number / 256);
            // It finds its neighbours again while nothing else is on the way.
            assert!(bench.answers_a_ping());
        }
    }
    assert!(bench.answers_a_ping());
    bench.tell(1 << 28);
    let mut after = bench.counters();
    let pings = 2 * (frames / 64 + frames / 1024 + 1);
    assert!(after["frames"] - before.get("frames").unwrap_or(&0) >= taken + pings);
    for work in ["frames", "ticks", "away"] {
        after.remove(work);
    }
    // Every packet ends in one of these; frames that are not for the machine end in none.
    assert!(after.values().sum::<u64>() > frames / 4, "{after:?}");
    assert_eq!(
        after.get("fragment-held").copied().unwrap_or(0) > 0,
        after.get("fragment-timeout").copied().unwrap_or(0) > 0,
        "{after:?}"
    );
}

#[test]
fn it_stands_random_frames_without_state() {
    stands_random_frames(Board::Q35, SIIT, SERVER_V6);
}

#[test]
fn it_stands_random_frames_with_sessions() {
    stands_random_frames(Board::Q35, NAT64, "64:ff9b::c000:202");
}

/// An IPv6 fragment of a UDP datagram to the server.
fn fragment(from: &str, identification: u32, first: bool) -> Vec<u8> {
    let mut whole = Vec::new();
    let way = PacketBuilder::ipv6(octets_v6(from), octets_v6("64:ff9b::c000:202"), 64);
    way.udp(5000, 5001).write(&mut whole, &[7; 40]).unwrap();
    let (headers, payload) = whole.split_at(40);
    let (part, offset) = match first {
        true => (&payload[..24], 1u16),
        false => (&payload[24..], 24),
    };
    let [high, low] = offset.to_be_bytes();
    let mut packet = headers.to_vec();
    packet[4..6].copy_from_slice(&(8 + part.len() as u16).to_be_bytes());
    packet[6] = 44;
    packet.extend([17, 0, high, low]);
    packet.extend(identification.to_be_bytes());
    packet.extend(part);
    packet
}

#[test]
fn a_flood_of_fragments_does_not_take_the_reassembly_of_a_victim() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut bench) = Bench::start(NAT64, &[]) else {
        return;
    };
    bench.exchange(LEFT, &udp_v6("64:ff9b::c000:202", &[1; 8]));
    for round in 0..20u32 {
        // The second fragment of the victim waits while an attacker sends a thousand.
        bench
            .machine
            .send_packet(LEFT, &fragment(HOST, round, false))
            .unwrap();
        for number in 0..1000 {
            let flood = fragment("2001:db8:66::1", round << 16 | number, false);
            bench.machine.send_packet(LEFT, &flood).unwrap();
            if number % 64 == 63 {
                assert!(bench.answers_a_ping());
            }
        }
        let first = fragment(HOST, round, true);
        let (card, packet) = bench.exchange(LEFT, &first);
        assert_eq!((card, packet[0] >> 4), (RIGHT, 4), "round {round}");
        let (card, packet) = bench.machine.receive().unwrap();
        assert_eq!((card, packet[0] >> 4), (RIGHT, 4), "round {round}");
    }
    let counters = bench.counters();
    assert!(counters["fragment-timeout"] > 15_000, "{counters:?}");
}

#[test]
fn a_machine_too_slow_to_sweep_its_table_every_second_does_not_only_sweep() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let table = NAT64.replace("1024", "2097152");
    // A million instructions a second: all of the table takes several.
    let slow = ["-icount", "shift=10,sleep=off", "-m", "1024"];
    let Some(mut bench) = Bench::packed(Board::Q35, &table, &[], &slow) else {
        return;
    };
    let packet = udp_v6("64:ff9b::c000:202", &[7; 80]);
    for _ in 0..100 {
        assert_eq!(bench.exchange(LEFT, &packet).0, RIGHT);
    }
    // It looks for a key once in a thousand rounds.
    assert_eq!(bench.counters()["session-created"], 1);
}

#[test]
fn it_says_where_a_fault_was() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("debugger");
    let debugger = format!("unix:{},server=on,wait=off", socket.display());
    let Some(bench) = Bench::start(SIIT, &["-gdb", &debugger]) else {
        return;
    };
    // As a debugger: goes on where nothing is (register 16 is the instruction pointer).
    let mut stub = UnixStream::connect(&socket).unwrap();
    let mut told = [0; 256];
    let describe = "qXfer:features:read:target.xml:0,ff";
    for command in [describe, "P10=0000300000000000", "c"] {
        let sum = command.bytes().fold(0u8, u8::wrapping_add);
        stub.write_all(format!("${command}#{sum:02x}").as_bytes())
            .unwrap();
        // It answers each command but the last with one packet, `$...#` and a sum.
        let mut answer = String::new();
        while command != "c" && !answer.contains('#') {
            let count = stub.read(&mut told).unwrap();
            assert!(count > 0, "{answer}");
            answer.push_str(&String::from_utf8_lossy(&told[..count]));
        }
    }
    bench
        .machine
        .says("isthmus: halted: page fault 14 (code 0x0) at 0x300000")
        .unwrap();
}
