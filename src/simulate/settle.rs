//! The phase `settle`: everything is created while a manager runs, which makes all of it ready.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use kube::{
    ResourceExt as _,
    api::{DynamicObject, PartialObjectMeta},
};
use tokio::time::Instant;

use super::{
    Time,
    bench::{Bench, Totals},
    fleet::{CLASS, CONFIG, Fleet, Kind, TEMPLATES},
    host,
    report::{Ready, Settle},
    sight::{self, Seen},
};

/// On a virtual clock nothing takes time by itself, so this long passes with every object that is created.
const CREATION: Duration = Duration::from_millis(1);
/// How long nothing has to come nearer until it is given up.
const PATIENCE: Duration = Duration::from_mins(2);
/// Of so many objects that are not ready it is said why.
const COMPLAINTS: usize = 5;

/// What the phase found out.
pub(super) struct Settled {
    pub(super) settle: Settle,
    pub(super) ready: Ready,
    pub(super) histogram: Vec<u64>,
    /// What some objects that are not ready say.
    pub(super) complaints: Vec<String>,
}

/// Creates everything while a manager runs, and counts until all is ready and nothing more is done.
pub(super) async fn run(bench: &mut Bench<'_>) -> Result<Settled> {
    let before = bench.totals().await?;
    bench.start_manager().await?;
    bench.extension.reset_counts();
    let start = Instant::now();
    create(bench).await?;
    let created = start.elapsed();
    // A call that is not answered in time is not asked anew before its back-off is over.
    let patience = PATIENCE + 2 * bench.options.latency;
    let is_ready = bench.until_ready(patience).await;
    let end = bench.sight.standing().progress.filter(|_| is_ready).unwrap_or_else(Instant::now);
    if is_ready {
        bench.until_quiet().await;
    }
    let after = bench.totals().await?;
    let settle = Settle {
        seconds: seconds(end - start),
        seconds_of_creation: seconds(created),
        pending: bench.sight.standing().pending(),
        max_in_flight: bench.extension.max_in_flight(),
        calls: bench.calls(),
        ..counted(&before, after)
    };
    let histogram = bench.extension.histogram(start, Duration::from_secs(1));
    let (ready, complaints) = look(bench).await?;
    Ok(Settled { settle, ready, histogram, complaints })
}

async fn create(bench: &Bench<'_>) -> Result<()> {
    let Bench { options, host, fleet, extension, progress, sight, .. } = bench;
    for object in fleet.objects(&extension.url(), &extension.ca_bundle()) {
        host.create(&object, &fleet.namespace).await?;
        progress.created(sight.standing().ready());
        if options.time == Time::Virtual {
            tokio::time::sleep(CREATION).await;
        }
    }
    Ok(())
}

/// What was counted between two moments.
fn counted(before: &Totals, after: Totals) -> Settle {
    let requests = after.requests.without(&before.requests);
    Settle {
        evaluations: after.evaluations,
        writes: requests.writes(),
        lists: requests.lists(),
        conflicts: requests.conflicts(),
        events: after.events.saturating_sub(before.events),
        ..Settle::default()
    }
}

/// Reads everything from the API server, and says how much of it is as it should be, and what is wrong with some that
/// is not.
async fn look(bench: &Bench<'_>) -> Result<(Ready, Vec<String>)> {
    let (client, fleet) = (bench.host.client(), &bench.fleet);
    let configs: Vec<Seen> = host::list(&client, &CONFIG.path(&fleet.namespace)).await?;
    let classes: Vec<Seen> = host::list(&client, &CLASS.path(&fleet.namespace)).await?;
    let mut complaints = Vec::new();
    let mut count = |kind: &Kind, objects: &[Seen]| {
        let (ready, unready): (Vec<_>, Vec<_>) =
            objects.iter().partition(|object| sight::is_ready(kind, object));
        let some = unready.into_iter().take(COMPLAINTS);
        complaints.extend(
            some.map(|object| format!("{} {}: {}", kind.name, object.name_any(), sight::complaint(object))),
        );
        ready.len()
    };
    let (extension_configs, cluster_classes) = (count(&CONFIG, &configs), count(&CLASS, &classes));
    let uids: BTreeMap<String, String> =
        classes.iter().filter_map(|class| Some((class.name_any(), class.uid()?))).collect();
    let mut templates_owned = 0;
    for kind in &TEMPLATES {
        let templates: Vec<PartialObjectMeta<DynamicObject>> =
            host::list(&client, &kind.path(&fleet.namespace)).await?;
        let (owned, unowned): (Vec<_>, Vec<_>) =
            templates.iter().partition(|template| is_owned(fleet, &uids, template));
        templates_owned += owned.len();
        let some = unowned.into_iter().take(COMPLAINTS);
        complaints.extend(some.map(|object| {
            format!("{} {}: not owned by all classes that use it", kind.name, object.name_any())
        }));
    }
    Ok((Ready { extension_configs, cluster_classes, templates_owned }, complaints))
}

/// Whether every class that uses a template owns it.
fn is_owned(
    fleet: &Fleet,
    uids: &BTreeMap<String, String>,
    template: &PartialObjectMeta<DynamicObject>,
) -> bool {
    let owners: Vec<&str> = template.owner_references().iter().map(|owner| owner.uid.as_str()).collect();
    let name = template.name_any();
    let set = name.strip_prefix("set-").and_then(|number| number.parse().ok());
    set.is_some_and(|set| {
        fleet.classes_of(set).all(|class| {
            uids.get(&Fleet::class_name(class)).is_some_and(|uid| owners.contains(&uid.as_str()))
        })
    })
}

/// To the millisecond.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}
