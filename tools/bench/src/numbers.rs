//! Human-readable numbers with about three digits.

use std::time::Duration;

/// With commas between thousands.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn shown_time(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1e3 {
        format!("{} µs", three_digits(us))
    } else if us < 1e6 {
        format!("{} ms", three_digits(us / 1e3))
    } else {
        format!("{} s", three_digits(us / 1e6))
    }
}

pub(crate) fn three_digits(number: f64) -> String {
    if number >= 100.0 {
        thousands(number.round() as usize)
    } else if number >= 10.0 {
        format!("{number:.1}")
    } else if number >= 1.0 {
        format!("{number:.2}")
    } else {
        format!("{number:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_to_three_digits_or_so() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        let times = [900, 12_345, 1_234_567, 12_345_678_901].map(|ns| shown_time(Duration::from_nanos(ns)));
        assert_eq!(times, ["0.900 µs", "12.3 µs", "1.23 ms", "12.3 s"]);
    }
}
