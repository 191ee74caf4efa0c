//! Server-side apply and managed fields, as pure functions over JSON objects.
//!
//! [`apply`] answers an apply patch, [`update`] tracks any other write, and [`keep_times`] has the last
//! word on both: it lets a write that changes nothing change nothing. Storing, defaulting, validating and
//! admission are the caller's. The facts are those of kube-apiserver 1.36.3 (apimachinery `managedfields`,
//! structured-merge-diff); `tests/apply` compares the two.
//!
//! Ownership across API versions is not here yet: entries of other versions of a kind are treated as if
//! they spoke of the version of the request.

mod last_applied;
mod managers;
mod path;
mod set;
mod types;
mod value;
mod walk;

use std::borrow::Cow;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use self::managers::{Entry, Manager, Managers, metadata};
use self::walk::Comparison;

pub use self::managers::Operation;
pub use self::path::{PathElement, Scalar};
pub use self::set::FieldSet;
pub use self::types::Types;
pub(crate) use self::types::{definition, definition_of};
pub(crate) use self::value::{plain, quote, type_name};

/// What is known of a request besides its body.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The types of the kind.
    pub types: &'a Types,
    /// The kind that the endpoint serves.
    pub kind: &'a str,
    /// The API version that the endpoint serves, such as `v1` or `rbac.authorization.k8s.io/v1`.
    pub api_version: &'a str,
    /// Empty for the main endpoint.
    pub subresource: &'a str,
    /// The field manager; see [`manager_name`]. Empty counts as `unknown`.
    pub manager: &'a str,
    /// Whether an apply takes what others own. Nothing else looks at it.
    pub force: bool,
    /// The time of the request.
    pub now: Timestamp,
}

impl Context<'_> {
    fn me(&self, operation: Operation) -> Manager {
        Manager::of(self.manager, operation, self.api_version, self.subresource)
    }

    /// What nobody comes to own through this endpoint, because it is given back to what is stored.
    fn reset(&self) -> FieldSet {
        let mut set = FieldSet::default();
        for name in self.types.resets(self.subresource) {
            set.insert(&[PathElement::field(*name)]);
        }
        set
    }
}

/// Why an apply is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Others own what would change: 409, reason `Conflict`. Applying with force takes it.
    #[error("{message}")]
    Conflict {
        /// The message of the status.
        message: String,
        /// One for each field and owner.
        causes: Vec<Cause>,
    },
    /// The patch is not one for this endpoint: 400, reason `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// The patch or what is stored does not fit the types: 500 without a reason, as upstream answers.
    #[error("{0}")]
    Types(String),
}

impl Error {
    /// The HTTP status code.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::Conflict { .. } => 409,
            Self::BadRequest(_) => 400,
            Self::Types(_) => 500,
        }
    }

    /// The reason of the status; empty where upstream gives none.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "Conflict",
            Self::BadRequest(_) => "BadRequest",
            Self::Types(_) => "",
        }
    }
}

/// A cause of a conflict; its reason is [`Cause::REASON`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Who owns the field.
    pub message: String,
    /// The path of the field.
    pub field: String,
}

impl Cause {
    /// The type of the cause, which the wire calls its reason.
    pub const REASON: &'static str = "FieldManagerConflict";
}

/// Whom fields belong to that were there before anything was applied, where nothing says whose they are.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// What is never owned: an object's identity, and what the server keeps.
static UNTRACKED: LazyLock<FieldSet> = LazyLock::new(|| {
    let mut set = FieldSet::default();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[PathElement::field(name)]);
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        set.insert(&[PathElement::field("metadata"), PathElement::field(name)]);
    }
    set
});

/// The field manager of a request: what it asks for, or the first word of its user agent.
///
/// Of a user agent the text before the first `/` counts, without what cannot be printed and not longer
/// than 128 bytes. An apply must name its manager itself; that is the caller's to check.
///
/// Behaviour: apiserver `endpoints/handlers/create.go`, `managerOrUserAgent`.
#[must_use]
pub fn manager_name(asked: &str, user_agent: &str) -> String {
    if !asked.is_empty() {
        return asked.to_owned();
    }
    let mut name = String::new();
    let word = user_agent.split('/').next().unwrap_or_default();
    for c in word.chars().filter(|c| !c.is_control()) {
        if name.len() + c.len_utf8() > 128 {
            break;
        }
        name.push(c);
    }
    name
}

