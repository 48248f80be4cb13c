//! The options of RFC 7598 and RFC 6334, each as its section has it.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;
use isthmus_core::address::map::{MapRule, Ports};
use isthmus_core::address::port_set::{PortSet, Sharing};
use isthmus_core::address::rfc6052;

use super::cursor::Cursor;
use super::error::{Error, Problem};
use super::{Binding, Domain, Role, Rule};

/// An option code (RFC 7598 section 10, RFC 6334 section 7, RFC 8415 section 24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u16);

impl Code {
    pub(super) const IA_PD: Self = Self(25);
    const IAPREFIX: Self = Self(26);
    pub(super) const AFTR_NAME: Self = Self(64);
    pub(super) const RULE: Self = Self(89);
    pub(super) const BR: Self = Self(90);
    pub(super) const DMR: Self = Self(91);
    pub(super) const V4V6BIND: Self = Self(92);
    pub(super) const PORTPARAMS: Self = Self(93);
    pub(super) const MAPE: Self = Self(94);
    pub(super) const MAPT: Self = Self(95);
    pub(super) const LW: Self = Self(96);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::IA_PD => "OPTION_IA_PD",
            Self::IAPREFIX => "OPTION_IAPREFIX",
            Self::AFTR_NAME => "OPTION_AFTR_NAME",
            Self::RULE => "OPTION_S46_RULE",
            Self::BR => "OPTION_S46_BR",
            Self::DMR => "OPTION_S46_DMR",
            Self::V4V6BIND => "OPTION_S46_V4V6BIND",
            Self::PORTPARAMS => "OPTION_S46_PORTPARAMS",
            Self::MAPE => "OPTION_S46_CONT_MAPE",
            Self::MAPT => "OPTION_S46_CONT_MAPT",
            Self::LW => "OPTION_S46_CONT_LW",
            Self(other) => return write!(f, "option {other}"),
        })
    }
}

/// The prefixes in an OPTION_IA_PD (RFC 8415 sections 21.21 and 21.22).
pub(super) fn delegated(mut content: Cursor<'_>) -> Result<Vec<Ipv6Net>, Error> {
    content.take(12, "IAID, T1 and T2")?;
    let mut prefixes = Vec::new();
    while let Some((_, code, mut content)) = content.option()? {
        if code == Code::IAPREFIX {
            content.take(8, "lifetimes")?;
            let length = content.number("prefix-length", 128)?;
            let address = Ipv6Addr::from(content.array::<16>("IPv6-prefix")?);
            // Bits after the length are ignored.
            prefixes.push(Ipv6Net::new_assert(address, length).trunc());
        }
    }
    Ok(prefixes)
}

/// The name in an OPTION_AFTR_NAME, the first if there are more (RFC 6334 sections 3 and 5). It is the name of a host
/// (RFC 1123 section 2.1), in labels without compression (RFC 8415 section 10).
pub(super) fn aftr(mut content: Cursor<'_>) -> Result<String, Error> {
    let start = content.clone();
    let mut name = String::new();
    loop {
        let length = content.number("the length of a label", 63)?;
        if length == 0 {
            break;
        }
        let error_at = content.clone();
        if !name.is_empty() {
            name.push('.');
        }
        for &byte in content.take(length.into(), "a label")? {
            if !byte.is_ascii_alphanumeric() && byte != b'-' {
                return Err(error_at.error(Problem::Label));
            }
            name.push(byte.into());
        }
    }
    // 255 bytes with the length of the first label and the root (RFC 1035 section 2.3.4).
    if name.is_empty() || name.len() > 253 {
        return Err(start.error(Problem::Name));
    }
    Ok(name)
}

/// The options of a container so far.
#[derive(Default)]
struct Contents {
    rules: Vec<Rule>,
    relays: Vec<Ipv6Addr>,
    default: Option<rfc6052::Prefix>,
    binding: Option<Binding>,
}

/// A container (RFC 7598 sections 5 and 6) that begins at a byte.
pub(super) fn container(
    offset: usize,
    container: Code,
    mut content: Cursor<'_>,
) -> Result<Domain, Error> {
    let mut found = Contents::default();
    while let Some((offset, code, content)) = content.option()? {
        let error = |problem| Err(Error { offset, problem });
        match (code, container) {
            (Code::RULE, Code::MAPE | Code::MAPT) => found.rules.push(rule(content)?),
            (Code::BR, Code::MAPE | Code::LW) => found.relays.push(relay(content)?),
            (Code::DMR, Code::MAPT) if found.default.is_none() => {
                found.default = Some(default(content)?);
            }
            (Code::V4V6BIND, Code::LW) if found.binding.is_none() => {
                found.binding = Some(binding(content)?);
            }
            (Code::DMR, Code::MAPT) | (Code::V4V6BIND, Code::LW) => {
                return error(Problem::Many { code, container });
            }
            _ => return error(Problem::NotPermitted { code, container }),
        }
    }
    let missing = |code, count| Error {
        offset,
        problem: Problem::Missing {
            code,
            container,
            count,
        },
    };
    let Contents {
        rules,
        relays,
        default,
        binding,
    } = found;
    if container != Code::LW && rules.is_empty() {
        return Err(missing(Code::RULE, "one or more"));
    }
    if container != Code::MAPT && relays.is_empty() {
        return Err(missing(Code::BR, "one or more"));
    }
    Ok(match container {
        Code::MAPE => Domain::MapE { rules, relays },
        Code::MAPT => {
            let default = default.ok_or_else(|| missing(Code::DMR, "one"))?;
            Domain::MapT { rules, default }
        }
        _ => Domain::Lw4o6 { binding, relays },
    })
}

