//! The metrics over HTTP, judged by the grammar of the OpenMetrics text format and, where it is
//! installed, by the parser of Prometheus' own Python client.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;

use isthmus_gateway::control::{
    CounterRow, InForceStatus, InstanceStatus, Outcome, PoolStatus, RecordsStatus, ReloadStatus,
    Status, TableStatus,
};
use isthmus_gateway::health::{Health, Reason, Verdict};
use isthmus_gateway::metrics::{Endpoint, Sample, Source};

fn instance() -> InstanceStatus {
    InstanceStatus {
        name: "plat".into(),
        tables: vec![TableStatus {
            table: "sessions".into(),
            used: 5,
            limit: 100,
            refused: 7,
        }],
        pool: Some(PoolStatus {
            addresses: 2,
            ports: 128_000,
            tcp: 30,
            udp: 40,
        }),
        ..InstanceStatus::default()
    }
}

/// A gateway with names that need every kind of escape, and with every family.
pub(crate) struct Fixed(pub(crate) Verdict);

const ODD: &str = "a \"b\" \\ c";

impl Source for Fixed {
    fn sample(&self) -> Sample {
        let row = |instance: &str, counter: &str, kind: &str, value| CounterRow {
            instance: instance.into(),
            engine: "user".into(),
            counter: counter.into(),
            kind: kind.into(),
            value,
        };
        Sample {
            status: Status {
                name: ODD.into(),
                version: "1.2.3".into(),
                process: 1,
                uptime: 60,
                configuration: "edge.toml".into(),
                in_force: InForceStatus {
                    differs: true,
                    ..InForceStatus::default()
                },
                reloads: 2,
                failed_reloads: 1,
                last_reload: Some(ReloadStatus {
                    time: "2026-11-23T05:00:00Z".into(),
                    outcome: Outcome::Failed,
                    error: Some("there is no such file".into()),
                }),
                troubles: vec!["there is no link eth0".into()],
                ephemeral: None,
                engines: Vec::new(),
                instances: vec![instance()],
                announcements: Vec::new(),
                dns64: Vec::new(),
                proxy: Vec::new(),
                records: RecordsStatus {
                    written: 3,
                    suppressed: 4,
                },
                health: self.health(),
            },
            counters: vec![
                row("plat", "translated-6to4", "forwarded", u64::MAX),
                row("", "not-ours", "passed", 1),
                row("plat", "truncated", "dropped", 7),
                row(ODD, "session-created", "event", 9),
            ],
            dns64: vec![("synthesized", "Answers made.", 11)],
            proxy: vec![("tunnel-connect", "Tunnels.", 13)],
            configured: "2026-11-23T05:00:00Z".parse().unwrap(),
        }
    }

    fn health(&self) -> Health {
        let wrong = |verdict, what: &str| Reason {
            verdict,
            what: what.into(),
            since: "2026-11-23T05:00:00Z".into(),
        };
        let reasons = [
            wrong(Verdict::Degraded, "the last reload failed"),
            wrong(Verdict::Ill, "there is no link eth0"),
        ];
        let told = reasons.into_iter().filter(|it| it.verdict <= self.0);
        Health {
            verdict: self.0,
            reasons: told.collect(),
        }
    }
}

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0";

/// The head and the body of an answer of a healthy gateway.
async fn request(line: &'static str, accept: &'static str) -> (String, String) {
    ask(Fixed(Verdict::Healthy), line, accept).await
}

