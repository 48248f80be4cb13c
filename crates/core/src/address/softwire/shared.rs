//! How the ports of lwB4s' addresses are divided.

use core::hint::black_box;

use crate::address::V4;
use crate::address::networks::V4Network;
use crate::address::port_set::Sharing;

/// The networks whose addresses lwB4s have, and how the ports of each are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SharedNetworks {
    /// Shortest prefix first.
    networks: [SharedNetwork; Self::MOST],
    count: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct SharedNetwork {
    network: V4Network,
    /// How its ports are divided, packed ([`Sharing::pack`]).
    sharing: u64,
}

impl SharedNetworks {
    /// The most networks that fit.
    pub const MOST: usize = 16;

    /// The networks with these addresses, prefix lengths (0 to 32) and parameters. The error is the number
    /// of the first for which there is no room.
    ///
    /// # Errors
    /// There are more than [`MOST`](Self::MOST).
    pub fn new(networks: &[(V4, u8, Sharing)]) -> Result<Self, usize> {
        if networks.len() > Self::MOST {
            return Err(Self::MOST);
        }
        let mut all = Self::default();
        // Prefixes of all lengths from the shortest: a later one takes precedence.
        for length in 0..=32 {
            for (address, _, sharing) in networks.iter().filter(|(_, n, _)| *n == length) {
                all.networks[all.count as usize] = SharedNetwork {
                    network: V4Network::new(*address, length),
                    sharing: sharing.pack(),
                };
                all.count += 1;
            }
        }
        Ok(all)
    }

    /// How the ports of an address are divided: by the network with the longest prefix. `None` if no
    /// lwB4 has the address.
    ///
    /// This is arithmetic without branches: with a branch for each network the verifier of BPF would check
    /// the rest once for each.
    #[inline(always)]
    #[must_use]
    pub fn find(&self, address: V4) -> Option<Sharing> {
        let mut found = 0;
        for (index, one) in self.networks.iter().enumerate() {
            if index as u32 >= self.count {
                break;
            }
            let differs = u64::from(one.network.differs(address));
            let covers = black_box(differs).wrapping_sub(1) >> 63;
            found ^= (found ^ one.sharing) & 0_u64.wrapping_sub(black_box(covers));
        }
        Sharing::unpack(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::v4;

    #[test]
    fn the_longest_network_tells_how_ports_are_divided() {
        let (shared, whole) = (Sharing::new(6, 8).unwrap(), Sharing::WHOLE);
        let half = Sharing::new(0, 1).unwrap();
        let networks = [
            (v4("192.0.2.7"), 32, whole),
            (v4("192.0.2.0"), 24, shared),
            (v4("192.0.2.128"), 25, half),
        ];
        let networks = SharedNetworks::new(&networks).unwrap();
        for (address, expected) in [
            ("192.0.2.6", Some(shared)),
            ("192.0.2.7", Some(whole)),
            ("192.0.2.127", Some(shared)),
            ("192.0.2.128", Some(half)),
            ("192.0.2.255", Some(half)),
            ("192.0.3.0", None),
            ("0.0.0.0", None),
        ] {
            assert_eq!(networks.find(v4(address)), expected, "{address}");
        }
        assert_eq!(SharedNetworks::default().find(v4("0.0.0.0")), None);
        let many = [(v4("0.0.0.0"), 0, whole); SharedNetworks::MOST + 1];
        assert_eq!(
            SharedNetworks::new(&many).unwrap_err(),
            SharedNetworks::MOST
        );
    }
}
