//! Nothing panics, and everything ends, whatever the schema, the value and the rule. Seeded: a failure
//! comes again.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::time::{Duration, Instant};

use kapstan_schema::Schema;
use serde_json::{Map, Value, json};

/// Xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }
}

const NAMES: [&str; 10] = ["a", "b", "kind", "metadata", "apiVersion", "x-y", "é", "", "namespace", "a__b"];
const TEXTS: [&str; 12] =
    ["", "a", "abc", "10%", "2024-01-01T00:00:00Z", "1h", "1.2.3.4", "é😀\u{0}", "-1", "[", "true", "a/b"];

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(20)),
        3 => json!(i64::try_from(random.next() >> 1).unwrap().wrapping_neg()),
        4 => json!(random.next()),
        5 => json!([0.0, -0.5, 1.0, 1e300, -1e-300, 2.5][random.below(6)]),
        6 | 7 => json!(random.pick(&TEXTS)),
        8 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => Value::Object(fields(random, |random| value(random, depth - 1))),
    }
}

fn fields(random: &mut Random, mut make: impl FnMut(&mut Random) -> Value) -> Map<String, Value> {
    (0..random.below(4)).map(|_| (random.pick(&NAMES).to_owned(), make(random))).collect()
}

const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];

/// What goes with a type, mostly.
fn keywords(type_name: &str) -> &'static [&'static str] {
    match type_name {
        "object" => &[
            "properties",
            "properties",
            "additionalProperties",
            "required",
            "maxProperties",
            "minProperties",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-map-type",
        ],
        "array" => &["maxItems", "minItems", "x-kubernetes-list-type"],
        "string" => &["format", "pattern", "maxLength", "minLength"],
        "integer" | "number" => &["maximum", "minimum", "multipleOf", "exclusiveMaximum"],
        _ => &["enum"],
    }
}

const ANYWHERE: [&str; 15] = [
    "description",
    "nullable",
    "enum",
    "default",
    "x-kubernetes-validations",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "uniqueItems",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "items",
    "$ref",
    "nope",
];

fn keyword(random: &mut Random, name: &str, depth: usize) -> Value {
    // Now and then something else altogether.
    if random.below(60) == 0 {
        return value(random, 2);
    }
    let nested =
        |random: &mut Random| if depth == 0 { json!({"type": "string"}) } else { schema(random, depth - 1) };
    match name {
        "format" => json!(random.pick(&[
            "date-time",
            "int32",
            "ipv4",
            "byte",
            "uri",
            "duration",
            "nope",
            "email",
            "float"
        ])),
        "pattern" => {
            json!(random.pick(&["^a+$", "[", "(a|b)*", "a{2,3}", "\\d\\w\\b", "[[:alpha:]&&-]", "\\pL"]))
        }
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            json!(random.below(5))
        }
        "maximum" | "minimum" | "multipleOf" => json!([0.0, 1.0, 2.5, -3.0, 1e30][random.below(5)]),
        "required" | "x-kubernetes-list-map-keys" => json!([random.pick(&NAMES)]),
        "enum" => json!([value(random, 1), value(random, 1)]),
        "default" => value(random, 2),
        "not" => junctor(random),
        "additionalProperties" if random.below(3) == 0 => json!(random.below(2) == 0),
        "items" | "additionalProperties" => nested(random),
        "properties" => Value::Object(fields(random, nested)),
        "allOf" | "anyOf" | "oneOf" => (0..=random.below(2)).map(|_| junctor(random)).collect(),
        "x-kubernetes-list-type" => json!(random.pick(&["set", "map", "atomic", "nope"])),
        "x-kubernetes-map-type" => json!(random.pick(&["granular", "atomic", "nope"])),
        "x-kubernetes-validations" => {
            json!([{"rule": rule(random), "messageExpression": "'' + self"}, {"rule": rule(random)}])
        }
        "description" | "$ref" | "nope" => json!("text"),
        _ => json!(random.below(2) == 0),
    }
}

/// What may stand below `not` and its like: no types, no defaults.
fn junctor(random: &mut Random) -> Value {
    let type_name = random.pick(&["string", "integer"]);
    let name = random.pick(keywords(type_name));
    json!({name: keyword(random, name, 0)})
}

