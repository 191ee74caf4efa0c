//! Which names, labels and other short texts are allowed, and how a refusal words it.
//!
//! Behaviour: apimachinery `pkg/util/validation/validation.go` and `pkg/api/validate/content`.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// What is wrong with a text; empty when nothing is.
pub(crate) type Complaints = Vec<String>;

/// A function that judges a text.
pub(crate) type Judge = fn(&str) -> Complaints;

/// The name of most objects.
pub(crate) fn subdomain(text: &str) -> Complaints {
    let mut complaints = too_long(text, 253);
    if !is_subdomain(text) {
        let what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        complaints.push(with_pattern(what, SUBDOMAIN, &["example.com"]));
    }
    complaints
}

/// The name of a namespace.
pub(crate) fn label(text: &str) -> Complaints {
    let mut complaints = too_long(text, 63);
    if text.contains('.') && is_subdomain(text) {
        complaints.push("must not contain dots".to_owned());
    } else if !is_label(text) {
        let what = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
        complaints.push(with_pattern(what, LABEL, &["my-name", "123-abc"]));
    }
    complaints
}

/// The name of a service.
pub(crate) fn dns_1035_label(text: &str) -> Complaints {
    let mut complaints = too_long(text, 63);
    if !is_label(text) || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        let what = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        complaints.push(with_pattern(what, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    complaints
}

/// A name that only has to fit in a path, such as that of a role.
pub(crate) fn path_segment(text: &str) -> Complaints {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    let has = |part: &&str| text.contains(*part);
    ["/", "%"].iter().copied().filter(has).map(|part| format!("may not contain '{part}'")).collect()
}

/// The key of a label, an annotation (in lower case) or a finalizer: `[prefix/]name`.
pub(crate) fn qualified_name(text: &str) -> Complaints {
    let (prefix, name) = match text.split('/').collect::<Vec<_>>()[..] {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => {
            return vec![format!(
                "a {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                qualified_words()
            )];
        }
    };
    let mut complaints = prefix.map(prefix_complaints).unwrap_or_default();
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        complaints.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        complaints.push(format!("name part {}", qualified_words()));
    }
    complaints
}

fn prefix_complaints(prefix: &str) -> Complaints {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    subdomain(prefix).into_iter().map(|complaint| format!("prefix part {complaint}")).collect()
}

fn qualified_words() -> String {
    let what = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    with_pattern(what, QUALIFIED, &["MyName", "my.name", "123-abc"])
}

/// The value of a label.
pub(crate) fn label_value(text: &str) -> Complaints {
    let mut complaints = too_long(text, 63);
    if !text.is_empty() && !is_qualified(text) {
        let what = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        let pattern = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
        complaints.push(with_pattern(what, pattern, &["MyValue", "my_value", "12345"]));
    }
    complaints
}

/// The key of a config map or a secret.
pub(crate) fn data_key(text: &str) -> Complaints {
    let mut complaints = too_long(text, 253);
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(is_allowed) {
        let what = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        complaints.push(with_pattern(what, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    if text == "." || text == ".." {
        complaints.push(format!("must not be '{text}'"));
    } else if text.starts_with("..") {
        complaints.push("must not start with '..'".to_owned());
    }
    complaints
}

fn with_pattern(what: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<_> = examples.iter().map(|example| format!("'{example}'")).collect();
    format!("{what} (e.g. {}, regex used for validation is '{pattern}')", examples.join(",  or "))
}

fn too_long(text: &str, limit: usize) -> Complaints {
    if text.len() > limit { vec![format!("must be no more than {limit} bytes")] } else { Vec::new() }
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(is_label)
}

pub(crate) fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_qualified(text: &str) -> bool {
    let is_outer = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().all(is_inner) && is_outer(text.bytes().next()) && is_outer(text.bytes().next_back())
}

/// The name with which names that are still to be completed (`generateName`) are judged.
pub(crate) fn masked(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        _ => prefix.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("a-b.c", true)]
    #[case::upper("A", false)]
    #[case::empty("", false)]
    #[case::empty_part("a..b", false)]
    #[case::dash("a-", false)]
    fn subdomains(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(subdomain(text).is_empty(), expected);
    }

    #[rstest]
    #[case::name("My.Name_1", true)]
    #[case::prefixed("example.com/name", true)]
    #[case::bad_prefix("Example/name", false)]
    #[case::two_slashes("a/b/c", false)]
    #[case::no_name("a/", false)]
    fn qualified_names(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(qualified_name(text).is_empty(), expected);
    }

    #[test]
    fn a_refused_name_is_worded_as_the_api_server_words_it() {
        assert_eq!(
            label("A b"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
    }
}
