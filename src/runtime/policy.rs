//! Failure policy: what a failed call means to those who asked.

use std::sync::Arc;

use kapstan_api::extension_config::FailurePolicy;

use super::error::CallError;

/// Applies a handler's failure policy to one call. Only a failed call (no connection, a status other than 200, an
/// unreadable body) can be ignored, and then counts as `success`; an answer that says "Failure" stands.
///
/// # Errors
/// The call's own, where the policy does not ignore it.
///
/// Behaviour: Cluster API `internal/runtime/client/client.go`, `CallExtension`.
pub fn settle<T>(
    call: Result<T, Arc<CallError>>,
    policy: &FailurePolicy,
    success: impl FnOnce() -> T,
) -> Result<T, Arc<CallError>> {
    match call {
        Err(error) if *policy == FailurePolicy::Ignore && error.is_failed_call() => Ok(success()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::super::error::{Failure, Phase, Target, Text};
    use super::*;

    fn unreachable() -> Failure {
        Failure::Unreachable { address: "a.test:443".into(), reason: "refused".into() }
    }

    fn certificate() -> Failure {
        Failure::Certificate { address: "a.test:443".into(), reason: "expired".into() }
    }

    fn timed_out() -> Failure {
        Failure::TimedOut { after: Duration::from_secs(10), phase: Phase::ReadingBody }
    }

    fn interrupted() -> Failure {
        Failure::Interrupted { reason: "reset".into() }
    }

    fn status(code: u16) -> Failure {
        Failure::Status { code, location: None, words: Text::default() }
    }

    fn too_large() -> Failure {
        Failure::TooLarge { limit: 1, announced: None }
    }

    fn undecodable() -> Failure {
        Failure::Undecodable { reason: "not JSON".into() }
    }

    fn throttled() -> Failure {
        Failure::Throttled { address: "a.test:443".into(), waited: Duration::ZERO }
    }

    fn refused() -> Failure {
        Failure::Refused { message: "no".into() }
    }

    fn unknown_status() -> Failure {
        Failure::UnknownStatus { status: Text::default(), message: Text::default() }
    }

    #[rstest]
    #[case::unreachable_is_ignored(unreachable(), true)]
    #[case::certificate_is_ignored(certificate(), true)]
    #[case::timeout_is_ignored(timed_out(), true)]
    #[case::broken_connection_is_ignored(interrupted(), true)]
    #[case::error_status_is_ignored(status(500), true)]
    #[case::other_success_status_is_ignored(status(201), true)]
    #[case::redirect_is_ignored(status(308), true)]
    #[case::too_large_is_ignored(too_large(), true)]
    #[case::undecodable_is_ignored(undecodable(), true)]
    #[case::throttled_is_ignored(throttled(), true)]
    #[case::refusal_is_kept(refused(), false)]
    #[case::unknown_status_is_kept(unknown_status(), false)]
    #[case::misconfiguration_is_kept(Failure::misconfigured("spec.clientConfig.url", "no https"), false)]
    #[case::own_fault_is_kept(Failure::internal("panicked"), false)]
    fn failure_policy(#[case] failure: Failure, #[case] is_ignored: bool) {
        let target = Target { extension: "e".into(), handler: None, hook: "Discovery".into() };
        let error = Arc::new(CallError { target, failure });
        let call = || Err::<u8, _>(error.clone());
        let settled = settle(call(), &FailurePolicy::Ignore, || 1);
        assert_eq!(settled, if is_ignored { Ok(1) } else { call() });
        assert_eq!(settle(call(), &FailurePolicy::Fail, || 1), call());
        assert_eq!(settle(call(), &FailurePolicy::Other("Later".into()), || 1), call());
    }

    #[test]
    fn an_answer_is_an_answer_under_any_policy() {
        assert_eq!(settle(Ok(7), &FailurePolicy::Ignore, || 1), Ok(7));
        assert_eq!(settle(Ok(7), &FailurePolicy::Fail, || 1), Ok(7));
    }
}
