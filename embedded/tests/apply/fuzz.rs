//! Values that no client sends: nothing may panic, and what comes out can go in again.

use jiff::Timestamp;
use kapstan_embedded::apply::{self, Context, Types};
use kapstan_embedded::strategic;
use serde_json::{Map, Number, Value, json};

use crate::random::Random;
use crate::scenario::{GADGET, KINDS, WIDGET};

const WORDS: [&str; 30] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "managedFields",
    "manager",
    "operation",
    "Apply",
    "Update",
    "fieldsType",
    "FieldsV1",
    "fieldsV1",
    "f:spec",
    "k:{\"name\":\"a\"}",
    "v:1",
    "i:0",
    ".",
    "spec",
    "status",
    "keyed",
    "set",
    "free",
    "ports",
    "rules",
    "a",
    "é\u{0}",
    "",
];

fn word(random: &mut Random) -> String {
    (*random.pick(&WORDS)).to_owned()
}

/// Any JSON value, made of words that mean something somewhere.
fn anything(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 5 } else { 8 };
    match random.below(kinds) {
        0 => Value::Null,
        1 => json!(random.one_in(2)),
        2 => json!(random.below(3)),
        3 => Number::from_f64([0.5, 1.0, -1e300, 1e21][random.below(4)]).map_or(Value::Null, Value::Number),
        4 => json!(word(random)),
        5 => (0..random.below(4)).map(|_| anything(random, depth - 1)).collect(),
        _ => (0..random.below(6))
            .map(|_| (word(random), anything(random, depth - 1)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

/// A good object, with anything put in some places.
fn spoilt(random: &mut Random, good: &Value) -> Value {
    let mut object = good.clone();
    for _ in 0..=random.below(3) {
        spoil(random, &mut object);
    }
    object
}

/// Puts anything at one place in a value.
fn spoil(random: &mut Random, value: &mut Value) {
    let size = value.as_object().map_or(0, Map::len) + value.as_array().map_or(0, Vec::len);
    let below = random.below(size);
    let below = match value {
        _ if random.one_in(4) => None,
        Value::Object(fields) => fields.values_mut().nth(below),
        Value::Array(items) => items.get_mut(below),
        _ => None,
    };
    match below {
        Some(below) => spoil(random, below),
        None => *value = anything(random, 4),
    }
}

#[test]
fn nothing_panics_and_no_answer_is_one_that_cannot_be_read() {
    let mut random = Random::new(1);
    for round in 0..20_000 {
        let kind = *random.pick(&[KINDS.as_slice(), &[WIDGET, GADGET, WIDGET]].concat());
        let types =
            if round % 100 == 0 { Types::custom(&anything(&mut random, 6), true) } else { kind.types() };
        let manager = *random.pick(&["a", "kubectl", ""]);
        let ctx = Context {
            types: &types,
            kind: kind.name,
            api_version: kind.api_version,
            subresource: if random.one_in(4) { "status" } else { "" },
            manager,
            force: random.one_in(2),
            now: Timestamp::from_second(1_700_000_000).expect("a time"),
        };
        let good = json!({
            "apiVersion": kind.api_version, "kind": kind.name,
            "metadata": {"name": "x", "labels": {"l": "1"}}, "spec": random.spec(),
        });
        let mut live = apply::apply(None, &good, &ctx).unwrap_or_else(|_| good.clone());
        if random.one_in(2) {
            live = spoilt(&mut random, &live);
        }
        let new = spoilt(&mut random, &live);
        let applied = spoilt(&mut random, &good);

        let mut updated = apply::update(Some(&live), new, &ctx);
        apply::keep_times(&live, &mut updated);
        let _ = apply::apply(Some(&live), &applied, &ctx);
        if let Ok(applied) = apply::apply(Some(&updated), &good, &ctx) {
            let again =
                apply::apply(Some(&applied), &good, &ctx).expect("what was applied can be applied again");
            assert_eq!(again, applied, "a second apply changes nothing");
        }
    }
}

#[test]
fn no_strategic_patch_panics() {
    const DIRECTIVES: [&str; 6] = [
        "$patch",
        "$retainKeys",
        "$setElementOrder/ports",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
    ];
    let mut random = Random::new(2);
    let good = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "x", "labels": {"l": "1"}, "finalizers": ["a", "b"]},
        "spec": {"ports": [{"port": 1, "name": "a"}, {"port": 2}], "selector": {"a": "1"}},
    });
    for _ in 0..20_000 {
        let mut patch = spoilt(&mut random, &good);
        for place in ["", "/metadata", "/spec", "/spec/ports/0"] {
            if random.one_in(2)
                && let Some(fields) = patch.pointer_mut(place).and_then(Value::as_object_mut)
            {
                let directive = (*random.pick(&DIRECTIVES)).to_owned();
                let value = match random.below(4) {
                    0 => json!(*random.pick(&["delete", "replace", "merge", "x"])),
                    1 => json!([{"port": 2}, {"port": 1}]),
                    2 => json!(["b", "a"]),
                    _ => anything(&mut random, 3),
                };
                fields.insert(directive, value);
            }
        }
        let live = spoilt(&mut random, &good);
        if let (Value::Object(live), Value::Object(patch)) = (live, patch) {
            let _ = strategic::patch(&live, &patch, "v1", "Service");
        }
    }
}
