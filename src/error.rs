//! How an error leaves the process: its whole chain, joined by `: `.

use std::error::Error;

/// The error and its causes in one line. A cause whose text already ends what stands before it is left out.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to read the file")]
    struct Outer(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("failed: {0}")]
    struct Repeating(#[source] std::io::Error);

    #[test]
    fn causes_follow_and_none_comes_twice() {
        assert_eq!(chain(&Outer(std::io::Error::other("no disk"))), "failed to read the file: no disk");
        assert_eq!(chain(&Repeating(std::io::Error::other("no disk"))), "failed: no disk");
    }
}
