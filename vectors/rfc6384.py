"""RFC 6384: the FTP gateway of a translator from IPv6 to IPv4."""

from configurations import BOUNDS, OWN, configuration, nat64
from nat64_packets import *
from table import *

rfc(6384)
FTP = nat64("nat64-ftp", PREFIX, more='alg = ["ftp"]\n')
#: Where ports stay, so that a vector can say which one `PORT` names.
ONE_TO_ONE = configuration("nat-pt-ftp", f"""mechanism = "nat-pt"
variant = "basic"
prefix = "{PREFIX}"
inside = ["2001:db8:1::/48"]
{OWN}{BOUNDS}pool = [{{ addresses = "{OUT}" }}]
alg = ["ftp"]
""")
# Where the client is in its stream, and the server, as each of them knows it.
C0, S0 = 1000, 5000


class Talk:
    """A control connection: each side's numbers on each side of the gateway."""

    def __init__(self, port):
        self.port, self.sent, self.heard = port, [C0, C0], [S0, S0]
        self.steps = [
            send(out6() / tcp("S", dport=21, seq=C0 - 1, ack=0, options=[("SAckOK", b""), ("MSS", 1460)]),
                 out4() / tcp("S", port, 21, C0 - 1, 0, options=[("NOP", None), ("NOP", None), ("MSS", 1460)])),
            send(in4() / tcp("SA", 21, port, S0 - 1, C0), in6() / tcp("SA", 21, 40000, S0 - 1, C0))]

    def client(self, line, becomes=None):
        """The client sends a line."""
        becomes = line if becomes is None else becomes
        line, becomes = line + "\r\n", becomes + "\r\n"
        (sent, heard), (became, was) = (self.sent[0], self.heard[1]), (self.sent[1], self.heard[0])
        self.passes(lambda: send(out6() / tcp("PA", 40000, 21, sent, heard) / Raw(line),
                                 out4() / tcp("PA", self.port, 21, became, was) / Raw(becomes)))
        self.sent = [self.sent[0] + len(line), self.sent[1] + len(becomes)]
        return self

    def server(self, line, becomes=None):
        """The server sends a line."""
        becomes = line if becomes is None else becomes
        line, becomes = line + "\r\n", becomes + "\r\n"
        (sent, heard), (became, was) = (self.heard[0], self.sent[1]), (self.heard[1], self.sent[0])
        self.passes(lambda: send(in4() / tcp("PA", 21, self.port, sent, heard) / Raw(line),
                                 in6() / tcp("PA", 21, 40000, became, was) / Raw(becomes)))
        self.heard = [self.heard[0] + len(line), self.heard[1] + len(becomes)]
        return self

    def passes(self, step):
        """A segment passes."""
        self.last = step
        self.steps.append(step())

    def again(self):
        """The last segment comes once more."""
        self.steps.append(self.last())
        return self


def talk():
    return Talk(port("p"))


EXTENDED = "229 Entering Extended Passive Mode (|||60691|)"
requirement("6", SHOULD, "EPSV becomes PASV, and the 227 reply to it a 229 reply.")
requirement("6", SHOULD, "The address in the 227 reply is ignored.")
requirement("5", MUST, "Sequence numbers follow what was changed, in both directions.")
vector("epsv", FTP, *talk().server("220 ready").client("EPSV", "PASV").server(
    "227 Entering Passive Mode (192,0,2,31,237,19)", EXTENDED).client("RETR file").server("150 here").server("226 done").client("QUIT").steps)
vector("epsv-2", FTP, *talk().client("EPSV 2", "PASV").server("227 =10,0,0,1,237,19", EXTENDED).client("RETR file").steps)
vector("epsv-fails", FTP, *talk().client("EPSV", "PASV").server("425 no").client("PASV").server(
    "227 Entering Passive Mode (192,0,2,31,237,19)").steps)
vector("epsv-comes-again", FTP, *talk().client("EPSV 2", "PASV").again().server(
    "227 Entering Passive Mode (192,0,2,31,237,19)", EXTENDED).again().client("EPSV 2", "PASV").again().client("RETR file").again().steps)
