//! `isthmus lab tester` between two interfaces of a machine, which is a namespace here, and a device, which is another.
//!
//! ```text
//! machine: eth1 ═══ six :device: four ═══ eth2 :machine
//! ```

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    os::unix::process::CommandExt,
    process::{Command, Output},
    sync::Arc,
};

use isthmus_lab::{
    LabError, Result,
    network::{
        netns::Namespace,
        plan, process,
        topology::{End, FOUR, Link, Neighbours, Node, Offloads, Role, SIX, Topology},
    },
    subjects::isthmus::{self, Engine, Isthmus, Mechanism},
};
use serde_json::Value;

const EXIT_VOID: i32 = 2;
/// The frames by which a device learns before a trial.
const LEARNING: u64 = 64;

/// Builds machine and device, or prints why they cannot be built here.
fn alone(task: impl FnOnce(&Bench) -> Result<()>) {
    let _turn = super::turn();
    match Bench::build().and_then(|bench| task(&bench)) {
        Ok(()) => {}
        Err(reason @ (LabError::NotRoot | LabError::Missing { .. })) => {
            println!("skipped: {reason}")
        }
        Err(error) => panic!("{error}"),
    }
}

/// A machine with two cables to a device that forwards.
struct Bench {
    machine: Arc<Namespace>,
    device: Arc<Namespace>,
}

impl Bench {
    fn build() -> Result<Self> {
        let network = topology().build()?;
        let node = |name| network.node(name).map(Arc::clone);
        Ok(Self {
            machine: node("machine")?,
            device: node("device")?,
        })
    }

    fn command(&self, arguments: &str) -> Result<Command> {
        let program = isthmus::program()?;
        let mut command = self.machine.command(&program.display().to_string());
        command
            .args(["lab", "tester"])
            .args(arguments.split_whitespace());
        Ok(command)
    }

    /// Runs the program on the machine with both interfaces and these arguments.
    fn run(&self, arguments: &str) -> Result<Output> {
        process::output(&mut self.command(&format!("--left eth1 --right eth2 {arguments}"))?)
    }

