//! Syslog and IPFIX records, decoded by Wireshark as the independent referee.
//!
//! The datagrams are received on loopback and put into a capture file by hand, so that no rights
//! are needed. Skipped, with the reason, where tshark is not installed.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use isthmus_core::nat::Protocol;
use isthmus_gateway::config::{Carrier, Destinations};
use isthmus_gateway::records::{
    Binding, Block, Change, Record, Recorder, Session, Settings, Subject,
};
use serde_json::Value;

type Event = (Change, Subject);

const TIME: &str = "2026-11-21T08:09:10.123456Z";

fn binding(protocol: Protocol, inside: &str) -> Binding {
    Binding {
        protocol: Some(protocol),
        inside_address: inside.parse().unwrap(),
        inside_port: Some(40_000),
        outside_address: Ipv4Addr::new(203, 0, 113, 1),
        outside_port: Some(1024),
    }
}

fn session(protocol: Protocol, inside: &str) -> Subject {
    let binding = binding(protocol, inside);
    let is_v6 = binding.inside_address.is_ipv6();
    Subject::Session(Session {
        binding,
        remote_address: Ipv4Addr::new(192, 0, 2, 80),
        remote_port: Some(443),
        remote_inside: is_v6.then(|| "64:ff9b::c000:250".parse().unwrap()),
    })
}

fn block(inside: &str) -> Subject {
    Subject::Block(Block {
        inside_address: inside.parse().unwrap(),
        outside_address: Ipv4Addr::new(203, 0, 113, 2),
        outside_port: 2048,
        outside_port_last: 2559,
    })
}

fn events() -> Vec<Event> {
    let v6 = "2001:db8:1::7";
    let v4 = "10.0.0.7";
    let udp6 = Subject::Binding(binding(Protocol::Udp, v6));
    let tcp4 = Subject::Binding(binding(Protocol::Tcp, v4));
    vec![
        (Change::Began, session(Protocol::Tcp, v6)),
        (Change::Ended, session(Protocol::Icmp, v6)),
        (Change::Began, udp6),
        (Change::Ended, udp6),
        (Change::Began, block("2001:db8:1::")),
        (Change::Ended, block("2001:db8:1::")),
        (Change::Began, session(Protocol::Icmp, v4)),
        (Change::Ended, session(Protocol::Tcp, v4)),
        (Change::Began, tcp4),
        (Change::Ended, tcp4),
        (Change::Began, block("10.0.0.7")),
        (Change::Ended, block("10.0.0.7")),
    ]
}

/// Whether tshark is there; says so where not.
fn tshark() -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: tshark is not installed");
    }
    there
}

/// No sinks, and `rate` records a second.
fn settings(rate: u32) -> Settings {
    Settings {
        gateway: "edge".into(),
        host: "gw.example.net".into(),
        domain: 77,
        json: None,
        syslog: None,
        ipfix: None,
        carrier: Carrier::Udp,
        rate,
        destinations: Destinations::Record,
    }
}

fn record(recorder: &Recorder, events: &[Event]) {
    for (change, subject) in events {
        recorder.record(Record {
            time: TIME.parse().unwrap(),
            instance: "plat".into(),
            number: 3,
            subscriber: subject.inside(),
            change: *change,
            subject: *subject,
        });
    }
}

/// Records all `events`, `rate` a second at most, and returns the datagrams of one sink.
fn datagrams(
    events: &[Event],
    rate: u32,
    sink: impl Fn(&mut Settings, &UdpSocket),
) -> Vec<Vec<u8>> {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut settings = settings(rate);
    sink(&mut settings, &server);
    let recorder = Recorder::start(&settings).unwrap();
    record(&recorder, events);
    recorder.stop();
    let mut datagrams = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length) = server.recv(&mut buffer) {
        datagrams.push(buffer[..length].to_vec());
    }
    datagrams
}

