//! BitTorrent: a tracker, a host that fetches a file, and one that serves it.
//!
//! A newcomer outside fetches from the host behind the mechanism, which does not know of it. So the newcomer has to
//! reach the host where the tracker saw it: at a port that it asked its router for, or at the port at which it listens.

use std::{
    fs,
    net::{IpAddr, SocketAddr, SocketAddrV4},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    super::unasked, Application, Call, Outcome, PATIENCE, Seen, Trouble, await_or_fail, fails,
    join, not_here,
};
use crate::{
    LabError, Result,
    network::{
        leftovers,
        netns::Namespace,
        process::{self, Process},
    },
    traffic::{services::listens, tools},
};

/// The three ways of taking part.
pub(super) const BITTORRENT: Application = Application {
    names: &[
        "BitTorrent, fetching",
        "BitTorrent, serving",
        "BitTorrent, serving at a port that it asked for",
    ],
    needs: &[
        ("opentracker", "opentracker"),
        ("aria2c", "aria2"),
        ("transmission-daemon", "transmission-daemon"),
        ("transmission-remote", "transmission-cli"),
        ("transmission-create", "transmission-cli"),
    ],
    run,
};

const TRACKER: u16 = 6969;
/// The ports at which peers listen, and at which they take orders.
const PEER: u16 = 6891;
const ORDERS: u16 = 9191;
/// The words of the tracker for one who has all.
const COMPLETE: &[u8] = b"8:completei1e";
/// The size of each file, in octets: two pieces and more.
const SIZE: usize = 100_000;
/// The time in which the tracker hears of who serves.
const HEARD: Duration = Duration::from_secs(20);
/// The time after which who fetches gives up.
/// It begins late: transmission chooses every ten seconds whom it serves.
const PATIENCE_OF_PEERS: Duration = Duration::from_secs(30);
/// The time in which a router grants a port or refuses it. The search for one with UPnP is part of it.
const GRANT: Duration = Duration::from_secs(20);
/// The time that an unreachable host has, each of [`TIMES`] times.
const REACH: Duration = Duration::from_secs(2);
const TIMES: usize = 3;

fn run(call: &Call<'_>) -> std::result::Result<Vec<Outcome>, Trouble> {
    let IpAddr::V4(server) = call.own[1] else {
        return Err(not_here("Debian's opentracker speaks IPv4 only"));
    };
    let swarm = Swarm::start(call, server.into())?;
    Ok(thread::scope(|scope| {
        let fetching = scope.spawn(|| swarm.fetches());
        let serving = scope.spawn(|| swarm.serves("serving", PEER, Port::AsItIs));
        let asking = swarm.serves("asking", PEER + 1, Port::AskedFor);
        vec![join(fetching), join(serving), asking]
    }))
}

/// The port of a host that serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    /// The one at which it listens.
    AsItIs,
    /// One that it asks its router for, by NAT-PMP.
    AskedFor,
}

/// The tracker with the files of all peers.
struct Swarm<'a> {
    call: &'a Call<'a>,
    server: IpAddr,
    folder: TempDir,
    _tracker: Process,
}

/// A file that is shared.
struct Shared {
    /// The folder with the original.
    origin: PathBuf,
    /// The folder of who fetches it.
    came: PathBuf,
    /// The description for the peer inside, and for the one outside: each has the tracker's address as it knows it.
    torrents: [PathBuf; 2],
    hash: String,
}

const SHARED: [&str; 3] = ["fetching", "serving", "asking"];

