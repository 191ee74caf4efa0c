//! Formats of text that the API server checks.
//!
//! Behaviour: kube-openapi `pkg/validation/strfmt`.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use crate::go::url::Url;

/// A format of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    ShortName,
    LongName,
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("pattern must compile"));)*
    };
}

patterns! {
    HOSTNAME = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    UUID = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    CREDIT_CARD = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$";
    SSN = r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$";
    HEX_COLOR = r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = r"^rgb\([\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*,[\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*,[\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*\)$";
    BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    TIME = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
    SCALA_DURATION = r"(([0-9]+)[\t\n\x0C\r ]*([A-Za-zµ]+))";
}

impl Format {
    /// Finds a format. Dashes do not count.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "uri" => Self::Uri,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "creditcard" => Self::CreditCard,
            "ssn" => Self::Ssn,
            "hexcolor" => Self::HexColor,
            "rgbcolor" => Self::RgbColor,
            "byte" => Self::Byte,
            "password" => Self::Password,
            "date" => Self::Date,
            "duration" => Self::Duration,
            "datetime" => Self::DateTime,
            "k8sshortname" => Self::ShortName,
            "k8slongname" => Self::LongName,
            _ => return None,
        })
    }

    /// True when the text is of this format.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            Self::Uri => Url::parse(text).is_ok(),
            Self::Email => is_email(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.contains('.') && is_ip_sloppy(text),
            Self::Ipv6 => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
            Self::Cidr => is_cidr(text),
            Self::Mac => is_mac(text),
            Self::Uuid => UUID.is_match(text),
            Self::Uuid3 => UUID3.is_match(text),
            Self::Uuid4 => UUID4.is_match(text),
            Self::Uuid5 => UUID5.is_match(text),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::CreditCard => is_credit_card(text),
            Self::Ssn => text.len() == 11 && SSN.is_match(text),
            Self::HexColor => HEX_COLOR.is_match(text),
            Self::RgbColor => RGB_COLOR.is_match(text),
            Self::Byte => BASE64.is_match(text),
            Self::Password => true,
            Self::Date => is_date(text),
            Self::Duration => duration(text).is_some(),
            Self::DateTime => is_date_time(text),
            Self::ShortName => text.len() <= 63 && is_label(text),
            Self::LongName => text.len() <= 253 && text.split('.').all(is_label),
        }
    }
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(inner)
        && bytes.last().copied().is_some_and(inner)
        && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
}

fn is_hostname(text: &str) -> bool {
    HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

/// IPv4 with leading zeros allowed, or IPv6 (whose last part may be written as IPv4).
fn is_ip_sloppy(text: &str) -> bool {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().is_ok();
    }
    let parts: Vec<_> = text.split('.').collect();
    parts.len() == 4
        && parts.iter().all(|part| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part.trim_start_matches('0').len() <= 3
                && part.parse::<u32>().is_ok_and(|number| number <= 255)
        })
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = if address.contains(':') { 128 } else { 32 };
    let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    is_ip_sloppy(address) && digits && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize| {
        let parts: Vec<_> = text.split(separator).collect();
        let bytes = parts.len() * width / 2;
        matches!(bytes, 6 | 8 | 20)
            && parts
                .iter()
                .all(|part| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    groups(':', 2) || groups('-', 2) || groups('.', 4)
}

fn without_spaces_and_dashes(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b'\t' | b'\n' | 0xc | b'\r' | b' ' | b'-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = without_spaces_and_dashes(text);
    if digits.len() != 10 || !digits[..9].iter().all(u8::is_ascii_digit) {
        return false;
    }
    let last = match digits[9] {
        b'X' => 10,
        byte if byte.is_ascii_digit() => u32::from(byte - b'0'),
        _ => return false,
    };
    let sum: u32 = (1..).zip(&digits[..9]).map(|(weight, byte)| weight * u32::from(byte - b'0')).sum();
    (sum + 10 * last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = without_spaces_and_dashes(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = weights.zip(&digits[..12]).map(|(weight, byte)| weight * u32::from(byte - b'0')).sum();
    u32::from(digits[12] - b'0') == (10 - sum % 10) % 10
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !CREDIT_CARD.is_match(&digits) {
        return false;
    }
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, byte)| {
            let digit = u32::from(byte - b'0') * if index % 2 == 1 { 2 } else { 1 };
            if digit >= 10 { digit % 10 + 1 } else { digit }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// An address as RFC 5322 has it: `local@domain`, or with a name in front and the address in `<>`.
fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    if let Some((name, rest)) = text.split_once('<') {
        let name = name.trim_matches([' ', '\t']);
        let quoted = name.len() >= 2 && name.starts_with('"') && name.ends_with('"');
        let words = name
            .split_ascii_whitespace()
            .all(|word| word.split('.').all(|atom| atom.is_empty() || is_atom(atom)));
        return (name.is_empty() || quoted || words)
            && rest.strip_suffix('>').is_some_and(|address| is_address(address.trim_matches([' ', '\t'])));
    }
    is_address(text)
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let quoted = local.len() >= 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']'));
    let domain = match literal {
        Some(address) => {
            let address = address.strip_prefix("IPv6:").unwrap_or(address);
            address.parse::<Ipv4Addr>().is_ok() || address.parse::<Ipv6Addr>().is_ok()
        }
        None => is_dot_atom(domain),
    };
    (quoted || is_dot_atom(local)) && domain
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(is_atom)
}

fn is_atom(text: &str) -> bool {
    let special = "!#$%&'*+-/=?^_`{|}~";
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || special.contains(c) || (!c.is_ascii() && !c.is_control()))
}

