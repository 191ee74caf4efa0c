//! What is to be done about an `ExtensionConfig`. Pure.

use std::sync::Arc;

use k8s_openapi::ByteString;
use kapstan_api::{annotations::CA_ENTRY, ca::Missing};

use crate::index::{
    Index,
    config::{Config, ConfigEntry, Discovered},
    duel::ROUNDS,
    keys::SecretKey,
    place::SecretState,
};

/// What a reconcile looks at.
#[derive(Clone, Debug)]
pub struct State {
    /// The config.
    pub config: Config,
    /// Where its CA stands.
    pub ca: Ca,
    /// The last finished Discovery.
    pub discovered: Option<Discovered>,
    /// Whether that is about the present generation.
    pub is_discovery_current: bool,
}

/// Where the CA of a config stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ca {
    /// It comes from no Secret, or is in place.
    Settled,
    /// The Secret is not known yet: wait for its watch.
    Unknown,
    /// The bundle is to be put into the spec.
    Inject(ByteString),
    /// There is no bundle to take; the text names the Secret and what is missing.
    Missing(Arc<str>),
}

impl State {
    /// Reads the state of a config; `None` when it is gone or on its way out.
    #[must_use]
    pub fn read(index: &Index, name: &Arc<str>) -> Option<Self> {
        let entry = index.config(name)?;
        if entry.config.is_deleting() {
            return None;
        }
        let secret = entry.config.secret.as_ref();
        let ca = secret.map_or(Ca::Settled, |secret| match secret {
            Ok(key) => ca(entry, key, index.secret(key)),
            Err(malformed) => Ca::Missing(malformed.to_string().into()),
        });
        Some(Self {
            config: entry.config.clone(),
            ca,
            discovered: entry.discovered.clone(),
            is_discovery_current: entry.is_discovery_current(),
        })
    }

    /// What has to come before the config can be judged, in words; `None` when it can be, or is paused.
    #[must_use]
    pub fn awaited(&self) -> Option<String> {
        match &self.ca {
            _ if self.config.is_paused => None,
            Ca::Unknown => {
                let secret = self.config.secret.as_ref().and_then(|secret| secret.as_ref().ok());
                Some(format!("Secret {}", secret.map(ToString::to_string).unwrap_or_default()))
            }
            Ca::Missing(_) if !self.has_bundle() => None,
            _ if self.is_discovery_current => None,
            _ => Some("the answer to Discovery".to_owned()),
        }
    }

    /// Whether a bundle is in the spec.
    #[must_use]
    pub fn has_bundle(&self) -> bool {
        self.config.bundle().is_some()
    }
}

fn ca(entry: &ConfigEntry, key: &SecretKey, secret: SecretState) -> Ca {
    let in_place = entry.config.bundle();
    match secret {
        SecretState::Starting => Ca::Unknown,
        SecretState::Unavailable(why) => Ca::Missing(format!("Secret {key} cannot be read: {why}").into()),
        SecretState::Absent => {
            Ca::Missing(Missing::SecretNotFound { secret: key.clone() }.to_string().into())
        }
        SecretState::Present(None) => {
            Ca::Missing(Missing::EntryMissing { secret: key.clone() }.to_string().into())
        }
        SecretState::Present(Some(found)) if in_place == Some(&found) => Ca::Settled,
        SecretState::Present(Some(found))
            if entry.duel.as_ref().is_some_and(|duel| duel.is_lost(&found, in_place)) =>
        {
            Ca::Missing(put_back(key, in_place).into())
        }
        SecretState::Present(Some(found)) => Ca::Inject(found),
    }
}

fn put_back(key: &SecretKey, in_place: Option<&ByteString>) -> String {
    let what = if in_place.is_some() { "put another value back" } else { "removed the caBundle" };
    format!(
        "{CA_ENTRY} of Secret {key} was taken {ROUNDS} times and somebody else {what} each time, so it is not taken \
         again before the Secret or the caBundle is another one"
    )
}
