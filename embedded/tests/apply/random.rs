//! Scenarios and values made from a seed.

use serde_json::{Map, Value, json};

use crate::scenario::{
    GADGET, SERVICE_ACCOUNT, Scenario, Step, Verb, WIDGET, apply, create, merge, put, scenario, strategic,
};

/// `SplitMix64`: the same numbers for the same seed, everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below another one.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).expect("a small number"))
            .expect("a small number")
    }

    pub(crate) fn one_in(&mut self, end: usize) -> bool {
        self.below(end) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn text(&mut self) -> Value {
        json!(*self.pick(&["1", "2", "3"]))
    }

    fn some<T: Clone>(&mut self, from: &[T]) -> Vec<T> {
        let mut left = from.to_vec();
        let mut some = Vec::new();
        while !left.is_empty() && !self.one_in(3) {
            let i = self.below(left.len());
            some.push(left.remove(i));
        }
        some
    }

    fn fields(&mut self, names: &[&str], make: fn(&mut Self) -> Value) -> Value {
        let fields: Map<_, _> =
            self.some(names).into_iter().map(|name| (name.to_owned(), make(self))).collect();
        Value::Object(fields)
    }

    fn item(&mut self, name: &str, port: u32) -> Value {
        let mut item = json!({ "name": name });
        if port != 80 || self.one_in(2) {
            item["port"] = json!(port);
        }
        if self.one_in(2) {
            item["value"] = self.text();
        }
        if self.one_in(3) {
            item["tags"] = json!(self.some(&["t", "u", "v"]));
        }
        if self.one_in(3) {
            let ids = self.some(&[1, 2, 3]);
            item["inner"] = ids
                .into_iter()
                .map(
                    |id| if self.one_in(2) { json!({"id": id}) } else { json!({"id": id, "v": self.text()}) },
                )
                .collect();
        }
        item
    }

    /// The spec of a resource of the scenarios.
    pub(crate) fn spec(&mut self) -> Value {
        const FIELDS: [&str; 14] = [
            "text",
            "number",
            "flag",
            "struct",
            "atomicStruct",
            "map",
            "deepMap",
            "atomicMap",
            "set",
            "numbers",
            "keyed",
            "atomicList",
            "free",
            "either",
        ];
        let mut spec = Map::new();
        for name in self.some(&FIELDS) {
            let field = self.field(name);
            spec.insert(name.to_owned(), field);
        }
        Value::Object(spec)
    }

    fn field(&mut self, name: &str) -> Value {
        match name {
            "number" => json!(self.below(3)),
            "flag" => json!(self.one_in(2)),
            "struct" | "atomicStruct" => self.fields(&["a", "b"], Self::text),
            "map" | "atomicMap" => self.fields(&["x", "y", "z"], Self::text),
            "deepMap" => self.fields(&["k", "l"], |random| random.fields(&["a", "b"], Self::text)),
            "set" => json!(self.some(&["a", "b", "c", "d", "e"])),
            "numbers" => json!(self.some(&[1, 2, 9, 10, 11])),
            "atomicList" => json!(self.some(&["a", "b"])),
            "keyed" => {
                let keys = self.some(&[("a", 80), ("a", 1), ("b", 80), ("c", 80), ("d", 2)]);
                keys.into_iter().map(|(name, port)| self.item(name, port)).collect()
            }
            "free" => self.fields(&["x", "y"], |random| match random.below(3) {
                0 => random.text(),
                1 => json!([random.text()]),
                _ => random.fields(&["v", "w"], Self::text),
            }),
            "either" => {
                if self.one_in(2) {
                    json!(1)
                } else {
                    json!("one")
                }
            }
            _ => self.text(),
        }
    }

    fn step(&mut self) -> Step {
        let manager = *self.pick(&["a", "b", "c"]);
        let mut body = json!({ "spec": self.spec() });
        if self.one_in(4) {
            // Never none: the real server stores an empty map that it does not show.
            body["metadata"]["labels"] = self.fields(&["l", "m"], Self::text);
            body["metadata"]["labels"]["k"] = self.text();
        }
        if self.one_in(4) {
            body["status"] = json!({"phase": self.text()});
        }
        let step = match self.below(6) {
            0 => put(manager, body),
            1 => merge(manager, body),
            _ => apply(manager, body),
        };
        let step = if step.verb == Verb::Apply && self.one_in(2) { step.force() } else { step };
        if self.one_in(6) { step.status() } else { step }
    }

    pub(crate) fn scenario(seed: u64, steps: usize) -> Scenario {
        let mut random = Self::new(seed);
        let kind = if random.one_in(4) { GADGET } else { WIDGET };
        let steps: Vec<_> = (0..steps)
            .map(|i| {
                let mut step = random.step();
                if i == 0 {
                    step = apply("a", step.body);
                }
                if kind == GADGET {
                    step.subresource = "";
                }
                step
            })
            .collect();
        scenario(&format!("seed {seed}"), kind, steps)
    }

    /// The items of a list of a patch, and maybe an order that they are in.
    fn list(&mut self, name: &str, make: fn(&mut Self, &str) -> Value, patch: &mut Map<String, Value>) {
        const NAMES: [&str; 6] = ["x/a", "x/b", "x/c", "x/d", "x/e", "x/f"];
        let names = self.some(&NAMES);
        let items: Vec<_> = names.iter().map(|name| make(self, name)).collect();
        if self.one_in(2) {
            let mut order: Vec<_> =
                names.iter().zip(&items).filter(|(_, item)| item.get("$patch").is_none()).collect();
            if self.one_in(8) {
                order.reverse();
            }
            let mut order: Vec<_> = order.into_iter().map(|(name, _)| *name).collect();
            for other in self.some(&NAMES) {
                if !names.contains(&other) {
                    order.insert(self.below(order.len() + 1), other);
                }
            }
            let is_map = make(self, "").is_object();
            let order =
                order.into_iter().map(|name| if is_map { json!({"name": name}) } else { json!(name) });
            patch.insert(format!("$setElementOrder/{name}"), order.collect());
        }
        if !self.one_in(5) {
            patch.insert(name.to_owned(), json!(items));
        }
    }

    fn secret(&mut self, name: &str) -> Value {
        // The server drops all but the name.
        match self.below(4) {
            0 => json!({"name": name, "$patch": "delete"}),
            1 => json!({"name": name, "kind": null}),
            _ => json!({"name": name}),
        }
    }

    fn strategic(&mut self) -> Value {
        let (mut top, mut metadata) = (Map::new(), Map::new());
        self.list("secrets", Self::secret, &mut top);
        if self.one_in(10)
            && let Some(Value::Array(secrets)) = top.get_mut("secrets")
        {
            secrets.push(json!({"$patch": "replace"}));
            top.retain(|name, _| name == "secrets");
        }
        self.list("finalizers", |_, name| json!(name), &mut metadata);
        let added = metadata.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
        // In the other order of the two the outcome would be another one, and upstream has none.
        let deleted: Vec<_> = self.some(&["x/a", "x/b", "x/c", "x/d"]);
        let deleted: Vec<_> = deleted.into_iter().filter(|name| !added.contains(&json!(name))).collect();
        if self.one_in(2) {
            metadata.insert("$deleteFromPrimitiveList/finalizers".to_owned(), json!(deleted));
        }
        metadata.insert(
            "labels".to_owned(),
            self.fields(&["l", "m", "n"], |random| match random.below(3) {
                0 => Value::Null,
                _ => random.text(),
            }),
        );
        top.insert("metadata".to_owned(), Value::Object(metadata));
        Value::Object(top)
    }

    /// Strategic merge patches of an object with lists of both kinds.
    pub(crate) fn strategic_scenario(seed: u64, steps: usize) -> Scenario {
        let mut random = Self::new(seed);
        let first = json!({
            "metadata": {"finalizers": random.some(&["x/a", "x/b", "x/c", "x/d", "x/e"])},
            "secrets": random.some(&["x/a", "x/b", "x/c", "x/d", "x/e"]).iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
        });
        let mut all = vec![create("c", first)];
        all.extend((1..steps).map(|_| strategic("s", random.strategic())));
        scenario(&format!("strategic seed {seed}"), SERVICE_ACCOUNT, all)
    }
}
