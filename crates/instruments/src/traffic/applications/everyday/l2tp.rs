//! A virtual private network as operating systems bring one: L2TP in IPsec (RFC 3193), by strongSwan and xl2tpd at both ends.
//!
//! ESP is in transport mode and the kernel's. It is in UDP where an address is translated on the way (RFC 3948). In it is
//! L2TP (RFC 2661), and in that PPP.

use std::{
    fs::File,
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::Instant,
};

use super::{
    Application, Call, Outcome, PATIENCE, Seen, Trouble, await_or_fail, fails, not_here, office,
    strongswan::{self, End, Esp},
};
use crate::{
    Result,
    network::{leftovers, netns::Namespace, process::Process},
};

/// The tunnel.
pub(super) const L2TP: Application = Application {
    names: &["VPN, L2TP/IPsec"],
    needs: &[
        strongswan::DAEMON,
        strongswan::CLIENT,
        ("xl2tpd", "xl2tpd"),
        ("pppd", "ppp"),
    ],
    run: |call| dial(call).map(|seen| vec![Outcome::Works(seen)]),
};

/// The address of the office at its end of each link of PPP.
const OFFICE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
/// The kernel's device of PPP.
const PPP: &str = "/dev/ppp";
/// The number of times that the tunnel is set up.
const TIMES: usize = 3;
/// The settings of PPP at both ends. The largest packet leaves room for the headers of L2TP, ESP, UDP and of a mechanism.
const PPP_OPTIONS: &str = "noauth
noccp
noipv6
nodefaultroute
ipcp-accept-local
ipcp-accept-remote
mtu 1280
mru 1280
";

fn dial(call: &Call<'_>) -> std::result::Result<Seen, Trouble> {
    // The file may be there without the driver; to open it loads the driver's module.
    if let Err(error) = File::open(PPP) {
        return Err(not_here(format!("the kernel has no PPP: {PPP}: {error}")));
    }
    if call.own[0].is_ipv6() {
        return Err(not_here("xl2tpd speaks IPv4 only"));
    }
    let folder = leftovers::directory()?;
    let folder = folder.path();
    let names = ["office", "traveller"];
    let _server = End::start(
        call.server,
        folder,
        "office",
        Esp::Kernel,
        &ipsec("", names),
    )?;
    let called = format!("[lns default]\nlocal ip = {OFFICE}\nip range = 10.78.1.1-10.78.1.99\n");
    let mut lns = xl2tpd(call.server, folder, "office", &called)?;
    let keys = format!("remote_addrs = {}", call.target);
    let [office, traveller] = names;
    let connection = ipsec(&keys, [traveller, office]);
    let client = End::start(call.client, folder, "traveller", Esp::Kernel, &connection)?;
    let calling = format!("[lac office]\nlns = {}\nautodial = yes\n", call.target);
    let mut beginnings = Vec::new();
    let _line = loop {
        let begun = Instant::now();
        client.ask(&["--initiate", "--child", "both", "--timeout", "20"])?;
        let mut line = xl2tpd(call.client, folder, "traveller", &calling)?;
        let why = "IPsec is there, but no link of PPP";
        await_or_fail(&mut line, PATIENCE, why, || is_linked(call.client))?;
        beginnings.push(begun.elapsed());
        if beginnings.len() == TIMES {
            break line;
        }
        drop(line);
        client.ask(&["--terminate", "--ike", "both", "--timeout", "20"])?;
        // Else it would be taken for the next one.
        let why = "the link of PPP outlives its call";
        await_or_fail(&mut lns, PATIENCE, why, || !is_linked(call.client))?;
    };
    office::carries(call, IpAddr::V4(OFFICE))?;
    is_encrypted(&client)?;
    Ok(Seen {
        beginnings,
        stream: None,
    })
}

/// Checks that the stream came by ESP: L2TP alone passes an address translator as well.
fn is_encrypted(client: &End<'_>) -> std::result::Result<(), Trouble> {
    const BYTES: &str = "bytes-in=";
    let said = client.ask(&["--list-sas", "--raw"])?;
    let bytes = said.split(BYTES).nth(1).and_then(|rest| {
        let end = rest.find(|digit: char| !digit.is_ascii_digit())?;
        rest[..end].parse::<usize>().ok()
    });
    match bytes {
        Some(bytes) if bytes >= office::SIZE => Ok(()),
        _ => fails(format!("of {} bytes, by ESP came {bytes:?}", office::SIZE)),
    }
}

/// Returns strongSwan's file of an end: only L2TP, of UDP (17), is in the tunnel (RFC 3193 section 4).
fn ipsec(keys: &str, names: [&str; 2]) -> String {
    let child = "mode = transport
        local_ts = dynamic[17/1701]
        remote_ts = dynamic[17/1701]";
    // Operating systems bring version 1 with L2TP.
    strongswan::connection(1, keys, names, child)
}

/// Starts xl2tpd on a node, which calls or is called.
fn xl2tpd(node: &Namespace, folder: &Path, name: &str, section: &str) -> Result<Process> {
    let file = |kind: &str| folder.join(format!("{name}.{kind}"));
    leftovers::write(&file("ppp"), PPP_OPTIONS)?;
    leftovers::write(&file("secrets"), "")?;
    // Its own PPP, rather than the kernel's module for L2TP.
    let text = format!(
        "[global]\nforce userspace = yes\n{section}pppoptfile = {}\n",
        file("ppp").display()
    );
    leftovers::write(&file("xl2tpd"), text)?;
    let mut command = node.command("xl2tpd");
    command.arg("-D").arg("-c").arg(file("xl2tpd"));
    command.arg("-s").arg(file("secrets"));
    command.arg("-p").arg(file("pid"));
    command.arg("-C").arg(file("control"));
    Process::start("xl2tpd", &mut command)
}

/// Whether a node has a link of PPP to the office.
fn is_linked(node: &Namespace) -> bool {
    node.run("ip -4 -o address show")
        .is_ok_and(|addresses| addresses.contains(&format!("peer {OFFICE}/")))
}
