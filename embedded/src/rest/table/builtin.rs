//! The columns of built-in kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{NAME, age, definition};

const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// Name, type, format and priority of a column.
type Column = (&'static str, &'static str, &'static str, i64);

const N: Column = ("Name", "string", "name", 0);
const A: Column = ("Age", "string", "", 0);

/// A column that is always shown.
const fn c(name: &'static str) -> Column {
    (name, "string", "", 0)
}

/// A column that `-o wide` shows.
const fn w(name: &'static str) -> Column {
    (name, "string", "", 1)
}

const NAMESPACES: &[Column] = &[N, c("Status"), A];
const CONFIG_MAPS: &[Column] = &[N, c("Data"), A];
const SECRETS: &[Column] = &[N, c("Type"), c("Data"), A];
const EVENTS: &[Column] = &[
    c("Last Seen"),
    c("Type"),
    c("Reason"),
    c("Object"),
    w("Subobject"),
    w("Source"),
    c("Message"),
    w("First Seen"),
    w("Count"),
    ("Name", "string", "name", 1),
];
const SERVICES: &[Column] =
    &[N, c("Type"), c("Cluster-IP"), c("External-IP"), c("Port(s)"), A, w("Selector")];
const LEASES: &[Column] = &[N, c("Holder"), A];
const SLICES: &[Column] = &[N, c("AddressType"), c("Ports"), c("Endpoints"), A];
const BINDINGS: &[Column] = &[N, c("Role"), A, w("Users"), w("Groups"), w("ServiceAccounts")];
const DATED: &[Column] = &[N, ("Created At", "date", "", 0)];
const WEBHOOKS: &[Column] = &[N, ("Webhooks", "integer", "", 0), A];
const OTHERS: &[Column] = &[N, A];

fn list(plural: &str) -> &'static [Column] {
    match plural {
        "namespaces" => NAMESPACES,
        "configmaps" => CONFIG_MAPS,
        "secrets" => SECRETS,
        "events" => EVENTS,
        "services" => SERVICES,
        "leases" => LEASES,
        "endpointslices" => SLICES,
        "rolebindings" | "clusterrolebindings" => BINDINGS,
        "roles" | "clusterroles" | "customresourcedefinitions" => DATED,
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => WEBHOOKS,
        _ => OTHERS,
    }
}

pub(super) fn columns(plural: &str) -> Vec<Value> {
    let describe = |name: &str| match name {
        "Name" => NAME,
        "Age" | "Created At" => CREATED,
        _ => "",
    };
    list(plural)
        .iter()
        .map(|(name, value_type, format, priority)| {
            definition(name, value_type, format, describe(name), *priority)
        })
        .collect()
}

/// The cells of an object, as it is stored.
pub(super) fn cells(plural: &str, object: &Value, now: Timestamp) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = &object["metadata"]["name"];
    let created = text(&object["metadata"]["creationTimestamp"]);
    let age = age(&created, now);
    match plural {
        "namespaces" => json!([name, object["status"]["phase"], age]),
        "configmaps" => json!([name, size(&object["data"]) + size(&object["binaryData"]), age]),
        "secrets" => json!([name, object["type"], size(&object["data"]), age]),
        "events" => event(object, now),
        "services" => service(object, &age),
        "leases" => json!([name, text(&object["spec"]["holderIdentity"]), age]),
        "endpointslices" => json!([name, object["addressType"], ports(object), addresses(object), age]),
        "rolebindings" | "clusterrolebindings" => binding(object, &age),
        "roles" | "clusterroles" | "customresourcedefinitions" => json!([name, created]),
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => {
            json!([name, size(&object["webhooks"]), age])
        }
        _ => json!([name, age]),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    }
}

fn event(object: &Value, now: Timestamp) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ago = |value: &Value| age(value.as_str().unwrap_or_default(), now);
    let first =
        if object["firstTimestamp"].is_null() { &object["eventTime"] } else { &object["firstTimestamp"] };
    let last = match (&object["series"]["lastObservedTime"], &object["lastTimestamp"]) {
        (Value::Null, Value::Null) => first,
        (Value::Null, last) => last,
        (series, _) => series,
    };
    let about = &object["involvedObject"];
    let (kind, name) = (text(&about["kind"]).to_lowercase(), text(&about["name"]));
    let target = if kind.is_empty() { name } else { format!("{kind}/{name}") };
    let component = text(&object["source"]["component"]);
    let component = if component.is_empty() { text(&object["reportingComponent"]) } else { component };
    let host = text(&object["source"]["host"]);
    let source = if host.is_empty() { component } else { format!("{component}, {host}") };
    let count = object["series"]["count"].as_i64().or(object["count"].as_i64()).unwrap_or(1);
    json!([
        ago(last),
        text(&object["type"]),
        text(&object["reason"]),
        target,
        text(&about["fieldPath"]),
        source,
        text(&object["message"]).trim(),
        ago(first),
        count,
        object["metadata"]["name"],
    ])
}

fn service(object: &Value, age: &str) -> Value {
    let spec = &object["spec"];
    let ports: Vec<_> = spec["ports"].as_array().into_iter().flatten().map(port).collect();
    let joined = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    let selector: Vec<_> = spec["selector"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let selector = if selector.is_empty() { "<none>".to_owned() } else { selector.join(",") };
    let external = match (spec["type"].as_str(), spec["externalName"].as_str()) {
        (Some("ExternalName"), Some(name)) => name,
        (Some("LoadBalancer"), _) => "<pending>",
        _ => "<none>",
    };
    let address = spec["clusterIP"].as_str().unwrap_or("<none>");
    json!([object["metadata"]["name"], spec["type"], address, external, joined, age, selector])
}

fn port(port: &Value) -> String {
    let (number, protocol) = (&port["port"], port["protocol"].as_str().unwrap_or("TCP"));
    match port["nodePort"].as_i64() {
        Some(node) if node > 0 => format!("{number}:{node}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn ports(object: &Value) -> String {
    let ports: Vec<_> =
        object["ports"].as_array().into_iter().flatten().map(|port| port["port"].to_string()).collect();
    if ports.is_empty() { "<unset>".to_owned() } else { ports.join(",") }
}

fn addresses(object: &Value) -> String {
    let endpoints = object["endpoints"].as_array().into_iter().flatten();
    let addresses = endpoints.flat_map(|endpoint| endpoint["addresses"].as_array().into_iter().flatten());
    let addresses: Vec<_> = addresses.filter_map(Value::as_str).collect();
    match &addresses[..] {
        [] => "<unset>".to_owned(),
        [first @ .., _] if addresses.len() > 3 => {
            format!("{} + {} more...", first[..3].join(","), addresses.len() - 3)
        }
        all => all.join(","),
    }
}

fn binding(object: &Value, age: &str) -> Value {
    let role = &object["roleRef"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let subjects = |kind: &str| {
        let subjects =
            object["subjects"].as_array().into_iter().flatten().filter(|subject| subject["kind"] == kind);
        let name = |subject: &Value| match kind {
            "ServiceAccount" => format!("{}/{}", text(&subject["namespace"]), text(&subject["name"])),
            _ => text(&subject["name"]),
        };
        subjects.map(name).collect::<Vec<_>>().join(", ")
    };
    let role = format!("{}/{}", text(&role["kind"]), text(&role["name"]));
    json!([
        object["metadata"]["name"],
        role,
        age,
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount")
    ])
}
