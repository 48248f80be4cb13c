//! The machine's firewall lets translated packets pass, and sees those that it should.
//!
//! The rules are read by `nft`, which shows those of `iptables-nft` as well.

use std::io;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use super::{Case, Check, Defect, Depth, Remedy, Unseen};
use crate::config::{Engine, Forward, Interface};

pub(super) const DROPS: Check = Check {
    name: "firewall-drops",
    about: "a `forward` chain of nftables drops what no rule accepts, and no rule accepts what the gateway forwards",
    depth: Depth::Whole,
    look: drops,
};

pub(super) const BYPASSED: Check = Check {
    name: "firewall-bypassed",
    about: "rules of nftables for forwarded packets, which those that XDP and tc send themselves pass by",
    depth: Depth::Whole,
    look: bypassed,
};

/// The output of `nft --json list ruleset`.
#[derive(Deserialize)]
struct Printed {
    nftables: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    chain: Option<Chain>,
    rule: Option<Rule>,
}

#[derive(Deserialize)]
struct Chain {
    family: String,
    table: String,
    name: String,
    hook: Option<String>,
    policy: Option<String>,
}

#[derive(Deserialize)]
struct Rule {
    family: String,
    table: String,
    chain: String,
    #[serde(default)]
    expr: Vec<Value>,
}

/// The chains at the hook `forward`, each with its rules.
fn chains() -> Result<Vec<(Chain, Vec<Rule>)>, Unseen> {
    let unseen = |error: &dyn std::fmt::Display| Unseen::new("nft --json list ruleset", error);
    let output = match Command::new("nft")
        .args(["--json", "list", "ruleset"])
        .output()
    {
        // Whoever has no such program has no such rules.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unseen(&error)),
        Ok(output) => output,
    };
    if !output.status.success() {
        return Err(unseen(&String::from_utf8_lossy(&output.stderr).trim()));
    }
    let printed: Printed =
        serde_json::from_slice(&output.stdout).map_err(|error| unseen(&error))?;
    let (mut chains, mut rules) = (Vec::new(), Vec::new());
    for entry in printed.nftables {
        chains.extend(entry.chain);
        rules.extend(entry.rule);
    }
    chains.retain(|chain| {
        let of_ip = ["ip", "ip6", "inet"].contains(&chain.family.as_str());
        of_ip && chain.hook.as_deref() == Some("forward")
    });
    let mut found: Vec<(Chain, Vec<Rule>)> = chains
        .into_iter()
        .map(|chain| (chain, Vec::new()))
        .collect();
    for rule in rules {
        let place = found.iter_mut().find(|(chain, _)| {
            (&chain.family, &chain.table, &chain.name) == (&rule.family, &rule.table, &rule.chain)
        });
        if let Some((_, rules)) = place {
            rules.push(rule);
        }
    }
    Ok(found)
}

fn drops(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let tun = case.document().tun.name.value.as_str();
    let mut ways = vec![("iifname", tun), ("oifname", tun)];
    let kernel_forwards = case
        .document()
        .interfaces
        .iter()
        .filter(|one| one.engine.value != Engine::User && one.forward == Forward::Kernel);
    ways.extend(kernel_forwards.map(|one| ("iifname", one.name.value.as_str())));
    let mut defects = Vec::new();
    for (chain, rules) in chains()? {
        if chain.policy.as_deref() != Some("drop") {
            continue;
        }
        let closed =
            |(key, link): &&(&str, &str)| !rules.iter().any(|rule| accepts(rule, key, link));
        let place = format!("{} {} {}", chain.family, chain.table, chain.name);
        let commands: Vec<String> = ways
            .iter()
            .filter(closed)
            .map(|(key, link)| format!("nft insert rule {place} {key} {link} accept"))
            .collect();
        if commands.is_empty() {
            continue;
        }
        defects.push(Defect::new(
            format!(
                "the chain {place} drops by policy, and no rule accepts all packets of the gateway"
            ),
            format!(
                "What is translated in user space is forwarded from and to {tun}, and dropped there"
            ),
            Remedy::command(commands.join(" && ")),
        ));
    }
    Ok(defects)
}

/// Whether a rule accepts all packets of this link, or all packets.
fn accepts(rule: &Rule, key: &str, link: &str) -> bool {
    let is_accept = |expression: &&Value| expression.get("accept").is_some();
    let is_counter = |expression: &&Value| expression.get("counter").is_some();
    let is_link = |expression: &&Value| {
        let Some(matched) = expression.get("match") else {
            return false;
        };
        // `iif` has the number of the link, and nft prints its name.
        let left = matched["left"]["meta"]["key"].as_str().unwrap_or_default();
        let left = left.trim_end_matches("name");
        matched["op"] == "==" && left == key.trim_end_matches("name") && matched["right"] == link
    };
    let known = |expression: &Value| {
        is_accept(&expression) || is_counter(&expression) || is_link(&expression)
    };
    rule.expr.iter().any(|expression| is_accept(&expression)) && rule.expr.iter().all(known)
}

fn bypassed(case: &Case<'_>) -> Result<Vec<Defect>, Unseen> {
    let past = |interface: &&Interface| {
        interface.engine.value != Engine::User && interface.forward == Forward::Redirect
    };
    let interfaces: Vec<&Interface> = case.document().interfaces.iter().filter(past).collect();
    if interfaces.is_empty() {
        return Ok(Vec::new());
    }
    // A chain without rules that accepts everything decides nothing.
    let decides = |(chain, rules): &(Chain, Vec<Rule>)| {
        chain.policy.as_deref() == Some("drop") || !rules.is_empty()
    };
    let Some((chain, rules)) = chains()?.into_iter().find(decides) else {
        return Ok(Vec::new());
    };
    let Chain {
        family,
        table,
        name,
        ..
    } = chain;
    let rules = rules.len();
    let defect = |interface: &Interface| {
        let link = &interface.name.value;
        Defect::new(
            format!(
                "the chain {family} {table} {name} has rules ({rules}), and {link} has `forward = \"redirect\"`"
            ),
            "Packets that XDP and tc translate leave at once: no rule sees them, nor does connection tracking",
            Remedy::interface(link, "forward = \"kernel\""),
        )
    };
    Ok(interfaces.into_iter().map(defect).collect())
}
