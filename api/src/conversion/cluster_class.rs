//! `ClusterClass`: references, timeouts, health checks and conditions moved; some booleans know a third state in
//! `v1beta2`, which `v1beta1` remembers in an annotation.

use serde_json::{Value, json};

use super::{
    ConversionError, conditions_down, conditions_up, items, put, reread, shift, take, take_at, written,
};
use crate::{
    hooks::read,
    text,
    types::{Duration, Go as _, core_v1beta1 as old, core_v1beta2 as new},
};

/// The annotation in which a `v1beta1` object carries what it was in `v1beta2`, as JSON without metadata.
pub const DATA_ANNOTATION: &str = "cluster.x-k8s.io/conversion-data";

const TIMEOUTS: [(&str, &str); 3] = [
    ("nodeDrainTimeout", "nodeDrainTimeoutSeconds"),
    ("nodeVolumeDetachTimeout", "nodeVolumeDetachTimeoutSeconds"),
    ("nodeDeletionTimeout", "nodeDeletionTimeoutSeconds"),
];

const UNHEALTHY: [(&str, &str); 2] = [
    ("unhealthyConditions", "unhealthyNodeConditions"),
    ("unhealthyMachineConditions", "unhealthyMachineConditions"),
];

/// Patches' handlers got longer names.
const EXTENSIONS: [(&str, &str); 2] =
    [("generateExtension", "generatePatchesExtension"), ("validateExtension", "validateTopologyExtension")];

pub(super) fn up(mut json: Value) -> Result<Value, ConversionError> {
    let data = take_at(&mut json, &["metadata", "annotations", DATA_ANNOTATION]);
    let restored = data.as_ref().and_then(Value::as_str).map(restore).transpose()?;
    json["apiVersion"] = "cluster.x-k8s.io/v1beta2".into();
    let spec = &mut json["spec"];
    reference_up(&mut spec["infrastructure"]);
    naming_up(spec, &["infrastructureNamingStrategy"], &["infrastructure", "naming"]);
    class_up(&mut spec["controlPlane"]);
    reference_up(&mut spec["controlPlane"]);
    reference_up(&mut spec["controlPlane"]["machineInfrastructure"]);
    for class in items(spec, &["workers", "machineDeployments"]) {
        template_up(class);
        rollout_up(class);
        class_up(class);
    }
    for class in items(spec, &["workers", "machinePools"]) {
        template_up(class);
        class_up(class);
    }
    for variable in items(spec, &["variables"]) {
        shift(variable, &["metadata"], &["deprecatedV1Beta1Metadata"]);
    }
    for patch in items(spec, &["patches"]) {
        for (old, new) in EXTENSIONS {
            shift(patch, &["external", old], &["external", new]);
        }
    }
    for variable in items(&mut json, &["status", "variables"]) {
        for definition in items(variable, &["definitions"]) {
            shift(definition, &["metadata"], &["deprecatedV1Beta1Metadata"]);
        }
    }
    conditions_up(&mut json);
    let mut converted: new::ClusterClass = reread(json)?;
    intents(&mut converted, restored.as_ref()).map_err(|why| ConversionError::Annotation(why.to_owned()))?;
    Ok(written(&converted))
}

fn restore(data: &str) -> Result<new::ClusterClass, ConversionError> {
    let parsed = serde_json::from_str(data).map_err(|error| error.to_string());
    let restored = parsed.and_then(|object: Value| read(object, &new::ClusterClass::shape()));
    restored.map_err(|why| ConversionError::Annotation(text::foreign_within(&why, 512)))
}

/// `{ref}` to `{templateRef}`.
fn reference_up(holder: &mut Value) {
    if let Some(reference) = take(holder, "ref") {
        holder["templateRef"] = template_reference(reference);
    }
}

/// Kind, name and version of a reference.
fn template_reference(mut reference: Value) -> Value {
    let mut kept = json!({});
    for name in ["kind", "name", "apiVersion"] {
        shift_between(&mut reference, &mut kept, name, name);
    }
    kept
}

fn shift_between(from: &mut Value, to: &mut Value, old: &str, new: &str) {
    if let Some(value) = take(from, old) {
        to[new] = value;
    }
}

