//! `isthmus addr dhcpv6`

mod instance;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use ipnet::Ipv6Net;
use isthmus_core::address::map::MapRules;
use isthmus_gateway::softwire46::{
    self, Binding, Domain, Ignored, Provisioned, Reason, Role, Rule,
};
use serde_json::{Value, json};

use super::ce::{self, Answer, PortsAnswer};
use super::prefix;

const NOTHING: &str = "there is no MAP-E, MAP-T, lw4o6 or DS-Lite for a router in it";

/// Explain DHCPv6 options for a router with MAP-E, MAP-T, lw4o6 or DS-Lite
///
/// The options, or a server's message with them, are in hexadecimal, as an argument or in a file. Spaces, line
/// ends and colons do not matter.
#[derive(Args, Debug)]
pub(super) struct Dhcpv6 {
    /// Hexadecimal digits, or the name of a file with them
    #[arg(value_name = "HEX|FILE")]
    dump: String,
    /// The router's IPv6 prefix, if the dump does not delegate it
    #[arg(long, value_name = "PREFIX", value_parser = prefix::network)]
    prefix: Vec<Ipv6Net>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the instance of a configuration with this name, all but what is `inside` or `exempt`. The name of an AFTR
    /// is looked up
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    toml: Option<String>,
}

impl Dhcpv6 {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let (name, text) = if Path::new(&self.dump).is_file() {
            let text = std::fs::read_to_string(&self.dump)
                .with_context(|| format!("cannot read {}", self.dump))?;
            (self.dump.as_str(), text)
        } else {
            ("the dump", self.dump.clone())
        };
        let bytes = digits(&text).with_context(|| format!("{name} is not hexadecimal"))?;
        if bytes.is_empty() {
            bail!("{name} is empty");
        }
        let mut found = softwire46::read(&bytes).with_context(|| format!("cannot read {name}"))?;
        found.prefixes.extend(&self.prefix);
        if let Some(toml) = &self.toml {
            return configure(toml, &found);
        }
        let domains: Vec<_> = found
            .domains
            .iter()
            .map(|domain| explain(domain, &found.prefixes))
            .collect();
        if self.json {
            println!("{:#}", to_json(&found, &domains));
        } else {
            print(&found, &domains);
        }
        Ok(if found.domains.is_empty() {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// Prints an instance.
fn configure(name: &str, found: &Provisioned) -> Result<ExitCode> {
    for ignored in &found.ignored {
        eprintln!("note: {}", why(ignored));
    }
    if found.domains.is_empty() {
        bail!(NOTHING);
    }
    let text = instance::text(name, &found.domains, &found.prefixes);
    print!("{}", text.map_err(anyhow::Error::msg)?);
    Ok(ExitCode::SUCCESS)
}

/// Parses hexadecimal text.
fn digits(text: &str) -> Result<Vec<u8>> {
    let text = text.trim().strip_prefix("0x").unwrap_or(text.trim());
    let mut bytes = Vec::new();
    let mut high = None;
    for (index, character) in text.chars().enumerate() {
        if character.is_whitespace() || character == ':' {
            continue;
        }
        let Some(digit) = character.to_digit(16) else {
            bail!(
                "character {} is '{character}': expected 0 to 9, a to f, spaces and colons",
                index + 1
            );
        };
        high = match high {
            None => Some(digit),
            Some(high) => {
                bytes.push((high << 4 | digit) as u8);
                None
            }
        };
    }
    if high.is_some() {
        bail!(
            "the number of digits is odd: there are {} bytes and a digit",
            bytes.len()
        );
    }
    Ok(bytes)
}

/// Describes a domain.
struct Explained {
    mechanism: &'static str,
    lines: Vec<String>,
    json: Value,
}

fn explain(domain: &Domain, prefixes: &[Ipv6Net]) -> Explained {
    match domain {
        Domain::MapE { relays, .. } => {
            let (mut lines, mut json) = of_rules(domain, prefixes);
            lines.insert(0, relay_line("BR", relays));
            json["relays"] = json!(relays);
            Explained {
                mechanism: "MAP-E",
                lines,
                json,
            }
        }
        Domain::MapT { default, .. } => {
            let (mut lines, mut json) = of_rules(domain, prefixes);
            lines.insert(
                0,
                format!("other IPv4 hosts are under {default}, the Default Mapping Rule"),
            );
            json["default"] = json!(default.to_string());
            Explained {
                mechanism: "MAP-T",
                lines,
                json,
            }
        }
        Domain::Lw4o6 { binding, relays } => {
            let mut lines = vec![relay_line("lwAFTR", relays)];
            let mut json = json!({ "relays": relays });
            match binding {
                Some(binding) => of_binding(binding, prefixes, &mut lines, &mut json),
                None => lines.push("the IPv4 address comes from elsewhere (DHCP 4o6)".to_owned()),
            }
            Explained {
                mechanism: "lw4o6",
                lines,
                json,
            }
        }
        Domain::DsLite { aftr } => {
            let tunnels: Vec<_> = prefixes
                .iter()
                .filter_map(|&own| instance::b4(own))
                .collect();
            let mut lines = vec![format!("AFTR: {aftr}")];
            lines.extend(
                tunnels
                    .iter()
                    .map(|own| format!("the tunnel's address may be {own}")),
            );
            Explained {
                mechanism: "DS-Lite",
                lines,
                json: json!({ "aftr": aftr, "addresses": tunnels }),
            }
        }
    }
}

fn relay_line(name: &str, relays: &[Ipv6Addr]) -> String {
    let relays: Vec<_> = relays.iter().map(Ipv6Addr::to_string).collect();
    format!("{name}: {}", relays.join(" "))
}

/// Rules, and the address and ports of the CE by the basic rule.
fn of_rules(domain: &Domain, prefixes: &[Ipv6Net]) -> (Vec<String>, Value) {
    let mut lines = Vec::new();
    let mut rules = Vec::new();
    let mut together = MapRules::NONE;
    for rule in domain.rules() {
        let text = describe(rule);
        lines.push(format!("rule: {text}"));
        lines.push(format!("  CEs have {}", ce::assigned(&rule.rule)));
        if let Some(set) = rule.discarded {
            lines.push(format!(
                "  its PSID {:#x} is discarded: CEs have IPv4 prefixes (RFC 7598 section 4.5)",
                set.psid()
            ));
        }
        let contradiction = together
            .push(rule.rule)
            .err()
            .map(|error| error.to_string());
        lines.extend(contradiction.as_ref().map(|error| format!("  but {error}")));
        let ((v6, n), (v4, r)) = (rule.rule.v6(), rule.rule.v4());
        rules.push(json!({
            "v6": format!("{}/{n}", Ipv6Addr::from(v6)),
            "v4": format!("{}/{r}", Ipv4Addr::from(v4)),
            "ea-bits": rule.rule.ea_bits(),
            "forwarding": rule.role == Role::Forwarding,
            "psid-offset": rule.rule.sharing().offset(),
            "contradiction": contradiction,
        }));
    }
    let mut ces = Vec::new();
    for &prefix in prefixes {
        let Some(rule) = domain.basic_rule(prefix) else {
            lines.push(format!("{prefix}: under no rule"));
            continue;
        };
        match rule.rule.ce((prefix.network().into(), prefix.prefix_len())) {
            Ok(ce) => {
                let answer = Answer::new(&rule.rule, &ce);
                lines.push(format!("{prefix}:"));
                lines.extend(answer.lines().into_iter().map(|line| format!("  {line}")));
                ces.push(json!({ "prefix": prefix, "has": answer }));
            }
            Err(error) => {
                lines.push(format!("{prefix}: {error}"));
                ces.push(json!({ "prefix": prefix, "error": error.to_string() }));
            }
        }
    }
    (lines, json!({ "rules": rules, "customers": ces }))
}

fn describe(rule: &Rule) -> String {
    let ((v6, n), (v4, r)) = (rule.rule.v6(), rule.rule.v4());
    let role = match rule.role {
        Role::Basic => "for its own CEs only",
        Role::Forwarding => "for forwarding, too",
    };
    let bits = rule.rule.ea_bits();
    format!("{v6}/{n} = {v4}/{r} and {bits} EA bits, {role}")
}

fn of_binding(binding: &Binding, prefixes: &[Ipv6Net], lines: &mut Vec<String>, json: &mut Value) {
    let ports = PortsAnswer::new(binding.ports);
    lines.push(format!("IPv4 address: {}{}", binding.v4, ports.sharers()));
    lines.extend(ports.lines());
    lines.push(format!("IPv6 addresses: under {}", binding.prefix));
    let mut addresses = Vec::new();
    // Without the router's prefixes, the binding prefix is the best guess.
    let guess = [binding.prefix];
    let own = if prefixes.is_empty() {
        &guess
    } else {
        prefixes
    };
    for &prefix in own {
        match binding.address(prefix) {
            Some(address) => {
                lines.push(format!("{prefix}: the tunnel's address is {address}"));
                addresses.push(address);
            }
            None => lines.push(format!("{prefix}: not under {}", binding.prefix)),
        }
    }
    json["v4"] = json!(binding.v4);
    json["prefix"] = json!(binding.prefix);
    json["ports"] = json!(ports);
    json["addresses"] = json!(addresses);
}

fn print(found: &Provisioned, domains: &[Explained]) {
    for explained in domains {
        println!("{}", explained.mechanism);
        for line in &explained.lines {
            println!("  {line}");
        }
    }
    if found.domains.is_empty() {
        eprintln!("isthmus: {NOTHING}");
    }
    for ignored in &found.ignored {
        eprintln!("note: {}", why(ignored));
    }
}

fn why(ignored: &Ignored) -> String {
    let (offset, code) = (ignored.offset, ignored.code);
    match &ignored.reason {
        Reason::Unrelated => format!("byte {offset}: {code} is about something else"),
        Reason::NoContainer => format!(
            "byte {offset}: {code} is ignored: it must be in a container (RFC 7598 section 3)"
        ),
        Reason::Another => {
            format!("byte {offset}: {code} is ignored: only the first counts (RFC 6334 section 5)")
        }
        Reason::Invalid(error) => format!("byte {offset}: {code} is ignored: {error}"),
    }
}

fn to_json(found: &Provisioned, domains: &[Explained]) -> Value {
    let domains: Vec<_> = domains
        .iter()
        .map(|explained| {
            let mut json = explained.json.clone();
            json["mechanism"] = explained.mechanism.into();
            json
        })
        .collect();
    let ignored: Vec<_> = found.ignored.iter().map(why).collect();
    json!({ "domains": domains, "prefixes": found.prefixes, "notes": ignored })
}
