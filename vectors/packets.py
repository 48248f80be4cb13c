"""Packets as table rows: scapy's encoder with the addresses that the vectors use.

scapy computes every length and checksum here. It shares no code with the translator.
"""

import itertools
import logging

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_LSRR, IPOption_NOP, IPOption_RR  # noqa: E402,F401
from scapy.layers.inet6 import (  # noqa: E402,F401
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6PacketTooBig, ICMPv6ParamProblem,
    ICMPv6TimeExceeded, ICMPv6Unknown, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting, PadN)
from scapy.fields import ByteField, XShortField  # noqa: E402
from scapy.packet import Packet, Raw, bind_layers  # noqa: E402
from scapy.utils import checksum  # noqa: E402

from choices import Choice, Late  # noqa: E402
from table import Output  # noqa: E402

#: The hosts of RFC 7915 appendix A: H4, and H6 with its IPv4-translatable address.
H4, H6_V4 = "198.51.100.2", "192.0.2.33"
H4_V6, H6 = "2001:db8:1c6:3364:2::", "2001:db8:1c0:2:21::"

_numbers = itertools.count(1)


def restart():
    """Starts the numbering of anonymous choices again, once per source module."""
    global _numbers
    _numbers = itertools.count(1)


def fresh(kind, low=0, high=None, size=2):
    """A choice with a name of its own."""
    return Choice(f"{kind}{next(_numbers)}", low, high, size)


def any_id():
    """An IPv4 identification that the translator chooses."""
    return fresh("id")


def ip4(src=H4, dst=H6_V4, ttl=64, **fields):
    """An IPv4 header as a host sends it: to H6 unless told otherwise."""
    fields.setdefault("id", 0x1234)
    return IP(src=src, dst=dst, ttl=ttl, **fields)


def ip6(src=H6, dst=H4_V6, hlim=64, **fields):
    """An IPv6 header as a host sends it: to H4 unless told otherwise."""
    return IPv6(src=src, dst=dst, hlim=hlim, **fields)


def to6(src=H4_V6, dst=H6, hlim=63, **fields):
    """The IPv6 header that the translator makes of `ip4()`."""
    return ip6(src, dst, hlim, **fields)


def to4(src=H6_V4, dst=H4, ttl=63, **fields):
    """The IPv4 header that the translator makes of `ip6()`: its identification is free."""
    fields.setdefault("id", any_id())
    return ip4(src, dst, ttl, **fields)


def udp(sport=40000, dport=53, **fields):
    """A UDP header."""
    return UDP(sport=sport, dport=dport, **fields)


def tcp(flags="A", sport=40000, dport=80, seq=0x01020304, ack=0x05060708, **fields):
    """A TCP header."""
    return TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, **fields)


def timestamp(kind):
    """An ICMPv4 Timestamp (13) or Timestamp Reply (14); scapy would put the time of day in it."""
    return ICMP(type=kind, id=1, seq=1, ts_ori=1, ts_rx=2, ts_tx=3)


class Query(Packet):
    """The header that all ICMP messages with an identifier have, whatever follows it (RFC 792)."""

    name = "ICMP query"
    fields_desc = [ByteField("type", 13), ByteField("code", 0), XShortField("chksum", None),
                   XShortField("id", 0), XShortField("seq", 1)]

    def post_build(self, pkt, pay):
        """The checksum, over header and payload."""
        pkt += pay
        return pkt[:2] + checksum(pkt).to_bytes(2, "big") + pkt[4:] if self.chksum is None else pkt


bind_layers(IP, Query, proto=1)
bind_layers(IP, ICMP, proto=1)


def data(length=16):
    """Bytes that are all different from their neighbours."""
    return Raw(bytes((7 * n + n // 256 + 1) & 0xFF for n in range(length)))


def transport(packet):
    """What lies behind the 20 bytes of the header of this IPv4 packet, its checksum as it is."""
    return Raw(bytes(packet)[20:])


class Quote(Late):
    """The first bytes of a packet, as an ICMP error carries them."""

    def __init__(self, packet, length=None, padded=None):
        def make():
            cut = bytes(packet)[:length]
            return cut if padded is None else cut.ljust(padded, b"\0")
        super().__init__(make)
        self.packets = [packet]


def quote(packet, length=None, padded=None):
    """A packet inside an ICMP error: all of it, or `length` bytes, then zeros up to `padded`."""
    return Raw(load=Quote(packet, length, padded))


class Part(Late):
    """Some of the bytes behind the IP header of a packet."""

    def __init__(self, packet, header, start, end):
        super().__init__(lambda: bytes(packet)[header:][start:end])
        self.packets = [packet]


def fragment4(packet, start, end=None, **fields):
    """The fragment of an IPv4 packet that has the bytes from `start` to `end` of its payload."""
    header = packet.copy()
    header.remove_payload()
    length = len(bytes(packet)) - 20
    header.frag = start // 8
    header.flags = "MF" if end is not None and end < length else 0
    header.proto = bytes(packet)[9]
    for name, value in fields.items():
        setattr(header, name, value)
    return header / Raw(load=Part(packet, 20, start, end))


def fragment6(packet, start, end=None, id=0x1234, **fields):
    """The fragment of an IPv6 packet that has the bytes from `start` to `end` of its payload."""
    header = packet.copy()
    header.remove_payload()
    length = len(bytes(packet)) - 40
    more = 1 if end is not None and end < length else 0
    protocol = bytes(packet)[6]
    extension = IPv6ExtHdrFragment(nh=protocol, offset=start // 8, m=more, id=id)
    header.nh = 44
    for name, value in fields.items():
        setattr(header, name, value)
    return header / extension / Raw(load=Part(packet, 40, start, end))


#: Fields of an ICMPv4 error of the translator itself that are its own affair: type of service,
#: identification and flags, TTL, and the header checksum over them (which the referee checks).
OWN4 = [(1, 1), (4, 4), (8, 1), (10, 2)]
#: The same for ICMPv6: traffic class and flow label, hop limit. The version is checked apart.
OWN6 = [(0, 4), (7, 1)]


def error4(message, about, source="203.0.113.254", longest=None):
    """An ICMPv4 error of the translator about a packet that it received.

    RFC 792 wants 8 bytes behind the header, RFC 1812 as much as fits 576 bytes; both are right.
    """
    header = IP(src=source, dst=about.src, ttl=64, id=0)
    original = bytes(about)
    longest = min(len(original), 576 - 28 if longest is None else longest)
    packet = header / message / Raw(original[:longest])
    least = 28 + min(len(original), (original[0] & 15) * 4 + 8)
    if least == len(bytes(packet)):
        return Output(packet, OWN4)
    return Output(packet, [*OWN4, (2, 2), (22, 2)], shortest=least)


def error6(message, about, source="2001:db8:ffff::1", longest=1280 - 48):
    """An ICMPv6 error of the translator: it quotes as much as fits 1280 bytes (RFC 4443)."""
    return Output(IPv6(src=source, dst=about.src, hlim=64) / message / Raw(bytes(about)[:longest]), OWN6)


def landing_on(header, checksum, source, destination, at):
    """A 16-bit payload that makes the checksum at this offset of the packet this one."""
    outer = ip6 if ":" in source else ip4

    def checksum_with(word):
        packet = outer(source, destination) / header / Raw(word.to_bytes(2, "big"))
        return int.from_bytes(bytes(packet)[at:at + 2], "big")

    word = (checksum_with(0) - checksum) % 0xFFFF
    assert checksum_with(word) == checksum, hex(checksum_with(word))
    return Raw(word.to_bytes(2, "big"))
