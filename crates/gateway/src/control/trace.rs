//! Followed packets: which a client wants to see, and what it is told of each.

use std::net::IpAddr;

use ipnet::IpNet;
use isthmus_engine::trace::Filter;
use serde::{Deserialize, Serialize};

/// A request to follow packets: those of which the form that came or the form that left meets all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TraceRequest {
    /// One of the addresses is in this network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<IpNet>,
    /// The protocol: `tcp`, `udp`, `icmp` (of both families), or a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// One of the ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The name of an instance that has counted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Only what was dropped or refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
    /// Bytes of each form that are told, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snap: Option<u32>,
}

/// Protocols by name: the numbers for IPv4 and IPv6.
const PROTOCOLS: [(&str, [u8; 2]); 3] = [("tcp", [6, 6]), ("udp", [17, 17]), ("icmp", [1, 58])];

impl TraceRequest {
    /// The conditions on bytes, for the engines.
    ///
    /// # Errors
    /// The protocol is none.
    pub(crate) fn filter(&self) -> Result<Filter, String> {
        let mut filter = Filter::default();
        if let Some(network) = self.network {
            let (family, words) = match network {
                IpNet::V4(net) => (
                    Filter::V4,
                    [
                        net.network().octets().to_vec(),
                        net.netmask().octets().to_vec(),
                    ],
                ),
                IpNet::V6(net) => (
                    Filter::V6,
                    [
                        net.network().octets().to_vec(),
                        net.netmask().octets().to_vec(),
                    ],
                ),
            };
            [filter.network, filter.mask] = words.map(|octets| {
                let mut words = [0; 4];
                for (word, four) in words.iter_mut().zip(octets.chunks_exact(4)) {
                    *word = u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
                }
                words
            });
            filter.conditions |= family;
        }
        if let Some(name) = &self.protocol {
            let named = PROTOCOLS.iter().find(|(known, _)| known == name);
            let number = || name.parse().ok().map(|number| [number; 2]);
            let numbers = named.map(|(_, numbers)| *numbers).or_else(number);
            filter.protocols = numbers.ok_or_else(|| {
                format!("`protocol` is {name:?}: expected tcp, udp, icmp or a number from 0 to 255")
            })?;
            filter.conditions |= Filter::PROTOCOL;
        }
        if let Some(port) = self.port {
            filter.port = port;
            filter.conditions |= Filter::PORT;
        }
        Ok(filter)
    }
}

/// The way of a packet through an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TracedPacket {
    /// When it came, in nanoseconds since 1970.
    pub time: u64,
    /// `xdp`, `tc` or `user`.
    pub engine: String,
    /// The link that it came in on.
    pub link: String,
    /// `sent`, `passed` to the kernel, `waits` for others, `dropped`, or `refused`: dropped, with an answer to its
    /// sender.
    pub fate: String,
    /// The counters that it changed.
    pub reasons: Vec<Reason>,
    /// What the addresses with which it came mean to the instances that counted it: the entry, the prefix or the
    /// pool that is responsible.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rules: Vec<Rule>,
    /// The state of its session, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<super::Listed>,
    /// As it came.
    pub came: PacketForm,
    /// As it left. Fragments and answers are several.
    pub left: Vec<PacketForm>,
}

/// A counter that a packet changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reason {
    /// The instance that has counted; none is the gateway.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instance: Option<String>,
    /// The counter.
    pub counter: String,
}

/// The meaning of an address to an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rule {
    /// The instance.
    pub instance: String,
    /// The address.
    pub address: IpAddr,
    /// Its meaning, as `isthmus addr explain` has it.
    pub meaning: String,
}

/// A packet at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketForm {
    /// Its length.
    pub length: u32,
    /// The first bytes of it, or all, as hexadecimal digits. Those of XDP and tc begin with an Ethernet header.
    #[serde(with = "hexadecimal")]
    pub bytes: Vec<u8>,
}

/// Octets as digits.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
        let mut digits = String::with_capacity(bytes.len() * 2);
        for byte in bytes {
            for nibble in [byte >> 4, byte & 15] {
                digits.extend(char::from_digit(nibble.into(), 16));
            }
        }
        out.serialize_str(&digits)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(input: D) -> Result<Vec<u8>, D::Error> {
        let digits = String::deserialize(input)?;
        let nibbles: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
        let nibbles = nibbles.filter(|all| all.len().is_multiple_of(2));
        let nibbles = nibbles.ok_or_else(|| de::Error::custom("not hexadecimal octets"))?;
        Ok(nibbles
            .chunks(2)
            .map(|two| (two[0] << 4 | two[1]) as u8)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_engine::trace::head;

    fn request(protocol: Option<&str>, network: Option<&str>) -> TraceRequest {
        TraceRequest {
            network: network.map(|text| text.parse().unwrap()),
            protocol: protocol.map(Into::into),
            ..TraceRequest::default()
        }
    }

    #[test]
    fn conditions_are_those_of_the_engines() {
        let mut packet = [0; 28];
        packet[0] = 0x45;
        packet[9] = 1;
        packet[12..20].copy_from_slice(&[192, 0, 2, 7, 203, 0, 113, 1]);
        let admits = |protocol, network| {
            let filter = request(protocol, network).filter().unwrap();
            filter.admits(&head(&packet))
        };
        assert!(admits(None, None));
        assert!(admits(Some("icmp"), Some("192.0.2.0/29")));
        assert!(admits(Some("1"), Some("203.0.113.1/32")));
        assert!(!admits(Some("58"), None) && !admits(Some("udp"), None));
        assert!(!admits(None, Some("192.0.2.8/29")) && !admits(None, Some("2001:db8::/32")));
        assert!(
            request(Some("tls"), None)
                .filter()
                .unwrap_err()
                .contains("tls")
        );
    }

    #[test]
    fn bytes_are_digits() {
        let form = PacketForm {
            length: 3,
            bytes: vec![0, 0x4f, 0xff],
        };
        let text = serde_json::to_string(&form).unwrap();
        assert_eq!(text, r#"{"length":3,"bytes":"004fff"}"#);
        assert_eq!(serde_json::from_str::<PacketForm>(&text).unwrap(), form);
        for wrong in ["0", "0g", "é0"] {
            let text = text.replace("004fff", wrong);
            assert!(
                serde_json::from_str::<PacketForm>(&text).is_err(),
                "{wrong}"
            );
        }
    }
}
