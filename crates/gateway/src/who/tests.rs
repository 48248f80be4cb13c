//! Records written by hand from the description in docs/running.md.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use isthmus_core::nat::Protocol;
use jiff::Timestamp;

use super::{Answer, Configuration, Question, Verdict, Window, answer};
use crate::config;

/// Some time of 2026-11-21, in a line of JSON.
fn json(time: &str, event: &str, rest: &str) -> String {
    format!(
        "{{\"time\":\"2026-11-21T{time}Z\",\"gateway\":\"edge\",\"instance\":\"plat\",\"event\":\"{event}\"{rest}}}\n"
    )
}

/// A binding of a host to port 4711.
fn binding(time: &str, event: &str, host: &str) -> String {
    json(
        time,
        event,
        &format!(
            ",\"protocol\":\"tcp\",\"inside-address\":\"2001:db8::{host}\",\"inside-port\":40000,\
             \"outside-address\":\"203.0.113.5\",\"outside-port\":4711"
        ),
    )
}

fn block(time: &str, event: &str, host: &str) -> String {
    json(
        time,
        event,
        &format!(
            ",\"inside-address\":\"2001:db8:{host}::\",\"outside-address\":\"203.0.113.5\",\
             \"outside-port\":4608,\"outside-port-last\":5119"
        ),
    )
}

/// A record of somebody else, by which the records reach a time.
fn other(time: &str) -> String {
    binding(time, "binding-created", "ffff").replace("4711", "9999")
}

fn suppressed(time: &str, count: u64, bindings: u64) -> String {
    json(
        time,
        "records-suppressed",
        &format!(",\"count\":{count},\"bindings\":{bindings}"),
    )
}

fn question(at: &str) -> Question {
    let at = match at {
        time if time.contains('T') => time.to_owned(),
        time => format!("2026-11-21T{time}Z"),
    };
    Question {
        address: "203.0.113.5".parse().unwrap(),
        port: 4711,
        protocol: Some(Protocol::Tcp),
        window: Window::parse(
            &at,
            Timestamp::now().max("2027-01-01T00:00:00Z".parse().unwrap()),
        )
        .unwrap(),
    }
}

fn ask(records: &[String], at: &str) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    fs::write(&path, records.concat()).unwrap();
    answer(&question(at), &[], &[path]).unwrap()
}

/// The subscribers, and `?` in front of them if the answer is unknown.
fn short(answer: &Answer) -> String {
    let names: Vec<_> = answer.subscribers.iter().map(ToString::to_string).collect();
    let mark = match answer.verdict {
        Verdict::One => "",
        Verdict::Unknown => "?",
    };
    format!("{mark}{}", names.join(" ")).replace("2001:db8::", "")
}

fn history() -> Vec<String> {
    vec![
        other("08:00:00.000000"),
        binding("08:10:00.250000", "binding-created", "a"),
        binding("08:20:00.500000", "binding-removed", "a"),
        binding("08:20:00.700000", "binding-created", "b"),
        other("09:00:00.000000"),
    ]
}

#[test]
fn a_binding_is_somebodys_from_its_beginning_to_its_end() {
    for (at, who) in [
        ("08:10:00.23", "?"),
        ("08:10:00.250000", "a"),
        ("08:10:00", "a"),
        ("08:15:00", "a"),
        ("08:20:00.500000", "a"),
        // Nobody had it, by a clock that is exact to a hundredth.
        ("08:20:00.60", "?"),
        ("08:20:00.700000", "b"),
        // Two had it within that second.
        ("08:20:00", "?a b"),
        ("08:30:00", "b"),
        ("08:59:57", "b"),
        // The records do not reach that far: they are written up to two seconds late.
        ("08:59:58", "?b"),
        ("09:01:00", "?b"),
        ("07:59:00", "?"),
    ] {
        assert_eq!(short(&ask(&history(), at)), who, "{at}");
    }
}

