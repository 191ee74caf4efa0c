//! `metadata.managedFields`: who owns what, since when, and how it was written.
//!
//! Behaviour: apimachinery `managedfields/internal`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::set::{BadSet, FieldSet};

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By anything else: create, update, or another patch.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who owns fields. Appliers are the same over all API versions, updaters are not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Empty for appliers.
    pub(super) api_version: String,
    /// Empty for the main endpoint.
    pub(super) subresource: String,
}

/// What a manager owns.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) api_version: String,
    pub(super) set: FieldSet,
    pub(super) time: Option<Timestamp>,
}

/// All managers of an object. None of them owns nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Managers {
    pub(super) entries: BTreeMap<Manager, Entry>,
}

/// Why `metadata.managedFields` cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadManagers {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    ApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    FieldsType(String, usize),
    #[error("invalid time {0:?}")]
    Time(String),
    #[error("error decoding set: {0}")]
    Set(#[from] BadSet),
}

/// More updaters than this are not kept: the oldest become one.
const MOST_UPDATERS: usize = 10;
/// The name of the one that the oldest updaters become.
const ANCIENT: &str = "ancient-changes";

impl Manager {
    /// The one of a request.
    pub(super) fn of(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Self {
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// As messages name it.
    pub(super) fn text(&self) -> String {
        let mut text = super::value::quote(&self.name);
        if !self.subresource.is_empty() {
            text = format!("{text} with subresource {}", super::value::quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            text = format!("{text} using {}", self.api_version);
        }
        text
    }
}

/// An object's `metadata.managedFields`; `null` counts as absent.
pub(super) fn raw(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields").filter(|entries| !entries.is_null())
}

/// Whether entries say that all ownership is to be forgotten: none, or a single empty one.
pub(super) fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => {
            entry.values().all(|field| matches!(field, Value::Null) || field == "")
        }
        _ => false,
    }
}

impl Managers {
    /// Reads the managers of an object.
    pub(super) fn decode(object: &Value) -> Result<Self, BadManagers> {
        let mut managers = Self::default();
        let entries = raw(object).and_then(Value::as_array);
        for (i, entry) in entries.into_iter().flatten().enumerate() {
            let (manager, entry) = decode_entry(i, entry)?;
            managers.entries.insert(manager, entry);
        }
        Ok(managers)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes paths from everybody but one, and forgets who has nothing left.
    pub(super) fn take(&mut self, paths: &FieldSet, but: Option<&Manager>) {
        if paths.is_empty() {
            return;
        }
        for (manager, entry) in &mut self.entries {
            if Some(manager) != but {
                entry.set = std::mem::take(&mut entry.set).difference(paths);
            }
        }
        self.drop_idle();
    }

    /// Forgets who owns nothing.
    pub(super) fn drop_idle(&mut self) {
        self.entries.retain(|_, entry| !entry.set.is_empty());
    }

    /// What anybody owns.
    pub(super) fn all(&self) -> FieldSet {
        self.entries.values().fold(FieldSet::default(), |all, entry| all.union(entry.set.clone()))
    }

    /// Makes the oldest updaters of a version one, until no more than ten are left.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<_> = self
            .entries
            .iter()
            .filter(|(manager, _)| manager.operation == Operation::Update)
            .map(|(manager, entry)| (seconds(entry.time), manager.clone()))
            .collect();
        updaters.sort();
        let mut left = updaters.len();
        let mut first_of: BTreeMap<String, Manager> = BTreeMap::new();
        for (_, manager) in updaters {
            if left <= MOST_UPDATERS {
                break;
            }
            let version =
                self.entries.get(&manager).map(|entry| entry.api_version.clone()).unwrap_or_default();
            match first_of.get(&version) {
                Some(first) => {
                    let bucket = Manager::of(ANCIENT, Operation::Update, &version, "");
                    self.bury(&manager, first, bucket);
                    left -= 1;
                }
                None => drop(first_of.insert(version, manager)),
            }
        }
    }

    /// Puts what a manager owns into the bucket, which starts as what the first of its version owns. The
    /// bucket is as old as the youngest in it.
    fn bury(&mut self, manager: &Manager, first: &Manager, bucket: Manager) {
        if !self.entries.contains_key(&bucket)
            && let Some(entry) = self.entries.remove(first)
        {
            self.entries.insert(bucket.clone(), entry);
        }
        // The bucket of an earlier time is itself one of the updaters.
        let Some(entry) = self.entries.remove(manager) else { return };
        let Entry { api_version, set, time } = entry;
        let old = self.entries.remove(&bucket).map(|entry| entry.set).unwrap_or_default();
        self.entries.insert(bucket, Entry { api_version, set: old.union(set), time });
    }