/// The same of any.
pub(crate) async fn ask(
    gateway: Fixed,
    line: &'static str,
    accept: &'static str,
) -> (String, String) {
    let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let address: SocketAddr = endpoint.address().unwrap();
    let server = tokio::spawn(endpoint.serve(Arc::new(gateway)));
    let text = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: gateway\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    })
    .await
    .unwrap();
    server.abort();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_format_is_openmetrics_1_0() {
    let (head, body) = request("GET /metrics", OPENMETRICS).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(
        head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
    let samples = parse(&body);
    let value = |sample: &str| samples.get(sample).map(String::as_str);
    for (name, expected) in [
        (
            r#"isthmus_packets_forwarded_total{instance_name="plat",engine="user",counter="translated-6to4"}"#,
            "18446744073709551615",
        ),
        (
            r#"isthmus_packets_dropped_total{instance_name="plat",engine="user",counter="truncated"}"#,
            "7",
        ),
        (
            r#"isthmus_table_entries{instance_name="plat",table="sessions"}"#,
            "5",
        ),
        (r#"isthmus_records_total{outcome="suppressed"}"#, "4"),
        (r#"isthmus_dns64_events_total{counter="synthesized"}"#, "11"),
        (
            r#"isthmus_proxy_events_total{counter="tunnel-connect"}"#,
            "13",
        ),
        ("isthmus_uptime_seconds", "60"),
        ("isthmus_reloads_total", "2"),
        ("isthmus_failed_reloads_total", "1"),
        ("isthmus_last_reload_successful", "0"),
        (
            "isthmus_last_reload_success_timestamp_seconds",
            "1795410000",
        ),
        ("isthmus_configuration_differs", "1"),
        ("isthmus_configuration_unconfirmed", "0"),
        ("isthmus_ready", "1"),
        ("isthmus_healthy", "1"),
        (r#"isthmus_pool_addresses{instance_name="plat"}"#, "2"),
        (
            r#"isthmus_pool_ports_used{instance_name="plat",protocol="udp"}"#,
            "40",
        ),
        (
            r#"isthmus_pool_ports_limit{instance_name="plat",protocol="tcp"}"#,
            "128000",
        ),
    ] {
        assert_eq!(value(name), Some(expected), "{name}");
    }
    assert!(value("process_start_time_seconds").is_some(), "{body}");
    let reserved = samples
        .keys()
        .find(|name| name.contains("{instance=\"") || name.contains(",instance=\""));
    assert_eq!(reserved, None, "Prometheus has a label of this name");
    assert!(body.contains(r#"gateway="a \"b\" \\ c""#), "{body}");
    python(&body);
}

/// The format that everybody reads is that of whoever asks for none by its name.
#[tokio::test(flavor = "multi_thread")]
async fn the_older_format_is_for_all_others() {
    let (head, body) = request("GET /metrics", "*/*").await;
    assert!(
        head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    assert!(head.contains("vary: accept"), "{head}");
    assert!(!body.contains("# EOF"), "{body}");
    assert!(
        body.contains("# TYPE isthmus_reloads_total counter\n"),
        "{body}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_tell_life_and_readiness() {
    for (verdict, status, said) in [
        (Verdict::Healthy, 200, "ready\n"),
        // It translates.
        (Verdict::Degraded, 200, "ready\n"),
        (
            Verdict::Ill,
            503,
            "the last reload failed (since 2026-11-23T05:00:00Z)\n\
             there is no link eth0 (since 2026-11-23T05:00:00Z)\n",
        ),
    ] {
        let (head, body) = ask(Fixed(verdict), "GET /readyz", "*/*").await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
        assert_eq!(body, said);
        let (head, body) = ask(Fixed(verdict), "GET /healthz", "*/*").await;
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert_eq!(body, "alive\n");
    }
    let (head, _) = request("DELETE /readyz", "*/*").await;
    assert!(head.starts_with("http/1.1 405"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_requests_are_refused() {
    let (head, _) = request("GET /", "*/*").await;
    assert!(head.starts_with("http/1.1 404"), "{head}");
    let (head, _) = request("POST /metrics", "*/*").await;
    assert!(head.starts_with("http/1.1 405"), "{head}");
    assert!(head.contains("allow: get, head"), "{head}");
    let (head, body) = request("HEAD /metrics", "*/*").await;
    assert!(
        head.starts_with("http/1.1 200") && body.is_empty(),
        "{head}"
    );
}

/// Connections that ask and do not read, or do not even ask, keep nobody out.
#[tokio::test(flavor = "multi_thread")]
async fn unread_connections_do_not_block_the_endpoint() {
    let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let address: SocketAddr = endpoint.address().unwrap();
    let server = tokio::spawn(endpoint.serve(Arc::new(Fixed(Verdict::Healthy))));
    let scraped = tokio::task::spawn_blocking(move || {
        let mut held: Vec<TcpStream> = Vec::new();
        for n in 0..64 {
            let mut stream = TcpStream::connect(address).unwrap();
            if n % 2 == 0 {
                // Never read.
                let _ = stream.write_all(&b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(500));
            }
            held.push(stream);
        }
        let mut victim = TcpStream::connect(address).unwrap();
        victim
            .set_read_timeout(Some(std::time::Duration::from_secs(5)))
            .unwrap();
        victim
            .write_all(
                b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: application/openmetrics-text\r\n\r\n",
            )
            .unwrap();
        let mut text = String::new();
        victim.read_to_string(&mut text).map(|_| text)
    });
    let text = scraped.await.unwrap().expect("an answer in time");
    server.abort();
    assert!(
        text.starts_with("HTTP/1.1 200") && text.ends_with("# EOF\n"),
        "{text}"
    );
}

/// Reads an exposition by the grammar and the rules of the standard's "Text format" section, and
/// panics at the first breach. Samples by name and labels.
fn parse(text: &str) -> BTreeMap<String, String> {
    let body = text.strip_suffix("# EOF\n").expect("ends in # EOF");
    let mut samples = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut family: Option<(String, String)> = None;
    for line in body.lines() {
        assert!(!line.is_empty() && line == line.trim_end(), "{line:?}");
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect(line);
            assert!(["counter", "gauge", "info"].contains(&kind), "{line}");
            assert!(
                !name.ends_with("_total") && !name.ends_with("_info"),
                "{line}"
            );
            family = Some((name.into(), kind.into()));
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect(line);
            assert!(seen.insert(name.to_owned()), "{name} is not in one piece");
            assert!(!help.is_empty() && !help.contains('"'), "{line}");
        } else {
            assert!(!line.starts_with('#'), "{line}");
            let (family, kind) = family.as_ref().expect("a sample needs a type before it");
            let (name, value) = sample(line);
            let suffix = match kind.as_str() {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            let bare = name.split('{').next().unwrap();
            assert_eq!(bare, format!("{family}{suffix}"), "{line}");
            assert!(
                value.parse::<f64>().is_ok_and(|number| number >= 0.0),
                "{line}"
            );
            if kind == "info" {
                assert_eq!(value, "1", "{line}");
            }
            assert!(samples.insert(name, value).is_none(), "twice: {line}");
        }
    }
    samples
}

/// Splits a sample into its name with labels and its value, checking names and escapes.
fn sample(line: &str) -> (String, String) {
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let Some((name, rest)) = line.split_once('{') else {
        let (name, value) = line.split_once(' ').expect(line);
        assert!(is_name(name), "{line}");
        return (name.into(), value.into());
    };
    assert!(is_name(name), "{line}");
    let mut rest = rest;
    let mut labels = BTreeSet::new();
    loop {
        let (label, after) = rest.split_once("=\"").expect(line);
        assert!(is_name(label) && labels.insert(label.to_owned()), "{line}");
        let mut end = None;
        let mut bytes = after.bytes().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    end = Some(at);
                    break;
                }
                b'\\' => {
                    let (_, escaped) = bytes.next().expect(line);
                    assert!(matches!(escaped, b'\\' | b'"' | b'n'), "{line}");
                }
                _ => {}
            }
        }
        rest = &after[end.expect(line) + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    let value = rest.strip_prefix("} ").expect(line);
    let name = &line[..line.len() - value.len() - 1];
    (name.into(), value.into())
}

/// Debian's: another one that comes first in the path does not see Debian's packages.
const PYTHON: &str = "/usr/bin/python3";

/// The judgement of the Python client's OpenMetrics parser.
fn python(text: &str) {
    const JUDGE: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
families = list(parse(sys.stdin.read()))
assert len(families) > 8, families
";
    let available = Command::new(PYTHON)
        .args(["-c", "import prometheus_client"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !available {
        eprintln!(
            "skipped: {PYTHON} has no prometheus_client (Debian: python3-prometheus-client); the grammar was checked"
        );
        return;
    }
    let mut judge = Command::new(PYTHON)
        .args(["-c", JUDGE])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = judge.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    assert!(judge.wait().unwrap().success());
}