impl<'a> Swarm<'a> {
    fn start(call: &'a Call<'a>, server: IpAddr) -> Result<Self> {
        let folder = leftovers::directory()?;
        let hashes = SHARED
            .iter()
            .map(|name| Ok(share(folder.path(), name, [call.target, server])? + "\n"))
            .collect::<Result<String>>()?;
        // The tracker is nobody, and sees this folder only.
        let own = folder.path().join("tracker");
        make(&own)?;
        leftovers::write(&own.join("known"), hashes)?;
        for (path, mode) in [(folder.path(), 0o711), (&own, 0o755)] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(path, mode).map_err(LabError::file(path))?;
        }
        let mut command = call.server.command("opentracker");
        command.args(["-i", &server.to_string(), "-w", "known", "-d"]);
        command.arg(&own);
        let port = TRACKER.to_string();
        let mut tracker = Process::start("opentracker", command.args(["-p", &port, "-P", &port]))?;
        tracker.wait_until(PATIENCE, || listens(call.server, TRACKER))?;
        Ok(Self {
            call,
            server,
            folder,
            _tracker: tracker,
        })
    }

    fn shared(&self, name: &str) -> Result<Shared> {
        let folder = self.folder.path();
        let torrent = |end: usize| folder.join(format!("{name}.{end}.torrent"));
        Ok(Shared {
            origin: folder.join(name),
            came: folder.join(format!("{name}.came")),
            torrents: [torrent(0), torrent(1)],
            hash: hash(&torrent(0))?,
        })
    }

    /// The host inside fetches from a peer outside.
    fn fetches(&self) -> Outcome {
        let fetched = || {
            let shared = self.shared("fetching")?;
            let mut command = aria(self.call.server, &shared.origin);
            command.args(["--seed-ratio=0.0", "--check-integrity=true"]);
            let mut seed = Process::start("aria2c", command.arg(&shared.torrents[1]))?;
            seed.wait_until(PATIENCE, || self.is_served(&shared))?;
            fetch(self.call.client, &shared, 0)
        };
        Outcome::from(fetched())
    }

    /// The host inside serves a peer outside.
    fn serves(&self, name: &str, port: u16, kind: Port) -> Outcome {
        let served = || {
            let shared = self.shared(name)?;
            let orders = ORDERS + port - PEER;
            let mut seed = self.transmission(name, &shared, [port, orders], kind)?;
            if kind == Port::AskedFor {
                let log = seed.log().to_path_buf();
                let until = Instant::now() + GRANT;
                seed.wait_until(PATIENCE, || is_answered(&log) || Instant::now() > until)?;
            }
            let order = format!("127.0.0.1:{orders}");
            let mut add = self.call.client.command("transmission-remote");
            process::run(add.args([&order, "--add"]).arg(&shared.torrents[0]))?;
            await_or_fail(&mut seed, HEARD, "the tracker hears nothing of it", || {
                self.is_served(&shared)
            })?;
            let fetched = fetch(self.call.server, &shared, 1);
            // Only now: transmission may refuse a host that has connected before.
            match (fetched, self.peer(&shared)) {
                (Err(Trouble::Fails(why)), Some(peer)) => self.reaches(peer.into()).and(fails(why)),
                (fetched, _) => fetched,
            }
        };
        Outcome::from(served())
    }

    /// Starts the program of the host that serves, without anything to serve yet.
    fn transmission(
        &self,
        name: &str,
        shared: &Shared,
        [port, orders]: [u16; 2],
        kind: Port,
    ) -> Result<Process> {
        let settings = self.folder.path().join(format!("{name}.settings"));
        make(&settings)?;
        let text = r#"{"dht-enabled": false, "lpd-enabled": false, "pex-enabled": false, "utp-enabled": false}"#;
        leftovers::write(&settings.join("settings.json"), text)?;
        let mut command = self.call.client.command("transmission-daemon");
        command.args(["--foreground", "--no-auth", "--log-debug"]);
        command.args(["--rpc-bind-address", "127.0.0.1"]);
        command.args([
            "--port",
            &orders.to_string(),
            "--peerport",
            &port.to_string(),
        ]);
        command.arg(match kind {
            Port::AsItIs => "--no-portmap",
            Port::AskedFor => "--portmap",
        });
        command.arg("--config-dir").arg(settings);
        command.arg("--download-dir").arg(&shared.origin);
        let mut daemon = Process::start("transmission-daemon", &mut command)?;
        daemon.wait_until(PATIENCE, || listens(self.call.client, orders))?;
        Ok(daemon)
    }

    /// Returns the tracker's answer about a file, to who is at its own address.
    fn ask(&self, shared: &Shared, path: &str, more: &str) -> Option<Vec<u8>> {
        let (digits, _) = shared.hash.as_bytes().as_chunks::<2>();
        let escaped: String = digits
            .iter()
            .map(|digits| format!("%{}", String::from_utf8_lossy(digits)))
            .collect();
        let tracker = SocketAddr::new(self.server, TRACKER);
        let url = format!("http://{tracker}/{path}?info_hash={escaped}{more}");
        let mut command = tools::curl(self.call.server, REACH);
        Some(process::output(command.arg(url)).ok()?.stdout)
    }

    /// Returns whether somebody serves this file.
    fn is_served(&self, shared: &Shared) -> bool {
        let told = self.ask(shared, "scrape", "");
        told.is_some_and(|told| told.windows(COMPLETE.len()).any(|part| part == COMPLETE))
    }

    /// Returns where the tracker says that the file is served.
    fn peer(&self, shared: &Shared) -> Option<SocketAddrV4> {
        let asker = "&peer_id=-LB0001-000000000000&port=9&uploaded=0&downloaded=0&left=1&compact=1";
        let told = self.ask(shared, "announce", asker)?;
        let others = |peer: &SocketAddrV4| IpAddr::from(*peer.ip()) != self.server;
        peers(&told).into_iter().find(others)
    }

    /// Connects from outside to the peer, as the one that fetches will.
    fn reaches(&self, peer: SocketAddr) -> std::result::Result<(), Trouble> {
        let mut connected = Ok(());
        for _ in 0..TIMES {
            connected = unasked::connect(self.call.server, peer, REACH)?.map(drop);
            if connected.is_ok() {
                return Ok(());
            }
        }
        connected.or_else(|error| {
            fails(format!(
                "nobody is reached at {peer}, which the tracker names: {error}"
            ))
        })
    }
}