/// Merges an applied configuration into an object and tracks who owns what from now on.
///
/// `live` is the object as stored, in the version of the endpoint; `None` creates it. The result is what
/// is to be defaulted, validated, compared by [`keep_times`] and stored. An applied resource version or
/// UID ends up in it as any field does; checking them is the caller's.
///
/// The manager `kubectl` is special upstream, and so here: it takes over what it once applied on the
/// client's side, and keeps the annotation about that up to date.
///
/// # Errors
/// See [`Error`]; nothing is half done.
pub fn apply(live: Option<&Value>, applied: &Value, ctx: &Context<'_>) -> Result<Value, Error> {
    check_applied(applied, ctx)?;
    let live = live.map_or_else(|| Cow::Owned(empty_object(ctx)), Cow::Borrowed);
    let managers = Managers::decode(&live)
        .map_err(|why| Error::Types(format!("failed to decode managed fields: {why}")))?;
    fits(applied, ctx, "patch", false)?;
    fits(&live, ctx, "live", true)?;
    let managers = if managers.is_empty() { before_first_apply(&live, ctx) } else { managers };

    let (mut object, managers) = match merge_applied(&live, applied, &managers, ctx, ctx.force) {
        Err(conflicts) if ctx.manager == last_applied::MANAGER => {
            let conflicts = last_applied::unexpected(&live, conflicts, ctx);
            if !conflicts.is_empty() {
                return Err(conflict_error(&conflicts));
            }
            merge_applied(&live, applied, &managers, ctx, true)
        }
        merged => merged,
    }
    .map_err(|conflicts| conflict_error(&conflicts))?;
    if ctx.manager == last_applied::MANAGER {
        last_applied::refresh(&mut object, applied);
    }
    managers.encode_into(&mut object);
    Ok(object)
}

/// Tracks who owns what after a create, an update, or a patch that is not an apply.
///
/// `live` is the object as stored, `None` for a create; `new` is what is to be stored, as it came from the
/// client: after decoding and defaulting, before anything that the server fills in. What changes belongs
/// to the manager; everybody else loses it. Where `new` has entries of its own these count, and an empty
/// list of them, or one with a single empty entry, forgets all owners.
///
/// An object that nobody owns anything of stays so until something is applied to it. This never fails:
/// if an object does not fit its types it is left without managers.
#[must_use]
pub fn update(live: Option<&Value>, mut new: Value, ctx: &Context<'_>) -> Value {
    let managers = managers_of_update(live, &new, ctx);
    forget_managers(&mut new);
    if live.is_some() && managers.is_empty() {
        return new;
    }
    let old = live.map_or_else(|| Cow::Owned(empty_object(ctx)), Cow::Borrowed);
    if fits(&new, ctx, "new", true).is_ok() && fits(&old, ctx, "live", true).is_ok() {
        track(managers, &old, &new, ctx.manager, ctx).encode_into(&mut new);
    }
    new
}

/// Takes the times of the managers back if they are all that a write changes.
///
/// To be called last, on what is about to replace `old`, after defaulting; a write that then changes
/// nothing is to be dropped by the store, so that the resource version stays.
///
/// Behaviour: apiserver `endpoints/handlers/fieldmanager/equality.go`.
pub fn keep_times(old: &Value, new: &mut Value) {
    if let (Some(was), Some(is)) = (managers::raw(old), managers::raw(new))
        && was != is
        && same_but_times(was, is)
        && same_but_managers(old, new)
    {
        let entries = was.clone();
        if let Some(metadata) = metadata(new) {
            metadata.insert("managedFields".to_owned(), entries);
        }
    }
}

/// Whether two lists of managers say the same of who owns what.
fn same_but_times(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_array(), b.as_array()) else { return false };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_but(a, b, "time", |_, _| true))
}

fn same_but_managers(a: &Value, b: &Value) -> bool {
    same_but(a, b, "metadata", |a, b| same_but(a, b, "managedFields", |_, _| true))
}

/// Whether two maps have the same fields, one of which is compared in a way of its own.
fn same_but(a: &Value, b: &Value, name: &str, same: impl Fn(&Value, &Value) -> bool) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return false };
    let others = |fields: &'_ Map<String, Value>| fields.len() - usize::from(fields.contains_key(name));
    others(a) == others(b)
        && a.iter().all(|(field, x)| match b.get(field) {
            Some(y) if field == name => same(x, y),
            Some(y) => x == y,
            None => field == name,
        })
}