    /// Writes the managers into an object: appliers first, then by age, then by name.
    pub(super) fn encode_into(&self, object: &mut Value) {
        let Some(metadata) = metadata(object) else { return };
        if self.entries.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(manager, entry)| {
            (manager.operation, seconds(entry.time), &manager.name, &entry.api_version, &manager.subresource)
        });
        let entries = entries.into_iter().map(|(manager, entry)| encode_entry(manager, entry)).collect();
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// An object's metadata; it is made if it is not there. None if it, or the object, is something else.
pub(super) fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata.as_object_mut()
}

/// Seconds since the epoch; no time is the epoch.
fn seconds(time: Option<Timestamp>) -> i64 {
    time.map_or(0, Timestamp::as_second)
}

fn decode_entry(i: usize, entry: &Value) -> Result<(Manager, Entry), BadManagers> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(BadManagers::Operation),
    };
    if text("apiVersion").is_empty() {
        return Err(BadManagers::ApiVersion);
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(BadManagers::NoFieldsType(i)),
        other => return Err(BadManagers::FieldsType(other.to_owned(), i)),
    }
    let time = match text("time") {
        "" => None,
        time => Some(time.parse().map_err(|_| BadManagers::Time(time.to_owned()))?),
    };
    let set = entry.get("fieldsV1").map_or_else(|| Ok(FieldSet::default()), FieldSet::from_fields_v1)?;
    let api_version = text("apiVersion").to_owned();
    // Not `Manager::of`: an entry may have no name.
    let manager = Manager {
        name: text("manager").to_owned(),
        operation,
        api_version: if operation == Operation::Apply { String::new() } else { api_version.clone() },
        subresource: text("subresource").to_owned(),
    };
    Ok((manager, Entry { api_version, set, time }))
}

fn encode_entry(manager: &Manager, entry: &Entry) -> Value {
    let mut encoded = json!({
        "operation": manager.operation.name(),
        "apiVersion": entry.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.set.to_fields_v1(),
    });
    if let Value::Object(fields) = &mut encoded {
        for (name, text) in [("manager", &manager.name), ("subresource", &manager.subresource)] {
            if !text.is_empty() {
                fields.insert(name.to_owned(), json!(text));
            }
        }
        if let Some(time) = entry.time {
            fields.insert("time".to_owned(), json!(rfc3339(time)));
        }
    }
    encoded
}

/// The time with whole seconds, as `metav1.Time` is written.
fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(i: usize, fields: &Value) -> (Manager, Entry) {
        let time = Timestamp::from_second(1_000 + i64::try_from(i).unwrap()).unwrap();
        let set = FieldSet::from_fields_v1(fields).unwrap();
        let manager = Manager::of(&format!("m{i:02}"), Operation::Update, "v1", "");
        (manager, Entry { api_version: "v1".to_owned(), set, time: Some(time) })
    }

    fn names(managers: &Managers) -> Vec<&str> {
        managers.entries.keys().map(|manager| manager.name.as_str()).collect()
    }

    #[test]
    fn the_oldest_updaters_become_one_when_there_are_more_than_ten() {
        let mut managers = Managers::default();
        managers.entries.extend((0..10).map(|i| owner(i, &json!({format!("f:{i}"): {}}))));
        managers.cap();
        assert_eq!(managers.entries.len(), 10);
        assert!(!names(&managers).contains(&ANCIENT));

        managers.entries.extend([owner(10, &json!({"f:10": {}}))]);
        managers.cap();

        assert_eq!(names(&managers)[..2], [ANCIENT, "m02"]);
        let ancient = managers.entries.values().next().unwrap();
        assert_eq!(ancient.set.to_fields_v1(), json!({"f:0": {}, "f:1": {}}));
        assert_eq!(seconds(ancient.time), 1_001);
    }

    #[test]
    fn appliers_come_first_then_the_oldest_then_by_name() {
        let mut object = json!({});
        let mut managers = Managers::default();
        managers.entries.extend([owner(1, &json!({"f:a": {}})), owner(0, &json!({"f:b": {}}))]);
        let (_, entry) = owner(9, &json!({"f:c": {}}));
        managers.entries.insert(Manager::of("z", Operation::Apply, "v1", ""), entry);

        managers.encode_into(&mut object);

        let order: Vec<_> = raw(&object).unwrap().as_array().unwrap().iter().map(|e| &e["manager"]).collect();
        assert_eq!(order, ["z", "m00", "m01"]);
        let again = Managers::decode(&object).unwrap();
        let mut copy = json!({});
        again.encode_into(&mut copy);
        assert_eq!(copy, object);
    }

    #[test]
    fn entries_that_cannot_be_read_are_refused() {
        let good = json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "time": "2024-01-01T00:00:00Z", "fieldsV1": {"f:a": {}}});
        let table = [
            ("operation", json!("Get"), "operation must be `Apply` or `Update`"),
            ("apiVersion", json!(""), "apiVersion must not be empty"),
            ("fieldsType", json!(""), "missing fieldsType in managed fields entry 0"),
            ("fieldsType", json!("V2"), "invalid fieldsType \"V2\" in managed fields entry 0"),
            ("time", json!("now"), "invalid time \"now\""),
            ("fieldsV1", json!({"a": {}}), "error decoding set: invalid path element \"a\""),
        ];
        for (name, field, error) in table {
            let mut entry = good.clone();
            entry[name] = field;
            let object = json!({"metadata": {"managedFields": [entry]}});
            assert_eq!(Managers::decode(&object).unwrap_err().to_string(), error);
        }
        assert!(Managers::decode(&json!({"metadata": {"managedFields": [good]}})).is_ok());
    }

    #[test]
    fn no_entries_or_one_empty_entry_reset() {
        for (entries, reset) in [
            (json!([]), true),
            (json!([{}]), true),
            (json!([{"manager": "", "time": null}]), true),
            (json!([{"manager": "m"}]), false),
            (json!([{}, {}]), false),
            (json!(null), false),
        ] {
            assert_eq!(is_reset(&entries), reset, "{entries}");
        }
    }
}