fn schema(random: &mut Random, depth: usize) -> Value {
    let type_name = random.pick(if depth == 0 { &TYPES[2..] } else { &TYPES });
    let mut out = Map::from_iter([("type".to_owned(), json!(type_name))]);
    if type_name == "array" {
        out.insert("items".to_owned(), schema(random, depth - 1));
    }
    for _ in 0..random.below(4) {
        let names = if random.below(6) == 0 { &ANYWHERE } else { keywords(type_name) };
        let name = random.pick(names);
        out.insert(name.to_owned(), keyword(random, name, depth.max(1)));
    }
    Value::Object(out)
}

const TOKENS: [&str; 60] = [
    "self",
    "oldSelf",
    ".",
    ".a",
    ".b",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'a'",
    "\"b\"",
    "1",
    "2u",
    "0x1f",
    "1.5e3",
    "-1",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    ">=",
    " in ",
    "?",
    ":",
    ",",
    ".all(x, ",
    ".exists(x, ",
    ".map(x, ",
    ".filter(x, ",
    "has(",
    "true",
    "null",
    "x",
    ".size()",
    ".matches('a+')",
    ".optMap(x, ",
    ".?a",
    "[?0]",
    "type(",
    "int(",
    "string(",
    "duration('1h')",
    ".format(['%s'])",
    "quantity('1')",
    "ip('::1')",
    ".sortBy(x, ",
    ".split('')",
    "b'\\xff'",
    "r'\\d'",
    "'''",
    "é",
];

#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Int,
    Text,
    List,
}

/// An expression that mostly makes sense.
fn expression(random: &mut Random, kind: Kind, depth: usize) -> String {
    use Kind::{Bool, Int, List, Text};
    if depth == 0 {
        let leaves: &[&str] = match kind {
            Bool => &["true", "false", "has(self.a)", "self == oldSelf"],
            Int => &["1", "-1", "0", "9223372036854775807", "size(self.a)", "int(self.b)", "dyn(self).c"],
            Text => &["'a'", "''", "'é😀'", "self.a[0]", "self.a[7]", "string(self.b)", "self.c"],
            List => &["self.a", "['a', 'b']", "[]", "oldSelf.a", "dyn(self.b)"],
        };
        return random.pick(leaves).to_owned();
    }
    let kind = if random.below(40) == 0 { [Bool, Int, Text, List][random.below(4)] } else { kind };
    let part = |random: &mut Random, kind| expression(random, kind, depth - 1);
    let any = [Bool, Int, Text, List][random.below(4)];
    let (same, other) = (part(random, any), part(random, any));
    let (bool, int, second) = (part(random, Bool), part(random, Int), part(random, Int));
    let (text, list) = (part(random, Text), part(random, List));
    match (kind, random.below(7)) {
        (Bool, 0) => format!("({bool} && {same} == {other})"),
        (Bool, 1) => format!("({bool} || {int} < {second})"),
        (Bool, 2) => format!("{list}.all(x, x != {text} || {bool})"),
        (Bool, 3) => format!("{list}.exists_one(i, x, i == {int})"),
        (Bool, 4) => format!("({text} in {list})"),
        (Bool, 5) => format!("dyn({same}) == dyn({list})"),
        (Bool, _) => format!("!{text}.matches({text})"),
        (Int, 0) => format!("({int} + {second})"),
        (Int, 1) => format!("({int} / {second})"),
        (Int, 2) => format!("(-{int} * {second} % {int})"),
        (Int, 3) => format!("size({list})"),
        (Int, 4) => format!("{text}.indexOf({text}, {int})"),
        (Int, 5) => format!("{list}.lastIndexOf({text})"),
        (Int, _) => format!("({bool} ? {int} : {second})"),
        (Text, 0) => format!("({text} + {text})"),
        (Text, 1) => format!("{list}.join({text})"),
        (Text, 2) => format!("{text}.substring({int}, {second})"),
        (Text, 3) => format!("'%s %d %.3f'.format([{same}, {int}, 1.5])"),
        (Text, 4) => format!("{list}[{int}]"),
        (Text, 5) => format!("{text}.replace({text}, {text}, {int})"),
        (Text, _) => format!("optional.of({text}).optMap(x, x + {text}).orValue({text})"),
        (List, 0) => format!("{list}.map(x, x + {text})"),
        (List, 1) => format!("{list}.filter(x, {bool})"),
        (List, 2) => format!("({list} + {list})"),
        (List, 3) => format!("{text}.split({text})"),
        (List, 4) => format!("{list}.slice({int}, {second})"),
        (List, 5) => format!("{list}.sort().distinct()"),
        (List, _) => format!("[{text}, ?{list}[?{int}]]"),
    }
}

