//! All hooks but those that the manager itself asks, with their messages.

use std::collections::BTreeMap;

use super::{
    DiscoverVariables, DiscoverVariablesRequest, Discovery, DiscoveryRequest, Hook, Message, Request,
    Response, ResponseStatus, Shape,
};
use crate::types::{Dict, hooks as messages};

/// Does something with a hook that is only known by name.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<H: Hook>(self) -> Self::Output;
}

macro_rules! hooks {
    ($($(#[$meta:meta])* $hook:ident($request:ident -> $response:ident $(, $retry:ident)?);)*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $hook;

            impl Hook for $hook {
                type Request = messages::$request;
                type Response = messages::$response;
                const NAME: &'static str = stringify!($hook);
            }

            impl Message for messages::$request {
                const KIND: &'static str = stringify!($request);

                fn shape() -> Shape {
                    <Self as crate::types::Go>::shape()
                }
            }

            impl Request for messages::$request {
                fn settings(&self) -> BTreeMap<String, String> {
                    self.settings.0.clone().unwrap_or_default()
                }

                fn set_settings(&mut self, settings: BTreeMap<String, String>) {
                    self.settings = Dict(Some(settings));
                }
            }

            impl Message for messages::$response {
                const KIND: &'static str = stringify!($response);

                fn shape() -> Shape {
                    <Self as crate::types::Go>::shape()
                }
            }

            impl Response for messages::$response {
                fn success() -> Self {
                    Self { status: ResponseStatus::Success, ..Self::default() }
                }

                fn failure(message: &str) -> Self {
                    Self { status: ResponseStatus::Failure, message: message.to_owned(), ..Self::default() }
                }

                fn status(&self) -> &ResponseStatus {
                    &self.status
                }

                fn message(&self) -> &str {
                    &self.message
                }

                fn set_message(&mut self, message: String) {
                    self.message = message;
                }

                $(
                    fn $retry(&self) -> Option<i32> {
                        Some(self.retry_after_seconds)
                    }

                    fn set_retry_after_seconds(&mut self, seconds: i32) {
                        self.retry_after_seconds = seconds;
                    }
                )?
            }
        )*

        /// Has a visitor do its work with the hook of this name; `None` when there is no such hook.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                Discovery::NAME => Some(visitor.visit::<Discovery>()),
                DiscoverVariables::NAME => Some(visitor.visit::<DiscoverVariables>()),
                $($hook::NAME => Some(visitor.visit::<$hook>()),)*
                _ => None,
            }
        }
    };
}

hooks! {
    /// After a cluster was upgraded in whole.
    AfterClusterUpgrade(AfterClusterUpgradeRequest -> AfterClusterUpgradeResponse, retry_after_seconds);
    /// Once the control plane can be reached for the first time.
    AfterControlPlaneInitialized(AfterControlPlaneInitializedRequest -> AfterControlPlaneInitializedResponse);
    /// After the control plane was upgraded.
    AfterControlPlaneUpgrade(AfterControlPlaneUpgradeRequest -> AfterControlPlaneUpgradeResponse, retry_after_seconds);
    /// After the workers were upgraded.
    AfterWorkersUpgrade(AfterWorkersUpgradeRequest -> AfterWorkersUpgradeResponse, retry_after_seconds);
    /// Before anything of a cluster is created.
    BeforeClusterCreate(BeforeClusterCreateRequest -> BeforeClusterCreateResponse, retry_after_seconds);
    /// Before anything of a cluster is deleted.
    BeforeClusterDelete(BeforeClusterDeleteRequest -> BeforeClusterDeleteResponse, retry_after_seconds);
    /// Before a cluster is upgraded.
    BeforeClusterUpgrade(BeforeClusterUpgradeRequest -> BeforeClusterUpgradeResponse, retry_after_seconds);
    /// Before the control plane is upgraded.
    BeforeControlPlaneUpgrade(BeforeControlPlaneUpgradeRequest -> BeforeControlPlaneUpgradeResponse, retry_after_seconds);
    /// Before the workers are upgraded.
    BeforeWorkersUpgrade(BeforeWorkersUpgradeRequest -> BeforeWorkersUpgradeResponse, retry_after_seconds);
    /// Which changes of a machine can be made in place.
    CanUpdateMachine(CanUpdateMachineRequest -> CanUpdateMachineResponse);
    /// Which changes of a set of machines can be made in place.
    CanUpdateMachineSet(CanUpdateMachineSetRequest -> CanUpdateMachineSetResponse);
    /// Computes patches of templates.
    GeneratePatches(GeneratePatchesRequest -> GeneratePatchesResponse);
    /// Over which versions an upgrade goes.
    GenerateUpgradePlan(GenerateUpgradePlanRequest -> GenerateUpgradePlanResponse);
    /// Changes a machine in place.
    UpdateMachine(UpdateMachineRequest -> UpdateMachineResponse, retry_after_seconds);
    /// Judges patched templates.
    ValidateTopology(ValidateTopologyRequest -> ValidateTopologyResponse);
}

impl Request for DiscoveryRequest {
    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn set_settings(&mut self, _: BTreeMap<String, String>) {}
}

impl Request for DiscoverVariablesRequest {
    fn settings(&self) -> BTreeMap<String, String> {
        self.settings.clone()
    }

    fn set_settings(&mut self, settings: BTreeMap<String, String>) {
        self.settings = settings;
    }
}

/// Many answers of success to one: their messages joined, and the lowest number of seconds that is not zero.
///
/// Behaviour: Cluster API `internal/runtime/client/client.go`, `aggregateSuccessfulResponses`; a negative number, which
/// no extension should send, is the lowest there as well.
#[must_use]
pub fn aggregate<R: Response>(responses: &[R]) -> R {
    let mut aggregated = R::success();
    let messages: Vec<_> = responses.iter().map(Response::message).filter(|text| !text.is_empty()).collect();
    aggregated.set_message(messages.join(", "));
    let seconds = responses.iter().filter_map(Response::retry_after_seconds);
    aggregated.set_retry_after_seconds(seconds.filter(|&seconds| seconds != 0).min().unwrap_or(0));
    aggregated
}

#[cfg(test)]
mod tests {
    use super::super::catalog::HOOKS;
    use super::*;

    struct Described;

    impl Visitor for Described {
        type Output = (String, String, bool);

        fn visit<H: Hook>(self) -> Self::Output {
            let retries = H::Response::success().retry_after_seconds().is_some();
            (H::Request::KIND.to_owned(), H::Response::KIND.to_owned(), retries)
        }
    }

    #[test]
    fn every_hook_of_the_catalog_has_its_messages() {
        for hook in &HOOKS {
            let expected = (hook.request_kind(), hook.response_kind(), hook.response_has_retry_after);
            assert_eq!(visit(hook.hook, Described), Some(expected), "{}", hook.hook);
        }
        assert_eq!(visit("discovery", Described), None);
    }
}
