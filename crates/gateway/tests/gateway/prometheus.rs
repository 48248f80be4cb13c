//! The metrics, the alert rules and the dashboard, judged by Prometheus' own tool; and whether the metrics that rules
//! and dashboard name are those of the gateway.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use isthmus_gateway::health::Verdict;

use super::openmetrics::{Fixed, ask};

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging")
        .join(file)
}

/// Runs promtool, which must be content and find nothing. Says so if it is not installed.
fn promtool(arguments: &[&str], input: &str) {
    let mut command = Command::new("promtool");
    let child = command
        .args(arguments)
        .current_dir(packaging("prometheus"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: promtool is not installed (Debian: prometheus)");
        return;
    };
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
}

/// It looks for names, units, help texts and types as its users expect them.
#[tokio::test(flavor = "multi_thread")]
async fn promtool_finds_nothing_in_the_metrics() {
    let (_, text) = ask(Fixed(Verdict::Ill), "GET /metrics", "text/plain").await;
    promtool(&["check", "metrics"], &text);
}

#[test]
fn promtool_finds_nothing_in_the_rules() {
    promtool(&["check", "rules", "isthmus.rules.yml"], "");
}

#[test]
fn the_rules_alert_when_they_should_and_not_before() {
    promtool(&["test", "rules", "isthmus.rules-test.yml"], "");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_and_dashboard_name_metrics_that_there_are() {
    let (_, text) = ask(Fixed(Verdict::Healthy), "GET /metrics", "text/plain").await;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let there: BTreeSet<&str> = samples
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect();
    for file in [
        "prometheus/isthmus.rules.yml",
        "prometheus/isthmus.rules-test.yml",
        "grafana/isthmus.json",
    ] {
        let text = fs::read_to_string(packaging(file)).unwrap();
        let named = metrics_in(&text);
        assert!(named.len() >= 10, "{file}: {named:?}");
        let unknown: Vec<_> = named.difference(&there).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

/// The words that are names of metrics: ours, and those of any process.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c))
        .filter(|word| word.starts_with("isthmus_") || word.starts_with("process_"))
        .collect()
}

#[test]
fn the_dashboard_asks_for_something_in_every_panel() {
    let text = fs::read_to_string(packaging("grafana/isthmus.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 10);
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        let asks = |target: &serde_json::Value| {
            target["expr"]
                .as_str()
                .is_some_and(|it| !metrics_in(it).is_empty())
        };
        assert!(!targets.is_empty() && targets.iter().all(asks), "{panel}");
    }
}
