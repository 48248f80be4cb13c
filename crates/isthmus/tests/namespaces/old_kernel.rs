//! The load that a gateway is for a kernel that does not have all that it asks for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread::sleep;
use std::time::Duration;

use crate::forward::translated;
use crate::site::{PLAT, Site, both_links};

/// The file of a machine that is there for tests alone.
const GUEST: &str = "/guest/command";
/// The program that the kernel runs for what it does not have.
const LOADER: &str = "/proc/sys/kernel/modprobe";
/// Longer than the gateway takes to look at its links a few times.
const WHILE: Duration = Duration::from_secs(6);

/// Each program that the kernel runs to find a module costs a small router a tenth of a second.
#[test]
fn modules_that_are_not_there_are_asked_for_once() {
    if fs::metadata(GUEST).is_err() {
        eprintln!(
            "skipped: the kernel's way to load modules is changed in the guest of the tests alone"
        );
        return;
    }
    let Some(site) = Site::new() else { return };
    site.net.dual_stack();
    site.configure(&format!("{}{PLAT}", both_links("xdp", "")));
    let (watching, asked) = (site.path("watching"), site.path("asked"));
    let before = fs::read_to_string(LOADER).unwrap();
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>{}\nexec {} \"$@\"\n",
        asked.display(),
        before.trim()
    );
    fs::write(&watching, script).unwrap();
    fs::set_permissions(&watching, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(LOADER, watching.to_str().unwrap()).unwrap();

    let gateway = site.start();
    sleep(WHILE);
    assert!(site.net.pings("64:ff9b::192.0.2.2"), "{}", gateway.log());
    assert!(translated(&gateway, "xdp") > 0);
    let stopped = gateway.stop();
    fs::write(LOADER, before.trim()).unwrap();
    assert!(stopped.success());

    let asked = fs::read_to_string(asked).unwrap_or_default();
    let of_links = asked.lines().filter(|line| line.contains("family-netdev"));
    assert_eq!(of_links.count(), 1, "{asked}");
}
