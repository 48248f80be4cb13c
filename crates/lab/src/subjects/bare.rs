//! The machine without an operating system in an emulator, with two cards that are sockets of this process and a console:
//! no links, no rights.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::IpAddr,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use isthmus_core::wire::resolution::{self, Mac};

use crate::{
    Result,
    network::{process, sources},
};

/// An emulated processor on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// The Ethernet addresses of the cards.
pub const CARDS: [Mac; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
/// The Ethernet addresses of their neighbours, which are all one.
const NEIGHBOURS: [Mac; 2] = [[2, 0, 0, 0, 1, 1], [2, 0, 0, 0, 1, 2]];
/// The names of the cards in the emulator, and of their sockets.
const SIDES: [&str; 2] = ["left", "right"];
/// The name of the console's socket.
const CONSOLE: &str = "console";
/// The machine that QEMU calls so. With ACPI it names no cards on the command line, and without this option they are old.
const MICROVM: [&str; 3] = [
    "microvm,acpi=off",
    "-global",
    "virtio-mmio.force-legacy=false",
];
/// Slots behind bridges.
const BRIDGES: [&str; 3] = [
    "pcie-root-port,id=near,chassis=1,slot=1",
    "pcie-root-port,id=far,chassis=2,slot=2",
    "pcie-pci-bridge,id=old,bus=far",
];
/// Runs a command until the standard input ends: so the emulator ends with this process, however that ends.
const WHILE_OPEN: &str = "\"$@\" </dev/null & read -r _; kill -KILL $!; wait";

/// Builds the machine of these sources, and returns its file.
///
/// # Errors
/// There is no emulator, or the machine cannot be built.
pub fn build() -> Result<PathBuf> {
    process::require("qemu-system-x86_64", "qemu-system-x86")?;
    let root = sources::folder("crates/bare/Cargo.toml")?;
    let folder = root.join("target/bare");
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(root.join("crates/bare"))
        .env_remove("RUSTFLAGS")
        .args(["build", "--release", "--locked", "--quiet", "--target-dir"])
        .arg(&folder);
    process::run(&mut cargo)?;
    Ok(folder.join("x86_64-unknown-none/release/isthmus-bare"))
}

/// The kind of computer that is emulated.
#[derive(Clone, Copy, Debug)]
pub enum Board {
    /// A PC, whose virtio cards are on the PCI bus.
    Q35,
    /// The same with Intel's cards.
    E1000e,
    /// The same with Intel's left card, and a right one of virtio.
    Mixed,
    /// The same two, in slots behind bridges: the left one behind one of PCI Express, the right one behind another and one of PCI.
    Bridged,
    /// One without a bus: the command line names the cards, as with Firecracker, in the order of [`CARDS`].
    Microvm,
}

impl Board {
    /// The emulator with a console and two cards, whose sockets are in this folder.
    fn emulator(self, folder: &Path) -> Command {
        const VIRTIO: &str = "virtio-net-pci,disable-legacy=on,romfile=";
        const INTEL: &str = "e1000e,romfile=";
        let (machine, devices): (&[&str], _) = match self {
            Self::Q35 => (&["q35"], [VIRTIO; 2]),
            Self::E1000e => (&["q35"], [INTEL; 2]),
            Self::Mixed | Self::Bridged => (&["q35"], [INTEL, VIRTIO]),
            Self::Microvm => (&MICROVM, ["virtio-net-device"; 2]),
        };
        let (bridges, slots): (&[&str], _) = match self {
            Self::Bridged => (&BRIDGES, [",bus=near", ",bus=old,addr=1"]),
            _ => (&[], [""; 2]),
        };
        let socket = |name: &str| folder.join(name).display().to_string();
        let mut qemu = Command::new("sh");
        qemu.args(["-c", WHILE_OPEN, "sh", "qemu-system-x86_64"])
            .arg("-machine")
            .args(machine)
            .args(["-nodefaults", "-no-reboot"])
            .args(["-display", "none", "-accel", "tcg"])
            .args(["-cpu", "max", "-m", "256"])
            .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"])
            .args(["-serial", "chardev:console", "-chardev"])
            .arg(format!("socket,id=console,path={}", socket(CONSOLE)));
        for bridge in bridges {
            qemu.args(["-device", bridge]);
        }
        let cards = devices.into_iter().zip(slots);
        for ((side, mac), (device, slot)) in SIDES.into_iter().zip(CARDS).zip(cards) {
            let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
            let socket = socket(side);
            qemu.arg("-netdev").arg(format!(
                "stream,id={side},server=off,addr.type=unix,addr.path={socket}"
            ));
            let device = format!("{device},netdev={side},mac={mac}{slot}");
            qemu.arg("-device").arg(device);
        }
        qemu
    }
}

/// A machine that runs until this is dropped.
#[derive(Debug)]
pub struct Emulated {
    process: Child,
    keys: UnixStream,
    console: Receiver<String>,
    cards: [UnixStream; 2],
    frames: Receiver<(usize, Vec<u8>)>,
    /// Whether a neighbour is there, and answers the machine; all do at first.
    pub is_there: fn(IpAddr) -> bool,
    /// The sockets' names.
    _folder: tempfile::TempDir,
}

impl Drop for Emulated {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

impl Emulated {
    /// Starts a machine with this configuration, a file of `isthmus bare pack`, and further options of the emulator.
    ///
    /// # Errors
    /// The emulator does not start.
    pub fn start(board: Board, machine: &Path, image: &Path, options: &[&str]) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let listen = |name| UnixListener::bind(folder.path().join(name));
        let (left, right, serial) = (listen(SIDES[0])?, listen(SIDES[1])?, listen(CONSOLE)?);
        let mut qemu = board.emulator(folder.path());
        qemu.args(options)
            .arg("-kernel")
            .arg(machine)
            .arg("-initrd")
            .arg(image);
        let process = qemu.stdin(Stdio::piped()).spawn()?;
        let keys = accept(&serial)?;
        let output = keys.try_clone()?;
        let (said, console) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(io::Result::ok) {
                let _ = said.send(line);
            }
        });
        let (received, frames) = mpsc::channel();
        let cards = [
            card(0, &left, received.clone())?,
            card(1, &right, received)?,
        ];
        Ok(Self {
            process,
            keys,
            console,
            cards,
            frames,
            is_there: |_| true,
            _folder: folder,
        })
    }

    /// Waits for a line of the console that begins like this, and returns those before it.
    ///
    /// # Errors
    /// It does not come.
    pub fn says(&self, beginning: &str) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            match self.console.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with(beginning) => return Ok(lines),
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let problem = format!("no {beginning:?} on the console: {lines:#?}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
                }
            }
        }
    }

    /// Presses keys.
    ///
    /// # Errors
    /// The machine has ended.
    pub fn press(&mut self, keys: &[u8]) -> io::Result<()> {
        self.keys.write_all(keys)
    }

    /// Sends a frame to a card.
    ///
    /// # Errors
    /// The machine has ended.
    pub fn send(&mut self, card: usize, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
        let framed = [&length.to_be_bytes(), frame].concat();
        self.cards[card].write_all(&framed)
    }

    /// Sends an IP packet to a card, from its neighbour.
    ///
    /// # Errors
    /// The machine has ended.
    pub fn send_packet(&mut self, card: usize, packet: &[u8]) -> io::Result<()> {
        let kind: [u8; 2] = match packet.first() {
            Some(0x40..=0x4f) => [0x08, 0x00],
            _ => [0x86, 0xdd],
        };
        self.send(
            card,
            &[&CARDS[card], &NEIGHBOURS[card], &kind[..], packet].concat(),
        )
    }

    /// Waits for the next packet that a card sends; those of a card come in its order. The machine's questions for neighbours that
    /// [are there](Self::is_there) are answered; others are packets, too.
    ///
    /// # Errors
    /// None comes.
    pub fn receive(&mut self) -> io::Result<(usize, Vec<u8>)> {
        self.receive_within(PATIENCE)
    }

    /// [`receive`](Self::receive), with another end to the waiting for each frame.
    ///
    /// # Errors
    /// None comes.
    pub fn receive_within(&mut self, patience: Duration) -> io::Result<(usize, Vec<u8>)> {
        loop {
            let none = |_| io::Error::new(io::ErrorKind::TimedOut, "no frame comes");
            let (card, frame) = self.frames.recv_timeout(patience).map_err(none)?;
            let Some((header, packet)) = frame.split_first_chunk::<14>() else {
                return Err(io::Error::other("a frame without a header"));
            };
            if !self.resolve(card, header, packet)? {
                return Ok((card, packet.to_vec()));
            }
        }
    }

    /// Answers the machine's question for a neighbour. Whether it was one.
    fn resolve(&mut self, card: usize, header: &[u8; 14], packet: &[u8]) -> io::Result<bool> {
        let from: Mac = header[6..12].try_into().map_err(io::Error::other)?;
        let mac = NEIGHBOURS[card];
        let kind = &header[12..];
        let answer = match kind {
            [0x08, 0x06] => {
                resolution::arp(packet, mac, self.is_there).map(|(answer, _)| answer.to_vec())
            }
            _ => resolution::neighbour(packet, from, mac, self.is_there)
                .map(|(answer, _)| answer.to_vec()),
        };
        let Some(answer) = answer else {
            return Ok(false);
        };
        self.send(card, &[&CARDS[card], &mac, kind, &answer].concat())?;
        Ok(true)
    }
}

/// Waits for the emulator, which may not have started.
fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
    listener.set_nonblocking(true)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                return Ok(socket);
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock || Instant::now() > until => {
                return Err(error);
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Takes the frames that a card sends, each of which has its length before it.
fn card(
    number: usize,
    listener: &UnixListener,
    received: Sender<(usize, Vec<u8>)>,
) -> io::Result<UnixStream> {
    let socket = accept(listener)?;
    let mut reader = BufReader::new(socket.try_clone()?);
    thread::spawn(move || {
        let mut length = [0; 4];
        while reader.read_exact(&mut length).is_ok() {
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            if reader.read_exact(&mut frame).is_err() || received.send((number, frame)).is_err() {
                return;
            }
        }
    });
    Ok(socket)
}
