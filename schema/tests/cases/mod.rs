//! The tables of what is compared with the real server.

use serde_json::{Value, json};

/// A schema with one field `f` in its spec.
fn field(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"f": schema}}}})
}

/// A schema whose spec has rules.
fn ruled(fields: &Value, rules: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": fields, "x-kubernetes-validations": rules,
    }}})
}

/// A schema whose spec has one rule over a few fields.
fn rule(rule: &str) -> Value {
    let fields = json!({
        "text": {"type": "string", "maxLength": 10},
        "long": {"type": "string"},
        "int": {"type": "integer"},
        "list": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}},
        "ints": {"type": "array", "maxItems": 1000, "items": {"type": "integer"}},
        "endless": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "maxProperties": 100, "additionalProperties": {"type": "string", "maxLength": 20}},
        "endlessMap": {"type": "object", "additionalProperties": {"type": "string"}},
        "objects": {"type": "array", "maxItems": 100, "items": {"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 63}, "tags": {"type": "array", "maxItems": 10, "items": {"type": "string"}},
        }}},
        "any": {"x-kubernetes-int-or-string": true},
    });
    ruled(&fields, &json!([{"rule": rule}]))
}

#[rustfmt::skip]
#[allow(clippy::too_many_lines)] // a table
pub(crate) fn schemas() -> Vec<(String, Value)> {
    let mut out = vec![
        ("plain", field(&json!({"type": "string"}))),
        ("no type at the root", json!({"properties": {}})),
        ("type of the root", json!({"type": "string"})),
        ("additional properties at the root", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ("nullable root", json!({"type": "object", "nullable": true})),
        ("no type of a field", field(&json!({"maxLength": 1}))),
        ("no items", field(&json!({"type": "array"}))),
        ("no type of items", field(&json!({"type": "array", "items": {}}))),
        ("unknown type", field(&json!({"type": "text"}))),
        ("type null", field(&json!({"type": "null"}))),
        ("bad pattern", field(&json!({"type": "string", "pattern": "[a-z"}))),
        ("unique items", field(&json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}))),
        ("metadata with labels", json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}})),
        ("metadata with a name", json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}}})),
        ("metadata of another type", json!({"type": "object", "properties": {"metadata": {"type": "string"}}})),
        ("kind of another type", json!({"type": "object", "properties": {"kind": {"type": "integer"}}})),
        ("type in a junctor", field(&json!({"type": "string", "anyOf": [{"type": "string"}]}))),
        ("description in a junctor", field(&json!({"type": "string", "not": {"description": "d", "title": "t", "nullable": true, "default": "x"}}))),
        ("field in a junctor only", field(&json!({"type": "object", "oneOf": [{"properties": {"a": {"minLength": 1}}, "required": ["a"]}]}))),
        ("items in a junctor only", field(&json!({"type": "object", "allOf": [{"items": {"minLength": 1}}]}))),
        ("extensions in a junctor", field(&json!({"type": "array", "items": {"type": "string"}, "allOf": [{"x-kubernetes-list-type": "set", "x-kubernetes-map-type": "atomic", "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true, "additionalProperties": {}}]}))),
        ("rules in a junctor", field(&json!({"type": "string", "allOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]}))),
        ("int or string", field(&json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}))),
        ("int or string below all of", field(&json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}]}))),
        ("int or string and open", field(&json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}))),
        ("preserve false", field(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}))),
        ("embedded without fields", field(&json!({"type": "object", "x-kubernetes-embedded-resource": true}))),
        ("embedded of another type", field(&json!({"type": "string", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}))),
        ("properties and additional ones", field(&json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}))),
        ("list type of an object", field(&json!({"type": "object", "x-kubernetes-list-type": "set"}))),
        ("unknown list type", field(&json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"}))),
        ("unknown map type", field(&json!({"type": "object", "x-kubernetes-map-type": "bag"}))),
        ("map type of a list", field(&json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-map-type": "atomic"}))),
        ("set of objects", field(&json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}))),
        ("set of nullables", field(&json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": true}}))),
        ("map list without keys", field(&json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}))),
        ("map list of texts", field(&json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}))),
        ("map list with other keys", field(&json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"v": {"type": "string"}}}}))),
        ("map list with an optional key", field(&json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}}))),
        ("map list with one key twice", field(&json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}}))),
        ("map list with an object as key", field(&json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "object"}}}}))),
        ("keys of no map list", field(&json!({"type": "array", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}))),
        ("default of another type", field(&json!({"type": "string", "default": 1}))),
        ("default too long", field(&json!({"type": "string", "maxLength": 1, "default": "ab"}))),
        ("default with an unknown field", field(&json!({"type": "object", "default": {"a": 1}}))),
        ("default in metadata", json!({"type": "object", "properties": {"kind": {"type": "string", "default": "K"}}})),
        ("default that breaks a rule", field(&json!({"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 1"}]}))),
        ("default of int or string", field(&json!({"x-kubernetes-int-or-string": true, "default": 1.5}))),
        ("no rule", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}]}))),
        ("blank message", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "message": " "}]}))),
        ("message of two lines", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]}))),
        ("rule of two lines", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "true &&\ntrue"}]}))),
        ("unknown reason", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "reason": "Nope"}]}))),
        ("field path to nowhere", field(&json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".b"}]}))),
        ("field path", field(&json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".a"}]}))),
        ("message expression of another type", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "messageExpression": "1"}]}))),
        ("message expression that does not compile", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "messageExpression": "nope"}]}))),
        ("old self in a set", field(&json!({"type": "array", "maxItems": 3, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}))),
        ("optional old self without it", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": true}]}))),
        ("optional old self", field(&json!({"type": "string", "x-kubernetes-validations": [{"rule": "!oldSelf.hasValue()", "optionalOldSelf": true}]}))),
        ("rule below an endless list", field(&json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self.matches('^a+$')"}]}}))),
        ("rule below an endless map", field(&json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "self == 'a'"}]}}))),
        ("rule on what cannot be seen", field(&json!({"x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": "true"}]}))),
    ].into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect::<Vec<_>>();
    out.extend(RULES.iter().map(|text| ((*text).to_owned(), rule(text))));
    out
}

