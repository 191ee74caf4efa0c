//! Any hook of any handler: one by name, or all that serve it.
//!
//! Mirrors Cluster API `internal/runtime/client/client.go`, `CallExtension` and `CallAllExtensions`.

use std::collections::BTreeMap;
use std::sync::Arc;

use kapstan_api::extension_config::FailurePolicy;
use kapstan_api::hooks::{self, Hook, Request as _, Response as _};
use kube::core::SelectorExt as _;
use parking_lot::RwLock;

use super::client::{Cause, Client};
use super::error::CallError;
use super::gate::{Gate, Windows};
use super::policy::settle;
use super::registry::{Namespaces, Registration, Registry, RegistryError};
use super::settings;

/// The labels of namespaces.
pub trait NamespaceLabels: Send + Sync + 'static {
    /// The labels of a namespace; `None` when there is no such namespace.
    fn labels(&self, namespace: &str) -> Option<BTreeMap<String, String>>;
}

/// Why a hook has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It is not known yet which handlers there are. Try again.
    #[error("failed to find the handlers of hook {hook}")]
    Registry {
        /// Name of the hook.
        hook: &'static str,
        /// What the registry says.
        #[source]
        reason: RegistryError,
    },
    /// There is no such handler. Wait for its extension.
    #[error("handler {handler} is not registered")]
    NotRegistered {
        /// Full name.
        handler: Box<str>,
    },
    /// The handler serves another hook.
    #[error("handler {handler} does not serve hook {hook}")]
    OtherHook {
        /// Full name.
        handler: Box<str>,
        /// The hook that was to be called.
        hook: &'static str,
    },
    /// The handler serves a version of the hook that is not known here.
    #[error("handler {handler} serves hook {hook} in version {version}, which is not known")]
    UnknownVersion {
        /// Full name.
        handler: Box<str>,
        /// The hook that was to be called.
        hook: &'static str,
        /// Group and version.
        version: Box<str>,
    },
    /// The object's namespace is not there.
    #[error("handler {handler} selects namespaces, and there is no namespace {namespace}")]
    NamespaceNotFound {
        /// Full name.
        handler: Box<str>,
        /// The object's namespace.
        namespace: Box<str>,
    },
    /// The extension is not for the object's namespace.
    #[error("handler {handler} is not for objects in namespace {namespace}")]
    NamespaceNotSelected {
        /// Full name.
        handler: Box<str>,
        /// The object's namespace.
        namespace: Box<str>,
    },
    /// The call failed, or the extension said no.
    #[error(transparent)]
    Call(Arc<CallError>),
}

/// Calls handlers of any hook.
pub struct HookClient {
    client: Arc<Client>,
    registry: RwLock<Registry>,
    namespaces: Arc<dyn NamespaceLabels>,
    windows: Windows,
}

impl HookClient {
    /// A client without registrations, not warm.
    #[must_use]
    pub fn new(client: Arc<Client>, namespaces: Arc<dyn NamespaceLabels>) -> Self {
        Self { client, registry: RwLock::default(), namespaces, windows: Windows::default() }
    }

    /// The registrations, to change them. Do not hold it while waiting.
    pub fn registry(&self) -> &RwLock<Registry> {
        &self.registry
    }

    /// Calls one handler, by its full name, for an object in `namespace`. Settings of the `ExtensionConfig` go with it,
    /// those in the request win. A failed call counts as an empty answer of success where the handler's failure policy
    /// says so.
    ///
    /// # Errors
    /// [`HookError`].
    pub async fn call<H: Hook>(
        &self,
        handler: &str,
        namespace: &str,
        request: &H::Request,
    ) -> Result<H::Response, HookError> {
        let found = self.registry.read().get(handler).map(Option::<&_>::cloned);
        let found = found.map_err(|reason| HookError::Registry { hook: H::NAME, reason })?;
        let registration = found.ok_or_else(|| HookError::NotRegistered { handler: bounded(handler) })?;
        if !registration.hook.is_same_hook(&H::group_version_hook()) {
            return Err(HookError::OtherHook { handler: bounded(handler), hook: H::NAME });
        }
        if !self.is_for(&registration, namespace)? {
            let namespace = bounded(namespace);
            return Err(HookError::NamespaceNotSelected { handler: bounded(handler), namespace });
        }
        self.post::<H>(&registration, request).await
    }

