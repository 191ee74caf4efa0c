//! The shell: read what is known, decide, write.

use jiff::Timestamp;
use kapstan_api::{annotations::CA_ENTRY, conditions::types, extension_config::ExtensionConfig, text};
use kube::Api;
use serde_json::{Value, json};

use super::{
    KIND,
    plan::{Ca, State},
    status,
};
use crate::{
    controllers::{
        Context, pending,
        write::{Error, Write, Written},
    },
    error::chain,
    index::{config::Config, keys::Name, waiting::Moment},
    queue::Outcome,
};

/// Makes one `ExtensionConfig` what it should be.
///
/// # Errors
/// When a write was refused or did not get through.
pub async fn reconcile(name: Name, ctx: &Context) -> Result<Outcome, Error> {
    // A conflict is answered once, from fresh data; a second one waits for its own event.
    for _ in 0..2 {
        if step(&name, ctx).await? {
            break;
        }
    }
    Ok(Outcome::Done)
}

/// One attempt; says whether it went through.
async fn step(name: &Name, ctx: &Context) -> Result<bool, Error> {
    let Some(mut state) = ctx.shared.with(|index| State::read(index, name)) else { return Ok(true) };
    // Bundle first: Discovery dials with it, and this write moves the generation that the condition names.
    let mut refusal = None;
    if let (false, Ca::Inject(bundle)) = (state.config.is_paused, &state.ca) {
        let body = json!({ "spec": { "clientConfig": { "caBundle": bundle } } });
        match write(ctx, &state.config, "caBundle", body).await {
            Ok(false) => return Ok(false),
            Ok(true) => {
                let injected = ctx.shared.with(|index| {
                    index.injected(&state.config, bundle, ctx.clock.now());
                    State::read(index, name)
                });
                let Some(injected) = injected else { return Ok(true) };
                state = injected;
            }
            Err(error) if error.is_refusal() => {
                state.ca = Ca::Missing(refused_bundle(&state.config, &error).into());
                refusal = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if state.ca != Ca::Unknown
        && let Some(job) = ctx.shared.with(|index| index.request_discovery(name))
    {
        ctx.shared.queues().jobs.renew(job);
    }
    let pending = pending_since(&state, ctx);
    ctx.metrics.evaluated(KIND);
    ctx.shared.with(|index| index.note_config_evaluation(&state.config, ctx.clock.timestamp()));
    let is_done = match status::after(&state, pending, ctx.clock.timestamp()) {
        Some(body) => write(ctx, &state.config, "status", body).await?,
        None => true,
    };
    if is_done && pending.is_some() {
        note_pending_told(&state.config, ctx);
    }
    match refusal {
        Some(refusal) if is_done => Err(refusal), // said, and tried again after the back-off
        _ => Ok(is_done),
    }
}

/// Since when the config has waited to be judged, when its condition is to say so now. Before, it comes again then.
fn pending_since(state: &State, ctx: &Context) -> Option<Timestamp> {
    let State { config, .. } = state;
    let conditions = config.object.status.as_ref().map(|status| status.conditions.as_slice());
    let waits = state.awaited().is_some();
    let since = ctx.shared.with(|index| {
        let waiting = index.config_waiting(config);
        pending::note(waiting, config.generation, waits, Moment::now(&ctx.clock))
    });
    if !pending::is_to_be_said(conditions.unwrap_or_default(), types::DISCOVERED, config.generation) {
        return None;
    }
    pending::due(ctx, &ctx.shared.queues().configs, &config.name, since)
}

fn note_pending_told(config: &Config, ctx: &Context) {
    ctx.metrics.pending(KIND);
    ctx.shared.with(|index| {
        if let Some(waiting) = index.config_waiting(config) {
            waiting.told(config.generation);
        }
    });
}

/// The bundle in the Secret is one that the API server does not let into the spec, as when it is too long.
fn refused_bundle(config: &Config, error: &Error) -> String {
    let secret = config.secret.as_ref().and_then(|secret| secret.as_ref().ok());
    let secret = secret.map(ToString::to_string).unwrap_or_default();
    format!("{CA_ENTRY} of Secret {secret} cannot be taken: {}", text::foreign(&chain(error)))
}

async fn write(ctx: &Context, config: &Config, what: &'static str, body: Value) -> Result<bool, Error> {
    let api: Api<ExtensionConfig> = Api::all(ctx.kube.clone());
    let write = Write {
        kind: KIND,
        name: &config.name,
        uid: &config.uid,
        resource_version: config.object.metadata.resource_version.as_deref().unwrap_or_default(),
        what,
        is_status: what == "status",
        body,
    };
    let (is_done, object) = match write.send(&api, &ctx.metrics).await? {
        Written::Done(object) => (true, object),
        Written::Conflict(object) => (false, object),
        Written::Gone => return Ok(true), // its deletion is an event of its own
    };
    ctx.shared.change(|index| {
        let mut wake = index.update_config(Config::parse(object));
        if is_done {
            wake.configs.remove(&config.name); // it says what was just decided
        }
        wake
    });
    Ok(is_done)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::ByteString;

    use crate::{
        controllers::tests::fixtures::{Bench, offering, pass},
        index::{keys::SecretKey, place::SecretState, tests::fixtures::config},
        runtime::Options,
    };

    const PATH: &str = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/ext-a";

    fn bundles_written(bench: &Bench) -> usize {
        let patches = bench.server.patches.lock();
        patches.iter().filter(|(_, patch)| !patch["spec"]["clientConfig"]["caBundle"].is_null()).count()
    }

    /// The bundle of the Secret.
    fn set_secret(bench: &Bench, bundle: &str) {
        let present = SecretState::Present(Some(ByteString(bundle.into())));
        let secret = SecretKey::parse("ns/ca").unwrap();
        bench.context.shared.change(|index| index.apply_secret(&secret, present));
    }

    /// Somebody puts the bundle back with which the extension can be reached, whenever it is another.
    async fn put_back(bench: &Bench, times: usize) {
        for _ in 0..times {
            let version =
                bench.server.object(PATH)["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
            let version: u64 = version.parse().unwrap();
            let generation = i64::try_from(version).unwrap();
            let config =
                config("ext-a").with_ca_from("ns/ca").at_version(version + 1).at_generation(generation);
            bench.create_config(config);
            pass(Duration::from_secs(20)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_bundle_that_somebody_else_keeps_putting_back_is_left_and_told() {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.extension.behave(offering(&["dv"], "region"));
        bench.create_config(config("ext-a").with_ca_from("ns/ca"));
        set_secret(&bench, "not the one that signed");
        pass(Duration::from_secs(20)).await;
        assert_eq!(bundles_written(&bench), 1);
        put_back(&bench, 10).await;
        assert_eq!(bundles_written(&bench), 3);
        let discovered = &bench.server.object(PATH)["status"]["conditions"][0];
        assert_eq!(discovered["status"], "True", "with the value in place");
        let message = discovered["message"].as_str().unwrap();
        assert!(
            message.starts_with(
                "ca.crt of Secret ns/ca was taken 3 times and somebody else put another value back"
            ) && message.ends_with("; the CA bundle that is in place stays in use"),
            "{message}"
        );
        set_secret(&bench, "another one");
        pass(Duration::from_secs(20)).await;
        assert_eq!(bundles_written(&bench), 4, "a new Secret is a new matter");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bundle_that_the_api_server_refuses_is_told_and_the_one_in_place_stays_in_use() {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.extension.behave(offering(&["dv"], "region"));
        *bench.server.refused.lock() = Some("caBundle");
        bench.create_config(config("ext-a").with_ca_from("ns/ca"));
        let secret = SecretKey::parse("ns/ca").unwrap();
        let present = SecretState::Present(Some(ByteString("too long".into())));
        bench.context.shared.change(|index| index.apply_secret(&secret, present));
        pass(Duration::from_mins(1)).await;
        let discovered = &bench.server.object(PATH)["status"]["conditions"][0];
        assert_eq!(discovered["status"], "True");
        let message = discovered["message"].as_str().unwrap();
        assert!(message.starts_with("ca.crt of Secret ns/ca cannot be taken: "), "{message}");
        assert!(message.ends_with("; the CA bundle that is in place stays in use"), "{message}");
    }
}
