//! What follows from a write: dependents go with their owners, namespaces and CRDs are emptied before
//! they go, and CRDs are served.
//!
//! An API server leaves this to controllers, which come a moment later. Here it is done before the
//! request that caused it is answered, step by step, so that nothing has to run in the background and a
//! test never waits. The steps, their order and the states that watches see are those of the
//! controllers.
//!
//! Behaviour: Kubernetes `pkg/controller/garbagecollector` and `pkg/controller/namespace`;
//! apiextensions-apiserver `pkg/controller/{status,establish,finalizer}`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::apply;
use crate::core::Core;
use crate::kinds::Strategy;
use crate::registry::Endpoint;
use crate::rest::{DeleteOptions, FOREGROUND, ORPHAN, Propagation, delete, finalizers, is_crd, is_over};
use crate::server::Server;
use crate::store::{Address, Draft, Fields, Key, NAMESPACES, Object, metadata_mut, object_mut};

/// The field manager of the controllers that this stands for.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const API_SERVER: &str = "kube-apiserver";

/// Something that is left to do.
enum Step {
    /// An object whose owners may be gone.
    Examine(Address),
    /// An owner that waits for its dependents to go.
    Foreground(Address),
    /// An owner whose dependents are to stay.
    Orphan(Address),
    /// The objects that a removed one owned.
    Dependents(Box<str>),
    /// A namespace that is being deleted.
    Empty(String),
    /// A CRD that is being deleted.
    EmptyCrd(Key),
}

impl Step {
    /// Whether a controller of kube-controller-manager takes it, and not the API server itself.
    fn is_of_controllers(&self) -> bool {
        !matches!(self, Self::EmptyCrd(_))
    }
}

/// What the controllers are kept from doing.
#[derive(Default)]
pub(crate) struct Halt(Mutex<Halted>);

#[derive(Default)]
struct Halted {
    guards: usize,
    steps: Vec<Step>,
}

impl Halt {
    /// Keeps a step for later while the controllers are halted; otherwise it is to be taken now.
    fn keep(&self, step: Step) -> Option<Step> {
        let mut halted = self.0.lock();
        if halted.guards == 0 || !step.is_of_controllers() {
            return Some(step);
        }
        halted.steps.push(step);
        None
    }

    fn end(&self) -> Vec<Step> {
        let mut halted = self.0.lock();
        halted.guards -= 1;
        if halted.guards > 0 { Vec::new() } else { std::mem::take(&mut halted.steps) }
    }
}

/// The controllers of a server, halted until this is dropped; see [`Server::halt_controllers`].
#[must_use = "they go on when this is dropped"]
pub struct HaltedControllers(Arc<Core>);

impl std::fmt::Debug for HaltedControllers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HaltedControllers").finish_non_exhaustive()
    }
}

impl Drop for HaltedControllers {
    fn drop(&mut self) {
        let steps = self.0.halt.end();
        self.0.settle(steps);
    }
}

impl Server {
    /// Halts what stands for kube-controller-manager: dependents stay when their owners go, and namespaces
    /// that are being deleted are not emptied. All that is done when the last guard is dropped.
    pub fn halt_controllers(&self) -> HaltedControllers {
        self.core.halt.0.lock().guards += 1;
        HaltedControllers(self.core.clone())
    }
}

thread_local! {
    /// What is left to do on this thread; `None` while nothing is being done.
    static QUEUE: RefCell<Option<VecDeque<Step>>> = const { RefCell::new(None) };
}

fn next_step() -> Option<Step> {
    QUEUE.with_borrow_mut(|queue| {
        let step = queue.as_mut().and_then(VecDeque::pop_front);
        if step.is_none() {
            *queue = None;
        }
        step
    })
}

impl Core {
    /// To be called after an object was created.
    pub(crate) fn created(&self, endpoint: &Endpoint, object: &Arc<Object>) {
        if is_crd(endpoint) {
            self.establish(object);
        }
        if !object.owners.is_empty() && is_collected(endpoint) {
            self.settle([Step::Examine(address(endpoint, object))]);
        }
    }