fn check_applied(applied: &Value, ctx: &Context<'_>) -> Result<(), Error> {
    let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if (api_version, kind) != (ctx.api_version, ctx.kind) {
        return Err(Error::BadRequest(format!("invalid object type: {}", go_kind(api_version, kind))));
    }
    if managers::raw(applied).is_some_and(Value::is_array) {
        return Err(Error::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    Ok(())
}

/// Go's text for a group, version and kind.
fn go_kind(api_version: &str, kind: &str) -> String {
    // A version alone is of the core group, whose name is empty.
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

/// Whether an object fits the types of its kind.
fn fits(object: &Value, ctx: &Context<'_>, what: &str, duplicates: bool) -> Result<(), Error> {
    let problems = walk::problems(object, ctx.types.root(), duplicates);
    if problems.is_empty() {
        return Ok(());
    }
    let metadata = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let problems = match problems.as_slice() {
        [one] => one.clone(),
        all => format!("errors:\n  {}", all.join("\n  ")),
    };
    Err(Error::Types(format!(
        "failed to create typed {what} object ({}/{}; {}): {problems}",
        metadata("namespace"),
        metadata("name"),
        go_kind(text("apiVersion"), text("kind")),
    )))
}

/// What an object of a kind is before anything is in it.
fn empty_object(ctx: &Context<'_>) -> Value {
    let mut object = empty_fields(ctx.api_version, ctx.kind);
    object["apiVersion"] = json!(ctx.api_version);
    object["kind"] = json!(ctx.kind);
    object["metadata"] = json!({});
    object
}

/// The fields that the API server's Go types always write: their empty values are not a change.
fn empty_fields(api_version: &str, kind: &str) -> Value {
    match (api_version, kind) {
        ("v1", "Namespace") => json!({"spec": {}, "status": {}}),
        ("v1", "Service") => json!({"spec": {}, "status": {"loadBalancer": {}}}),
        ("v1", "Event") => json!({
            "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
            "eventTime": null, "reportingComponent": "", "reportingInstance": "",
        }),
        ("events.k8s.io/v1", "Event") => json!({
            "regarding": {}, "deprecatedSource": {}, "deprecatedFirstTimestamp": null,
            "deprecatedLastTimestamp": null, "eventTime": null,
        }),
        ("coordination.k8s.io/v1", "Lease") => json!({"spec": {}}),
        ("discovery.k8s.io/v1", "EndpointSlice") => {
            json!({"addressType": "", "endpoints": null, "ports": null})
        }
        ("rbac.authorization.k8s.io/v1", "ClusterRole" | "Role") => json!({"rules": null}),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding" | "RoleBinding") => {
            json!({"roleRef": {"apiGroup": "", "kind": "", "name": ""}})
        }
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => json!({
            "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": null},
            "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null},
        }),
        _ => json!({}),
    }
}

fn forget_managers(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// The managers that an update starts from: those it brings, or those of the object as stored.
fn managers_of_update(live: Option<&Value>, new: &Value, ctx: &Context<'_>) -> Managers {
    let stored = || live.and_then(|live| Managers::decode(live).ok()).unwrap_or_default();
    if !ctx.subresource.is_empty() {
        return stored();
    }
    if managers::raw(new).is_some_and(managers::is_reset) {
        return Managers::default();
    }
    match Managers::decode(new) {
        Ok(managers) if !managers.is_empty() => managers,
        _ => stored(),
    }
}

/// Gives everything that an object has to whoever was before the first apply.
fn before_first_apply(live: &Value, ctx: &Context<'_>) -> Managers {
    track(Managers::default(), &empty_object(ctx), live, BEFORE_FIRST_APPLY, ctx)
}

/// Gives what changed to a manager and takes it from everybody else.
fn track(managers: Managers, old: &Value, new: &Value, manager: &str, ctx: &Context<'_>) -> Managers {
    let mut managers = reconciled(managers, ctx);
    let changes = Comparison::of(old, new, ctx.types.root()).without(&ctx.reset());
    managers.take(&changes.set(), None);
    managers.take(&changes.removed, None);
    let mine = changes.set().without(&ctx.reset()).difference(&UNTRACKED);
    if !mine.is_empty() {
        let me = Manager::of(manager, Operation::Update, ctx.api_version, ctx.subresource);
        let before = managers.entries.remove(&me).map(|entry| entry.set).unwrap_or_default();
        let set = mine.union(before);
        let entry = Entry { api_version: ctx.api_version.to_owned(), set, time: Some(ctx.now) };
        managers.entries.insert(me, entry);
    }
    managers.cap();
    managers
}

/// The managers' sets under the schema of today.
fn reconciled(mut managers: Managers, ctx: &Context<'_>) -> Managers {
    for entry in managers.entries.values_mut() {
        entry.set = walk::reconciled(std::mem::take(&mut entry.set), ctx.types.root());
    }
    managers
}

/// A field that an apply would change and that somebody else owns.
struct Conflict {
    manager: Manager,
    path: Vec<PathElement>,
}

/// The object after an apply, without its managers, and the managers.
fn merge_applied(
    live: &Value,
    applied: &Value,
    managers: &Managers,
    ctx: &Context<'_>,
    force: bool,
) -> Result<(Value, Managers), Vec<Conflict>> {
    let (me, types) = (ctx.me(Operation::Apply), ctx.types.root());
    let mut managers = reconciled(managers.clone(), ctx);
    let before = managers.entries.remove(&me);
    let mine = walk::field_set(applied, types).without(&ctx.reset());
    let entry = Entry {
        api_version: ctx.api_version.to_owned(),
        set: mine,
        time: before.as_ref().and_then(|entry| entry.time),
    };
    managers.entries.insert(me.clone(), entry);

    let merged = walk::merge(live, applied, types);
    let object = match before {
        Some(before) => pruned(merged, &before.set, &managers.all(), ctx),
        None => merged,
    };
    let changes = Comparison::of(live, &object, types).without(&ctx.reset());
    if !force {
        let conflicts = conflicts(&changes.set(), &managers, &me);
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
    }
    managers.take(&changes.set(), Some(&me));
    managers.take(&changes.removed, Some(&me));
    if let Some(entry) = managers.entries.get_mut(&me) {
        if !value::equal(live, &object) {
            entry.time = Some(ctx.now);
        }
        entry.set = std::mem::take(&mut entry.set).difference(&UNTRACKED);
    }
    managers.drop_idle();
    Ok((object, managers))
}

/// Removes what a manager applied before and applies no longer, unless somebody owns it.
///
/// A container goes with the last that is in it; what was never applied by the manager stays in any case.
fn pruned(merged: Value, before: &FieldSet, owned: &FieldSet, ctx: &Context<'_>) -> Value {
    if before.is_empty() {
        return merged;
    }
    let types = ctx.types.root();
    let named = |set: &FieldSet| walk::with_named(set, Some(types));
    let all = |object: &Value| named(&walk::field_set(object, types));
    let (before, everything) = (named(before), all(&merged));

    let bare = walk::remove(&merged, &before, types);
    // Back comes what somebody owns.
    let kept = all(&bare).union(named(owned));
    let kept = walk::remove(&merged, &everything.clone().difference(&kept), types);
    // Back comes what was not of this manager and went with its container.
    let gone = everything.difference(&all(&kept)).intersection(&before);
    walk::remove(&merged, &gone, types)
}

fn conflicts(changed: &FieldSet, managers: &Managers, me: &Manager) -> Vec<Conflict> {
    let others = managers.entries.iter().filter(|(manager, _)| *manager != me);
    others
        .flat_map(|(manager, entry)| {
            let paths = entry.set.intersection(changed).paths();
            paths.into_iter().map(|path| Conflict { manager: manager.clone(), path })
        })
        .collect()
}

/// Behaviour: apimachinery `managedfields/internal/conflict.go`. Upstream lists the causes of different
/// managers in any order; here they are sorted as in the message.
fn conflict_error(conflicts: &[Conflict]) -> Error {
    let path = |conflict: &Conflict| conflict.path.iter().map(ToString::to_string).collect::<String>();
    let causes = conflicts.iter().map(|conflict| Cause {
        message: format!("conflict with {}", conflict.manager.text()),
        field: path(conflict),
    });
    let causes = causes.collect();
    let message = match conflicts {
        [one] => format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager.text(), path(one)),
        all => {
            let mut lines = Vec::new();
            for conflicts in all.chunk_by(|a, b| a.manager == b.manager) {
                let manager = conflicts.first().map(|conflict| conflict.manager.text()).unwrap_or_default();
                lines.push(format!("conflicts with {manager}:"));
                lines.extend(conflicts.iter().map(|conflict| format!("- {}", path(conflict))));
            }
            format!("Apply failed with {} conflicts: {}", all.len(), lines.join("\n"))
        }
    };
    Error::Conflict { message, causes }
}
