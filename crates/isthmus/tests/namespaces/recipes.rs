//! The recipes of `docs/recipes`, each by the files and commands of its own page, with the real daemons.

mod announce;
mod ipv6_mostly;
mod machine;
mod office;
mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use isthmus_lab::process;
use isthmus_lab::topology::Network;
use machine::Machine;
use page::{Page, Step};

use crate::net::possible;

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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> = names.filter(|name| name != "README.md").collect();
    pages.sort();
    assert_eq!(
        pages,
        [announce::PAGE, ipv6_mostly::PAGE, office::PAGE].map(|name| format!("{name}.md"))
    );
}