/// Basic NAT-PT: who has an address has all ports of it, of all protocols.
#[test]
fn an_address_is_somebodys_with_all_its_ports() {
    let of_address = |time, event, host| {
        let fields = format!(
            ",\"protocol\":\"any\",\"inside-address\":\"2001:db8::{host}\",\"outside-address\":\"203.0.113.5\""
        );
        json(time, event, &fields)
    };
    let records = [
        other("08:00:00"),
        of_address("08:10:00.250000", "binding-created", "a"),
        of_address("08:20:00.500000", "binding-removed", "a"),
        of_address("08:30:00.500000", "binding-created", "b"),
        other("09:00:00"),
    ];
    for (at, who) in [("08:15:00", "a"), ("08:25:00", "?"), ("08:40:00", "b")] {
        let answer = ask(&records, at);
        assert_eq!(short(&answer), who, "{at}");
        let by: Vec<_> = answer.uses.iter().map(|usage| usage.by).collect();
        assert!(by.iter().all(|by| *by == "address"), "{by:?}");
    }
}

#[test]
fn a_missing_beginning_is_before_the_records() {
    let records = [
        other("08:00:00"),
        binding("08:20:00", "session-removed", "a"),
        binding("08:20:00", "binding-removed", "a"),
        binding("08:30:00", "binding-removed", "b"),
        other("09:00:00"),
    ];
    assert_eq!(short(&ask(&records, "08:10:00")), "a");
    // Its beginning was within the records, and is lost.
    let lost = ask(&records, "08:25:00");
    assert_eq!(short(&lost), "?b");
    assert!(
        lost.reasons[0].contains("since when is not recorded"),
        "{lost:?}"
    );
}

#[test]
fn suppressed_bindings_make_an_answer_uncertain() {
    let with = |time: &str, count, bindings| {
        let mut records = history();
        records.insert(2, suppressed(time, count, bindings));
        records
    };
    // Sessions tell nobody's port.
    assert_eq!(short(&ask(&with("08:12:00", 40, 0), "08:15:00")), "a");
    let doubted = ask(&with("08:12:00", 40, 3), "08:15:00");
    assert_eq!(short(&doubted), "?a");
    assert!(
        doubted.reasons[0].starts_with("40 records were suppressed"),
        "{doubted:?}"
    );
    assert!(doubted.reasons[0].contains("3 of which"), "{doubted:?}");
    assert_eq!((doubted.missing.records, doubted.missing.bindings), (40, 3));
    // Before them it was certain.
    assert_eq!(short(&ask(&with("08:12:00", 40, 3), "08:11:00")), "a");
    // A session of the binding shows that it is still there.
    let mut records = with("08:12:00", 40, 3);
    records.insert(3, binding("08:13:00", "session-created", "a"));
    assert_eq!(short(&ask(&records, "08:15:00")), "a");
    assert_eq!(short(&ask(&records, "08:12:30")), "?a");
    // Where nobody is recorded, they are told.
    let nobody = ask(&with("08:05:00", 7, 7), "08:09:00");
    assert_eq!(short(&nobody), "?");
    assert!(nobody.reasons[1].starts_with("7 records"), "{nobody:?}");
}

/// ADR 12: sessions outlive the process, or the records say that they did not.
#[test]
fn a_start_with_empty_tables_ends_what_was_open() {
    let mut records = vec![
        other("08:00:00"),
        binding("08:10:00", "binding-created", "a"),
        json("08:30:00", "configuration-in-force", ",\"digest\":\"00\""),
        other("08:40:00"),
    ];
    assert_eq!(short(&ask(&records, "08:35:00")), "a");
    records[2] = json("08:30:00", "tables-empty", "");
    assert_eq!(short(&ask(&records, "08:35:00")), "?");
    // A process after it counts what it suppresses from 0.
    records.insert(1, suppressed("08:05:00", 5, 5));
    records.insert(3, json("08:30:00", "gateway-started", ",\"version\":\"1\""));
    records.insert(5, binding("08:31:00", "binding-created", "b"));
    records.insert(6, suppressed("08:32:00", 6, 6));
    assert_eq!(short(&ask(&records, "08:29:00")), "a");
    let after = ask(&records, "08:35:00");
    assert_eq!(short(&after), "?b");
    assert!(after.reasons[0].starts_with("6 records"), "{after:?}");
    let before = ask(&records, "08:29:00");
    assert_eq!(short(&before), "a");
    assert_eq!(before.uses[0].end_recorded, Some(false));
}

