//! An experiment's figures as comma-separated values (RFC 4180).

use std::fmt::Write;

use crate::report::summary::ExperimentSummary;

const HEADER: &str = "experiment,subject,mechanism,implementation,engine,series,at,at_unit,value,unit,\
    repetitions,samples,p1,p99,bound,efficiency,ceiling,limited_by_tester,load,reason\r\n";

/// Returns all figures of an experiment: a line of names, then a line for each figure, in base units. Absent values
/// are empty fields. The value is the median over the repetitions.
pub fn csv(answers: &ExperimentSummary<'_>) -> String {
    let experiment = answers.experiment;
    let mut text = HEADER.to_owned();
    for line in &answers.lines {
        for figure in &line.figures {
            let number =
                |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let over = experiment.over.as_ref();
            let fields = [
                experiment.name.clone(),
                line.subject.name.clone(),
                line.subject.mechanism.clone(),
                line.subject.implementation.clone(),
                line.subject.engine.clone(),
                line.series.to_owned(),
                number(over.map(|_| figure.at)),
                over.map_or_else(String::new, |axis| axis.unit.clone()),
                number(Some(figure.value())),
                experiment.quantity.unit().to_owned(),
                figure.values.len().to_string(),
                figure.samples.to_string(),
                number(figure.spread.map(|[low, _]| low)),
                number(figure.spread.map(|[_, high]| high)),
                number(figure.bound),
                number(figure.efficiency(experiment.quantity)),
                number(figure.ceiling),
                if figure.limited(experiment.quantity) {
                    "yes"
                } else {
                    "no"
                }
                .to_owned(),
                number(figure.load),
                figure.reason.clone().unwrap_or_default(),
            ];
            let fields = fields.map(|field| quoted(&field));
            write!(text, "{}\r\n", fields.join(",")).expect("a string takes all");
        }
    }
    text
}

/// Quotes a field if it has to be quoted.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_have_to_be() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(quoted("two\nlines"), "\"two\nlines\"");
    }
}
