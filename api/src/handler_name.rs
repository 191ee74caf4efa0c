//! Full names of handlers: `<handler>.<extensionconfig>`.
//!
//! Mirrors `NameForHandler` and `ExtensionNameFromHandlerName` of Cluster API `internal/runtime/client`.

/// The full name of an extension's handler.
#[must_use]
pub fn full(handler: &str, config: &str) -> String {
    format!("{handler}.{config}")
}

/// The parts of a full name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerName<'a> {
    /// The handler's name inside the extension; what the URL path ends in.
    pub handler: &'a str,
    /// The name of the `ExtensionConfig`.
    pub config: &'a str,
}

/// A name that is not `<handler>.<extensionconfig>` with exactly one dot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("handler name {name:?} is not of the form <handler>.<extensionconfig>")]
pub struct Malformed {
    /// The name as it was given, bounded.
    pub name: String,
}

/// Takes a full name apart at its one dot. Empty parts pass, as upstream lets them; they name nothing.
///
/// # Errors
/// [`Malformed`] when there is no dot or more than one.
pub fn parse(full: &str) -> Result<HandlerName<'_>, Malformed> {
    match full.split_once('.') {
        Some((handler, config)) if !config.contains('.') => Ok(HandlerName { handler, config }),
        _ => Err(Malformed { name: crate::text::foreign_within(full, 512) }),
    }
}

/// Whether a class can name the handlers of an `ExtensionConfig` of this name.
///
/// Admission refuses names with dots; where such an object exists anyway, it is discovered, but [`parse`] fails
/// on the names of its handlers.
#[must_use]
pub fn is_nameable(config: &str) -> bool {
    !config.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_comes_apart_as_it_was_put_together() {
        assert_eq!(parse(&full("vars", "heron")), Ok(HandlerName { handler: "vars", config: "heron" }));
    }

    #[test]
    fn handlers_of_a_config_with_a_dot_cannot_be_named() {
        assert!(is_nameable("heron"));
        assert!(!is_nameable("a.b"));
        assert_eq!(parse(&full("vars", "a.b")), Err(Malformed { name: "vars.a.b".to_owned() }));
    }
}
