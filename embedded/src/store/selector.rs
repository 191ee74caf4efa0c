//! Label and field selectors in their query-string form.
//!
//! Behaviour: apimachinery `pkg/labels/selector.go` and `pkg/fields/selector.go`.

use super::object::Object;

/// What a list or a watch is narrowed to. All parts must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) labels: Vec<Requirement>,
    pub(crate) fields: Vec<FieldRequirement>,
}

impl Filter {
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(object.label(&requirement.key)))
            && self.fields.iter().all(|requirement| requirement.matches(object))
    }
}

/// One condition on a label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
            Operator::NotIn(values) => value.is_none_or(|value| values.iter().all(|one| one != value)),
            Operator::Exists => value.is_some(),
            Operator::Absent => value.is_none(),
            Operator::Greater(than) => number().is_some_and(|number| number > *than),
            Operator::Less(than) => number().is_some_and(|number| number < *than),
        }
    }
}

/// One condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldRequirement {
    pub(crate) field: String,
    equal: bool,
    value: String,
}

impl FieldRequirement {
    fn matches(&self, object: &Object) -> bool {
        (object.field(&self.field).unwrap_or_default() == self.value) == self.equal
    }
}

/// Reads a label selector such as `a=b,c!=d,e in (f,g),!h,i`.
pub(crate) fn labels(text: &str) -> Result<Vec<Requirement>, String> {
    let mut requirements = Vec::new();
    for part in split_outside_parentheses(text) {
        requirements.push(requirement(part.trim())?);
    }
    Ok(requirements)
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

fn requirement(part: &str) -> Result<Requirement, String> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement { key: key_of(key)?, operator: Operator::Absent });
    }
    for (sign, operator) in [("!=", not_in as fn(&str) -> _), ("==", is_in), ("=", is_in)] {
        if let Some((key, value)) = part.split_once(sign) {
            return Ok(Requirement { key: key_of(key)?, operator: operator(value_of(value)?) });
        }
    }
    if let Some((key, values)) = part.split_once('(') {
        return set_requirement(key, values);
    }
    for (sign, operator) in [('>', Operator::Greater as fn(i64) -> _), ('<', Operator::Less)] {
        if let Some((key, value)) = part.split_once(sign) {
            let number = value.trim().parse().map_err(|_| format!("{value:?} is not a number"))?;
            return Ok(Requirement { key: key_of(key)?, operator: operator(number) });
        }
    }
    Ok(Requirement { key: key_of(part)?, operator: Operator::Exists })
}

fn is_in(value: &str) -> Operator {
    Operator::In(vec![value.to_owned()])
}

fn not_in(value: &str) -> Operator {
    Operator::NotIn(vec![value.to_owned()])
}

fn set_requirement(left: &str, values: &str) -> Result<Requirement, String> {
    let values = values.trim_end().strip_suffix(')').ok_or("found '', expected: ',' or ')'")?;
    let values = values.split(',').map(|value| value_of(value).map(str::to_owned));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let mut words = left.split_whitespace();
    let (Some(key), Some(operator), None) = (words.next(), words.next(), words.next()) else {
        return Err(format!("found {left:?}, expected: a key and 'in' or 'notin'"));
    };
    let operator = match operator {
        "in" => Operator::In(values),
        "notin" => Operator::NotIn(values),
        other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
    };
    Ok(Requirement { key: key_of(key)?, operator })
}

fn key_of(text: &str) -> Result<String, String> {
    let key = text.trim();
    match super::super::names::qualified_name(key).first() {
        Some(why) => Err(format!("key: Invalid value: {key:?}: {why}")),
        None => Ok(key.to_owned()),
    }
}

fn value_of(text: &str) -> Result<&str, String> {
    let value = text.trim();
    match super::super::names::label_value(value).first() {
        Some(why) => Err(format!("values[0]: Invalid value: {value:?}: {why}")),
        None => Ok(value),
    }
}

