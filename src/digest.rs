//! Content digests: what decides whether something changed, and the keys of the answers cache.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A BLAKE3 digest of some content. Equal content gives an equal digest, on every run and every machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a value's JSON form with sorted keys.
    ///
    /// # Panics
    /// When the value has no JSON form: a map with keys that are no strings. The project's types have one.
    #[must_use]
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        // Value keeps maps sorted by key (serde_json without `preserve_order`), so no hash map order gets in.
        let value: Value = serde_json::to_value(value).expect("digested types have a JSON form");
        let mut hasher = blake3::Hasher::new();
        serde_json::to_writer(&mut hasher, &value).expect("writing to a hasher does not fail");
        Self(hasher.finalize().into())
    }

    /// The digest of plain bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).into())
    }

    /// The digest that stands for a sequence of others, order included.
    #[must_use]
    pub fn of_all(parts: impl IntoIterator<Item = Digest>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&part.0);
        }
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(6).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn key_order_does_not_change_a_digest() {
        let one: Value = serde_json::from_str(r#"{"a":{"x":1,"y":2},"b":3}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"b":3,"a":{"y":2,"x":1}}"#).unwrap();
        assert_eq!(Digest::of(&one), Digest::of(&other));
        let map = HashMap::from([("a", json!({"y": 2, "x": 1})), ("b", json!(3))]);
        assert_eq!(Digest::of(&map), Digest::of(&one));
    }

    #[test]
    fn other_content_gives_another_digest() {
        assert_ne!(Digest::of("a"), Digest::of("b"));
        assert_ne!(
            Digest::of_all([Digest::of("a"), Digest::of("b")]),
            Digest::of_all([Digest::of("b"), Digest::of("a")])
        );
    }
}