/// RFC 7598 section 4.1
fn rule(mut content: Cursor<'_>) -> Result<Rule, Error> {
    let error_at = content.clone();
    let [flags] = content.array("flags")?;
    let ea_bits = content.number("ea-len", 48)?;
    let v4_length = content.number("prefix4-len", 32)?;
    let v4 = u32::from_be_bytes(content.array("ipv4-prefix")?);
    // "Ignored by the receiver."
    let v4 = v4 & u32::MAX.checked_shl(32 - u32::from(v4_length)).unwrap_or(0);
    let v6 = content.prefix("ipv6-prefix")?;
    let explicit = parameters(Code::RULE, content)?;
    let (ports, discarded) = match explicit {
        None => {
            let offset = Sharing::DEFAULT_OFFSET;
            (Ports::Embedded { offset }, None)
        }
        Some(Parameters::Offset(offset)) => (Ports::Embedded { offset }, None),
        Some(Parameters::Set(set)) if v4_length + ea_bits < 32 => {
            let offset = Sharing::DEFAULT_OFFSET;
            (Ports::Embedded { offset }, Some(set))
        }
        Some(Parameters::Set(set)) => (Ports::Given(set), None),
    };
    let v6 = (v6.addr().into(), v6.prefix_len());
    let v4 = (Ipv4Addr::from_bits(v4).into(), v4_length);
    let rule = MapRule::new(v6, v4, ea_bits, ports)
        .map_err(|error| error_at.error(Problem::Rule(error)))?;
    Ok(Rule {
        rule,
        role: if flags & 1 == 0 {
            Role::Basic
        } else {
            Role::Forwarding
        },
        discarded,
    })
}

/// RFC 7598 section 4.2
fn relay(mut content: Cursor<'_>) -> Result<Ipv6Addr, Error> {
    let address = content.array::<16>("br-ipv6-address")?;
    content.end(Code::BR)?;
    Ok(address.into())
}

/// RFC 7598 section 4.3
fn default(mut content: Cursor<'_>) -> Result<rfc6052::Prefix, Error> {
    let error_at = content.clone();
    let net = content.prefix("dmr-ipv6-prefix")?;
    content.end(Code::DMR)?;
    rfc6052::Prefix::new(net.addr(), net.prefix_len())
        .map_err(|error| error_at.error(Problem::Default(error)))
}

/// RFC 7598 section 4.4
fn binding(mut content: Cursor<'_>) -> Result<Binding, Error> {
    let v4 = Ipv4Addr::from(content.array::<4>("ipv4-address")?);
    let prefix = content.prefix("bind-ipv6-prefix")?;
    let ports = match parameters(Code::V4V6BIND, content)? {
        Some(Parameters::Set(set)) => set,
        Some(Parameters::Offset(_)) | None => PortSet::WHOLE,
    };
    Ok(Binding { v4, prefix, ports })
}

/// Port parameters.
enum Parameters {
    /// A PSID offset without a PSID.
    Offset(u8),
    /// A PSID.
    Set(PortSet),
}

/// The options of a rule or binding, of which there is but OPTION_S46_PORTPARAMS (RFC 7598 section 4.5).
fn parameters(container: Code, mut content: Cursor<'_>) -> Result<Option<Parameters>, Error> {
    let mut found = None;
    while let Some((offset, code, mut content)) = content.option()? {
        if code != Code::PORTPARAMS {
            let problem = Problem::NotPermitted { code, container };
            return Err(Error { offset, problem });
        }
        if found.is_some() {
            let problem = Problem::Many { code, container };
            return Err(Error { offset, problem });
        }
        let error_at = content.clone();
        let offset = content.number("offset", 15)?;
        let length = content.number("PSID-len", 16)?;
        let psid_at = content.clone();
        let value = u16::from_be_bytes(content.array("PSID")?);
        content.end(code)?;
        if length == 0 {
            found = Some(Parameters::Offset(offset));
            continue;
        }
        let padding = 16 - u32::from(length);
        let psid = value >> padding;
        if psid << padding != value {
            // The sender did not shift it, or filled the field up.
            let right = match value >> length {
                0 => value << padding,
                _ => psid << padding,
            };
            return Err(psid_at.error(Problem::Psid {
                length,
                value,
                right,
            }));
        }
        let set = PortSet::new(offset, length, psid);
        let set = set.map_err(|error| error_at.error(Problem::Ports(error)))?;
        found = Some(Parameters::Set(set));
    }
    Ok(found)
}
