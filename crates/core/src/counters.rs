//! How a list of counters is written down: once, with a doc line each, from which the enum, its
//! names and the pages for people are made.

/// Defines two enums: the kinds of counters, and the counters.
///
/// Each variant has a doc line, which is its explanation too, and a name for machines: lower case,
/// words joined by hyphens. Both enums get `ALL`, `name` and `explanation`; the counters also
/// `kind`, and their numbers are their places in `ALL`.
///
/// ```
/// isthmus_core::counters! {
///     /// What a counter of this door counts.
///     pub enum Kind {
///         /// People who went through.
///         Passed = "passed";
///     }
///     /// What can happen at the door.
///     pub enum Counter {
///         /// People who came in (house rule 1).
///         In = "in", Passed;
///         /// People who went out.
///         Out = "out", Passed;
///     }
/// }
/// assert_eq!(Counter::ALL[Counter::Out as usize].name(), "out");
/// assert_eq!(Counter::In.explanation(), "People who came in (house rule 1).");
/// assert_eq!(Counter::In.kind().name(), "passed");
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[$about_kinds:meta])+
        pub enum $Kind:ident {
            $($(#[doc = $kind_doc:literal])+ $kind:ident = $kind_name:literal;)+
        }
        $(#[$about:meta])+
        pub enum $Counter:ident {
            $($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $of:ident;)+
        }
    ) => {
        $(#[$about_kinds])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Kind {
            $($(#[doc = $kind_doc])+ $kind,)+
        }

        impl $Kind {
            /// All kinds, in the order of documentation.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            /// The name: lower case, one word. Stable; used as label and in JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $kind_name,)+ }
            }

            /// One sentence for people.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$kind => concat!($($kind_doc),+).trim_ascii(),)+ }
            }
        }

        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $Counter {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $Counter {
            /// All counters, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name: lower case, words joined by hyphens. Stable; used as metric label.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The kind of event that is counted.
            #[must_use]
            pub const fn kind(self) -> $Kind {
                match self { $(Self::$variant => $Kind::$of,)+ }
            }

            /// One sentence for people, with the source of the rule.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}