fn naming_up(holder: &mut Value, from: &[&str], to: &[&str]) {
    if let Some(strategy) = take_at(holder, from) {
        put(holder, to, strategy);
    }
}

/// What the classes of a control plane and of workers have in common.
fn class_up(class: &mut Value) {
    for (old, new) in TIMEOUTS {
        if let Some(timeout) = take(class, old) {
            put(class, &["deletion", new], seconds(&timeout));
        }
    }
    naming_up(class, &["namingStrategy"], &["naming"]);
    let Some(mut check) = take(class, "machineHealthCheck") else { return };
    let mut moved = json!({});
    for (old, new) in UNHEALTHY {
        let Some(mut conditions) = take(&mut check, old) else { continue };
        for condition in conditions.as_array_mut().into_iter().flatten() {
            if let Some(timeout) = take(condition, "timeout") {
                condition["timeoutSeconds"] = seconds(&timeout);
            }
        }
        put(&mut moved, &["checks", new], conditions);
    }
    if let Some(timeout) = take(&mut check, "nodeStartupTimeout") {
        put(&mut moved, &["checks", "nodeStartupTimeoutSeconds"], seconds(&timeout));
    }
    for (old, new) in [("maxUnhealthy", "unhealthyLessThanOrEqualTo"), ("unhealthyRange", "unhealthyInRange")]
    {
        if let Some(value) = take(&mut check, old) {
            put(&mut moved, &["remediation", "triggerIf", new], value);
        }
    }
    if let Some(reference) = take(&mut check, "remediationTemplate") {
        put(&mut moved, &["remediation", "templateRef"], template_reference(reference));
    }
    for part in ["checks", "remediation"] {
        for (name, value) in moved.get(part).and_then(Value::as_object).into_iter().flatten() {
            put(class, &["healthCheck", part, name], value.clone());
        }
    }
}

/// The template of workers came apart.
fn template_up(class: &mut Value) {
    let Some(mut template) = take(class, "template") else { return };
    for name in ["metadata", "bootstrap", "infrastructure"] {
        shift_between(&mut template, class, name, name);
    }
    reference_up(&mut class["bootstrap"]);
    reference_up(&mut class["infrastructure"]);
}

fn rollout_up(class: &mut Value) {
    let moves: [(&[&str], &[&str]); 5] = [
        (&["strategy", "type"], &["rollout", "strategy", "type"]),
        (
            &["strategy", "rollingUpdate", "maxUnavailable"],
            &["rollout", "strategy", "rollingUpdate", "maxUnavailable"],
        ),
        (&["strategy", "rollingUpdate", "maxSurge"], &["rollout", "strategy", "rollingUpdate", "maxSurge"]),
        (&["strategy", "rollingUpdate", "deletePolicy"], &["deletion", "order"]),
        (&["strategy", "remediation", "maxInFlight"], &["healthCheck", "remediation", "maxInFlight"]),
    ];
    for (from, to) in moves {
        shift(class, from, to);
    }
}

/// A duration in whole seconds; what is no duration stays and fails when it is read.
fn seconds(duration: &Value) -> Value {
    let parsed: Result<Duration, _> = serde_json::from_value(duration.clone());
    parsed.map_or_else(|_| duration.clone(), |duration| duration.seconds().into())
}

fn duration(seconds: &Value) -> Value {
    let seconds = seconds.as_i64().and_then(|seconds| i32::try_from(seconds).ok()).unwrap_or_default();
    written(&Duration::from_seconds(seconds))
}

