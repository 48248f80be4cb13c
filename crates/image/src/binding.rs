//! Static bindings as plain data.

use bytemuck::{Pod, Zeroable};
use isthmus_core::address::{V4, V6};
use isthmus_core::nat::{Endpoint4, Inside, Protocol, StaticBinding};

/// A static binding of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Binding {
    /// The number of the instance.
    pub instance: u32,
    /// The number of the protocol (IANA).
    protocol: u32,
    /// The halves of the IPv6 address inside; 0 if there is none.
    inside: [u64; 2],
    /// The IPv4 address inside as a number; 0 if there is none.
    inside_v4: u32,
    /// The IPv4 address outside as a number.
    outside_v4: u32,
    inside_port: u32,
    outside_port: u32,
}

impl Binding {
    /// A binding of the instance with this number.
    #[must_use]
    pub fn new(instance: u32, binding: &StaticBinding) -> Self {
        let StaticBinding {
            protocol,
            inside,
            outside,
        } = binding;
        let (high, low) = inside.address.halves();
        Self {
            instance,
            protocol: *protocol as u32,
            inside: [high, low],
            inside_v4: inside.v4.number(),
            outside_v4: outside.address.number(),
            inside_port: inside.port.into(),
            outside_port: outside.port.into(),
        }
    }

    /// The binding for the core; `None` if the protocol has no state.
    #[must_use]
    pub fn get(&self) -> Option<StaticBinding> {
        let protocols = [Protocol::Icmp, Protocol::Tcp, Protocol::Udp];
        let mut protocols = protocols.into_iter();
        let [high, low] = self.inside;
        Some(StaticBinding {
            protocol: protocols.find(|protocol| *protocol as u32 == self.protocol)?,
            inside: Inside {
                address: V6::from_halves(high, low),
                v4: V4::from_number(self.inside_v4),
                port: u16::try_from(self.inside_port).ok()?,
            },
            outside: Endpoint4 {
                address: V4::from_number(self.outside_v4),
                port: u16::try_from(self.outside_port).ok()?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_comes_back_as_it_was() {
        let binding = StaticBinding {
            protocol: Protocol::Udp,
            inside: Inside {
                address: V6::from_halves(0x2001_0db8_0000_0001, 2),
                v4: V4::from_number(0xc0a8_0102),
                port: 53,
            },
            outside: Endpoint4 {
                address: V4::from_number(0xcb00_7101),
                port: 5353,
            },
        };
        let packed = Binding::new(3, &binding);
        assert_eq!((packed.instance, packed.get()), (3, Some(binding)));
        assert_eq!(
            Binding {
                protocol: 41,
                ..packed
            }
            .get(),
            None
        );
        assert_eq!(
            Binding {
                outside_port: 1 << 16,
                ..packed
            }
            .get(),
            None
        );
    }
}
