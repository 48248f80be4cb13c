//! The dashboard and the alert rules of `packaging`, with a real Prometheus that asks a gateway with traffic.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::process::{self, Process};
use serde_json::Value;

use crate::net::text;
use crate::site::{PLAT, Site, both_links};

const PATIENCE: Duration = Duration::from_secs(60);
const SERVER: &str = "64:ff9b::192.0.2.2";
/// A name server behind which nobody answers.
const MORE: &str = r#"
[dns64]
listen = ["127.0.0.1:5353"]
upstream = ["127.0.0.1:9"]
prefixes = ["64:ff9b::/96"]
"#;

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging")
        .join(file)
}

/// Starts a Prometheus that asks the gateway each second, beside it.
fn prometheus(site: &Site) -> Process {
    let file = site.path("prometheus.yml");
    let rules = packaging("prometheus/isthmus.rules.yml").canonicalize();
    let text = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\n\
         rule_files: [{}]\n\
         scrape_configs:\n- job_name: isthmus\n  static_configs: [{{ targets: ['127.0.0.1:9464'] }}]\n",
        rules.unwrap().display()
    );
    fs::write(&file, text).unwrap();
    let mut command = site.net.command("gateway", "prometheus");
    command.arg(format!("--config.file={}", file.display()));
    command.arg(format!(
        "--storage.tsdb.path={}",
        site.path("tsdb").display()
    ));
    command.arg("--web.listen-address=127.0.0.1:9090");
    Process::start("prometheus", &mut command).unwrap()
}

/// Asks Prometheus, and returns the data of its answer; `None` while it does not answer.
fn ask(site: &Site, path: &str, query: &[(&str, &str)]) -> Option<Value> {
    let mut curl = site.net.command("gateway", "curl");
    curl.args(["-s", "-m", "5", "-G"]);
    for (key, value) in query {
        curl.arg("--data-urlencode").arg(format!("{key}={value}"));
    }
    let output = curl.arg(format!("http://127.0.0.1:9090/api/v1/{path}"));
    let answer: Value = serde_json::from_str(&text(&output.output().unwrap())).ok()?;
    assert_eq!(answer["status"], "success", "{query:?}: {answer}");
    Some(answer["data"].clone())
}

/// The values of a variable that Grafana would offer, as it puts all of them into an expression.
fn values(site: &Site, label: &str) -> Option<String> {
    let path = format!("label/{label}/values");
    let found = ask(site, &path, &[("match[]", "isthmus_build_info")])?;
    let found: Vec<_> = found.as_array()?.iter().filter_map(Value::as_str).collect();
    (!found.is_empty()).then(|| format!("({})", found.join("|")))
}

/// Packets that are translated, dropped and left to others, and a question that nobody answers.
fn traffic(site: &Site) {
    assert!(site.net.pings(SERVER));
    for (node, address) in [("host", "64:ff9b::127.0.0.1"), ("host", "2001:db8:1::1")] {
        let mut ping = site.net.command(node, "ping");
        let _ = ping.args(["-n", "-c", "1", "-W", "1", address]).output();
    }
    let mut dig = site.net.command("gateway", "dig");
    let _ = dig
        .args([
            "@127.0.0.1",
            "-p",
            "5353",
            "+time=1",
            "+tries=1",
            "AAAA",
            "example.org",
        ])
        .output();
}

/// The titles of panels that show nothing now, as Grafana asks for them.
fn empty_panels(site: &Site) -> Option<BTreeSet<String>> {
    let (job, instance) = (values(site, "job")?, values(site, "instance")?);
    let dashboard = fs::read_to_string(packaging("grafana/isthmus.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut empty = BTreeSet::new();
    for panel in dashboard["panels"].as_array()? {
        for target in panel["targets"].as_array()? {
            let expression = target["expr"].as_str()?;
            let expression = expression
                .replace("$job", &job)
                .replace("$instance", &instance)
                .replace("$__rate_interval", "20s");
            assert!(!expression.contains('$'), "{expression}");
            let found = ask(site, "query", &[("query", &expression)])?;
            if found["result"].as_array()?.is_empty() {
                empty.insert(panel["title"].as_str()?.to_owned());
            }
        }
    }
    Some(empty)
}

#[test]
fn every_panel_shows_something_of_a_gateway_with_traffic() {
    for (tool, package) in [
        ("prometheus", "prometheus"),
        ("curl", "curl"),
        ("dig", "bind9-dnsutils"),
    ] {
        if let Err(reason) = process::require(tool, package) {
            eprintln!("skipped: {reason}");
            return;
        }
    }
    let Some(site) = Site::new() else {
        return;
    };
    let records = format!(
        "[records]\njson = \"{}\"\n",
        site.path("records.json").display()
    );
    let more = format!("{}{PLAT}{MORE}{records}", both_links("tc", ""));
    site.configure_gateway("metrics = \"127.0.0.1:9464\"", &more);
    site.net.ip("gateway", "link set lo up");
    let _gateway = site.start();
    let _prometheus = prometheus(&site);
    let until = Instant::now() + PATIENCE;
    let mut empty = None;
    while empty != Some(BTreeSet::new()) {
        assert!(Instant::now() < until, "panels without anything: {empty:?}");
        traffic(&site);
        thread::sleep(Duration::from_secs(1));
        empty = empty_panels(&site);
    }
    let groups = ask(&site, "rules", &[]).unwrap();
    let rules = groups["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() >= 5, "{groups}");
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
    let down = rules
        .iter()
        .find(|rule| rule["name"] == "IsthmusDown")
        .unwrap();
    assert_eq!(down["state"], "inactive", "{down}");
}
