//! The NAT, with memory, a clock and chance of the tests' own.

mod border;
mod bound;
mod engines;
mod filtering;
mod fixed;
mod format;
mod fragment;
mod full;
mod held;
mod machine;
mod model;
mod port_set;
mod recover;
mod share;
mod stress;
mod subscriber;
mod support;
mod sweep;
mod tcp;
mod traffic;
mod udp;
mod walk;