/// Rules that are accepted or refused: types, names, costs.
#[rustfmt::skip]
const RULES: &[&str] = &[
    // Types and names.
    "self.int", "self.nope == 1", "nope == 1", "self.text == 1", "self.text + 1 == ''", "self.int + 1.0 > 0.0", "self.list[0] == 'a'", "self.list['a'] == 'a'",
    "self.text.size() > 'a'", "nope(self.text)", "self.text.nope()", "self.int.all(x, true)", "[1, 'a'].size() == 2", "{'a': 1, 'b': 'c'}.size() == 2", "self.list.all(x, x > 1)",
    "self.any == 1", "self.any == 'a'", "self.any.nope", "has(self.int)", "has(self.nope)", "self == oldSelf", "type(self.int) == int", "type(self.any) == string", "self.text.text",
    "self.map.a == 'x'", "self.map['a'] == 'x'", "self.map[1] == 'x'", "dyn(self.int) == 'a'", "self.int == null", "self.text ? true : false", "true ? 1 : 'a'", "self.list + self.ints == []",
    "self.objects.exists(o, o.nope == 1)", "Nope{}", "self.metadata.name == 'x'", "self.text in self.list", "self.int in self.list", "'a' in self.map", "1 in self.map",
    "!self.text", "-self.text == ''", "self.text && true", "true || self.int", "size(self) > 0", "duration('1h') > duration('nope')", "timestamp('nope') == timestamp('2024-01-01T00:00:00Z')",
    "self.text.matches('[')", "self.text.matches(self.text)", "self.?text.orValue('') == ''", "self.?nope.hasValue()", "self.list[?0].hasValue()",
    "optional.of(1).value() == 'a'", "url(self.text).getHost() == 1", "quantity(self.text).isGreaterThan(quantity('1'))", "quantity(self.text) == 1", "ip(self.text).family() == 4",
    "cidr('10.0.0.0/8').containsIP(self.text)", "format.dns1123Label().validate(self.text).hasValue()", "format.nope()", "semver(self.text).major() > 0", "isSemver(self.text, true)",
    "self.ints.sum() > 0", "self.list.sum() == ''", "self.ints.isSorted()", "self.list.map(x, x + 'a').size() > 0", "self.list.filter(x, x).size() > 0", "self.list.all(self.text, true)",
    "self.list.all(i, x, i >= 0)", "self.map.all(k, v, k == v)", "self.map.transformMap(k, v, v + 'x').size() > 0", "self.map.transformMapEntry(k, v, {v: k}).size() > 0", "self.list.transformList(i, x, i).size() > 0",
    "self.ints.sort() == self.ints", "self.objects.sortBy(o, o.name).size() > 0", "self.ints.distinct().size() > 0", "self.list.first().hasValue()", "self.ints.slice(2, 1) == []", "self.ints.slice(1, 2) == []", "lists.range(3) == [0, 1, 2]", "[[1], [2]].flatten() == [1, 2]",
    "sets.contains(self.ints, [1])", "'%s'.format([self.text]) == 'a'", "strings.quote(self.text) == 'a'", "self.text.reverse() == 'a'", "base64.encode(b'a') == ''", "math.greatest(1, 2) == 2", "cel.bind(x, 1, x == 1)",
    "google.protobuf.Duration == type(duration('1h'))", "int(self.text) == 1", "string(self.ints) == ''", "double(self.int) == 1", "uint(1) == 1u", "1u == 1", "1 < 2.0", "bytes(self.text) == b'a'",
    "'%d'.format(['a']) == ''", "'%s %s'.format(['a']) == ''", "'%s'.format([1, 2]) == ''", "'%z'.format([1]) == ''", "'%.2f'.format([1]) == ''", "'%s'.format([[1], [2]]) == ''", "uint(-1) == 0u", "int('x') == 0", "double('x') == 1.0", "int(9223372036854775807.0) > 0", "bool('x')", "self.text.find('[') == ''", "string(b'\\xff') == ''", "int('1') == 1",
    // Costs.
    "self.long == 'a'", "self.long.contains(self.long)", "self.long.matches('a+')", "self.endless.all(x, x == 'a')", "self.endless.all(x, self.endless.all(y, x == y))", "self.endless.exists_one(x, x.startsWith('a'))",
    "self.endlessMap.all(k, self.endlessMap[k] == 'a')", "self.objects.all(x, self.objects.exists_one(y, x.name == y.name))", "self.objects.all(o, o.tags.all(t, t != ''))", "self.objects.all(o, o.tags.all(t, t.matches('a{1,3}')))",
    "self.endless.map(x, x + x).size() > 0", "self.endless.filter(x, x.size() > 1).size() > 0", "self.endless.map(x, x.replace('a', 'bb')).all(x, x.contains('b'))", "self.long.split(',').all(x, x != '')", "self.endless.join(',').contains('a')",
    "self.ints.all(x, self.ints.all(y, self.ints.all(z, x + y + z > 0)))", "self.ints.sort().size() > 0", "self.endless.sort().size() > 0", "self.endless.distinct().size() > 0", "sets.equivalent(self.endless, self.endless)",
    "self.long.lowerAscii().upperAscii().trim().contains('a')", "self.long.find('a+') == ''", "self.long.findAll('a+').size() > 0", "self.endless.all(x, isIP(x))", "self.endless.all(x, url(x).getHost() != '')", "self.endless.all(x, isQuantity(x))",
    "self.endless.all(x, format.dns1123Label().validate(x).hasValue())", "self.endless.all(x, cidr('10.0.0.0/8').containsIP(x))", "self.endless.exists(x, x in self.endless)", "self.long.replace('', 'x').size() > 0", "self.long.indexOf('x') > 0",
    "self.endless.isSorted()", "self.endless.max() == ''", "self.endless.indexOf('a') > 0", "(self.long + self.long).contains('a')", "[self.long, self.text].all(x, x.contains('a'))", "self.endless[0].contains('a')", "self.endlessMap['a'].contains('a')",
    "self.?long.optMap(x, x.contains('a')).orValue(true)", "self.?endless.orValue([]).all(x, x.contains('a'))", "(self.int > 1 ? self.long : self.text).contains('a')", "self.endless.map(x, x).map(x, x).map(x, x).all(x, x == 'a')", "self.endless.transformList(i, x, x + x).all(x, x != '')",
    "self.map.transformMap(k, v, v + v).all(k, k != '')", "self.endless.slice(0, 5).all(x, x != '')", "lists.range(100000000).size() > 0", "self.endless.reverse().all(x, x != '')", "self.objects.sortBy(o, o.name)[0].name.contains('a')", "string(self.int).contains('1')", "string(bytes(self.long)) == 'a'",
    "'%s %s'.format([self.long, self.text]).contains('a')", "self == self", "self.any.contains('a')", "dyn(self.long).contains('a')",
];

