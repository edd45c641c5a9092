//! The comparison, as text and as JSON.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value as Json, json};

use super::kind::Kind;
use super::measure::{Outcome, Scenario};
use super::rows::{Goal, ROWS, Row, shown};
use crate::figures::Value;
use crate::numbers::three_digits;
use crate::server::machine;

/// Replaces a missing figure.
const NOTHING: &str = "–";

#[derive(Debug, Default)]
pub(super) struct Table {
    /// The columns, in order.
    kinds: Vec<Kind>,
    /// The scenarios with rows.
    scenarios: Vec<Scenario>,
    /// For each row and column, the figures of all rounds.
    figures: HashMap<(usize, Kind), Vec<Value>>,
    /// Remarks about a scenario on a messenger.
    remarks: Vec<(Kind, Scenario, String)>,
    notes: Vec<String>,
}

impl Table {
    pub(super) fn new(kinds: &[Kind], scenarios: &[Scenario]) -> Self {
        Self { kinds: kinds.to_vec(), scenarios: scenarios.to_vec(), ..Self::default() }
    }

    pub(super) fn add(&mut self, kind: Kind, outcome: Outcome) {
        let Outcome { scenario, result, failed_before } = outcome;
        match result {
            Ok(report) => {
                if let Some(why) = failed_before {
                    self.remarks.push((kind, scenario, format!("failed once: {why}")));
                }
                for (index, row) in ROWS.iter().enumerate().filter(|(_, row)| row.scenario == scenario) {
                    self.figures.entry((index, kind)).or_default().extend(report.figure(row.figure));
                }
                if !report.wrong().is_empty() {
                    self.remarks.push((kind, scenario, report.wrong().join(", ")));
                }
                if let Some(kept) = report.figure("kept") {
                    let kept = three_digits(kept.number());
                    self.note_once(format!(
                        "{}: all {kept} acknowledged messages were there after a crash",
                        kind.title()
                    ));
                }
            }
            Err(why) => self.remarks.push((kind, scenario, why)),
        }
    }

