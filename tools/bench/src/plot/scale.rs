//! Axes: positions of values, and labels.

/// The range of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Starts at zero.
    Linear,
    /// For values across several powers of ten.
    Log,
}

/// The approximate number of labels on a linear axis.
const TICKS_WANTED: f64 = 6.0;
/// Above this many decades, only powers of ten get a label.
const DECADES_WITH_STEPS_MAX: f64 = 2.5;

impl Scale {
    /// A scale that contains all these values. On a logarithmic one they must be above zero.
    pub(super) fn of(kind: Kind, values: impl Iterator<Item = f64> + Clone) -> Self {
        let (least, most) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
        match kind {
            Kind::Linear => {
                let step = step(most);
                Self { kind, low: 0.0, high: (most / step).ceil().max(1.0) * step }
            }
            Kind::Log => {
                let (least, most) = (least.max(f64::MIN_POSITIVE), most.max(f64::MIN_POSITIVE));
                let (low, high) = (floor_of_step(least), ceil_of_step(most));
                if (high / low).log10() > DECADES_WITH_STEPS_MAX {
                    let whole = |power: f64| 10_f64.powf(power);
                    return Self {
                        kind,
                        low: whole(least.log10().floor()),
                        high: whole(most.log10().ceil()),
                    };
                }
                Self { kind, low, high: high.max(2.0 * low) }
            }
        }
    }

    /// The position from 0, at the low end, to 1.
    pub(super) fn place(self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        }
    }

    pub(super) fn ticks(self) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                let step = step(self.high);
                (0..)
                    .map(|number| f64::from(number) * step)
                    .take_while(|tick| *tick <= self.high * 1.000_1)
                    .collect()
            }
            Kind::Log => {
                let decades = (self.high / self.low).log10();
                let steps: &[f64] = if decades <= DECADES_WITH_STEPS_MAX { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let first = self.low.log10().floor() as i32;
                let last = self.high.log10().ceil() as i32;
                let all =
                    (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
                all.filter(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick)).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that about the wanted number of labels fits.
fn step(most: f64) -> f64 {
    let rough = most.max(f64::MIN_POSITIVE) / TICKS_WANTED;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * power)
}

/// The largest 1, 2 or 5 times a power of ten that is not above a value.
fn floor_of_step(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step <= value * 1.000_1)
        .unwrap_or(power)
}

fn ceil_of_step(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= value * 0.999_9)
        .unwrap_or(10.0 * power)
}

/// A short label.
pub(super) fn label(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        1e6.. => (value / 1e6, "M"),
        1e3.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    format!("{}{suffix}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(kind: Kind, values: &[f64]) -> Scale {
        Scale::of(kind, values.iter().copied())
    }

    #[test]
    fn linear_axes_begin_at_zero_and_have_round_steps() {
        let axis = scale(Kind::Linear, &[30.0, 93.0]);
        assert_eq!(axis.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!([0.0, 50.0, 100.0].map(|value| axis.place(value)), [0.0, 0.5, 1.0]);
        assert!(scale(Kind::Linear, &[]).ticks().len() >= 2, "also without values");
    }

    #[test]
    fn logarithmic_axes_reach_from_one_step_to_another() {
        let axis = scale(Kind::Log, &[1_000.0, 10_000_000.0]);
        assert_eq!(axis.ticks(), [1e3, 1e4, 1e5, 1e6, 1e7]);
        assert!((axis.place(1e5) - 0.5).abs() < 1e-9);
        assert_eq!(
            scale(Kind::Log, &[20.0, 50_000.0]).ticks(),
            [1e1, 1e2, 1e3, 1e4, 1e5],
            "both ends are written"
        );
        assert_eq!(scale(Kind::Log, &[0.3, 4.0]).ticks(), [0.2, 0.5, 1.0, 2.0, 5.0]);
        assert!(scale(Kind::Log, &[7.0]).ticks().len() >= 2, "also for one value");
    }

    #[test]
    fn labels_are_short() {
        let values = [0.0, 0.25, 500.0, 1_500.0, 10_000.0, 2_500_000.0];
        assert_eq!(values.map(label), ["0", "0.25", "500", "1.5k", "10k", "2.5M"]);
    }
}
