//! What is asked, of whom.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kapstan_api::extension_config::{ClientConfig, DEFAULT_TIMEOUT_SECONDS, ExtensionHandler, FailurePolicy};
use kapstan_api::hooks::catalog::{GroupVersionHook, InvalidApiVersion};

use super::settings;
use crate::digest::Digest;

/// How long a call may take when nothing else is said, from dialing to the last byte.
pub(super) const DEFAULT_TIMEOUT: Duration =
    Duration::from_secs(DEFAULT_TIMEOUT_SECONDS.unsigned_abs() as u64);

/// One extension as the client sees it: who it is and how it is reached.
///
/// The fields are for reading; another content is another `Extension`, by [`Extension::new`].
#[derive(Clone, PartialEq, Eq)]
pub struct Extension {
    /// Name of the `ExtensionConfig`.
    pub name: Arc<str>,
    /// UID of the `ExtensionConfig`. A recreated one is another extension.
    pub uid: Arc<str>,
    /// How it is reached.
    pub client_config: ClientConfig,
    /// Sent with every call except Discovery.
    pub settings: BTreeMap<String, String>,
    digest: Digest,
}

impl Extension {
    /// An extension with this content.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        uid: impl Into<Arc<str>>,
        client_config: ClientConfig,
        settings: BTreeMap<String, String>,
    ) -> Self {
        let uid = uid.into();
        let digest = Digest::of(&(uid.as_ref(), &client_config));
        Self { name: name.into(), uid, client_config, settings, digest }
    }

    /// Stands for who it is and how it is reached: UID and client config. Settings are in the key of a question.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may have a password in it, and the values of settings may be secrets.
        let keys: Vec<_> = self.settings.keys().collect();
        let mut shown = f.debug_struct("Extension");
        shown.field("name", &self.name).field("uid", &self.uid).field("settings", &keys);
        shown.field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// A question to a handler of the hook `DiscoverVariables`.
///
/// The fields are for reading; they are what [`Question::new`] made of its arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct Question {
    /// Who is asked.
    pub extension: Arc<Extension>,
    /// Full name of the handler, `<handler>.<extensionconfig>`.
    pub handler: Arc<str>,
    /// The hook, in the version that the handler serves.
    pub hook: GroupVersionHook,
    /// What is sent: the settings of the `ExtensionConfig`, overlaid with those of the patch.
    pub settings: BTreeMap<String, String>,
    /// How long the call may take, from dialing to the last byte.
    pub timeout: Duration,
    /// What a failed call means to those who asked; see [`super::policy::settle`].
    pub failure_policy: FailurePolicy,
    key: QuestionKey,
}

/// Stands for a question: extension (UID and client config), handler, hook with its version, and merged settings.
///
/// Timeout and failure policy are not in it: they do not change the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuestionKey(Digest);

impl Question {
    /// What a patch with the settings `patch` asks of a handler, as it stands in the extension's status.
    ///
    /// A timeout that is unset, 0 or negative is 10 s.
    ///
    /// # Errors
    /// When the handler's hook has an `apiVersion` that is none.
    pub fn new(
        extension: Arc<Extension>,
        handler: &ExtensionHandler,
        patch: &BTreeMap<String, String>,
    ) -> Result<Self, InvalidApiVersion> {
        let hook = GroupVersionHook::of(&handler.request_hook)?;
        let settings = settings::merge(&extension.settings, patch);
        let key = QuestionKey(Digest::of_all([
            extension.digest(),
            Digest::of(&(&handler.name, hook.api_version(), &hook.hook, &settings)),
        ]));
        let timeout = handler.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Ok(Self {
            extension,
            handler: handler.name.as_str().into(),
            hook,
            settings,
            timeout: timeout.filter(|&seconds| seconds > 0).map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            failure_policy: handler.failure_policy.clone().unwrap_or(FailurePolicy::Fail),
            key,
        })
    }

    /// Stands for the question, among all extensions and on every run.
    #[must_use]
    pub const fn key(&self) -> QuestionKey {
        self.key
    }