    /// Calls all handlers of a hook that are for objects in `namespace`, one after the other, sorted by name, and makes
    /// one answer of theirs. The first failure ends it.
    ///
    /// # Errors
    /// [`HookError`] of the first that fails. Nothing is called when it cannot be said of every handler whether it is for
    /// the namespace.
    pub async fn call_all<H: Hook>(
        &self,
        namespace: &str,
        request: &H::Request,
    ) -> Result<H::Response, HookError> {
        let selected = self.selected::<H>(namespace)?;
        let mut responses = Vec::with_capacity(selected.len());
        for registration in selected {
            responses.push(self.post::<H>(&registration, request).await?);
        }
        Ok(hooks::aggregate(&responses))
    }

    /// Whether a hook lets an object (by its UID) go on. Asks those of its handlers whose time has come; see
    /// [`gate`](super::gate).
    ///
    /// # Errors
    /// [`HookError`] of the first call that fails; what others have said stays.
    pub async fn gate<H: Hook>(
        &self,
        object: &Arc<str>,
        namespace: &str,
        request: &H::Request,
    ) -> Result<Gate, HookError> {
        let selected = self.selected::<H>(namespace)?;
        for registration in &selected {
            if !self.windows.is_due(H::NAME, object, &registration.name, self.client.now()) {
                continue;
            }
            let response = self.post::<H>(registration, request).await?;
            let seconds = response.retry_after_seconds().unwrap_or(0);
            let now = self.client.now();
            self.windows.note(H::NAME, object, &registration.name, seconds, response.message(), now);
        }
        let handlers: Vec<_> = selected.iter().map(|registration| registration.name.clone()).collect();
        Ok(self.windows.gate(H::NAME, object, &handlers, self.client.now()))
    }

    /// Forgets what handlers have said of an object that is gone.
    pub fn forget(&self, object: &str) {
        self.windows.forget(object);
    }

    /// The handlers of a hook that are for objects in a namespace, sorted by name.
    fn selected<H: Hook>(&self, namespace: &str) -> Result<Vec<Arc<Registration>>, HookError> {
        let hook = H::group_version_hook();
        let found = self.registry.read().list(&hook.group, &hook.hook);
        let found = found.map_err(|reason| HookError::Registry { hook: H::NAME, reason })?;
        let mut selected = Vec::with_capacity(found.len());
        for registration in found {
            if self.is_for(&registration, namespace)? {
                selected.push(registration);
            }
        }
        Ok(selected)
    }

    fn is_for(&self, registration: &Registration, namespace: &str) -> Result<bool, HookError> {
        match &registration.namespaces {
            Namespaces::None => Ok(false),
            Namespaces::All => Ok(true),
            Namespaces::Matching(selector) => match self.namespaces.labels(namespace) {
                Some(labels) => Ok(selector.matches(&labels)),
                None => Err(HookError::NamespaceNotFound {
                    handler: bounded(&registration.name),
                    namespace: bounded(namespace),
                }),
            },
        }
    }

    async fn post<H: Hook>(
        &self,
        registration: &Registration,
        request: &H::Request,
    ) -> Result<H::Response, HookError> {
        if !registration.hook.is_known() {
            return Err(HookError::UnknownVersion {
                handler: bounded(&registration.name),
                hook: H::NAME,
                version: bounded(&registration.hook.api_version()),
            });
        }
        let mut request = request.clone();
        request.set_settings(settings::merge(&registration.extension.settings, &request.settings()));
        let called = self.client.call_hook::<H>(registration, &request, Cause::Change).await;
        let policy = registration.failure_policy.as_ref().unwrap_or(&FailurePolicy::Fail);
        settle(called, policy, H::Response::success).map_err(HookError::Call)
    }
}

