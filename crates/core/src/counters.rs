//! How a list of counters is written down: once, with a doc line each, from which the enum, its
//! names and the pages for people are made. And the numbers behind it, where threads share them.

use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use isthmus_atomic::AtomicU64;

/// A list of counters, as [`counters!`](crate::counters!) defines it.
pub trait List: Copy + 'static {
    /// All counters, in the order of their numbers.
    const ALL: &'static [Self];

    /// The place in the list.
    fn number(self) -> usize;
}

/// The numbers behind a list of `N` counters, shared by threads.
#[derive(Debug)]
pub struct Counters<L, const N: usize>([AtomicU64; N], PhantomData<L>);

impl<L, const N: usize> Default for Counters<L, N> {
    fn default() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)), PhantomData)
    }
}

impl<L: List, const N: usize> Counters<L, N> {
    /// Adds one.
    pub fn count(&self, counter: L) {
        self.add(counter, 1);
    }

    /// Adds `n`.
    pub fn add(&self, counter: L, n: u64) {
        self.0[counter.number()].fetch_add(n, Ordering::Relaxed);
    }

    /// The number now.
    #[must_use]
    pub fn get(&self, counter: L) -> u64 {
        self.0[counter.number()].load(Ordering::Relaxed)
    }

    /// All numbers, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (L, u64)> + '_ {
        let all = L::ALL.iter();
        all.map(|&counter| (counter, self.get(counter)))
    }
}

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

        impl $crate::counters::List for $Counter {
            const ALL: &'static [Self] = Self::ALL;

            fn number(self) -> usize {
                self as usize
            }
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
