//! The verdict on a running gateway: for people, for scripts, for load balancers and for Prometheus.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use isthmus_lab::network::process::{self, Process};

use crate::gateway::Gateway;
use crate::heal::soon;
use crate::net::text;
use crate::site::{PLAT, Site, both_links};

/// The output of `status --check`, and its exit status.
fn check(gateway: &Gateway) -> (String, Option<i32>) {
    let output = gateway.client("status --check");
    (text(&output).trim_end().to_owned(), output.status.code())
}

/// A site whose metrics are at port 9464 of the gateway, with a gateway; `None` if that cannot be.
fn watched(more: &str) -> Option<(Site, Gateway)> {
    if let Err(reason) = process::require("curl", "curl") {
        eprintln!("skipped: {reason}");
        return None;
    }
    let site = Site::new()?;
    site.configure_gateway("metrics = \"127.0.0.1:9464\"", more);
    site.net.ip("gateway", "link set lo up");
    let gateway = site.start();
    Some((site, gateway))
}

/// The status and the body of an answer of the gateway.
fn get(site: &Site, path: &str) -> (String, String) {
    let mut curl = site.net.command("gateway", "curl");
    let url = format!("http://127.0.0.1:9464{path}");
    curl.args(["-s", "-m", "5", "-w", "%{http_code}", &url]);
    let said = text(&curl.output().unwrap());
    let (body, status) = said.split_at(said.len() - 3);
    (status.to_owned(), body.to_owned())
}

/// The value of a metric without labels.
fn metric(site: &Site, name: &str) -> String {
    let (_, body) = get(site, "/metrics");
    let line = body
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("{name}: {body}"));
    line.rsplit_once(' ').unwrap().1.to_owned()
}

#[test]
fn a_link_that_is_gone_makes_a_gateway_ill_until_it_is_back() {
    let Some((site, gateway)) = watched(&format!("{}{PLAT}", both_links("tc", ""))) else {
        return;
    };
    assert_eq!(check(&gateway), ("healthy".to_owned(), Some(0)));
    assert_eq!(get(&site, "/readyz"), ("200".into(), "ready\n".into()));
    let human = text(&gateway.client("status"));
    assert!(human.ends_with("\nhealthy\n"), "{human}");

    site.net.ip("gateway", "link del toh");
    soon(&gateway, "the loss is seen", || {
        check(&gateway).1 == Some(2)
    });
    let (said, _) = check(&gateway);
    assert!(said.starts_with("ill: there is no link toh"), "{said}");
    let since = |said: &str| said.split_once("(since ").unwrap().1.to_owned();
    assert_eq!(said.lines().count(), 1, "{said}");
    let (status, body) = get(&site, "/readyz");
    assert_eq!(status, "503");
    assert!(body.contains("there is no link toh"), "{body}");
    assert_eq!(get(&site, "/healthz").0, "200");
    assert_eq!(metric(&site, "isthmus_ready"), "0");
    let human = text(&gateway.client("status"));
    assert!(
        human
            .trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with("ill: "),
        "{human}"
    );
    // It is the same trouble later.
    thread::sleep(Duration::from_secs(2));
    assert_eq!(since(&check(&gateway).0), since(&said));

    let host = site.net.name("host").to_owned();
    let made = format!("link add toh type veth peer name eth0 netns {host}");
    site.net.ip("gateway", &made);
    site.net.ip("gateway", "link set toh up");
    soon(&gateway, "all is well again", || {
        check(&gateway) == ("healthy".to_owned(), Some(0))
    });
    assert_eq!(get(&site, "/readyz").0, "200");
    assert!(gateway.stop().success());
}

#[test]
fn a_failed_reload_degrades_until_the_next_one_succeeds() {
    let Some((site, gateway)) = watched(PLAT) else {
        return;
    };
    let keys = "metrics = \"127.0.0.1:9464\"";
    assert_eq!(metric(&site, "isthmus_last_reload_successful"), "1");
    let first = metric(&site, "isthmus_last_reload_success_timestamp_seconds");
    site.configure_gateway(keys, &PLAT.replace("64:ff9b::/96", "64:ff9b::/95"));
    assert!(!gateway.client("reload").status.success());
    let (said, code) = check(&gateway);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.starts_with("degraded: the last reload failed: ") && said.contains("edge.toml:"),
        "{said}"
    );
    // It translates as configured.
    assert_eq!(get(&site, "/readyz").0, "200");
    for (name, value) in [
        ("isthmus_last_reload_successful", "0"),
        (
            "isthmus_last_reload_success_timestamp_seconds",
            first.as_str(),
        ),
        ("isthmus_failed_reloads_total", "1"),
        ("isthmus_healthy", "0"),
        ("isthmus_ready", "1"),
    ] {
        assert_eq!(metric(&site, name), value, "{name}");
    }
    soon(&gateway, "the file is seen to differ", || {
        metric(&site, "isthmus_configuration_differs") == "1"
    });

    site.configure_gateway(keys, &PLAT.replace("4096", "2048"));
    gateway.json("reload");
    assert_eq!(check(&gateway), ("healthy".to_owned(), Some(0)));
    assert_eq!(metric(&site, "isthmus_last_reload_successful"), "1");
    assert_eq!(metric(&site, "isthmus_configuration_differs"), "0");
    assert!(gateway.stop().success());
    // Who does not run cannot say how it is.
    let mut gone = Command::new(crate::gateway::ISTHMUS);
    gone.args(["status", "--check", "--socket"])
        .arg(site.path("edge.sock"));
    let output = gone.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

