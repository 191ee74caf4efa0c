//! Hours that pass in seconds: the real manager and the real client under a paused clock, with the API server and the
//! extension in process. Only the embedded server goes by such a clock.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use kapstan::manager::Options;
use kapstan_test_extension::{Behaviour, Target, TestExtension};
use serde_json::json;

use crate::{
    fixtures::{class, config, is_discovered, is_ready},
    hands::{condition, config_path},
    plane::ORIGIN,
    server::Server,
    world::World,
};

#[test]
fn an_hour_passes_in_no_time_with_the_calls_of_an_hour() -> Result<()> {
    Server::Embedded.run(async {
        let world = World::start(Server::Embedded).await?;
        let extension = world.extension(TestExtension::builder()).await?;
        let _manager = world.manager(Options::default())?;
        world.create(&config("ext", &extension)).await?;
        world.until_config("ext", is_discovered).await?;
        tokio::time::sleep(Duration::from_mins(61)).await;
        assert_eq!(extension.calls_total(), 1 + 6, "one at the start and one in each period of 10 min");
        let discovered = condition(&world.at(&config_path("ext")).await?, "Discovered");
        assert_eq!(discovered["lastTransitionTime"], ORIGIN);

        extension.behave(Target::All, Behaviour::hang());
        extension.reset_counts();
        tokio::time::sleep(Duration::from_hours(1)).await;
        // A call takes its 10 s to be given up; the waits between are 5, 10, 20, 40, 80, 160 and then 300 s.
        let attempts = extension.calls_total();
        assert!((14..=17).contains(&attempts), "{attempts} attempts in an hour of silence");
        let passed = world.plane.clock().timestamp() - ORIGIN.parse::<Timestamp>()?;
        assert_eq!(passed.get_seconds() / 60, 121);
        Ok(())
    })
}

/// All of them are served by one Deployment, as a hundred may be.
#[test]
fn an_extension_that_answers_after_nine_seconds_delays_no_other_object() -> Result<()> {
    Server::Embedded.run(async {
        let world = World::start(Server::Embedded).await?;
        let namespace = world.home("team").await?;
        let extension = world.extension(TestExtension::builder()).await?;
        extension.behave("/slow", Behaviour::usual().delay(Duration::from_secs(9)));
        let _manager = world.manager(Options::default())?;
        world.create(&config("slow", &extension)).await?;
        world.create(&class(&namespace, "slow", &["slow"])).await?;
        extension.until_calls(Target::discovery("/slow"), 1).await;

        let others: Vec<String> = (0..20).map(|number| format!("quick-{number}")).collect();
        for name in &others {
            world.create(&config(name, &extension)).await?;
            world.create(&class(&namespace, name, &[name])).await?;
        }
        for name in &others {
            world.until_class(&namespace, name, is_ready).await?;
        }
        assert!(!is_discovered(&world.config("slow").await?), "the others were ready before it answered");

        // The same while it is asked for its variables, and for a change.
        extension.until_calls(Target::hook_at("/slow", "DiscoverVariables"), 1).await;
        let settings = json!({ "spec": { "settings": { "any": "change" } } });
        for name in &others {
            world.patch_at(&config_path(name), &settings).await?;
        }
        for name in &others {
            world.until_config(name, is_discovered).await?;
        }
        assert!(!is_ready(&world.class(&namespace, "slow").await?), "they were looked at before it answered");
        world.until_class(&namespace, "slow", is_ready).await?;
        Ok(())
    })
}