#[rustfmt::skip]
pub(crate) fn object_schema() -> Value {
    json!({"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "code": {"type": "string", "enum": ["a", "b"]},
        "codes": {"type": "integer", "enum": [1, 2]},
        "int": {"type": "integer", "minimum": 5, "maximum": 50, "multipleOf": 5},
        "int32": {"type": "integer", "format": "int32"},
        "num": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 1.5, "multipleOf": 0.5},
        "big": {"type": "number", "maximum": 1_000_000},
        "flag": {"type": "boolean"},
        "moment": {"type": "string", "format": "date-time"},
        "span": {"type": "string", "format": "duration"},
        "ip": {"type": "string", "format": "ipv4"},
        "bytes": {"type": "string", "format": "byte"},
        "uri": {"type": "string", "format": "uri"},
        "name": {"type": "string", "format": "k8s-short-name"},
        "ios": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%$", "maximum": 10},
        "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "maxLength": 1}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"], "items": {
            "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "l": {"type": "integer", "default": 1}, "v": {"type": "string"}}}},
        "labels": {"type": "object", "maxProperties": 2, "minProperties": 1, "additionalProperties": {"type": "string", "maxLength": 3}},
        "any": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"minLength": 2}}}]},
        "one": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "all": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "allOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "not": {"type": "string", "not": {"enum": ["no"]}},
        "null": {"type": "string", "nullable": true},
        "nullEnum": {"type": "string", "nullable": true, "enum": ["a", null]},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"closed": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "free": {"x-kubernetes-preserve-unknown-fields": true},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "defaulted": {"type": "object", "default": {}, "properties": {"a": {"type": "string", "default": "A"}, "n": {"type": "integer", "nullable": true, "default": 1}}},
        "deep": {"type": "array", "items": {"type": "array", "items": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}}},
        "ruled": {"type": "object", "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}, "a-b": {"type": "string", "maxLength": 10}, "namespace": {"type": "string", "maxLength": 10}}, "x-kubernetes-validations": [
            {"rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min must not be above max"},
            {"rule": "!has(self.a__dash__b) || self.a__dash__b != 'x'"},
            {"rule": "!has(self.__namespace__) || self.__namespace__ != 'x'", "messageExpression": "'not ' + self.__namespace__", "fieldPath": ".namespace", "reason": "FieldValueForbidden"},
            {"rule": "!has(self.min) || self.min != 3", "reason": "FieldValueDuplicate", "fieldPath": ".min"},
            {"rule": "!has(self.min) || self.min != 4", "reason": "FieldValueRequired", "message": "four"},
            {"rule": "!has(self.min) || 10 / self.min > 1", "message": "division"},
            {"rule": "!has(self.max) || self.max != 7", "messageExpression": "'a' + self.a__dash__b", "message": "fallback"},
            {"rule": "!has(self.max) || self.max != 8", "messageExpression": "' '"},
        ]},
        "scalar": {"type": "integer", "x-kubernetes-validations": [{"rule": "self != 13", "message": "unlucky"}]},
        "ruledList": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self.startsWith('a')"}]}},
        "ruledMap": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self.startsWith('a')"}]}},
        "heavy": {"type": "array", "maxItems": 1000, "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x >= 0 || y >= 0))", "message": "heavy"}]},
    }}}})
}