/// Reads a field selector such as `metadata.name=a,involvedObject.kind!=B`; in values, a backslash stands
/// before a comma, an equals sign and a backslash.
///
/// Behaviour: apimachinery `pkg/fields/selector.go`.
pub(crate) fn fields(text: &str) -> Result<Vec<FieldRequirement>, String> {
    terms(text)
        .into_iter()
        .filter(|term| !term.is_empty())
        .map(|term| field_requirement(term, text))
        .collect()
}

/// What is between the commas that no backslash stands before.
fn terms(text: &str) -> Vec<&str> {
    let mut is_escaped = false;
    let is_end = |character| {
        let is_end = character == ',' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        is_end
    };
    text.split(is_end).collect()
}

fn field_requirement(term: &str, text: &str) -> Result<FieldRequirement, String> {
    let sign =
        term.find('=').ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
    let (field, value) = (&term[..sign], &term[sign + 1..]);
    let value = unescaped(value.strip_prefix('=').filter(|_| !field.ends_with('!')).unwrap_or(value))?;
    Ok(match field.strip_suffix('!') {
        Some(field) => FieldRequirement { field: field.to_owned(), equal: false, value },
        None => FieldRequirement { field: field.to_owned(), equal: true, value },
    })
}

fn unescaped(value: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        let character = match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => escaped,
                other => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(format!("invalid field selector: invalid escape sequence: \\{other}"));
                }
            },
            '=' => {
                let code = u32::from(character);
                return Err(format!("invalid field selector: unescaped character in value: {code}"));
            }
            other => other,
        };
        out.push(character);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::store::object::{Draft, Fields, Key};

    fn object() -> Object {
        let value = json!({ "metadata": { "labels": { "app": "web", "tier": "3", "empty": "" } } });
        let fields = Fields::from([("type", "Warning".into())]);
        Object::encode(Key::new(Some("ns"), "x"), 1, &mut Draft { value, fields, encoding: 0 })
    }

    #[rstest]
    #[case::equal("app=web", true)]
    #[case::double("app==web", true)]
    #[case::other("app=db", false)]
    #[case::not("app!=db", true)]
    #[case::not_when_absent("nope!=db", true)]
    #[case::absent_is_not_empty("nope=", false)]
    #[case::empty("empty=", true)]
    #[case::exists("app", true)]
    #[case::exists_not("nope", false)]
    #[case::absent("!nope", true)]
    #[case::set("app in (db, web)", true)]
    #[case::set_not("app notin (db,web)", false)]
    #[case::both("app=web,tier=4", false)]
    #[case::set_and_more("app in (web,db),tier=3", true)]
    #[case::greater("tier>2", true)]
    #[case::less("tier<3", false)]
    #[case::nothing("", true)]
    fn label_selectors(#[case] text: &str, #[case] expected: bool) {
        let filter = Filter { labels: labels(text).unwrap(), fields: Vec::new() };
        assert_eq!(filter.matches(&object()), expected, "{text}");
    }

    #[rstest]
    #[case::name("metadata.name=x", true)]
    #[case::not_name("metadata.name!=x", false)]
    #[case::namespace("metadata.namespace=ns,metadata.name=x", true)]
    #[case::own("type=Normal", false)]
    fn field_selectors(#[case] text: &str, #[case] expected: bool) {
        let filter = Filter { labels: Vec::new(), fields: fields(text).unwrap() };
        assert_eq!(filter.matches(&object()), expected, "{text}");
    }

    #[rstest]
    #[case::no_end("a in (b")]
    #[case::bad_operator("a within (b)")]
    #[case::bad_key("a b=c")]
    #[case::bad_value("a=b c")]
    #[case::bad_number("a>b")]
    #[case::only_a_comma("a,,b")]
    fn what_is_no_label_selector_is_refused(#[case] text: &str) {
        assert!(labels(text).is_err_and(|why| !why.is_empty()));
    }
}
