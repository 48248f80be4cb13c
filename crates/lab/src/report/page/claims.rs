//! The claims with their verdicts.

use maud::{Markup, html};

use crate::report::{
    claims::{CLAIMS, Found, Judgement, Verdict},
    summary::Summary,
};

/// Returns how many claims hold, of those that can be judged.
pub(super) fn score(summary: &Summary<'_>) -> String {
    let verdicts: Vec<Verdict> = CLAIMS
        .iter()
        .map(|claim| claim.judge(summary).verdict)
        .collect();
    let count = |wanted: &[Verdict]| {
        let found = verdicts.iter().filter(|verdict| wanted.contains(verdict));
        found.count()
    };
    let holds = count(&[Verdict::Holds]);
    let judged = [Verdict::Holds, Verdict::HoldsInPart, Verdict::DoesNotHold];
    format!("{holds} of {}", count(&judged))
}

/// Returns all claims.
pub(super) fn claims(summary: &Summary<'_>) -> Markup {
    html! {
        p.about {
            "The papers measured the implementations of 2008 to 2016. A claim that does not hold here is a result: it shows \
             what has changed since. Numbers are ratios with their 95 % confidence intervals over the repetitions; without an \
             interval, or with one that allows both answers, a claim cannot be told."
        }
        ol.claims {
            @for claim in &CLAIMS {
                @let judgement = claim.judge(summary);
                li class=(class(judgement.verdict)) {
                    p.verdict { (sign(judgement.verdict)) " " (judgement.verdict.words()) }
                    div {
                        h4 { span { (claim.id) } " " (claim.says) }
                        p.source { (claim.source) }
                        p { (judgement.why) "." }
                        (rests_on(&judgement))
                    }
                }
            }
        }
    }
}

fn rests_on(judgement: &Judgement) -> Markup {
    html! {
        @if !judgement.comparisons.is_empty() {
            details {
                summary { "What was compared" }
                ul {
                    @for comparison in &judgement.comparisons {
                        li { (mark(comparison.found)) " " (comparison.told()) }
                    }
                    @for note in &judgement.notes { li { (note) } }
                }
                @if !judgement.missing.is_empty() {
                    p { "Not measured: " (judgement.missing.join(", ")) "." }
                }
            }
        }
    }
}

fn mark(found: Found) -> &'static str {
    match found {
        Found::For => "✓",
        Found::InPart => "~",
        Found::Against => "✗",
        Found::Unclear => "?",
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "part",
        Verdict::DoesNotHold => "fails",
        Verdict::CannotBeTold | Verdict::NotAsked => "open",
    }
}

fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::HoldsInPart => "~",
        Verdict::DoesNotHold => "✗",
        Verdict::CannotBeTold => "?",
        Verdict::NotAsked => "–",
    }
}
