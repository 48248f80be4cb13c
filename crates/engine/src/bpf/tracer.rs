//! Follows packets through the programs: other programs look at them from outside (`fentry` and `fexit`), which the
//! kernel calls only while somebody follows.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use aya::maps::{Array, MapData, PerCpuArray, RingBuf};
use aya::{Ebpf, EbpfLoader, VerifierLogLevel};
use aya_obj::Object;
use aya_obj::generated::bpf_insn;
use isthmus_abi::banks::ACTIVE;
use isthmus_abi::counts::{self, COUNTS};
use isthmus_abi::programs::{Hook, Slot};
use isthmus_abi::trace::{EVENTS, Event, Filter, LONGEST, LOST, Offsets, SETTINGS, Settings};
use isthmus_core::reason::Counter;

use super::kept::descriptor;
use super::packed::{Packed, packed};
use super::types::Types;
use super::{Error, Plain, Programs, map};
use crate::counters::Owner;
use crate::sys;
use crate::sys::bpf::tracing::Moment;
use crate::trace::{Fate, Followed, Form, Said, Sink};

/// The programs that look on, built by `crates/bpf/build.sh`.
static OBJECT: Packed = packed!("trace");
const LICENSE: &CStr = c"Dual MIT/GPL";
/// Interval of looks at what was lost.
const LOOK: Duration = Duration::from_millis(500);

/// `XDP_PASS`, `XDP_TX` and `XDP_REDIRECT` of `linux/bpf.h`.
const XDP_PASS: i32 = 2;
const XDP_TX: i32 = 3;
const XDP_REDIRECT: i32 = 4;
/// `TC_ACT_UNSPEC`, `TC_ACT_OK` and `TC_ACT_REDIRECT` of `linux/pkt_cls.h`.
const TC_ACT_UNSPEC: i32 = -1;
const TC_ACT_OK: i32 = 0;
const TC_ACT_REDIRECT: i32 = 7;

/// Somebody who follows packets. Nobody does any more once it is dropped.
#[derive(Debug)]
pub struct Tracer {
    stop: Arc<File>,
    thread: Option<JoinHandle<()>>,
}

/// What a follower's thread holds.
struct Looking {
    events: RingBuf<MapData>,
    lost: PerCpuArray<MapData, u64>,
    _links: Vec<OwnedFd>,
    // The other maps.
    _ebpf: Ebpf,
}

impl Programs {
    /// Shows packets to `sink` that meet the conditions, as they came and as they left, up to `snap` bytes of each.
    ///
    /// # Errors
    /// The kernel was built without types of its own, or refuses the programs.
    pub fn follow(&self, filter: Filter, snap: u32, sink: Sink) -> Result<Tracer, Error> {
        let settings = settings(filter, snap).map_err(Error::Trace)?;
        let mut ebpf = EbpfLoader::new()
            .verifier_log_level(VerifierLogLevel::STATS)
            .load(&OBJECT.unpack())?;
        for name in [COUNTS, ACTIVE] {
            let made = ebpf.map(name).and_then(descriptor);
            let ours = self.ebpf.map(name).and_then(descriptor);
            let (made, ours) = made.zip(ours).ok_or(Error::Missing(name))?;
            sys::replace(made, ours)?;
        }
        let map = ebpf.map_mut(SETTINGS).ok_or(Error::Missing(SETTINGS))?;
        let mut map: Array<_, Plain<Settings>> = map.try_into()?;
        map.set(0, Plain(settings), 0)?;
        let links = self.look(&ebpf)?;
        let events = ebpf.take_map(EVENTS).ok_or(Error::Missing(EVENTS))?;
        let lost = ebpf.take_map(LOST).ok_or(Error::Missing(LOST))?;
        let looking = Looking {
            events: events.try_into()?,
            lost: lost.try_into()?,
            _links: links,
            _ebpf: ebpf,
        };
        Tracer::start(looking, sink).map_err(Error::Trace)
    }

    /// Has the programs of all hooks looked at.
    fn look(&self, ebpf: &Ebpf) -> Result<Vec<OwnedFd>, Error> {
        let mut object = relocated(ebpf).map_err(Error::Trace)?;
        let mut links = Vec::new();
        for hook in &self.hooks {
            let subject = self.program(Slot::Base.name(*hook))?;
            let names = match hook {
                Hook::Xdp => ["trace_xdp_came", "trace_xdp_left"],
                Hook::Tc => ["trace_tc_came", "trace_tc_left"],
            };
            for (name, moment) in names.into_iter().zip([Moment::Entry, Moment::Exit]) {
                let program = object.programs.remove(name).ok_or(Error::Missing(name))?;
                let function = object.functions.get(&program.function_key());
                let function = function.ok_or(Error::Missing(name))?;
                let words = instructions(&function.instructions);
                let link = sys::bpf::tracing::look_at(subject, moment, &words, LICENSE);
                links.push(link.map_err(Error::Trace)?);
            }
        }
        Ok(links)
    }
}

/// Instructions as the kernel takes them.
fn instructions(all: &[bpf_insn]) -> Vec<u64> {
    all.iter()
        .map(|one| {
            let registers = u64::from(one._bitfield_1.get(0, 8) as u8);
            u64::from(one.code)
                | registers << 8
                | u64::from(one.off as u16) << 16
                | u64::from(one.imm as u32) << 32
        })
        .collect()
}