    /// Runs the program with `--json`. The results that are tested do not depend on the punctuality of a busy
    /// machine.
    fn json(&self, arguments: &str) -> Result<Value> {
        let output = self.run(&format!("{arguments} --json"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let is_done = matches!(output.status.code(), Some(0 | EXIT_VOID));
        assert!(is_done, "{}{text}", errors(&output));
        Ok(serde_json::from_str(&text).unwrap())
    }

    /// Returns the IPv4 packets that the device has forwarded, as its kernel counts them.
    fn forwarded(&self) -> Result<u64> {
        let text = self.device.run("cat /proc/net/snmp")?;
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("Ip:"))
            .collect();
        let named = lines[0]
            .split_whitespace()
            .position(|name| name == "ForwDatagrams");
        Ok(lines[1]
            .split_whitespace()
            .nth(named.unwrap())
            .unwrap()
            .parse()
            .unwrap())
    }
}

fn topology() -> Topology {
    let cable = |near, far, machine: [String; 2], device: [String; 2]| {
        Link::veth(
            End::new("machine", near, &machine.each_ref().map(String::as_str)),
            End::new("device", far, &device.each_ref().map(String::as_str)),
        )
    };
    let both = |v4: Ipv4Addr, v6: Ipv6Addr| [format!("{v4}/24"), format!("{v6}/64")];
    Topology {
        nodes: vec![
            Node::new("machine", Role::Host, &[]),
            Node::new("device", Role::Router, &[]),
        ],
        links: vec![
            cable(
                "eth1",
                SIX,
                both(plan::HOST6_AS_IPV4, plan::HOST6),
                both(plan::GATEWAY6_AS_IPV4, plan::GATEWAY6),
            ),
            cable(
                "eth2",
                FOUR,
                both(plan::HOST4, plan::HOST4_AS_IPV6),
                both(plan::GATEWAY4, plan::GATEWAY4_AS_IPV6),
            ),
        ],
        neighbours: Neighbours::Resolved,
        offloads: Offloads::Off,
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the arguments of IPv4 hosts on both sides, and of the device by its addresses.
fn native4() -> String {
    let (left, right) = (plan::GATEWAY6_AS_IPV4, plan::GATEWAY4);
    let (from, to) = (plan::HOST6_AS_IPV4, plan::HOST4);
    format!("--left-device {left} --right-device {right} --left-host {from} --right-host {to}")
}

/// Returns the arguments of an IPv6 host and an IPv4 one.
fn translated() -> String {
    let (left, right) = (plan::GATEWAY6, plan::GATEWAY4);
    let (from, to) = (plan::HOST6, plan::HOST4);
    format!(
        "--left-device {left} --right-device {right} --left-host {from} --right-host {to} --prefix {}/96",
        plan::PREFIX
    )
}

/// Returns the frames of a trial that were sent and received.
fn counts(stream: &Value) -> (u64, u64) {
    let count = |value: &Value| value.as_u64().unwrap();
    (
        count(&stream["sent"]),
        count(&stream["arrivals"]["received"]),
    )
}

#[test]
fn a_router_forwards_every_frame() {
    alone(|bench| {
        let document = bench.json(&format!(
            "{} --test trial --rate 1000 --duration 0.5",
            native4()
        ))?;
        let streams = document["figures"]["trial"]["streams"].as_array().unwrap();
        assert_eq!(streams.len(), 1);
        assert_eq!(counts(&streams[0]), (500, 500));
        assert_eq!(bench.forwarded()?, 500 + LEARNING);
        assert_eq!(document["streams"][0]["size"], 64);
        Ok(())
    });
}

#[test]
fn both_directions_and_ethernet_addresses() {
    alone(|bench| {
        let ethernet = |interface: &str| {
            bench
                .device
                .run(&format!("cat /sys/class/net/{interface}/address"))
        };
        let (left, right) = (ethernet(SIX)?, ethernet(FOUR)?);
        let (from, to) = (plan::HOST6, plan::HOST4_AS_IPV6);
        let document = bench.json(&format!(
            "--left-device {left} --right-device {right} --left-host {from} --right-host {to} --direction both \
             --size 512 --flows 10 --test trial --rate 2000 --duration 0.5"
        ))?;
        for stream in document["figures"]["trial"]["streams"].as_array().unwrap() {
            assert_eq!(counts(stream), (1000, 1000), "{stream}");
        }
        assert_eq!(document["streams"][1]["source"], to.to_string());
        Ok(())
    });
}

/// The device's packet filter drops one of ten frames, and counts them itself.
#[test]
fn a_router_that_drops_is_reported() {
    alone(|bench| {
        let rules = "table ip t {\nchain c {\ntype filter hook forward priority 0\nnumgen inc mod 10 0 drop\n}\n}\n";
        process::run(bench.device.command("nft").arg(rules))?;
        let document = bench.json(&format!(
            "{} --test trial --rate 2000 --duration 0.5",
            native4()
        ))?;
        assert_eq!(
            counts(&document["figures"]["trial"]["streams"][0]),
            (1000, 900)
        );
        Ok(())
    });
}

#[test]
fn a_translator_of_ours() {
    alone(|bench| {
        for engine in Engine::ALL {
            let _gateway = Isthmus::new(engine, Mechanism::Siit).up(&bench.device, None)?;
            let both = format!(
                "{} --left-as {} --direction both",
                translated(),
                plan::HOST6_AS_IPV4
            );
            let document =
                bench.json(&format!("{both} --test trial --rate 1000 --duration 0.3"))?;
            for stream in document["figures"]["trial"]["streams"].as_array().unwrap() {
                assert_eq!(counts(stream), (300, 300), "{engine:?}: {stream}");
            }
            let [there, back] = [0, 1].map(|end| &document["streams"][end]);
            assert_eq!(
                (&there["size"], &there["arrives"]),
                (&84.into(), &"IPv4".into())
            );
            assert_eq!(
                (&back["size"], &back["arrives"]),
                (&64.into(), &"IPv6".into())
            );
        }
        Ok(())
    });
}

#[test]
fn every_test_prints_its_figures() {
    alone(|bench| {
        let tests = [
            ("--test throughput --duration 0.2", "throughput "),
            (
                "--test latency --rate 1000 --repeats 2 --duration 0.2",
                "at 1000 frames per second",
            ),
            ("--test loss --duration 0.1", "frames/s"),
            ("--test back-to-back --duration 0.01", "back-to-back"),
        ];
        for (test, says) in tests {
            let output = bench.run(&format!("{} --most 5000 {test}", native4()))?;
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains(says), "{test}: {text}{}", errors(&output));
            assert!(text.starts_with("eth1 -> "), "{text}");
        }
        Ok(())
    });
}

#[test]
fn a_rate_that_cannot_be_sent_is_void() {
    alone(|bench| {
        let output = bench.run(&format!(
            "{} --test trial --rate 1e9 --duration 0.0001",
            native4()
        ))?;
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(EXIT_VOID), "{text}");
        assert!(text.contains("void: "), "{text}");
        Ok(())
    });
}

/// The tester refuses these arguments, and says why.
fn refused(bench: &Bench, arguments: &str, says: &str) -> Result<()> {
    let output = process::output(&mut bench.command(arguments)?)?;
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments}: {text}");
    assert!(text.contains(says), "{arguments}: {text}");
    Ok(())
}

