//! The tester of RFC 8219, RFC 2544 and RFC 9693. It needs no special network card.
//!
//! A generator in XDP sends frames that say when and as the how-manieth they were sent; a receiver in
//! XDP tells of each whether it is whole, the first of its number, in order and in time. The parts:
//!
//! * [`flows`]: which addresses and ports; [`Traffic`]: their frames, and how they must arrive
//! * [`Tester`]: generators and receivers between two [ports](Port), in namespaces or on the machine's
//!   own interfaces with a device between them; [`SingleDevice`]: the same with a subject of the lab
//! * [`Stateful`]: the two phases of RFC 9693, whose responder answers what it has seen
//! * [`Trial`] and [`TrialResult`]: sending once, and what became of it
//! * [`search`]: from trials to the figures that the RFCs define
//! * [`Ceiling`]: what the tester can do itself
//!
//! What it does not do: frames above 3072 octets, since a generated frame lies in a page; and
//! differences in the payload behind the tag, which only the UDP checksum covers.

mod ceiling;
pub mod flows;
mod observed;
mod pair;
mod receiver;
mod result;
pub mod search;
mod single;
mod stateful;
mod summary;
mod trial;

pub use ceiling::{Ceiling, Judged};
pub use flows::{Flows, Networks, Ports};
pub use observed::{Family, Tuples};
pub use pair::{CORES, Port, Streams, Tester, Traffic};
pub use receiver::{LONGEST_TIMEOUT, Receiver};
pub use result::{Arrivals, Delay, StreamResult, TrialResult, Variation, Void};
pub use single::SingleDevice;
pub use stateful::{Empty, Established, Stateful};
pub use summary::Summary;
pub use trial::{Extent, Phases, Tolerance, Trial};
