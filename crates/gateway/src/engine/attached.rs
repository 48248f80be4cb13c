//! A link with a program on it: how the program gets there, and what becomes of it.

use isthmus_engine::bpf::{self, Hook, LinkNow, Mode, Programs};

use super::EngineError;
use crate::config::{self, Forward, Interface, XdpMode};
use crate::control::EngineStatus;

/// A link with a program.
#[derive(Clone, Debug)]
pub(super) struct Attached {
    interface: Interface,
    /// The link when it got the program; `None` while it has none.
    link: Option<LinkNow>,
    hook: Hook,
    pub(super) status: EngineStatus,
}

impl Attached {
    /// Puts the program on a link.
    pub(super) fn new(programs: &mut Programs, interface: &Interface) -> Result<Self, EngineError> {
        let name = &interface.name.value;
        // Before the program is there: what changes meanwhile shows.
        let link = LinkNow::of(name).ok().flatten();
        let (hook, detail) = place(programs, interface).map_err(|error| EngineError {
            engine: engine(match interface.engine.value {
                config::Engine::Tc => Hook::Tc,
                _ => Hook::Xdp,
            }),
            interface: name.clone(),
            reason: error.to_string(),
        })?;
        let more = match interface.forward {
            Forward::Redirect => "",
            Forward::Kernel => {
                warn_of_source_checks(name);
                "; the kernel forwards"
            }
        };
        Ok(Self {
            interface: interface.clone(),
            link,
            hook,
            status: EngineStatus {
                engine: engine(hook).into(),
                interface: name.clone(),
                detail: format!("{detail}{more}"),
            },
        })
    }

    /// Puts the program on the link again, if it is gone, the link is another one, or the driver may now decide
    /// otherwise. Returns what is wrong.
    pub(super) fn heal(&mut self, programs: &mut Programs) -> Option<String> {
        let name = self.interface.name.value.as_str();
        let now = match LinkNow::of(name) {
            Ok(now) => now,
            Err(error) => return Some(format!("{name}: {error}")),
        };
        let trouble = match now {
            None => format!("there is no link {name}: nothing is translated there"),
            Some(now) => {
                let why = match self.change(now, programs) {
                    Ok(None) => return self.hidden_tags(),
                    Ok(Some(why)) => why,
                    Err(error) => return Some(error.to_string()),
                };
                match Self::new(programs, &self.interface) {
                    Ok(attached) => {
                        let (engine, detail) = (&attached.status.engine, &attached.status.detail);
                        tracing::warn!(link = name, engine, detail, "has its program again: {why}");
                        *self = attached;
                        return None;
                    }
                    Err(error) => error.to_string(),
                }
            }
        };
        self.link = None;
        self.status.detail.clone_from(&trouble);
        Some(trouble)
    }

    /// The trouble of an XDP program that cannot tell the VLANs of its link from the link itself.
    fn hidden_tags(&self) -> Option<String> {
        let name = &self.interface.name.value;
        let hidden = self.hook == Hook::Xdp
            && has_vlans(name)
            && bpf::takes_tags_off(name).is_ok_and(|off| off);
        hidden.then(|| {
            format!(
                "{name} takes the tags of VLANs off before XDP sees them: `ethtool -K {name} rxvlan off`, or \
                 engine = \"tc\""
            )
        })
    }

    /// The reason why the program must be put on the link again.
    fn change(
        &self,
        now: LinkNow,
        programs: &Programs,
    ) -> Result<Option<&'static str>, bpf::Error> {
        Ok(match self.link {
            None => Some("it had none"),
            Some(before) if before.number != now.number => Some("the link was made again"),
            Some(before) if before.mtu != now.mtu => Some("the MTU of the link has changed"),
            Some(_) if !programs.is_attached(self.hook, now.number)? => {
                Some("somebody took it off")
            }
            Some(_) => None,
        })
    }
}

/// Attaches the program that the configuration asks for, and returns where it is, in words as well.
///
/// Where the driver runs no XDP programs, the tc program takes the place of XDP in the kernel's stack: that would get
/// packets whose checksums the sender left to a device, as virtual machines do, and could not tell.
fn place(programs: &mut Programs, interface: &Interface) -> Result<(Hook, String), bpf::Error> {
    let name = &interface.name.value;
    if interface.engine.value == config::Engine::Tc {
        programs.attach_tc(name)?;
        return Ok((Hook::Tc, "ingress".into()));
    }
    match interface.mode {
        XdpMode::Native => programs.attach_xdp(name, Mode::Native)?,
        XdpMode::Generic => {
            programs.attach_xdp(name, Mode::Generic)?;
            let detail = "generic: not for packets whose checksums are left to a device";
            return Ok((Hook::Xdp, detail.into()));
        }
        XdpMode::Auto => {
            if let Err(refusal) = programs.attach_xdp(name, Mode::Native) {
                programs.attach_tc(name)?;
                let detail = format!("ingress, because the driver does not run XDP: {refusal}");
                return Ok((Hook::Tc, detail));
            }
        }
    }
    Ok((Hook::Xdp, "native".into()))
}

/// Whether there are devices of VLANs on a link. The kernel lists them as `NAME | NUMBER | LINK`.
fn has_vlans(link: &str) -> bool {
    let listed = std::fs::read_to_string("/proc/net/vlan/config").unwrap_or_default();
    let below = |line: &str| {
        line.split('|')
            .nth(2)
            .is_some_and(|below| below.trim() == link)
    };
    listed.lines().any(below)
}

const fn engine(hook: Hook) -> &'static str {
    match hook {
        Hook::Xdp => "xdp",
        Hook::Tc => "tc",
    }
}

/// Where the kernel checks sources, it drops what was translated on a link where such packets do not
/// come from.
fn warn_of_source_checks(link: &str) {
    let strictest = ["all", link]
        .iter()
        .filter_map(|name| {
            let path = format!("/proc/sys/net/ipv4/conf/{name}/rp_filter");
            std::fs::read_to_string(path)
                .ok()?
                .trim()
                .parse::<u8>()
                .ok()
        })
        .max();
    if let Some(checks @ 1..) = strictest {
        tracing::warn!(
            link,
            "IPv4 packets from here may be dropped: net.ipv4.conf.all.rp_filter or \
             net.ipv4.conf.{link}.rp_filter is {checks}; with 0 the kernel forwards them"
        );
    }
}
