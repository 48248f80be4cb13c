//! The instance that DHCPv6 options ask for, as text of a configuration.

use std::fmt::{Display, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};

use ipnet::Ipv6Net;
use isthmus_core::address::map::Ports;
use isthmus_core::address::port_set::PortSet;
use isthmus_gateway::softwire46::{Binding, Domain, Role, Rule};

/// A CE of the first of the domains that serves one of the prefixes. All keys but `inside` or `exempt`: what is behind the
/// CE is not the provider's to say.
///
/// # Errors
/// Why none of them does.
pub(super) fn text(name: &str, domains: &[Domain], prefixes: &[Ipv6Net]) -> Result<String, String> {
    let mut whys = Vec::new();
    for domain in domains {
        match of(domain, prefixes) {
            Ok(keys) => {
                let mut text = format!("[[instance]]\nname = {}\n", quoted(name));
                for (key, value) in keys.0 {
                    // Writing to a string does not fail.
                    let _written = writeln!(text, "{key} = {value}");
                }
                return Ok(text);
            }
            Err(why) => whys.push(why),
        }
    }
    Err(whys.join("; "))
}

/// Keys with their values, in TOML.
#[derive(Default)]
struct Keys(Vec<(&'static str, String)>);

impl Keys {
    fn text(&mut self, key: &'static str, value: impl Display) {
        self.0.push((key, quoted(value)));
    }

    fn plain(&mut self, key: &'static str, value: impl Display) {
        self.0.push((key, value.to_string()));
    }
}

/// Text in quotes.
fn quoted(value: impl Display) -> String {
    let value = value.to_string();
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

fn of(domain: &Domain, prefixes: &[Ipv6Net]) -> Result<Keys, String> {
    let mut keys = Keys::default();
    match domain {
        Domain::MapE { relays, .. } => {
            keys.text("mechanism", "map-e");
            keys.text("role", "ce");
            keys.text("br", first(relays)?);
            ce(domain, prefixes, &mut keys)?;
        }
        Domain::MapT { default, .. } => {
            keys.text("mechanism", "map-t");
            keys.text("role", "ce");
            keys.text("prefix", default);
            ce(domain, prefixes, &mut keys)?;
        }
        Domain::Lw4o6 { binding, relays } => {
            let binding = binding.as_ref();
            let binding = binding.ok_or("the IPv4 address of lw4o6 comes from elsewhere")?;
            keys.text("mechanism", "lw4o6");
            keys.text("role", "b4");
            keys.text("aftr", first(relays)?);
            lw_b4(binding, prefixes, &mut keys)?;
        }
        Domain::DsLite { aftr } => {
            let local = prefixes.iter().find_map(|&prefix| b4(prefix));
            let none = "no prefix of 64 bits or less is delegated: say which with --prefix";
            let local = local.ok_or(none)?;
            keys.text("mechanism", "ds-lite");
            keys.text("role", "b4");
            keys.text("local", local);
            keys.text("aftr", look_up(aftr, local)?);
        }
    }
    Ok(keys)
}

fn first(relays: &[Ipv6Addr]) -> Result<&Ipv6Addr, String> {
    relays.first().ok_or_else(|| "there is no relay".into())
}

/// The keys of a CE of MAP: its prefix, the rule of that, and the rules by which it reaches other CEs at once.
fn ce(domain: &Domain, prefixes: &[Ipv6Net], keys: &mut Keys) -> Result<(), String> {
    let own = prefixes.iter().find_map(|prefix| {
        let rule = domain.basic_rule(*prefix)?;
        let end_user = (prefix.network().into(), prefix.prefix_len());
        rule.rule.ce(end_user).ok()?;
        Some((prefix, rule))
    });
    let (prefix, basic) = own.ok_or_else(|| {
        let prefixes: Vec<_> = prefixes.iter().map(Ipv6Net::to_string).collect();
        match prefixes.join(", ") {
            none if none.is_empty() => "no prefix is delegated: say which with --prefix".to_owned(),
            some => format!("no rule gives an IPv4 address to {some}"),
        }
    })?;
    let rules = domain.rules().iter();
    let rules = rules.filter(|rule| rule.role == Role::Forwarding || *rule == basic);
    let rules: Vec<_> = rules.map(table).collect();
    keys.plain("rules", format!("[{}]", rules.join(", ")));
    keys.text("end-user-prefix", prefix);
    Ok(())
}

fn table(rule: &Rule) -> String {
    let rule = &rule.rule;
    let ((v6, n), (v4, r)) = (rule.v6(), rule.v4());
    let (v6, v4) = (Ipv6Addr::from(v6), Ipv4Addr::from(v4));
    let bits = rule.ea_bits();
    let ports = match rule.ports() {
        Ports::Embedded { offset } => format!("psid-offset = {offset}"),
        Ports::Given(set) => {
            let ports = ports(set).map(|(key, value)| format!("{key} = {value}"));
            ports.join(", ")
        }
    };
    format!("{{ v6 = \"{v6}/{n}\", v4 = \"{v4}/{r}\", ea-bits = {bits}, {ports} }}")
}

fn ports(set: PortSet) -> [(&'static str, u32); 3] {
    let sharing = set.sharing();
    [
        ("psid", set.psid().into()),
        ("psid-length", sharing.length().into()),
        ("psid-offset", sharing.offset().into()),
    ]
}

/// The keys of an lwB4.
fn lw_b4(binding: &Binding, prefixes: &[Ipv6Net], keys: &mut Keys) -> Result<(), String> {
    let local = prefixes.iter().find_map(|prefix| binding.address(*prefix));
    let local = local.ok_or_else(|| {
        format!(
            "no prefix is under {}: say which with --prefix",
            binding.prefix
        )
    })?;
    keys.text("local", local);
    keys.text("address", binding.v4);
    if !binding.ports.sharing().is_whole() {
        for (key, value) in ports(binding.ports) {
            keys.plain(key, value);
        }
    }
    Ok(())
}

/// The B4's address in its softwire (RFC 6333 section 5.7). It is also the interface identifier of the B4's IPv6 address,
/// which nobody else in the first /64 of its prefix has.
const B4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);

/// Returns the IPv6 address of a B4 with this prefix; `None` if it has no /64.
pub(super) fn b4(own: Ipv6Net) -> Option<Ipv6Addr> {
    let network = own.network().to_bits();
    (own.prefix_len() <= 64).then(|| Ipv6Addr::from_bits(network | u128::from(B4.to_bits())))
}

/// Returns the address of an AFTR for the B4 with the address `local`.
fn look_up(aftr: &str, local: Ipv6Addr) -> Result<Ipv6Addr, String> {
    // The dot keeps the resolver from trying domains of its own behind the name.
    let found = (format!("{aftr}."), 0).to_socket_addrs();
    let found = found.map_err(|error| format!("the address of {aftr} is not known: {error}"))?;
    let found = found.filter_map(|socket| match socket.ip() {
        IpAddr::V6(address) => Some(address),
        IpAddr::V4(_) => None,
    });
    choose(found, local).ok_or_else(|| format!("{aftr} has no IPv6 address"))
}

/// Chooses one of the addresses of an AFTR (RFC 6334 section 5): always the same while it is among them, in whatever order
/// the DNS has them today, and not the same for every B4.
fn choose(found: impl Iterator<Item = Ipv6Addr>, local: Ipv6Addr) -> Option<Ipv6Addr> {
    found.max_by_key(|address| {
        let mut hasher = DefaultHasher::new();
        (local, address).hash(&mut hasher);
        (hasher.finish(), *address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_b4_keeps_its_aftr() {
        let aftrs: Vec<Ipv6Addr> = (1..5).map(Ipv6Addr::from_bits).collect();
        let mut chosen = [false; 4];
        for customer in 0..64_u128 {
            let local = Ipv6Addr::from_bits(customer << 72);
            let aftr = choose(aftrs.iter().copied(), local).unwrap();
            assert_eq!(choose(aftrs.iter().rev().copied(), local), Some(aftr));
            let fewer = aftrs.iter().skip(1).copied();
            assert!(aftr == aftrs[0] || choose(fewer, local) == Some(aftr));
            chosen[aftrs.iter().position(|one| *one == aftr).unwrap()] = true;
        }
        assert_eq!(chosen, [true; 4]);
    }
}