#[rustfmt::skip]
pub(crate) fn objects() -> Vec<Value> {
    let zeros = vec![0; 900];
    vec![
        json!({}), json!(null), json!("x"), json!([]), json!({"unknown": 1}),
        json!({"text": "abc"}), json!({"text": "a"}), json!({"text": "abcdef"}), json!({"text": "AB"}), json!({"text": 1}), json!({"text": null}), json!({"text": ["a"]}), json!({"text": {}}),
        json!({"code": "c"}), json!({"code": 97}), json!({"codes": 3}), json!({"codes": 1.0}), json!({"codes": "1"}),
        json!({"int": 1}), json!({"int": 55}), json!({"int": 12}), json!({"int": 10.0}), json!({"int": 10.5}), json!({"int": "10"}), json!({"int": true}), json!({"int": 1e30}),
        json!({"int32": 2_147_483_648_i64}), json!({"int32": -2_147_483_648_i64}), json!({"int32": 1.5}),
        json!({"num": 0}), json!({"num": 0.7}), json!({"num": 1.5}), json!({"num": 2}), json!({"num": "1"}), json!({"big": 1_000_001}), json!({"big": 1_000_000.5}), json!({"big": 12_345_678.9}),
        json!({"flag": "true"}), json!({"flag": false}),
        json!({"moment": "2024-01-01T00:00:00Z"}), json!({"moment": "nope"}), json!({"moment": 1}), json!({"moment": []}), json!({"span": "1h"}), json!({"span": "3 days"}), json!({"span": "nope"}), json!({"ip": "1.2.3.4"}), json!({"ip": "1.2.3"}),
        json!({"bytes": "YQ=="}), json!({"bytes": "Y"}), json!({"uri": "https://a/b"}), json!({"uri": "nope"}), json!({"name": "a-b"}), json!({"name": "A"}),
        json!({"ios": 5}), json!({"ios": 11}), json!({"ios": "5%"}), json!({"ios": "5"}), json!({"ios": 1.5}), json!({"ios": true}), json!({"ios": null}),
        json!({"list": []}), json!({"list": ["a", "b", "c"]}), json!({"list": ["aa", 1]}), json!({"list": [null]}), json!({"list": "a"}),
        json!({"set": ["a", "b"]}), json!({"set": ["a", "b", "a", "a", "b"]}),
        json!({"map": [{"k": "a"}, {"k": "a", "l": 2}]}), json!({"map": [{"k": "a"}, {"k": "a", "l": 1}]}), json!({"map": [{}]}), json!({"map": [{"k": "a"}, {"k": "b"}, {"k": "a"}, {"k": "b"}]}),
        json!({"labels": {"a": "b"}}), json!({"labels": {}}), json!({"labels": {"a": "b", "c": "d", "e": "f"}}), json!({"labels": {"a/b": "long", "c": 1}}), json!({"labels": {"a": null}}),
        json!({"any": {}}), json!({"any": {"a": 1}}), json!({"any": {"b": "x"}}), json!({"any": {"b": "xx"}}), json!({"any": {"a": "x"}}),
        json!({"one": {}}), json!({"one": {"a": 1}}), json!({"one": {"a": 1, "b": "x"}}), json!({"all": {}}), json!({"all": {"a": 1}}), json!({"all": {"a": 1, "b": "x"}}), json!({"not": "no"}), json!({"not": "yes"}),
        json!({"null": null}), json!({"nullEnum": null}), json!({"nullEnum": "b"}),
        json!({"open": {"a": 1, "closed": {"a": "x", "b": 1}}}), json!({"free": [1, {"a": null}]}),
        json!({"template": {}}), json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "nope": 1}, "spec": {"a": 1}}}), json!({"template": {"apiVersion": "", "kind": "a b"}}), json!({"template": {"apiVersion": "a/b/c", "kind": "Pod"}}),
        json!({"defaulted": {"a": null, "n": null}}), json!({"defaulted": {"a": "x"}}), json!({"defaulted": null}),
        json!({"deep": [[{"x": 1}, {}], [{"x": "y"}], 1]}),
        json!({"ruled": {"min": 2, "max": 1}}), json!({"ruled": {"a-b": "x"}}), json!({"ruled": {"namespace": "x"}}), json!({"ruled": {"min": 3}}), json!({"ruled": {"min": 4}}), json!({"ruled": {"min": 0}}), json!({"ruled": {"min": 20, "max": 30}}), json!({"ruled": {"max": 7}}), json!({"ruled": {"max": 8}}),
        json!({"scalar": 13}), json!({"scalar": 13, "text": "A"}), json!({"scalar": 13, "code": "c"}), json!({"ruledList": ["a", "b", "c"]}), json!({"ruledMap": {"x": "a", "y": "b", "z/z": "c"}}),
        json!({"heavy": [1, 2, 3]}), json!({"heavy": [-1, -2]}), json!({"heavy": zeros}),
    ]
}

