//! The engine of a link that leaves it to the gateway.

use serde_json::Value;

use crate::forward::translated;
use crate::gateway::{Gateway, ISTHMUS};
use crate::net::text;
use crate::site::{PLAT, Site, both_links};

const SERVER: &str = "64:ff9b::192.0.2.2";

/// Both links without an engine.
fn unasked() -> String {
    format!(
        "[[interface]]\nname = \"toh\"\n\n[[interface]]\nname = \"tos\"\nengine = \"auto\"\n{PLAT}"
    )
}

/// The engine of a link and why, as `isthmus status` says it.
fn of(gateway: &Gateway, link: &str) -> (String, String) {
    let status = gateway.json("status");
    let rows = status["engines"].as_array().unwrap();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let row = rows.iter().find(|row| row["interface"] == link).unwrap();
    (word(row, "engine"), word(row, "detail"))
}

/// A site whose hosts have addresses.
fn site() -> Option<Site> {
    let site = Site::new()?;
    site.net.dual_stack();
    site.configure(&unasked());
    Some(site)
}

#[test]
fn a_veth_has_tc_and_keeps_it() {
    let Some(site) = site() else { return };
    let mut check = site.net.command("gateway", ISTHMUS);
    let plan = check.arg("check").arg(site.file()).output().unwrap();
    let plan = text(&plan);
    assert!(plan.contains("toh: tc, because super-packets"), "{plan}");

    let gateway = site.start();
    for link in ["toh", "tos"] {
        let (engine, why) = of(&gateway, link);
        assert_eq!(engine, "tc");
        assert!(why.contains("because super-packets"), "{why}");
    }
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    assert!(translated(&gateway, "tc") > 0);

    // A reload chooses the same: another engine would be refused.
    let reload = gateway.client("reload");
    assert!(reload.status.success(), "{reload:?}");
    // To write it down changes nothing, and another one takes a restart.
    site.configure(&format!("{}{PLAT}", both_links("tc", "")));
    let reload = gateway.client("reload");
    assert!(reload.status.success(), "{reload:?}");
    site.configure(&format!("{}{PLAT}", both_links("xdp", "")));
    let reload = gateway.client("reload");
    let said = String::from_utf8_lossy(&reload.stderr);
    assert!(
        !reload.status.success() && said.contains("[[interface]]"),
        "{said}"
    );
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    assert!(gateway.stop().success());
}

#[test]
fn a_process_that_may_not_load_programs_has_user_space() {
    let Some(site) = site() else { return };
    let mut isthmus = site.net.command("gateway", "setpriv");
    isthmus.args(["--bounding-set=-bpf,-perfmon,-sys_admin", ISTHMUS]);
    let gateway = Gateway::spawn(isthmus, &site.path("."), &site.file());
    gateway.expect("READY=1");
    for link in ["toh", "tos"] {
        let (engine, why) = of(&gateway, link);
        assert_eq!(engine, "user");
        assert!(why.contains("may not load BPF programs"), "{why}");
    }
    assert!(site.net.pings(SERVER), "{}", gateway.log());
    assert!(translated(&gateway, "user") > 0);
    assert!(gateway.stop().success());
}
