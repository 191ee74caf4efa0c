//! Labels and annotations: which keys and values the API server takes.
//!
//! Behaviour: apimachinery `pkg/util/validation` and `pkg/api/validation`.

use std::collections::BTreeMap;

use kapstan_schema::{Cause, FieldError};

/// How many bytes a name, or the value of a label, may have.
const MAX_NAME: usize = 63;
/// How many bytes the prefix of a key may have.
const MAX_PREFIX: usize = 253;
/// How many bytes all annotations together may have.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// What is wrong with labels.
#[must_use]
pub fn check_labels(labels: &BTreeMap<String, String>, path: &str) -> Vec<FieldError> {
    let invalid = |text: &str, what: &str| FieldError::invalid(path, text.into(), what);
    let mut errors = Vec::new();
    for (key, value) in labels {
        if !is_qualified_name(key) {
            errors.push(invalid(key, KEY));
        }
        if !is_label_value(value) {
            errors.push(invalid(value, "must be at most 63 letters, digits, '-', '_' or '.', and begin and end with a letter or digit"));
        }
    }
    errors
}

/// What is wrong with annotations; their keys may have upper case in the prefix.
#[must_use]
pub fn check_annotations(annotations: &BTreeMap<String, String>, path: &str) -> Vec<FieldError> {
    let is_wrong = |key: &&String| !is_qualified_name(&key.to_lowercase());
    let wrong = annotations.keys().filter(is_wrong);
    let mut errors: Vec<_> = wrong.map(|key| FieldError::invalid(path, key.as_str().into(), KEY)).collect();
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > MAX_ANNOTATIONS {
        let why = format!("may not be more than {MAX_ANNOTATIONS} bytes");
        errors.push(FieldError::new(path, Cause::TooLong, why));
    }
    errors
}

const KEY: &str = "must be a name, or a DNS name, a slash and a name; a name has at most 63 letters, digits, '-', '_' or '.', and begins and ends with a letter or digit";

/// True for `name` and `prefix/name`, the prefix a DNS subdomain.
#[must_use]
pub fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(is_subdomain) && !name.is_empty() && is_label_value(name)
}

/// True for what a label may be set to; it may be empty.
#[must_use]
pub fn is_label_value(value: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    value.len() <= MAX_NAME && value.bytes().all(is_inside) && begins_and_ends_well(value)
}

/// True for a DNS subdomain: labels in lower case with dots between them.
#[must_use]
pub fn is_subdomain(name: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(is_inside) && begins_and_ends_well(label);
    name.len() <= MAX_PREFIX && name.split('.').all(is_label)
}

fn begins_and_ends_well(text: &str) -> bool {
    let is_well = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    is_well(text.bytes().next()) && is_well(text.bytes().last())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("tide", true)]
    #[case::prefixed("a.b-c/Tide_1.x", true)]
    #[case::empty("", false)]
    #[case::empty_name("a/", false)]
    #[case::empty_prefix("/a", false)]
    #[case::two_slashes("a/b/c", false)]
    #[case::upper_prefix("A/b", false)]
    #[case::bad_end("tide-", false)]
    #[case::space("a b", false)]
    #[case::empty_label("a..b/c", false)]
    #[case::not_ascii("é", false)]
    fn keys(#[case] key: &str, #[case] is_fine: bool) {
        assert_eq!(is_qualified_name(key), is_fine);
    }

    #[test]
    fn lengths_are_bounded() {
        assert!(is_label_value(&"a".repeat(63)) && !is_label_value(&"a".repeat(64)));
        let label = "a".repeat(50);
        let long = [label.as_str(); 5].join(".");
        assert!(!is_subdomain(&long), "{} bytes", long.len());
        assert!(is_subdomain(&long[..253]));
    }

    #[test]
    fn all_annotations_together_are_bounded() {
        let of = |bytes| BTreeMap::from([("a".to_owned(), "x".repeat(bytes - 1))]);
        assert_eq!(check_annotations(&of(MAX_ANNOTATIONS), "p"), []);
        let why = format!("may not be more than {MAX_ANNOTATIONS} bytes");
        assert_eq!(
            check_annotations(&of(MAX_ANNOTATIONS + 1), "p"),
            [FieldError::new("p", Cause::TooLong, why)]
        );
    }
}