    /// The handler's name inside the extension, as it goes into the path.
    pub(super) fn handler_in_extension(&self) -> &str {
        let suffix = self.handler.strip_suffix(self.extension.name.as_ref());
        suffix.and_then(|rest| rest.strip_suffix('.')).unwrap_or(&self.handler)
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of settings may be secrets.
        let keys: Vec<_> = self.settings.keys().collect();
        let mut shown = f.debug_struct("Question");
        shown.field("handler", &self.handler).field("hook", &self.hook).field("settings", &keys);
        shown.field("key", &self.key).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use kapstan_api::extension_config::GroupVersionHookRef;
    use kapstan_api::hooks::catalog;

    use super::*;

    fn extension(url: &str, settings: BTreeMap<String, String>) -> Arc<Extension> {
        let client_config = ClientConfig { url: Some(url.to_owned()), ..ClientConfig::default() };
        Arc::new(Extension::new("ext-a", "uid-a", client_config, settings))
    }

    fn handler(name: &str) -> ExtensionHandler {
        let hook = "DiscoverVariables".to_owned();
        let request_hook =
            GroupVersionHookRef { api_version: catalog::API_VERSION.to_owned(), hook, ..Default::default() };
        ExtensionHandler { name: name.to_owned(), request_hook, ..Default::default() }
    }

    fn numbered(count: usize) -> Vec<(String, String)> {
        (0..count).map(|number| (format!("key-{number}"), format!("value-{number}"))).collect()
    }

    #[test]
    fn a_key_depends_on_content_and_never_on_order() {
        let mut pairs = numbered(20);
        let keys: HashSet<QuestionKey> = (0..200)
            .map(|turn: usize| {
                pairs.rotate_left(turn % 7 + 1);
                let (config, patch) = pairs.split_at(turn % 20);
                let extension = extension("https://a.test", config.iter().cloned().collect());
                let patch = patch.iter().cloned().collect();
                Question::new(extension, &handler("dv.ext-a"), &patch).unwrap().key()
            })
            .collect();
        assert_eq!(keys.len(), 1);
    }

    #[test]
    fn everything_that_can_change_the_answer_changes_the_key() {
        let patch = |count: usize| numbered(count).into_iter().collect();
        let ask = |url: &str, name: &str, count| {
            Question::new(extension(url, BTreeMap::new()), &handler(name), &patch(count)).unwrap()
        };
        let first = ask("https://a.test", "dv.ext-a", 1);
        let others = [
            ask("https://b.test", "dv.ext-a", 1),
            ask("https://a.test", "other.ext-a", 1),
            ask("https://a.test", "dv.ext-a", 2),
        ];
        assert!(others.iter().all(|other| other.key() != first.key()));
        let patient = ExtensionHandler {
            timeout_seconds: Some(30),
            failure_policy: Some(FailurePolicy::Ignore),
            ..handler("dv.ext-a")
        };
        let patient = Question::new(first.extension.clone(), &patient, &patch(1)).unwrap();
        assert_eq!((patient.key(), patient.timeout), (first.key(), Duration::from_secs(30)));
    }

    #[test]
    fn a_timeout_of_zero_or_less_is_the_default() {
        for seconds in [None, Some(0), Some(-3)] {
            let handler = ExtensionHandler { timeout_seconds: seconds, ..handler("dv.ext-a") };
            let question =
                Question::new(extension("https://a.test", BTreeMap::new()), &handler, &BTreeMap::new());
            assert_eq!(question.unwrap().timeout, Duration::from_secs(10), "{seconds:?}");
        }
    }

    #[test]
    fn neither_passwords_nor_settings_are_printed() {
        let settings = BTreeMap::from([("token".to_owned(), "hidden".to_owned())]);
        let extension = extension("https://me:hidden@a.test", settings);
        let question = Question::new(extension.clone(), &handler("dv.ext-a"), &BTreeMap::new()).unwrap();
        let printed = format!("{extension:?} {question:?}");
        assert!(printed.contains("token") && !printed.contains("hidden"), "{printed}");
    }

    #[test]
    fn the_name_inside_the_extension_is_what_comes_before_its_own_name() {
        let ask = |name: &str| {
            Question::new(extension("https://a.test", BTreeMap::new()), &handler(name), &BTreeMap::new())
                .unwrap()
        };
        assert_eq!(ask("dv.ext-a").handler_in_extension(), "dv");
        assert_eq!(ask("a.b.ext-a").handler_in_extension(), "a.b");
        assert_eq!(ask("dv.other").handler_in_extension(), "dv.other");
    }
}
