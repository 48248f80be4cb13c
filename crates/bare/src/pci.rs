//! The network cards on the PCI buses, in the order of the buses and of their places there.

use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::bus::{
    Command, ConfigurationAccess, DeviceFunction, HeaderType, PciRoot,
};
use virtio_drivers::transport::pci::{PciTransport, virtio_device_type};

use crate::card::Found;
use crate::e1000e::{self, Registers};
use crate::hal::Identity;
use crate::memory::MAPPED;
use crate::port;

/// The configuration space of PCI by two ports, as every PC has it.
pub struct Ports;

const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;

/// The register of a bridge that numbers the buses: the one before it, the one behind it, and the last of those further behind.
const BUS_NUMBERS: u8 = 0x18;
const BUSES: usize = 256;

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

/// The network cards of all buses.
pub fn network_cards() -> impl Iterator<Item = Found> {
    let there = buses();
    let buses = (0..=u8::MAX).filter(move |bus| there[usize::from(*bus)]);
    let places = buses.flat_map(|bus| PciRoot::new(Ports).enumerate_bus(bus));
    places.filter_map(|(place, device)| {
        let is_virtio = virtio_device_type(&device) == Some(DeviceType::Network);
        let is_e1000e = (device.vendor_id, device.device_id) == e1000e::IDENTITY;
        if !is_virtio && !is_e1000e {
            return None;
        }
        let mut root = PciRoot::new(Ports);
        enable(&mut root, place);
        match is_virtio {
            true => PciTransport::new::<Identity, _>(&mut root, place)
                .ok()
                .map(|card| Found::Virtio(card.into())),
            false => registers(&mut root, place).map(Found::E1000e),
        }
    })
}

/// Which buses there are: the first one, and those behind bridges. On a PC every slot of PCI Express is one. The firmware has given
/// them their numbers, and to bridges the windows of what is behind them.
fn buses() -> [bool; BUSES] {
    let mut there = [false; BUSES];
    there[0] = true;
    for bus in 0..=u8::MAX {
        if !there[usize::from(bus)] {
            continue;
        }
        let mut root = PciRoot::new(Ports);
        for (place, device) in root.enumerate_bus(bus) {
            if device.header_type != HeaderType::PciPciBridge {
                continue;
            }
            let [_, behind, ..] = Ports.read_word(place, BUS_NUMBERS).to_le_bytes();
            // A bridge without a number has zero, and no other has one that was looked at already.
            if behind > bus {
                enable(&mut root, place);
                there[usize::from(behind)] = true;
            }
        }
    }
    there
}

/// Lets a device be reached, and reach memory. Of a bridge: what is behind it.
fn enable(root: &mut PciRoot<Ports>, place: DeviceFunction) {
    let (_, command) = root.get_status_command(place);
    root.set_command(place, command | Command::MEMORY_SPACE | Command::BUS_MASTER);
}

/// The registers of Intel's card, which its first window has.
fn registers(root: &mut PciRoot<Ports>, place: DeviceFunction) -> Option<Registers> {
    let window = root.bar_info(place, 0).ok()??;
    let (address, bytes) = window.memory_address_size()?;
    if !MAPPED.contains(&address) || bytes > MAPPED.end - address {
        return None;
    }
    // SAFETY: the firmware gave the card this window, all of which is mapped, and the machine that had the card before is gone.
    unsafe { Registers::inside(address, bytes) }
}