/// A lax schema, a strict one, an object stored under the first, and what it becomes under the second.
#[rustfmt::skip]
pub(crate) fn updates() -> Vec<(Value, Value, Value, Vec<Value>)> {
    let items = |rules: Value| json!({"type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
        "type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 10}, "v": {"type": "integer"}}, "x-kubernetes-validations": rules}});
    let lax = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "probe": {"type": "string"}, "text": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}, "items": items(json!([])),
        "set": {"type": "array", "items": {"type": "string"}}, "scalar": {"type": "integer"}, "pair": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "frozen": {"type": "string"}, "same": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}}, "optional": {"type": "string"},
    }}}});
    let strict = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "probe": {"type": "string", "maxLength": 1}, "text": {"type": "string", "maxLength": 2}, "list": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 1}},
        "items": items(json!([{"rule": "self.v < 5", "message": "too much"}, {"rule": "self.v >= oldSelf.v", "message": "must grow"}])),
        "set": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 10}},
        "scalar": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5"}, {"rule": "self >= oldSelf", "message": "must grow"}]},
        "pair": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.a < self.b"}, {"rule": "self == oldSelf", "message": "must not change"}]},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "required": ["z"]},
        "same": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 5}, "v": {"type": "integer"}}}, "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "same"}, {"rule": "self + oldSelf == oldSelf", "message": "merged"}, {"rule": "(oldSelf + self).size() == 2", "message": "two"}]},
        "frozen": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "frozen"}]},
        "optional": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "oldSelf.hasValue() ? oldSelf.value() == self : self == 'new'", "optionalOldSelf": true}]},
    }, "x-kubernetes-validations": [{"rule": "!has(oldSelf.text) || has(self.text)", "message": "text must stay"}]}}});
    let old = json!({"text": "long", "list": ["aa", "b"], "items": [{"k": "a", "v": 7}, {"k": "b", "v": 1}], "set": ["x", "x"], "scalar": 7, "pair": {"a": 2, "b": 1}, "open": {"y": 1}, "frozen": "ice", "same": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]});
    let with = |name: &str, value: Value| {
        let mut new = old.clone();
        new[name] = value;
        new
    };
    let without = |name: &str| {
        let mut new = old.clone();
        new.as_object_mut().unwrap().remove(name);
        new
    };
    let changes = vec![
        old.clone(), with("text", json!("longer")), with("text", json!("ok")), without("text"), with("list", json!(["b", "aa"])), with("list", json!(["aa", "b", "c"])),
        with("items", json!([{"k": "b", "v": 1}, {"k": "a", "v": 7}])), with("items", json!([{"k": "a", "v": 8}, {"k": "b", "v": 0}])), with("items", json!([{"k": "a", "v": 6}, {"k": "c", "v": 9}])),
        with("set", json!(["y", "y"])), with("scalar", json!(6)), with("scalar", json!(8)), with("scalar", json!(4)), with("pair", json!({"a": 3, "b": 1})), with("pair", json!({"a": 2, "b": 1})),
        with("same", json!([{"k": "b", "v": 2}, {"k": "a", "v": 1}])), with("same", json!([{"k": "a", "v": 1}, {"k": "b", "v": 3}])), with("same", json!([{"k": "a", "v": 1}, {"k": "c", "v": 3}])),
        with("open", json!({"y": 2})), with("frozen", json!("water")), without("frozen"), with("optional", json!("new")), with("optional", json!("old")), with("code", json!(1)),
    ];
    vec![(lax, strict, old, changes)]
}

