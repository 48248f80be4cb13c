//! Networks in namespaces, and what runs in them.
//!
//! * [`machine`], [`cores`]: the machine under all this, and who runs on which core
//! * [`leftovers`], [`sweep`]: names and files that tell whose they are, and the removal of what an interrupted lab left
//! * [`process`], [`programs`], `threads`: commands and processes, programs in XDP, threads
//! * [`sources`]: the folder of the sources
//! * [`netns`], [`congestion`], [`place`]: namespaces, their congestion control, and the place of an interface
//! * [`topology`], [`plan`]: the standard networks as data, and their addresses
//! * [`wire`], [`random`]: links with Ethernet's line rates, and their chance
//! * [`emulated`]: a node that is an emulated machine
//! * [`interfaces`]: MTUs, offloads and congestion control as they are
//! * [`device`]: a gateway between two hosts, whoever made it

pub mod congestion;
pub mod cores;
pub mod device;
pub mod emulated;
pub mod interfaces;
pub mod leftovers;
pub mod machine;
pub mod netns;
pub mod place;
pub mod plan;
pub mod process;
pub mod programs;
pub mod random;
pub mod sources;
pub mod sweep;
pub mod threads;
pub mod topology;
pub mod troubles;
pub mod wire;
