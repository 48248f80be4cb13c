//! The memory that BPF programs and user space share: the name, the layout and the size of every map
//! that both know, once.
//!
//! | module | maps | content |
//! |---|---|---|
//! | [`banks`] | `INSTANCES`, `ACTIVE` | the configuration in force and the next one |
//! | [`counts`] | `COUNTS` | counters |
//! | [`lines`] | `STATE`, `RULES` | the memories of the core |
//! | [`clock`] | `CLOCK` | time and random numbers of a test run |
//! | [`programs`] | `XDP_PROGRAMS`, `TC_PROGRAMS` | the programs that others hand packets to |
//! | [`links`] | `LINKS`, `VLANS`, `STATIONS`, `OWN` | properties and addresses of links |
//! | [`routes`] | `EPOCH`, `RANGES` | state of the kernel's routes |
//! | [`trace`] | `SETTINGS`, `EVENTS`, `LOST` | followed packets |
//! | [`lab`] | | the maps of the laboratory's programs |
//!
//! A map that one program alone uses is where that program is. The name of a map or of a program is that
//! of its item in the BPF crate; the constant here is the one that user space looks it up by, and a test
//! of the loader compares the two, with the sizes.
//!
//! Every structure is plain old data ([`bytemuck::Pod`]): without padding, and valid whatever its bits
//! are. The one exception is [`Instance`](isthmus_core::config::Instance): see [`banks`].
#![no_std]
#![forbid(unsafe_code)]

/// Asserts at compile time the size of a structure and the offsets of its fields.
macro_rules! layout {
    ($structure:ty: $size:literal, $($field:ident: $offset:literal),+) => {
        const _: () = {
            assert!(size_of::<$structure>() == $size);
            $(assert!(core::mem::offset_of!($structure, $field) == $offset);)+
        };
    };
}

pub mod banks;
pub mod clock;
pub mod counts;
pub mod lab;
pub mod lines;
pub mod links;
pub mod programs;
pub mod routes;
pub mod trace;
