//! Judging the answer to Discovery: may it be taken, and which handlers does it bring.
//!
//! Mirrors `Discover` and `defaultAndValidateDiscoveryResponse` of Cluster API
//! `internal/runtime/client/client.go`. The call itself, and what is done with the handlers of an earlier
//! discovery when this one fails (they stay), is the caller's.

use std::{collections::HashSet, fmt};

use crate::{
    conditions::{self, Status, v1beta1},
    extension_config::{DEFAULT_TIMEOUT_SECONDS, ExtensionHandler, FailurePolicy, GroupVersionHookRef},
    handler_name,
    hooks::{
        DecodeError, DiscoveredHandler, DiscoveryResponse, ResponseStatus, catalog::GroupVersionHook, decode,
    },
    text,
};

/// The longest timeout that a handler may ask for, in seconds.
pub const MAX_TIMEOUT_SECONDS: i32 = 30;

/// How many handlers a status can hold.
pub const MAX_HANDLERS: usize = 512;

/// How many problems a text lists; the rest is counted.
const MAX_LISTED: usize = 20;

/// How long a name of an extension's making is shown.
const MAX_NAME: usize = 80;

/// Why an answer is not taken. As text it fits a condition: bounded, the same for the same answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The body is no discovery response.
    #[error("the answer cannot be read")]
    Undecodable(#[source] DecodeError),
    /// The extension says that it failed.
    #[error("the extension answered Failure: {}", said(.message))]
    FailureStatus {
        /// What the extension says, bounded.
        message: String,
    },
    /// The extension says neither Success nor Failure.
    #[error("the extension answered with unknown status {status:?}: {}", said(.message))]
    UnknownStatus {
        /// The status, bounded; may be empty.
        status: String,
        /// What the extension says, bounded.
        message: String,
    },
    /// The extension describes handlers that cannot be.
    #[error("the answer is not valid: {}", list(.0))]
    Invalid(
        /// At least one, in the order of the answer.
        Vec<Problem>,
    ),
}

impl Refusal {
    /// A short word for metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "undecodable",
            Self::FailureStatus { .. } => "failure",
            Self::UnknownStatus { .. } => "unknown_status",
            Self::Invalid(_) => "invalid",
        }
    }
}

/// What is wrong with one handler of an answer. As text it names the handler and the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which handler, counted from zero.
    pub index: usize,
    /// The handler's name as the extension gives it.
    pub handler: String,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What can be wrong with a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// An earlier handler has the name already.
    DuplicateName,
    /// The name is not a DNS label (RFC 1123).
    InvalidName,
    /// The timeout, in seconds, is negative or more than [`MAX_TIMEOUT_SECONDS`].
    TimeoutOutOfRange(i32),
    /// The failure policy is neither Ignore nor Fail.
    UnknownFailurePolicy(String),
    /// The hook's `apiVersion` is not of the form `<group>/<version>`.
    InvalidApiVersion(String),
    /// The catalog has no such hook.
    UnknownHook {
        /// The hook's `apiVersion`.
        api_version: String,
        /// The hook's name.
        hook: String,
    },
    /// The answer has more than [`MAX_HANDLERS`] handlers. Ours: upstream would fail to write the status.
    TooManyHandlers(usize),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |name: &str| text::foreign_within(name, MAX_NAME);
        let (index, handler) = (self.index, name(&self.handler));
        if let ProblemKind::TooManyHandlers(count) = self.kind {
            return write!(f, "handlers: there are {count}, at most {MAX_HANDLERS} are allowed");
        }
        write!(f, "handlers[{index}] {handler:?}: ")?;
        match &self.kind {
            ProblemKind::DuplicateName => write!(f, "name is used by an earlier handler"),
            ProblemKind::InvalidName => write!(
                f,
                "name must have at most 63 lower-case letters, digits and '-', and start and end with a letter \
                 or digit"
            ),
            ProblemKind::TimeoutOutOfRange(seconds) => {
                write!(f, "timeoutSeconds {seconds} must be between 0 and {MAX_TIMEOUT_SECONDS}")
            }
            ProblemKind::UnknownFailurePolicy(policy) => {
                write!(f, "failurePolicy {:?} must be \"Ignore\" or \"Fail\"", name(policy))
            }
            ProblemKind::InvalidApiVersion(version) => {
                write!(f, "requestHook.apiVersion {:?} must be <group>/<version>", name(version))
            }
            ProblemKind::UnknownHook { api_version, hook } => {
                write!(f, "requestHook {:?} in {:?} is not a known hook", name(hook), name(api_version))
            }
            ProblemKind::TooManyHandlers(_) => Ok(()),
        }
    }
}

