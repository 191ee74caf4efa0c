//! Settings: those of the `ExtensionConfig`, overlaid with those of the patch.

use std::collections::BTreeMap;

/// What is sent to a handler: the settings of the `ExtensionConfig`, key by key overlaid with those of the patch that
/// asks. An empty value of the patch wins too.
///
/// The result is canonical: the same settings in any order are the same map.
/// Behaviour: Cluster API `internal/runtime/client/client.go`, `cloneAndAddSettings`.
#[must_use]
pub fn merge(
    config: &BTreeMap<String, String>,
    patch: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut merged = config.clone();
    merged.extend(patch.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn the_patch_wins_key_by_key_also_with_an_empty_value() {
        let merged = merge(
            &settings(&[("a", "1"), ("b", "1"), ("Key", "upper")]),
            &settings(&[("b", ""), ("c", "2"), ("key", "lower")]),
        );
        assert_eq!(
            merged,
            settings(&[("Key", "upper"), ("a", "1"), ("b", ""), ("c", "2"), ("key", "lower")])
        );
    }
}
