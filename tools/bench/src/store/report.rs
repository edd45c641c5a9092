//! The results, as one table and as JSON.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::location::Location;
use super::plan::Plan;
use crate::figures::{Figure, Outcome, Value};
use crate::numbers::{shown_time, thousands, three_digits};

const NAME_WIDTH: usize = 38;
const VALUE_WIDTH: usize = 14;
const RATIO_WIDTH: usize = 10;

/// Stores and their results, in the order of measurement.
#[derive(Debug, Default)]
pub(super) struct Report {
    stores: Vec<Measured>,
}

#[derive(Debug)]
struct Measured {
    location: String,
    label: String,
    outcomes: Vec<Outcome>,
}

impl Report {
    /// The header of a column: the kind of the store, with a number from the second one of a kind on.
    pub(super) fn label(&self, location: &Location) -> String {
        let kind = location.kind();
        match self.stores.iter().filter(|store| store.label.starts_with(kind)).count() {
            0 => kind.to_owned(),
            others => format!("{kind} {}", others + 1),
        }
    }

    pub(super) fn add(&mut self, location: &Location, label: String, outcomes: Vec<Outcome>) {
        self.stores.push(Measured { location: location.to_string(), label, outcomes });
    }

    /// Stores side by side. Each one from the second on has its ratio to the first.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        for Measured { label, location, .. } in &self.stores {
            let _ = writeln!(text, "{label}: {location}");
        }
        let _ = write!(text, "\n{:NAME_WIDTH$}", "");
        for (index, store) in self.stores.iter().enumerate() {
            let _ = write!(text, "{:>VALUE_WIDTH$}", store.label);
            if index > 0 {
                let _ = write!(text, "{:>RATIO_WIDTH$}", "ratio");
            }
        }
        for (scenario, figures) in self.rows() {
            let _ = write!(text, "\n{scenario}\n");
            for name in figures {
                self.write_row(&mut text, scenario, name);
            }
        }
        text
    }

    /// A flat list with one object per figure.
    pub(super) fn json(&self, plan: &Plan) -> Json {
        let figure = |store: &Measured, scenario: &str, figure: &Figure| {
            json!({
                "store": store.location,
                "scenario": scenario,
                "figure": figure.name,
                "unit": figure.value.unit(),
                "value": figure.value.number(),
            })
        };
        let figures = self.stores.iter().flat_map(|store| {
            store.outcomes.iter().flat_map(move |outcome| {
                outcome.figures.iter().map(move |found| figure(store, &outcome.scenario, found))
            })
        });
        json!({ "seconds": plan.time.as_secs(), "figures": figures.collect::<Vec<Json>>() })
    }

    /// Scenarios and their figures, if any store has them.
    fn rows(&self) -> Vec<(&str, Vec<&'static str>)> {
        let mut rows: Vec<(&str, Vec<&'static str>)> = Vec::new();
        for outcome in self.stores.iter().flat_map(|store| &store.outcomes) {
            let index =
                rows.iter().position(|(scenario, _)| *scenario == outcome.scenario).unwrap_or_else(|| {
                    rows.push((&outcome.scenario, Vec::new()));
                    rows.len() - 1
                });
            let known = &mut rows[index].1;
            for figure in &outcome.figures {
                if !known.contains(&figure.name) {
                    known.push(figure.name);
                }
            }
        }
        rows
    }

    fn write_row(&self, text: &mut String, scenario: &str, name: &str) {
        let _ = write!(text, "  {name:<width$}", width = NAME_WIDTH - 2);
        let values: Vec<Option<Value>> =
            self.stores.iter().map(|store| store.value(scenario, name)).collect();
        for (index, value) in values.iter().enumerate() {
            let shown = value.map_or_else(|| "–".to_owned(), shown);
            let _ = write!(text, "{shown:>VALUE_WIDTH$}");
            if index > 0 {
                let ratio = values[0].zip(*value).map(|(first, value)| value.number() / first.number());
                let shown =
                    ratio.filter(|ratio| ratio.is_finite()).map_or_else(|| "–".to_owned(), shown_ratio);
                let _ = write!(text, "{shown:>RATIO_WIDTH$}");
            }
        }
        text.push('\n');
    }
}

impl Measured {
    fn value(&self, scenario: &str, name: &str) -> Option<Value> {
        let outcome = self.outcomes.iter().find(|outcome| outcome.scenario == scenario)?;
        outcome.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

fn shown(value: Value) -> String {
    match value {
        Value::PerSecond(number) | Value::Bytes(number) => thousands(number.round() as usize),
        Value::Number(number) => format!("{number:.1}"),
        Value::Share(share) => format!("{:.0} %", share * 100.0),
        Value::Time(time) => shown_time(time),
    }
}

fn shown_ratio(ratio: f64) -> String {
    if ratio < 1.0 {
        format!("÷ {}", three_digits(1.0 / ratio))
    } else {
        format!("× {}", three_digits(ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_show_the_direction() {
        assert_eq!([0.0412, 1.0, 24.24, 3_000.4].map(shown_ratio), ["÷ 24.3", "× 1.00", "× 24.2", "× 3,000"]);
    }

    #[test]
    fn stores_are_columns_and_missing_figures_are_dashes() {
        let mut report = Report::default();
        let outcome = |figures: &[(&'static str, Value)]| Outcome {
            scenario: "append".into(),
            figures: figures.iter().map(|(name, value)| Figure::new(name, *value)).collect(),
        };
        let rate = |per_second| ("messages/s", Value::PerSecond(per_second));
        let outcomes = [
            outcome(&[rate(2_000.0), ("messages per fsync", Value::Number(8.0))]),
            outcome(&[rate(500.0)]),
            outcome(&[rate(4_000.0)]),
        ];
        let locations = ["embedded:a", "cassandra://b/c", "embedded:d"];
        for (location, outcome) in locations.iter().zip(outcomes) {
            let location: Location = location.parse().unwrap();
            let label = report.label(&location);
            report.add(&location, label, vec![outcome]);
        }
        let table = report.table();
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[4], ["embedded", "cassandra", "ratio", "embedded", "2", "ratio"]);
        assert_eq!(words[6], ["messages/s", "2,000", "500", "÷", "4.00", "4,000", "×", "2.00"]);
        assert_eq!(words[7], ["messages", "per", "fsync", "8.0", "–", "–", "–", "–"]);
    }
}
