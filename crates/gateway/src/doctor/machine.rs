//! The links and folders that the configuration names are there.

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::Lack;

pub(super) const CHECK: Check = Check {
    name: "machine",
    about: "a link or folder that the configuration names is not there, or the name of the TUN link is taken",
    depth: Depth::Whole,
    look,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let lacks = case.document().lacks();
    Ok(lacks.iter().map(|lack| defect(case, lack)).collect())
}

fn defect(case: &Case<'_>, lack: &Lack<'_>) -> Defect {
    let remedy = match lack {
        Lack::Link(_) => {
            let links = case.facts.links.iter().map(|link| link.name.as_str());
            let links: Vec<&str> = links.filter(|name| *name != "lo").collect();
            let table = format!("the table that names it, one of {}", links.join(", "));
            Remedy::configuration(table, "name = \"LINK\"")
        }
        Lack::Tun(_) => {
            let free = (0..).map(|number| format!("isthmus{number}"));
            let mut free = free.filter(|name| case.facts.link(name).is_none());
            let name = free.next().unwrap_or_default();
            Remedy::configuration("[tun]", format!("name = \"{name}\""))
        }
        Lack::Folder { folder, .. } => Remedy::command(format!("mkdir -p {}", folder.display())),
    };
    Defect::new(lack.message(), "`isthmus up` does not start", remedy)
}
