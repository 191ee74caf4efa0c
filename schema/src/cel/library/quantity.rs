//! Quantities: `100m`, `1.5Gi`.
//!
//! Behaviour: apimachinery `pkg/api/resource`. Amounts are kept in billionths in 128 bits; what is larger
//! is cut off there.

use std::cmp::Ordering;

/// An amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    /// Billionths.
    nano: i128,
    /// The power of ten of the last digit as written, which decides what counts as an integer.
    scale: i32,
}

const NANO: i128 = 1_000_000_000;
/// Digits that fit 64 bits.
const DIGITS: i32 = 18;

impl Quantity {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const FORM: &str =
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        let (negative, rest) = match text.as_bytes().first() {
            None => return Err(FORM.to_owned()),
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return Err(FORM.to_owned());
        }
        let (base, exponent) = power(suffix).ok_or("unable to parse quantity's suffix")?;
        let nano = amount(whole, fraction, base, exponent);
        let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let scale = if base == 10 { exponent.saturating_sub(places) } else { 0i32.saturating_sub(places) };
        // Binary amounts below one, and with a fraction, are never kept as integers.
        let scale = if base == 2 && (exponent < 0 || places > 0) { -1 } else { scale };
        Ok(Self { nano: if negative { -nano } else { nano }, scale })
    }

    pub(crate) fn of_int(value: i64) -> Self {
        Self { nano: i128::from(value) * NANO, scale: 0 }
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }

    pub(crate) fn sign(&self) -> i64 {
        i64::try_from(self.nano.signum()).unwrap_or_default()
    }

    /// The whole number, where it was written as one and fits.
    pub(crate) fn as_int(&self) -> Option<i64> {
        (self.scale >= 0 && self.nano % NANO == 0).then(|| i64::try_from(self.nano / NANO).ok()).flatten()
    }

    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn as_float(&self) -> f64 {
        if self.nano % NANO == 0 { (self.nano / NANO) as f64 } else { self.nano as f64 / 1e9 }
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        let scale = match (self.nano, other.nano) {
            (_, 0) => self.scale,
            (0, _) => other.scale,
            _ => self.scale.min(other.scale),
        };
        Self { nano: self.nano.saturating_add(other.nano), scale }
    }

    pub(crate) fn subtract(&self, other: &Self) -> Self {
        self.add(&Self { nano: -other.nano, scale: other.scale })
    }
}

/// Base and exponent of a suffix.
fn power(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (10, 0),
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 10),
        "Mi" => (2, 20),
        "Gi" => (2, 30),
        "Ti" => (2, 40),
        "Pi" => (2, 50),
        "Ei" => (2, 60),
        other => {
            let exponent = other.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            (10, exponent.parse::<i64>().ok()?.clamp(-1000, 1000).try_into().ok()?)
        }
    })
}

/// Billionths of a number with a power, rounded up.
fn amount(whole: &str, fraction: &str, base: i128, exponent: i32) -> i128 {
    const MOST: i128 = i128::MAX / 4;
    let digits: String = whole.chars().chain(fraction.chars()).skip_while(|c| *c == '0').collect();
    let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    // What is beyond the digits that fit only decides rounding.
    let kept = digits.len().min(usize::try_from(DIGITS * 2).unwrap_or(36));
    let mut value: i128 = digits[..kept].parse().unwrap_or(0);
    if value == 0 {
        return 0;
    }
    let dropped = i32::try_from(digits.len() - kept).unwrap_or(i32::MAX);
    let mut ten = dropped.saturating_sub(places).saturating_add(9);
    if base == 10 {
        ten = ten.saturating_add(exponent);
    }
    for _ in 0..if base == 2 { exponent.clamp(0, 60) } else { 0 } {
        value = value.saturating_mul(2).min(MOST);
    }
    let mut inexact = digits[kept..].bytes().any(|byte| byte != b'0');
    while ten > 0 && value < MOST {
        value = value.saturating_mul(10).min(MOST);
        ten -= 1;
    }
    while ten < 0 && value > 0 {
        inexact |= value % 10 != 0;
        value /= 10;
        ten += 1;
    }
    value + i128::from(inexact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn amounts_are_compared_whatever_their_suffix() {
        for (first, second) in [
            ("1000m", "1"),
            ("1Ki", "1024"),
            ("1k", "1e3"),
            ("0.5Gi", "512Mi"),
            ("1E", "1e18"),
            ("-1", "-1000m"),
            ("0.0000000001", "1n"),
        ] {
            assert_eq!(parse(first).compare(&parse(second)), Ordering::Equal, "{first} {second}");
        }
        assert_eq!(parse("1Gi").compare(&parse("1G")), Ordering::Greater);
        assert_eq!(parse("1e100").compare(&parse("1e18")), Ordering::Greater);
    }

    #[test]
    fn integers_are_told_from_the_rest() {
        assert_eq!(parse("50k").as_int(), Some(50_000));
        assert_eq!(parse("1Mi").as_int(), Some(1_048_576));
        assert_eq!(parse("50.5").as_int(), None);
        assert_eq!(parse("9999999999999999999999").as_int(), None);
        assert_eq!(parse("50k").add(&Quantity::of_int(20)).as_int(), Some(50_020));
        assert_eq!(parse("50k").subtract(&parse("20000")).as_int(), Some(30_000));
        assert!((parse("1.5").as_float() - 1.5).abs() < f64::EPSILON);
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "abc", "1.1.1", "1 k", "1Kb", "1e", "--1", "."] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }
}