/// `2006-01-02`, a day that exists.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    if text.len() < 4 {
        return false;
    }
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = TIME.captures(time) else { return false };
    is_date(date) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

/// Nanoseconds of a duration in Go's notation, such as `-1.5h10m`.
pub(crate) fn go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() > 19 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut part = whole.checked_mul(unit)?;
        let mut scale = unit;
        for digit in fraction.bytes().take(18) {
            scale /= 10;
            part += i128::from(digit - b'0') * scale;
        }
        total = total.checked_add(part)?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Nanoseconds of a duration in Go's notation or in Scala's, such as `3 days`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    go_duration(text).or_else(|| scala_duration(text))
}

fn scala_duration(text: &str) -> Option<i64> {
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];
    let mut total = None;
    for found in SCALA_DURATION.captures_iter(text) {
        let factor: i64 = found[2].parse().ok()?;
        let unit = found[3].to_lowercase();
        let is_unit = |names: &[&str]| {
            names.contains(&unit.as_str()) || names.last().is_some_and(|name| unit.starts_with(name))
        };
        for (_, length) in UNITS.iter().filter(|(names, _)| is_unit(names)) {
            total = Some(total.unwrap_or(0i64).wrapping_add(factor.wrapping_mul(*length)));
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("date-time", "2014-12-15T19:30:20.000Z", true)]
    #[case("date-time", "2014-12-15T19:30:20+02:00", true)]
    #[case("date-time", "2014-13-15T19:30:20Z", false)]
    #[case("date-time", "2014-12-15T24:30:20Z", false)]
    #[case("date-time", "2014-12-15 19:30:20Z", false)]
    #[case("date", "2024-02-29", true)]
    #[case("date", "2023-02-29", false)]
    #[case("duration", "1h30m", true)]
    #[case("duration", "22 ns", true)]
    #[case("duration", "3 days", true)]
    #[case("duration", "soon", false)]
    #[case("ipv4", "192.168.01.1", true)]
    #[case("ipv4", "256.1.1.1", false)]
    #[case("ipv4", "::1", false)]
    #[case("ipv6", "::1", true)]
    #[case("cidr", "10.0.0.0/8", true)]
    #[case("cidr", "10.0.0.0/33", false)]
    #[case("cidr", "fd00::/64", true)]
    #[case("mac", "00:00:5e:00:53:01", true)]
    #[case("mac", "0000.5e00.5301", true)]
    #[case("mac", "00:00:5e", false)]
    #[case("uuid", "A987FBC9-4BED-3078-CF07-9141BA07C9F3", true)]
    #[case("uuid4", "A987FBC9-4BED-3078-CF07-9141BA07C9F3", false)]
    #[case("isbn", "3836221195", true)]
    #[case("isbn", "3 401 01319 X", true)]
    #[case("isbn", "978-0321751041", true)]
    #[case("isbn", "978-0321751042", false)]
    #[case("creditcard", "4220-8554-2622-2389", true)]
    #[case("creditcard", "4220855426213389", false)]
    #[case("ssn", "111-23-4567", true)]
    #[case("hexcolor", "#FFFFFF", true)]
    #[case("rgbcolor", "rgb(0,  31, 255)", true)]
    #[case("rgbcolor", "rgb(0,31,256)", false)]
    #[case("byte", "aGVsbG8=", true)]
    #[case("byte", "", false)]
    #[case("email", "a.b@example.com", true)]
    #[case("email", "A Name <a@example.com>", true)]
    #[case("email", "a@", false)]
    #[case("email", "example.com", false)]
    #[case("hostname", "a-b.example.com", true)]
    #[case("hostname", "-a.example.com", false)]
    #[case("uri", "https://example.com/x", true)]
    #[case("uri", "example.com", false)]
    #[case("k8s-short-name", "a-b", true)]
    #[case("k8s-short-name", "A", false)]
    #[case("k8s-long-name", "a.b", true)]
    #[case("k8s-long-name", "a..b", false)]
    #[case("bsonobjectid", "507f1f77bcf86cd799439011", true)]
    fn formats(#[case] name: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(Format::from_name(name).map(|format| format.accepts(text)), Some(expected));
    }

    #[test]
    fn durations_are_read_as_in_go() {
        assert_eq!(duration("3 days 1 hr"), Some(262_800_000_000_000));
        assert_eq!(go_duration("1.5h"), Some(5_400_000_000_000));
        assert_eq!(go_duration("-1m1s"), Some(-61_000_000_000));
        assert_eq!(go_duration(".5s"), Some(500_000_000));
        assert_eq!(go_duration("1"), None);
        assert_eq!(go_duration("9999999999h"), None);
    }
}
