//! Classic capture files with microseconds and link type 101 (raw IP), which is all that the tests need.

const MAGIC: u32 = 0xa1b2_c3d4;
const RAW_IP: u32 = 101;

/// A packet and its time in microseconds since the epoch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Returns a capture file with these packets.
pub(crate) fn write(records: &[Record]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [MAGIC, 4 << 16 | 2, 0, 0, 65535, RAW_IP] {
        file.extend(word.to_le_bytes());
    }
    for record in records {
        let length = u32::try_from(record.bytes.len()).expect("an IP packet");
        let (seconds, micros) = (record.at / 1_000_000, record.at % 1_000_000);
        for word in [
            u32::try_from(seconds).expect("before 2106"),
            micros as u32,
            length,
            length,
        ] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&record.bytes);
    }
    file
}

/// Returns the packets of a capture file.
pub(crate) fn read(file: &[u8]) -> Result<Vec<Record>, String> {
    let word = |at: usize| -> Result<u32, String> {
        let bytes = file
            .get(at..at + 4)
            .ok_or_else(|| format!("OUT.pcap ends at byte {}", file.len()))?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    if (word(0)?, word(20)?) != (MAGIC, RAW_IP) {
        return Err(format!(
            "OUT.pcap: magic {:#x}, link type {}",
            word(0)?,
            word(20)?
        ));
    }
    let (mut at, mut records) = (24, Vec::new());
    while at < file.len() {
        let (captured, length) = (word(at + 8)? as usize, word(at + 12)? as usize);
        if captured != length {
            return Err(format!(
                "OUT.pcap: {captured} of {length} bytes of packet {}",
                records.len() + 1
            ));
        }
        let bytes = file
            .get(at + 16..at + 16 + captured)
            .ok_or("OUT.pcap ends inside a packet")?;
        let time = u64::from(word(at)?) * 1_000_000 + u64::from(word(at + 4)?);
        records.push(Record {
            at: time,
            bytes: bytes.to_vec(),
        });
        at += 16 + captured;
    }
    Ok(records)
}