/// Booleans that `v1beta1` could not leave open are open in `v1beta2` when they are false, unless they were said to
/// be false before.
fn intents(class: &mut new::ClusterClass, before: Option<&new::ClusterClass>) -> Result<(), &'static str> {
    let originals = class.spec.patches.clone();
    for patch in &mut class.spec.patches {
        // As upstream, what stands in the first patch of a name counts for all of this name.
        let original = originals.iter().find(|original| original.name == patch.name);
        let original = original.filter(|original| original.definitions.len() == patch.definitions.len());
        let before = before.and_then(|before| before.spec.patches.iter().find(|old| old.name == patch.name));
        let before = before.filter(|before| before.definitions.len() == patch.definitions.len());
        for (index, definition) in (&mut patch.definitions).into_iter().enumerate() {
            let before = before.map(|before| &before.definitions[index].selector.match_resources);
            let original = original.map(|original| &original.definitions[index].selector.match_resources);
            definition.selector.match_resources.control_plane = original.and_then(|o| o.control_plane);
            definition.selector.match_resources.infrastructure_cluster =
                original.and_then(|o| o.infrastructure_cluster);
            let matched = &mut definition.selector.match_resources;
            intent(&mut matched.control_plane, before.and_then(|before| before.control_plane));
            intent(
                &mut matched.infrastructure_cluster,
                before.and_then(|before| before.infrastructure_cluster),
            );
        }
    }
    for variable in &mut class.spec.variables {
        let mut all = before.iter().flat_map(|before| &before.spec.variables);
        let before = all.find(|old| old.name == variable.name);
        let schema = &mut variable.schema.open_api_v3_schema;
        schema_intents(schema, before.map(|before| &before.schema.open_api_v3_schema))?;
    }
    for variable in &mut class.status.variables {
        let mut all = before.iter().flat_map(|before| &before.status.variables);
        let before = all.find(|old| old.name == variable.name);
        intent(&mut variable.definitions_conflict, before.and_then(|before| before.definitions_conflict));
        for definition in &mut variable.definitions {
            let mut all = before.into_iter().flat_map(|before| before.definitions.iter()).rev();
            let before = all.find(|old| old.from == definition.from);
            let schema = &mut definition.schema.open_api_v3_schema;
            schema_intents(schema, before.map(|before| &before.schema.open_api_v3_schema))?;
        }
    }
    Ok(())
}

fn intent(value: &mut Option<bool>, before: Option<bool>) {
    if *value != Some(true) {
        *value = before.filter(|before| !before);
    }
}

fn schema_intents(
    schema: &mut new::JsonSchemaProps,
    before: Option<&new::JsonSchemaProps>,
) -> Result<(), &'static str> {
    intent(&mut schema.unique_items, before.and_then(|before| before.unique_items));
    intent(&mut schema.exclusive_maximum, before.and_then(|before| before.exclusive_maximum));
    intent(&mut schema.exclusive_minimum, before.and_then(|before| before.exclusive_minimum));
    intent(&mut schema.x_preserve_unknown_fields, before.and_then(|before| before.x_preserve_unknown_fields));
    intent(&mut schema.x_int_or_string, before.and_then(|before| before.x_int_or_string));
    for (name, property) in schema.properties.iter_mut() {
        schema_intents(property, before.and_then(|before| before.properties.get(name)))?;
    }
    let single = [
        (
            &mut schema.additional_properties,
            before.and_then(|before| before.additional_properties.as_deref()),
        ),
        (&mut schema.items, before.and_then(|before| before.items.as_deref())),
        (&mut schema.not, before.and_then(|before| before.not.as_deref())),
    ];
    for (nested, before) in single {
        if let Some(nested) = nested {
            schema_intents(nested, before)?;
        }
    }
    let lists = [
        (&mut schema.all_of, before.map(|before| &before.all_of)),
        (&mut schema.one_of, before.map(|before| &before.one_of)),
        (&mut schema.any_of, before.map(|before| &before.any_of)),
    ];
    for (nested, before) in lists {
        // Upstream panics where the list has grown since.
        if before.is_some_and(|before| before.len() < nested.len()) {
            return Err("a list of schemas has grown since");
        }
        for (index, nested) in nested.into_iter().enumerate() {
            schema_intents(nested, before.map(|before| &before[index]))?;
        }
    }
    Ok(())
}

