//! The claims with their verdicts.

use maud::{Markup, html};

use crate::{
    claims::{CLAIMS, Judgement, Verdict},
    summary::Summary,
};

/// Returns how many claims hold, of those that can be judged.
pub(super) fn score(summary: &Summary<'_>) -> String {
    let verdicts: Vec<Verdict> = CLAIMS
        .iter()
        .map(|claim| claim.judge(summary).verdict)
        .collect();
    let count = |wanted| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    let holds = count(Verdict::HoldsHere);
    format!("{holds} of {}", holds + count(Verdict::DoesNotHoldHere))
}

/// Returns all claims.
pub(super) fn claims(summary: &Summary<'_>) -> Markup {
    html! {
        p.about {
            "The papers measured the implementations of 2008 to 2016. A claim that does not hold here is a result: it shows \
             what has changed since."
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
        @if !judgement.figures.is_empty() {
            details {
                summary { "Figures" }
                ul { @for figure in &judgement.figures { li { (figure) } } }
                @if !judgement.missing.is_empty() {
                    p { "Not measured: " (judgement.missing.join(", ")) "." }
                }
            }
        }
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::HoldsHere => "holds",
        Verdict::DoesNotHoldHere => "fails",
        Verdict::CannotBeTold => "open",
    }
}

fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::HoldsHere => "✓",
        Verdict::DoesNotHoldHere => "✗",
        Verdict::CannotBeTold => "?",
    }
}
