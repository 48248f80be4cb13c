//! `docs/recipes/ansible.md`: the role of Ansible, on a router that manages itself.

use super::{Recipe, SHOPPERS, office, open_shop};

pub(super) const PAGE: &str = "recipes/ansible";

/// Nothing that Ansible leaves is outside the machine's own folders.
const SETTINGS: &str = "[defaults]\nhome = /var/tmp/ansible\nremote_tmp = /var/tmp/ansible\n";

#[test]
fn a_role_of_ansible() {
    let ansible = [("ansible-playbook", "ansible-core")];
    let tools = [&ansible[..], &SHOPPERS].concat();
    let nodes = ["host", "router", "internet"];
    let Some(recipe) = Recipe::new(&tools, &nodes, office::network) else {
        return;
    };
    open_shop(recipe.machine("internet"));
    let router = recipe.machine("router");
    router.write("/etc/ansible/ansible.cfg", SETTINGS);
    let packaging = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    router.run(&format!("cp -r {packaging}/ansible/roles /etc/ansible/"));
    recipe.follow(PAGE);
}
