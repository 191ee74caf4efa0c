//! The `JSONPath` of printer columns: a chain of fields, indexes, wildcards and filters.
//!
//! Behaviour: client-go `util/jsonpath`, as far as columns use it.

use serde_json::Value;

/// A path into an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Every,
    /// Items whose value at the path equals, or does not equal, this one.
    Filter {
        path: JsonPath,
        equal: bool,
        value: Value,
    },
}

impl JsonPath {
    /// Reads a path such as `.status.conditions[?(@.type=="Ready")].status`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim();
        rest = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(rest);
        let mut steps = Vec::new();
        if !rest.starts_with(['.', '[']) {
            return Err(format!("must be a simple json path starting with \".\", found {text:?}"));
        }
        while !rest.is_empty() {
            rest = step(rest, &mut steps)?;
        }
        Ok(Self(steps))
    }

    /// The values at the path, in order.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.take(value)).collect();
        }
        found
    }
}

impl Step {
    fn take<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => item(value, *index).into_iter().collect(),
            Self::Every => match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(fields) => fields.values().collect(),
                _ => Vec::new(),
            },
            Self::Filter { path, equal, value: wanted } => {
                let items = value.as_array().into_iter().flatten();
                items
                    .filter(|item| path.find(item).first().is_some_and(|found| (*found == wanted) == *equal))
                    .collect()
            }
        }
    }
}

fn item(value: &Value, index: i64) -> Option<&Value> {
    let items = value.as_array()?;
    let length = i64::try_from(items.len()).ok()?;
    let index = if index < 0 { length + index } else { index };
    items.get(usize::try_from(index).ok()?)
}

/// Takes one step off the text; returns what is left.
fn step<'a>(text: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, String> {
    if let Some(rest) = text.strip_prefix('[') {
        let end = closing_bracket(rest).ok_or("unterminated array")?;
        steps.push(bracket(rest[..end].trim())?);
        return Ok(&rest[end + 1..]);
    }
    let Some(rest) = text.strip_prefix('.') else {
        return Err(format!("unrecognized character in {text:?}"));
    };
    if rest.starts_with('.') {
        return Err("recursive descent is not supported".to_owned());
    }
    if rest.starts_with('[') {
        return Ok(rest);
    }
    let (name, rest) = field(rest);
    match name.as_str() {
        "*" => steps.push(Step::Every),
        "" => {}
        _ => steps.push(Step::Field(name)),
    }
    Ok(rest)
}

/// The field name at the start of the text, in which a dot can be escaped, and the rest.
fn field(text: &str) -> (String, &str) {
    let (mut name, mut is_escaped) = (String::new(), false);
    for (at, character) in text.char_indices() {
        match character {
            '\\' if !is_escaped => is_escaped = true,
            '.' | '[' if !is_escaped => return (name, &text[at..]),
            _ => {
                name.push(character);
                is_escaped = false;
            }
        }
    }
    (name, "")
}

fn closing_bracket(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Result<Step, String> {
    if inside == "*" {
        return Ok(Step::Every);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self::filter(filter);
    }
    if let Some(name) = unquoted(inside) {
        return Ok(Step::Field(name.to_owned()));
    }
    inside.parse().map(Step::Index).map_err(|_| format!("invalid array index {inside}"))
}

fn filter(text: &str) -> Result<Step, String> {
    let (left, right, equal) = match (text.split_once("=="), text.split_once("!=")) {
        (Some((left, right)), _) => (left, right, true),
        (None, Some((left, right))) => (left, right, false),
        (None, None) => return Err(format!("unsupported filter {text:?}")),
    };
    let path = left.trim().strip_prefix('@').ok_or_else(|| format!("unsupported filter {text:?}"))?;
    let right = right.trim();
    let value = match unquoted(right) {
        Some(text) => Value::from(text),
        None => serde_json::from_str(right).map_err(|_| format!("unsupported filter {text:?}"))?,
    };
    Ok(Step::Filter { path: JsonPath::parse(path)?, equal, value })
}

fn unquoted(text: &str) -> Option<&str> {
    let inside = |quote| text.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inside('\'').or_else(|| inside('"'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::field(".spec.size", json!([3]))]
    #[case::missing(".spec.nope", json!([]))]
    #[case::filter(".status.conditions[?(@.type==\"Ready\")].status", json!(["True"]))]
    #[case::filter_single_quotes(".status.conditions[?(@.type=='Available')].status", json!(["False"]))]
    #[case::index(".status.conditions[1].type", json!(["Available"]))]
    #[case::last(".status.conditions[-1].type", json!(["Available"]))]
    #[case::every(".status.conditions[*].type", json!(["Ready", "Available"]))]
    #[case::escaped(".metadata.labels.a\\.b/c", json!(["d"]))]
    #[case::quoted(".metadata.labels['a.b/c']", json!(["d"]))]
    #[case::braces("{.spec.size}", json!([3]))]
    fn paths_of_columns(#[case] path: &str, #[case] expected: Value) {
        let object = json!({
            "metadata": { "labels": { "a.b/c": "d" } },
            "spec": { "size": 3 },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Available", "status": "False" }] },
        });
        let path = JsonPath::parse(path).unwrap();
        assert_eq!(json!(path.find(&object)), expected);
    }

    #[rstest]
    #[case::no_dot("spec")]
    #[case::open(".a[0")]
    #[case::word(".a[b]")]
    #[case::descent("..a")]
    fn what_is_no_path_is_refused(#[case] path: &str) {
        assert!(JsonPath::parse(path).is_err_and(|why| !why.is_empty()));
    }
}
