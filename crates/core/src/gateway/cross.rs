//! How a packet crosses a mechanism, by its [`crossing`].

use crate::for_each_mechanism;
use crate::host::Host;
use crate::mechanism::{AnyMechanism, Instances, Mechanism, Member, crossing};
use crate::packet::Packet;
use crate::policy::Policy;
use crate::verdict::{Refusal, Verdict};
use crate::wire::{ipv4, ipv6};

/// The instance that a packet belongs to.
#[derive(Debug)]
pub struct Owner<'a, M, I: ?Sized> {
    /// Its mechanism.
    pub mechanism: &'a M,
    /// How it treats headers.
    pub policy: &'a Policy,
    /// All instances.
    pub instances: &'a I,
}

impl<'a, M, I: ?Sized> Owner<'a, M, I> {
    /// The same with the type of its mechanism.
    #[inline(always)]
    const fn known<N>(&self, mechanism: &'a N) -> Owner<'a, N, I> {
        Owner {
            mechanism,
            policy: self.policy,
            instances: self.instances,
        }
    }
}

/// A crossing of mechanisms `M`. The packets belong to an instance of such a mechanism.
pub trait Cross<M> {
    /// Whether the transport header of a packet matters, so that [plain](crate::packet::Plain) packets take less than
    /// others.
    const LOOKS_AT_TRANSPORT: bool = true;

    /// Whether IPv6 packets may be its.
    const HAS_IPV6: bool = true;

    /// Takes an IPv4 packet across.
    ///
    /// # Errors
    /// The packet is not to be sent on; it is unchanged then.
    fn v4<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, M, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv4::Header,
    ) -> Result<Verdict, Refusal>;

    /// Takes an IPv6 packet across.
    ///
    /// # Errors
    /// The packet is not to be sent on; it is unchanged then.
    fn v6<P: Packet, H: Host, I: Instances + ?Sized>(
        owner: &Owner<'_, M, I>,
        packet: &mut P,
        host: &mut H,
        header: ipv6::Header,
    ) -> Result<Verdict, Refusal>;
}

/// A mechanism that packets can cross.
pub trait Crosses: Member + Mechanism<Crossing: Cross<Self>> {}

impl<M: Member + Mechanism<Crossing: Cross<M>>> Crosses for M {}

/// Calls a function that stands for itself: each mechanism has its own, or the compiler would keep in memory what all
/// of them need together.
#[inline(never)]
fn apart<T>(function: impl FnOnce() -> T) -> T {
    function()
}

/// Defines one direction of the crossing of any mechanism over the list.
macro_rules! direction {
    (
        $direction:ident; $header:ty;
        $($(#[$about:meta])+ $module:ident::$name:ident,)+
    ) => {
        #[inline(always)]
        fn $direction<P: Packet, H: Host, I: Instances + ?Sized>(
            owner: &Owner<'_, AnyMechanism, I>,
            packet: &mut P,
            host: &mut H,
            header: $header,
        ) -> Result<Verdict, Refusal> {
            match owner.mechanism {
                $(AnyMechanism::$name(it) => {
                    apart(|| {
                        type Its = <crate::mechanism::$module::$name as Mechanism>::Crossing;
                        Its::$direction(&owner.known(it), packet, host, header)
                    })
                })+
            }
        }
    };
}

impl Cross<AnyMechanism> for crossing::Any {
    for_each_mechanism!(direction[v4; ipv4::Header]);
    for_each_mechanism!(direction[v6; ipv6::Header]);
}
