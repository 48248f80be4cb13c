//! The laboratory's commands that need no network, run as `isthmus lab` runs them.

#[path = "../../isthmus/tests/command/mod.rs"]
mod command;

use std::path::Path;
use std::process::Command;

use command::{bash, failure, run, stdout, text};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_isthmus-lab");

#[test]
fn every_command_has_help() {
    for command in [
        "demo",
        "advise",
        "attack",
        "bench",
        "bound",
        "exact",
        "references",
        "run",
        "experiments",
        "subjects",
        "world",
        "tester",
        "report",
        "diff",
        "claims",
        "clean",
    ] {
        let usage = format!("Usage: isthmus lab {command}");
        assert!(stdout(&[command, "--help"]).contains(&usage), "{command}");
        // What `isthmus help lab COMMAND` asks.
        assert!(stdout(&["help", command]).contains(&usage), "{command}");
    }
    let version = stdout(&["--version"]);
    assert_eq!(
        version,
        format!("isthmus-lab {}", env!("CARGO_PKG_VERSION"))
    );
    assert!(failure(&[], 2).contains("Usage: isthmus lab <COMMAND>"));
}

/// A row that is not there is refused before anything is built, with those that are.
#[test]
fn lab_names_the_rows_that_there_are() {
    let error = failure(&["bench", "--rows", "siit-4to6-xdp,nat46"], 2);
    for part in ["'nat46'", "--rows", "siit-6to4-xdp", "dns64-qps"] {
        assert!(error.contains(part), "{error}");
    }
    let error = failure(&["world", "--engine", "vpp"], 2);
    assert!(error.contains("xdp, tc, user"), "{error}");
}

/// The directory of a run with one experiment, in which packets take this long, each time a little longer.
fn made_up_run(place: &Path, id: &str, seconds: f64) {
    use isthmus_lab::figures::results::{
        Directory, Environment, Evidence, ExperimentInfo, FORMAT, Outcome, Planned, Point,
        Quantity, Rules, Run, SubjectInfo, Trial,
    };
    let planned = |repetition| Planned {
        experiment: "paper-004/round-trip".into(),
        subject: "native-ipv4".into(),
        repetition,
    };
    let text = String::from("made up");
    let run = Run {
        format: FORMAT,
        id: id.into(),
        begun: text.clone(),
        profile: text.clone(),
        command: text.clone(),
        environment: Environment {
            cpu: text.clone(),
            cores: 1,
            memory_mib: 1,
            kernel: text.clone(),
            isthmus: text.clone(),
            program: text.clone(),
        },
        experiments: vec![ExperimentInfo {
            name: "paper-004/round-trip".into(),
            title: text.clone(),
            source: text.clone(),
            quantity: Quantity::RoundTrip,
            over: None,
            network: text.clone(),
            method: text.clone(),
            command: text.clone(),
        }],
        subjects: vec![SubjectInfo {
            name: "native-ipv4".into(),
            mechanism: "native IPv4".into(),
            implementation: text.clone(),
            engine: text,
            missing: None,
        }],
        rules: Rules::default(),
        networks: vec![],
        plan: (0..8).map(planned).collect(),
    };
    let mut directory = Directory::begin(place, run).unwrap();
    for repetition in 0..8 {
        let value = seconds * (1.0 + f64::from(repetition) / 1000.0);
        let trial = Trial {
            run: id.into(),
            planned: planned(repetition),
            seconds: 0.0,
            outcome: Outcome::Measured(vec![Point::new("both", 0.0, value)]),
            gaps: vec![],
            evidence: Evidence::default(),
        };
        directory.keep(repetition as usize, trial).unwrap();
    }
}

