//! Everything at once, for long: reloads, kills, restarts, faults of links and routes, and floods, at random, while a
//! bystander has a TCP connection through the gateway.
//!
//! The connection survives all of it, kills and restarts as well, because sessions outlive the process. Each gateway has
//! at its end what it had at its beginning: memory, files, threads.
//!
//! `SOAK_SECONDS` is how long each engine is tried, a minute by default, and `SOAK_SEED` repeats a run. `make soak` is
//! an hour.

mod bystander;
mod flood;
mod usage;

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::random::Random;

use crate::gateway::Gateway;
use crate::net::Net;
use crate::restart::Places;
use crate::site::{Site, both_links};
use bystander::Bystander;
use usage::Usage;

/// How long something that ought to happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// Quiet before a gateway is measured: memory that a reload has given up is free after ten seconds.
const QUIET: Duration = Duration::from_secs(12);

/// The instance that the gateway serves, with limits that leave room to the bystander. A reload changes `limit` and
/// takes nothing away that the bystander has.
fn served(limit: u64) -> String {
    format!(
        r#"
[[instance]]
name = "plat"
mechanism = "nat64"
prefix = "64:ff9b::/96"
allow-non-global = true
inside = ["2001:db8::/32"]
pool = [{{ addresses = "203.0.113.0/28" }}]
max-sessions = 16384
max-bindings = 16384
max-subscribers = 1024
subscriber-sessions = {limit}
"#
    )
}

/// The limit of a gateway that starts.
const LIMIT: u64 = 4096;

pub(crate) const MORE: &str = r#"
[[instance]]
name = "more"
mechanism = "siit"
prefix = "2001:db8:64::/96"
hosts = ["198.51.100.0/24"]
"#;