/// A capture of raw IPv4 packets (link type 101), each a UDP datagram to `port`.
fn capture(path: &Path, port: u16, datagrams: &[Vec<u8>]) {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend(2_u16.to_le_bytes());
    file.extend(4_u16.to_le_bytes());
    file.extend([0; 8]);
    file.extend(65_535_u32.to_le_bytes());
    file.extend(101_u32.to_le_bytes());
    for payload in datagrams {
        let udp = payload.len() + 8;
        let mut packet = vec![0x45, 0];
        packet.extend(((udp + 20) as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        packet.extend(50_000_u16.to_be_bytes());
        packet.extend(port.to_be_bytes());
        packet.extend((udp as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        file.extend([0; 8]);
        file.extend((packet.len() as u32).to_le_bytes());
        file.extend((packet.len() as u32).to_le_bytes());
        file.extend(packet);
    }
    std::fs::write(path, file).unwrap();
}

/// The protocol tree of every packet.
fn decoded(port: u16, datagrams: &[Vec<u8>]) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.pcap");
    capture(&path, port, datagrams);
    let output = Command::new("tshark")
        .args(["-n", "-T", "json", "--no-duplicate-keys", "-r"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let packets: Value = serde_json::from_slice(&output.stdout).unwrap();
    packets
        .as_array()
        .unwrap()
        .iter()
        .map(|packet| packet["_source"]["layers"].clone())
        .collect()
}

/// All values of the field `name` in the tree, in order.
fn values(tree: &Value, name: &str, into: &mut Vec<String>) {
    match tree {
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == name {
                    match value {
                        Value::Array(many) => {
                            into.extend(many.iter().map(|v| v.as_str().unwrap().to_owned()));
                        }
                        one => into.push(one.as_str().unwrap().to_owned()),
                    }
                } else {
                    values(value, name, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| values(item, name, into)),
        _ => {}
    }
}

fn all(packets: &[Value], name: &str) -> Vec<String> {
    let mut found = Vec::new();
    packets
        .iter()
        .for_each(|packet| values(packet, name, &mut found));
    found
}

#[test]
fn ipfix_rfc8158_section_4_6() {
    if !tshark() {
        return;
    }
    let datagrams = datagrams(&events(), 1000, |settings, server| {
        settings.ipfix = Some(server.local_addr().unwrap());
    });
    for datagram in &datagrams {
        assert!(datagram.len() + 48 <= 512, "{} bytes", datagram.len());
    }
    let packets = decoded(4739, &datagrams);
    let text = serde_json::to_string(&packets).unwrap();
    assert!(!text.contains("_ws.expert"), "{text}");
    assert!(!text.contains("_ws.malformed"), "{text}");
    let all = |name| all(&packets, name);
    // RFC 8158 section 4.3, table 2: NAT64 6, 7, 10, 11; NAT44 4, 5, 8, 9; port blocks 16, 17.
    assert_eq!(
        all("cflow.nat_event"),
        [
            "6", "7", "10", "11", "16", "17", "4", "5", "8", "9", "16", "17"
        ]
    );
    assert_eq!(
        all("cflow.srcaddrv6"),
        vec!["2001:db8:1::7"; 4]
            .into_iter()
            .chain(vec!["2001:db8:1::"; 2])
            .collect::<Vec<_>>()
    );
    assert_eq!(all("cflow.srcaddr"), vec!["10.0.0.7"; 6]);
    assert_eq!(all("cflow.dstaddrv6"), vec!["64:ff9b::c000:250"; 2]);
    assert_eq!(all("cflow.dstaddr"), vec!["192.0.2.80"; 2]);
    assert_eq!(
        all("cflow.post_natdestination_ipv4_address"),
        vec!["192.0.2.80"; 4]
    );
    assert_eq!(all("cflow.dstport"), vec!["443"; 4]);
    assert_eq!(all("cflow.srcport"), vec!["40000"; 8]);
    assert_eq!(all("cflow.post_naptsource_transport_port"), vec!["1024"; 8]);
    assert_eq!(
        all("cflow.protocol"),
        ["6", "58", "17", "17", "1", "6", "6", "6"]
    );
    assert_eq!(all("cflow.port_range_start"), vec!["2048"; 4]);
    assert_eq!(all("cflow.port_range_end"), vec!["2559"; 4]);
    assert_eq!(all("cflow.nat_instanceid"), vec!["3"; 12]);
    assert!(
        all("cflow.observation_time_milliseconds")
            .iter()
            .all(|time| time.contains("08:09:10.123")),
        "{text}"
    );
    // RFC 7011 section 3.1: the number of data records sent before, templates not among them.
    let sequences = all("cflow.sequence");
    assert_eq!(sequences[..2], ["0", "0"], "templates, then data");
    assert!(all("cflow.od_id").iter().all(|id| id == "77"));
    let last: u32 = sequences.last().unwrap().parse().unwrap();
    assert!((1..=12).contains(&last), "{sequences:?}");
}

/// The messages of a connection: each says how long it is (RFC 7011 section 3.1).
fn messages(mut stream: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let [_, _, high, low, ..] = *stream {
        let (message, rest) = stream.split_at(usize::from(u16::from_be_bytes([high, low])));
        messages.push(message.to_vec());
        stream = rest;
    }
    assert!(stream.is_empty());
    messages
}

/// RFC 7011 section 10.4: templates come first, once in each connection, and each counts its records.
#[test]
fn ipfix_over_tcp_rfc7011_section_10_4() {
    if !tshark() {
        return;
    }
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = settings(1000);
    settings.ipfix = Some(collector.local_addr().unwrap());
    settings.carrier = Carrier::Tcp;
    let recorder = Recorder::start(&settings).unwrap();
    // Somebody who hangs up.
    let (first, _) = collector.accept().unwrap();
    drop(first);
    let begun = Instant::now();
    collector.set_nonblocking(true).unwrap();
    let (mut second, _) = loop {
        if let Ok(accepted) = collector.accept() {
            break accepted;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "no second connection"
        );
        // The kernel tells of the end at the second message.
        record(&recorder, &events()[..1]);
        sleep(Duration::from_millis(300));
    };
    record(&recorder, &events());
    recorder.stop();
    second.set_nonblocking(false).unwrap();
    let mut stream = Vec::new();
    second.read_to_end(&mut stream).unwrap();

    let messages = messages(&stream);
    let is_templates = |message: &&Vec<u8>| message[16..18] == [0, 2];
    assert!(is_templates(&&messages[0]));
    assert_eq!(messages.iter().filter(is_templates).count(), 1);
    let packets = decoded(4739, &messages);
    let text = serde_json::to_string(&packets).unwrap();
    assert!(
        !text.contains("_ws.expert") && !text.contains("_ws.malformed"),
        "{text}"
    );
    let events = all(&packets, "cflow.nat_event");
    let expected = [
        "6", "7", "10", "11", "16", "17", "4", "5", "8", "9", "16", "17",
    ];
    assert!(events.ends_with(&expected.map(String::from)), "{events:?}");
    assert_eq!(all(&packets, "cflow.sequence")[..2], ["0", "0"]);
}

#[test]
fn ipfix_reports_what_was_not_sent_rfc7011_section_4_3() {
    if !tshark() {
        return;
    }
    let datagrams = datagrams(&events(), 2, |settings, server| {
        settings.ipfix = Some(server.local_addr().unwrap());
    });
    let packets = decoded(4739, &datagrams);
    let sent = all(&packets, "cflow.nat_event").len();
    let not_sent: Vec<String> = all(&packets, "cflow.notsent_flows");
    assert_eq!(not_sent, [(12 - sent).to_string()]);
}

#[test]
fn syslog_rfc5424() {
    if !tshark() {
        return;
    }
    let datagrams = datagrams(&events(), 1000, |settings, server| {
        settings.syslog = Some(server.local_addr().unwrap());
    });
    assert_eq!(datagrams.len(), 12);
    let packets = decoded(514, &datagrams);
    assert_eq!(all(&packets, "syslog.version"), vec!["1"; 12]);
    assert_eq!(all(&packets, "syslog.facility"), vec!["16"; 12]);
    assert_eq!(all(&packets, "syslog.level"), vec!["6"; 12]);
    assert_eq!(all(&packets, "syslog.hostname"), vec!["gw.example.net"; 12]);
    assert_eq!(all(&packets, "syslog.appname"), vec!["isthmus"; 12]);
    // Wireshark counts the structured data to the message identifier.
    let names = [
        "session-created",
        "session-removed",
        "binding-created",
        "binding-removed",
        "port-block-allocated",
        "port-block-released",
    ]
    .repeat(2);
    let messages = all(&packets, "syslog.msgid");
    assert_eq!(messages.len(), names.len());
    for (message, name) in messages.iter().zip(names) {
        let expected = format!("{name} [isthmus@32473 gateway=\"edge\" instance=\"plat\" ");
        assert!(message.starts_with(&expected), "{message}");
    }
}
