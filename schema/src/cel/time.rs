//! Moments and the calendar.

use std::fmt::Write as _;

/// A moment: seconds since 1970, and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
}

/// The first and the last second that CEL knows: years 1 to 9999.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
const DAY: i64 = 86_400;

/// A moment in the calendar of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calendar {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
    /// From 0.
    pub(crate) day_of_year: i64,
    /// Sunday is 0.
    pub(crate) day_of_week: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

impl Moment {
    pub(crate) fn new(seconds: i64, nanos: u32) -> Option<Self> {
        RANGE.contains(&seconds).then_some(Self { seconds, nanos })
    }

    /// Nanoseconds since 1970.
    pub(crate) fn nanoseconds(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }

    /// The moment some nanoseconds later; `None` outside of what CEL knows.
    pub(crate) fn plus(self, nanoseconds: i64) -> Option<Self> {
        let total = self.nanoseconds() + i128::from(nanoseconds);
        let seconds = i64::try_from(total.div_euclid(1_000_000_000)).ok()?;
        Self::new(seconds, u32::try_from(total.rem_euclid(1_000_000_000)).ok()?)
    }

    /// The calendar at some seconds east of Greenwich.
    pub(crate) fn calendar(self, offset: i64) -> Calendar {
        let seconds = self.seconds + offset;
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = date(days);
        Calendar {
            year,
            month,
            day,
            day_of_year: days - day_number(year, 1, 1),
            day_of_week: (days + 4).rem_euclid(7),
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    /// `2006-01-02T15:04:05.999999999Z`, without needless zeros.
    pub(crate) fn text(self) -> String {
        let at = self.calendar(0);
        let mut out = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            at.year, at.month, at.day, at.hour, at.minute, at.second
        );
        if self.nanos > 0 {
            let _ = write!(out, ".{:09}", self.nanos);
            out.truncate(out.trim_end_matches('0').len());
        }
        out.push('Z');
        out
    }
}

/// Days since 1970 of a date.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Reads RFC 3339.
pub(crate) fn parse(text: &str) -> Option<Moment> {
    let date_text = text.get(..10)?;
    if !crate::format::is_date(date_text) || !matches!(text.as_bytes().get(10)?, b'T' | b't') {
        return None;
    }
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let colons = text.as_bytes().get(13) == Some(&b':') && text.as_bytes().get(16) == Some(&b':');
    if !colons || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
        if end == 0 {
            return None;
        }
        nanos = format!("{:0<9}", &fraction[..end]).get(..9)?.parse().ok()?;
        rest = &fraction[end..];
    }
    let seconds = day_number(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset(rest)?;
    Moment::new(seconds, nanos)
}

/// Midnight of a `2006-01-02`.
pub(crate) fn parse_date(text: &str) -> Option<Moment> {
    parse(&format!("{text}T00:00:00Z")).filter(|_| text.len() == 10)
}

/// Seconds east of Greenwich of `Z` or `+02:00`.
fn offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Seconds east of Greenwich of a time zone argument: `UTC` or `+02:00`. Names of places are not known.
pub(crate) fn zone(text: &str) -> Option<i64> {
    if matches!(text, "" | "UTC") {
        return Some(0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=23).contains(&hours) && (0..=59).contains(&minutes)).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_written() {
        for text in
            ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59.5Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
        {
            assert_eq!(parse(text).unwrap().text(), text);
        }
        assert_eq!(parse("2024-01-01T01:00:00+02:00").unwrap().text(), "2023-12-31T23:00:00Z");
        assert_eq!(parse("2024-01-01"), None);
        assert_eq!(parse("2023-02-29T00:00:00Z"), None);
        assert_eq!(parse_date("2024-01-02").unwrap().text(), "2024-01-02T00:00:00Z");
    }

    #[test]
    fn the_calendar_knows_days() {
        let at = parse("2024-03-01T12:30:15Z").unwrap().calendar(0);
        assert_eq!((at.day_of_year, at.day_of_week, at.month), (60, 5, 3));
        assert_eq!(zone("-08:00"), Some(-28_800));
        assert_eq!(zone("Europe/Berlin"), None);
    }
}
