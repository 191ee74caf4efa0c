//! The CRDs that the repository ships, and others of their size, parse and treat objects as they should.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kapstan_schema::{ListType, Node, Rule, Schema, Type};
use serde_json::{Value, json};

fn crd_files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["config/crd", "config/samples/crds", "schema/tests/crds"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")));
    }
    assert!(files.len() >= 6, "{files:?}");
    files
}

/// Every version of every CRD: file name, version, schema.
fn schemas() -> Vec<(String, String, Value)> {
    let mut out = Vec::new();
    for file in crd_files() {
        let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let version_name = version["name"].as_str().unwrap().to_owned();
            out.push((name, version_name, version["schema"]["openAPIV3Schema"].clone()));
        }
    }
    out
}

#[test]
fn every_shipped_crd_is_accepted_and_has_no_unknown_keyword() {
    for (file, version, schema) in schemas() {
        let schema = Schema::parse(&schema).unwrap_or_else(|errors| panic!("{file} {version}: {errors}"));
        assert_eq!(schema.unknown_keywords(), <[String; 0]>::default(), "{file} {version}");
    }
}

#[test]
fn the_tree_answers_for_list_types() {
    let (_, _, schema) = schemas()
        .into_iter()
        .find(|(file, version, _)| file.ends_with("clusterclasses.yaml") && version == "v1beta2")
        .unwrap();
    let schema = Schema::parse(&schema).unwrap();
    let conditions = schema.root().child("status").unwrap().child("conditions").unwrap();
    assert_eq!(conditions.value_type(), Some(Type::Array));
    assert_eq!(conditions.list_type(), ListType::Map);
    assert_eq!(conditions.list_map_keys(), ["type"]);
}

#[test]
fn unknown_fields_go_and_are_named() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                         "properties": {"closed": {"type": "object", "properties": {"a": {"type": "string"}}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "gone": {"type": "string"},
                "kept": {"type": "string", "nullable": true},
            }},
        },
    }))
    .unwrap();
    let mut object = json!({
        "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "other": 1}, "extra": 1,
        "spec": {
            "list": [{"a": "x", "b": 1}], "open": {"b": 1, "closed": {"a": "x", "b": 1}}, "map": {"k": {"a": "x", "b": 1}},
            "gone": null, "kept": null,
        },
    });
    let unknown = schema.prune(&mut object);
    assert_eq!(unknown, ["extra", "spec.list[0].b", "spec.map.k.b", "spec.open.closed.b"]);
    let expected = json!({
        "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "other": 1},
        "spec": {"list": [{"a": "x"}], "open": {"b": 1, "closed": {"a": "x"}}, "map": {"k": {"a": "x"}}, "kept": null},
    });
    assert_eq!(object, expected);
}

#[test]
fn defaults_fill_gaps_and_nulls_on_the_way_down() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "default": {}, "properties": {
            "a": {"type": "string", "default": "A"},
            "n": {"type": "string", "default": "N", "nullable": true},
            "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer", "default": 1}}}},
        }}},
    }))
    .unwrap();
    let cases = [
        (json!({}), json!({"spec": {"a": "A", "n": "N"}})),
        (json!({"spec": {"a": null, "n": null}}), json!({"spec": {"a": "A", "n": null}})),
        (
            json!({"spec": {"a": "", "n": "", "list": [{}, {"b": 2}]}}),
            json!({"spec": {"a": "", "n": "", "list": [{"b": 1}, {"b": 2}]}}),
        ),
    ];
    for (mut object, expected) in cases {
        schema.default(&mut object);
        assert_eq!(object, expected);
    }
}

#[test]
fn what_was_wrong_and_did_not_change_passes_an_update() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string", "maxLength": 1},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {
                        "k": {"type": "string"}, "v": {"type": "integer", "maximum": 1}}}},
        }}},
    }))
    .unwrap();
    let old =
        json!({"spec": {"a": "long", "set": ["x", "x"], "map": [{"k": "1", "v": 5}, {"k": "2", "v": 5}]}});
    assert_eq!(schema.validate(&old, None).len(), 4);
    let mut new = old.clone();
    new["spec"]["map"] = json!([{"k": "2", "v": 5}, {"k": "1", "v": 6}]);
    new["spec"]["set"] = json!(["y", "y"]);
    let errors: Vec<_> = schema.validate(&new, Some(&old)).iter().map(|error| error.path.clone()).collect();
    assert_eq!(errors, ["spec.map[1].v"]);
}

