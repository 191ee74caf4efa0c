//! The values of variables in a Cluster: their defaults, and whether they are allowed.
//!
//! Mirrors Cluster API `internal/topology/variables`, `cluster_variable_defaulting.go` and
//! `cluster_variable_validation.go`. Numbers keep all their digits here, where upstream reads them as doubles.

use std::collections::{BTreeMap, BTreeSet};

use kapstan_schema::{Cause, FieldError, ValueSchema};
use serde_json::{Number, Value};

use super::schema::open_api_form;
use crate::{
    cluster::ClusterVariable,
    cluster_class::{ClusterClassStatusVariable, ClusterClassStatusVariableDefinition},
    text,
};

/// Whose variables are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the whole cluster: defaulting adds variables with a default, validation asks for required ones.
    Cluster,
    /// Overrides for the control plane, a `MachineDeployment` or a `MachinePool`: only what is there counts.
    Override,
}

/// Defaults the values of variables. The order of the values stays; variables that come from defaults follow in
/// the order of the definitions, so that a second pass changes nothing.
///
/// # Errors
/// A value that is there twice, a value without definition, definitions that conflict or are missing, a schema
/// that cannot be read. Paths begin with `path`.
pub fn default(
    values: &[ClusterVariable],
    definitions: &[ClusterClassStatusVariable],
    scope: Scope,
    path: &str,
) -> Result<Vec<ClusterVariable>, Vec<FieldError>> {
    let index = by_name(values, path)?;
    let definitions_by_name = usable(definitions, path)?;
    let missing = definitions.iter().filter(|variable| !index.contains_key(variable.name.as_str()));
    let added = missing.map(|variable| (variable.name.as_str(), None));
    let all = values.iter().map(|value| (value.name.as_str(), Some(value))).chain(added);
    let mut defaulted = Vec::new();
    let mut errors = Vec::new();
    let mut done = BTreeSet::new();
    for (name, value) in all {
        let place = format!("{path}[{name}]");
        let Some(definition) = definitions_by_name.get(name) else {
            errors.push(undefined(&place, value));
            continue;
        };
        // Definitions of the same name count once; the last of them is the one that is used.
        if !done.insert(name) {
            continue;
        }
        match default_one(name, value, definition, scope, &place) {
            Ok(value) => defaulted.extend(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(defaulted) } else { Err(errors) }
}

fn default_one(
    name: &str,
    current: Option<&ClusterVariable>,
    definition: &ClusterClassStatusVariableDefinition,
    scope: Scope,
    place: &str,
) -> Result<Option<ClusterVariable>, FieldError> {
    let schema = open_api_form(&definition.schema.open_api_v3_schema);
    let is_created = scope == Scope::Cluster && schema.get("default").is_some();
    if current.is_none() && !is_created {
        return Ok(None);
    }
    let schema = ValueSchema::read(&schema)
        .map_err(|errors| FieldError::invalid(place, Value::Null, unreadable(&errors)))?;
    let mut value = current.map_or(Value::Null, |current| current.value.clone());
    schema.default(&mut value);
    whole_numbers(&mut value);
    Ok(Some(ClusterVariable { name: name.to_owned(), value, ..ClusterVariable::default() }))
}

/// Writes whole numbers without a point, as JSON written by Go has them.
fn whole_numbers(value: &mut Value) {
    /// From here on not every whole number is a double.
    const END: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            let whole =
                float.filter(|f| f.fract() == 0.0 && f.abs() < END && !(*f == 0.0 && f.is_sign_negative()));
            if let Some(whole) = whole {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
                let whole = whole as i64;
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Everything that is wrong with the values of variables. `old`, the values as they were, is what rules see as
/// `oldSelf`. Paths begin with `path`.
#[must_use]
pub fn validate(
    values: &[ClusterVariable],
    old: &[ClusterVariable],
    definitions: &[ClusterClassStatusVariable],
    scope: Scope,
    path: &str,
) -> Vec<FieldError> {
    let indexed = by_name(values, path)
        .and_then(|values| Ok((values, by_name(old, path)?, usable(definitions, path)?)));
    let (index, old, definitions) = match indexed {
        Ok(indexed) => indexed,
        Err(errors) => return errors,
    };
    let mut errors = Vec::new();
    if scope == Scope::Cluster {
        let required = definitions.iter().filter(|(_, definition)| definition.required == Some(true));
        for (name, _) in required.filter(|(name, _)| !index.contains_key(*name)) {
            errors.push(FieldError::required(path, format!("required variable {name:?} must be set")));
        }
    }
    for value in values {
        let place = format!("{path}[{}]", value.name);
        match definitions.get(value.name.as_str()) {
            None => errors.push(undefined(&place, Some(value))),
            Some(definition) => {
                let old = old.get(value.name.as_str()).copied();
                errors.extend(validate_value(value, old, &definition.schema.open_api_v3_schema, &place));
            }
        }
    }
    errors
}

/// Everything that is wrong with one value; `schema` is what the definition has as `openAPIV3Schema`.
#[must_use]
pub fn validate_value(
    value: &ClusterVariable,
    old: Option<&ClusterVariable>,
    schema: &Value,
    place: &str,
) -> Vec<FieldError> {
    let schema = match ValueSchema::read(&open_api_form(schema)) {
        Ok(schema) => schema,
        Err(errors) => return vec![FieldError::new(place, Cause::Internal, unreadable(&errors))],
    };
    let path = format!("{place}.value");
    let errors = schema.validate_openapi(&value.value, &path);
    if !errors.is_empty() {
        return errors;
    }
    let unknown = schema.unknown_fields(&value.value);
    if !unknown.is_empty() {
        let unknown = text::foreign_within(&unknown.join(", "), 512);
        let why = format!("fields that the schema of the variable does not have: {unknown}");
        return vec![FieldError::invalid(place, value.value.clone(), why)];
    }
    let old = old.map(|old| &old.value).filter(|old| !old.is_null());
    schema.validate_rules(&value.value, old, &path)
}

fn undefined(place: &str, value: Option<&ClusterVariable>) -> FieldError {
    let value = value.map_or(Value::Null, |value| value.value.clone());
    FieldError::invalid(place, value, "the class does not define this variable")
}

fn unreadable(errors: &[FieldError]) -> String {
    let first = errors.first().map(ToString::to_string).unwrap_or_default();
    format!("the schema in the ClusterClass cannot be read: {}", text::foreign_within(&first, 512))
}

fn by_name<'v>(
    values: &'v [ClusterVariable],
    path: &str,
) -> Result<BTreeMap<&'v str, &'v ClusterVariable>, Vec<FieldError>> {
    let mut index = BTreeMap::new();
    let mut errors = Vec::new();
    for value in values {
        if index.insert(value.name.as_str(), value).is_some() {
            let place = format!("{path}[{}]", value.name);
            errors.push(FieldError::invalid(
                place,
                value.value.clone(),
                "the variable is set more than once",
            ));
        }
    }
    if errors.is_empty() { Ok(index) } else { Err(errors) }
}

/// The definition of each variable: as all are the same, the first counts. Where one variable has none or they
/// differ, no variable can be used.
fn usable<'d>(
    definitions: &'d [ClusterClassStatusVariable],
    path: &str,
) -> Result<BTreeMap<&'d str, &'d ClusterClassStatusVariableDefinition>, Vec<FieldError>> {
    let mut index = BTreeMap::new();
    let mut wrong = Vec::new();
    for variable in definitions {
        let name = text::foreign_within(&variable.name, 256);
        match variable.definitions.first() {
            None => wrong.push(format!("variable {name:?} has no definitions")),
            Some(_) if variable.definitions_conflict == Some(true) => {
                wrong.push(format!("variable {name:?} has conflicting definitions"));
            }
            Some(first) => drop(index.insert(variable.name.as_str(), first)),
        }
    }
    if wrong.is_empty() {
        return Ok(index);
    }
    let why = format!("definitions of variables in the ClusterClass cannot be used: {}", wrong.join(", "));
    Err(vec![FieldError::new(path, Cause::TypeInvalid, text::foreign(&why))])
}
