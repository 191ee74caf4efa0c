//! How Go writes and reads durations.

const UNITS: [(&str, i64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds from text like `1h2m3.5s`; `None` for anything else.
///
/// Behaviour: Go `time.ParseDuration`.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut rest = rest;
    let mut total: i128 = 0;
    while !rest.is_empty() || total == 0 {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, after) = rest.split_at(digits);
        let (fraction, after) = match after.strip_prefix('.') {
            None => ("", after),
            Some(after) => after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(amount(whole, fraction, *nanoseconds)?)?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    i64::try_from(if is_negative { -total } else { total }).ok()
}

fn amount(whole: &str, fraction: &str, unit: i64) -> Option<i128> {
    let unit = i128::from(unit);
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // More digits than these are less than a nanosecond.
    let fraction = &fraction[..fraction.len().min(18)];
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(unit)?.checked_add(part * unit / scale)
}

/// Nanoseconds as text like `1h2m3.5s`.
///
/// Behaviour: Go `time.Duration.String`.
pub(super) fn duration_text(nanoseconds: i64) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    if size < 1_000_000_000 {
        let (unit, digits, name) = match size {
            0..1_000 => (1, 0, "ns"),
            1_000..1_000_000 => (1_000, 3, "µs"),
            _ => (1_000_000, 6, "ms"),
        };
        return format!("{sign}{}{}{name}", size / unit, fraction(size % unit, digits));
    }
    let (seconds, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let hours_text = if hours > 0 { format!("{hours}h") } else { String::new() };
    let minutes_text = if hours > 0 || minutes > 0 { format!("{minutes}m") } else { String::new() };
    format!("{sign}{hours_text}{minutes_text}{seconds}{}s", fraction(rest, 9))
}

fn fraction(part: u64, digits: usize) -> String {
    if part == 0 {
        return String::new();
    }
    let text = format!("{part:0digits$}");
    format!(".{}", text.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0", Some(0), "0s")]
    #[case("10s", Some(10_000_000_000), "10s")]
    #[case("90s", Some(90_000_000_000), "1m30s")]
    #[case("1h", Some(3_600_000_000_000), "1h0m0s")]
    #[case("1.5h", Some(5_400_000_000_000), "1h30m0s")]
    #[case("-1.5ms", Some(-1_500_000), "-1.5ms")]
    #[case("2us3ns", Some(2_003), "2.003µs")]
    #[case(".5s", Some(500_000_000), "500ms")]
    #[case("1s1s", Some(2_000_000_000), "2s")]
    fn durations_are_read_and_written_as_in_go(
        #[case] text: &str,
        #[case] nanoseconds: Option<i64>,
        #[case] written: &str,
    ) {
        assert_eq!(parse_duration(text), nanoseconds);
        assert_eq!(duration_text(nanoseconds.unwrap()), written);
    }

    #[rstest]
    #[case::empty("")]
    #[case::no_unit("10")]
    #[case::unknown_unit("10d")]
    #[case::no_number("s")]
    #[case::only_a_dot(".s")]
    #[case::only_a_sign("-")]
    #[case::too_long("9999999999h")]
    #[case::space("1 s")]
    fn what_is_no_duration_is_refused(#[case] text: &str) {
        assert_eq!(parse_duration(text), None);
    }
}