/// The process, the pools, and what Prometheus' own tool says of a real gateway's metrics.
#[test]
fn a_real_gateway_has_the_metrics_that_prometheus_likes() {
    let Some((site, gateway)) = watched(PLAT) else {
        return;
    };
    assert!(site.net.pings("64:ff9b::192.0.2.2"), "{}", gateway.log());
    let (_, body) = get(&site, "/metrics");
    for line in [
        "isthmus_pool_addresses{instance_name=\"plat\"} 16",
        "isthmus_pool_ports_limit{instance_name=\"plat\",protocol=\"tcp\"} 1032192",
        "isthmus_pool_ports_used{instance_name=\"plat\",protocol=\"udp\"} 0",
    ] {
        assert!(body.contains(line), "{line}: {body}");
    }
    assert!(!body.contains("{instance="), "{body}");
    let start = metric(&site, "process_start_time_seconds");
    assert!(start.parse::<f64>().unwrap() > 1e9, "{start}");
    assert_eq!(metric(&site, "process_start_time_seconds"), start);
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!("skipped: promtool is not installed (Debian: prometheus)");
        return;
    };
    let mut input = promtool.stdin.take().unwrap();
    input.write_all(body.as_bytes()).unwrap();
    drop(input);
    let judged = promtool.wait_with_output().unwrap();
    assert!(judged.status.success(), "{judged:?}");
    assert!(gateway.stop().success());
}

/// Starts Prometheus beside the gateway, with the rules of the packaging; `None` if it is not installed.
fn prometheus(site: &Site) -> Option<Process> {
    if let Err(reason) = process::require("prometheus", "prometheus") {
        eprintln!("skipped: {reason}");
        return None;
    }
    let rules = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/prometheus/isthmus.rules.yml"
    );
    let configuration = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{rules}]\nscrape_configs:\n\
         - job_name: isthmus\n  static_configs: [{{ targets: [\"127.0.0.1:9464\"] }}]\n"
    );
    let file = site.path("prometheus.yml");
    std::fs::write(&file, configuration).unwrap();
    let mut command = site.net.command("gateway", "prometheus");
    command
        .arg(format!("--config.file={}", file.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            site.path("prometheus").display()
        ))
        .arg("--web.listen-address=127.0.0.1:9090");
    let at = "127.0.0.1:9090".parse().unwrap();
    Some(site.net.server("gateway", &mut command, at))
}

/// The answer of Prometheus.
fn asked(site: &Site, path: &str) -> serde_json::Value {
    let mut curl = site.net.command("gateway", "curl");
    let url = format!("http://127.0.0.1:9090/api/v1/{path}");
    curl.args(["-s", "-g", "-m", "5", &url]);
    serde_json::from_slice(&curl.output().unwrap().stdout).unwrap_or_default()
}

/// Prometheus reads what the gateway tells, its labels stay as they are, and the rules hold.
#[test]
fn a_real_prometheus_watches_a_gateway() {
    let Some((site, gateway)) = watched(PLAT) else {
        return;
    };
    let Some(prometheus) = prometheus(&site) else {
        return;
    };
    let said = || std::fs::read_to_string(prometheus.log()).unwrap_or_default();
    let begun = Instant::now();
    let entries = loop {
        let answer = asked(&site, "query?query=isthmus_table_limit");
        let found = answer["data"]["result"][0]["metric"].clone();
        if found.is_object() {
            break found;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "{}", said());
        thread::sleep(Duration::from_millis(200));
    };
    assert_eq!(entries["instance"], "127.0.0.1:9464");
    assert_eq!(entries["instance_name"], "plat");
    assert_eq!(entries["exported_instance"], serde_json::Value::Null);
    let ready = asked(&site, "query?query=isthmus_ready");
    assert_eq!(ready["data"]["result"][0]["value"][1], "1", "{ready}");
    let rules = asked(&site, "rules");
    let rules = rules["data"]["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() >= 10, "{}", said());
    for rule in rules {
        assert_ne!(rule["health"], "err", "{rule}");
        assert_eq!(rule["state"], "inactive", "{rule}");
    }
    assert!(gateway.stop().success());
}