fn list(problems: &[Problem]) -> String {
    let mut lines: Vec<_> = problems.iter().take(MAX_LISTED).map(Problem::to_string).collect();
    if problems.len() > MAX_LISTED {
        lines.push(format!("and {} more", problems.len() - MAX_LISTED));
    }
    lines.join("; ")
}

fn said(message: &str) -> &str {
    if message.is_empty() { "it gave no message" } else { message }
}

/// Judges the body of an answer with status 200.
///
/// # Errors
/// [`Refusal`] when it is not to be taken.
pub fn accept_body(config: &str, body: &[u8]) -> Result<Vec<ExtensionHandler>, Refusal> {
    accept(config, &decode(body).map_err(Refusal::Undecodable)?)
}

/// Judges an answer: its status first, then its handlers.
///
/// # Errors
/// [`Refusal`] when it is not to be taken; never [`Refusal::Undecodable`].
pub fn accept(config: &str, response: &DiscoveryResponse) -> Result<Vec<ExtensionHandler>, Refusal> {
    let message = || text::foreign(&response.message);
    match &response.status {
        ResponseStatus::Success => validate(config, response).map_err(Refusal::Invalid),
        ResponseStatus::Failure => Err(Refusal::FailureStatus { message: message() }),
        ResponseStatus::Unknown(status) => {
            let status = text::foreign_within(status, MAX_NAME);
            Err(Refusal::UnknownStatus { status, message: message() })
        }
    }
}

