//! The machine without an operating system in an emulator, with two cards that are sockets of this process and a console:
//! no links, no rights.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use isthmus_core::wire::resolution::Mac;

use crate::{Result, process};

/// An emulated processor on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// The Ethernet addresses of the cards.
pub const CARDS: [Mac; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
/// The names of the sockets, and of the cards in the emulator.
const SIDES: [&str; 2] = ["left", "right"];

/// Builds the machine of these sources, and returns its file.
///
/// # Errors
/// There is no emulator, or the machine cannot be built.
pub fn build() -> Result<PathBuf> {
    process::require("qemu-system-x86_64", "qemu-system-x86")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
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

/// A machine that runs until this is dropped.
#[derive(Debug)]
pub struct Emulated {
    process: Child,
    keys: ChildStdin,
    console: Receiver<String>,
    cards: [UnixStream; 2],
    frames: Receiver<(usize, Vec<u8>)>,
    /// The sockets' names.
    _folder: tempfile::TempDir,
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Emulated {
    /// Starts a machine with this configuration, a file of `isthmus bare pack`, and further options of the emulator.
    ///
    /// # Errors
    /// The emulator does not start.
    pub fn start(machine: &Path, image: &Path, options: &[&str]) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let [left, right] = SIDES.map(|side| UnixListener::bind(folder.path().join(side)));
        let listeners = [left?, right?];
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-machine", "q35", "-nodefaults", "-no-reboot"])
            .args(["-display", "none", "-serial", "stdio", "-accel", "tcg"])
            .args(["-cpu", "max", "-m", "256"])
            .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"])
            .args(options)
            .arg("-kernel")
            .arg(machine)
            .arg("-initrd")
            .arg(image);
        for (side, mac) in SIDES.into_iter().zip(CARDS) {
            let socket = folder.path().join(side);
            let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
            qemu.arg("-netdev").arg(format!(
                "stream,id={side},server=off,addr.type=unix,addr.path={}",
                socket.display()
            ));
            qemu.arg("-device").arg(format!(
                "virtio-net-pci,netdev={side},mac={mac},disable-legacy=on,romfile="
            ));
        }
        let mut process = qemu.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(keys), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("the emulator has no console"));
        };
        let (said, console) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(io::Result::ok) {
                let _ = said.send(line);
            }
        });
        let (received, frames) = mpsc::channel();
        let [left, right] = listeners;
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

    /// Waits for the next frame that a card sends; those of a card come in its order.
    ///
    /// # Errors
    /// None comes.
    pub fn receive(&self) -> io::Result<(usize, Vec<u8>)> {
        let none = |_| io::Error::new(io::ErrorKind::TimedOut, "no frame comes");
        self.frames.recv_timeout(PATIENCE).map_err(none)
    }
}

/// Takes the frames that a card sends, each of which has its length before it.
fn card(
    number: usize,
    listener: &UnixListener,
    received: Sender<(usize, Vec<u8>)>,
) -> io::Result<UnixStream> {
    let (socket, _) = listener.accept()?;
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
