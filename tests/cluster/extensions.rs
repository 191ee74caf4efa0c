//! Extensions that fail in every way beside one that works.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Result;
use http::StatusCode;
use kapstan::manager::Options;
use kapstan_api::{
    cluster_class::ClusterClass,
    extension_config::{ExtensionConfig, FailurePolicy},
    hooks::catalog::GroupVersionHook,
};
use kapstan_sdk::Handler;
use kapstan_test_extension::{Behaviour, HandlerSpec, Target, TestExtension};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    audit::AuditMark,
    fixtures::{Templates, class, class_with, config, is_discovered, is_ready, parsed},
    said::{assert_says, remark, variables, why_undiscovered, why_unready},
    server::{
        DEADLINE,
        Server::{self, Embedded, Real},
    },
    world::{Running, World},
};

/// More than any answer that is read.
const FORTY_MB: u64 = 40 << 20;

/// The wait after the first failed call; it doubles with every further one.
const FIRST_BACKOFF: Duration = Duration::from_secs(5);

#[rstest]
fn dead_extensions_say_why_and_one_beside_them_is_ready_at_once(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let scene = Scene::start(server).await?;
        scene.create_dead_ones().await?;
        scene.the_healthy_one_does_not_wait().await?;
        scene.each_says_why().await?;
        scene.an_undiscovered_extension_blocks_its_classes().await?;
        scene.all_heal_without_a_restart_or_an_edit().await?;
        scene.calls_kept_to_the_back_off();
        scene.each_was_written_twice()?;
        Box::pin(scene.a_restarted_manager_works_beside_a_dead_extension()).await
    })
}

/// An extension that does not come to be discovered.
struct Dead {
    name: &'static str,
    behaviour: Behaviour,
    /// What its condition has to say.
    says: &'static [&'static str],
}

/// The ones that hold a call until its time is over.
const HANGING: [&str; 2] = ["hangs-before-headers", "hangs-in-body"];

fn dead_ones(healthy: &TestExtension) -> Vec<Dead> {
    let dead = |name, behaviour, says| Dead { name, behaviour, says };
    let error = StatusCode::INTERNAL_SERVER_ERROR;
    let words = "the vault is sealed\nask \u{1b}[31mops\u{1b}[0m ".to_owned() + &"again ".repeat(20_000);
    vec![
        dead("hangs-before-headers", Behaviour::hang(), &["gave up after 10s", "waiting for the response"]),
        dead("hangs-in-body", Behaviour::hang_in_body(10), &["gave up after 10s", "reading the body"]),
        dead("status-500", Behaviour::body(error, words.clone()), &["status 500", "the vault is sealed ask"]),
        dead("not-json", Behaviour::body(StatusCode::OK, "<html>"), &["failed to decode the answer"]),
        dead("empty", Behaviour::status(StatusCode::OK), &["failed to decode the answer"]),
        dead("large", Behaviour::sized(StatusCode::OK, FORTY_MB), &["longer than 4194304 bytes", "41943040"]),
        dead(
            "large-unannounced",
            Behaviour::sized_unannounced(StatusCode::OK, FORTY_MB),
            &["longer than 4194304 bytes"],
        ),
        dead("large-error", Behaviour::sized(error, FORTY_MB), &["status 500", "aaaa"]),
        dead(
            "large-error-unannounced",
            Behaviour::sized_unannounced(error, FORTY_MB),
            &["status 500", "aaaa"],
        ),
        dead(
            "redirects",
            Behaviour::redirect(StatusCode::TEMPORARY_REDIRECT, &healthy.url_of("/stolen")),
            &["status 307", "/stolen"],
        ),
        dead("refuses", Behaviour::failure(words), &["status Failure", "the vault is sealed ask"]),
        dead("refuses-without-words", Behaviour::failure(""), &["status Failure"]),
        dead("invalid-handlers", invalid_handlers(), &["handlers[0]", "not a known hook", "and 1004 more"]),
        dead("too-many-handlers", too_many_handlers(), &["there are 600, at most 512"]),
        dead("no-status", Behaviour::json(&discovery(&json!([]), "")), &["unknown status"]),
    ]
}

