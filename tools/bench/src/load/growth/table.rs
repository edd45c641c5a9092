//! Steps side by side, and the last one as a multiple of the first.

use std::fmt::Write as _;

use crate::figures::Value;
use crate::load::report::{Report, shown as shown_value};
use crate::numbers::three_digits;

/// The maximum cost at the last step, as a multiple of the cost at the first.
const GOAL: f64 = 1.5;
/// Replaces a missing figure.
const NOTHING: &str = "–";

/// Results of the same scenario as one table; single results as they are.
pub(super) fn shown(reports: &[Report]) -> String {
    let of_scenarios = reports.chunk_by(|one, other| one.scenario() == other.scenario());
    of_scenarios
        .map(|reports| match reports {
            [alone] => alone.summary(),
            _ => table(reports),
        })
        .collect::<Vec<String>>()
        .join("\n")
}

/// A Markdown table. The first figure is the growing one.
fn table(reports: &[Report]) -> String {
    let mut lines: Vec<Vec<String>> = names(reports).iter().map(|name| line(reports, name)).collect();
    lines[0].push("last to first".to_owned());
    let widths: Vec<usize> = (0..lines[0].len()).map(|column| width(&lines, column)).collect();
    lines.insert(1, widths.iter().map(|width| "-".repeat(*width)).collect());
    let mut text = format!("{}\n\n", reports[0].scenario());
    for line in lines {
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "| {cell}{} ", " ".repeat(width - cell.chars().count()));
        }
        text.push_str("|\n");
    }
    let grown: Vec<&str> = names(reports).into_iter().filter(|name| has_grown(reports, name)).collect();
    let verdict = if grown.is_empty() {
        format!("nothing costs more than {GOAL} times as much at the last step")
    } else {
        format!("more than {GOAL} times as much at the last step: {}", grown.join(", "))
    };
    let _ = writeln!(text, "\n{verdict}");
    text
}

/// The figures that any step has.
fn names(reports: &[Report]) -> Vec<&str> {
    let mut names = Vec::new();
    for (name, _) in reports.iter().flat_map(Report::figures) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    names
}

fn line(reports: &[Report], name: &str) -> Vec<String> {
    let values = reports.iter().map(|report| report.figure(name));
    let mut line = vec![name.to_owned()];
    line.extend(values.map(|value| value.map_or_else(|| NOTHING.to_owned(), shown_value)));
    if names(reports)[0] != name {
        line.push(
            ratio(reports, name)
                .map_or_else(|| NOTHING.to_owned(), |ratio| format!("{}x", three_digits(ratio))),
        );
    }
    line
}

fn width(lines: &[Vec<String>], column: usize) -> usize {
    lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// The last step as a multiple of the first.
fn ratio(reports: &[Report], name: &str) -> Option<f64> {
    let of = |report: Option<&Report>| Some(report?.figure(name)?.number());
    let ratio = of(reports.last())? / of(reports.first())?;
    ratio.is_finite().then_some(ratio)
}

/// Applies to costs only: memory grows with the data, and high percentiles depend on the machine.
fn has_grown(reports: &[Report], name: &str) -> bool {
    let is_cost = matches!(reports[0].figure(name), Some(Value::Time(_))) && !name.ends_with("p99");
    is_cost && ratio(reports, name).is_some_and(|ratio| ratio > GOAL)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn step(messages: f64, figures: &[(&str, u64)]) -> Report {
        let mut report = Report::new("growth-history", "godwit", json!({}));
        report.add("messages", Value::Number(messages));
        for (name, us) in figures {
            report.add(*name, Value::Time(Duration::from_micros(*us)));
        }
        report
    }

    fn cells(table: &str, line: usize) -> Vec<&str> {
        table.lines().nth(line).unwrap().split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn a_table_has_all_steps_and_their_ratio() {
        let steps = [
            step(1_000.0, &[("page p50", 200), ("page p99", 10)]),
            step(1e6, &[("page p50", 190)]),
            step(1e7, &[("page p50", 250), ("page p99", 100), ("send p50", 7)]),
        ];
        let shown = shown(&steps);
        assert_eq!(cells(&shown, 2), ["messages", "1,000", "1,000,000", "10,000,000", "last to first"]);
        assert_eq!(cells(&shown, 4), ["page p50", "200 µs", "190 µs", "250 µs", "1.25x"]);
        assert_eq!(cells(&shown, 5), ["page p99", "10.0 µs", "–", "100 µs", "10.0x"]);
        assert_eq!(cells(&shown, 6), ["send p50", "–", "–", "7.00 µs", "–"]);
        assert!(shown.ends_with("\nnothing costs more than 1.5 times as much at the last step\n"), "{shown}");
    }

    #[test]
    fn costs_that_grow_too_much_are_named() {
        let figures = |us| [("page p50", us), ("server CPU a page", us)];
        let shown = shown(&[step(1.0, &figures(100)), step(2.0, &figures(151))]);
        assert!(shown.ends_with("at the last step: page p50, server CPU a page\n"), "{shown}");
    }

    #[test]
    fn a_single_step_has_no_table() {
        let alone = shown(&[step(1.0, &[("page p50", 3)])]);
        assert!(alone.starts_with("growth-history on godwit\n"), "{alone}");
    }
}