impl std::fmt::Debug for HookClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookClient").field("client", &self.client).finish_non_exhaustive()
    }
}

fn bounded(text: &str) -> Box<str> {
    kapstan_api::text::foreign_within(text, 512).into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kapstan_api::extension_config::ExtensionConfig;
    use kapstan_api::hooks::BeforeClusterUpgrade;
    use kapstan_api::types::hooks::BeforeClusterUpgradeRequest;
    use serde_json::json;
    use similar_asserts::assert_eq;

    use super::super::tests::in_process::{Behaviour, InProcess};
    use super::super::{Options, gate::Gate};
    use super::*;

    struct Nowhere;

    impl NamespaceLabels for Nowhere {
        fn labels(&self, _: &str) -> Option<BTreeMap<String, String>> {
            None
        }
    }

    fn client(server: &Arc<InProcess>) -> HookClient {
        let extension = server.extension("ext-a");
        let handler = json!({
            "name": "gate.ext-a",
            "requestHook": {"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "BeforeClusterUpgrade"},
        });
        let config: ExtensionConfig = serde_json::from_value(json!({
            "metadata": {"name": "ext-a"},
            "spec": {"clientConfig": extension.client_config, "namespaceSelector": {}},
            "status": {"handlers": [handler]},
        }))
        .unwrap();
        let client = HookClient::new(server.client(Options::default()), Arc::new(Nowhere));
        client.registry().write().warm_up([&config]).unwrap();
        client
    }

    fn holds(server: &InProcess, seconds: i32) {
        let body = json!({"status": "Success", "message": "the tide", "retryAfterSeconds": seconds});
        server.behave(Behaviour::answer(200, body.to_string()));
    }

    async fn look(client: &HookClient) -> Result<Gate, HookError> {
        let request = BeforeClusterUpgradeRequest::default();
        client.gate::<BeforeClusterUpgrade>(&"uid-1".into(), "sea", &request).await
    }

    #[tokio::test(start_paused = true)]
    async fn events_within_a_window_ask_nobody() {
        let server = InProcess::new();
        holds(&server, 10);
        let client = client(&server);
        for second in 0..10 {
            let Gate::Held { retry_after, message } = look(&client).await.unwrap() else { panic!() };
            assert_eq!(
                (retry_after.as_secs_f64().ceil(), message.as_str()),
                (f64::from(10 - second), "the tide")
            );
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(server.calls(), 1);
        holds(&server, 0);
        assert_eq!(look(&client).await, Ok(Gate::Open));
        assert_eq!(server.calls(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_hour_of_waiting_the_next_call_comes_in_one_window() {
        let server = InProcess::new();
        holds(&server, 10);
        let client = client(&server);
        let mut calls = 0;
        while calls < 360 {
            let Gate::Held { retry_after, .. } = look(&client).await.unwrap() else { panic!() };
            calls += 1;
            assert!(retry_after <= Duration::from_secs(10), "{retry_after:?}");
            tokio::time::advance(retry_after).await;
        }
        assert_eq!(server.calls(), 360);
        holds(&server, 0);
        assert_eq!(look(&client).await, Ok(Gate::Open));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_call_is_no_answer_and_is_made_again_at_the_next_look() {
        let server = InProcess::new();
        server.behave(Behaviour::Refuse);
        let client = client(&server);
        for _ in 0..3 {
            let Err(HookError::Call(error)) = look(&client).await else { panic!() };
            assert_eq!(error.label(), "unreachable");
        }
        holds(&server, 0);
        assert_eq!(look(&client).await, Ok(Gate::Open));
    }
}
