//! systemd-networkd leaves the gateway's routes alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::facts::Facts;
use super::{Case, Check, Defect, Depth, Remedy, Unseen};

pub(super) const CHECK: Check = Check {
    name: "networkd",
    about: "systemd-networkd is told to remove routes that it did not make (`ManageForeignRoutes=yes`)",
    depth: Depth::Start,
    look,
};

/// Folders of `networkd.conf` and its drop-ins, the strongest first (systemd.conf(5)).
const FOLDERS: [&str; 4] = [
    "etc/systemd",
    "run/systemd",
    "usr/local/lib/systemd",
    "usr/lib/systemd",
];

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let said = files(case.facts)
        .iter()
        .filter_map(|path| Some((path.clone(), setting(&case.facts.read(path).ok()?)?)))
        .next_back();
    let Some((path, true)) = said else {
        return Ok(Vec::new());
    };
    Ok(vec![Defect::new(
        format!("/{} has ManageForeignRoutes=yes", path.display()),
        "When systemd-networkd starts again it removes the gateway's routes, and packets are lost until they are back",
        Remedy::command(
            "mkdir -p /etc/systemd/networkd.conf.d && printf '[Network]\\nManageForeignRoutes=no\\n' \
             > /etc/systemd/networkd.conf.d/99-isthmus.conf",
        ),
    )])
}

/// The configuration files, the strongest last. A drop-in hides those of its name in weaker folders.
fn files(facts: &Facts) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let main = FOLDERS
        .iter()
        .map(|folder| PathBuf::from(folder).join("networkd.conf"));
    files.extend(main.filter(|path| facts.root.join(path).exists()).take(1));
    let mut drop_ins = BTreeMap::new();
    for folder in FOLDERS {
        let folder = PathBuf::from(folder).join("networkd.conf.d");
        let entries = fs::read_dir(facts.root.join(&folder))
            .into_iter()
            .flatten()
            .flatten();
        for name in entries.map(|entry| entry.file_name()) {
            if name.to_string_lossy().ends_with(".conf") {
                let path = folder.join(&name);
                drop_ins.entry(name).or_insert(path);
            }
        }
    }
    files.extend(drop_ins.into_values());
    files
}

/// The last value of the setting in a file.
fn setting(text: &str) -> Option<bool> {
    let mut values = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "ManageForeignRoutes").then(|| value.trim())
    });
    let value = values.next_back()?;
    Some(matches!(value, "yes" | "true" | "on" | "1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use std::path::Path;
    use std::process::Command;

    fn wrong(root: &Path) -> Vec<Defect> {
        let text = "[[instance]]\nname = \"a\"\nmechanism = \"6to4\"\nlocal = \"203.0.113.1\"\n";
        let loaded = config::parse("a.toml", "a", text.into(), Path::new("")).unwrap();
        let facts = Facts {
            root: root.into(),
            links: Vec::new(),
            addresses: Vec::new(),
            routes: Vec::new(),
        };
        let case = Case {
            loaded: &loaded,
            facts: &facts,
            status: None,
        };
        look(&case).unwrap()
    }

    #[test]
    fn what_is_told_to_remove_routes_is_found_and_mended() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(wrong(root), []);
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "usr/lib/systemd/networkd.conf",
            "[Network]\n#ManageForeignRoutes=yes\n",
        );
        assert_eq!(wrong(root), []);
        write(
            "etc/systemd/networkd.conf.d/10-a.conf",
            "[Network]\nManageForeignRoutes=no\n",
        );
        write(
            "usr/lib/systemd/networkd.conf.d/10-a.conf",
            "[Network]\nManageForeignRoutes=yes\n",
        );
        assert_eq!(wrong(root), [], "hidden by the other of its name");
        write(
            "run/systemd/networkd.conf.d/20-b.conf",
            "[Network]\nManageForeignRoutes = yes\n",
        );
        let [defect] = &wrong(root)[..] else {
            panic!("{:?}", wrong(root));
        };
        assert!(
            defect
                .wrong
                .contains("/run/systemd/networkd.conf.d/20-b.conf"),
            "{defect:?}"
        );
        let Remedy::Command(command) = &defect.remedy else {
            panic!("{defect:?}");
        };
        let here = command.replace("/etc", &root.join("etc").display().to_string());
        assert!(
            Command::new("sh")
                .args(["-c", &here])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(wrong(root), []);
    }
}
