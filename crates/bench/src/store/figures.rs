//! What is measured, and in which unit.

use std::time::Duration;

use hdrhistogram::Histogram;

/// All that was found out about one scenario on one store.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) scenario: String,
    pub(super) figures: Vec<Figure>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    PerSecond(f64),
    Time(Duration),
    Bytes(f64),
    Number(f64),
}

impl Figure {
    pub(super) const fn new(name: &'static str, value: Value) -> Self {
        Self { name, value }
    }
}

impl Value {
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::PerSecond(_) => "1/s",
            Self::Time(_) => "us",
            Self::Bytes(_) => "bytes",
            Self::Number(_) => "",
        }
    }

    /// In its unit.
    pub(super) fn number(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64() * 1e6,
            Self::PerSecond(number) | Self::Bytes(number) | Self::Number(number) => number,
        }
    }
}

/// How long calls took, to three digits.
#[derive(Debug)]
pub(super) struct Latencies(Histogram<u64>);

impl Latencies {
    pub(super) fn new() -> Self {
        Self(Histogram::new(3).expect("three digits are allowed"))
    }

    pub(super) fn record(&mut self, took: Duration) {
        // Not `saturating_record`, which does not let the histogram grow.
        let recorded = self.0.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        recorded.expect("a histogram that grows takes every value");
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("a histogram that grows takes every value");
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len()
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = Figure> + '_ {
        [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)].into_iter().map(|(name, quantile)| {
            Figure::new(name, Value::Time(Duration::from_nanos(self.0.value_at_quantile(quantile))))
        })
    }
}