#[test]
fn a_run_is_reported_judged_and_compared() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (slow, fast, page) = (path("slow"), path("fast"), path("page"));
    made_up_run(Path::new(&slow), "slow", 2e-3);
    made_up_run(Path::new(&fast), "fast", 1e-3);

    let written = stdout(&["report", &slow, "--output", &page]);
    assert!(
        written.starts_with(&format!("{page}/index.html")),
        "{written}"
    );
    let html = std::fs::read_to_string(format!("{page}/index.html")).unwrap();
    assert!(html.contains("native-ipv4"));
    assert!(Path::new(&format!("{page}/csv/paper-004/round-trip.csv")).is_file());

    let claims = stdout(&["claims", &slow]);
    assert_eq!(claims.matches("not asked here").count(), 14);
    assert!(
        claims.contains("native ipv6 in paper-004/round-trip"),
        "{claims}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["claims", &slow, "--json"])).unwrap();
    assert_eq!(json[0]["verdict"], "not-asked");

    assert!(stdout(&["diff", &slow, &slow]).contains("0 worse, 0 better, 1 without"));
    assert!(stdout(&["diff", &slow, &fast]).contains("0 worse, 1 better"));
    let worse = run(&["diff", &fast, &slow]);
    assert_eq!(worse.status.code(), Some(2));
    assert!(
        text(&worse.stdout).contains("ratio 2.0"),
        "{}",
        text(&worse.stdout)
    );
    let json = run(&["diff", &fast, &slow, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text(&json.stdout)).unwrap();
    assert_eq!(json["points"][0]["change"], "worse");
    assert_eq!(json["points"][0]["estimate"]["by"], "ratio");

    let error = failure(&["report", &path("nowhere")], 1);
    assert!(error.contains("run.json"), "{error}");
    std::fs::write(format!("{slow}/trials/0003.json"), "{").unwrap();
    let error = failure(&["diff", &fast, &slow], 1);
    assert!(
        error.contains("0003.json") && error.contains("line 1"),
        "{error}"
    );
}

/// The largest unfragmented datagrams and the next ones, worked out by hand: 1472 + 28 + 38 bytes of
/// Ethernet at 10 Mb/s in two links, and 1472 of 1538 bytes.
#[test]
fn lab_bound_prints_tables() {
    let table = stdout(&[
        "bound",
        "--payloads",
        "1472,50",
        "--mechanism",
        "native-ipv4",
    ]);
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "bytes  native-ipv4",
            "1472       9.5709",
            "50       4.3103",
            "in Mb/s",
            "",
            "native-ipv4  IPv4: host – router – host"
        ]
    );
    let all = stdout(&["bound"]);
    for name in [
        "isatap",
        "6to4-1280",
        "6rd",
        "nat64-4to6",
        "xlat",
        "4in6-outer",
    ] {
        assert!(all.lines().next().unwrap().contains(name), "{name}");
    }
    let rows = all.lines().take_while(|line| *line != "in Mb/s").count();
    assert_eq!(rows, 1 + 18, "the papers' 18 sizes");

    let arguments = "bound --json --what delay --transport tcp --payloads 1000 --rate 100M";
    let json = stdout(&arguments.split(' ').collect::<Vec<_>>());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rate"], 100_000_000);
    assert_eq!(json["unit"], "s");
    assert_eq!(
        (&json["what"], &json["transport"]),
        (&"delay".into(), &"tcp".into())
    );
    let native = json["mechanisms"].as_array().unwrap();
    let native = native
        .iter()
        .position(|m| m["name"] == "native-ipv4")
        .unwrap();
    let seconds = json["rows"][0]["values"][native].as_f64().unwrap();
    assert!((seconds - 170.56e-6).abs() < 1e-12, "{seconds}");

    let frames = stdout(&["bound", "--what", "frames", "--mechanism", "6to4"]);
    let first = frames.lines().nth(1).unwrap();
    assert_eq!(
        first.split_whitespace().collect::<Vec<_>>(),
        ["64", "12019"]
    );
}

/// Every refusal names the option, the value, and what would be right.
#[test]
fn lab_bound_says_what_would_be_right() {
    for (option, value, right) in [
        ("--rate", "10X", "10M, 2.5G"),
        ("--rate", "0", "1 to 1000G"),
        ("--mtu", "1279", "1280 to 65535"),
        ("--mtu", "big", "1280 to 65535"),
        ("--payloads", "50,0", "1 to 65507"),
        ("--payloads", "65508", "1 to 65507"),
        ("--mechanism", "teredo", "nat64-4to6"),
        ("--transport", "sctp", "udp, tcp"),
        ("--what", "jitter", "ping-pong"),
    ] {
        let error = failure(&["bound", option, value], 2);
        let wrong = value.split(',').next_back().unwrap();
        for part in [option, &format!("'{wrong}'"), right] {
            assert!(error.contains(part), "{error}");
        }
    }
    let error = failure(&["bound", "--what", "frames", "--payloads", "64"], 1);
    assert!(
        error.contains("--payloads") && error.contains("--what frames"),
        "{error}"
    );
}

/// The shell takes the script of both programs, and completes a value that only the laboratory knows.
#[test]
fn completions_are_a_script_that_the_shell_takes() {
    let script = stdout(&["completions", "bash"]);
    let question = "COMP_WORDS=(isthmus lab world --engine t); COMP_CWORD=4; \
                    _isthmus isthmus t --engine; echo \"${COMPREPLY[@]}\"";
    assert_eq!(bash(&script, question), "tc");
}

/// Output that `| head` leaves unread ends the program as SIGPIPE would, without a word.
#[test]
fn a_reader_that_leaves_is_no_reason_to_complain() {
    for arguments in [&["experiments"][..], &["completions", "zsh"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = Command::new(PROGRAM);
        child.args(arguments).stdout(writer);
        child.stderr(std::process::Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(141), "{arguments:?}");
    }
}

#[test]
fn an_attack_in_no_engine_is_an_error() {
    let said = failure(&["attack", "last-fragments", "--engine", "user"], 1);
    assert!(said.contains("no engine that was asked for"), "{said}");
}
