//! How an error leaves the process: its whole chain, joined by `: `.

use std::error::Error;

/// The error and its causes in one text. A cause whose text already ends what stands before it is left out; what the
/// API server says stands in its own words only.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = of_api_server(error).map_or_else(|| error.to_string(), str::to_owned);
    let mut above = error;
    while let Some(error) = above.source().filter(|_| of_api_server(above).is_none()) {
        let more = error.to_string();
        let words = of_api_server(error).unwrap_or(&more);
        if text.ends_with(&more) {
            text.replace_range(text.len() - more.len().., words);
        } else {
            text.push_str(": ");
            text.push_str(words);
        }
        above = error;
    }
    text
}

/// What the API server said; kube's own text adds all fields of the answer, and says things twice.
fn of_api_server<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a str> {
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    match error.downcast_ref::<kube::Error>().or_else(boxed)? {
        kube::Error::Api(status) if !status.message.is_empty() => Some(&status.message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kube::{core::Status, runtime::watcher};

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to read the file")]
    struct Outer(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("failed: {0}")]
    struct Repeating(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("failed to write")]
    struct Write(#[source] Box<kube::Error>);

    #[test]
    fn causes_follow_and_none_comes_twice() {
        assert_eq!(chain(&Outer(std::io::Error::other("no disk"))), "failed to read the file: no disk");
        assert_eq!(chain(&Repeating(std::io::Error::other("no disk"))), "failed: no disk");
    }

    #[test]
    fn the_api_server_is_quoted_and_nothing_is_added() {
        let refused = || kube::Error::Api(Status::failure("secrets is forbidden", "Forbidden").boxed());
        assert_eq!(chain(&refused()), "secrets is forbidden");
        assert_eq!(chain(&Write(Box::new(refused()))), "failed to write: secrets is forbidden");
        let watch = watcher::Error::InitialListFailed(refused());
        assert_eq!(chain(&watch), "failed to perform initial object list: secrets is forbidden");
    }
}