/// Validates the handlers of an answer and fills in what they leave out: 10 s and Fail. The result is what
/// stands in the status of the `ExtensionConfig` of this name, in the order of the answer; a timeout of zero is
/// left out there, since it means the default too.
///
/// # Errors
/// All problems, in the order of the answer.
pub fn validate(config: &str, response: &DiscoveryResponse) -> Result<Vec<ExtensionHandler>, Vec<Problem>> {
    let count = response.handlers.len();
    if count > MAX_HANDLERS {
        let kind = ProblemKind::TooManyHandlers(count);
        return Err(vec![Problem { index: MAX_HANDLERS, handler: String::new(), kind }]);
    }
    let mut names = HashSet::new();
    let mut problems = Vec::new();
    for (index, handler) in response.handlers.iter().enumerate() {
        let duplicate = (!names.insert(handler.name.as_str())).then_some(ProblemKind::DuplicateName);
        let kinds = duplicate.into_iter().chain(problems_of(handler));
        problems.extend(kinds.map(|kind| Problem { index, handler: handler.name.clone(), kind }));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(response.handlers.iter().map(|handler| defaulted(config, handler)).collect())
}

fn problems_of(handler: &DiscoveredHandler) -> impl Iterator<Item = ProblemKind> {
    let name = (!is_dns_label(&handler.name)).then_some(ProblemKind::InvalidName);
    let timeout = handler
        .timeout_seconds
        .filter(|seconds| !(0..=MAX_TIMEOUT_SECONDS).contains(seconds))
        .map(ProblemKind::TimeoutOutOfRange);
    let policy = match &handler.failure_policy {
        Some(FailurePolicy::Other(value)) => Some(ProblemKind::UnknownFailurePolicy(value.clone())),
        _ => None,
    };
    [name, timeout, policy, problem_of_hook(handler)].into_iter().flatten()
}

fn problem_of_hook(handler: &DiscoveredHandler) -> Option<ProblemKind> {
    let (api_version, hook) = (&handler.request_hook.api_version, &handler.request_hook.hook);
    match GroupVersionHook::parse(api_version, hook) {
        Err(_) => Some(ProblemKind::InvalidApiVersion(api_version.clone())),
        Ok(known) if known.is_known() => None,
        Ok(_) => Some(ProblemKind::UnknownHook { api_version: api_version.clone(), hook: hook.clone() }),
    }
}

fn is_dns_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn defaulted(config: &str, handler: &DiscoveredHandler) -> ExtensionHandler {
    let timeout = handler.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    ExtensionHandler {
        name: handler_name::full(&handler.name, config),
        request_hook: GroupVersionHookRef {
            api_version: handler.request_hook.api_version.clone(),
            hook: handler.request_hook.hook.clone(),
            ..GroupVersionHookRef::default()
        },
        timeout_seconds: Some(timeout).filter(|seconds| *seconds > 0),
        failure_policy: Some(handler.failure_policy.clone().unwrap_or(FailurePolicy::Fail)),
        ..ExtensionHandler::default()
    }
}

/// Both conditions after a good discovery.
#[must_use]
pub fn discovered(generation: Option<i64>) -> (conditions::Wanted, v1beta1::Wanted) {
    let wanted =
        conditions::Wanted::new(conditions::types::DISCOVERED, Status::True, conditions::reasons::DISCOVERED);
    (wanted.observed_generation(generation), v1beta1::Wanted::holds(v1beta1::types::DISCOVERED))
}

/// Both conditions after a discovery that failed, with the reason as text.
#[must_use]
pub fn not_discovered(generation: Option<i64>, message: &str) -> (conditions::Wanted, v1beta1::Wanted) {
    let wanted = conditions::Wanted::new(
        conditions::types::DISCOVERED,
        Status::False,
        conditions::reasons::NOT_DISCOVERED,
    );
    let deprecated = v1beta1::Wanted::fails(
        v1beta1::types::DISCOVERED,
        v1beta1::reasons::DISCOVERY_FAILED,
        v1beta1::Severity::Error,
        message,
    );
    (wanted.observed_generation(generation).message(message), deprecated)
}

#[cfg(test)]
mod tests {
    use similar_asserts::assert_eq;

    use super::*;
    use crate::hooks::{DiscoveredHook, Response};

    fn handler(name: &str) -> DiscoveredHandler {
        DiscoveredHandler {
            name: name.to_owned(),
            request_hook: DiscoveredHook::from(GroupVersionHook::named("DiscoverVariables")),
            ..DiscoveredHandler::default()
        }
    }

    fn answer(handlers: Vec<DiscoveredHandler>) -> DiscoveryResponse {
        DiscoveryResponse { handlers, ..DiscoveryResponse::success() }
    }

    fn refusal(response: &DiscoveryResponse) -> String {
        accept("heron", response).unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_names_the_handler_and_the_field() {
        let bad = DiscoveredHandler {
            timeout_seconds: Some(77),
            failure_policy: Some(FailurePolicy::Other("fail".to_owned())),
            request_hook: DiscoveredHook { api_version: "a/b/c".to_owned(), hook: "Lunch".to_owned() },
            ..handler("tide")
        };
        assert_eq!(
            refusal(&answer(vec![handler("tide"), bad])),
            "the answer is not valid: handlers[1] \"tide\": name is used by an earlier handler; \
             handlers[1] \"tide\": timeoutSeconds 77 must be between 0 and 30; \
             handlers[1] \"tide\": failurePolicy \"fail\" must be \"Ignore\" or \"Fail\"; \
             handlers[1] \"tide\": requestHook.apiVersion \"a/b/c\" must be <group>/<version>"
        );
    }

    #[test]
    fn a_refusal_is_bounded_however_much_is_wrong() {
        let many = (0..MAX_HANDLERS).map(|index| handler(&format!("{}{index}", "É\n".repeat(500)))).collect();
        let text = refusal(&answer(many));
        assert!(text.len() < conditions::MAX_MESSAGE, "{}", text.len());
        assert!(text.ends_with("and 492 more"), "{text}");
        assert!(!text.contains('\n'));
    }

    #[test]
    fn more_handlers_than_a_status_holds_are_refused() {
        let many = (0..=MAX_HANDLERS).map(|index| handler(&format!("h{index}"))).collect();
        assert_eq!(
            refusal(&answer(many)),
            "the answer is not valid: handlers: there are 513, at most 512 are allowed"
        );
    }

    #[test]
    fn the_words_of_the_extension_are_kept_within_bounds() {
        assert_eq!(
            refusal(&DiscoveryResponse::failure("fog\nbank")),
            "the extension answered Failure: fog bank"
        );
        assert_eq!(
            refusal(&DiscoveryResponse::failure("")),
            "the extension answered Failure: it gave no message"
        );
        assert!(refusal(&DiscoveryResponse::failure(&"fog ".repeat(10_000))).len() < 1100);
    }
}