#[test]
fn a_port_block_is_a_subscribers_and_never_suppressed() {
    let records = [
        other("08:00:00"),
        block("08:10:01.500000", "port-block-allocated", "a"),
        suppressed("08:11:00", 99, 99),
        binding("08:12:00", "binding-created", "a:0:0:0:7"),
        block("08:20:00", "port-block-released", "a"),
        block("08:20:01.500000", "port-block-allocated", "b"),
        other("09:00:00"),
    ];
    for (at, who) in [
        // It is recorded up to two seconds late.
        ("08:10:00", "2001:db8:a::"),
        ("08:15:00", "2001:db8:a::"),
        ("08:20:00.900", "2001:db8:b::"),
        ("08:30:00", "2001:db8:b::"),
    ] {
        assert_eq!(short(&ask(&records, at)), who, "{at}");
    }
    let hosts: Vec<_> = ask(&records, "08:15:00")
        .uses
        .into_iter()
        .map(|usage| (usage.by, usage.inside_address.unwrap().to_string()))
        .collect();
    let expected = [
        ("port-block", "2001:db8:a::"),
        ("binding", "2001:db8::a:0:0:0:7"),
    ];
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    assert!(
        hosts.iter().any(|(by, host)| (*by, &**host) == expected[0]),
        "{hosts:?}"
    );
}

#[test]
fn a_protocol_that_is_not_known_may_be_any() {
    let mut records = history();
    records.push(binding("08:16:00", "binding-created", "c").replace("tcp", "udp"));
    records.push(other("09:00:00"));
    let mut question = question("08:17:00");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    fs::write(&path, records.concat()).unwrap();
    let ask = |question: &Question| answer(question, &[], std::slice::from_ref(&path)).unwrap();
    assert_eq!(short(&ask(&question)), "a");
    question.protocol = None;
    let both = ask(&question);
    assert_eq!(both.verdict, Verdict::Unknown);
    assert_eq!(both.subscribers.len(), 2);
    assert!(both.reasons[0].contains("--protocol"), "{both:?}");
}

/// The form of docs/running.md, as a server writes it, with messages of others between.
#[test]
fn syslog_messages_are_records() {
    let line = |time: &str, event: &str, rest: &str| {
        format!(
            "<134>1 2026-11-21T{time}Z gw isthmus 7 {event} \
             [isthmus@32473 gateway=\"ed\\\"ge\" instance=\"plat\"{rest}]\n"
        )
    };
    let ends = " protocol=\"tcp\" inside-address=\"2001:db8::a\" inside-port=\"40000\" \
                outside-address=\"203.0.113.5\" outside-port=\"4711\"";
    let records = [
        "<30>1 2026-11-21T08:00:00Z gw sshd 9 - - 203.0.113.5 port 4711\n".to_owned(),
        line("08:10:00.000000", "binding-created", ends),
        line(
            "08:11:00.000000",
            "records-suppressed",
            " count=\"5\" bindings=\"0\"",
        ),
        line("08:20:00.000000", "binding-removed", ends),
    ];
    let answer = ask(&records, "08:15:00");
    assert_eq!(short(&answer), "a");
    assert_eq!(answer.uses[0].gateway, "ed\"ge");
    assert_eq!(answer.missing.records, 5);
}

