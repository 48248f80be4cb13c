//! Records as syslog messages: RFC 5424 over UDP (RFC 5426), one message a datagram.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use jiff::Timestamp;

use super::Sink;
use super::event::{Binding, Record, Remark, SUPPRESSED, Subject, Suppressed};
use super::json::time;

/// Facility local0 (16), severity informational (6): RFC 5424 section 6.2.1.
const INFORMATIONAL: u8 = 16 * 8 + 6;
/// Facility local0, severity warning (4).
const WARNING: u8 = 16 * 8 + 4;
/// Names of our own need an enterprise number (RFC 5424 section 7.2.2); 32473 is the one for
/// examples (RFC 5612), until the project has its own.
pub(crate) const STRUCTURE: &str = "isthmus@32473";

/// A syslog server.
pub(super) struct Syslog {
    socket: UdpSocket,
    server: SocketAddr,
    host: String,
    gateway: String,
    process: u32,
}

impl Syslog {
    /// Opens a sink that sends to `server`. Over UDP the server need not listen yet.
    pub(super) fn open(gateway: String, host: &str, server: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            socket: super::settings::udp_towards(server)?,
            server,
            host: printable(host, 255),
            gateway,
            process: std::process::id(),
        })
    }

    /// The header of RFC 5424 section 6.2 up to the structured data.
    fn header(&self, priority: u8, at: Timestamp, message: &str) -> String {
        format!(
            "<{priority}>1 {} {} isthmus {} {message} ",
            time(at),
            self.host,
            self.process
        )
    }

    fn message(&self, record: &Record) -> String {
        let mut message = self.header(INFORMATIONAL, record.time, record.event());
        message.push_str(&format!(
            "[{STRUCTURE} gateway=\"{}\" instance=\"{}\"",
            escaped(&self.gateway),
            escaped(&record.instance)
        ));
        match &record.subject {
            Subject::Session(session) => {
                of_binding(&mut message, &session.binding);
                message.push_str(&format!(" remote-address=\"{}\"", session.remote_address));
                of_port(&mut message, "remote", session.remote_port);
            }
            Subject::Binding(binding) => of_binding(&mut message, binding),
            Subject::Block(block) => message.push_str(&format!(
                " inside-address=\"{}\" outside-address=\"{}\" outside-port=\"{}\" outside-port-last=\"{}\"",
                block.inside_address,
                block.outside_address,
                block.outside_port,
                block.outside_port_last
            )),
        }
        message.push(']');
        message
    }
}

fn of_binding(message: &mut String, binding: &Binding) {
    let (protocol, inside) = (binding.protocol_name(), binding.inside_address);
    message.push_str(&format!(
        " protocol=\"{protocol}\" inside-address=\"{inside}\""
    ));
    of_port(message, "inside", binding.inside_port);
    message.push_str(&format!(" outside-address=\"{}\"", binding.outside_address));
    of_port(message, "outside", binding.outside_port);
}

fn of_port(message: &mut String, end: &str, port: Option<u16>) {
    if let Some(port) = port {
        message.push_str(&format!(" {end}-port=\"{port}\""));
    }
}

/// RFC 5424 section 6.3.3: `"`, `\` and `]` are escaped in a parameter's value.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '"' | '\\' | ']') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// RFC 5424 section 6.2: header fields are printable US-ASCII without spaces, `-` if there is
/// nothing to say.
fn printable(value: &str, longest: usize) -> String {
    let field: String = value
        .chars()
        .filter(char::is_ascii_graphic)
        .take(longest)
        .collect();
    if field.is_empty() { "-".into() } else { field }
}

impl Sink for Syslog {
    fn name(&self) -> String {
        format!("syslog {}", self.server)
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        self.socket.send(self.message(record).as_bytes()).map(drop)
    }

    fn suppressed(&mut self, now: Timestamp, total: Suppressed) -> io::Result<()> {
        let Suppressed { count, bindings } = total;
        let message = format!(
            "{}[{STRUCTURE} gateway=\"{}\" count=\"{count}\" bindings=\"{bindings}\"]",
            self.header(WARNING, now, SUPPRESSED),
            escaped(&self.gateway)
        );
        self.socket.send(message.as_bytes()).map(drop)
    }

    fn remark(&mut self, now: Timestamp, remark: &Remark) -> io::Result<()> {
        let (key, value) = match remark {
            Remark::Started { version } => ("version", *version),
            Remark::Configuration { digest } => ("digest", digest.as_str()),
            Remark::TablesEmpty { instance } => ("instance", &**instance),
        };
        let message = format!(
            "{}[{STRUCTURE} gateway=\"{}\" {key}=\"{}\"]",
            self.header(INFORMATIONAL, now, remark.event()),
            escaped(&self.gateway),
            escaped(value)
        );
        self.socket.send(message.as_bytes()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Change, samples};
    use super::*;

    fn sink(gateway: &str) -> (Syslog, UdpSocket) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sink = Syslog::open(
            gateway.into(),
            "gw.example.net",
            server.local_addr().unwrap(),
        )
        .unwrap();
        (sink, server)
    }

    fn received(server: &UdpSocket) -> String {
        let mut buffer = [0; 2048];
        let length = server.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_session_in_the_form_of_rfc5424() {
        let (mut sink, server) = sink("edge");
        let session = Subject::Session(samples::session());
        sink.write(&samples::record(Change::Began, session))
            .unwrap();
        let process = std::process::id();
        assert_eq!(
            received(&server),
            format!(
                "<134>1 2026-11-21T08:09:10.123456Z gw.example.net isthmus {process} session-created \
                 [isthmus@32473 gateway=\"edge\" instance=\"plat\" protocol=\"tcp\" \
                 inside-address=\"2001:db8:1::7\" inside-port=\"40000\" \
                 outside-address=\"203.0.113.1\" outside-port=\"1024\" \
                 remote-address=\"192.0.2.80\" remote-port=\"443\"]"
            )
        );
    }

    #[test]
    fn a_session_of_addresses_has_no_ports() {
        let (mut sink, server) = sink("edge");
        let session = Subject::Session(samples::session_of_addresses());
        let record = samples::record(Change::Began, session);
        sink.write(&record).unwrap();
        let end = " protocol=\"any\" inside-address=\"2001:db8:1::7\" outside-address=\"203.0.113.1\" \
                   remote-address=\"192.0.2.80\"]";
        let text = received(&server);
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn names_can_not_break_out_of_the_structure() {
        let (mut sink, server) = sink(r#"a"] \b"#);
        let now = "2026-11-21T08:09:10Z".parse().unwrap();
        let total = Suppressed {
            count: 9,
            bindings: 4,
        };
        sink.suppressed(now, total).unwrap();
        let end = r#"[isthmus@32473 gateway="a\"\] \\b" count="9" bindings="4"]"#;
        assert!(received(&server).ends_with(end));
        let remark = Remark::TablesEmpty {
            instance: "plat".into(),
        };
        sink.remark(now, &remark).unwrap();
        let end = r#"tables-empty [isthmus@32473 gateway="a\"\] \\b" instance="plat"]"#;
        assert!(received(&server).ends_with(end));
        assert_eq!(printable("gw 1\n", 255), "gw1");
        assert_eq!(printable("", 255), "-");
    }
}
