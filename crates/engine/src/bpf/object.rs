//! Compares the committed object with `isthmus-abi`: maps with their sizes, programs, read-only data.

use std::collections::{BTreeSet, HashMap};

use aya_obj::Object;
use isthmus_abi::{banks, clock, counts, lines, links, programs, routes};
use isthmus_core::slow::shares;

use super::OBJECT;

/// Every map that programs and daemon share: name, size of key and value, number of entries, whether it can be
/// mapped.
fn shared() -> Vec<(&'static str, usize, usize, u32, bool)> {
    use programs::Hook;
    let words = size_of::<banks::InstanceWords>();
    let line = size_of::<lines::LineWords>();
    let epoch = size_of::<routes::EpochWords>();
    let range = size_of::<routes::Range>();
    let link = size_of::<links::Link>();
    let most_links = links::MOST as u32;
    let most_programs = programs::ENTRIES as u32;
    vec![
        (banks::INSTANCES, 4, words, banks::ENTRIES, true),
        (banks::ACTIVE, 4, size_of::<banks::Active>(), 1, false),
        (clock::CLOCK, 4, size_of::<clock::Clock>(), 1, false),
        (counts::COUNTS, 4, 8, counts::ENTRIES, false),
        (lines::STATE, 4, line, 1, true),
        (lines::RULES, 4, line, 1, true),
        (lines::SHARES, 4, line, shares::LINES, true),
        (links::LINKS, 4, link, most_links, false),
        (links::VLANS, 8, 4, most_links, false),
        (
            links::STATIONS,
            size_of::<links::Station>(),
            4,
            links::MOST_STATIONS as u32,
            false,
        ),
        (links::OWN, 4, 8, links::OWN_PLACES as u32, false),
        (routes::EPOCH, 4, epoch, 1, true),
        (routes::RANGES, 4, range, routes::ENTRIES as u32, true),
        (Hook::Xdp.array(), 4, 4, most_programs, false),
        (Hook::Tc.array(), 4, 4, most_programs, false),
    ]
}

fn object() -> Object {
    Object::parse(&OBJECT.as_ref().unwrap().unpack()).unwrap()
}

#[test]
fn maps_have_the_names_and_sizes_that_the_daemon_knows() {
    let object = object();
    for (name, key, value, entries, mapped) in shared() {
        let map = &object.maps[name];
        let sizes = (map.key_size(), map.value_size(), map.max_entries());
        assert_eq!(sizes, (key as u32, value as u32, entries), "{name}");
        let flag = map.map_flags() & lines::MMAPABLE as u32;
        assert_eq!(flag != 0, mapped, "{name}");
    }
}

#[test]
fn programs_have_the_names_that_the_daemon_knows() {
    let object = object();
    for hook in [programs::Hook::Xdp, programs::Hook::Tc] {
        for slot in programs::Slot::ALL {
            let name = slot.name(hook);
            assert!(object.programs.contains_key(name), "{name}");
        }
    }
}

#[test]
fn the_daemon_can_say_whose_clock_counts() {
    let mut object = object();
    let octet = HashMap::from([(clock::OFFLINE, (&[1][..], true))]);
    object.patch_map_data(octet).unwrap();
}

#[test]
fn the_daemon_can_say_for_which_mechanisms_programs_are() {
    let object = object();
    let map = &object.maps[programs::MECHANISMS];
    assert_eq!(map.value_size(), size_of::<programs::Mechanisms>() as u32);
    assert_eq!(map.max_entries(), 1);
}

#[test]
fn every_map_is_kept_for_the_next_process() {
    let object = object();
    let maps = object.maps.keys().map(String::as_str);
    let named: BTreeSet<&str> = maps.filter(|name| !name.starts_with('.')).collect();
    assert_eq!(named, BTreeSet::from(super::kept::MAPS));
}

/// Without types, Linux 6.1 takes no function for global. The build script takes the lines out.
#[test]
fn functions_have_types_and_no_lines() {
    let object = object();
    assert!(!object.functions.is_empty());
    for function in object.functions.values() {
        assert!(
            !function.func_info.func_info.is_empty(),
            "{}",
            function.name
        );
        assert!(function.line_info.line_info.is_empty(), "{}", function.name);
    }
}

/// A closure's argument may be a pattern, which has no name. Linux 6.1 refuses types with such a function, and then takes no
/// function for global: it follows each from every call, until that is too much.
#[test]
fn no_closure_is_a_function() {
    // The name of a closure (RFC 2603).
    const CLOSURE: &str = "_RNC";
    let object = object();
    let mut names = object.functions.values().map(|function| &function.name);
    assert_eq!(names.find(|name| name.starts_with(CLOSURE)), None);
}