/// A line that cannot be read is told with file, line and value, and counts as a missing record. The last line may be
/// in the middle of being written.
#[test]
fn damaged_lines_are_told_and_make_uncertain() {
    let mut records = history();
    records.push(binding("09:00:01", "binding-removed", "b").replace("}\n", ""));
    let cut = ask(&records, "08:30:00");
    assert_eq!(
        (short(&cut).as_str(), cut.records.unwrap().damaged),
        ("b", 0)
    );
    for (wrong, says) in [
        (
            binding("08:15:00", "binding-created", "z").replace("40000", "70000"),
            "`inside-port`",
        ),
        (
            binding("08:15:00", "binding-created", "z").replace("2026-", ""),
            "`time`",
        ),
        (
            binding("08:15:00", "binding-created", "z").replace("tcp", "sctp"),
            "\"sctp\"",
        ),
        ("{\"time\":\"2026-11-\n".into(), "ends in its middle"),
        (
            format!("{{{}}}\n", "x".repeat(20_000)),
            "longer than any record",
        ),
    ] {
        let mut records = history();
        records.insert(2, wrong);
        let answer = ask(&records, "08:16:00");
        assert_eq!(short(&answer), "?a", "{answer:?}");
        let read = answer.records.unwrap();
        assert_eq!(read.damaged, 1);
        assert!(read.complaints[0].contains("records.jsonl:3: "), "{read:?}");
        assert!(read.complaints[0].contains(says), "{read:?}");
        // What was before is certain.
        let mut records = history();
        records.insert(3, "{\"time\":\"2026-11-\n".into());
        assert_eq!(short(&ask(&records, "08:16:00")), "a");
    }
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    fs::write(&path, "root:x:0:0\n").unwrap();
    let error = answer(&question("08:00:00"), &[], std::slice::from_ref(&path)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("records.jsonl:1: \"root:x:0:0\""),
        "{error}"
    );
    // All of it is damaged.
    fs::write(&path, "{\"time\":\n").unwrap();
    let error = answer(&question("08:00:00"), &[], std::slice::from_ref(&path)).unwrap_err();
    assert!(error.to_string().contains("records.jsonl:1: "), "{error}");
    let absent = folder.path().join("absent.jsonl");
    let error = answer(&question("08:00:00"), &[], &[absent]).unwrap_err();
    assert!(error.to_string().contains("absent.jsonl: "), "{error}");
}

/// Compresses a file as logrotate does.
fn compress(program: &str, path: &Path, ending: &str) {
    let input = fs::File::open(path).unwrap();
    let mut target = path.as_os_str().to_owned();
    target.push(ending);
    let made = Command::new(program)
        .arg("-c")
        .stdin(input)
        .stdout(fs::File::create(target).unwrap())
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    fs::remove_file(path).unwrap();
}

#[test]
fn rotated_and_compressed_files_are_read_in_order() {
    let programs = [("gzip", ".gz"), ("xz", ".xz"), ("zstd", ".zst")];
    for (program, ending) in programs {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: there is no {program} here");
            continue;
        }
        for names in [
            [
                "records.jsonl",
                "records.jsonl.1",
                "records.jsonl.2",
                "records.jsonl.10",
            ],
            [
                "records.jsonl",
                "records.jsonl-20261121",
                "records.jsonl-20261120",
                "records.jsonl-20261119",
            ],
            [
                "records.jsonl",
                "records.1.jsonl",
                "records.2.jsonl",
                "records.3.jsonl",
            ],
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            let history = history();
            fs::write(path(names[0]), history[4..].concat()).unwrap();
            fs::write(path(names[1]), &history[3]).unwrap();
            fs::write(path(names[2]), &history[2]).unwrap();
            fs::write(path(names[3]), history[..2].concat()).unwrap();
            fs::write(path("records.jsonl.bak"), "nothing\n").unwrap();
            compress(program, &path(names[2]), ending);
            compress(program, &path(names[3]), ending);
            let ask = |at| answer(&question(at), &[], &[path(names[0])]).unwrap();
            assert_eq!(short(&ask("08:15:00")), "a", "{program} {names:?}");
            assert_eq!(short(&ask("08:30:00")), "b", "{program} {names:?}");
            assert_eq!(ask("08:30:00").records.unwrap().files, 4);
            // Half a file of one that was compressed.
            let whole = path(&format!("{}{ending}", names[3]));
            let bytes = fs::read(&whole).unwrap();
            fs::write(&whole, &bytes[..bytes.len() - 12]).unwrap();
            let error = answer(&question("08:15:00"), &[], &[path(names[0])]).unwrap_err();
            assert!(error.to_string().contains(program), "{error}");
        }
    }
}