    /// A messenger that could not be measured.
    pub(super) fn absent(&mut self, kind: Kind, why: &str) {
        self.note_once(format!("{} was not measured: {why}", kind.title()));
    }

    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn note_once(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The rows with their index among all rows.
    fn rows(&self) -> impl Iterator<Item = (usize, &'static Row)> {
        ROWS.iter().enumerate().filter(|(_, row)| self.scenarios.contains(&row.scenario))
    }

    /// The median, with its unit.
    fn median(&self, row: usize, kind: Kind) -> Option<Value> {
        let mut figures = self.figures.get(&(row, kind))?.clone();
        figures.sort_by(|a, b| a.number().total_cmp(&b.number()));
        figures.get(figures.len() / 2).copied()
    }

    /// Godwit's figure as a ratio to its reference.
    fn ratio(&self, index: usize, row: &Row) -> Option<f64> {
        let godwit = self.median(index, Kind::Godwit)?.number();
        let others = self.kinds.iter().filter(|kind| match row.goal {
            Goal::TimesRelay(_) => **kind == Kind::Relay,
            _ => **kind != Kind::Godwit && kind.is_durable(),
        });
        let others = others.filter_map(|kind| self.median(index, *kind)).map(Value::number);
        Some(godwit / row.goal.best(others)?)
    }

    fn is_met(&self, index: usize, row: &Row) -> Option<bool> {
        let godwit = self.median(index, Kind::Godwit)?.number();
        row.goal.is_met(godwit, self.ratio(index, row))
    }

    /// A Markdown table with aligned columns.
    pub(super) fn shown(&self) -> String {
        let mut lines = vec![self.head(), Vec::new()];
        lines.extend(self.rows().map(|(index, row)| self.line(index, row)));
        let columns = lines[0].len();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                lines
                    .iter()
                    .filter_map(|line| line.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        lines[1] = widths.iter().map(|width| "-".repeat(*width)).collect();
        let mut text = String::new();
        for line in lines {
            for (cell, width) in line.iter().zip(&widths) {
                let _ = write!(text, "| {cell}{} ", " ".repeat(width - cell.chars().count()));
            }
            text.push_str("|\n");
        }
        text.push('\n');
        for (number, (kind, scenario, remark)) in self.remarks.iter().enumerate() {
            let _ = writeln!(text, "[{}] {}, {}: {remark}", number + 1, kind.title(), scenario.title());
        }
        let not_durable = self.kinds.iter().filter(|kind| !kind.is_durable());
        for kind in not_durable {
            let _ = writeln!(text, "{}: not durable", kind.title());
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    fn head(&self) -> Vec<String> {
        let mut head = vec![String::new()];
        head.extend(self.kinds.iter().map(|kind| kind.title().to_owned()));
        head.extend(["ratio", "goal", "met"].map(str::to_owned));
        head
    }

    fn line(&self, index: usize, row: &Row) -> Vec<String> {
        let mut line = vec![row.title.to_owned()];
        line.extend(self.kinds.iter().map(|kind| self.cell(index, row, *kind)));
        line.push(self.ratio(index, row).map_or_else(String::new, |ratio| match row.goal {
            Goal::TimesRelay(_) => format!("{} %", three_digits(ratio * 100.0)),
            _ => format!("{}x", three_digits(ratio)),
        }));
        line.push(row.goal.shown());
        line.push(self.is_met(index, row).map_or("", |met| if met { "yes" } else { "no" }).to_owned());
        line
    }

    /// A cell with the numbers of its remarks.
    fn cell(&self, index: usize, row: &Row, kind: Kind) -> String {
        let mut cell = match self.median(index, kind) {
            Some(value) => shown(value.number(), value),
            None => NOTHING.to_owned(),
        };
        for (number, (of, scenario, _)) in self.remarks.iter().enumerate() {
            if *of == kind && *scenario == row.scenario {
                let _ = write!(cell, " [{}]", number + 1);
            }
        }
        cell
    }

    /// Appends the comparison to a file, on its own line.
    pub(super) fn append_to(&self, path: &Path, date: &str) -> anyhow::Result<()> {
        let wrong = || format!("{} cannot be written", path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(path).with_context(wrong)?;
        writeln!(file, "{}", self.json(date)).with_context(wrong)
    }

    /// One object in the format of the other results, with the rows in addition.
    fn json(&self, date: &str) -> Json {
        let rows: Vec<Json> = self.rows().map(|(index, row)| self.json_row(index, row)).collect();
        let remarks = self.remarks.iter().map(|(kind, scenario, remark)| {
            json!({ "messenger": kind.title(), "scenario": scenario.title(), "remark": remark })
        });
        json!({
            "scenario": "peers",
            "messenger": "all",
            "version": env!("CARGO_PKG_VERSION"),
            "date": date,
            "machine": machine::describe(),
            "parameters": {},
            "figures": {},
            "rows": rows,
            "remarks": remarks.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    fn json_row(&self, index: usize, row: &Row) -> Json {
        let medians = self.kinds.iter().filter_map(|kind| Some((*kind, self.median(index, *kind)?)));
        let unit = medians.clone().next().map_or("", |(_, value)| value.unit());
        let figures: Map<String, Json> =
            medians.map(|(kind, value)| (kind.title().to_owned(), json!(value.number()))).collect();
        json!({
            "row": row.title,
            "unit": unit,
            "figures": figures,
            "ratio": self.ratio(index, row),
            "goal": row.goal.shown(),
            "is_met": self.is_met(index, row),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rounds of the first row.
    fn table() -> Table {
        let kinds = [Kind::Godwit, Kind::Wukongim, Kind::Tinode, Kind::Relay];
        let mut table = Table::new(&kinds, &[Scenario::Pairs, Scenario::SmallGroup]);
        for (kind, figures) in [
            (Kind::Godwit, [40_000.0, 60_000.0, 50_000.0]),
            (Kind::Wukongim, [20_000.0, 10_000.0, 1.0]),
            (Kind::Relay, [500_000.0; 3]),
        ] {
            table.figures.insert((0, kind), figures.map(Value::PerSecond).to_vec());
            table.figures.insert((10, kind), figures.map(Value::PerSecond).to_vec());
        }
        table.remarks.push((Kind::Wukongim, Scenario::Pairs, "7 came late".into()));
        table.remarks.push((Kind::Tinode, Scenario::Pairs, "it ended".into()));
        table
    }

    #[test]
    fn medians_are_compared_with_the_best_that_is_durable() {
        let table = table();
        let line = table.line(0, &ROWS[0]);
        assert_eq!(line[1..], ["50,000", "10,000 [1]", "– [2]", "500,000", "5.00x", "≥ 3x", "yes"]);
        assert_eq!(table.line(10, &ROWS[10])[5..], ["10.0 %", "≥ 10 %", "yes"]);
        assert_eq!(table.line(1, &ROWS[1])[1], "–");
        let text = table.shown();
        assert!(text.contains("[1] WuKongIM, pairs: 7 came late\n[2] Tinode, pairs: it ended\n"), "{text}");
        assert!(text.contains("bare relay: not durable"), "{text}");
        assert!(text.contains("group of 100") && !text.contains("history"), "what was not asked for: {text}");
    }

    #[test]
    fn the_table_is_exported_as_json() {
        let json = table().json("today");
        assert_eq!(json["rows"][0]["figures"]["WuKongIM"], 10_000.0);
        assert_eq!((&json["rows"][0]["ratio"], &json["rows"][0]["is_met"]), (&json!(5.0), &json!(true)));
        assert_eq!(json["rows"][1]["is_met"], Json::Null);
    }
}
