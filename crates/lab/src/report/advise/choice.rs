//! The questions about a network, and the answers that make its needs.

use super::needs::{BrState, CeRouters, Core, Hosts, Inbound, Peers};

/// A question with all its answers.
pub trait Choice: Copy + 'static {
    /// The question.
    const QUESTION: &'static str;
    /// The answers: the word, its meaning, and the value.
    const ANSWERS: &'static [(&'static str, &'static str, Self)];

    /// Returns the value of a word.
    ///
    /// # Errors
    /// The word is unknown. The message lists the words.
    fn parse(word: &str) -> Result<Self, String> {
        let found = Self::ANSWERS.iter().find(|(name, ..)| *name == word);
        found.map(|(.., value)| *value).ok_or_else(|| {
            let words: Vec<_> = Self::ANSWERS.iter().map(|(name, ..)| *name).collect();
            format!("\"{word}\" is none of {}", words.join(", "))
        })
    }
}

impl Choice for Hosts {
    const QUESTION: &'static str = "Which protocols do hosts and their programs speak?";
    const ANSWERS: &'static [(&'static str, &'static str, Self)] = &[
        ("v6-only", "IPv6, by names", Self::V6Only),
        (
            "dual",
            "both; some devices or programs know IPv4 only",
            Self::Dual,
        ),
    ];
}

impl Choice for Core {
    const QUESTION: &'static str =
        "Which protocol is between the customers and the provider's gateway?";
    const ANSWERS: &'static [(&'static str, &'static str, Self)] =
        &[("v6", "IPv6 only", Self::V6), ("v4", "IPv4 only", Self::V4)];
}

impl Choice for Peers {
    const QUESTION: &'static str = "Which destinations need help?";
    const ANSWERS: &'static [(&'static str, &'static str, Self)] = &[
        ("v4", "the IPv4 internet", Self::V4),
        ("v6", "the IPv6 internet", Self::V6),
    ];
}

impl Choice for Inbound {
    const QUESTION: &'static str = "Are there connections from outside?";
    const ANSWERS: &'static [(&'static str, &'static str, Self)] = &[
        ("none", "not needed", Self::Unneeded),
        (
            "some",
            "to some ports, by configuration or PCP",
            Self::SomePorts,
        ),
        ("every", "to every port: servers", Self::EveryPort),
    ];
}

impl Choice for CeRouters {
    const QUESTION: &'static str = "Which routers do the customers have?";
    const ANSWERS: &'static [(&'static str, &'static str, Self)] = &[
        ("ours", "routers that the provider chooses", Self::Ours),
        ("none", "none, or none that can take part", Self::None),
    ];
}

impl Choice for BrState {
    const QUESTION: &'static str = "Which state may the provider's gateway keep?";
    const ANSWERS: &'static [(&'static str, &'static str, Self)] = &[
        (
            "state",
            "a table of sessions, and records of ports",
            Self::State,
        ),
        ("stateless", "nothing per session", Self::Stateless),
    ];
}
