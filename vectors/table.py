"""Requirements and the vectors that show them, collected as the source modules are read.

A source module names its RFC, then writes down each requirement in its own words, followed by the
vectors that show it:

    rfc(7915)
    requirement("4.1", MUST, "What the translator has to do.")
    vector("ttl-one", siit, reply(packet, error, "hop-limit-exceeded"))

The vector's full name is `rfc7915-4.1-ttl-one`.
"""

from choices import Choice, locate

MUST, SHOULD, MAY = "MUST", "SHOULD", "MAY"

#: Microseconds between two packets that do not say when they come.
STEP = 1_000
#: When the first packet comes, in microseconds since the epoch.
START = 1_000_000_000


class Requirement:
    """One statement of an RFC and what shows it."""

    def __init__(self, rfc, section, level, text, status=None, tests=(), see=()):
        self.rfc, self.section, self.level, self.text = rfc, section, level, text
        self.status, self.tests, self.vectors, self.see = status, list(tests), [], list(see)


class Step:
    """One packet in, and all packets that it causes, in this order unless `any_order` is set."""

    def __init__(self, packet, outputs, counters, at=None, any_order=False):
        self.packet, self.outputs, self.counters = packet, outputs, counters
        self.at, self.any_order = at, any_order


class Output:
    """A packet that comes out.

    `free`: pairs of offset and length that may hold anything (checksums there must still be right).
    `shortest`: the packet may end anywhere behind this length, because it quotes as it likes.
    `within`: pairs of offset and prefix that an address in a free range must lie in.
    `words`: choices that scapy cannot carry, with offset and the checksums that cover them; the
    packet holds zero there.
    `optional`: the packet may come, or not.
    """

    def __init__(self, packet, free=(), shortest=None, within=(), words=(), optional=False):
        self.packet, self.free, self.shortest = packet, list(free), shortest
        self.within, self.words, self.optional = list(within), list(words), optional


class Collection:
    """What one source module declares."""

    current = None

    def __init__(self):
        self.rfc = None
        self.requirements, self.vectors, self.configurations = [], [], {}
        self.open = []


def rfc(number):
    """Names the RFC that the following requirements come from."""
    Collection.current.rfc = number


def requirement(section, level, text, status=None, tests=(), see=()):
    """A statement of the RFC in own words.

    `status` says what is so if no vector can show it, `tests` names Rust tests that do, `see`
    vectors that stand elsewhere. Statements that follow each other directly share the vectors that
    come next.
    """
    here = Collection.current
    new = Requirement(here.rfc, section, level, text, status, tests, see)
    if here.open and here.open[-1].vectors:
        here.open = []
    if not status and not tests and not see:
        here.open.append(new)
    here.requirements.append(new)


def version(packet):
    """4 or 6: the family of an encoded packet."""
    return bytes(packet)[0] >> 4


def send(packet, *outputs, at=None, counters=None, any_order=False):
    """A packet that is translated into `outputs`."""
    outputs = [o if isinstance(o, Output) else Output(o) for o in outputs]
    if counters is None:
        there, back = {"translated-6to4": 1}, {"translated-4to6": 1}
        ways = {(4, 6): back, (6, 4): there, (6, 6): {**there, **back, "hairpinned": 1}}
        counters = ways[version(packet), version(outputs[0].packet)]
    return Step(packet, outputs, counters, at, any_order)


def drop(packet, reason, at=None, may=None):
    """A packet that is dropped silently; or, if the RFC allows, with the error `may`."""
    if may:
        may.optional = True
    return Step(packet, [may] if may else [], {reason: 1}, at)


def held(packet, at=None):
    """A fragment that waits for the one with the ports."""
    return Step(packet, [], {"fragment-held": 1}, at)


def reply(packet, error, reason, at=None):
    """A packet that is dropped, and whose sender is told."""
    return Step(packet, [error], {reason: 1, "icmp-error-sent": 1}, at)


def ignored(packet, at=None):
    """A packet that is none of the translator's business."""
    return Step(packet, [], {"not-ours": 1}, at)


def vector(name, configuration, *steps, engines=None, counters=None):
    """Declares a vector for the latest requirement.

    `configuration` is a pair of a name and a TOML text. `counters` adds to what the steps count.
    `engines` is a pair: the only engines that can run it, and the reason.
    """
    choices = choices_in(steps)
    now, rows, total = START, [], {}
    for step in steps:
        now = now + STEP if step.at is None else START + int(step.at * 1_000_000)
        rows.append({
            "at": now,
            "in": encode(step.packet, choices),
            "out": [encode_output(output, choices) for output in step.outputs],
        })
        if step.any_order:
            rows[-1]["any-order"] = True
        for counter, count in step.counters.items():
            total[counter] = total.get(counter, 0) + count
    total.update(counters or {})
    entry = declare(name, configuration)
    entry.update(steps=rows, counters=dict(sorted(total.items())))
    used = {p["name"] for row in rows for e in [row["in"], *row["out"]] for p in e.get("choices", [])}
    if used:
        entry["choices"] = {c.name: c.rule() for c in choices if c.name in used}
    if engines:
        entry["engines"], entry["engines-reason"] = list(engines[0]), engines[1]


def refused(name, configuration, mention):
    """Declares that a configuration is refused, by an error that mentions this."""
    entry = declare(name, configuration)
    entry.update(steps=[], counters={}, refused=mention)


def declare(name, configuration):
    """Starts a vector: what all kinds have in common."""
    here = Collection.current
    to = here.open[-1]
    full = f"rfc{to.rfc}-{to.section}-{name}"
    assert full not in [v["name"] for v in here.vectors], full
    label, text = configuration
    assert here.configurations.setdefault(label, text) == text, label
    for shown in here.open:
        shown.vectors.append(full)
    entry = {"name": full, "requirement": f"{to.level}: {to.text}", "configuration": label}
    here.vectors.append(entry)
    return entry


def encode(packet, choices):
    """The packet as the runner reads it."""
    data, places = locate(lambda: bytes(packet), choices)
    entry = {"packet": data.hex()}
    if places:
        entry["choices"] = places
    return entry


def encode_output(output, choices):
    """The expected packet as the runner reads it."""
    entry = encode(output.packet, choices)
    if output.free:
        entry["free"] = [list(span) for span in output.free]
    if output.shortest is not None:
        entry["shortest"] = output.shortest
    if output.within:
        entry["within"] = [list(rule) for rule in output.within]
    if output.optional:
        entry["optional"] = True
    for choice, at, fix in output.words:
        place = {"name": choice.name, "size": choice.size, "at": at, "fix": list(fix)}
        entry.setdefault("choices", []).append(place)
    return entry


def choices_in(steps):
    """The choices that stand in the packets of these steps, each once, in order."""
    found = {}
    for step in steps:
        outside = [word[0] for output in step.outputs for word in output.words]
        inside = [c for p in [step.packet, *(o.packet for o in step.outputs)] for c in walk(p)]
        for choice in [*inside, *outside]:
            assert found.setdefault(choice.name, choice) is choice, choice.name
    return list(found.values())


def walk(packet):
    """The choices in the fields of a packet and of the packets that it quotes."""
    layer = packet
    while layer:
        for value in layer.fields.values():
            if isinstance(value, Choice):
                yield value
            quoted = getattr(value, "packets", None)
            for inner in quoted or ():
                yield from walk(inner)
        layer = layer.payload
