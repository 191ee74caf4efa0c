//! What definitions of variables must satisfy, in a class's spec and in an extension's answer.
//!
//! Mirrors Cluster API `internal/topology/variables/clusterclass_variable_validation.go`.

use std::collections::{BTreeMap, BTreeSet};

use kapstan_schema::{FieldError, Options, ValueSchema};
use serde_json::Value;

use super::schema::{Field, field, open_api_form};
use crate::{
    cluster_class::ClusterClassVariable,
    labels::{check_annotations, check_labels},
};

/// The name of the variables that Cluster API itself defines.
const RESERVED: &str = "builtin";

/// The minor version of Kubernetes whose functions a new rule may use, so that a Cluster API one version older
/// can run it.
///
/// Behaviour: apiserver `environment.DefaultCompatibilityVersion` of the Kubernetes that Cluster API is built
/// with, which is one below it.
pub const CEL_COMPATIBILITY: u16 = 35;

/// Everything that is wrong with definitions of variables, in their order. Paths begin with `path` and the
/// variable's name in brackets.
///
/// Rules that `old`, the definitions as they were, have already for a variable of the same name may use functions
/// newer than `compatible_with`, the minor version of Kubernetes; see [`CEL_COMPATIBILITY`].
#[must_use]
pub fn validate(
    variables: &[ClusterClassVariable],
    old: &[ClusterClassVariable],
    path: &str,
    compatible_with: u16,
) -> Vec<FieldError> {
    let old: BTreeMap<&str, &ClusterClassVariable> =
        old.iter().map(|variable| (variable.name.as_str(), variable)).collect();
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for variable in variables {
        let place = format!("{path}[{}]", variable.name);
        if !names.insert(variable.name.as_str()) {
            let why = "the name is used more than once";
            errors.push(FieldError::invalid(format!("{place}.name"), variable.name.as_str().into(), why));
        }
        validate_one(
            variable,
            old.get(variable.name.as_str()).copied(),
            &place,
            compatible_with,
            &mut errors,
        );
    }
    errors
}

fn validate_one(
    variable: &ClusterClassVariable,
    old: Option<&ClusterClassVariable>,
    place: &str,
    compatible_with: u16,
    errors: &mut Vec<FieldError>,
) {
    check_name(&variable.name, &format!("{place}.name"), errors);
    if let Some(metadata) = &variable.deprecated_v1_beta1_metadata {
        let path = format!("{place}.deprecatedV1Beta1Metadata");
        errors.extend(check_labels(&metadata.labels, &format!("{path}.labels")));
        errors.extend(check_annotations(&metadata.annotations, &format!("{path}.annotations")));
    }
    let path = format!("{place}.schema.openAPIV3Schema");
    let schema = &variable.schema.open_api_v3_schema;
    check_metadata(schema, &path, errors);
    let stored = old.map(|old| open_api_form(&old.schema.open_api_v3_schema));
    let options = Options { path: &path, compatible_with: Some(compatible_with), stored: stored.as_ref() };
    errors.extend(ValueSchema::check(&open_api_form(schema), &options));
}

fn check_name(name: &str, path: &str, errors: &mut Vec<FieldError>) {
    let mut invalid = |why: &str| errors.push(FieldError::invalid(path, name.into(), why));
    if name == RESERVED {
        invalid("the name is reserved");
    }
    if name.contains('.') {
        invalid("a name cannot have dots");
    }
    if name.is_empty() {
        errors.push(FieldError::required(path, "a variable needs a name"));
    }
}

/// Labels and annotations in a schema; those inside junctors are not looked at.
fn check_metadata(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Value::Object(fields) = schema else { return };
    for (name, value) in fields {
        match (field(name), value) {
            (Some(Field::Metadata), metadata) => {
                errors.extend(check_labels(&texts(&metadata["labels"]), &format!("{path}.{name}.labels")));
                let annotations = texts(&metadata["annotations"]);
                errors.extend(check_annotations(&annotations, &format!("{path}.{name}.annotations")));
            }
            (Some(Field::Schema), schema) if name != "not" => {
                check_metadata(schema, &format!("{path}.{name}"), errors);
            }
            (Some(Field::SchemaMap), Value::Object(schemas)) => {
                for (key, schema) in schemas {
                    check_metadata(schema, &format!("{path}.{name}[{key}]"), errors);
                }
            }
            _ => {}
        }
    }
}

fn texts(map: &Value) -> BTreeMap<String, String> {
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    map.as_object().into_iter().flatten().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use kapstan_schema::Cause;
    use serde_json::json;
    use similar_asserts::assert_eq;

    use super::*;

    fn variable(schema: &Value) -> ClusterClassVariable {
        serde_json::from_value(json!({"name": "tide", "schema": {"openAPIV3Schema": schema}})).unwrap()
    }

    #[test]
    fn a_rule_that_does_not_compile_says_where_in_lines_of_their_own() {
        let schema =
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == \"\" || self = \"\""}]});
        let errors = validate(&[variable(&schema)], &[], "hull.variables", CEL_COMPATIBILITY);
        let rule = "hull.variables[tide].schema.openAPIV3Schema.x-kubernetes-validations[0].rule";
        assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), [rule]);
        assert_eq!(errors[0].cause, Cause::Invalid);
        let marker = " | self == \"\" || self = \"\"\n | ...................^";
        assert!(errors[0].detail.contains(marker), "{}", errors[0].detail);
    }
}
