//! Versions.
//!
//! Behaviour: apiserver `pkg/cel/library/semverlib.go`, blang/semver.

use std::cmp::Ordering;

/// A version as semver.org has it. The build is no part of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pre: Vec<Pre>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pre {
    // Numbers come before words.
    Number(u64),
    Word(String),
}

impl Semver {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        for word in build.into_iter().flat_map(|build| build.split('.')) {
            is_word(word).then_some(()).ok_or_else(|| {
                format!("Invalid character(s) found in build meta data {}", crate::go::quote(word))
            })?;
        }
        Ok(Self {
            major: number(major, "major")?,
            minor: number(minor, "minor")?,
            patch: number(patch, "patch")?,
            pre: pre.into_iter().flat_map(|pre| pre.split('.')).map(prerelease).collect::<Result<_, _>>()?,
        })
    }

    /// Lets a leading `v`, missing parts and leading zeros through.
    pub(crate) fn parse_tolerant(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}

fn without_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|c: char| c.is_ascii_digit()) { rest.to_owned() } else { format!("0{rest}") }
}

fn number(text: &str, what: &str) -> Result<u64, String> {
    let quoted = crate::go::quote(text);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {what} number {quoted}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{} number must not contain leading zeroes {quoted}", capitalized(what)));
    }
    text.parse().map_err(|_| format!("{what} number {quoted} is out of range"))
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn prerelease(text: &str) -> Result<Pre, String> {
    if !is_word(text) {
        return Err(format!("Invalid character(s) found in prerelease {}", crate::go::quote(text)));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text, "numeric PreRelease version").map(Pre::Number);
    }
    Ok(Pre::Word(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered() {
        let mut last: Option<Semver> = None;
        for text in
            ["0.9.0", "1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta+x", "1.0.0", "1.0.1+y", "1.10.0"]
        {
            let version = Semver::parse(text).unwrap();
            if let Some(last) = last {
                assert_eq!(last.compare(&version), Ordering::Less, "{text}");
            }
            last = Some(version);
        }
    }

    #[test]
    fn strict_and_tolerant() {
        for text in ["", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "1.0.0.0"] {
            assert!(Semver::parse(text).is_err(), "{text}");
        }
        for text in ["v1", "1.2", "01.02.03", "v1.0.0-a"] {
            assert!(Semver::parse_tolerant(text).is_ok(), "{text}");
        }
        assert!(Semver::parse_tolerant("1.2-a").is_err());
    }
}
