"""Values that an implementation may choose, such as an allocated port.

A `Choice` stands in a packet wherever such a value stands. The runner reads it from the first
output that carries it, and from then on it is that value: in later outputs, and in inputs (an
answer to the allocated port). The generator finds out by itself where a choice lies in the bytes
and which checksums depend on it, by encoding the packet twice.
"""


class Choice:
    """A number of `size` bytes that the translator chooses."""

    def __init__(self, name, low=0, high=None, size=2, parity=None, differs=()):
        self.name = name
        self.size = size
        self.low = low
        self.high = (1 << 8 * size) - 1 if high is None else high
        self.parity = parity
        self.differs = [other.name for other in differs]
        self.value = 0

    def __index__(self):
        return self.value

    __int__ = __index__

    def rule(self):
        """What the chosen value must fulfil, as the runner reads it."""
        rule = {"low": self.low, "high": self.high}
        if self.parity:
            rule["parity"] = self.parity
        if self.differs:
            rule["differs"] = self.differs
        return rule


class Late:
    """Bytes that are only known when the choices in them are."""

    def __init__(self, make):
        self.make = make

    def __bytes__(self):
        return self.make()

    def __len__(self):
        return len(bytes(self))


def adjusted(checksum, delta):
    """A checksum after the data that it covers grew by `delta`."""
    total = (0xFFFF - checksum) + delta
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def locate(render, choices):
    """Encodes with all choices zero, and tells where each choice and its checksums lie."""
    for choice in choices:
        choice.value = 0
    base = render()
    places = []
    for choice in choices:
        choice.value = probe = 0x1234 if choice.size == 2 else 0x34
        probed = render()
        choice.value = 0
        if probed == base:
            continue
        assert len(probed) == len(base), "a choice must not change the length"
        here, fixes = [], []
        for at in range(0, len(base), 2):
            old, new = base[at:at + 2], probed[at:at + 2]
            if old == new:
                continue
            if choice.size == 2 and old == b"\0\0" and int.from_bytes(new, "big") == probe:
                here.append(at)
            elif choice.size == 1 and probe in (new[0] - old[0], new[-1] - old[-1]):
                here.append(at if new[0] != old[0] else at + 1)
            else:
                fixes.append(at)
        assert len(here) == 1, f"{choice.name} stands {len(here)} times in one packet"
        delta = probe << 8 if choice.size == 1 and here[0] % 2 == 0 else probe
        for at in fixes:
            old, new = (int.from_bytes(p[at:at + 2], "big") for p in (base, probed))
            assert adjusted(old, delta) % 0xFFFF == new % 0xFFFF, (choice.name, at)
        places.append({"name": choice.name, "size": choice.size, "at": here[0], "fix": fixes})
    return base, places