    /// To be called after an object was replaced.
    pub(crate) fn changed(&self, endpoint: &Endpoint, previous: &Object, object: &Arc<Object>) {
        let mut steps = Vec::new();
        if is_crd(endpoint) {
            if !object.is_deleting {
                self.establish(object);
            } else if !previous.is_deleting {
                steps.push(Step::EmptyCrd(object.key.clone()));
            }
        }
        steps.extend(self.after_change(endpoint, previous, object));
        self.settle(steps);
    }

    /// To be called after an object was removed.
    pub(crate) fn removed(&self, endpoint: &Endpoint, object: &Arc<Object>) {
        self.settle(self.after_removal(endpoint, object));
    }

    fn after_change(&self, endpoint: &Endpoint, previous: &Object, object: &Object) -> Vec<Step> {
        let mut steps = Vec::new();
        let at = || address(endpoint, object);
        if object.owners != previous.owners {
            steps.push(Step::Examine(at()));
            steps.extend(self.waiting_owners(previous).map(Step::Foreground));
        }
        if object.is_deleting {
            let has = |finalizer: &str| object.finalizers.iter().any(|one| &**one == finalizer);
            if has(ORPHAN) {
                steps.push(Step::Orphan(at()));
            }
            if has(FOREGROUND) {
                steps.push(Step::Foreground(at()));
            }
            if endpoint.collection() == NAMESPACES {
                steps.push(Step::Empty(object.key.name().to_owned()));
            }
        }
        steps
    }

    fn after_removal(&self, endpoint: &Endpoint, object: &Object) -> Vec<Step> {
        let mut steps = vec![Step::Dependents(object.uid.clone())];
        steps.extend(self.waiting_owners(object).map(Step::Foreground));
        if let Some(namespace) = object.key.namespace()
            && self.store.namespace(namespace).is_some_and(|state| state.is_terminating && state.objects == 0)
        {
            steps.push(Step::Empty(namespace.to_owned()));
        }
        if is_crd(endpoint) {
            let crd = object.decode();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            self.unregister(&text(&crd["spec"]["group"]), &text(&crd["spec"]["names"]["plural"]));
        } else if endpoint.strategy().is_none() {
            let names = endpoint.names();
            let crd = Key::new(None, &format!("{}.{}", names.plural, names.group));
            if self.crd(&crd).is_some_and(|crd| crd.is_deleting) {
                steps.push(Step::EmptyCrd(crd));
            }
        }
        steps
    }

    /// The owners of an object that wait in the foreground.
    fn waiting_owners<'a>(&'a self, object: &'a Object) -> impl Iterator<Item = Address> + use<'a> {
        let owners = object.owners.iter().filter(|owner| owner.blocks);
        owners.filter_map(|owner| self.store.find(&owner.uid)).filter(|address| self.is_waiting(address))
    }

    fn is_waiting(&self, address: &Address) -> bool {
        let owner = self.store.get(address.collection, &address.key);
        owner
            .is_some_and(|owner| owner.is_deleting && owner.finalizers.iter().any(|one| &**one == FOREGROUND))
    }

    /// Does the steps, and those that follow from them.
    ///
    /// A step can write, and a write ends here again: what follows from it then waits for its turn, so
    /// that a long chain of owners needs no deep stack. Nothing in between gives up the thread.
    fn settle(&self, steps: impl IntoIterator<Item = Step>) {
        let is_running = QUEUE.with_borrow_mut(|queue| {
            let is_running = queue.is_some();
            queue.get_or_insert_default().extend(steps);
            is_running
        });
        if is_running {
            return;
        }
        while let Some(step) = next_step() {
            self.take(step);
        }
    }

    fn take(&self, step: Step) {
        let Some(step) = self.halt.keep(step) else { return };
        match step {
            Step::Examine(address) => self.examine(&address),
            Step::Foreground(address) => self.finish_foreground(&address),
            Step::Orphan(address) => self.finish_orphan(&address),
            Step::Dependents(uid) => self.settle(self.store.dependents(&uid).into_iter().map(Step::Examine)),
            Step::Empty(namespace) => self.empty(&namespace),
            Step::EmptyCrd(crd) => self.empty_crd(&crd),
        }
    }

    fn endpoint_at(&self, address: &Address) -> Option<Endpoint> {
        self.kind_at(address).map(Endpoint::storage)
    }