/// Makes a file and what the peers inside and outside know of it. Returns its hash.
fn share(folder: &Path, name: &str, trackers: [IpAddr; 2]) -> Result<String> {
    let [origin, came] = [name.to_owned(), format!("{name}.came")].map(|name| folder.join(name));
    make(&origin)?;
    make(&came)?;
    let content: Vec<u8> = name.bytes().cycle().take(SIZE).collect();
    leftovers::write(&origin.join("file"), content)?;
    for (end, tracker) in trackers.into_iter().enumerate() {
        let mut command = Command::new("transmission-create");
        let url = format!("http://{}/announce", SocketAddr::new(tracker, TRACKER));
        command.args(["--tracker", &url, "--outfile"]);
        command.arg(folder.join(format!("{name}.{end}.torrent")));
        process::run(command.arg(origin.join("file")))?;
    }
    hash(&folder.join(format!("{name}.0.torrent")))
}

/// Returns the hash of a torrent, in hexadecimal digits.
fn hash(torrent: &Path) -> Result<String> {
    let said = process::run(Command::new("transmission-show").arg(torrent))?;
    let line = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("Hash: "));
    line.map(str::to_owned).ok_or(LabError::Output {
        tool: "transmission-show",
        output: said,
    })
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir(folder).map_err(LabError::file(folder))
}

/// Returns whether transmission's log says that the router has granted a port, or that there is no such router.
fn is_answered(log: &Path) -> bool {
    let answers = ["to \"Forwarded\"", "to \"???\""];
    fs::read_to_string(log).is_ok_and(|text| answers.iter().any(|answer| text.contains(answer)))
}

/// Returns aria2 on a node, which finds peers by the tracker alone.
fn aria(node: &Namespace, folder: &Path) -> Command {
    let mut command = node.command("aria2c");
    command.args(["--no-conf", "--enable-dht=false", "--enable-dht6=false"]);
    command.args(["--bt-enable-lpd=false", "--enable-peer-exchange=false"]);
    command.args(["--summary-interval=0", "--console-log-level=error"]);
    // The first that is free.
    command.arg("--listen-port=6900-6999");
    command.arg("--dir").arg(folder);
    command
}

/// Fetches a file, and compares it with the original.
fn fetch(node: &Namespace, shared: &Shared, end: usize) -> std::result::Result<Seen, Trouble> {
    let mut command = aria(node, &shared.came);
    command.args(["--seed-time=0", "--bt-tracker-interval=2"]);
    // It gives up after so many seconds without progress.
    command.arg(format!("--bt-stop-timeout={}", PATIENCE_OF_PEERS.as_secs()));
    let said = process::output(command.arg(&shared.torrents[end]))?;
    let read = |folder: &Path| fs::read(folder.join("file"));
    if matches!((read(&shared.came), read(&shared.origin)), (Ok(came), Ok(origin)) if came == origin)
    {
        return Ok(Seen::default());
    }
    let said = [said.stdout, said.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let error = said.lines().find_map(|line| line.split_once("Exception: "));
    fails(match error {
        Some((_, error)) => format!("no whole file: {error}"),
        None => "no whole file: nothing comes from those whom the tracker names".into(),
    })
}

/// Returns the peers in an answer of the tracker, which is in bencode with six octets for each (BEP 23).
fn peers(answer: &[u8]) -> Vec<SocketAddrV4> {
    let key = b"5:peers";
    let Some(start) = answer.windows(key.len()).position(|part| part == key) else {
        return Vec::new();
    };
    let rest = &answer[start + key.len()..];
    let Some(colon) = rest.iter().position(|byte| *byte == b':') else {
        return Vec::new();
    };
    let (peers, _) = rest[colon + 1..].as_chunks::<6>();
    let length = String::from_utf8_lossy(&rest[..colon]).parse::<usize>();
    let count = length.map_or(0, |length| length / 6);
    let peers = peers.iter().take(count);
    peers
        .map(|&[a, b, c, d, high, low]| {
            SocketAddrV4::new([a, b, c, d].into(), u16::from_be_bytes([high, low]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_from_an_answer() {
        let answer = b"d8:completei1e8:intervali1655e5:peers12:\xc0\x00\x02\x01\x1a\xe1\xc6\x33\x64\x02\x00\x09e";
        let expected = ["192.0.2.1:6881", "198.51.100.2:9"].map(|peer| peer.parse().unwrap());
        assert_eq!(peers(answer), expected);
        assert_eq!(peers(b"d14:failure reason4:nothinge"), []);
        assert_eq!(peers(b"d5:peers6:\x01\x02"), []);
    }
}
