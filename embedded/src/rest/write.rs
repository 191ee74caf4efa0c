//! Create, update and patch.
//!
//! Behaviour: apiserver `pkg/registry/generic/registry/store.go`, `pkg/registry/rest/create.go` and
//! `update.go`, apiextensions-apiserver `pkg/registry/customresource`.

use std::sync::Arc;

use serde_json::Value;

use super::options::WriteOptions;
use super::request::Target;
use super::rules;
use crate::apply;
use crate::core::Core;
use crate::kinds::conform;
use crate::names;
use crate::registry::{Endpoint, content};
use crate::status::{Cause, Result, Status, Subject, quoted};
use crate::store::{Address, Draft, Fields, Key, Object, Refused, metadata_mut, object_mut};

/// How often a write that does not name a revision is tried again when another came between.
const ATTEMPTS: usize = 8;

/// A write to one endpoint.
pub(crate) struct Write<'a> {
    pub(crate) core: &'a Core,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) target: &'a Target,
    pub(crate) options: &'a WriteOptions,
    /// The field manager.
    pub(crate) manager: &'a str,
}

/// What a write came to.
pub(crate) struct Written {
    pub(crate) object: Arc<Object>,
    pub(crate) is_new: bool,
    pub(crate) warnings: Vec<String>,
}

/// An object in the version of the endpoint, decoded and with defaults, that is to be written.
pub(crate) struct Made {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<String>,
    /// Whether managed fields are tracked already, as an apply does.
    pub(crate) is_tracked: bool,
}

/// What makes the new object from the live one, in the version of the endpoint.
pub(crate) type Make<'a> = dyn Fn(Option<&Value>) -> Result<Made> + Sync + 'a;

/// Whether a write creates an object that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Create,
    Refuse,
}

