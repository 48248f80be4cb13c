//! The templates of RFC 8158 and the information elements in them.

/// An information element: its number in IANA's registry and its length in bytes.
#[derive(Clone, Copy)]
pub(super) struct Element(pub(super) u16, pub(super) u16);

const PROTOCOL_IDENTIFIER: Element = Element(4, 1);
const SOURCE_PORT: Element = Element(7, 2);
const SOURCE_V4: Element = Element(8, 4);
const DESTINATION_PORT: Element = Element(11, 2);
const DESTINATION_V4: Element = Element(12, 4);
const SOURCE_V6: Element = Element(27, 16);
const DESTINATION_V6: Element = Element(28, 16);
const EXPORTING_PROCESS: Element = Element(144, 4);
const NOT_SENT_FLOWS: Element = Element(166, 8);
const POST_NAT_SOURCE_V4: Element = Element(225, 4);
const POST_NAT_DESTINATION_V4: Element = Element(226, 4);
const POST_NAPT_SOURCE_PORT: Element = Element(227, 2);
const POST_NAPT_DESTINATION_PORT: Element = Element(228, 2);
const NAT_EVENT: Element = Element(230, 1);
/// `timeStamp` of RFC 8158: observationTimeMilliseconds in IANA's registry.
const TIME: Element = Element(323, 8);
const PORT_RANGE_START: Element = Element(361, 2);
const PORT_RANGE_END: Element = Element(362, 2);
const NAT_INSTANCE: Element = Element(463, 4);

/// A template: its number (256 and up, RFC 7011 section 3.4.1) and its fields.
pub(super) struct Template(pub(super) u16, pub(super) &'static [Element]);

impl Template {
    /// Bytes of a data record.
    pub(super) fn length(&self) -> usize {
        self.1.iter().map(|element| usize::from(element.1)).sum()
    }
}

/// The templates of one kind of translation.
pub(super) struct Templates {
    pub(super) session: Template,
    pub(super) binding: Template,
    pub(super) block: Template,
}

/// The templates with these numbers, for subscribers with addresses of these elements.
macro_rules! templates {
    ($session:literal, $binding:literal, $block:literal, $source:ident, $destination:ident) => {
        Templates {
            session: Template(
                $session,
                &[
                    TIME,
                    NAT_EVENT,
                    $source,
                    POST_NAT_SOURCE_V4,
                    PROTOCOL_IDENTIFIER,
                    SOURCE_PORT,
                    POST_NAPT_SOURCE_PORT,
                    $destination,
                    POST_NAT_DESTINATION_V4,
                    DESTINATION_PORT,
                    POST_NAPT_DESTINATION_PORT,
                    NAT_INSTANCE,
                ],
            ),
            binding: Template(
                $binding,
                &[
                    TIME,
                    NAT_EVENT,
                    $source,
                    POST_NAT_SOURCE_V4,
                    PROTOCOL_IDENTIFIER,
                    SOURCE_PORT,
                    POST_NAPT_SOURCE_PORT,
                    NAT_INSTANCE,
                ],
            ),
            block: Template(
                $block,
                &[
                    TIME,
                    NAT_EVENT,
                    $source,
                    POST_NAT_SOURCE_V4,
                    PORT_RANGE_START,
                    PORT_RANGE_END,
                    NAT_INSTANCE,
                ],
            ),
        }
    };
}

/// RFC 8158 sections 4.6.2, 4.6.4 and 4.6.10.
pub(super) const NAT64: Templates = templates!(256, 257, 258, SOURCE_V6, DESTINATION_V6);
/// RFC 8158 sections 4.6.1, 4.6.3 and 4.6.10.
pub(super) const NAT44: Templates = templates!(259, 260, 261, SOURCE_V4, DESTINATION_V4);

/// All of them, in the order in which they are sent.
pub(super) const TEMPLATES: [&Template; 6] = [
    &NAT64.session,
    &NAT64.binding,
    &NAT64.block,
    &NAT44.session,
    &NAT44.binding,
    &NAT44.block,
];

/// RFC 7011 section 4.3: how many records the exporting process did not send.
pub(super) const RELIABILITY: Template = Template(262, &[EXPORTING_PROCESS, NOT_SENT_FLOWS]);