/// What is done to the gateway.
#[derive(Clone, Copy, Debug)]
enum Event {
    Reload,
    /// A configuration that is refused.
    BadReload,
    /// It is killed, and started again.
    Kill,
    /// It is stopped, and started again.
    Restart,
    /// Somebody takes this away from it, which it puts back.
    Harm(&'static str),
    /// A link is down for a moment.
    Down(&'static str),
    /// Hosts open flows as fast as they can.
    NewFlows,
    /// Many networks open flows.
    Spray,
    /// Strangers send to all of the pool.
    Strangers,
    Nothing,
}

const EVENTS: [Event; 18] = [
    Event::Reload,
    Event::Reload,
    Event::Reload,
    Event::BadReload,
    Event::Kill,
    Event::Restart,
    Event::Harm("-4 route flush proto 146"),
    Event::Harm("-6 route flush proto 146"),
    Event::Harm("addr flush dev isthmus0"),
    Event::Harm("link set isthmus0 down"),
    Event::Harm("link set isthmus0 mtu 1400"),
    Event::Down("toh"),
    Event::Down("tos"),
    Event::NewFlows,
    Event::NewFlows,
    Event::Spray,
    Event::Strangers,
    Event::Nothing,
];

mod long {
    #[test]
    fn user_survives_everything_at_once() {
        super::soak("user");
    }

    #[test]
    fn xdp_survives_everything_at_once() {
        super::soak("xdp");
    }

    #[test]
    fn tc_survives_everything_at_once() {
        super::soak("tc");
    }
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

fn soak(engine: &'static str) {
    let Some(site) = Site::new() else {
        return;
    };
    let Some(places) = Places::new(&site.path("")) else {
        return;
    };
    let seconds = number("SOAK_SECONDS").unwrap_or(60);
    let seed = number("SOAK_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("{engine}: SOAK_SEED={seed} SOAK_SECONDS={seconds}");
    prepare(&site.net);
    let mut soak = Soak::begin(&site, places, engine, Random::new(seed));
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        soak.step();
    }
    soak.measure();
    println!("{engine}: {:?}; {}", soak.done, soak.bystander);
    assert!(soak.running.is_some_and(|gateway| gateway.stop().success()));
    for what in [
        "-4 route show table all proto 146",
        "-6 route show table all proto 146",
        "-4 rule show pref 14600",
    ] {
        assert_eq!(site.net.ip("gateway", what), "", "{what}");
    }
}

/// Addresses stay on a link that is down, and both sides have networks whose hosts nobody has ever seen.
fn prepare(net: &Net) {
    for setting in ["keep_addr_on_down=1", "accept_dad=0"] {
        let setting = format!("net.ipv6.conf.toh.{setting}");
        let status = net
            .command("gateway", "sysctl")
            .args(["-q", "-w", &setting])
            .status();
        assert!(status.unwrap().success(), "{setting}");
    }
    for node in ["host", "server"] {
        // A veth device takes no frames from XDP without GRO, and leaves checksums to hardware that is not there.
        let mut ethtool = net.command(node, "ethtool");
        let status = ethtool
            .args(["-K", "eth0", "tx", "off", "gro", "on"])
            .status();
        assert!(status.unwrap().success(), "{node}");
    }
    reach(net);
}

/// What the kernel forgets of a link that goes down: routes, and the link-local address.
fn reach(net: &Net) {
    net.ip("gateway", "addr replace fe80::1/64 dev toh nodad");
    net.ip(
        "gateway",
        "-6 route replace 2001:db8::/32 via 2001:db8:1::2",
    );
    net.ip("gateway", "-4 route replace 198.18.0.0/15 via 192.0.2.2");
}

fn configure(site: &Site, engine: &str, limit: u64, more: &str) {
    let links = match engine {
        "user" => String::new(),
        engine => both_links(engine, ""),
    };
    site.configure(&format!("{links}{}{more}", served(limit)));
}

fn reload(gateway: &Gateway) {
    let output = gateway.client("reload");
    assert!(output.status.success(), "{output:?}\n{}", gateway.log());
}

/// How often something happened.
#[derive(Debug, Default)]
struct Done {
    reloads: u32,
    starts: u32,
    faults: u32,
    /// Packets of floods.
    flooded: u64,
}

struct Soak<'s> {
    site: &'s Site,
    /// Where a gateway leaves its sessions.
    places: Places,
    engine: &'static str,
    random: Random,
    /// It runs but while it is started again.
    running: Option<Gateway>,
    /// What the gateway had at its beginning.
    first: Usage,
    bystander: Bystander,
    done: Done,
}

impl<'s> Soak<'s> {
    fn begin(site: &'s Site, places: Places, engine: &'static str, random: Random) -> Self {
        configure(site, engine, LIMIT, "");
        let gateway = places.start(site);
        let bystander = Bystander::connect(&site.net).unwrap();
        let first = warm(site, engine, &gateway);
        Self {
            site,
            places,
            engine,
            random,
            running: Some(gateway),
            first,
            bystander,
            done: Done::default(),
        }
    }

    fn gateway(&self) -> &Gateway {
        self.running.as_ref().expect("a gateway that runs")
    }

    /// One event, after which the connection goes on.
    fn step(&mut self) {
        let event = EVENTS[self.random.below(EVENTS.len() as u64) as usize];
        self.happen(event);
        if let Err(problem) = self.bystander.goes_on(PATIENCE) {
            panic!(
                "after {event:?}: {problem}; {:?}\n{}",
                self.done,
                self.gateway().log()
            );
        }
    }

    fn happen(&mut self, event: Event) {
        let net = &self.site.net;
        let moment = Duration::from_millis(self.random.below(1500));
        match event {
            Event::Reload => {
                let more = if self.random.below(2) == 0 { MORE } else { "" };
                configure(self.site, self.engine, 2000 + self.random.below(2000), more);
                reload(self.gateway());
                self.done.reloads += 1;
            }
            Event::BadReload => {
                self.site.configure("[[instance]]\nname = \"plat\"\n");
                assert!(!self.gateway().client("reload").status.success());
            }
            Event::Kill => self.start_again(Gateway::kill),
            Event::Restart => self.start_again(|gateway| assert!(gateway.terminate().success())),
            Event::Harm(harm) => {
                net.ip("gateway", harm);
                self.done.faults += 1;
            }
            Event::Down(link) => {
                net.ip("gateway", &format!("link set {link} down"));
                thread::sleep(moment);
                net.ip("gateway", &format!("link set {link} up"));
                reach(net);
                self.done.faults += 1;
            }
            Event::NewFlows => self.done.flooded += flood::new_flows(net, moment),
            Event::Spray => self.done.flooded += flood::spray(net, moment),
            Event::Strangers => self.done.flooded += flood::strangers(net, moment),
            Event::Nothing => thread::sleep(moment),
        }
    }

    /// Ends the gateway in this way, and starts another, which goes on with the sessions.
    fn start_again(&mut self, end: fn(Gateway)) {
        self.measure();
        configure(self.site, self.engine, LIMIT, "");
        self.running.take().into_iter().for_each(end);
        self.running = Some(self.places.start(self.site));
        self.done.starts += 1;
        self.first = warm(self.site, self.engine, self.gateway());
    }

    /// The gateway has no more than at its beginning.
    fn measure(&self) {
        thread::sleep(QUIET);
        let last = Usage::of(self.gateway());
        if let Some(problem) = last.more_than(&self.first) {
            panic!(
                "{problem}: {:?}, then {last:?}; {:?}",
                self.first, self.done
            );
        }
    }
}

/// What a gateway has after each of the things that take memory has happened once.
fn warm(site: &Site, engine: &str, gateway: &Gateway) -> Usage {
    let moment = Duration::from_secs(1);
    for flood in [flood::new_flows, flood::spray, flood::strangers] {
        flood(&site.net, moment);
    }
    configure(site, engine, LIMIT - 1, MORE);
    reload(gateway);
    thread::sleep(QUIET);
    Usage::of(gateway)
}
