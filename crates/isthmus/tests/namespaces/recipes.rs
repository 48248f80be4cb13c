//! The pages of `docs/start` and `docs/recipes`, each by its own files and commands, with the real daemons.

mod announce;
mod ansible;
mod dslite_dhcpv6;
mod ipv6_mostly;
mod machine;
mod map_dhcpv6;
mod office;
mod page;
mod pods;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use isthmus_lab::network::process;
use isthmus_lab::network::topology::Network;
use machine::Machine;
use page::{Page, Step};

use crate::net::possible;

/// What a machine needs that has a shop, or that buys something there.
const SHOPPERS: [(&str, &str); 4] = [
    ("dnsmasq", "dnsmasq-base"),
    ("dig", "bind9-dnsutils"),
    ("curl", "curl"),
    ("busybox", "busybox-static"),
];
const SHOP: &str = "[Service]\nExecStart=busybox httpd -f -p 80 -h /var/shop\n";
const NAMES: &str =
    "no-resolv\nlisten-address=9.9.9.9\nbind-interfaces\naddress=/shop.example/9.9.9.9\n";

/// Makes a machine one of the IPv4 internet: 9.9.9.9 has a page, and knows its name.
fn open_shop(internet: &Machine) {
    internet.write("/etc/systemd/system/shop.service", SHOP);
    internet.write("/var/shop/index.html", "the shop\n");
    internet.write("/etc/dnsmasq.d/names.conf", NAMES);
    internet.run("ip address add 9.9.9.9/32 dev lo && systemctl start shop dnsmasq");
}

/// The machines of a recipe, as far as its page has come.
struct Recipe {
    // The machines end what they started before their network is removed.
    machines: BTreeMap<&'static str, Machine>,
    _network: Network,
}

impl Recipe {
    /// Returns the machines of a network; `None`, after printing the reason, if they or their programs cannot be here.
    fn new(
        tools: &[(&str, &str)],
        nodes: &[&'static str],
        network: impl FnOnce() -> Network,
    ) -> Option<Self> {
        if !possible() {
            return None;
        }
        for &(tool, package) in tools {
            if let Err(reason) = process::require(tool, package) {
                eprintln!("skipped: {reason}");
                return None;
            }
        }
        let network = network();
        let machine = |&name| (name, Machine::new(network.node(name).unwrap()));
        Some(Self {
            machines: nodes.iter().map(machine).collect(),
            _network: network,
        })
    }

    fn machine(&self, name: &str) -> &Machine {
        let machine = self.machines.get(name);
        machine.unwrap_or_else(|| panic!("the page names a machine {name}"))
    }

    /// Does what the page says, from top to bottom.
    fn follow(&self, page: &str) {
        for step in Page::read(page).steps {
            match &step {
                Step::Write { on, path, text } => self.machine(on).write(path, text),
                Step::Run { on, script } => self.machine(on).run(script),
                Step::See { on, command, lines } => self.machine(on).see(command, lines),
            }
        }
    }
}

#[test]
fn every_page_is_followed_by_a_test() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut pages = BTreeSet::new();
    for folder in ["start", "recipes"] {
        for file in fs::read_dir(docs.join(folder)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let name = name.strip_suffix(".md").unwrap();
            if name != "README" {
                pages.insert(format!("{folder}/{name}"));
            }
        }
    }
    let followed = [
        ansible::PAGE,
        dslite_dhcpv6::PAGE,
        ipv6_mostly::PAGE,
        map_dhcpv6::PAGE,
        office::PAGE,
        pods::PAGE,
    ];
    let followed = followed
        .into_iter()
        .chain(announce::PAGES)
        .chain(start::PAGES);
    assert_eq!(pages, followed.map(String::from).collect());
}
