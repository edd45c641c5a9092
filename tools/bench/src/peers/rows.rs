//! The compared figures, and the goals of Godwit.

use std::time::Duration;

use super::measure::Scenario;
use crate::figures::Value;
use crate::numbers::{shown_time, thousands, three_digits};

const KIB: f64 = 1_024.0;

#[derive(Debug)]
pub(super) struct Row {
    pub(super) title: &'static str,
    pub(super) scenario: Scenario,
    /// The name of the figure in results.
    pub(super) figure: &'static str,
    pub(super) goal: Goal,
}

/// The goal for Godwit's figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    /// At least this multiple of the best durable peer's figure; more is better.
    TimesBest(f64),
    /// At most this fraction of it; less is better.
    PartOfBest(f64),
    /// At least this multiple of the relay's figure.
    TimesRelay(f64),
    /// At most this value, whatever the others have.
    AtMost(f64),
    /// Shown without a goal.
    None,
}

pub(super) const ROWS: &[Row] = &[
    row("100 pairs, window 16: durable sends/s", Scenario::Pairs, "sends/s", Goal::TimesBest(3.0)),
    row("– delivery p99", Scenario::Pairs, "delivery p99", Goal::PartOfBest(0.1)),
    row("500 messages/s: delivery p99", Scenario::Rate, "delivery p99", Goal::PartOfBest(0.7)),
    row("– delivery p99.9", Scenario::Rate, "delivery p99.9", Goal::PartOfBest(0.5)),
    row("group of 100, window 8: deliveries/s", Scenario::SmallGroup, "deliveries/s", Goal::TimesBest(3.0)),
    row("group of 1,000, window 4: deliveries/s", Scenario::LargeGroup, "deliveries/s", Goal::TimesBest(3.5)),
    row("– last member p99", Scenario::LargeGroup, "last member p99", Goal::PartOfBest(0.25)),
    row("idle connection: resident memory", Scenario::Idle, "memory a connection", Goal::AtMost(5.0 * KIB)),
    row("history, newest 50: pages/s", Scenario::History, "pages/s", Goal::TimesBest(5.0)),
    row("connections signed in/s", Scenario::Idle, "sign-ins/s", Goal::TimesBest(5.0)),
    row("100 pairs against the bare relay", Scenario::Pairs, "sends/s", Goal::TimesRelay(0.1)),
    row("group of 100 against the bare relay", Scenario::SmallGroup, "deliveries/s", Goal::TimesRelay(0.5)),
    row("group of 1,000 against the bare relay", Scenario::LargeGroup, "deliveries/s", Goal::TimesRelay(0.5)),
    row("100 pairs: fsyncs per message", Scenario::Pairs, "fsyncs a message", Goal::AtMost(0.02)),
    row("– disk flushes per message, all programs", Scenario::Pairs, "disk flushes a message", Goal::None),
    row("– generator's share of a core", Scenario::Pairs, "generator CPU", Goal::None),
];

const fn row(title: &'static str, scenario: Scenario, figure: &'static str, goal: Goal) -> Row {
    Row { title, scenario, figure, goal }
}

impl Goal {
    pub(super) fn shown(self) -> String {
        match self {
            Self::TimesBest(times) => format!("≥ {times}x"),
            Self::PartOfBest(part) => format!("≤ {part}x"),
            Self::TimesRelay(times) => format!("≥ {} %", times * 100.0),
            Self::AtMost(amount) if amount >= KIB => format!("≤ {} KiB", amount / KIB),
            Self::AtMost(amount) => format!("≤ {amount}"),
            Self::None => String::new(),
        }
    }

    /// The best of several figures.
    pub(super) fn best(self, figures: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Self::PartOfBest(_) | Self::AtMost(_) => figures.reduce(f64::min),
            Self::TimesBest(_) | Self::TimesRelay(_) => figures.reduce(f64::max),
            Self::None => None,
        }
    }

    /// Whether a figure, with its ratio to the reference, meets the goal. `None` if that is unknown.
    pub(super) fn is_met(self, figure: f64, ratio: Option<f64>) -> Option<bool> {
        match self {
            Self::TimesBest(times) | Self::TimesRelay(times) => Some(ratio? >= times),
            Self::PartOfBest(part) => Some(ratio? <= part),
            Self::AtMost(amount) => Some(figure <= amount),
            Self::None => None,
        }
    }
}

/// A number in the unit of another value.
pub(super) fn shown(number: f64, unit: Value) -> String {
    match unit {
        Value::PerSecond(_) => thousands(number.round() as usize),
        Value::Time(_) => shown_time(Duration::from_secs_f64((number / 1e6).max(0.0))),
        Value::Bytes(_) => format!("{} KiB", three_digits(number / KIB)),
        Value::Number(_) => three_digits(number),
        Value::Share(_) => format!("{:.0} %", number * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_met_or_not() {
        let best = |goal: Goal| goal.best([3.0, 1.0, 2.0].into_iter());
        assert_eq!(
            [Goal::TimesBest(3.0), Goal::PartOfBest(0.1), Goal::None].map(best),
            [Some(3.0), Some(1.0), None]
        );
        assert_eq!(Goal::TimesBest(3.0).is_met(1.0, Some(3.0)), Some(true));
        assert_eq!(Goal::PartOfBest(0.1).is_met(1.0, Some(0.2)), Some(false));
        assert_eq!(Goal::TimesRelay(0.1).is_met(1.0, None), None, "there was no relay");
        assert_eq!(Goal::AtMost(5.0).is_met(4.0, None), Some(true), "whatever others have");
    }
}
