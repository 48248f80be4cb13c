"""The gateways that the vectors run on, as configuration files."""

#: What every configuration says about the translator itself.
OWN = """own-v4 = "203.0.113.254"
icmp-source-v6 = "2001:db8:ffff::1"
icmp-errors = 1000
"""


def configuration(label, instance, link=""):
    """A pair of a name and a TOML text."""
    head = f"[link]\n{link}\n" if link else ""
    return label, f"{head}[[instance]]\nname = \"{label}\"\n{instance.strip()}\n"


def siit(label="siit", prefix="2001:db8:100::/40", hosts=("192.0.2.0/24",), more="", link=""):
    """A stateless translator; by default the one of RFC 7915 appendix A."""
    networks = ", ".join(f'"{network}"' for network in hosts)
    head = f'mechanism = "siit"\nprefix = "{prefix}"\nhosts = [{networks}]\n'
    return configuration(label, f"{head}{OWN}{more}", link)


#: The example of RFC 7757 section 3.2, figure 1.
EAMT = [
    ("192.0.2.1", "2001:db8:aaaa::"),
    ("192.0.2.2/32", "2001:db8:bbbb::b/128"),
    ("192.0.2.16/28", "2001:db8:cccc::/124"),
    ("192.0.2.128/26", "2001:db8:dddd::/64"),
    ("192.0.2.192/29", "2001:db8:eeee:8::/62"),
    ("192.0.2.224/31", "64:ff9b::/127"),
]


def eam(rows):
    """An explicit address mapping table."""
    lines = "".join(f'  {{ v4 = "{v4}", v6 = "{v6}" }},\n' for v4, v6 in rows)
    return f"eam = [\n{lines}]\n"


#: Small tables, so that a vector is quick.
BOUNDS = "max-bindings = 1024\nmax-sessions = 1024\nmax-subscribers = 64\n"


def nat64(label="nat64", prefix="64:ff9b::/96", pool=(("203.0.113.1", "1024-65535"),), more="", bounds=BOUNDS):
    """A stateful translator with one outside address."""
    rows = "".join(f'  {{ addresses = "{a}", ports = "{p}" }},\n' for a, p in pool)
    return configuration(label, f'mechanism = "nat64"\nprefix = "{prefix}"\n{OWN}{bounds}pool = [\n{rows}]\n{more}')
