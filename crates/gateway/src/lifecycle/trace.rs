//! Packets on their way, told in the names of the configuration.

mod ends;

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_engine::counters::Owner;
use isthmus_engine::memory::Region;
use isthmus_engine::trace::{Fate, Followed, Form, LONGEST, Said, Sink};
use nix::net::if_::if_indextoname;
use tokio::sync::mpsc;

use super::clock;
use super::view::{Current, View, lock};
use crate::control::{
    Listed, PacketForm, Reason, Reply, Rule, TraceRequest, TracedPacket, Tracing,
};
use crate::explain;

/// Begins to tell.
pub(super) fn begin(
    view: &View,
    request: &TraceRequest,
    replies: &mpsc::Sender<Reply>,
) -> Result<Tracing, String> {
    let filter = request.filter()?;
    let instances = &view.current().document.instances;
    let names = instances.iter().map(|instance| instance.name.value.clone());
    let teller = Teller {
        instances: names.collect(),
        current: view.current(),
        state: Arc::clone(&view.state),
        instance: request.instance.clone(),
        dropped: request.dropped,
        links: Mutex::default(),
        lost: AtomicU64::new(0),
        replies: replies.clone(),
    };
    if let Some(name) = &request.instance
        && !teller.instances.contains(name)
    {
        return Err(format!(
            "there is no instance {name:?}, but: {}",
            teller.instances.join(", ")
        ));
    }
    let sink: Sink = Arc::new(move |said| teller.tell(said));
    let snap = request.snap.unwrap_or(LONGEST as u32);
    let mut following: Vec<Box<dyn Send>> = Vec::new();
    for engine in &view.engines {
        match engine.follow(&filter, snap, &sink) {
            Ok(one) => following.push(one),
            Err(error) => {
                // There is room: it is the first reply, or the second.
                let _sent = replies.try_send(Reply::Unseen(error.to_string()));
            }
        }
    }
    Ok(Box::new(following))
}

/// Tells a client.
struct Teller {
    /// The configuration of the beginning: a table that was made anew since has no session at an old place.
    current: Arc<Current>,
    state: Arc<Region>,
    /// Names by number.
    instances: Vec<String>,
    /// The one that the client asks for.
    instance: Option<String>,
    dropped: bool,
    /// Names of links by number.
    links: Mutex<HashMap<u32, String>>,
    /// Packets for which there was no room, since the last for which there was.
    lost: AtomicU64,
    replies: mpsc::Sender<Reply>,
}

impl Teller {
    fn tell(&self, said: Said) {
        match said {
            Said::Lost(count) => {
                self.lost.fetch_add(count, Ordering::Relaxed);
            }
            Said::Packet(packet) => {
                let told = self.told(packet);
                if self.is_wanted(&told) {
                    self.send(Reply::Packet(told));
                }
            }
        }
    }

    /// Sends without waiting.
    fn send(&self, reply: Reply) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost != 0 && self.replies.try_send(Reply::Lost(lost)).is_err() {
            self.lost.fetch_add(lost, Ordering::Relaxed);
        }
        if self.replies.try_send(reply).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_wanted(&self, packet: &TracedPacket) -> bool {
        let counted = |name: &String| {
            let mut reasons = packet.reasons.iter();
            reasons.any(|reason| reason.instance.as_ref() == Some(name))
        };
        let ended = matches!(packet.fate.as_str(), "dropped" | "refused");
        self.instance.as_ref().is_none_or(counted) && (!self.dropped || ended)
    }

    fn told(&self, packet: Followed) -> TracedPacket {
        let reasons = packet.counts.iter().map(|(owner, counter)| Reason {
            instance: match owner {
                Owner::Instance(number) => self.instances.get(*number as usize).cloned(),
                Owner::Gateway => None,
            },
            counter: counter.name().into(),
        });
        let wall = clock::exactly(packet.time);
        TracedPacket {
            time: wall.as_nanosecond().try_into().unwrap_or_default(),
            engine: packet.engine.into(),
            link: self.link(packet.link),
            fate: fate(packet.fate).into(),
            reasons: reasons.collect(),
            rules: self.rules(&packet),
            session: self.session(&packet),
            came: form(packet.came),
            left: packet.left.into_iter().map(form).collect(),
        }
    }

    /// What the addresses of a packet mean to the instances that counted it.
    fn rules(&self, packet: &Followed) -> Vec<Rule> {
        let ends = ends::addresses(&packet.came.bytes, packet.engine != "user");
        let instances = self.current.document.instances.iter().enumerate();
        let counted = instances.filter(|(number, _)| {
            let mut owners = packet.counts.iter().map(|(owner, _)| owner);
            owners.any(|owner| *owner == Owner::Instance(*number as u32))
        });
        let rules = counted.flat_map(|(_, instance)| {
            ends.iter().flat_map(move |(address, port)| {
                let meanings = explain::to(instance, *address, *port);
                meanings.into_iter().map(|meaning| Rule {
                    instance: instance.name.value.clone(),
                    address: *address,
                    meaning,
                })
            })
        });
        rules.collect()
    }

    /// The session of a packet, by its form in IPv4.
    fn session(&self, packet: &Followed) -> Option<Listed> {
        let framed = packet.engine != "user";
        let came = ends::of_v4(&packet.came.bytes, framed);
        let left = || ends::of_v4(&packet.left.first()?.bytes, framed);
        // From outside it came in IPv4, from inside it left so; within IPv4 it is one or the other.
        let ends = came.map(ends::Ends::swapped).into_iter().chain(left());
        let tables = self.current.tables.iter().filter(|table| {
            let owner = Owner::Instance(table.number);
            packet.counts.iter().any(|(of, _)| *of == owner)
        });
        let mut both = tables.flat_map(|table| ends.clone().map(move |ends| (table, ends)));
        both.find_map(|(table, ends)| {
            let both = [ends.source, ends.destination];
            let session = table.session_between(&self.state, both, ends.protocol)?;
            Some(table.listed(&session))
        })
    }

    /// The name of a link.
    fn link(&self, number: u32) -> String {
        let name = || {
            let name: Option<CString> = if_indextoname(number).ok();
            name.map_or_else(|| number.to_string(), |name| name.to_string_lossy().into())
        };
        if number == 0 {
            return String::new();
        }
        lock(&self.links).entry(number).or_insert_with(name).clone()
    }
}

fn form(form: Form) -> PacketForm {
    PacketForm {
        length: form.length,
        bytes: form.bytes,
    }
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Sent => "sent",
        Fate::Passed => "passed",
        Fate::Waits => "waits",
        Fate::Dropped => "dropped",
        Fate::Refused => "refused",
    }
}
