//! Beside systemd-networkd, which hears router advertisements itself and removes what it does not know from its links.

use std::fs;
use std::path::Path;

use isthmus_lab::network::process::Process;

use super::{CLAT, OF_HOME, World};

const NETWORKD: &str = "/usr/lib/systemd/systemd-networkd";

/// Starts it on the laptop, for the link that is its uplink. It waits for no udev, as in a container.
fn networkd(world: &World) -> Process {
    let lines = format!(
        "set -e
         mount -t tmpfs none /run
         mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
         printf '[Match]\\nName=wlan0\\n[Network]\\nIPv6AcceptRA=yes\\nLinkLocalAddressing=ipv6\\nDHCP=no\\n' \
             > /run/systemd/network/10-wlan0.network
         chown -R systemd-network /run/systemd/netif
         mount -o remount,ro,bind /sys
         exec {NETWORKD}"
    );
    let mut command = world.node("laptop").command("sh");
    command.env("SYSTEMD_LOG_LEVEL", "debug");
    Process::start("networkd", command.args(["-c", &lines])).unwrap()
}

/// Waits until it has made the addresses and routes of the uplink.
fn wait_for(world: &World, networkd: &Process) {
    world.wait(|world| {
        world.advertise(&OF_HOME);
        let said = fs::read_to_string(networkd.log()).unwrap();
        said.contains("wlan0: State changed: configuring -> configured")
    });
    // The kernel is told to leave that to it.
    let accept_ra = world.run("laptop", "cat /proc/sys/net/ipv6/conf/wlan0/accept_ra");
    assert_eq!(accept_ra.trim(), "0");
}

#[test]
fn it_lives_beside_systemd_networkd() {
    if !Path::new(NETWORKD).exists() {
        eprintln!("skipped: systemd-networkd is not installed");
        return;
    }
    let Some(world) = World::new() else {
        return;
    };
    let first = networkd(&world);
    wait_for(&world, &first);
    let before = world.state();
    let clat = world.clat(CLAT);
    world.wait_for(&clat, &OF_HOME);
    world.carries();
    // It starts again, and clears its links.
    drop(first);
    let second = networkd(&world);
    wait_for(&world, &second);
    world.wait_for(&clat, &OF_HOME);
    world.carries();
    assert!(clat.stop().success());
    world.wait(|world| world.state() == before);
}