#[rustfmt::skip]
pub(crate) fn expression_schema() -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "s": {"type": "string", "maxLength": 50}, "e": {"type": "string", "maxLength": 50}, "n": {"type": "integer"}, "z": {"type": "integer"}, "d": {"type": "number"}, "b": {"type": "boolean"},
        "l": {"type": "array", "maxItems": 10, "items": {"type": "integer"}}, "w": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 20}}, "none": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "m": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "integer"}}, "o": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string", "maxLength": 10}, "null": {"type": "string", "nullable": true, "maxLength": 10}}},
        "set": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 10}}, "set2": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 10}},
        "ml": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 5}, "v": {"type": "integer"}}}},
        "ml2": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 5}, "v": {"type": "integer"}}}},
        "ios": {"x-kubernetes-int-or-string": true, "maxLength": 20}, "ios2": {"x-kubernetes-int-or-string": true, "maxLength": 20}, "t": {"type": "string", "format": "date-time"}, "day": {"type": "string", "format": "date"}, "span": {"type": "string", "format": "duration"}, "bytes": {"type": "string", "format": "byte", "maxLength": 20},
        "missing": {"type": "string", "maxLength": 10}, "a-b": {"type": "integer"}, "namespace": {"type": "string", "maxLength": 10}, "x__y": {"type": "integer"}, "c.d/e": {"type": "integer"},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "open2": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}}})
}

#[rustfmt::skip]
pub(crate) fn expression_value() -> Value {
    json!({
        "s": "héllo world", "e": "", "n": 42, "z": 0, "d": 1.5, "b": true, "l": [3, 1, 2], "w": ["b", "a", "c"], "none": [], "m": {"a": 1, "b": 2}, "o": {"x": 1, "null": null},
        "set": ["a", "b"], "set2": ["b", "a"], "ml": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "ml2": [{"k": "b", "v": 2}, {"k": "a", "v": 1}], "ios": 5, "ios2": "50%",
        "t": "2024-02-29T12:30:15.5Z", "day": "2024-02-29", "span": "1h30m", "bytes": "aGk=", "a-b": 1, "namespace": "ns", "x__y": 2, "c.d/e": 3, "open": {"a": 1}, "open2": {"a": 2},
    })
}

