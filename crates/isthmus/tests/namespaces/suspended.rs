//! A machine that is suspended while a gateway starts, as a container is that is paused.

use std::thread::sleep;
use std::time::Duration;

use crate::forward::translated;
use crate::gateway::{Gateway, ISTHMUS};
use crate::site::{PLAT, Site, both_links};

/// From one suspension to the next: shorter than the verifier takes for the largest program.
const EVERY: Duration = Duration::from_millis(40);
const TIMES: u32 = 9;

/// The verifier gives up when the thread that waits for it has to stop.
#[test]
fn its_programs_are_loaded_afterwards() {
    let Some(site) = Site::new() else {
        return;
    };
    site.net.dual_stack();
    site.configure(&format!("{}{PLAT}", both_links("xdp", "")));
    let isthmus = site.net.command("gateway", ISTHMUS);
    let gateway = Gateway::spawn(isthmus, &site.path(""), &site.file());
    // The programs are loaded as soon as their maps are there.
    gateway.wait_until(|gateway| gateway.holds_maps());
    for _ in 0..TIMES {
        sleep(EVERY);
        gateway.signal("STOP");
        gateway.signal("CONT");
    }
    gateway.expect("READY=1");
    assert!(site.net.pings("64:ff9b::192.0.2.2"), "{}", gateway.log());
    assert!(translated(&gateway, "xdp") > 0, "{}", gateway.log());
    assert!(gateway.stop().success());
}
