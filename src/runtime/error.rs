//! What can go wrong when an extension is called.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::chain;

/// A call that gave no usable answer: what was called, and why it failed.
///
/// The text names handler and hook; the reason is its source. [`CallError::describe`] joins the two for a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to call {target}")]
pub struct CallError {
    /// What was called.
    pub target: Target,
    /// Why that failed.
    #[source]
    pub failure: Failure,
}

/// What a call was addressed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name of the `ExtensionConfig`.
    pub extension: Arc<str>,
    /// Full name of the handler, `<handler>.<extensionconfig>`. `None` for Discovery, which has none.
    pub handler: Option<Arc<str>>,
    /// Name of the hook.
    pub hook: Arc<str>,
}

/// Why a call failed; one variant for each thing that a caller does about it.
///
/// Texts that come from outside are [`Text`]: short, and free of control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The `ExtensionConfig` itself cannot be used to make a call. Wait for it to change.
    #[error("{field} cannot be used")]
    Misconfigured {
        /// Path of the field, or name of the flag.
        field: &'static str,
        /// What is wrong with it.
        #[source]
        reason: Text,
    },
    /// No connection was made. Try again later.
    #[error("failed to connect to {address}")]
    Unreachable {
        /// Host and port.
        address: Box<str>,
        /// What the system said.
        #[source]
        reason: Text,
    },
    /// The extension showed a certificate that is not accepted. Somebody has to change it or the CA bundle.
    #[error("failed to verify the certificate of {address}")]
    Certificate {
        /// Host and port.
        address: Box<str>,
        /// The real reason.
        #[source]
        reason: Text,
    },
    /// The time for the call was over, from dialing to the last byte. Try again later; the connection is not used again.
    #[error("gave up after {after:?} while {phase}")]
    TimedOut {
        /// The time allowed.
        after: Duration,
        /// How far the call had come.
        phase: Phase,
    },
    /// The connection broke before the answer was there in full. Try again later.
    #[error("the connection broke before the answer was complete")]
    Interrupted {
        /// What the system said.
        #[source]
        reason: Text,
    },
    /// The extension answered with an HTTP status other than 200. Redirects are not followed.
    #[error("got status {code}{}{}", Location(.location.as_ref()), Words(.words))]
    Status {
        /// The HTTP status.
        code: u16,
        /// The `Location` header of a redirect.
        location: Option<Text>,
        /// Beginning of the body. Empty when there was none.
        words: Text,
    },
    /// The answer is longer than what is read.
    #[error("the answer is longer than {limit} bytes{}", Announced(*.announced))]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
        /// The length that was announced. `None` when it was found out while reading.
        announced: Option<u64>,
    },
    /// The answer is not what the hook answers with.
    #[error("failed to decode the answer")]
    Undecodable {
        /// What does not fit, and where.
        #[source]
        reason: Text,
    },
    /// The extension answered `status: Failure`. Its word stands, whatever the failure policy.
    #[error("got status Failure{}", Words(.message))]
    Refused {
        /// The extension's own message. Empty when it sent none.
        message: Text,
    },
    /// The extension answered with a `status` that is neither `Success` nor `Failure`.
    #[error("got unknown status {status:?}{}", Words(.message))]
    UnknownStatus {
        /// The status, empty when it was missing.
        status: Text,
        /// The extension's own message. Empty when it sent none.
        message: Text,
    },
    /// Other calls to the same address took all slots for too long. Nothing was sent.
    #[error("waited {waited:?} for a free slot of {address}")]
    Throttled {
        /// Host and port.
        address: Box<str>,
        /// How long.
        waited: Duration,
    },
    /// A fault of this program: the call panicked or its task was stopped.
    #[error("the call ended without a result")]
    Internal {
        /// What is known about it.
        #[source]
        reason: Text,
    },
}

/// How far a call had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Resolving the name, connecting and the TLS handshake.
    Connecting,
    /// The request is on its way; no response headers yet.
    AwaitingHeaders,
    /// The headers are there, the body not in full.
    ReadingBody,
}

impl CallError {
    /// Name of the reason for metrics and logs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        self.failure.label()
    }

    /// Whether the call failed, as opposed to an answer that says no or a call that could not be tried.
    ///
    /// Only a failed call can be ignored by the handler's failure policy. Behaviour: Cluster API
    /// `internal/runtime/client/client.go`, `CallExtension`.
    #[must_use]
    pub const fn is_failed_call(&self) -> bool {
        match self.failure {
            Failure::Unreachable { .. }
            | Failure::Certificate { .. }
            | Failure::TimedOut { .. }
            | Failure::Interrupted { .. }
            | Failure::Status { .. }
            | Failure::TooLarge { .. }
            | Failure::Undecodable { .. }
            | Failure::Throttled { .. } => true,
            Failure::Misconfigured { .. }
            | Failure::Refused { .. }
            | Failure::UnknownStatus { .. }
            | Failure::Internal { .. } => false,
        }
    }

    /// The whole text for a condition or an Event: what was called, and every reason behind the failure.
    #[must_use]
    pub fn describe(&self) -> String {
        chain(self)
    }
}