/// What is asked of a configuration.
fn by_configuration(text: &str, address: &str, port: u16, protocol: Option<Protocol>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edge.toml");
    fs::write(&path, text).unwrap();
    let loaded = config::load(&path).unwrap();
    let question = Question {
        address: address.parse().unwrap(),
        port,
        protocol,
        ..question("08:00:00")
    };
    short(&answer(&question, &[Configuration { path, loaded }], &[]).unwrap())
}

/// RFC 7422 section 2.1: blocks in ascending order, by the number of the subscriber.
#[test]
fn deterministic_ports_need_no_records() {
    let text = "[[instance]]\nname = \"plat\"\nmechanism = \"nat64\"\nprefix = \"64:ff9b::/96\"\n\
                inside = [\"2001:db8:f::/56\"]\nsubscriber-prefix = 64\n\
                pool = [{ addresses = \"203.0.113.0/29\", ports = \"1024-65535\" }]\n\
                deterministic = { inside = \"2001:db8:f::/56\", size = 1024 }\n\
                static = [{ protocol = \"tcp\", inside = \"[2001:db8:f:9::1]:80\", outside = \"203.0.113.0:2048\" }]\n";
    let ask = |address, port| by_configuration(text, address, port, Some(Protocol::Udp));
    // 63 blocks of an address.
    assert_eq!(ask("203.0.113.0", 1024), "2001:db8:f::/64");
    assert_eq!(ask("203.0.113.0", 2047), "2001:db8:f::/64");
    assert_eq!(ask("203.0.113.0", 2048), "2001:db8:f:1::/64");
    assert_eq!(ask("203.0.113.1", 1024), "2001:db8:f:3f::/64");
    assert_eq!(ask("203.0.113.0", 1023), "?");
    assert_eq!(ask("203.0.113.9", 1024), "?");
    let tcp = by_configuration(text, "203.0.113.0", 2048, Some(Protocol::Tcp));
    assert_eq!(tcp, "2001:db8:f:9::1");
    let any = by_configuration(text, "203.0.113.0", 2048, None);
    assert!(
        any.starts_with('?') && any.contains("f:9::1") && any.contains("f:1::/64"),
        "{any}"
    );
}

/// RFC 7597 appendix A, example 1: 192.0.2.18 with PSID 0x34 is 2001:db8:12:3400::/56.
#[test]
fn map_needs_no_records() {
    let rule = "rules = [{ v6 = \"2001:db8::/40\", v4 = \"192.0.2.0/24\", ea-bits = 16 }]\n";
    let head = "[[instance]]\nname = \"map\"\nrole = \"br\"\n";
    for mechanism in [
        "mechanism = \"map-t\"\nprefix = \"2001:db8:ffff::/64\"\n",
        "mechanism = \"map-e\"\nlocal = \"2001:db8:ffff::1\"\n",
    ] {
        let text = format!("{head}{mechanism}{rule}");
        let ask = |port| by_configuration(&text, "192.0.2.18", port, None);
        assert_eq!(ask(1232), "2001:db8:12:3400::/56");
        assert_eq!(ask(1235), "2001:db8:12:3400::/56");
        assert_eq!(ask(1236), "2001:db8:12:3500::/56");
        assert_eq!(ask(80), "?");
    }
}

