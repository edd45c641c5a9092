//! Formats RFC 3339 times without `std::fmt`: every message contains a time, so formatting must be fast.

/// The length of a time such as `2026-11-15T08:30:00.125Z`.
const TIME_BYTES: usize = 24;

const MS_PER_DAY: u64 = 86_400_000;
const DAYS_PER_ERA: u64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_1970: u64 = 719_468;

/// The text of a time, in a fixed buffer.
pub(crate) struct TimeText([u8; TIME_BYTES]);

impl TimeText {
    pub(crate) fn as_str(&self) -> &str {
        // The buffer contains only ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    fn put(&mut self, at: usize, mut value: u64, digits: usize) {
        for place in (at..at + digits).rev() {
            self.0[place] = b'0' + (value % 10) as u8;
            value /= 10;
        }
    }
}

/// Formats a time before the year 10000, given in milliseconds since 1970.
pub(crate) fn rfc_3339(ms: u64) -> TimeText {
    let mut text = TimeText(*b"0000-00-00T00:00:00.000Z");
    let (year, month, day) = date(ms / MS_PER_DAY);
    text.put(0, year, 4);
    text.put(5, month, 2);
    text.put(8, day, 2);
    let ms = ms % MS_PER_DAY;
    text.put(11, ms / 3_600_000, 2);
    text.put(14, ms / 60_000 % 60, 2);
    text.put(17, ms / 1_000 % 60, 2);
    text.put(20, ms % 1_000, 3);
    text
}

/// Year, month and day. Counts years from March on, so that the leap day is the last day of its year.
fn date(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = if months_since_march < 10 { months_since_march + 3 } else { months_since_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_match_the_output_of_jiff() {
        // All days up to the year 9999 would take too long. These steps cover every month, leap year and century.
        let last = 253_402_207_200_000_u64;
        let some = (0..200_000).map(|number| number * (last / 200_000));
        for ms in some.chain([0, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, last]) {
            let instant = jiff::Timestamp::from_millisecond(ms.cast_signed()).unwrap();
            assert_eq!(rfc_3339(ms).as_str(), format!("{instant:.3}"));
        }
    }
}
