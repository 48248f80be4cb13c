//! The lengths of IP packets and of their fragments.

/// The two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// RFC 791, without options.
    V4,
    /// RFC 8200, with a fragment header at most.
    V6,
}

impl Family {
    /// Returns the length of the header, in bytes.
    pub fn header(self) -> u32 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

/// The length of IPv6's fragment header (RFC 8200 section 4.5).
const FRAGMENT_HEADER: u32 = 8;
/// Fragments begin at multiples of this many bytes (RFC 791 section 3.1, RFC 8200 section 4.5).
const FRAGMENT_UNIT: u32 = 8;

/// Whether a packet is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// It is whole. In IPv4 such packets have DF set: hosts look for the path's MTU (RFC 1191).
    Whole,
    /// It is a fragment. In IPv4 such packets may be fragmented again: DF is not set.
    Fragment,
}

/// The shape of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    family: Family,
    piece: Piece,
    payload: u32,
}

impl Packet {
    /// Returns a packet that is no fragment, with `payload` bytes after its header.
    pub fn whole(family: Family, payload: u32) -> Self {
        Self {
            family,
            piece: Piece::Whole,
            payload,
        }
    }

    /// Returns its protocol.
    pub fn family(self) -> Family {
        self.family
    }

    /// Returns whether it is a fragment.
    pub fn piece(self) -> Piece {
        self.piece
    }

    /// Returns the bytes after all headers of the IP layer.
    pub fn payload(self) -> u32 {
        self.payload
    }

    /// Returns the bytes with all headers.
    pub fn length(self) -> u32 {
        self.headers() + self.payload
    }

    fn headers(self) -> u32 {
        match (self.family, self.piece) {
            (Family::V6, Piece::Fragment) => Family::V6.header() + FRAGMENT_HEADER,
            (family, _) => family.header(),
        }
    }

    /// Returns this packet after translation, where no rule makes it smaller: the header is the other protocol's, and
    /// a fragment has a fragment header in IPv6 only (RFC 7915 sections 4.1 and 5.1.1).
    pub fn translated(self, family: Family) -> Self {
        Self { family, ..self }
    }

    /// Cuts this packet to fragments of at most `mtu` bytes, if it is longer (RFC 791 section 3.2, RFC 8200 section
    /// 4.5).
    pub fn cut(self, mtu: u32) -> Vec<Self> {
        if self.length() <= mtu {
            return vec![self];
        }
        let fragment = |payload| Self {
            family: self.family,
            piece: Piece::Fragment,
            payload,
        };
        let room = mtu.saturating_sub(fragment(0).headers());
        // No MTU of this model is so small that nothing fits.
        let most = (room / FRAGMENT_UNIT).max(1) * FRAGMENT_UNIT;
        let mut rest = self.payload;
        let mut fragments = Vec::new();
        while rest > 0 {
            let payload = rest.min(most);
            fragments.push(fragment(payload));
            rest -= payload;
        }
        fragments
    }
}