#[test]
fn errors_are_explained() {
    alone(|bench| {
        let refused = |arguments: &str, says: &str| refused(bench, arguments, says);
        let hosts = native4();
        refused(
            &format!("--left eth7 --right eth2 {hosts}"),
            "there is no interface eth7",
        )?;
        refused(
            &format!("--left eth2 --right eth2 {hosts}"),
            "eth2 is at both ends",
        )?;
        let both = format!("--left eth1 --right eth2 {hosts}");
        refused(
            &format!("{both} --size 1519"),
            "frames of 1519 octets do not fit eth1",
        )?;
        refused(&format!("{both} --test trial"), "--test trial needs --rate")?;
        refused(&format!("{both} --rate 5"), "--rate is for")?;
        let nobody = hosts.replace(
            &format!("--left-device {}", plan::GATEWAY6_AS_IPV4),
            "--left-device 192.0.2.99",
        );
        refused(
            &format!("--left eth1 --right eth2 {nobody}"),
            "no device at eth1 answers for 192.0.2.99",
        )?;
        let unnamed = translated().replace(&format!("--prefix {}/96", plan::PREFIX), "");
        refused(
            &format!("--left eth1 --right eth2 {unnamed}"),
            "--prefix or --right-as",
        )?;

        // Frames that grow on the path do not fit the other cable.
        let (v4, v6) = (plan::HOST6_AS_IPV4, plan::HOST4_AS_IPV6);
        refused(
            &format!(
                "--left eth1 --right eth2 --left-device {} --right-device {} --left-host {v4} --right-host {v6} \
                 --right-as 198.18.0.9 --size 1518",
                plan::GATEWAY6_AS_IPV4,
                plan::GATEWAY4_AS_IPV6
            ),
            "frames of 1538 octets do not fit eth2",
        )
    });
}

#[test]
fn states_of_links_are_explained() {
    alone(|bench| {
        let hosts = native4();
        let both = format!("--left eth1 --right eth2 {hosts}");
        let refused = |says: &str| refused(bench, &both, says);
        bench
            .machine
            .ip(&[format!("route add default via {}", plan::GATEWAY4)])?;
        refused("the default route of this machine leads over eth2")?;
        let forced = bench.run(&format!(
            "{hosts} --force --test trial --rate 100 --duration 0.1"
        ))?;
        assert_ne!(forced.status.code(), Some(1), "{}", errors(&forced));

        bench.machine.ip(&["link set eth1 down".into()])?;
        refused("eth1 is down: `ip link set eth1 up`")?;
        bench.machine.ip(&["link set eth1 up".into()])?;
        bench.device.ip(&[format!("link set {SIX} down")])?;
        refused("eth1 has no carrier")
    });
}

#[test]
fn it_needs_root() {
    alone(|_| {
        let mut command = Command::new(isthmus::program()?);
        command.args(["lab", "tester", "--left", "eth1", "--right", "eth2"]);
        command.args(native4().split_whitespace()).uid(65_534);
        let output = match process::output(&mut command) {
            // Other users cannot run the program that root has built.
            Err(LabError::Start { source, .. })
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                return Ok(());
            }
            other => other?,
        };
        assert_eq!(output.status.code(), Some(1));
        assert!(
            errors(&output).contains("needs root"),
            "{}",
            errors(&output)
        );
        Ok(())
    });
}

/// A host without an address at the interface is not an error, but is reported: the device may have a route to it.
#[test]
fn a_host_without_an_interface_is_reported() {
    alone(|bench| {
        let hosts = native4().replace(&plan::HOST4.to_string(), "198.51.100.77");
        let output = bench.run(&format!("{hosts} --test trial --rate 100 --duration 0.1"))?;
        assert!(
            errors(&output).contains("eth2 does not have 198.51.100.77"),
            "{}",
            errors(&output)
        );
        assert!(String::from_utf8_lossy(&output.stdout).contains("lost       10 frames"));
        Ok(())
    });
}