impl Write<'_> {
    fn namespace(&self) -> Option<&str> {
        self.endpoint.kind().is_namespaced.then_some(self.target.namespace.as_str())
    }

    /// Stores a new object.
    pub(crate) fn create(&self, made: Made) -> Result<Written> {
        let Made { mut value, warnings, is_tracked } = made;
        rules::place(&mut value, self.namespace())?;
        if value["metadata"]["resourceVersion"].as_str().is_some_and(|version| !version.is_empty()) {
            return Err(Status::unexplained("resourceVersion should not be set on objects to be created"));
        }
        let metadata = metadata_mut(&mut value);
        for name in
            ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid"]
        {
            metadata.remove(name);
        }
        self.check_namespace(&value)?;
        if !is_tracked {
            value = apply::update(None, value, &self.context());
        }
        self.to_stored(&mut value);
        self.prepare_create(&mut value);
        let causes = self.causes_of_create(&value);
        self.refuse(&value, causes)?;
        if self.converts() {
            self.endpoint.to_stored(&mut value);
        }
        self.store_new(value, warnings)
    }

    fn check_namespace(&self, value: &Value) -> Result<()> {
        let Some(namespace) = self.namespace() else { return Ok(()) };
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        match self.core.store.namespace(namespace) {
            None => Err(no_namespace(namespace)),
            Some(state) if state.is_terminating => Err(self.terminating(namespace, name)),
            Some(_) => Ok(()),
        }
    }

    fn terminating(&self, namespace: &str, name: &str) -> Status {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        Status::forbidden(self.endpoint.resource(), name, &why, vec![cause])
    }

    fn prepare_create(&self, value: &mut Value) {
        let core = self.core;
        let metadata = metadata_mut(value);
        metadata.insert("creationTimestamp".to_owned(), core.clock.seconds().into());
        metadata.insert("uid".to_owned(), core.uid().into());
        let is_empty = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
        if is_empty(metadata.get("name")) && !is_empty(metadata.get("generateName")) {
            let prefix = metadata["generateName"].as_str().unwrap_or_default();
            // A name is at most 63 characters long, five of which are random.
            let prefix: String = prefix.chars().take(58).collect();
            metadata.insert("name".to_owned(), format!("{prefix}{}", core.suffix()).into());
        }
        if let Some(strategy) = self.endpoint.strategy() {
            strategy.prepare_create(value, core);
        } else {
            metadata_mut(value).insert("generation".to_owned(), 1.into());
            if self.endpoint.version().has_status {
                object_mut(value).remove("status");
            }
        }
    }

    fn causes_of_create(&self, value: &Value) -> Vec<Cause> {
        let strategy = self.endpoint.strategy();
        let judge = strategy.map_or(names::subdomain as names::Judge, |strategy| strategy.judge());
        let mut causes = rules::metadata(value, self.endpoint.kind().is_namespaced, judge);
        if self.endpoint.names().group.is_empty() && strategy.is_some() {
            causes.extend(rules::unqualified_finalizers(value));
        }
        self.add_causes_of_content(&mut causes, value, None);
        causes
    }

    /// Adds to what is wrong with the metadata what is wrong with the rest.
    fn add_causes_of_content(&self, causes: &mut Vec<Cause>, value: &Value, old: Option<&Value>) {
        if let Some(strategy) = self.endpoint.strategy() {
            causes.extend(strategy.validate(value, old, self.endpoint.api_version()));
            return;
        }
        let Some(schema) = &self.endpoint.version().schema else { return };
        let is_blocked = causes.iter().any(Cause::blocks_rules);
        let errors = match old.filter(|_| self.target.subresource == "status") {
            Some(old) => schema.validate_status(is_blocked, value, old),
            None => schema.validate_after(is_blocked, value, old),
        };
        causes.extend(errors.into_iter().map(Cause::from));
    }

    fn refuse(&self, value: &Value, causes: Vec<Cause>) -> Result<()> {
        if causes.is_empty() {
            return Ok(());
        }
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        Err(Status::invalid(self.endpoint.subject(), name, causes))
    }

    fn store_new(&self, value: Value, warnings: Vec<String>) -> Result<Written> {
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = Key::new(self.namespace(), &name);
        let address = Address { collection: self.endpoint.collection(), key };
        let mut draft = self.draft(value);
        if self.options.is_dry_run {
            return self.pretend_new(&address, draft, warnings);
        }
        let stored = self.core.store.create(&address, &mut draft, false);
        let object = stored.map_err(|refused| self.not_created(&refused, &name))?;
        self.core.created(self.endpoint, &object);
        Ok(Written { object, is_new: true, warnings })
    }

    fn pretend_new(&self, address: &Address, mut draft: Draft, warnings: Vec<String>) -> Result<Written> {
        if self.core.store.get(address.collection, &address.key).is_some() {
            return Err(Status::already_exists(self.endpoint.resource(), address.key.name()));
        }
        let object = Arc::new(Object::encode(address.key.clone(), 0, &mut draft));
        Ok(Written { object, is_new: true, warnings })
    }

    fn not_created(&self, refused: &Refused, name: &str) -> Status {
        let namespace = self.namespace().unwrap_or_default();
        match refused {
            Refused::NoNamespace => no_namespace(namespace),
            Refused::NamespaceTerminating => self.terminating(namespace, name),
            Refused::Exists | Refused::Stale => Status::already_exists(self.endpoint.resource(), name),
        }
    }

    /// Replaces an object by what is made of it.
    pub(crate) fn update(&self, absent: Absent, make: &Make<'_>) -> Result<Written> {
        let key = Key::new(self.namespace(), &self.target.name);
        for _ in 0..ATTEMPTS {
            let Some(current) = self.core.store.get(self.endpoint.collection(), &key) else {
                return self.create_absent(absent, make);
            };
            match self.try_update(&current, make)? {
                Tried::Done(written) => return Ok(written),
                Tried::Again => {}
            }
        }
        Err(Status::modified(self.endpoint.resource(), &self.target.name))
    }

    fn create_absent(&self, absent: Absent, make: &Make<'_>) -> Result<Written> {
        if absent == Absent::Refuse || !self.target.subresource.is_empty() {
            return Err(Status::not_found(self.endpoint.resource(), &self.target.name));
        }
        let new = make(None)?;
        let uid = new.value["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() {
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: ");
            return Err(Status::conflict(self.endpoint.resource(), &self.target.name, &why));
        }
        self.create(new)
    }

    fn try_update(&self, current: &Arc<Object>, make: &Make<'_>) -> Result<Tried> {
        let live = self.endpoint.decode(current);
        let Made { mut value, warnings, is_tracked } = make(Some(&live))?;
        self.check_preconditions(&mut value, current, &live)?;
        rules::place(&mut value, self.namespace())?;
        if !is_tracked {
            value = apply::update(Some(&live), value, &self.context());
        }
        let old = self.stored_form(current, live);
        self.to_stored(&mut value);
        self.prepare_update(&mut value, &old);
        let causes = self.causes_of_update(&value, &old);
        self.refuse(&value, causes)?;
        apply::keep_times(&old, &mut value);
        if self.is_unchanged(current, &mut value, old) {
            return Ok(Tried::Done(Written { object: current.clone(), is_new: false, warnings }));
        }
        Ok(self.store_changed(current, value, warnings))
    }

    /// Checks UID and revision, where the client named them, against the live object.
    fn check_preconditions(&self, value: &mut Value, current: &Object, live: &Value) -> Result<()> {
        let resource = self.endpoint.resource();
        let metadata = metadata_mut(value);
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
        let uid = text("uid");
        if !uid.is_empty() && uid != &*current.uid {
            let why = format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                current.uid
            );
            return Err(Status::conflict(resource, &self.target.name, &why));
        }
        let version = text("resourceVersion");
        if !version.is_empty() && version != "0" {
            super::options::revision(version).map_err(|_| {
                Status::unexplained(format!("strconv.ParseUint: parsing {}: invalid syntax", quoted(version)))
            })?;
            if live["metadata"]["resourceVersion"] != version {
                return Err(Status::modified(resource, &self.target.name));
            }
            return Ok(());
        }
        if self.endpoint.strategy().is_none_or(|strategy| !strategy.updates_unconditionally()) {
            let cause = Cause::invalid("metadata.resourceVersion", "0", "must be specified for an update");
            return Err(Status::invalid(resource, &self.target.name, vec![cause]));
        }
        metadata.insert("resourceVersion".to_owned(), live["metadata"]["resourceVersion"].clone());
        Ok(())
    }

    fn prepare_update(&self, value: &mut Value, old: &Value) {
        let subresource = &self.target.subresource;
        match self.endpoint.strategy() {
            Some(strategy) => {
                keep_metadata(value, old, "generation");
                strategy.prepare_update(value, old, subresource);
            }
            None if subresource == "status" => only_status(value, old),
            None => self.prepare_custom_update(value, old),
        }
        let metadata = metadata_mut(value);
        if metadata.get("uid").and_then(Value::as_str).is_none_or(str::is_empty) {
            keep_metadata(value, old, "uid");
        }
        keep_metadata(value, old, "creationTimestamp");
        let old_metadata = &old["metadata"];
        if !old_metadata["deletionTimestamp"].is_null() {
            keep_metadata(value, old, "deletionTimestamp");
        }
        if value["metadata"]["deletionGracePeriodSeconds"].is_null() {
            keep_metadata(value, old, "deletionGracePeriodSeconds");
        }
    }

    fn prepare_custom_update(&self, value: &mut Value, old: &Value) {
        let has_status = self.endpoint.version().has_status;
        if has_status {
            match old.get("status") {
                Some(status) => object_mut(value).insert("status".to_owned(), status.clone()),
                None => object_mut(value).remove("status"),
            };
        }
        let content = |value: &Value| {
            let mut content = content(value);
            if has_status {
                content.remove("status");
            }
            content
        };
        let mut generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
        if content(value) != content(old) {
            generation += 1;
        }
        metadata_mut(value).insert("generation".to_owned(), generation.into());
    }

    fn causes_of_update(&self, value: &Value, old: &Value) -> Vec<Cause> {
        let mut causes = rules::metadata(value, self.endpoint.kind().is_namespaced, names::path_segment);
        causes.extend(rules::metadata_update(value, old));
        self.add_causes_of_content(&mut causes, value, Some(old));
        causes
    }

    fn store_changed(&self, current: &Arc<Object>, value: Value, warnings: Vec<String>) -> Tried {
        let is_over = is_over(&value, self.endpoint);
        let mut draft = self.draft(value);
        let written = |object| Tried::Done(Written { object, is_new: false, warnings });
        if self.options.is_dry_run {
            let object = Object::encode(current.key.clone(), current.revision, &mut draft);
            return written(Arc::new(object));
        }
        let collection = self.endpoint.collection();
        let stored = if is_over {
            self.core.store.delete(collection, current, &mut draft)
        } else {
            self.core.store.update(collection, current, &mut draft)
        };
        match stored {
            Ok(object) if is_over => {
                self.core.removed(self.endpoint, &object);
                written(object)
            }
            Ok(object) => {
                self.core.changed(self.endpoint, current, &object);
                written(object)
            }
            // Made anew; a revision that the client named is found to be stale then.
            Err(_) => Tried::Again,
        }
    }

    /// Brings the value into the form that is stored, and says whether that is stored already.
    fn is_unchanged(&self, current: &Object, value: &mut Value, mut old: Value) -> bool {
        if self.converts() {
            self.endpoint.to_stored(value);
            old = current.decode();
            self.endpoint.set_type(&mut old);
        }
        *value == old && current.encoding == self.endpoint.kind().encoding
    }

    /// Whether what is stored differs from the version of the request in more than its name.
    fn converts(&self) -> bool {
        self.endpoint.strategy().is_none() && !self.endpoint.version().is_as_stored
    }

    fn draft(&self, value: Value) -> Draft {
        let strategy = self.endpoint.strategy();
        let fields = strategy.map_or_else(Fields::default, |strategy| strategy.fields(&value));
        Draft { value, fields, encoding: self.endpoint.kind().encoding }
    }

    fn to_stored(&self, value: &mut Value) {
        if let Some(strategy) = self.endpoint.strategy() {
            conform::as_stored(value, self.endpoint.version().definition);
            strategy.store(value, self.endpoint.api_version());
        }
    }

    /// The live object as it is stored; custom resources are looked at in the version of the request.
    fn stored_form(&self, current: &Object, live: Value) -> Value {
        if self.endpoint.strategy().is_none() || self.endpoint.serves_as_stored(current) {
            return live;
        }
        let mut old = current.decode();
        self.endpoint.set_type(&mut old);
        old
    }

    /// What managed fields are tracked by.
    pub(crate) fn context(&self) -> apply::Context<'_> {
        apply::Context {
            types: &self.endpoint.version().types,
            kind: &self.endpoint.names().kind,
            api_version: self.endpoint.api_version(),
            subresource: &self.target.subresource,
            manager: self.manager,
            force: self.options.force,
            now: self.core.clock.timestamp(),
        }
    }
}