fn discovery(handlers: &Value, status: &str) -> Value {
    let hook = GroupVersionHook::named("Discovery");
    json!({ "apiVersion": hook.api_version(), "kind": "DiscoveryResponse", "status": status, "handlers": handlers })
}

/// Half a thousand handlers with long names, of a hook that nobody knows.
fn invalid_handlers() -> Behaviour {
    let handlers: Vec<Value> = (0..512)
        .map(|number| {
            let name = format!("h-{number}-{}", "x".repeat(2000));
            json!({ "name": name, "requestHook": { "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "BrewCoffee" } })
        })
        .collect();
    Behaviour::json(&discovery(&json!(handlers), "Success"))
}

fn too_many_handlers() -> Behaviour {
    let handlers: Vec<Value> = (0..600)
        .map(|number| {
            json!({ "name": format!("h-{number}"), "requestHook": { "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "DiscoverVariables" } })
        })
        .collect();
    Behaviour::json(&discovery(&json!(handlers), "Success"))
}

/// One healthy extension, many dead ones at one address, two that break connections off, one at a closed port, and
/// one manager.
struct Scene {
    world: World,
    manager: Running,
    healthy: Arc<TestExtension>,
    dead: Arc<TestExtension>,
    /// By itself: it takes all calls on a connection along.
    cutting: Arc<TestExtension>,
    closed: Arc<TestExtension>,
    cases: Vec<Dead>,
    /// The namespace that the extension with the closed port serves.
    team_a: String,
    team_b: String,
}

impl Scene {
    async fn start(server: Server) -> Result<Self> {
        let world = World::start(server).await?;
        let healthy = world.extension(TestExtension::builder()).await?;
        let dead = world.extension(TestExtension::builder()).await?;
        let closed = world.extension(TestExtension::builder()).await?;
        let cases = dead_ones(&healthy);
        for Dead { name, behaviour, .. } in &cases {
            dead.behave(Target::discovery(&format!("/{name}")), behaviour.clone());
        }
        let cutting = world.extension(TestExtension::builder()).await?;
        cutting.behave("/resets", Behaviour::reset());
        cutting.behave("/hangs-up", Behaviour::hang_up());
        closed.stop().await?;
        let (team_a, team_b) = (namespace(&world, "team-a").await?, namespace(&world, "team-b").await?);
        let manager = world.manager(without_resync())?;
        Ok(Self { world, manager, healthy, dead, cutting, closed, cases, team_a, team_b })
    }

    async fn create_dead_ones(&self) -> Result<()> {
        for Dead { name, .. } in &self.cases {
            self.world.create(&config(name, &self.dead)).await?;
        }
        for name in ["resets", "hangs-up"] {
            self.world.create(&config(name, &self.cutting)).await?;
        }
        let mut unknown_ca = config("unknown-ca", &self.dead);
        unknown_ca.spec.client_config.ca_bundle = config("any", &self.healthy).spec.client_config.ca_bundle;
        self.world.create(&unknown_ca).await?;
        let mut closed = config("closed", &self.closed);
        closed.spec.namespace_selector =
            Some(parsed(json!({ "matchLabels": { "kubernetes.io/metadata.name": self.team_a } })));
        self.world.create(&closed).await?;
        self.world.create(&class(&self.team_a, "names-closed", &["closed"])).await?;
        self.world.create(&class(&self.team_b, "names-closed", &["closed"])).await?;
        self.world.create(&class(&self.team_b, "names-500", &["status-500"])).await?;
        for name in HANGING {
            self.until_calls(name, 1).await?;
        }
        // Now that the manager knows the config: news of two kinds come in any order.
        self.world.create(&class(&self.team_b, "names-hanging", &["hangs-in-body"])).await?;
        Ok(())
    }

    /// It is there when the others have not even failed.
    async fn the_healthy_one_does_not_wait(&self) -> Result<()> {
        self.world.create(&config("healthy", &self.healthy)).await?;
        self.world.create(&class(&self.team_b, "healthy", &["healthy"])).await?;
        let ready = self.world.until_class(&self.team_b, "healthy", is_ready).await?;
        assert_eq!(variables(&ready).len(), 10);
        assert!(is_discovered(&self.world.config("healthy").await?));
        for name in HANGING {
            let config = self.world.config(name).await?;
            let has_ended = is_discovered(&config) || why_undiscovered(&config).is_some();
            assert!(!has_ended, "{name} is still asked");
        }
        let class = self.world.class(&self.team_b, "names-hanging").await?;
        assert!(!is_ready(&class) && why_unready(&class).is_none(), "it waits");
        Ok(())
    }

    async fn each_says_why(&self) -> Result<()> {
        let cases = self.cases.iter().map(|dead| (dead.name, dead.says));
        let more: [(&str, &[&str]); 4] = [
            ("resets", &["the connection broke before the answer was complete: it was closed"]),
            ("hangs-up", &["the connection broke before the answer was complete: it was closed"]),
            ("unknown-ca", &["failed to verify the certificate of 127.0.0.1:", "is issued by"]),
            ("closed", &["failed to connect to 127.0.0.1:", "refused"]),
        ];
        for (name, says) in cases.chain(more) {
            let config = self.world.until_config(name, |config| why_undiscovered(config).is_some()).await?;
            let why = why_undiscovered(&config).unwrap_or_default();
            assert_says(name, &why, says);
            assert_says(name, &why, &["Error in discovery"]);
            assert!(!why.chars().any(char::is_control), "{name}: {why:?}");
            assert_eq!(config.status.unwrap_or_default().handlers, [], "{name}");
        }
        assert_eq!(self.healthy.calls("/stolen"), 0, "a redirect was followed");
        assert!(self.manager.health.missing().is_empty());
        Ok(())
    }

    async fn an_undiscovered_extension_blocks_its_classes(&self) -> Result<()> {
        for (namespace, name, config) in [
            (&self.team_a, "names-closed", "closed"),
            (&self.team_b, "names-closed", "closed"),
            (&self.team_b, "names-500", "status-500"),
            (&self.team_b, "names-hanging", "hangs-in-body"),
        ] {
            let why = format!(
                "patch patch-{config}: handler discovervariables.{config} is not known yet: \
                 ExtensionConfig {config} has not been discovered"
            );
            let class = self.world.until_class(namespace, name, |class| is_unready(class, &why)).await?;
            assert_eq!(variables(&class), [""; 0]);
            assert_eq!(class.status.unwrap_or_default().observed_generation, None, "{name}");
        }
        Ok(())
    }

    async fn all_heal_without_a_restart_or_an_edit(&self) -> Result<()> {
        for Dead { name, .. } in &self.cases {
            if !HANGING.contains(name) {
                self.until_calls(name, 2).await?;
            }
        }
        self.dead.behave_as_usual();
        self.cutting.behave_as_usual();
        self.closed.restart()?;
        for Dead { name, .. } in &self.cases {
            let config = self.world.until_config(name, is_discovered).await?;
            assert_eq!(config.status.unwrap_or_default().handlers.len(), 3, "{name}");
        }
        for name in ["resets", "hangs-up", "closed"] {
            self.world.until_config(name, is_discovered).await?;
        }
        self.world.until_class(&self.team_a, "names-closed", is_ready).await?;
        self.world.until_class(&self.team_b, "names-500", is_ready).await?;
        self.world.until_class(&self.team_b, "names-hanging", is_ready).await?;
        let not_served = |class: &_| is_unready(class, "namespaceSelector");
        let class = self.world.until_class(&self.team_b, "names-closed", not_served).await?;
        assert_says(
            "names-closed",
            &why_unready(&class).unwrap_or_default(),
            &["discovervariables.closed", &self.team_b],
        );
        Ok(())
    }

    /// No hot loop: the wait doubles with every failure, and ends with the first success.
    fn calls_kept_to_the_back_off(&self) {
        for Dead { name, .. } in &self.cases {
            let discovery = Target::discovery(&format!("/{name}"));
            let arrivals: Vec<_> =
                self.dead.arrivals().into_iter().filter(|arrival| discovery.covers(&arrival.path)).collect();
            assert!(arrivals.len() >= 2, "{name}");
            let mut at_least = FIRST_BACKOFF;
            for pair in arrivals.windows(2) {
                assert!(pair[1].at - pair[0].at >= at_least, "{name}: {arrivals:?}");
                at_least *= 2;
            }
        }
    }

    /// Once to say why not, once to say that all is well, however many calls it took; before that, once to say that it
    /// waits, if it did for long.
    fn each_was_written_twice(&self) -> Result<()> {
        let writes = self.world.writes(AuditMark::Beginning)?;
        assert!(writes.iter().all(|write| write.code == Some(200)), "{writes:?}");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let of_configs = writes.iter().filter(|write| write.resource == "extensionconfigs");
        of_configs.for_each(|write| *counts.entry(&write.name).or_default() += 1);
        counts.remove("unknown-ca");
        assert_eq!(counts.remove("healthy"), Some(1));
        assert_eq!(HANGING.map(|name| counts.remove(name)), [Some(3), Some(3)]);
        assert_eq!(counts.len(), self.cases.len() + 3 - HANGING.len());
        assert!(counts.values().all(|count| *count == 2), "{counts:?}");
        Ok(())
    }

    async fn a_restarted_manager_works_beside_a_dead_extension(self) -> Result<()> {
        let Self {
            world,
            manager,
            closed,
            team_a,
            team_b,
            healthy: _healthy,
            dead: _dead,
            cutting: _cutting,
            ..
        } = self;
        manager.stop().await?;
        closed.stop().await?;
        let mark = world.audit_mark()?;
        let manager = world.manager(without_resync())?;
        let config = world.until_config("closed", |config| why_undiscovered(config).is_some()).await?;
        assert_eq!(config.status.unwrap_or_default().handlers.len(), 3, "what was found before stays");
        let blocked =
            world.until_class(&team_a, "names-closed", |class| is_unready(class, "is not known yet")).await?;
        assert_eq!(variables(&blocked).len(), 10, "what was found before stays");
        assert!(manager.health.missing().is_empty());
        world.create(&class(&team_b, "after-restart", &["healthy"])).await?;
        world.until_class(&team_b, "after-restart", is_ready).await?;
        closed.restart()?;
        world.until_config("closed", is_discovered).await?;
        world.until_class(&team_a, "names-closed", is_ready).await?;
        let concerned = ["closed", "names-closed", "after-restart", "default"];
        let mut of_others = world.writes(mark)?;
        of_others.retain(|write| !concerned.contains(&write.name.as_str()));
        assert_eq!(of_others, [], "a restart alone changes nothing");
        Ok(())
    }

    async fn until_calls(&self, name: &str, calls: u64) -> Result<()> {
        let target = Target::discovery(&format!("/{name}"));
        Ok(tokio::time::timeout(DEADLINE, self.dead.until_calls(target, calls)).await?)
    }
}

/// Options of a manager that asks again only what failed.
fn without_resync() -> Options {
    Options { sync_period: Duration::ZERO, ..Options::default() }
}

/// Whether the variables of a class are not ready for a reason that has this in it.
fn is_unready(class: &ClusterClass, says: &str) -> bool {
    why_unready(class).is_some_and(|why| why.contains(says))
}

/// A namespace with the templates that every class of these tests refers to.
async fn namespace(world: &World, prefix: &str) -> Result<String> {
    let namespace = world.namespace(prefix).await?;
    for (path, template) in Templates::none().objects(&namespace) {
        world.create_at(&path, &template).await?;
    }
    Ok(namespace)
}

#[rstest]
fn a_class_names_patch_handler_and_hook_of_what_failed_with_its_words(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let asked = Asked::start(server).await?;
        asked.failed_calls_are_told_in_full().await?;
        asked.an_ignored_failure_counts_as_no_variables().await?;
        asked.many_failures_fit_a_condition().await?;
        asked.a_moved_extension_is_unknown_and_its_variables_stay().await?;
        asked.a_removed_config_is_named_and_its_recreation_heals().await?;
        asked.a_handler_that_vanished_is_named().await?;
        asked.a_name_with_a_dot_is_discovered_and_remarked_on().await?;
        asked.all_heal().await
    })
}

/// Extensions that are discovered, and fail when they are asked for variables.
struct Asked {
    world: World,
    _manager: Running,
    extension: Arc<TestExtension>,
    namespace: String,
}

/// Name, answer, and what the condition of a class that asks it says.
fn failing() -> Vec<(&'static str, Behaviour, &'static [&'static str])> {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    vec![
        ("refuses", Behaviour::failure("no region is free"), &["status Failure: no region is free"]),
        ("breaks", Behaviour::body(unavailable, "back at noon"), &["status 503: back at noon"]),
        ("hangs", Behaviour::hang(), &["gave up after 1s while waiting for the response"]),
        ("large", Behaviour::sized(StatusCode::OK, FORTY_MB), &["longer than 4194304 bytes"]),
        ("babbles", Behaviour::body(StatusCode::OK, "<html>"), &["failed to decode the answer"]),
        ("insists", Behaviour::failure("not even if ignored"), &["not even if ignored"]),
    ]
}

impl Asked {
    async fn start(server: Server) -> Result<Self> {
        let world = World::start(server).await?;
        let extension = world.extension(TestExtension::builder()).await?;
        let handler = |handler: Handler| {
            vec![
                HandlerSpec::new(handler, "DiscoverVariables"),
                HandlerSpec::new("generatepatches", "GeneratePatches"),
            ]
        };
        let quick = Handler::named("discovervariables").timeout(Duration::from_secs(1));
        extension.set_handlers("/hangs", handler(quick))?;
        for name in ["/ignored", "/insists"] {
            let lenient = Handler::named("discovervariables").failure_policy(FailurePolicy::Ignore);
            extension.set_handlers(name, handler(lenient))?;
        }
        for (name, behaviour, _) in failing() {
            extension.behave(Target::hook_at(&format!("/{name}"), "DiscoverVariables"), behaviour);
            world.create(&config(name, &extension)).await?;
        }
        extension.behave(
            Target::hook_at("/ignored", "DiscoverVariables"),
            Behaviour::status(StatusCode::SERVICE_UNAVAILABLE),
        );
        world.create(&config("ignored", &extension)).await?;
        world.create(&config("healthy", &extension)).await?;
        let namespace = namespace(&world, "asked").await?;
        let manager = world.manager(without_resync())?;
        Ok(Self { world, _manager: manager, extension, namespace })
    }

    async fn failed_calls_are_told_in_full(&self) -> Result<()> {
        for (name, ..) in failing() {
            self.create(name, &["healthy", name]).await?;
        }
        for (name, _, says) in failing() {
            let why = self.why(name, "failed to call").await?;
            let names = [
                &format!("patch patch-{name}: "),
                &format!("failed to call handler discovervariables.{name} for hook DiscoverVariables"),
            ];
            assert_says(name, &why, &names.map(String::as_str));
            assert_says(name, &why, says);
        }
        Ok(())
    }

    async fn an_ignored_failure_counts_as_no_variables(&self) -> Result<()> {
        self.create("ignored", &["ignored"]).await?;
        let class = self.ready("ignored").await?;
        assert_eq!(variables(&class), [""; 0]);
        Ok(())
    }

    async fn many_failures_fit_a_condition(&self) -> Result<()> {
        self.extension.behave(
            Target::hook_at("/crowd", "DiscoverVariables"),
            Behaviour::failure("no room left ".repeat(1000)),
        );
        self.world.create(&config("crowd", &self.extension)).await?;
        let patches: Vec<Value> = (0..40)
            .map(|number| {
                json!({ "name": format!("patch-{number}"), "external": {
                    "generatePatchesExtension": "generatepatches.crowd",
                    "discoverVariablesExtension": "discovervariables.crowd",
                }})
            })
            .collect();
        let class = class_with(&self.namespace, "crowd", &Templates::none(), json!({ "patches": patches }));
        self.world.create(&class).await?;
        let why = self.why("crowd", "no room left").await?;
        assert_says("crowd", &why, &["patch patch-0: ", "no room left"]);
        assert_eq!(self.extension.calls(Target::hook_at("/crowd", "DiscoverVariables")), 1);
        Ok(())
    }

    async fn a_moved_extension_is_unknown_and_its_variables_stay(&self) -> Result<()> {
        let closed = self.world.extension(TestExtension::builder()).await?;
        closed.stop().await?;
        self.world.create(&config("moved", &self.extension)).await?;
        self.create("moved", &["moved"]).await?;
        self.ready("moved").await?;
        let before = config("moved", &self.extension).spec;
        self.patch("moved", &json!({ "spec": { "clientConfig": { "url": closed.url() } } })).await?;
        let why = self.why("moved", "is not known yet").await?;
        assert_says("moved", &why, &["discovervariables.moved is not known yet", "ExtensionConfig moved"]);
        self.until_variables("moved", 10).await?;
        self.patch("moved", &json!({ "spec": before })).await?;
        self.ready("moved").await?;
        Ok(())
    }

    async fn a_removed_config_is_named_and_its_recreation_heals(&self) -> Result<()> {
        self.world.create(&config("removed", &self.extension)).await?;
        self.create("removed", &["removed", "healthy"]).await?;
        self.ready("removed").await?;
        self.configs().delete("removed", &DeleteParams::default()).await?;
        let why = self.why("removed", "is not registered").await?;
        let says = "handler discovervariables.removed is not registered: there is no ExtensionConfig removed";
        assert_says("removed", &why, &["patch patch-removed: ", says]);
        self.until_variables("removed", 10).await?;
        self.world.create(&config("removed", &self.extension)).await?;
        self.ready("removed").await?;
        Ok(())
    }

    async fn a_handler_that_vanished_is_named(&self) -> Result<()> {
        self.world.create(&config("changes", &self.extension)).await?;
        self.create("changes", &["changes"]).await?;
        self.ready("changes").await?;
        self.extension.set_handlers("/changes", vec![HandlerSpec::new("other", "DiscoverVariables")])?;
        self.patch("changes", &json!({ "spec": { "settings": { "any": "change" } } })).await?;
        let why = self.why("changes", "no such handler").await?;
        assert_says(
            "changes",
            &why,
            &["ExtensionConfig changes has no such handler", "discovervariables.changes"],
        );
        self.extension
            .set_handlers("/changes", vec![HandlerSpec::new("discovervariables", "GeneratePatches")])?;
        self.patch("changes", &json!({ "spec": { "settings": { "any": "other change" } } })).await?;
        let serves_another = |class: &_| is_unready(class, "serves GeneratePatches");
        self.world.until_class(&self.namespace, "changes", serves_another).await?;
        self.until_variables("changes", 10).await
    }

    async fn a_name_with_a_dot_is_discovered_and_remarked_on(&self) -> Result<()> {
        self.world.create(&config("with.dot", &self.extension)).await?;
        let config = self.world.until_config("with.dot", is_discovered).await?;
        assert_says("with.dot", &remark(&config), &["no ClusterClass can name these handlers", "dot"]);
        Ok(())
    }

    /// Without an edit, when the extensions answer again.
    async fn all_heal(&self) -> Result<()> {
        self.extension.behave_as_usual();
        for (name, ..) in failing() {
            self.ready(name).await?;
        }
        self.ready("crowd").await?;
        // What was ignored is asked again too.
        self.until_variables("ignored", 10).await?;
        let writes = self.world.writes(AuditMark::Beginning)?;
        assert!(writes.iter().all(|write| write.code == Some(200)), "{writes:?}");
        for (name, ..) in failing() {
            let of_class =
                writes.iter().filter(|write| write.resource == "clusterclasses" && write.name == name);
            assert_eq!(of_class.count(), 2, "{name}");
        }
        Ok(())
    }

    async fn create(&self, name: &str, configs: &[&str]) -> Result<()> {
        self.world.create(&class(&self.namespace, name, configs)).await?;
        Ok(())
    }

    async fn ready(&self, name: &str) -> Result<ClusterClass> {
        self.world.until_class(&self.namespace, name, is_ready).await
    }

    /// Why a class is not ready, once it is not for lack of news of its configs.
    async fn why(&self, name: &str, says: &str) -> Result<String> {
        let class = self.world.until_class(&self.namespace, name, |class| is_unready(class, says)).await?;
        Ok(why_unready(&class).unwrap_or_default())
    }

    async fn until_variables(&self, name: &str, count: usize) -> Result<()> {
        self.world.until_class(&self.namespace, name, |class| variables(class).len() == count).await?;
        Ok(())
    }

    fn configs(&self) -> Api<ExtensionConfig> {
        Api::all(self.world.client.clone())
    }

    async fn patch(&self, name: &str, body: &Value) -> Result<()> {
        self.configs().patch(name, &PatchParams::default(), &Patch::Merge(body)).await?;
        Ok(())
    }
}
