//! Values that the model cannot take.

/// The reason why a value is refused, and the values that are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    /// Not a line rate.
    #[error("a rate is 1 to 1000G in bits per second, like 10M, 2.5G or 64k")]
    Rate,
    /// Not an MTU of a link that carries IPv6 (RFC 8200 section 5).
    #[error("an MTU is 1280 to 65535 bytes")]
    Mtu,
    /// Not the size of a message.
    #[error("a payload is 1 to 65507 bytes, the most of a UDP datagram over IPv4")]
    Payload,
}