impl Failure {
    /// Name of the reason for metrics and logs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Misconfigured { .. } => "misconfigured",
            Self::Unreachable { .. } => "unreachable",
            Self::Certificate { .. } => "certificate",
            Self::TimedOut { .. } => "timeout",
            Self::Interrupted { .. } => "interrupted",
            Self::Status { .. } => "status",
            Self::TooLarge { .. } => "too_large",
            Self::Undecodable { .. } => "undecodable",
            Self::Refused { .. } => "refused",
            Self::UnknownStatus { .. } => "unknown_status",
            Self::Throttled { .. } => "throttled",
            Self::Internal { .. } => "internal",
        }
    }

    pub(crate) fn misconfigured(field: &'static str, reason: impl Into<Text>) -> Self {
        Self::Misconfigured { field, reason: reason.into() }
    }

    pub(crate) fn internal(reason: &str) -> Self {
        Self::Internal { reason: reason.into() }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.handler {
            Some(handler) => write!(f, "handler {handler} for hook {}", self.hook),
            None => write!(f, "extension {} for hook {}", self.extension, self.hook),
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connecting => "connecting",
            Self::AwaitingHeaders => "waiting for the response",
            Self::ReadingBody => "reading the body",
        })
    }
}

/// A text that is safe to show: at most [`Text::MAX`] bytes, on one line, without control characters.
///
/// It is what is left of everything that comes from outside: an extension's words, a system's error.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text(Box<str>);

impl Text {
    /// Bytes kept of a longer text, the mark of the cut included.
    pub const MAX: usize = 1024;

    /// The beginning of some bytes; what is not UTF-8 is replaced.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // A little more than is kept, so that the cut is seen.
        String::from_utf8_lossy(bytes.get(..Self::MAX + 4).unwrap_or(bytes)).as_ref().into()
    }

    /// The chain of errors below and including `error`.
    #[must_use]
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        chain(error).as_str().into()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        // Cut first: the text may be megabytes long.
        let cut = &text[..text.floor_char_boundary(2 * Self::MAX)];
        // Runs of what cannot be shown become one space.
        let mut shown = String::with_capacity(cut.len());
        for word in cut.split(|c: char| c.is_control() || is_invisible(c)).map(str::trim) {
            if !shown.is_empty() && !word.is_empty() {
                shown.push(' ');
            }
            shown.push_str(word);
        }
        Self(kapstan_api::text::bounded(&shown, Self::MAX).into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Error for Text {}

/// Marks that reorder or hide the text around them, and line separators.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

struct Location<'a>(Option<&'a Text>);

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |to| write!(f, ", a redirect to {to}, which is not followed"))
    }
}

struct Words<'a>(&'a Text);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}

struct Announced(Option<u64>);

impl fmt::Display for Announced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |length| write!(f, ": {length} are announced"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_handler_hook_and_the_extensions_words() {
        let target = Target {
            extension: "ext-a".into(),
            handler: Some("dv.ext-a".into()),
            hook: "DiscoverVariables".into(),
        };
        let error =
            CallError { target, failure: Failure::Refused { message: "no\nregion\u{1b}[31m".into() } };
        assert_eq!(
            error.describe(),
            "failed to call handler dv.ext-a for hook DiscoverVariables: got status Failure: no region [31m"
        );
        let target = Target { handler: None, hook: "Discovery".into(), ..error.target };
        let failure =
            Failure::Status { code: 307, location: Some("https://b".into()), words: Text::default() };
        assert_eq!(
            CallError { target, failure }.describe(),
            "failed to call extension ext-a for hook Discovery: got status 307, a redirect to https://b, which is not \
             followed"
        );
    }

    #[test]
    fn texts_from_outside_are_short_and_on_one_line() {
        let long = Text::from("ä".repeat(5000));
        assert!(long.as_str().len() <= Text::MAX && long.as_str().ends_with("ä…"));
        assert_eq!(Text::from("a\r\n\tb\u{202e}c\u{0}").as_str(), "a b c");
        assert_eq!(Text::from_bytes(b"\xff\xfe ok").as_str(), "\u{fffd}\u{fffd} ok");
        assert!(Text::from_bytes(&[b'x'; 4096]).as_str().ends_with('…'));
    }
}
