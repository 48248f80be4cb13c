//! The control socket as other programs use it: curl, by the commands of docs/control.md, and members of the group that
//! may only read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use isthmus_lab::network::process;
use serde_json::Value;

use crate::gateway::{Gateway, ISTHMUS};
use crate::net::text;
use crate::site::{PLAT, Site};

const SERVER: &str = "64:ff9b::192.0.2.2";
/// A group that Debian has, and a user who may nothing.
const GROUP: &str = "nogroup";
const NOBODY: &str = "65534";

/// A site with a gateway and a session; `None` if that cannot be.
fn talkative(keys: &str) -> Option<(Site, Gateway)> {
    if let Err(reason) = process::require("curl", "curl") {
        eprintln!("skipped: {reason}");
        return None;
    }
    let site = Site::new()?;
    site.configure_gateway(keys, PLAT);
    let gateway = site.start();
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    Some((site, gateway))
}

/// The commands of the page, in its order.
fn commands() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/control.md");
    let page = fs::read_to_string(page).unwrap();
    let lines = page.lines().filter(|line| line.starts_with("curl "));
    lines.map(str::to_owned).collect()
}

fn lines(output: &Output) -> Vec<Value> {
    let lines = text(output);
    lines
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {lines}")))
        .collect()
}

/// The status of an answer, and its line.
fn ask(socket: &Path, arguments: &[&str], path: &str) -> (String, Value) {
    let mut curl = Command::new("curl");
    curl.args([
        "-s",
        "-g",
        "-m",
        "10",
        "-w",
        "%{http_code}",
        "--unix-socket",
    ]);
    let output = curl
        .arg(socket)
        .args(arguments)
        .arg(format!("http://isthmus{path}"));
    let said = text(&output.output().unwrap());
    let (line, status) = said.split_at(said.len() - 3);
    (status.to_owned(), serde_json::from_str(line).unwrap())
}

#[test]
fn the_commands_of_the_documentation_work() {
    let Some((site, gateway)) = talkative("") else {
        return;
    };
    let socket = site.path("edge.sock");
    let here = socket.to_str().unwrap();
    let answers: Vec<_> = commands()
        .iter()
        .map(|command| {
            let command = command.replace("/run/isthmus/edge.sock", here);
            let command = command.replace("curl ", "curl -s -m 10 -w '\n' ");
            let output = Command::new("sh").args(["-c", &command]).output().unwrap();
            lines(&output)
        })
        .collect();
    let [status, count, sessions, counters, top, dry, deleted] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!(status[0]["status"]["name"], "edge");
    assert_eq!(count[0]["end"]["matched"], 0, "a ping is not TCP");
    assert_eq!(sessions[0]["session"]["protocol"], "icmp");
    assert_eq!(sessions[1]["end"]["listed"], 1);
    assert!(counters[0]["counters"].is_array());
    assert_eq!(top[0]["top"]["rows"][0]["sessions"], 1);
    assert!(dry[0]["differences"].is_object(), "{dry:?}");
    assert_eq!(deleted[0]["deleted"], 1);
    assert_eq!(gateway.sessions(), 0);

    // What is no request, and what cannot be done now.
    let (status, line) = ask(&socket, &[], "/v1/stat");
    assert_eq!(status, "404");
    assert!(
        line["error"].as_str().unwrap().contains("/v1/status"),
        "{line}"
    );
    assert_eq!(ask(&socket, &["-X", "PUT"], "/v1/status").0, "405");
    assert_eq!(ask(&socket, &["-X", "DELETE"], "/v1/sessions").0, "400");
    let (status, line) = ask(&socket, &["-X", "POST"], "/v1/confirm");
    assert_eq!(status, "409", "{line}");
    site.configure("nonsense = 1");
    assert_eq!(ask(&socket, &["-X", "POST"], "/v1/reload").0, "409");
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    let followed = Command::new("curl")
        .args([
            "-s",
            "-m",
            "2",
            "--unix-socket",
            here,
            "http://isthmus/v1/events",
        ])
        .spawn();
    let mut followed = followed.unwrap();
    assert!(site.net.pings(SERVER));
    // Who follows and goes away does no harm.
    followed.kill().unwrap();
    followed.wait().unwrap();
    assert!(gateway.stop().success());
}

#[test]
fn a_group_reads_and_changes_nothing() {
    let keys = format!("view-group = \"{GROUP}\"");
    let Some((site, gateway)) = talkative(&keys) else {
        return;
    };
    let folder = site.path("");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |groups: &[&str], program: &str, arguments: &[&str]| {
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--reuid", NOBODY, "--regid"]).args(groups);
        setpriv.arg(program).args(arguments).output().unwrap()
    };
    // A member by its own group, and by one more; and a stranger.
    let (member, other_member) = (&[NOBODY, "--clear-groups"], &["1", "--groups", NOBODY]);
    let stranger = &["1", "--clear-groups"];
    let (full, view) = (site.path("edge.sock"), site.path("edge.view.sock"));
    let (full, view) = (full.to_str().unwrap(), view.to_str().unwrap());
    let curl = |groups: &[&str], socket, method, path: &str| {
        let url = format!("http://isthmus{path}");
        let ask = [
            "-s",
            "-m",
            "10",
            "-X",
            method,
            "--unix-socket",
            socket,
            &url,
        ];
        run(groups, "curl", &ask)
    };
    assert!(!curl(member, full, "GET", "/v1/status").status.success());
    let refused = lines(&curl(stranger, view, "GET", "/v1/status"));
    assert!(
        refused[0]["error"].as_str().unwrap().contains("members"),
        "{refused:?}"
    );
    for groups in [&member[..], other_member] {
        let status = lines(&curl(groups, view, "GET", "/v1/status"));
        assert_eq!(status[0]["status"]["name"], "edge");
    }
    for (method, path, why) in [
        ("POST", "/v1/reload", "only read"),
        ("POST", "/v1/rollback", "only read"),
        ("DELETE", "/v1/sessions?protocol=icmp", "only read"),
        ("GET", "/v1/trace", "sees packets"),
    ] {
        let said = lines(&curl(member, view, method, path));
        assert!(said[0]["error"].as_str().unwrap().contains(why), "{said:?}");
    }
    assert_eq!(gateway.sessions(), 1);

    // The command line takes the socket that it may use.
    let cli = |arguments: &[&str]| run(member, ISTHMUS, &[arguments, &["--socket", full]].concat());
    let status = cli(&["status", "--json"]);
    assert!(status.status.success(), "{status:?}");
    let count = cli(&["sessions", "--count"]);
    assert_eq!(text(&count).trim(), "1", "{count:?}");
    let reload = cli(&["reload"]);
    assert!(!reload.status.success());
    let said = String::from_utf8_lossy(&reload.stderr).into_owned();
    assert!(said.contains("only read"), "{said}");
    assert!(gateway.stop().success());
    assert!(!Path::new(view).exists());
}
