//! Where the kernel's structures have their members: its own description of its types, in the BPF type format (the
//! kernel's `Documentation/bpf/btf.rst`).

use std::fs;
use std::io;

/// The description of the running kernel.
const KERNEL: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;
const UNION: u32 = 5;

/// Types, by number.
#[derive(Debug)]
pub(super) struct Types {
    bytes: Vec<u8>,
    /// Where the strings are.
    strings: usize,
    /// Where each type is; the first has the number 1.
    starts: Vec<usize>,
}

impl Types {
    /// Those of the running kernel.
    ///
    /// # Errors
    /// The kernel was built without them, or with a version of the format that is not known.
    pub(super) fn of_kernel() -> io::Result<Self> {
        let bytes = fs::read(KERNEL)
            .map_err(|error| io::Error::new(error.kind(), format!("{KERNEL}: {error}")))?;
        Self::parse(bytes).ok_or_else(|| io::Error::other(format!("{KERNEL}: not understood")))
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let magic = u16::from_ne_bytes(*bytes.first_chunk()?);
        if magic != MAGIC {
            return None;
        }
        let mut types = Self {
            bytes,
            strings: 0,
            starts: Vec::new(),
        };
        let header = types.word(4)? as usize;
        let (first, length) = (types.word(8)? as usize, types.word(12)? as usize);
        types.strings = header + types.word(16)? as usize;
        let (mut at, end) = (header + first, header + first + length);
        if types.bytes.len() < end.max(types.strings + types.word(20)? as usize) {
            return None;
        }
        while at < end {
            types.starts.push(at);
            let (kind, members, _) = types.info(at)?;
            at += 12 + tail(kind, members)?;
        }
        Some(types)
    }

    /// Bytes from the start of a structure to a member, also one of its nameless structures and unions.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<u32> {
        let is_it = |at: &&usize| {
            self.info(**at)
                .is_some_and(|(kind, members, _)| kind == STRUCT && members != 0)
                && self.name(**at) == Some(structure.as_bytes())
        };
        let bits = self.bits_to(*self.starts.iter().find(is_it)?, member)?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    fn bits_to(&self, structure: usize, member: &str) -> Option<u32> {
        let (_, members, bit_fields) = self.info(structure)?;
        for number in 0..members {
            let at = structure + 12 + number * 12;
            let offset = match self.word(at + 8)? {
                offset if bit_fields => offset & 0x00ff_ffff,
                offset => offset,
            };
            let name = self.name(at)?;
            if name == member.as_bytes() {
                return Some(offset);
            }
            let of = (self.word(at + 4)? as usize).checked_sub(1);
            if let (true, Some(inner)) = (name.is_empty(), of.and_then(|of| self.starts.get(of)))
                && matches!(self.info(*inner)?.0, STRUCT | UNION)
                && let Some(within) = self.bits_to(*inner, member)
            {
                return Some(offset + within);
            }
        }
        None
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..)?;
        Some(u32::from_ne_bytes(*bytes.first_chunk()?))
    }

    /// The kind of a type, the number of its members, and whether some of them are bit fields.
    fn info(&self, at: usize) -> Option<(u32, usize, bool)> {
        let info = self.word(at + 4)?;
        Some((info >> 24 & 31, (info & 0xffff) as usize, info >> 31 != 0))
    }

    /// The name of a type or a member.
    fn name(&self, at: usize) -> Option<&[u8]> {
        let start = self.strings + self.word(at)? as usize;
        self.bytes.get(start..)?.split(|byte| *byte == 0).next()
    }
}

/// Bytes behind the twelve that every type has.
fn tail(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Structures, unions, sections, enumerations of 64 bits.
        STRUCT | UNION | 15 | 19 => members * 12,
        // Enumerations, prototypes.
        6 | 13 => members * 8,
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; union { int b; struct { int c : 3; int d; }; }; };`, after an enumeration.
    fn sample() -> Vec<u8> {
        let strings = b"\0outer\0a\0b\0c\0d\0int\0e\0";
        let name = |text: &str| {
            let text = [text.as_bytes(), b"\0"].concat();
            strings
                .windows(text.len())
                .position(|it| it == text)
                .unwrap() as u32
        };
        let info = |kind: u32, members: u32, flag: u32| flag << 31 | kind << 24 | members;
        let words = [
            vec![name("int"), info(1, 0, 0), 4, 32],
            vec![name("e"), info(6, 1, 0), 4, name("a"), 7],
            vec![
                name("outer"),
                info(STRUCT, 2, 0),
                12,
                name("a"),
                1,
                0,
                0,
                4,
                32,
            ],
            vec![0, info(UNION, 2, 0), 8, name("b"), 1, 0, 0, 5, 0],
            vec![
                0,
                info(STRUCT, 2, 1),
                8,
                name("c"),
                1,
                3 << 24,
                name("d"),
                1,
                32,
            ],
        ]
        .concat();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let length = words.len() as u32 * 4;
        for word in [24, 0, length, length, strings.len() as u32]
            .iter()
            .chain(&words)
        {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_are_found_where_they_are() {
        let types = Types::parse(sample()).unwrap();
        let of = |member| types.offset("outer", member);
        assert_eq!(["a", "b", "c", "d"].map(of), [0, 4, 4, 8].map(Some));
        assert_eq!(
            (of("e"), types.offset("int", "a"), types.offset("e", "a")),
            (None, None, None)
        );
    }

    #[test]
    fn what_is_cut_off_is_not_understood() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(Types::parse(whole[..length].to_vec()).is_none(), "{length}");
        }
    }

    /// The first members of a frame's description have been in this order since there is XDP.
    #[test]
    fn the_kernel_says_of_itself() {
        let Ok(types) = Types::of_kernel() else {
            return;
        };
        assert_eq!(types.offset("xdp_buff", "data"), Some(0));
        assert_eq!(types.offset("xdp_buff", "data_end"), Some(8));
        assert!(types.offset("sk_buff", "dev").is_some());
    }
}
