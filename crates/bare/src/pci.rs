//! The network cards on the PCI bus, in the order of their places.

use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::bus::{Command, ConfigurationAccess, DeviceFunction, PciRoot};
use virtio_drivers::transport::pci::{PciTransport, virtio_device_type};

use crate::hal::Identity;
use crate::port;

/// The configuration space of PCI by two ports, as every PC has it.
pub struct Ports;

const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;

impl Ports {
    fn point(place: DeviceFunction, register: u8) {
        let place = u32::from(place.bus) << 16
            | u32::from(place.device) << 11
            | u32::from(place.function) << 8;
        // SAFETY: this chooses the register that the other port is about.
        unsafe { port::write32(ADDRESS, 1 << 31 | place | u32::from(register & !3)) };
    }
}

impl ConfigurationAccess for Ports {
    fn read_word(&self, place: DeviceFunction, register: u8) -> u32 {
        Self::point(place, register);
        // SAFETY: registers that change when they are read do not exist there.
        unsafe { port::read32(DATA) }
    }

    fn write_word(&mut self, place: DeviceFunction, register: u8, data: u32) {
        Self::point(place, register);
        // SAFETY: the driver's business.
        unsafe { port::write32(DATA, data) };
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self
    }
}

/// The virtio network cards of the first bus.
pub fn network_cards() -> impl Iterator<Item = PciTransport> {
    let root = PciRoot::new(Ports);
    root.enumerate_bus(0)
        .filter(|(_, card)| virtio_device_type(card) == Some(DeviceType::Network))
        .filter_map(|(place, _)| {
            let mut root = PciRoot::new(Ports);
            let (_, command) = root.get_status_command(place);
            root.set_command(place, command | Command::MEMORY_SPACE | Command::BUS_MASTER);
            PciTransport::new::<Identity, _>(&mut root, place).ok()
        })
}
