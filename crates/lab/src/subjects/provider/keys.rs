//! Groups of keys that instances of a provider's gateways have in common.

use crate::subjects::isthmus::Keys;

/// The hosts behind a CE, and its tables.
pub const CUSTOMER: &str = r#"inside = ["192.168.0.0/16"]
max-sessions = 4096
max-bindings = 4096"#;
/// The address of a CE without a NAT.
pub(super) const CE_OWN: &str = r#"own-v4 = "203.0.113.254""#;

/// The address of a BR.
pub const BR_OWN: &str = r#"own-v4 = "203.0.113.253""#;
/// The outside addresses of a BR with sessions.
pub(super) const POOL: &str = r#"pool = [{ addresses = "203.0.113.0/28", ports = "1024-65535" }]
subscriber-session-rate = 1000000000"#;
/// The tables of such a BR.
pub(super) const TABLES: &str = "max-sessions = 4096\nmax-bindings = 4096";
/// The keys with which hosts ask a CE for ports of its set.
pub(super) const ASK_CE: [Keys; 2] = [&[r#"pcp = { listen = ["192.168.1.1"] }"#], &[]];
/// The same of a B4, which asks its AFTR.
pub(super) const ASK_AFTR: [Keys; 2] = [
    ASK_CE[0],
    &[r#"pcp = { listen = ["192.0.0.1"], clients = ["2001:db8:12::/48"] }"#],
];
/// The same of a CLAT, which asks its PLAT.
pub(super) const ASK_PLAT: [Keys; 2] = [
    &[r#"pcp = { listen = ["192.168.1.1"], server = "3fff:c1::2" }"#],
    &[r#"pcp = { listen = ["3fff:c1::2"], clients = ["2001:db8:12::/48"] }"#],
];

/// The domain of 6rd.
pub(super) const SIX_RD_DOMAIN: &str = r#"prefix = "2001:db8::/32"
v4-prefix = "10.0.0.0/8""#;

/// A CE of MAP-E, without rule and prefix.
pub const MAP_E_CE: &str = r#"mechanism = "map-e"
role = "ce"
br = "2001:db8:ffff::1""#;
/// Its BR, without rule and address.
pub const MAP_E_BR: &str = r#"mechanism = "map-e"
role = "br"
local = "2001:db8:ffff::1""#;
/// The rule of MAP.
pub(super) const RULE: &str =
    r#"rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 12 }]"#;
/// The prefix of a customer of MAP: PSID 3 of 192.0.2.18.
pub(super) const END_USER: &str = r#"end-user-prefix = "2001:db8:12:3000::/52""#;

/// The lwB4 of a customer, without the ports.
pub const LWB4: &str = r#"mechanism = "lw4o6"
role = "b4"
local = "2001:db8:12::1"
aftr = "2001:db8:ffff::1"
address = "192.0.2.18""#;
/// Its lwAFTR, without softwires.
pub const LWAFTR: &str = r#"mechanism = "lw4o6"
role = "aftr"
local = "2001:db8:ffff::1""#;
