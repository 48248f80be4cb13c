//! The programs and filters on a link, whoever put them there.

use std::collections::BTreeMap;
use std::io;

use aya::programs::loaded_programs;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkXdp};
use netlink_packet_route::tc::{TcAttribute, TcFilterBpfOption, TcMessage, TcOption};

use super::Mode;
use super::attached::{INGRESS, about, has_tcx};
use super::dump::request;
use crate::sys;
use crate::sys::bpf::Attachment;

/// A program or filter on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub place: Place,
    /// The name of the program, or the kind of a filter that is none.
    pub name: String,
    /// The number of the attachment, if it is a BPF link.
    pub attachment: Option<u32>,
}

/// A place for programs on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// XDP.
    Xdp(Mode),
    /// At the ingress, since Linux 6.6.
    Tcx,
    /// Among the filters at the ingress.
    Filter {
        /// The preference, by which one filter is told from others.
        preference: u32,
    },
}

/// Returns all programs and filters at the ingress of a link.
///
/// # Errors
/// There is no such link, or the kernel does not tell.
pub fn programs_on(interface: &str) -> io::Result<Vec<Found>> {
    let link = sys::link_number(interface)?;
    let mut found = xdp(link)?;
    if has_tcx() {
        let programs = sys::bpf::tcx_programs(link)?.into_iter();
        found.extend(programs.map(|program| Numbered::new(Place::Tcx, program)));
    }
    found.extend(filters(link)?);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let names: BTreeMap<u32, String> = loaded_programs()
        .filter_map(Result::ok)
        .map(|program| {
            (
                program.id(),
                program.name_as_str().unwrap_or("?").to_owned(),
            )
        })
        .collect();
    let attachments = sys::bpf::attachments()?;
    let on_it = |number| {
        let same = |one: &&Attachment| one.program == number && one.interface == link;
        attachments.iter().find(same).map(|one| one.number)
    };
    Ok(found
        .into_iter()
        .map(|one| Found {
            place: one.place,
            name: match one.program {
                Some(number) => names
                    .get(&number)
                    .cloned()
                    .unwrap_or_else(|| format!("number {number}")),
                None => one.kind,
            },
            attachment: one.program.and_then(on_it),
        })
        .collect())
}

/// A program by its number, or a filter by its kind.
struct Numbered {
    place: Place,
    program: Option<u32>,
    kind: String,
}

impl Numbered {
    fn new(place: Place, program: u32) -> Self {
        Self {
            place,
            program: Some(program),
            kind: String::new(),
        }
    }
}

fn xdp(link: u32) -> io::Result<Vec<Numbered>> {
    let mut found = Vec::new();
    about(link, |attribute| {
        let LinkAttribute::Xdp(about) = attribute else {
            return;
        };
        found.extend(about.into_iter().filter_map(|one| {
            let (mode, program) = match one {
                LinkXdp::DrvProgId(program) | LinkXdp::HwProgId(program) => (Mode::Native, program),
                LinkXdp::SkbProgId(program) => (Mode::Generic, program),
                _ => return None,
            };
            Some(Numbered::new(Place::Xdp(mode), program))
        }));
    })?;
    Ok(found)
}

/// The filters, each once: the kernel lists some of them twice, without options first.
fn filters(link: u32) -> io::Result<Vec<Numbered>> {
    let mut message = TcMessage::with_index(link as i32);
    message.header.parent = INGRESS;
    let mut found: BTreeMap<u32, Numbered> = BTreeMap::new();
    let filters = RouteNetlinkMessage::GetTrafficFilter(message);
    let listed = request(filters, NLM_F_REQUEST | NLM_F_DUMP, |answer| {
        if let RouteNetlinkMessage::NewTrafficFilter(filter) = answer {
            // The upper half; the lower one is the protocol.
            let preference = filter.header.info >> 16;
            let place = Place::Filter { preference };
            let one = found.entry(preference).or_insert(Numbered {
                place,
                program: None,
                kind: String::new(),
            });
            for attribute in filter.attributes {
                match attribute {
                    TcAttribute::Kind(kind) => one.kind = kind,
                    TcAttribute::Options(options) => {
                        one.program = options.into_iter().find_map(program).or(one.program);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    });
    match listed {
        // A link without a place for filters has none.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(()) => Ok(found.into_values().collect()),
    }
}

fn program(option: TcOption) -> Option<u32> {
    match option {
        TcOption::Bpf(TcFilterBpfOption::ProgId(number)) => Some(number),
        _ => None,
    }
}
