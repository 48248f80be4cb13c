//! A link with a program on it: how the program gets there, and what becomes of it.

use isthmus_engine::bpf::{self, Hook, LinkNow, Mode, Programs};

use super::EngineError;
use crate::config::{self, Forward, Interface, XdpMode};
use crate::control::EngineStatus;
use crate::doctor::vlan_tags;

/// A link with a program.
#[derive(Clone, Debug)]
pub(super) struct Attached {
    interface: Interface,
    /// The link when it got the program; `None` while it has none.
    link: Option<LinkNow>,
    hook: Hook,
    /// The link to which XDP could not send then.
    deaf: Option<String>,
    pub(super) status: EngineStatus,
}

impl Attached {
    /// Puts the program on a link. `deaf` is a link of the gateway to which XDP cannot send, if there is one.
    pub(super) fn new(
        programs: &mut Programs,
        interface: &Interface,
        deaf: Option<&str>,
    ) -> Result<Self, EngineError> {
        let name = &interface.name.value;
        let asked = match interface.engine.value {
            config::Engine::Tc => Hook::Tc,
            _ => Hook::Xdp,
        };
        // Before the program is there: what changes meanwhile shows.
        let link = LinkNow::of(name).ok().flatten();
        let (hook, detail) = place(programs, interface, deaf)
            .map_err(|error| EngineError::of_programs(engine(asked), name, &error))?;
        // Another one than the chosen has a reason of its own.
        let why = match &interface.chosen {
            Some(why) if hook == asked => format!(", because {why}"),
            _ => String::new(),
        };
        let more = match interface.forward {
            Forward::Redirect => "",
            Forward::Kernel => "; the kernel forwards",
        };
        Ok(Self {
            interface: interface.clone(),
            link,
            hook,
            deaf: deaf.map(str::to_owned),
            status: EngineStatus {
                engine: engine(hook).into(),
                interface: name.clone(),
                detail: format!("{detail}{why}{more}"),
            },
        })
    }

    /// Puts the program on the link again, if it is gone, the link is another one, or the driver may now decide
    /// otherwise. Returns what is wrong.
    pub(super) fn heal(&mut self, programs: &mut Programs, deaf: Option<&str>) -> Option<String> {
        let name = self.interface.name.value.as_str();
        let now = match LinkNow::of(name) {
            Ok(now) => now,
            Err(error) => return Some(format!("{name}: {error}")),
        };
        let trouble = match now {
            None => format!("there is no link {name}: nothing is translated there"),
            Some(now) => {
                let why = match self.change(now, programs, deaf) {
                    Ok(None) => return self.hidden_tags(),
                    Ok(Some(why)) => why,
                    Err(error) => return Some(error.to_string()),
                };
                match Self::new(programs, &self.interface, deaf) {
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
        (self.hook == Hook::Xdp).then(|| vlan_tags::hidden(name))?
    }

    /// The reason why the program must be put on the link again.
    fn change(
        &self,
        now: LinkNow,
        programs: &Programs,
        deaf: Option<&str>,
    ) -> Result<Option<&'static str>, bpf::Error> {
        let chooses = self.interface.engine.value == config::Engine::Xdp
            && self.interface.mode == XdpMode::Auto
            && self.interface.forward == Forward::Redirect;
        Ok(match self.link {
            None => Some("it had none"),
            Some(before) if before.number != now.number => Some("the link was made again"),
            Some(before) if before.mtu != now.mtu => Some("the MTU of the link has changed"),
            Some(_) if chooses && self.deaf.as_deref() != deaf => {
                Some("the other end of a link polls now, or not any more")
            }
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
/// packets whose checksums the sender left to a device, as virtual machines do, and could not tell. It does so as
/// well where XDP cannot send to a link.
fn place(
    programs: &mut Programs,
    interface: &Interface,
    deaf: Option<&str>,
) -> Result<(Hook, String), bpf::Error> {
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
            if let Some(link) = deaf.filter(|_| interface.forward == Forward::Redirect) {
                programs.attach_tc(name)?;
                let why = format!("XDP cannot send to {link}: its other end does not poll");
                return Ok((Hook::Tc, format!("ingress, because {why}")));
            }
            // What the kernel refuses of the programs is no refusal of the driver.
            programs.load(Hook::Xdp)?;
            if let Err(refusal) = programs.attach_xdp(name, Mode::Native) {
                programs.attach_tc(name)?;
                let detail = format!("ingress, because the driver does not run XDP: {refusal}");
                return Ok((Hook::Tc, detail));
            }
        }
    }
    Ok((Hook::Xdp, "native".into()))
}

/// The first of these links to which XDP cannot send: what one program sends there is lost, whatever the others do.
pub(super) fn deaf(interfaces: &[Interface]) -> Option<&str> {
    let mut names = interfaces.iter().map(|one| one.name.value.as_str());
    names.find(|name| bpf::is_deaf(name).unwrap_or(false))
}

const fn engine(hook: Hook) -> &'static str {
    match hook {
        Hook::Xdp => "xdp",
        Hook::Tc => "tc",
    }
}
