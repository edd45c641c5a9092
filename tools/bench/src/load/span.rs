//! The time span of a measurement.

/// The end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    from_ns: u64,
    until_ns: u64,
}

impl Span {
    /// Before the measurement.
    pub(super) const NEVER: Self = Self::since(u64::MAX);

    /// Without an end.
    pub(super) const fn since(from_ns: u64) -> Self {
        Self { from_ns, until_ns: u64::MAX }
    }

    pub(super) const fn ended(self, until_ns: u64) -> Self {
        Self { until_ns, ..self }
    }

    pub(super) const fn has(self, at_ns: u64) -> bool {
        self.from_ns <= at_ns && at_ns < self.until_ns
    }

    pub(super) const fn seconds(self) -> f64 {
        (self.until_ns - self.from_ns) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_includes_its_start_and_excludes_its_end() {
        assert!(![0, 7, u64::MAX - 1].iter().any(|at_ns| Span::NEVER.has(*at_ns)));
        let span = Span::since(5);
        assert_eq!([4, 5, u64::MAX - 1].map(|at_ns| span.has(at_ns)), [false, true, true]);
        let span = span.ended(1_500_000_005);
        assert_eq!([4, 5, 1_500_000_005].map(|at_ns| span.has(at_ns)), [false, true, false]);
        assert_eq!(span.seconds(), 1.5);
    }
}
