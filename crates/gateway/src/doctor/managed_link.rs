//! No program that manages the machine's network takes the gateway's link for one of its own.

use super::{Case, Check, Defect, Depth, Remedy, Unseen};

pub(super) const CHECK: Check = Check {
    name: "managed-link",
    about: "systemd-networkd or NetworkManager takes the gateway's link for one of its own",
    depth: Depth::Whole,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let name = case.document().tun.name.value.as_str();
    let Some(link) = case.facts.link(name) else {
        return Ok(Vec::new());
    };
    let networkd = format!("run/systemd/netif/links/{}", link.number);
    let network_manager = format!("run/NetworkManager/devices/{}", link.number);
    let value = |path: &str, key: &str| {
        let text = case.facts.read(path).ok()?;
        let mut values = text.lines().filter_map(|line| line.split_once('='));
        let (_, value) = values.find(|(of, _)| *of == key)?;
        Some(value.trim().to_owned())
    };
    let mut defects = Vec::new();
    let is_unmanaged = value(&networkd, "ADMIN_STATE").is_some_and(|state| state == "unmanaged");
    if let Some(file) = value(&networkd, "NETWORK_FILE").filter(|_| !is_unmanaged) {
        defects.push(by_networkd(name, &file));
    }
    if value(&network_manager, "managed").is_some_and(|managed| managed == "true") {
        defects.push(by_network_manager(name));
    }
    Ok(defects)
}

fn by_networkd(name: &str, file: &str) -> Defect {
    Defect::new(
        format!("{file} has systemd-networkd manage {name}"),
        "It sets the link up as a network, with addresses of its own, and the boot waits for it",
        // The first file in the order of their names is the link's.
        Remedy::command(format!(
            "mkdir -p /etc/systemd/network && printf '[Match]\\nName={name}\\n[Link]\\nUnmanaged=yes\\n' \
             > /etc/systemd/network/0-{name}.network && networkctl reload"
        )),
    )
}

fn by_network_manager(name: &str) -> Defect {
    Defect::new(
        format!("NetworkManager manages {name}"),
        "It removes the gateway's addresses and routes when networking is turned off or the link is disconnected",
        Remedy::command(format!(
            "printf '[device-{name}]\\nmatch-device=interface-name:{name}\\nmanaged=0\\n' \
             > /etc/NetworkManager/conf.d/{name}.conf && systemctl reload NetworkManager && \
             nmcli device set {name} managed no"
        )),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::facts::{Facts, Link};
    use super::*;
    use crate::config;

    fn wrong(root: &Path) -> Vec<String> {
        let text = "[[instance]]\nname = \"a\"\nmechanism = \"6to4\"\nlocal = \"203.0.113.1\"\n";
        let loaded = config::parse("a.toml", "a", text.into(), Path::new("")).unwrap();
        let facts = Facts {
            root: root.into(),
            links: vec![Link {
                number: 7,
                name: "isthmus0".into(),
                mtu: 1500,
                is_veth: false,
            }],
            addresses: Vec::new(),
            routes: Vec::new(),
        };
        let case = Case {
            loaded: &loaded,
            facts: &facts,
            status: None,
        };
        let defects = look(&case).unwrap().into_iter();
        defects.map(|defect| defect.wrong).collect()
    }

    #[test]
    fn who_manages_the_link_is_named() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(wrong(root.path()).is_empty());
        let file = "NETWORK_FILE=/etc/systemd/network/all.network\n";
        write("run/systemd/netif/links/6", file);
        write("run/NetworkManager/devices/6", "[device]\nmanaged=true\n");
        assert!(wrong(root.path()).is_empty(), "another link");
        let unmanaged = format!("ADMIN_STATE=unmanaged\n{file}");
        write("run/systemd/netif/links/7", &unmanaged);
        write("run/NetworkManager/devices/7", "[device]\nmanaged=false\n");
        assert!(wrong(root.path()).is_empty());
        let configured = format!("ADMIN_STATE=configured\n{file}");
        write("run/systemd/netif/links/7", &configured);
        write("run/NetworkManager/devices/7", "[device]\nmanaged=true\n");
        let expected = [
            "/etc/systemd/network/all.network has systemd-networkd manage isthmus0",
            "NetworkManager manages isthmus0",
        ];
        assert_eq!(wrong(root.path()), expected);
    }
}