fn rule(random: &mut Random) -> String {
    match random.below(4) {
        0 => (0..=random.below(14)).map(|_| random.pick(&TOKENS)).collect(),
        1 => expression(random, Kind::Bool, 1),
        2 => expression(random, Kind::Bool, 2),
        _ => expression(random, Kind::Bool, 3),
    }
}

#[test]
fn random_schemas_and_values_end_without_a_panic() {
    let mut random = Random(0x5eed);
    let (mut accepted, mut errors) = (0, 0);
    for _ in 0..4000 {
        let mut root = json!({"type": "object", "properties": {}});
        for name in ["spec", "a", "b"] {
            root["properties"][name] = schema(&mut random, 3);
        }
        let Ok(schema) = Schema::parse(&root) else { continue };
        accepted += 1;
        for _ in 0..4 {
            let mut object = json!({"spec": value(&mut random, 4), "a": value(&mut random, 4), "b": value(&mut random, 4)});
            let old = json!({"spec": value(&mut random, 4), "a": object["a"], "b": object["b"]});
            errors += schema.validate(&object, None).len();
            errors += schema.validate_rules(&object, Some(&old)).len();
            schema.prune(&mut object);
            schema.default(&mut object);
            let texts: Vec<_> =
                schema.validate(&object, Some(&old)).iter().map(ToString::to_string).collect();
            errors += texts.len();
        }
    }
    assert!(accepted > 100 && errors > 1000, "{accepted} accepted, {errors} errors");
}

#[test]
fn random_rules_end_without_a_panic() {
    let mut random = Random(0xce1);
    let (mut accepted, mut broken) = (0, 0);
    for _ in 0..8000 {
        let schema = json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {
                "a": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
                "b": {"x-kubernetes-int-or-string": true, "maxLength": 5},
                "c": {"type": "string", "maxLength": 5},
            },
            "x-kubernetes-validations": [{"rule": rule(&mut random)}],
        }}});
        let Ok(schema) = Schema::parse(&schema) else { continue };
        accepted += 1;
        for spec in [json!({}), json!({"a": ["a", "b"], "b": 1}), json!({"a": [], "b": "x"}), json!({"a": 1})]
        {
            broken += schema.validate_rules(&json!({"spec": spec}), Some(&json!({"spec": {}}))).len();
        }
    }
    assert!(accepted > 500 && broken > 500, "{accepted} accepted, {broken} broken");
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    let mut deep = json!(1);
    let mut schema = json!({"type": "string"});
    for _ in 0..2000 {
        deep = Value::Array(vec![deep]);
        schema = Value::Object(
            [("items".to_owned(), schema), ("type".to_owned(), json!("array"))].into_iter().collect(),
        );
    }
    let mut root = json!({"type": "object", "properties": {}});
    root["properties"]["spec"] = schema;
    let errors = Schema::parse(&root).unwrap_err();
    assert_eq!(errors.errors()[0].detail, "must not be nested deeper than 128");
    let open =
        Schema::parse(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})).unwrap();
    let mut object = json!({});
    object["spec"] = deep;
    assert_eq!(open.validate(&object, None)[0].detail, "must not be nested deeper than 128");
    assert_eq!(open.prune(&mut object), <[String; 0]>::default());
    open.default(&mut object);
}

#[test]
fn expensive_patterns_and_large_values_take_bounded_time() {
    let start = Instant::now();
    let schema = Schema::parse(&json!({"type": "object", "properties": {
        "text": {"type": "string", "pattern": "^(a+)+$"},
        "list": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
        "enum": {"type": "integer", "enum": (0..5000).collect::<Vec<_>>()},
    }}))
    .unwrap();
    let object = json!({
        "text": "a".repeat(1 << 20) + "!",
        "list": (0..200_000).collect::<Vec<_>>(),
        "enum": -1,
    });
    assert_eq!(schema.validate(&object, None).len(), 2);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