    /// Deletes an object that has lost all its owners, or makes it forget those that are gone.
    fn examine(&self, address: &Address) {
        let Some(object) = self.store.get(address.collection, &address.key) else { return };
        let Some(endpoint) = self.endpoint_at(address).filter(is_collected) else { return };
        let value = object.decode();
        let (mut gone, mut waiting, mut solid) = (Vec::new(), Vec::new(), 0);
        for owner in value["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
            let uid = owner["uid"].as_str().unwrap_or_default();
            match self.owner(&object, owner) {
                Owner::Gone => gone.push(uid),
                Owner::Waiting => waiting.push(uid),
                Owner::Solid => solid += 1,
            }
        }
        if gone.is_empty() && waiting.is_empty() {
            return;
        }
        if solid > 0 {
            let left: Vec<_> = gone.iter().chain(&waiting).map(|uid| (*uid).to_owned()).collect();
            self.edit(&endpoint, &object.key, CONTROLLER_MANAGER, "", &|value| forget_owners(value, &left));
        } else if !object.is_deleting {
            self.collect(&endpoint, &object, !waiting.is_empty());
        }
    }

    fn collect(&self, endpoint: &Endpoint, object: &Object, is_awaited: bool) {
        let has = |finalizer: &str| object.finalizers.iter().any(|one| &**one == finalizer);
        let propagation = match () {
            () if is_awaited && !self.store.dependents(&object.uid).is_empty() => Propagation::Foreground,
            () if has(ORPHAN) => Propagation::Orphan,
            () if has(FOREGROUND) => Propagation::Foreground,
            () => Propagation::Background,
        };
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(object.uid.to_string()),
            ..DeleteOptions::default()
        };
        if let Err(status) = delete(self, endpoint, &object.key, &options) {
            tracing::debug!(object = object.key.text(), ?status, "garbage was not collected");
        }
    }

    fn owner(&self, object: &Object, reference: &Value) -> Owner {
        let text = |name: &str| reference[name].as_str().unwrap_or_default();
        let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
        let registry = self.registry();
        // Nobody can say whether an object of an unknown kind is there.
        let Some(kind) = registry.named(group, text("kind")) else { return Owner::Solid };
        let namespace = if kind.is_namespaced { object.key.namespace() } else { None };
        let key = Key::new(namespace, text("name"));
        match self.store.get(kind.collection, &key) {
            Some(owner) if *owner.uid == *text("uid") => {
                let address = Address { collection: kind.collection, key };
                if self.is_waiting(&address) { Owner::Waiting } else { Owner::Solid }
            }
            _ => Owner::Gone,
        }
    }

    /// Deletes the dependents of an owner; lets the owner go when those that block it are gone.
    fn finish_foreground(&self, address: &Address) {
        if !self.is_waiting(address) {
            return;
        }
        let (Some(owner), Some(endpoint)) =
            (self.store.get(address.collection, &address.key), self.endpoint_at(address))
        else {
            return;
        };
        for dependent in self.store.dependents(&owner.uid) {
            self.examine(&dependent);
        }
        let blocks = |dependent: &Address| {
            let object = self.store.get(dependent.collection, &dependent.key);
            object.is_some_and(|object| object.owners.iter().any(|one| one.uid == owner.uid && one.blocks))
        };
        if self.store.dependents(&owner.uid).iter().any(blocks) {
            return;
        }
        self.edit(&endpoint, &owner.key, CONTROLLER_MANAGER, "", &|value| {
            remove_finalizer(value, FOREGROUND)
        });
    }

    /// Makes the dependents of an owner forget it, then lets it go.
    fn finish_orphan(&self, address: &Address) {
        let (Some(owner), Some(endpoint)) =
            (self.store.get(address.collection, &address.key), self.endpoint_at(address))
        else {
            return;
        };
        let uids = [owner.uid.to_string()];
        for dependent in self.store.dependents(&owner.uid) {
            if let Some(endpoint) = self.endpoint_at(&dependent) {
                self.edit(&endpoint, &dependent.key, CONTROLLER_MANAGER, "", &|value| {
                    forget_owners(value, &uids)
                });
            }
        }
        self.edit(&endpoint, &owner.key, CONTROLLER_MANAGER, "", &|value| remove_finalizer(value, ORPHAN));
    }

    /// Deletes what is in a namespace; lets the namespace go when nothing is left in it.
    fn empty(&self, namespace: &str) {
        if self.store.namespace(namespace).is_none_or(|state| !state.is_terminating) {
            return;
        }
        for address in self.store.content(namespace) {
            let Some(object) = self.store.get(address.collection, &address.key) else { continue };
            let Some(endpoint) = self.endpoint_at(&address).filter(|_| !object.is_deleting) else { continue };
            let options =
                DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
            if let Err(status) = delete(self, &endpoint, &address.key, &options) {
                tracing::debug!(object = address.key.text(), ?status, "a namespace's object was not deleted");
            }
        }
        if self.store.namespace(namespace).is_some_and(|state| state.objects == 0) {
            let key = Key::new(None, namespace);
            let at = Address { collection: NAMESPACES, key: key.clone() };
            let Some(endpoint) = self.endpoint_at(&at) else { return };
            self.edit(&endpoint, &key, CONTROLLER_MANAGER, "finalize", &|value| {
                object_mut(&mut value["spec"]).remove("finalizers").is_some()
            });
        }
    }

    fn crd(&self, key: &Key) -> Option<Arc<Object>> {
        let registry = self.registry();
        let kind = registry.kind("apiextensions.k8s.io", "customresourcedefinitions")?;
        self.store.get(kind.collection, key)
    }

    /// Deletes the resources of a CRD; lets the CRD go when none is left.
    fn empty_crd(&self, key: &Key) {
        let registry = self.registry();
        let Some((plural, group)) = key.name().split_once('.') else { return };
        let Some(crds) = registry.kind("apiextensions.k8s.io", "customresourcedefinitions") else { return };
        if let Some(kind) = registry.kind(group, plural) {
            let endpoint = Endpoint::storage(kind.clone());
            let everything = self.store.list(
                kind.collection,
                crate::store::Query::default(),
                &crate::store::Filter::default(),
            );
            for object in everything.map(|page| page.objects).unwrap_or_default() {
                if !object.is_deleting
                    && let Err(status) = delete(self, &endpoint, &object.key, &DeleteOptions::default())
                {
                    tracing::debug!(object = object.key.text(), ?status, "a CRD's object was not deleted");
                }
            }
            if self.store.count(kind.collection) > 0 {
                return;
            }
        }
        let endpoint = Endpoint::storage(crds.clone());
        self.edit(&endpoint, key, API_SERVER, "", &|value| remove_finalizer(value, crate::kinds::CLEANUP));
    }

    /// Accepts the names of a CRD, and serves its kind.
    fn establish(&self, crd: &Arc<Object>) {
        let registry = self.registry();
        let Some(kind) = registry.kind("apiextensions.k8s.io", "customresourcedefinitions") else { return };
        let endpoint = Endpoint::storage(kind.clone());
        let now = self.clock.seconds();
        let value = crd.decode();
        let conflict = self.name_conflict(&value);
        if conflict.is_none() {
            self.register(&value);
        }
        self.edit(&endpoint, &crd.key, API_SERVER, "status", &|value| {
            establish(value, &now, conflict.as_ref())
        });
    }

    /// The reason and the message when another kind of the group has a name of this CRD.
    fn name_conflict(&self, crd: &Value) -> Option<(&'static str, String)> {
        let names = &crd["spec"]["names"];
        let group = crd["spec"]["group"].as_str().unwrap_or_default();
        let registry = self.registry();
        let others = || {
            registry
                .kinds()
                .filter(|kind| *kind.names.group == *group && names["plural"] != *kind.names.plural)
        };
        let text = |name: &str| names[name].as_str().unwrap_or_default().to_owned();
        let (kind, singular) = (text("kind"), text("singular"));
        if others().any(|other| *other.names.kind == *kind) {
            return Some(("KindConflict", format!("{kind:?} is already in use")));
        }
        if others().any(|other| *other.names.singular == *singular) {
            return Some(("SingularConflict", format!("{singular:?} is already in use")));
        }
        None
    }

    /// Changes a stored object; `change` says whether it changed anything.
    fn edit(
        &self,
        endpoint: &Endpoint,
        key: &Key,
        manager: &str,
        subresource: &str,
        change: &dyn Fn(&mut Value) -> bool,
    ) {
        while let Some(current) = self.store.get(endpoint.collection(), key) {
            let mut old = current.decode();
            endpoint.set_type(&mut old);
            let mut value = old.clone();
            if !change(&mut value) {
                return;
            }
            let value = self.tracked(endpoint, &old, value, manager, subresource);
            let is_over = is_over(&value, endpoint);
            let strategy = endpoint.strategy();
            let fields = strategy.map_or_else(Fields::default, |strategy| strategy.fields(&value));
            let mut draft = Draft { value, fields, encoding: current.encoding };
            let collection = endpoint.collection();
            if is_over {
                if let Ok(object) = self.store.delete(collection, &current, &mut draft) {
                    return self.settle(self.after_removal(endpoint, &object));
                }
            } else if let Ok(object) = self.store.update(collection, &current, &mut draft) {
                return self.settle(self.after_change(endpoint, &current, &object));
            }
        }
    }

    fn tracked(
        &self,
        endpoint: &Endpoint,
        old: &Value,
        value: Value,
        manager: &str,
        subresource: &str,
    ) -> Value {
        let context = apply::Context {
            types: &endpoint.version().types,
            kind: &endpoint.names().kind,
            api_version: endpoint.api_version(),
            subresource,
            manager,
            force: false,
            now: self.clock.timestamp(),
        };
        apply::update(Some(old), value, &context)
    }
}