/// The object once more, for instructions that refer to the maps: the loader has none for programs that look at
/// programs.
fn relocated(ebpf: &Ebpf) -> io::Result<Object> {
    let mut object = Object::parse(&OBJECT.unpack()).map_err(io::Error::other)?;
    let texts: HashSet<usize> = object
        .functions
        .keys()
        .map(|(section, _)| *section)
        .collect();
    let maps = object.maps.clone();
    let with_descriptor = maps.iter().filter_map(|(name, map)| {
        let made = ebpf.map(name).and_then(descriptor)?;
        Some((name.as_str(), made.as_raw_fd(), map))
    });
    object
        .relocate_maps(with_descriptor, &texts)
        .map_err(io::Error::other)?;
    object.relocate_calls(&texts).map_err(io::Error::other)?;
    Ok(object)
}

fn settings(filter: Filter, snap: u32) -> io::Result<Settings> {
    let types = Types::of_kernel()?;
    let of = |structure: &str, member: &str| {
        let without = || io::Error::other(format!("the kernel's {structure} has no {member}"));
        types.offset(structure, member).ok_or_else(without)
    };
    let number = of("net_device", "ifindex")?;
    Ok(Settings {
        frame: Offsets {
            data: of("xdp_buff", "data")?,
            end: of("xdp_buff", "data_end")?,
            paged: 0,
            device: of("xdp_buff", "rxq")?,
            device_of_queue: of("xdp_rxq_info", "dev")?,
            number,
        },
        skb: Offsets {
            data: of("sk_buff", "data")?,
            end: of("sk_buff", "len")?,
            paged: of("sk_buff", "data_len")?,
            device: of("sk_buff", "dev")?,
            device_of_queue: 0,
            number,
        },
        filter,
        snap: snap.min(LONGEST as u32),
        padding: 0,
    })
}

impl Tracer {
    fn start(mut looking: Looking, sink: Sink) -> io::Result<Self> {
        let stop = Arc::new(sys::event()?);
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut lost = 0;
            loop {
                while let Some(event) = looking.events.next() {
                    if let Some(followed) = read(&event) {
                        sink(Said::Packet(followed));
                    }
                }
                lost = looking.tell_lost(lost, &sink);
                let both = [looking.events.as_fd(), stopped.as_fd()];
                if sys::wait_readable(both, Some(LOOK)).is_err() || sys::is_readable(&stopped) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("isthmus-trace".into());
        Ok(Self {
            stop,
            thread: Some(thread.spawn(work)?),
        })
    }
}

impl Looking {
    /// Tells how many packets were not told since `before`, and returns their number since the beginning.
    fn tell_lost(&self, before: u64, sink: &Sink) -> u64 {
        let Ok(counts) = self.lost.get(&0, 0) else {
            return before;
        };
        let now = counts.iter().sum();
        if now != before {
            sink(Said::Lost(now - before));
        }
        now
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // The thread looks at it in a moment, even if this fails.
        let _woken = (&*self.stop).write_all(&1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// What a program told.
fn read(told: &[u8]) -> Option<Followed> {
    let (event, bytes) = told.split_at_checked(size_of::<Event>())?;
    let event: Event = bytemuck::pod_read_unaligned(event);
    let (came, rest) = bytes.split_at_checked(event.came.told as usize)?;
    let left = rest.get(..event.left.told as usize)?;
    let form = |bytes: &[u8], length| Form {
        length,
        bytes: bytes.to_vec(),
    };
    let (engine, fate) = if event.hook == 0 {
        ("xdp", fate_of_frame(event.answer))
    } else {
        ("tc", fate_of_skb(event.answer))
    };
    let left = match fate {
        Fate::Dropped => Vec::new(),
        _ => vec![form(left, event.left.length)],
    };
    Some(Followed {
        time: event.time,
        engine,
        link: event.link,
        fate,
        counts: changed(&event),
        came: form(came, event.came.length),
        left,
    })
}

fn fate_of_frame(answer: i32) -> Fate {
    match answer {
        XDP_PASS => Fate::Passed,
        XDP_TX | XDP_REDIRECT => Fate::Sent,
        _ => Fate::Dropped,
    }
}

fn fate_of_skb(answer: i32) -> Fate {
    match answer {
        TC_ACT_UNSPEC | TC_ACT_OK => Fate::Passed,
        TC_ACT_REDIRECT => Fate::Sent,
        _ => Fate::Dropped,
    }
}

/// The counters that changed, with their owners.
fn changed(event: &Event) -> Vec<(Owner, Counter)> {
    let rows = Owner::all().map(|owner| (owner, map::row(owner) / counts::ROW));
    let bits = rows.map(|(owner, row)| (owner, event.changes[row as usize]));
    let of = |(owner, bits): (Owner, u64)| {
        let counters = Counter::ALL.iter().copied();
        counters
            .filter(move |counter| bits >> *counter as u32 & 1 != 0)
            .map(move |counter| (owner, counter))
    };
    bits.flat_map(of).collect()
}
