//! How packets come in on a link: one by one, as XDP programs have them, or joined to super-packets, which only tc has
//! whole.

use std::io;

use netlink_packet_route::link::LinkAttribute;

use super::attached::about;
use crate::sys;

/// `VIRTIO_NET_F_GUEST_TSO4` and `VIRTIO_NET_F_GUEST_TSO6` (Virtual I/O Device 1.2 section 5.1.3): the host sends super-packets.
const GUEST_TSO: [usize; 2] = [7, 8];

/// How packets come in on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// One by one, from the wire.
    OneByOne,
    /// As this machine's programs, containers and virtual machines send them: there is no device behind the link.
    FromHere,
    /// As a hypervisor passes them on to its virtio card.
    FromHypervisor,
}

/// Returns how packets come in on a link.
///
/// # Errors
/// There is no such link, or the kernel does not tell.
pub fn arrivals(interface: &str) -> io::Result<Arrivals> {
    let (mut bus, mut device) = (String::new(), None);
    about(sys::link_number(interface)?, |attribute| match attribute {
        LinkAttribute::ParentDevBusName(name) => bus = name,
        LinkAttribute::ParentDevName(name) => device = Some(name),
        _ => {}
    })?;
    let Some(device) = device else {
        return Ok(Arrivals::FromHere);
    };
    if bus != "virtio" {
        return Ok(Arrivals::OneByOne);
    }
    let features = std::fs::read_to_string(format!("/sys/bus/virtio/devices/{device}/features"))?;
    Ok(of_virtio(&features))
}

/// How packets come in on a virtio card with these features: a digit for each, from bit 0 on.
fn of_virtio(features: &str) -> Arrivals {
    let has = |bit: &usize| features.as_bytes().get(*bit) == Some(&b'1');
    if GUEST_TSO.iter().any(has) {
        Arrivals::FromHypervisor
    } else {
        Arrivals::OneByOne
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtio_card_tells_whether_its_host_sends_super_packets() {
        let with = |bits: &[usize]| {
            let digit = |bit| if bits.contains(&bit) { '1' } else { '0' };
            of_virtio(&(0..64).map(digit).collect::<String>())
        };
        assert_eq!(with(&[0, 1, 5, 11, 12]), Arrivals::OneByOne);
        assert_eq!(with(&[0, 7]), Arrivals::FromHypervisor);
        assert_eq!(with(&[8, 32]), Arrivals::FromHypervisor);
        assert_eq!(of_virtio(""), Arrivals::OneByOne);
    }
}
