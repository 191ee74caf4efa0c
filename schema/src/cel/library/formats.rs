//! `format.dns1123Label()` and its like: named forms of text that say what is wrong.
//!
//! Behaviour: apiserver `pkg/cel/library/format.go`; the texts are apimachinery's `api/validate/content`.

use std::fmt;

use crate::format::{Format, is_label};
use crate::go::url::Url;

/// A named form of text.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    /// How long a regular expression for it would be; costs are made from it.
    pub(crate) regex_size: u64,
    check: fn(&str) -> Vec<String>,
}

impl fmt::Debug for Named {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Named {
    /// What is wrong with a text; empty when nothing is.
    pub(crate) fn check(&self, text: &str) -> Vec<String> {
        (self.check)(text)
    }
}

/// Every name, as `format.NAME()` and as `format.named('NAME')`.
pub(crate) const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

static ALL: [Named; 13] = [
    Named { name: NAMES[0], regex_size: 30, check: label },
    Named { name: NAMES[1], regex_size: 60, check: subdomain },
    Named { name: NAMES[2], regex_size: 30, check: label_1035 },
    Named { name: NAMES[3], regex_size: 60, check: qualified_name },
    Named { name: NAMES[4], regex_size: 30, check: |text| label(&masked(text)) },
    Named { name: NAMES[5], regex_size: 60, check: |text| subdomain(&masked(text)) },
    Named { name: NAMES[6], regex_size: 30, check: |text| label_1035(&masked(text)) },
    Named { name: NAMES[7], regex_size: 40, check: label_value },
    Named { name: NAMES[8], regex_size: 1103, check: uri },
    Named {
        name: NAMES[9],
        regex_size: 80,
        check: |text| known(Format::Uuid, text, "does not match the UUID format"),
    },
    Named { name: NAMES[10], regex_size: 84, check: |text| known(Format::Byte, text, "invalid base64") },
    Named { name: NAMES[11], regex_size: 77, check: |text| known(Format::Date, text, "invalid date") },
    Named {
        name: NAMES[12],
        regex_size: 77,
        check: |text| known(Format::DateTime, text, "invalid datetime"),
    },
];

pub(crate) fn named(name: &str) -> Option<&'static Named> {
    ALL.iter().find(|format| format.name == name)
}

fn known(format: Format, text: &str, why: &str) -> Vec<String> {
    if format.accepts(text) { Vec::new() } else { vec![why.to_owned()] }
}

fn uri(text: &str) -> Vec<String> {
    match Url::parse(text) {
        Ok(_) => Vec::new(),
        Err(why) => vec![format!("parse {}: {why}", crate::go::quote(text))],
    }
}

/// A prefix may end in a dash, because something follows.
fn masked(text: &str) -> String {
    match text.strip_suffix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => {
            let mut rest = rest.to_owned();
            rest.pop();
            rest + "a"
        }
        None => text.to_owned(),
    }
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn label(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > 63 {
        out.push(too_long(63));
    }
    if !is_label(text) {
        out.push(if is_subdomain(text) { "must not contain dots".to_owned() } else { LABEL.to_owned() });
    }
    out
}

fn subdomain(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > 253 {
        out.push(too_long(253));
    }
    if !is_subdomain(text) {
        out.push(SUBDOMAIN.to_owned());
    }
    out
}

fn label_1035(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > 63 {
        out.push(too_long(63));
    }
    if !is_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        out.push(LABEL_1035.to_owned());
    }
    out
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn is_key(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn qualified_name(text: &str) -> Vec<String> {
    let parts: Vec<_> = text.split('/').collect();
    let mut out = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                out.push("prefix part must be non-empty".to_owned());
            } else {
                out.extend(subdomain(prefix).into_iter().map(|why| format!("prefix part {why}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        out.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        out.push(format!("name part {}", too_long(63)));
    }
    if !is_key(name) {
        out.push(format!("name part {KEY}"));
    }
    out
}

fn label_value(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if text.len() > 63 {
        out.push(too_long(63));
    }
    if !text.is_empty() && !is_key(text) {
        out.push(VALUE.to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("dns1123Label", "a-b", 0)]
    #[case("dns1123Label", "a.b", 1)]
    #[case("dns1123LabelPrefix", "a-", 0)]
    #[case("dns1035Label", "1a", 1)]
    #[case("qualifiedName", "example.com/a_b", 0)]
    #[case("qualifiedName", "a/b/c", 1)]
    #[case("labelValue", "", 0)]
    #[case("labelValue", "-", 1)]
    #[case("uri", "nope", 1)]
    #[case("date", "2024-01-01", 0)]
    fn names_say_what_is_wrong(#[case] name: &str, #[case] text: &str, #[case] problems: usize) {
        assert_eq!(named(name).unwrap().check(text).len(), problems);
    }
}
