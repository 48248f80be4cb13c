//! The kernel can do, and permits, what the engines need.

use caps::Capability;

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::{Engine, Interface};
use crate::rights;

pub(super) const CHECK: Check = Check {
    name: "kernel",
    about: "a kernel before 6.1, or another processor than x86-64 or aarch64, with XDP or tc",
    depth: Depth::Start,
    look,
};

pub(super) const TUN: Check = Check {
    name: "tun-device",
    about: "`/dev/net/tun` is missing",
    depth: Depth::Start,
    look: tun,
};

pub(super) const RIGHTS: Check = Check {
    name: "rights",
    about: "whoever looks may not load BPF programs: a container without `CAP_BPF`, for example",
    depth: Depth::Whole,
    look: rights,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn look(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let Some(wrong) = rights::unsupported() else {
        return Ok(Vec::new());
    };
    let defect = |interface: &Interface| {
        Defect::new(
            wrong.clone(),
            "The BPF programs are for Linux 6.1 and later on x86-64 and aarch64",
            Remedy::engine(interface, "user"),
        )
    };
    Ok(in_kernel(case).map(defect).collect())
}

fn in_kernel<'a>(case: &'a Case<'_>) -> impl Iterator<Item = &'a Interface> {
    let interfaces = case.document().interfaces.iter();
    interfaces.filter(|one| one.engine.value != Engine::User)
}

#[expect(clippy::unnecessary_wraps, reason = "the type of all checks")]
fn tun(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    if case.facts.root.join("dev/net/tun").exists() {
        return Ok(Vec::new());
    }
    Ok(vec![Defect::new(
        "there is no /dev/net/tun",
        "The gateway cannot make its link",
        Remedy::command("mkdir -p /dev/net && mknod /dev/net/tun c 10 200"),
    )])
}

fn rights(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let held = rights::held().map_err(|error| Unseen::new("rights", &error))?;
    if !held.contains(&Capability::CAP_NET_ADMIN) {
        let how = "run it as root, or give the container CAP_NET_ADMIN";
        return Err(Unseen::new("this process may not look at everything", &how));
    }
    if rights::may_load(&held) {
        return Ok(Vec::new());
    }
    let defect = |interface: &Interface| {
        Defect::new(
            "this process has neither CAP_SYS_ADMIN nor both of CAP_BPF and CAP_PERFMON",
            "It may not load the BPF programs. Give the container these rights, or translate in user space",
            Remedy::engine(interface, "user"),
        )
    };
    Ok(in_kernel(case).map(defect).collect())
}