/// Some are true, some are false, some cannot be evaluated.
#[rustfmt::skip]
pub(crate) fn expressions() -> Vec<&'static str> {
    vec![
        // Numbers.
        "self.n == 42", "self.n + 1 == 43", "self.n / 0 == 1", "self.n % 0 == 1", "self.n / self.z > 0", "-self.n == -42", "9223372036854775807 + self.n > 0", "-9223372036854775808 - self.n < 0", "self.n * 9223372036854775807 > 0", "self.d == 1.5", "self.d / 0.0 > 1.0", "self.d * 2.0 == 3.0",
        "1u - 2u == 0u", "uint(self.n) == 42u", "int(self.d) == 1", "int('12') == 12", "double(self.n) == 42.0", "double('1.5') == self.d", "string(self.d) == '1.5'", "string(1000000.0) == '1e+06'", "string(self.n) == '42'", "1 == 1", "1 < 1.5", "2.0 > 1u", "1u < 2",
        "7 / 2 == 3", "-7 / 2 == -3", "-7 % 2 == -1", "1.0 / 3.0 > 0.3", "dyn(1) == dyn(1.0)", "dyn(1) == dyn('1')", "dyn(1u) == dyn(1)",
        // Text.
        "self.s.size() == 11", "size(self.e) == 0", "self.s.startsWith('hé')", "self.s.endsWith('world')", "self.s.contains('lo w')", "self.s.matches('^h.llo')", "self.s.matches('^\\\\w+$')", "self.s.charAt(1) == 'é'", "self.s.charAt(99) == ''", "self.s.indexOf('o') == 4", "self.s.indexOf('o', 5) == 7", "self.s.lastIndexOf('o') == 7", "self.s.lastIndexOf('o', 6) == 4", "self.s.indexOf('') == 0", "self.s.indexOf('x', -1) == 0",
        "self.s.lowerAscii() == self.s", "self.s.upperAscii() == 'HéLLO WORLD'", "self.s.replace('l', 'L') == 'héLLo worLd'", "self.s.replace('l', 'L', 1) == 'héLlo world'", "self.s.split(' ') == ['héllo', 'world']", "self.s.split('', 3).size() == 3", "self.s.substring(6) == 'world'", "self.s.substring(0, 5) == 'héllo'", "self.s.substring(5, 1) == ''", "self.s.substring(99) == ''", "' a '.trim() == 'a'",
        "self.w.join('-') == 'b-a-c'", "self.w.join() == 'bac'", "'%s %d %.2f %x %b %o'.format([dyn('a'), dyn(1), dyn(1234.5), dyn(255), dyn(5), dyn(8)]) == 'a 1 1,234.50 ff 101 10'", "'%s'.format([self.w]) == '[\"b\", \"a\", \"c\"]'", "'%d'.format([dyn('a')]) == ''", "'%s %s'.format(self.w) == 'b a'", "'%s %s %s %s'.format(self.w) == 'b a'", "'%e'.format([1234.5]) == 'x'", "strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'", "'a' < 'b'", "'a' + 'b' == 'ab'", "b'a' + b'b' == b'ab'", "self.s.find('l+') == 'll'", "self.s.findAll('o') == ['o', 'o']", "self.s.findAll('o', 1) == ['o']", "self.s.findAll('o', 0) == []",
        "bool('true')", "bytes('hi') == self.bytes", "string(self.bytes) == 'hi'", "'\\u00e9' == 'é'", "r'\\d' == '\\\\d'",
        // Lists and maps.
        "self.l.size() == 3", "self.l[0] == 3", "self.l[9] == 0", "self.l[-1] == 0", "3 in self.l", "9 in self.l", "self.l + [4] == [3, 1, 2, 4]", "self.l == [3, 1, 2]", "self.l == [1, 2, 3]", "self.l.all(x, x > 0)", "self.l.exists(x, x > 2)", "self.l.exists_one(x, x > 1)", "self.l.map(x, x * 2) == [6, 2, 4]", "self.l.map(x, x > 1, x * 2) == [6, 4]", "self.l.filter(x, x > 1) == [3, 2]", "self.l.all(x, 1 / (x - 1) > 0)", "self.l.exists(x, 1 / (x - 1) > 0)", "self.l.exists_one(x, 1 / (x - 1) > 0)",
        "self.l.sum() == 6", "self.none.sum() == 0", "self.l.max() == 3", "self.l.min() == 1", "self.none.max() == 0", "self.l.isSorted()", "self.l.indexOf(2) == 2", "self.l.lastIndexOf(9) == -1", "self.l.sort() == [1, 2, 3]", "self.w.sort() == ['a', 'b', 'c']", "self.l.reverse() == [2, 1, 3]", "[1, 1, 2].distinct() == [1, 2]", "self.l.slice(1, 2) == [1]", "self.l.slice(2, 9) == []", "[[1], [2, 3]].flatten() == [1, 2, 3]", "[[[1]]].flatten(2) == [1]", "lists.range(3) == [0, 1, 2]", "self.l.first().value() == 3", "self.none.last().hasValue()", "self.ml.sortBy(x, -x.v)[0].k == 'b'", "self.none.first().value() == 1",
        "self.m.a == 1", "self.m['b'] == 2", "self.m.c == 1", "self.m['c'] == 1", "'a' in self.m", "has(self.m.a)", "has(self.m.c)", "self.m.size() == 2", "self.m == {'a': 1, 'b': 2}", "self.m.all(k, k != '')", "self.m.exists(k, self.m[k] == 2)", "{'a': 1}.a == 1", "{1: 'a', 2: 'b'}[1] == 'a'", "{'a': 1, 'a': 2}.size() == 1", "self.m.map(k, k).size() == 2", "self.m.all(k, v, v > 0)", "self.l.all(i, x, i < x)", "self.l.transformList(i, x, i + x) == [3, 2, 4]", "self.m.transformMap(k, v, v * 2) == {'a': 2, 'b': 4}", "self.m.transformMapEntry(k, v, {string(v): k}) == {'1': 'a', '2': 'b'}", "self.l.transformMapEntry(i, x, {'k': x}).size() == 1", "self.l.existsOne(i, x, i == x)",
        "sets.contains(self.l, [1])", "sets.contains([1], self.l)", "sets.equivalent(self.l, [1, 2, 3])", "sets.intersects(self.l, [9])", "self.set == self.set2", "self.set + self.set2 == self.set", "self.set + ['c'] == ['a', 'b', 'c']", "self.l == self.none",
        // Objects, absence, names.
        "has(self.o.x)", "has(self.o.y)", "has(self.o.__null__)", "self.o.y == 'a'", "self.missing == ''", "has(self.missing)", "self.o == self.o", "self.a__dash__b == 1", "self.__namespace__ == 'ns'", "self.x__underscores__y == 2", "self.c__dot__d__slash__e == 3", "self.open == self.open", "self.?missing.hasValue()", "self.?missing.orValue('x') == 'x'", "self.?s.value() == self.s", "self.?missing.value() == ''", "self.o.?y.orValue('d') == 'd'", "self.?o.?x.orValue(0) == 1", "self.l[?9].orValue(7) == 7", "self.m[?'a'].orValue(0) == 1", "self.?missing.optMap(x, x + '!').orValue('none') == 'none'", "self.?s.optMap(x, x.size()).orValue(0) == 11", "self.?s.optFlatMap(x, optional.none()).hasValue()", "optional.ofNonZeroValue('').hasValue()", "optional.of(1) == optional.of(1)", "optional.none().or(optional.of(1)).value() == 1", "[?self.?missing, 'a'] == ['a']", "{?'k': self.?missing} == {}", "optional.unwrap([optional.of(1), optional.none()]) == [1]", "[optional.of(1)].unwrapOpt() == [1]",
        // Logic.
        "true || 1 / 0 == 0", "1 / 0 == 0 || true", "false && 1 / 0 == 0", "1 / 0 == 0 && false", "1 / 0 == 0 && true", "self.b ? true : 1 / 0 == 0", "!self.b", "self.b && self.n > 1 && self.z == 0 && self.d > 1.0", "self.missing == 'a' || self.b",
        // Int or string.
        "self.ios == 5", "self.ios < 10", "self.ios2 == '50%'", "self.ios2 < 10", "type(self.ios) == int", "type(self.ios2) == string", "type(self.ios2) == string && self.ios2.endsWith('%')", "self.ios.endsWith('%')", "int(self.ios) == 5", "self.ios2 + 1 == 51",
        // Types.
        "type(self.n) == int", "type(self.s) == string", "type(self.l) == list", "type(self.m) == map", "type(self.d) == double", "type(self.b) == bool", "type(self.t) == google.protobuf.Timestamp", "type(self.span) == google.protobuf.Duration", "type(null) == null_type", "type(type(1)) == type", "type(self.bytes) == bytes",
        // Time.
        "self.t > timestamp('2024-01-01T00:00:00Z')", "self.t.getFullYear() == 2024", "self.t.getMonth() == 1", "self.t.getDate() == 29", "self.t.getDayOfMonth() == 28", "self.t.getDayOfYear() == 59", "self.t.getDayOfWeek() == 4", "self.t.getHours() == 12", "self.t.getMinutes() == 30", "self.t.getSeconds() == 15", "self.t.getMilliseconds() == 500", "self.t.getHours('+02:00') == 14", "self.t.getHours('UTC') == 12", "self.day == timestamp('2024-02-29T00:00:00Z')", "self.span == duration('90m')", "self.span.getMinutes() == 90", "self.span.getHours() == 1", "self.t + self.span > self.t", "self.t - timestamp('2024-02-29T12:30:15Z') == duration('500ms')", "string(self.span) == '5400s'", "string(self.t) == '2024-02-29T12:30:15.5Z'", "int(self.t) == 1709209815", "timestamp(0) == timestamp('1970-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59Z') + duration('1h') > self.t", "duration(self.s) == self.span", "timestamp(self.s) == self.t",
        // Kubernetes.
        "url('https://u:p@a.b:80/c?d=e&d=f').getHost() == 'a.b:80'", "url('https://a.b:80/c').getHostname() == 'a.b'", "url('https://a.b:80/c').getPort() == '80'", "url('https://a.b/c d').getEscapedPath() == '/c%20d'", "url('https://a/?d=e&d=f').getQuery() == {'d': ['e', 'f']}", "url('https://a').getScheme() == 'https'", "url(self.s).getHost() == ''", "isURL(self.s)", "isURL('/a')",
        "quantity('1.5Gi').isGreaterThan(quantity('1G'))", "quantity('50k').asInteger() == 50000", "quantity('50.5').isInteger()", "quantity('1000m').isInteger()", "quantity('2.0').isInteger()", "quantity('1Ki') == quantity('1024')", "quantity('50k').add(20).asInteger() == 50020", "quantity('50k').sub(quantity('20k')).compareTo(quantity('30k')) == 0", "quantity('-1').isLessThan(quantity('0'))", "sign(quantity('-3')) == -1", "isQuantity('20')", "isQuantity('x')", "quantity('x').isInteger()", "quantity('1.5').asApproximateFloat() == 1.5", "quantity('9999999999999999999999').asInteger() > 0", "quantity('0.1Ki').isInteger()", "quantity('1e3') == quantity('1k')",
        "ip('1.2.3.4').family() == 4", "ip('::1').isLoopback()", "ip('127.0.0.1').isLoopback()", "isIP('1.2.3.4')", "isIP('1.2.3')", "isIP('::ffff:1.2.3.4')", "ip.isCanonical('2001:DB8::1')", "ip.isCanonical('2001:db8::1')", "ip('0.0.0.0').isUnspecified()", "ip('224.0.0.1').isLinkLocalMulticast()", "ip('169.254.1.1').isLinkLocalUnicast()", "ip('10.0.0.1').isGlobalUnicast()", "ip('255.255.255.255').isGlobalUnicast()", "string(ip('::1')) == '::1'", "ip(self.s).family() == 4", "cidr('10.0.0.0/8').containsIP('10.1.1.1')", "cidr('10.0.0.0/8').containsIP(ip('11.1.1.1'))", "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", "cidr('10.0.0.0/8').prefixLength() == 8", "string(cidr('10.0.0.0/8')) == '10.0.0.0/8'", "isCIDR('10.0.0.0/33')", "isCIDR('::/0')",
        "format.dns1123Label().validate('a.b').hasValue()", "format.dns1123Label().validate('a-b').hasValue()", "format.dns1123Subdomain().validate('A').value() == ['x']", "format.named('dns1123Label').hasValue()", "format.named('nope').hasValue()", "format.qualifiedName().validate('a/b/c').value()[0] == ''", "format.labelValue().validate('-').hasValue()", "format.uri().validate('x').value() == []", "format.date().validate('2024-13-01').value() == ['invalid date']", "format.dns1035LabelPrefix().validate('a-').hasValue()",
        "semver('1.2.3').major() == 1", "semver('1.2.3-alpha.1').isLessThan(semver('1.2.3'))", "semver('1.2.3+a') == semver('1.2.3+b')", "semver('v1.2', true).minor() == 2", "semver('01.2.3').major() == 1", "isSemver('1.2')", "isSemver('v1', true)", "semver('1.10.0').compareTo(semver('1.9.0')) == 1", "semver('1.2.3').isGreaterThan(semver('1.2.3'))", "semver('1.2.3').patch() == 3",
    ]
}