/// What keeps and what breaks each rule that is shipped, by the rule's text.
fn rule_examples() -> Vec<(&'static str, Vec<Value>, Vec<Value>)> {
    let names =
        |names: &[&str]| names.iter().map(|name| json!({"name": name, "value": "v"})).collect::<Value>();
    vec![
        (
            "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])",
            vec![json!("Other"), json!("ready")],
            ["Ready", "Available", "HealthCheckSucceeded", "OwnerRemediated", "ExternallyRemediated"]
                .map(Value::from)
                .into(),
        ),
        (
            "self.matches('^(Linux|LinuxSwap|LinuxRAID|LVM|Fat32|NTFS|LinuxExtended|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$')",
            vec![json!("Linux"), json!("LinuxSwap"), json!("4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709")],
            vec![json!("linux"), json!("Linux2"), json!("4F68BCE3-E8CD-4DB1-96E7"), json!("")],
        ),
        (
            "self.all(x, self.exists_one(y, x.name == y.name))",
            vec![names(&[]), names(&["a"]), names(&["a", "b"])],
            vec![names(&["a", "a"]), names(&["a", "b", "a"])],
        ),
        (
            "[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1",
            vec![json!({"layout": true}), json!({"diskLayout": [{"percentage": 1}]})],
            vec![json!({}), json!({"layout": true, "diskLayout": []})],
        ),
    ]
}

/// Every rule below a node, with the steps to it: a field, or an item of a list.
fn rules<'a>(
    node: &'a Node,
    steps: &mut Vec<Option<String>>,
    out: &mut Vec<(Vec<Option<String>>, &'a Rule)>,
) {
    out.extend(node.rules().iter().map(|rule| (steps.clone(), rule)));
    for (name, field) in node.fields() {
        steps.push(Some(name.to_owned()));
        rules(field, steps, out);
        steps.pop();
    }
    if let Some(items) = node.items() {
        steps.push(None);
        rules(items, steps, out);
        steps.pop();
    }
    assert!(node.map_values().is_none_or(|values| values.rules().is_empty()), "a rule below a map");
}

/// An object that has nothing but a value at a place.
fn object_with(steps: &[Option<String>], value: &Value) -> Value {
    steps.iter().rev().fold(value.clone(), |value, step| match step {
        Some(name) => json!({name.as_str(): value}),
        None => json!([value]),
    })
}

fn path_of(steps: &[Option<String>]) -> String {
    let text: String = steps
        .iter()
        .map(|step| step.as_ref().map_or_else(|| "[0]".to_owned(), |name| format!(".{name}")))
        .collect();
    text.trim_start_matches('.').to_owned()
}

#[test]
fn every_rule_that_is_shipped_is_evaluated() {
    let mut seen = BTreeSet::new();
    for (file, version, schema) in schemas() {
        let schema = Schema::parse(&schema).unwrap();
        let mut found = Vec::new();
        rules(schema.root(), &mut Vec::new(), &mut found);
        assert_eq!(schema.has_rules(), !found.is_empty(), "{file} {version}");
        for (steps, rule) in found {
            let examples = rule_examples();
            let (text, kept, broken) = examples
                .iter()
                .find(|(text, ..)| *text == rule.rule)
                .unwrap_or_else(|| panic!("{file} {version}: no examples of {}", rule.rule));
            seen.insert(*text);
            for value in kept {
                let errors = schema.validate_rules(&object_with(&steps, value), None);
                assert_eq!(errors, [], "{file} {version} {} {value}", path_of(&steps));
            }
            for value in broken {
                let errors = schema.validate_rules(&object_with(&steps, value), None);
                let told: Vec<_> =
                    errors.iter().map(|error| (error.path.as_str(), error.detail.as_str())).collect();
                assert_eq!(
                    told,
                    [(path_of(&steps).as_str(), rule.message.as_str())],
                    "{file} {version} {value}"
                );
            }
        }
    }
    assert_eq!(seen.len(), rule_examples().len(), "examples of rules that are not shipped");
}
