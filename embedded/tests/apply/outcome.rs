//! What came of a request, without what differs from run to run.

use serde_json::{Value, json};

/// What a server answered, and what it has stored then.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    /// Whether the resource version is another one than before.
    pub(crate) changed: bool,
    /// The object after the request; null if there is none.
    pub(crate) object: Value,
}

impl Outcome {
    /// As text that shows a difference line by line.
    pub(crate) fn text(&self) -> String {
        let object = serde_json::to_string_pretty(&self.object).expect("a value must be JSON");
        format!(
            "{} {:?} {:?} {:#?}\nchanged: {}\n{object}",
            self.code, self.reason, self.message, self.causes, self.changed
        )
    }
}

/// The object without what a server makes up. Times of managers show only whether there are any.
pub(crate) fn masked(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace", "name"] {
            metadata.remove(name);
        }
        if let Some(Value::Array(managers)) = metadata.get_mut("managedFields") {
            for manager in managers.iter_mut() {
                if manager.get("time").is_some() {
                    manager["time"] = json!("T");
                }
            }
            // By name: two servers do not write in the same second.
            managers.sort_by_key(|m| {
                ["operation", "manager", "apiVersion", "subresource"]
                    .map(|f| m[f].as_str().map(str::to_owned))
            });
        }
    }
    whole_numbers(&mut object);
    if let Some(object) = object.as_object_mut() {
        // Go writes some that are empty; who owns them is what is compared.
        object.retain(|_, field| {
            !field.is_null()
                && field.as_object().is_none_or(|fields| !fields.is_empty())
                && field.as_array().is_none_or(|items| !items.is_empty())
        });
    }
    for name in ["clusterIP", "clusterIPs"] {
        if let Some(field) = object.pointer_mut(&format!("/spec/{name}")) {
            *field = json!("made");
        }
    }
    object
}

/// Go writes `2.0` as `2`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            let text = number.to_string();
            if let Some(whole) = text.strip_suffix(".0").and_then(|whole| whole.parse::<i64>().ok()) {
                *value = json!(whole);
            }
        }
        _ => {}
    }
}
