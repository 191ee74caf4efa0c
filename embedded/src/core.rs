//! What all parts of a server share.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use crate::audit::Audit;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::gc::Halt;
use crate::kinds::Surroundings;
use crate::openapi::OpenApi;
use crate::registry::{Kind, Registry, builtin, custom};
use crate::store::{Address, CollectionId, Store};

/// The state of a server, and its clock.
pub(crate) struct Core {
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) audit: Audit,
    pub(crate) faults: Faults,
    pub(crate) openapi: OpenApi,
    pub(crate) halt: Halt,
    registry: RwLock<Arc<Registry>>,
    /// The collections of CRDs, by group and plural. One that comes back finds its own again, empty.
    collections: Mutex<HashMap<(String, String), CollectionId>>,
    encodings: AtomicU32,
    ids: Ids,
    addresses: AtomicU32,
}

impl Core {
    pub(crate) fn new(clock: Clock, store: Store, audit: Audit, seed: Option<u64>) -> Self {
        let mut registry = Registry::default();
        for kind in builtin(&store) {
            registry = registry.with(kind);
        }
        Self {
            clock,
            store,
            audit,
            faults: Faults::default(),
            openapi: OpenApi::default(),
            halt: Halt::default(),
            registry: RwLock::new(Arc::new(registry)),
            collections: Mutex::default(),
            encodings: AtomicU32::new(1),
            ids: Ids::new(seed),
            addresses: AtomicU32::new(1),
        }
    }

    /// The kinds that are served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.read().clone()
    }

    /// The kind of the objects in a collection, if it is served.
    pub(crate) fn kind_at(&self, address: &Address) -> Option<Arc<Kind>> {
        let registry = self.registry();
        registry.kinds().find(|kind| kind.collection == address.collection).cloned()
    }

    /// Serves the kind that a CRD defines, from now on as it says now.
    pub(crate) fn register(&self, crd: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
        let collection = self.collection(&group, &plural);
        let encoding = self.encodings.fetch_add(1, Ordering::Relaxed);
        match custom(crd, collection, encoding) {
            Ok(kind) => {
                let mut registry = self.registry.write();
                *registry = Arc::new(Registry::clone(&registry).with(Arc::new(kind)));
            }
            // Validation lets nothing through that cannot be read.
            Err(refusal) => tracing::error!(%group, %plural, reason = %refusal.0, "CRD cannot be served"),
        }
    }

    /// Ends the service of a kind.
    pub(crate) fn unregister(&self, group: &str, plural: &str) {
        let mut registry = self.registry.write();
        *registry = Arc::new(Registry::clone(&registry).without(group, plural));
    }

    fn collection(&self, group: &str, plural: &str) -> CollectionId {
        let mut collections = self.collections.lock();
        *collections
            .entry((group.to_owned(), plural.to_owned()))
            .or_insert_with(|| self.store.add_collection())
    }

    /// A new UID.
    pub(crate) fn uid(&self) -> String {
        self.ids.uid()
    }

    /// What is put behind `generateName`.
    pub(crate) fn suffix(&self) -> String {
        self.ids.suffix()
    }
}

impl Surroundings for Core {
    fn free_address(&self) -> Ipv4Addr {
        let number = self.addresses.fetch_add(1, Ordering::Relaxed);
        Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 96, 0, 0)) + number)
    }
}

/// Random numbers for UIDs and names: the same ones for the same seed. They keep no secret.
struct Ids(AtomicU64);

impl Ids {
    fn new(seed: Option<u64>) -> Self {
        Self(AtomicU64::new(seed.unwrap_or_else(|| RandomState::new().build_hasher().finish())))
    }

    /// Behaviour: the generator `SplitMix64`.
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^ (state >> 31)
    }

    /// A UUID of version 4.
    fn uid(&self) -> String {
        let (high, low) = (self.next(), self.next());
        let high = (high & !0xF000) | 0x4000;
        let low = (low & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xFFFF,
            high & 0xFFFF,
            low >> 48,
            low & 0xFFFF_FFFF_FFFF
        )
    }

    /// Five characters that spell no words.
    fn suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut number = self.next();
        let mut character = || {
            let length = ALPHABET.len() as u64;
            let at = usize::try_from(number % length).unwrap_or_default();
            number /= length;
            char::from(ALPHABET[at])
        };
        std::iter::repeat_with(&mut character).take(5).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_ids() {
        let (one, other) = (Ids::new(Some(1)), Ids::new(Some(1)));
        let uid = one.uid();
        assert_eq!((&uid, one.suffix()), (&other.uid(), other.suffix()));
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
        assert_ne!(uid, one.uid());
    }
}