enum Tried {
    Done(Written),
    Again,
}

/// Whether nothing holds the object any more that is being deleted.
pub(crate) fn is_over(value: &Value, endpoint: &Endpoint) -> bool {
    let metadata = &value["metadata"];
    let is_namespace = endpoint.collection() == crate::store::NAMESPACES;
    !metadata["deletionTimestamp"].is_null()
        && rules::finalizers(metadata).is_empty()
        && !(is_namespace && value["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()))
}

fn no_namespace(namespace: &str) -> Status {
    Status::not_found(Subject { group: "", word: "namespaces" }, namespace)
}

/// Takes a field of the metadata back to what it was.
fn keep_metadata(value: &mut Value, old: &Value, name: &str) {
    let metadata = metadata_mut(value);
    match old["metadata"].get(name) {
        Some(kept) => metadata.insert(name.to_owned(), kept.clone()),
        None => metadata.remove(name),
    };
}

/// A write to the status subresource of a custom resource changes the status, and says who did.
fn only_status(value: &mut Value, old: &Value) {
    let (status, managers) = (value.get("status").cloned(), value["metadata"].get("managedFields").cloned());
    let version = value["metadata"].get("resourceVersion").cloned();
    *value = old.clone();
    match status {
        Some(status) => object_mut(value).insert("status".to_owned(), status),
        None => object_mut(value).remove("status"),
    };
    let metadata = metadata_mut(value);
    match managers {
        Some(managers) => metadata.insert("managedFields".to_owned(), managers),
        None => metadata.remove("managedFields"),
    };
    if let Some(version) = version {
        metadata.insert("resourceVersion".to_owned(), version);
    }
}
