//! The machine has no other CLAT beside its own.

use std::net::Ipv4Addr;

use ipnet::{IpNet, Ipv4Net};

use super::{Case, Check, Defect, Depth, Remedy, Unseen};

pub(super) const CHECK: Check = Check {
    name: "second-clat",
    about: "another CLAT on the machine, beside one with `uplink`: of clatd, NetworkManager or systemd-networkd",
    depth: Depth::Start,
    look,
};

/// The IPv4 service continuity prefix (RFC 7335).
const CONTINUITY: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(192, 0, 0, 0), 29);

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let document = case.document();
    let Some((_, host)) = document.hosts().next() else {
        return Ok(Vec::new());
    };
    let uplink = host.uplink.value.as_str();
    let addresses = case.facts.addresses.iter();
    let named = addresses.map(|one| (one.network, case.facts.name_of(one.link)));
    let of_others = named.filter(|(network, link)| {
        let is_continuity = matches!(network, IpNet::V4(net) if CONTINUITY.contains(&net.addr()));
        is_continuity && *link != document.tun.name.value
    });
    let defect = |(network, link): (IpNet, &str)| {
        Defect::new(
            format!("{link} has {network}, an address of CLATs"),
            "Another CLAT translates the packets of this machine: one of both gets them, and the other is of no use",
            Remedy::command(end(link, uplink, network)),
        )
    };
    Ok(of_others.map(defect).collect())
}

/// The command that ends the CLAT with this link.
fn end(link: &str, uplink: &str, network: IpNet) -> String {
    match link {
        "clat" => "systemctl disable --now clatd".into(),
        // NetworkManager translates on the uplink itself.
        _ if link == uplink => format!("nmcli device modify {link} ipv4.clat no"),
        // systemd-networkd has a link for it.
        _ if link.strip_prefix("cl-") == Some(uplink) => format!(
            "d=/etc/systemd/network/$(basename \"$(networkctl status {uplink} | sed -n 's/.*Network File: //p')\").d && \
             mkdir -p $d && printf '[Network]\\nCLAT=no\\n' > $d/isthmus.conf && networkctl reload"
        ),
        _ => format!("ip address del {network} dev {link}"),
    }
}
