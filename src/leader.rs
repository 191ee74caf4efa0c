//! Whether somebody else is the controller of our kinds in this cluster.
//!
//! Cluster API's core manager holds a Lease while it runs with leader election. Two controllers of the same kinds would
//! undo each other's writes, so `--mode manage` does not start beside a live holder.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::ListParams};

/// The Lease of Cluster API's core manager, whatever namespace that was installed to.
pub const UPSTREAM_LEASE: &str = "controller-leader-election-capi";

/// How long a Lease lasts that does not say.
const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// A live holder of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Where the Lease is.
    pub namespace: String,
    /// Who holds it.
    pub identity: String,
}

/// Who holds Cluster API's Lease now, in any namespace.
///
/// # Errors
/// When Leases cannot be listed.
pub async fn upstream_holder(client: Client, now: Timestamp) -> Result<Option<Holder>, kube::Error> {
    let leases: Api<Lease> = Api::all(client);
    let named = ListParams::default().fields(&format!("metadata.name={UPSTREAM_LEASE}"));
    Ok(leases.list(&named).await?.items.iter().find_map(|lease| holder(lease, now)))
}

/// Who holds a Lease, unless it was given up or has run out.
fn holder(lease: &Lease, now: Timestamp) -> Option<Holder> {
    let spec = lease.spec.as_ref()?;
    let identity = spec.holder_identity.clone().filter(|identity| !identity.is_empty())?;
    let lasts =
        spec.lease_duration_seconds.map_or(SignedDuration::try_from(DEFAULT_DURATION).ok()?, |seconds| {
            SignedDuration::from_secs(seconds.into())
        });
    let renewed = spec.renew_time.as_ref()?.0;
    let ends = renewed.checked_add(lasts).unwrap_or(Timestamp::MAX);
    (ends > now).then(|| Holder { namespace: lease.metadata.namespace.clone().unwrap_or_default(), identity })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::coordination::v1::LeaseSpec, apimachinery::pkg::apis::meta::v1::MicroTime};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::renewed_just_now("capi-0", Some(10), Some(15), true)]
    #[case::run_out("capi-0", Some(16), Some(15), false)]
    #[case::given_up("", Some(1), Some(15), false)]
    #[case::never_renewed("capi-0", None, Some(15), false)]
    #[case::without_a_duration("capi-0", Some(14), None, true)]
    fn a_lease_is_held_while_it_lasts(
        #[case] identity: &str,
        #[case] renewed_seconds_ago: Option<i64>,
        #[case] duration_seconds: Option<i32>,
        #[case] is_held: bool,
    ) {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let spec = LeaseSpec {
            holder_identity: Some(identity.to_owned()),
            lease_duration_seconds: duration_seconds,
            renew_time: renewed_seconds_ago.map(|ago| MicroTime(now - SignedDuration::from_secs(ago))),
            ..LeaseSpec::default()
        };
        let lease = Lease { spec: Some(spec), ..Lease::default() };
        assert_eq!(holder(&lease, now).is_some(), is_held);
    }
}
