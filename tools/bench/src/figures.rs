//! Figures and their units.

use std::time::Duration;

use hdrhistogram::Histogram;

/// All figures of one scenario on one store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) scenario: String,
    pub(crate) figures: Vec<Figure>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    PerSecond(f64),
    Time(Duration),
    Bytes(f64),
    Number(f64),
    /// A share of the whole: 1 is all of it.
    Share(f64),
}

impl Figure {
    pub(crate) const fn new(name: &'static str, value: Value) -> Self {
        Self { name, value }
    }
}

impl Value {
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::PerSecond(_) => "1/s",
            Self::Time(_) => "us",
            Self::Bytes(_) => "bytes",
            Self::Number(_) | Self::Share(_) => "",
        }
    }

    /// The number in its unit.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64() * 1e6,
            Self::PerSecond(number) | Self::Bytes(number) | Self::Number(number) | Self::Share(number) => {
                number
            }
        }
    }
}

/// Latencies of calls, with three significant digits.
#[derive(Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Latencies {
    pub(crate) fn new() -> Self {
        Self(Histogram::new(3).expect("three digits are allowed"))
    }

    pub(crate) fn record(&mut self, took: Duration) {
        // Not `saturating_record`, which does not grow the histogram.
        let recorded = self.0.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        recorded.expect("a histogram that grows takes every value");
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("a histogram that grows takes every value");
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Only percentiles that this many calls support: a hundred calls have no p99.9.
    pub(crate) fn percentiles(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        [("p50", 0.5, 1), ("p99", 0.99, 100), ("p99.9", 0.999, 1_000), ("max", 1.0, 1)]
            .into_iter()
            .filter(|(_, _, calls_min)| self.count() >= *calls_min)
            .map(|(name, quantile, _)| (name, Duration::from_nanos(self.0.value_at_quantile(quantile))))
    }

    pub(crate) fn figures(&self) -> impl Iterator<Item = Figure> + '_ {
        self.percentiles().map(|(name, time)| Figure::new(name, Value::Time(time)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_enough_calls() {
        let mut latencies = Latencies::new();
        let names = |latencies: &Latencies| latencies.figures().map(|figure| figure.name).collect::<Vec<_>>();
        assert!(names(&latencies).is_empty());
        for (ms, told) in [(1..=99, vec!["p50", "max"]), (100..=100, vec!["p50", "p99", "max"])] {
            ms.for_each(|ms| latencies.record(Duration::from_millis(ms)));
            assert_eq!(names(&latencies), told);
        }
        for (figure, ms) in latencies.figures().zip([50.0, 99.0, 100.0]) {
            // Three significant digits.
            assert!((figure.value.number() / 1e3 - ms).abs() <= ms / 1e3, "{figure:?}");
        }
    }
}
