"""RFC 6040: marks of congestion through a tunnel."""

from table import *
from tunnel_packets import *

rfc(6040)
T6, T4 = six_in_four(), four_in_six()
MARKS = {"not-ect": 0, "ect0": 2, "ect1": 1, "ce": 3}

requirement("4.1", MUST, "The entry copies the mark of the packet into the outer header.")
for name, mark in MARKS.items():
    vector(f"6in4-copied-{name}", T6, enters(
        out6(tc=0xB8 | mark) / udp() / data(), outer4(df=False, tos=0xB8 | mark) / out6(63, tc=0xB8 | mark) / udp() / data()))
    vector(f"4in6-copied-{name}", T4, enters(
        out4(tos=0xB8 | mark) / udp() / data(), outer6(tc=0xB8 | mark) / out4(63, tos=0xB8 | mark) / udp() / data()))
SET6, SET4 = six_in_four("6in4-class", more="tos = 8\n"), four_in_six("4in6-class", more="traffic-class = 8\n")
vector("6in4-other-class", SET6, enters(
    out6(tc=0xBB) / udp() / data(), outer4(df=False, tos=0x0B) / out6(63, tc=0xBB) / udp() / data()))
vector("4in6-other-class", SET4, enters(
    out4(tos=0xBB) / udp() / data(), outer6(tc=0x0B) / out4(63, tos=0xBB) / udp() / data()))

requirement("4.2", MUST, "The exit combines both marks as figure 4 says; DSCP inside stays as it is.")
#: Rows: the mark inside; columns: the mark outside; what leaves, or None.
FIGURE_4 = {
    "not-ect": {"not-ect": "not-ect", "ect0": "not-ect", "ect1": "not-ect", "ce": None},
    "ect0": {"not-ect": "ect0", "ect0": "ect0", "ect1": "ect1", "ce": "ce"},
    "ect1": {"not-ect": "ect1", "ect0": "ect1", "ect1": "ect1", "ce": "ce"},
    "ce": {"not-ect": "ce", "ect0": "ce", "ect1": "ce", "ce": "ce"},
}
for inside, row in FIGURE_4.items():
    for outside, result in row.items():
        i, o = MARKS[inside], MARKS[outside]
        six = from4(tos=o) / in6(tc=0xB8 | i) / udp() / data()
        four = from6(tc=o) / in4(tos=0xB8 | i) / udp() / data()
        if result is None:
            vector(f"6in4-{inside}-under-{outside}", T6, drop(six, "congestion-unheard"))
            vector(f"4in6-{inside}-under-{outside}", T4, drop(four, "congestion-unheard"))
        else:
            r = 0xB8 | MARKS[result]
            vector(f"6in4-{inside}-under-{outside}", T6, leaves(six, in6(63, tc=r) / udp() / data()))
            vector(f"4in6-{inside}-under-{outside}", T4, leaves(four, in4(63, tos=r) / udp() / data()))