pub(super) fn down(mut json: Value) -> Result<Value, ConversionError> {
    let mut data = written(&reread::<new::ClusterClass>(json.clone())?);
    // As upstream leaves it.
    let is_bare = data.get("spec").is_none() && data.get("status").is_none();
    take(&mut data, "metadata");
    if is_bare {
        data["metadata"] = json!({});
    }
    let namespace = json["metadata"].get("namespace").cloned();
    json["apiVersion"] = "cluster.x-k8s.io/v1beta1".into();
    let spec = &mut json["spec"];
    shift(spec, &["infrastructure", "naming"], &["infrastructureNamingStrategy"]);
    let references = Namespace(namespace);
    references.down(spec, "infrastructure");
    class_down(&mut spec["controlPlane"], &references);
    references.down(spec, "controlPlane");
    if !spec["controlPlane"]["machineInfrastructure"]["templateRef"].is_null() {
        references.down(&mut spec["controlPlane"], "machineInfrastructure");
    }
    for class in items(spec, &["workers", "machineDeployments"]) {
        rollout_down(class);
        class_down(class, &references);
        template_down(class, &references);
    }
    for class in items(spec, &["workers", "machinePools"]) {
        class_down(class, &references);
        template_down(class, &references);
    }
    for variable in items(spec, &["variables"]) {
        shift(variable, &["deprecatedV1Beta1Metadata"], &["metadata"]);
    }
    for patch in items(spec, &["patches"]) {
        for (old, new) in EXTENSIONS {
            shift(patch, &["external", new], &["external", old]);
        }
    }
    for variable in items(&mut json, &["status", "variables"]) {
        for definition in items(variable, &["definitions"]) {
            shift(definition, &["deprecatedV1Beta1Metadata"], &["metadata"]);
        }
    }
    conditions_down(&mut json);
    let mut converted: old::ClusterClass = reread(json)?;
    converted.metadata.annotations.insert(DATA_ANNOTATION.to_owned(), data.to_string());
    Ok(written(&converted))
}

/// The class's namespace, which references have in `v1beta1`.
struct Namespace(Option<Value>);

impl Namespace {
    /// `{templateRef}` to `{ref}`; there is always one.
    fn down(&self, holder: &mut Value, name: &str) {
        let reference = take_at(holder, &[name, "templateRef"]).unwrap_or_else(|| json!({}));
        put(holder, &[name, "ref"], self.reference(reference));
    }

    fn reference(&self, mut reference: Value) -> Value {
        if let Some(namespace) = &self.0 {
            reference["namespace"] = namespace.clone();
        }
        reference
    }
}

fn template_down(class: &mut Value, references: &Namespace) {
    references.down(class, "bootstrap");
    references.down(class, "infrastructure");
    for name in ["metadata", "bootstrap", "infrastructure"] {
        shift(class, &[name], &["template", name]);
    }
}

fn rollout_down(class: &mut Value) {
    shift(class, &["rollout", "strategy"], &["strategy"]);
    shift(class, &["deletion", "order"], &["strategy", "rollingUpdate", "deletePolicy"]);
    shift(class, &["healthCheck", "remediation", "maxInFlight"], &["strategy", "remediation", "maxInFlight"]);
    // What is left empty was only there for this number.
    let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    if class.get("healthCheck").and_then(|check| check.get("remediation")).is_some_and(is_empty) {
        take_at(class, &["healthCheck", "remediation"]);
    }
    if class.get("healthCheck").is_some_and(is_empty) {
        take(class, "healthCheck");
    }
}

fn class_down(class: &mut Value, references: &Namespace) {
    for (old, new) in TIMEOUTS {
        if let Some(seconds) = take_at(class, &["deletion", new]) {
            class[old] = duration(&seconds);
        }
    }
    shift(class, &["naming"], &["namingStrategy"]);
    let Some(mut check) = take(class, "healthCheck") else { return };
    let mut moved = json!({});
    for (old, new) in UNHEALTHY {
        let Some(mut conditions) = take_at(&mut check, &["checks", new]) else { continue };
        for condition in conditions.as_array_mut().into_iter().flatten() {
            if let Some(seconds) = take(condition, "timeoutSeconds") {
                condition["timeout"] = duration(&seconds);
            }
        }
        moved[old] = conditions;
    }
    if let Some(seconds) = take_at(&mut check, &["checks", "nodeStartupTimeoutSeconds"]) {
        moved["nodeStartupTimeout"] = duration(&seconds);
    }
    for (old, new) in [("maxUnhealthy", "unhealthyLessThanOrEqualTo"), ("unhealthyRange", "unhealthyInRange")]
    {
        if let Some(value) = take_at(&mut check, &["remediation", "triggerIf", new]) {
            moved[old] = value;
        }
    }
    if let Some(reference) = take_at(&mut check, &["remediation", "templateRef"]) {
        moved["remediationTemplate"] = references.reference(reference);
    }
    class["machineHealthCheck"] = moved;
}
