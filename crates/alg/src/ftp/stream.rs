//! One direction of a control connection, of which some bytes were replaced by more or fewer (RFC 2766 section 6.3).

/// What has been replaced: of all segments but the last it is known only by how much they grew.
#[derive(Debug, Default)]
pub(super) struct Stream {
    last: Option<Edit>,
    /// How much longer the stream is after the last edit, and before it.
    after: u32,
    before: u32,
}

/// The segment that was changed last.
#[derive(Debug)]
struct Edit {
    /// Its sequence number, as its sender knows it.
    at: u32,
    from: Vec<u8>,
    to: Vec<u8>,
}

/// Whether a sequence number comes after another (RFC 9293 section 3.4).
pub(super) const fn is_after(number: u32, other: u32) -> bool {
    number.wrapping_sub(other).cast_signed() > 0
}

impl Stream {
    /// Whether it is as it was sent.
    pub(super) const fn is_untouched(&self) -> bool {
        self.last.is_none()
    }

    /// What replaces a segment that was sent before.
    pub(super) fn repeated(&self, sequence: u32, payload: &[u8]) -> Option<&[u8]> {
        let edit = self.last.as_ref()?;
        (edit.at == sequence && edit.from == payload).then_some(&*edit.to)
    }

    /// Notes that a segment was replaced.
    pub(super) fn replace(&mut self, sequence: u32, from: &[u8], to: &[u8]) {
        self.before = self.grown(sequence);
        let more = (to.len() as u32).wrapping_sub(from.len() as u32);
        self.after = self.before.wrapping_add(more);
        self.last = Some(Edit {
            at: sequence,
            from: from.to_vec(),
            to: to.to_vec(),
        });
    }

    /// The sequence number that the receiver knows.
    pub(super) fn sent(&self, sequence: u32) -> u32 {
        sequence.wrapping_add(self.grown(sequence))
    }

    /// The sequence number that the sender knows, for an acknowledgement of the receiver.
    pub(super) fn acknowledged(&self, number: u32) -> u32 {
        let grown = match &self.last {
            Some(edit) if is_after(number, edit.at.wrapping_add(self.before)) => self.after,
            _ => self.before,
        };
        number.wrapping_sub(grown)
    }

    /// By how much the stream is longer where a segment begins.
    fn grown(&self, sequence: u32) -> u32 {
        match &self.last {
            Some(edit) if is_after(sequence, edit.at) => self.after,
            _ => self.before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_what_was_replaced() {
        let mut stream = Stream::default();
        assert_eq!(stream.sent(100), 100);
        // 6 bytes became 4, at 100.
        stream.replace(100, b"EPRT\r\n", b"AB\r\n");
        assert_eq!((stream.sent(100), stream.sent(106)), (100, 104));
        assert_eq!(
            (stream.acknowledged(100), stream.acknowledged(104)),
            (100, 106)
        );
        // 2 bytes became 5, at 106.
        stream.replace(106, b"\r\n", b"abc\r\n");
        assert_eq!((stream.sent(106), stream.sent(108)), (104, 109));
        assert_eq!(
            (stream.acknowledged(104), stream.acknowledged(109)),
            (106, 108)
        );
        assert_eq!(stream.repeated(106, b"\r\n"), Some(&b"abc\r\n"[..]));
        assert_eq!(stream.repeated(106, b"\r\r"), None);
    }

    #[test]
    fn numbers_wrap() {
        let mut stream = Stream::default();
        stream.replace(u32::MAX - 1, b"ab", b"abcd");
        assert_eq!(stream.sent(0), 2);
        assert_eq!(stream.acknowledged(2), 0);
    }
}