requirement("5", MUST, "The URG bit is cleared, and selective acknowledgements are not agreed on, where segments are changed.")
urgent = talk().client("ABOR")
urgent.steps[-1] = send(out6() / tcp("PA", 40000, 21, C0, S0) / Raw("ABOR\r\n"), out4() / tcp("PA", urgent.port, 21, C0, S0) / Raw("ABOR\r\n"))
vector("without-urgent-data", FTP, *urgent.client("EPSV", "PASV").steps)
requirement("6", MUST, "EPSV with another number than 2 is not passed on, but answered with 522; EPSV ALL with 504.")
requirement("12", MUST, "The server gets NOOP instead, whose reply does not get to the client.")
vector("epsv-1", FTP, *talk().client("EPSV 1", "NOOP").server("200 well", "522 Network protocol not supported").client("NOOP").server("200 well").steps)
vector("epsv-all", FTP, *talk().client("EPSV ALL", "NOOP").server("200 well", "504 Command not implemented for that parameter").steps)
requirement("7.1", MUST, "EPRT with the client's own address becomes PORT; where addresses are translated alone, the port is kept.")
vector("eprt", ONE_TO_ONE, *Talk(40000).client(f"EPRT |2|{A}|5282|", "PORT 203,0,113,1,20,162").server("200 well").client("RETR file").steps,
       send(in4() / tcp("S", 20, 5282), in6() / tcp("S", 20, 5282)))
requirement("7.1", SHOULD, "EPRT with another address is passed on as it is.")
vector("eprt-of-another", FTP, *talk().client(f"EPRT |2|{B}|5282|").client("EPRT |1|192.0.2.31|5282|").server("522 no").steps)
requirement("10", MUST, "What the gateway does not translate passes as it is, with its reply.")
vector("others", FTP, *talk().client("PASV").server("227 Entering Passive Mode (192,0,2,31,237,19)").client(
    "PORT 192,0,2,31,20,162").server("200 well").client("LPSV").server("502 no").steps)
requirement("5", MUST, "After AUTH nothing is translated any more, but numbers follow what was changed before.")
requirement("5", SHOULD, "AUTH is ignored if the server refuses it.")
vector("auth", FTP, *talk().client("EPSV 2", "PASV").server("425 no").client("AUTH TLS").server("234 go on").client("EPSV 2").server(
    "227 Entering Passive Mode (192,0,2,31,237,19)").steps)
vector("auth-refused", FTP, *talk().client("AUTH TLS").server("534 no").client("EPSV", "PASV").server("227 (192,0,2,31,237,19)", EXTENDED).steps)
requirement("11", MUST, "ALGS asks for the status, and turns translation off and on; the reply is 216.")
vector("algs", FTP, *talk().client("ALGS STATUS64", "NOOP").server("200 well", "216 EPSVEPRT").client("ALGS DISABLE64", "NOOP").server(
    "200 well", "216 NONE").client("EPSV").server("229 extended (|||60691|)").client("ALGS ENABLE64", "NOOP").server(
    "200 well", "216 EPSVEPRT").client("EPSV", "PASV").steps)
requirement("11", SHOULD, "ALGS with another argument, or without one, is an error.")
vector("algs-without", FTP, *talk().client("ALGS", "NOOP").server("200 well", "504 Command not implemented for that parameter").steps)
requirement("5", MUST, "Commands that two packets share are put together: the client does it, as it sends again what nobody acknowledged.")
SHARED = [("EPS", C0, ""), ("V\r\n", C0 + 3, ""), ("EPSV\r\n", C0, "PASV\r\n")]
halves = talk()
vector("epsv-in-two-segments", FTP, *halves.steps,
       *(send(out6() / tcp("PA", 40000, 21, at, S0) / Raw(line),
              out4() / tcp("PA", halves.port, 21, at, S0) / (Raw(becomes) if becomes else b""))
         for line, at, becomes in SHARED))
requirement("5", MUST, "Telnet options are refused, except those of RFC 1123.", status="no: they pass to the server, which refuses them")
requirement("7.2", SHOULD, "A mapping that was made for EPRT is for one connection only.",
            status="no: it ends when it is idle; a port of the client's is reachable as long as any other that it uses")
requirement("8", MAY, "A transfer without EPSV, PASV, EPRT or PORT comes from port 20 to the port of the control connection.",
            see=["rfc6146-3.5.1-udp-endpoint-independent-filtering"])
requirement("5", MUST, "Packets that grow are broken up if they have to be.",
            status="no: a reply grows by some octets; one that fills a packet, and so exceeds the MTU, is fragmented or refused like any other")
requirement("5.1", MUST, "Lines in UTF-8 pass, and the gateway writes none.", see=["rfc6384-10-others"])
requirement("11", MUST, "Disabled, the gateway still hears ALGS.", see=["rfc6384-11-algs"])
requirement("12", SHOULD, "If NOOP gets another reply than 200, the connection is torn down.",
            status="no: the client gets the gateway's reply, whatever the server says to NOOP")
requirement("12", SHOULD, "A mapping waits for its first packet for 30 seconds at least.",
            status="partly: for 240, as one of RFC 6146 whose SYN has come; no vector shows it")
