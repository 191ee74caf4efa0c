//! Which handlers there are: the registrations of discovered ExtensionConfigs, by handler and by hook.
//!
//! Pure: nothing is called and nothing is waited for. Before it is warm it answers nothing, since what is not known is not
//! the same as nothing. Mirrors Cluster API `internal/runtime/registry`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kapstan_api::extension_config::{ExtensionConfig, ExtensionHandler, FailurePolicy};
use kapstan_api::hooks::catalog::GroupVersionHook;
use kube::core::Selector;

use super::extension::{DEFAULT_TIMEOUT, Extension};

/// One handler, and all that is needed to call it.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Full name of the handler.
    pub name: Arc<str>,
    /// Whose it is.
    pub extension: Arc<Extension>,
    /// The `resourceVersion` of the `ExtensionConfig` that was registered; empty when it has none.
    pub resource_version: Arc<str>,
    /// The hook, in the version that the handler serves.
    pub hook: GroupVersionHook,
    /// For which namespaces it is called.
    pub namespaces: Namespaces,
    /// As it stands in the status; `None` when unset.
    pub timeout_seconds: Option<i32>,
    /// As it stands in the status; `None` when unset.
    pub failure_policy: Option<FailurePolicy>,
}

impl Registration {
    /// How long a call may take: what the handler says, else 10 s.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let seconds = self.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        seconds.filter(|&seconds| seconds > 0).map_or(DEFAULT_TIMEOUT, Duration::from_secs)
    }

    /// The handler's name inside the extension.
    #[must_use]
    pub fn handler_in_extension(&self) -> &str {
        let suffix = self.name.strip_suffix(self.extension.name.as_ref());
        suffix.and_then(|rest| rest.strip_suffix('.')).unwrap_or(&self.name)
    }
}

/// For which namespaces handlers are called.
#[derive(Clone, Debug)]
pub enum Namespaces {
    /// For none: there is no selector. Admission writes the empty one, which is for all.
    None,
    /// For all.
    All,
    /// For those whose labels match.
    Matching(Selector),
}

impl Namespaces {
    fn of(selector: Option<&LabelSelector>) -> Result<Self, RegistryError> {
        let Some(selector) = selector else { return Ok(Self::None) };
        let selector = Selector::try_from(selector.clone())
            .map_err(|error| RegistryError::Selector { reason: error.to_string() })?;
        Ok(if selector.selects_all() { Self::All } else { Self::Matching(selector) })
    }
}

/// What the registry cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// It was not filled yet.
    #[error("the registry is not warm yet")]
    NotReady,
    /// It was filled already.
    #[error("the registry is warm already")]
    Ready,
    /// A `namespaceSelector` that means nothing.
    #[error("the namespaceSelector cannot be used: {reason}")]
    Selector {
        /// What is wrong with it.
        reason: String,
    },
    /// A handler whose `apiVersion` is none.
    #[error("handler {handler} cannot be registered: {reason}")]
    Handler {
        /// Full name.
        handler: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A list for a hook without group or name.
    #[error("a list needs the group and the name of a hook")]
    NoHook,
}

/// All registrations.
#[derive(Debug, Default)]
pub struct Registry {
    is_ready: bool,
    registrations: BTreeMap<Arc<str>, Arc<Registration>>,
}

impl Registry {
    /// Whether it was filled.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Fills it with all there is.
    ///
    /// # Errors
    /// [`RegistryError::Ready`] the second time; the first that is wrong with a config, and then it stays cold.
    pub fn warm_up<'c>(
        &mut self,
        configs: impl IntoIterator<Item = &'c ExtensionConfig>,
    ) -> Result<(), RegistryError> {
        if self.is_ready {
            return Err(RegistryError::Ready);
        }
        for config in configs {
            if let Err(error) = self.put(config) {
                self.registrations.clear();
                return Err(error);
            }
        }
        self.is_ready = true;
        Ok(())
    }

    /// Replaces the registrations of a config by those that it has now.
    ///
    /// # Errors
    /// [`RegistryError::NotReady`] before it is warm. When something is wrong with the config it has no registrations.
    pub fn add(&mut self, config: &ExtensionConfig) -> Result<(), RegistryError> {
        self.ready()?.put(config)
    }

    /// Forgets the registrations of the config of this name.
    ///
    /// # Errors
    /// [`RegistryError::NotReady`] before it is warm.
    pub fn remove(&mut self, config: &str) -> Result<(), RegistryError> {
        self.ready()?.forget(config);
        Ok(())
    }

    /// The registration of a handler by its full name; `None` when there is none.
    ///
    /// # Errors
    /// [`RegistryError::NotReady`] before it is warm.
    pub fn get(&self, handler: &str) -> Result<Option<&Arc<Registration>>, RegistryError> {
        if self.is_ready { Ok(self.registrations.get(handler)) } else { Err(RegistryError::NotReady) }
    }

    /// All handlers of a hook, in whatever version, sorted by full name.
    ///
    /// # Errors
    /// [`RegistryError::NotReady`] before it is warm, [`RegistryError::NoHook`].
    pub fn list(&self, group: &str, hook: &str) -> Result<Vec<Arc<Registration>>, RegistryError> {
        if group.is_empty() || hook.is_empty() {
            return Err(RegistryError::NoHook);
        }
        if !self.is_ready {
            return Err(RegistryError::NotReady);
        }
        let serves = |found: &&Arc<Registration>| found.hook.group == group && found.hook.hook == hook;
        Ok(self.registrations.values().filter(serves).cloned().collect())
    }

    fn ready(&mut self) -> Result<&mut Self, RegistryError> {
        if self.is_ready { Ok(self) } else { Err(RegistryError::NotReady) }
    }

    fn forget(&mut self, config: &str) {
        self.registrations.retain(|_, registration| registration.extension.name.as_ref() != config);
    }

    fn put(&mut self, config: &ExtensionConfig) -> Result<(), RegistryError> {
        let name = config.metadata.name.as_deref().unwrap_or_default();
        // First, so that nothing of before is left when something is wrong now.
        self.forget(name);
        let namespaces = Namespaces::of(config.spec.namespace_selector.as_ref())?;
        let extension = Arc::new(Extension::new(
            name,
            config.metadata.uid.as_deref().unwrap_or_default(),
            config.spec.client_config.clone(),
            config.spec.settings.clone(),
        ));
        let version: Arc<str> = config.metadata.resource_version.as_deref().unwrap_or_default().into();
        let handlers = config.status.iter().flat_map(|status| &status.handlers);
        let found = handlers.map(|handler| registration(handler, &extension, &version, &namespaces));
        let found: Vec<_> = found.collect::<Result<_, _>>()?;
        self.registrations.extend(found.into_iter().map(|found| (found.name.clone(), Arc::new(found))));
        Ok(())
    }
}

fn registration(
    handler: &ExtensionHandler,
    extension: &Arc<Extension>,
    version: &Arc<str>,
    namespaces: &Namespaces,
) -> Result<Registration, RegistryError> {
    let hook = GroupVersionHook::of(&handler.request_hook).map_err(|error| RegistryError::Handler {
        handler: kapstan_api::text::foreign_within(&handler.name, 512),
        reason: error.to_string(),
    })?;
    Ok(Registration {
        name: handler.name.as_str().into(),
        extension: extension.clone(),
        resource_version: version.clone(),
        hook,
        namespaces: namespaces.clone(),
        timeout_seconds: handler.timeout_seconds,
        failure_policy: handler.failure_policy.clone(),
    })
}
