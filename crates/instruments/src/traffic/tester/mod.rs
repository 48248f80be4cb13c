//! The tester of RFC 8219, RFC 2544 and RFC 9693. It needs no special network card.
//!
//! A generator in XDP sends frames that carry their time of sending and their number. A receiver in XDP checks
//! whether each frame is whole, unique, in order and in time. The parts:
//!
//! * [`flows`]: addresses and ports; [`Traffic`]: their frames, and the form in which they must arrive
//! * [`Tester`]: generators and receivers between two [ports](Port), in namespaces or on the machine's own interfaces
//!   with a device between them; [`SingleDevice`]: the same with a device of the lab
//! * [`Stateful`]: the two phases of RFC 9693, whose responder answers the frames that it received
//! * [`Trial`] and [`TrialResult`]: one run of traffic, and its result
//! * [`search`]: from trials to the figures that the RFCs define
//! * [`Ceiling`]: the tester's own rate
//!
//! Two things are not implemented. Frames are at most 3072 octets long, since a generated frame lies in a page.
//! Changes of the payload after the tag are seen only by the UDP checksum.

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
