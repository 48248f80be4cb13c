//! The engine that suits a link of this machine, for `engine = "auto"`.

use isthmus_engine::bpf::{self, Arrivals, XdpAbilities};
use nix::net::if_::if_nametoindex;

use super::document::{Document, Engine, Interface};
use crate::rights;

impl Document {
    /// Chooses the engine of each `[[interface]]` that leaves it to the gateway, by what this machine says of the link,
    /// if it has one of that name. What it does not say is taken for a link on which XDP works: a start finds out.
    pub(super) fn choose_engines(&mut self) {
        let here = |name: &str| if_nametoindex(name).is_ok();
        let open = |one: &&mut Interface| {
            one.engine.value == Engine::Auto && here(one.name.value.as_str())
        };
        let mut open = self.interfaces.iter_mut().filter(open).peekable();
        if open.peek().is_none() {
            return;
        }
        let refusal = refusal();
        for interface in open {
            let name = interface.name.value.as_str();
            let (engine, why) = choose(
                refusal.as_deref(),
                bpf::arrivals(name).ok(),
                bpf::xdp_abilities(name).ok().flatten(),
            );
            interface.engine.value = engine;
            interface.chosen = Some(why);
        }
    }

    /// Keeps the engines that were chosen for the links of a configuration that is in force: a link may look different
    /// since it has its program.
    pub(crate) fn keep_engines(&mut self, in_force: &Self) {
        for interface in &mut self.interfaces {
            let same = |old: &&Interface| old.name == interface.name && old.chosen.is_some();
            let Some(old) = in_force.interfaces.iter().find(same) else {
                continue;
            };
            if interface.chosen.is_some() {
                interface.engine.value = old.engine.value;
            }
            // Who now names the engine that was chosen changes nothing.
            if interface.engine == old.engine {
                interface.chosen.clone_from(&old.chosen);
            }
        }
    }
}

/// The reason why this process cannot have BPF programs.
fn refusal() -> Option<String> {
    rights::unsupported().or_else(|| {
        let held = rights::held().ok()?;
        (!rights::may_load(&held)).then(|| "this process may not load BPF programs".to_owned())
    })
}

/// The engine for a link, and why.
fn choose(
    refusal: Option<&str>,
    arrivals: Option<Arrivals>,
    abilities: Option<XdpAbilities>,
) -> (Engine, String) {
    let (engine, why) = match (refusal, arrivals) {
        (Some(why), _) => (Engine::User, why),
        (None, Some(Arrivals::FromHere)) => (
            Engine::Tc,
            "super-packets come from this machine's own programs, whole in tc alone",
        ),
        (None, Some(Arrivals::FromHypervisor)) => (
            Engine::Tc,
            "super-packets come from the hypervisor, whole in tc alone",
        ),
        (None, Some(Arrivals::OneByOne) | None) => match abilities {
            Some(can) if !can.runs_programs => (Engine::Tc, "its driver does not run XDP"),
            _ => (Engine::Xdp, "packets come one by one"),
        },
    };
    (engine, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: Option<XdpAbilities> = Some(XdpAbilities {
        runs_programs: true,
        takes_frames: true,
    });
    const RUNS_NOTHING: Option<XdpAbilities> = Some(XdpAbilities {
        runs_programs: false,
        takes_frames: false,
    });

    #[test]
    fn each_link_has_the_engine_that_suits_it() {
        let chosen = |refusal, arrivals, abilities| choose(refusal, arrivals, abilities).0;
        let card = Some(Arrivals::OneByOne);
        assert_eq!(chosen(None, card, RUNS), Engine::Xdp);
        assert_eq!(chosen(None, card, RUNS_NOTHING), Engine::Tc);
        // Before Linux 6.3 nobody tells.
        assert_eq!(chosen(None, card, None), Engine::Xdp);
        assert_eq!(chosen(None, None, None), Engine::Xdp);
        assert_eq!(chosen(None, Some(Arrivals::FromHere), RUNS), Engine::Tc);
        assert_eq!(
            chosen(None, Some(Arrivals::FromHypervisor), RUNS),
            Engine::Tc
        );
        for arrivals in [card, Some(Arrivals::FromHere), None] {
            let (engine, why) = choose(Some("this is Linux 5.10"), arrivals, RUNS);
            assert_eq!((engine, why.as_str()), (Engine::User, "this is Linux 5.10"));
        }
    }
}