enum Owner {
    /// It is there, and not about to go.
    Solid,
    /// It is not there.
    Gone,
    /// It waits for its dependents to go.
    Waiting,
}

fn is_collected(endpoint: &Endpoint) -> bool {
    endpoint.strategy().is_none_or(Strategy::is_collected)
}

fn address(endpoint: &Endpoint, object: &Object) -> Address {
    Address { collection: endpoint.collection(), key: object.key.clone() }
}

fn forget_owners(value: &mut Value, uids: &[String]) -> bool {
    let metadata = metadata_mut(value);
    let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") else { return false };
    let before = owners.len();
    owners.retain(|owner| !uids.iter().any(|uid| owner["uid"] == **uid));
    let is_changed = owners.len() != before;
    if owners.is_empty() {
        metadata.remove("ownerReferences");
    }
    is_changed
}

fn remove_finalizer(value: &mut Value, finalizer: &str) -> bool {
    if !finalizers(&value["metadata"]).contains(&finalizer) {
        return false;
    }
    let metadata = metadata_mut(value);
    if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
        finalizers.retain(|one| one != finalizer);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        }
    }
    true
}

/// Sets the names and conditions of a CRD.
fn establish(crd: &mut Value, now: &str, conflict: Option<&(&'static str, String)>) -> bool {
    let before = crd["status"].clone();
    if conflict.is_none() {
        let names = crd["spec"]["names"].clone();
        object_mut(&mut crd["status"]).insert("acceptedNames".to_owned(), names);
    }
    let (accepted, established) = match conflict {
        None => (
            ("True", "NoConflicts", "no conflicts found"),
            ("True", "InitialNamesAccepted", "the initial names have been accepted"),
        ),
        Some((reason, message)) => {
            (("False", *reason, message.as_str()), ("False", "NotAccepted", "not all names are accepted"))
        }
    };
    set_condition(&mut crd["status"], "NamesAccepted", accepted, now);
    set_condition(&mut crd["status"], "Established", established, now);
    crd["status"] != before
}

fn set_condition(status: &mut Value, name: &str, (is, reason, message): (&str, &str, &str), now: &str) {
    let condition = json!({
        "type": name, "status": is, "lastTransitionTime": now, "reason": reason, "message": message,
    });
    let conditions = object_mut(status).entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else { return };
    match conditions.iter_mut().find(|condition| condition["type"] == name) {
        // An established CRD stays so.
        Some(present) if present["status"] == is || name == "Established" => {}
        Some(present) => *present = condition,
        None => conditions.push(condition),
    }
}
