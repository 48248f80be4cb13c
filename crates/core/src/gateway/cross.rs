//! How a packet crosses a mechanism, by its [`crossing`].

use crate::for_each_mechanism;
use crate::host::Host;
use crate::mechanism::{AnyMechanism, Instances, Mechanism, Member, crossing};
use crate::packet::Packet;
use crate::policy::Policy;
use crate::verdict::{Refusal, Verdict};
use crate::wire::{ipv4, ipv6};

/// A crossing of mechanisms `M`. The packets belong to an instance of such a mechanism.
pub trait Cross<M> {
    /// Takes an IPv4 packet across.
    ///
    /// # Errors
    /// The packet is not to be sent on; it is unchanged then.
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        mechanism: &M,
        policy: &Policy,
        packet: &mut P,
        host: &mut H,
        instances: &I,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal>;

    /// Takes an IPv6 packet across.
    ///
    /// # Errors
    /// The packet is not to be sent on; it is unchanged then.
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        mechanism: &M,
        policy: &Policy,
        packet: &mut P,
        host: &mut H,
        instances: &I,
        header: ipv6::Header,
    ) -> Result<Verdict, Refusal>;
}

/// A mechanism that packets can cross.
pub trait Crosses: Member + Mechanism<Crossing: Cross<Self>> {}

impl<M: Member + Mechanism<Crossing: Cross<M>>> Crosses for M {}

/// Defines the crossing of any mechanism over the list.
macro_rules! cross_any {
    ($($(#[$about:meta])+ $module:ident::$name:ident,)+) => {
        impl Cross<AnyMechanism> for crossing::Any {
            #[inline(always)]
            fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
                mechanism: &AnyMechanism,
                policy: &Policy,
                packet: &mut P,
                host: &mut H,
                instances: &I,
                header: ipv4::Header,
            ) -> Result<Verdict, Refusal> {
                match mechanism {
                    $(AnyMechanism::$name(it) => {
                        v4(it, policy, packet, host, instances, header)
                    })+
                }
            }

            #[inline(always)]
            fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
                mechanism: &AnyMechanism,
                policy: &Policy,
                packet: &mut P,
                host: &mut H,
                instances: &I,
                header: ipv6::Header,
            ) -> Result<Verdict, Refusal> {
                match mechanism {
                    $(AnyMechanism::$name(it) => {
                        v6(it, policy, packet, host, instances, header)
                    })+
                }
            }
        }
    };
}
for_each_mechanism!(cross_any);

#[inline(always)]
fn v4<M: Crosses, P: Packet, H: Host, I: Instances + ?Sized>(
    mechanism: &M,
    policy: &Policy,
    packet: &mut P,
    host: &mut H,
    instances: &I,
    header: ipv4::Header,
) -> Result<Verdict, Refusal> {
    M::Crossing::v4(mechanism, policy, packet, host, instances, header)
}

#[inline(always)]
fn v6<M: Crosses, P: Packet, H: Host, I: Instances + ?Sized>(
    mechanism: &M,
    policy: &Policy,
    packet: &mut P,
    host: &mut H,
    instances: &I,
    header: ipv6::Header,
) -> Result<Verdict, Refusal> {
    M::Crossing::v6(mechanism, policy, packet, host, instances, header)
}