fn with_digest(records: &[String], configurations: &[&str], at: &str) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let mut loaded = Vec::new();
    let mut text = records.concat();
    for (number, content) in configurations.iter().enumerate() {
        let path = folder.path().join(format!("{number}.toml"));
        fs::write(&path, format!("[gateway]\nname = \"edge\"\n{content}")).unwrap();
        let configuration = Configuration {
            loaded: config::load(&path).unwrap(),
            path,
        };
        text = text.replace(&format!("DIGEST{number}"), &configuration.loaded.digest());
        loaded.push(configuration);
    }
    let path = folder.path().join("records.jsonl");
    fs::File::create(&path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    answer(&question(at), &loaded, &[path]).unwrap()
}

#[test]
fn the_records_say_which_configuration_was_in_force() {
    let of = |inside: &str| {
        format!(
            "[[instance]]\nname = \"plat\"\nmechanism = \"nat44\"\ninside = [\"{inside}\"]\n\
             pool = [{{ addresses = \"203.0.113.5\", ports = \"1024-65535\" }}]\n\
             deterministic = {{ inside = \"{inside}\", size = 2048 }}\n"
        )
    };
    let (old, new) = (of("10.1.0.0/28"), of("10.2.0.0/28"));
    let turn = |time: &str, digest: &str| {
        json(
            time,
            "configuration-in-force",
            &format!(",\"digest\":\"{digest}\""),
        )
    };
    let records = [
        turn("08:00:00", "DIGEST0"),
        turn("08:30:00.500000", "DIGEST1"),
        turn("08:40:00", "DIGEST1"),
        other("09:00:00"),
    ];
    let both = |at| short(&with_digest(&records, &[&old, &new], at));
    assert_eq!(both("08:10:00"), "10.1.0.1");
    assert_eq!(both("08:50:00"), "10.2.0.1");
    assert_eq!(both("08:30:00"), "?10.1.0.1 10.2.0.1");
    // With the new one alone nothing can be said of the time before.
    let alone = |at| {
        let records: Vec<_> = records
            .iter()
            .map(|line| line.replace("DIGEST0", "old"))
            .collect();
        let records: Vec<_> = records
            .iter()
            .map(|line| line.replace("DIGEST1", "DIGEST0"))
            .collect();
        with_digest(&records, &[&new], at)
    };
    assert_eq!(short(&alone("08:50:00")), "10.2.0.1");
    let before = alone("08:10:00");
    assert_eq!(short(&before), "?");
    assert!(
        before
            .reasons
            .iter()
            .any(|reason| reason.contains("digest old")),
        "{before:?}"
    );
    let turning = alone("08:30:00");
    assert_eq!(short(&turning), "?10.2.0.1");
    assert!(
        turning.reasons[0].contains("two configurations"),
        "{turning:?}"
    );
}

/// A million lines are read with the memory of one.
#[test]
fn a_long_file_takes_no_more_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    file.write_all(history()[..2].concat().as_bytes()).unwrap();
    let line = other("08:15:00");
    for _ in 0..1_000_000 {
        file.write_all(line.as_bytes()).unwrap();
    }
    file.write_all(history()[2..].concat().as_bytes()).unwrap();
    file.into_inner().unwrap().sync_all().unwrap();
    let before = peak();
    let answer = answer(&question("08:18:00"), &[], std::slice::from_ref(&path)).unwrap();
    let grown = peak() - before;
    assert_eq!(short(&answer), "a");
    assert_eq!(answer.records.unwrap().lines, 1_000_005);
    println!("{grown} KiB");
    let size = fs::metadata(&path).unwrap().len() / 1024;
    assert!(grown < size / 20, "{grown} KiB for a file of {size} KiB");
}

/// The most memory that this process had so far, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
