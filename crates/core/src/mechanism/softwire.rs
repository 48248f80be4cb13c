//! Shared IPv4 addresses over softwires that keep no state in the middle: MAP-E (RFC 7597) and
//! lw4o6 (RFC 7596), with the border relay (BR; the lwAFTR is in [`lwaftr`](super::lwaftr)) at one end
//! and the customer's edge (CE, lwB4), which has the NAT, at the other.

use super::passage::{Exit, Passage, Passed};
use super::{Part, stateful};
use crate::address::map::{MapRule, Mismatch};
use crate::address::{V4, V6};
use crate::config::{SoftwireBorder, SoftwireCustomer};
use crate::encap::Ends;
use crate::host::Host;
use crate::nat::NatConfig;
use crate::reason::Counter;
use crate::translate::Tuple;
use crate::translate::transport::Transport;
use crate::verdict::{IcmpError, Refusal};

/// Whether who has a MAP IPv6 address may send from an IPv4 address and port (RFC 7597 section 8.1,
/// RFC 7599 section 8).
///
/// # Errors
/// No rule covers the sender, or what it says is not its own.
#[inline(always)]
pub(super) fn check(
    rule: Option<&MapRule>,
    sender: V6,
    address: V4,
    port: u16,
) -> Result<(), Refusal> {
    let rule = rule.ok_or(Refusal::Drop(Counter::TunnelSource))?;
    rule.check(sender, address, port)
        .map_err(|_: Mismatch| Refusal::Drop(Counter::TunnelSpoofed))
}

/// From a customer to the internet, at the border.
pub struct Up<'a> {
    /// The border.
    pub border: &'a SoftwireBorder,
    /// The address of the customer.
    pub softwire: V6,
}

/// From the internet to a customer, at the border.
pub struct Down<'a>(pub &'a SoftwireBorder);

impl Passage for Up<'_> {
    const COUNTER: Counter = Counter::Decapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        _host: &mut H,
        tuple: &Tuple<V4>,
        _transport: &Transport,
        _part: Part,
    ) -> Result<Passed, Refusal> {
        let rule = self.border.rules.find_v6(self.softwire);
        check(rule, self.softwire, tuple.source, tuple.source_port)?;
        Ok(Passed {
            tuple: *tuple,
            exit: Exit::Link,
            hides: false,
        })
    }
}

impl Passage for Down<'_> {
    const COUNTER: Counter = Counter::Encapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        _host: &mut H,
        tuple: &Tuple<V4>,
        _transport: &Transport,
        _part: Part,
    ) -> Result<Passed, Refusal> {
        let Self(border) = self;
        let (address, port) = (tuple.destination, tuple.destination_port);
        let rule = border.rules.find_v4(address, port);
        // RFC 7596 section 6.2: the sender is told that nobody has the address and port.
        let customer =
            rule.and_then(|rule| rule.address_of(address, port))
                .ok_or(Refusal::Reply(
                    IcmpError::AddressUnreachable,
                    Counter::TunnelDestination,
                ))?;
        Ok(Passed {
            tuple: *tuple,
            exit: Exit::Softwire(Ends {
                source: border.local,
                destination: customer,
            }),
            hides: false,
        })
    }
}

/// From a host to the internet, at the customer's edge.
pub struct Out<'a>(pub &'a SoftwireCustomer);

/// From the internet to a host, at the customer's edge.
pub struct In<'a> {
    /// The edge.
    pub customer: &'a SoftwireCustomer,
    /// Who sent the packet.
    pub sender: V6,
}

impl Passage for Out<'_> {
    const COUNTER: Counter = Counter::Encapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        let Self(customer) = self;
        let tuple = stateful::out(host, &customer.nat, V6::default(), tuple, transport, part)?;
        // RFC 7597 section 8.1: straight to another customer where a rule tells its address.
        let (address, port) = (tuple.destination, tuple.destination_port);
        let rule = customer.rules.find_v4(address, port);
        let other = rule.and_then(|rule| rule.address_of(address, port));
        Ok(Passed {
            tuple,
            exit: Exit::Softwire(Ends {
                source: customer.local,
                destination: other.unwrap_or(customer.border),
            }),
            hides: true,
        })
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        let Self(customer) = self;
        Some(&customer.nat)
    }
}

impl Passage for In<'_> {
    const COUNTER: Counter = Counter::Decapsulated4In6;

    #[inline(always)]
    fn pass<H: Host>(
        &self,
        host: &mut H,
        tuple: &Tuple<V4>,
        transport: &Transport,
        part: Part,
    ) -> Result<Passed, Refusal> {
        let customer = self.customer;
        if !self.sender.is(customer.border) {
            let rule = customer.rules.find_v6(self.sender);
            check(rule, self.sender, tuple.source, tuple.source_port)?;
        }
        let (tuple, _) = stateful::back(host, &customer.nat, tuple, transport, part)?;
        Ok(Passed {
            tuple,
            exit: Exit::Link,
            hides: false,
        })
    }

    #[inline(always)]
    fn nat(&self) -> Option<&NatConfig> {
        Some(&self.customer.nat)
    }
}
