//! What the options of a request do to each verb, on built-in and custom kinds: `dryRun`,
//! `fieldValidation`, `fieldManager` and `force`.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::custom::{CRDS, crd, until_served, widget};
use crate::world::{APPLY, JSON_PATCH, MERGE, STRATEGIC, Step, World, compare, worlds};

type Steps = Vec<(&'static str, Step)>;
/// Makes an object of a name with a number in it.
type Make = Box<dyn Fn(&str, i64) -> Value>;
/// Makes a merge patch that sets the number.
type Change = Box<dyn Fn(i64) -> Value>;

/// A kind that the verbs are tried on.
struct Kind {
    all: String,
    is_builtin: bool,
    make: Make,
    change: Change,
    /// Where the number is.
    pointer: &'static str,
}

fn config_maps() -> Kind {
    Kind {
        all: "/api/v1/namespaces/{ns}/configmaps".to_owned(),
        is_builtin: true,
        make: Box::new(
            |name, number| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "n": number.to_string() } }),
        ),
        change: Box::new(|number| json!({ "data": { "n": number.to_string() } })),
        pointer: "/data/n",
    }
}

fn widgets(group: &'static str) -> Kind {
    Kind {
        all: format!("/apis/{group}/v1/namespaces/{{ns}}/widgets"),
        is_builtin: false,
        make: Box::new(move |name, number| widget(group, name, &json!({ "size": number }))),
        change: Box::new(|number| json!({ "spec": { "size": number } })),
        pointer: "/spec/size",
    }
}

impl Kind {
    fn at(&self, name: &str, query: &str) -> String {
        format!("{}/{name}?{query}", self.all)
    }

    fn value(&self, number: i64) -> Value {
        (self.make)("x", number).pointer(self.pointer).cloned().unwrap_or_default()
    }

    /// Each way to write, with these options: `new` is created, `old` is there.
    fn writes(&self, query: &str, twist: &dyn Fn(Value) -> Value) -> Steps {
        let versioned = |name: &str, number| {
            let mut object = (self.make)(name, number);
            object["metadata"]["resourceVersion"] = "{rv}".into();
            object
        };
        let create = format!("{}?{query}", self.all);
        let apply = format!("{query}&fieldManager=applier&force=true");
        let operations = |number| {
            let mut operations =
                vec![json!({ "op": "replace", "path": self.pointer, "value": self.value(number) })];
            if twist(json!({})) != json!({}) {
                operations.push(json!({ "op": "add", "path": "/bogus", "value": 1 }));
            }
            Value::from(operations)
        };
        let mut steps = vec![
            ("create", Step::post(create, twist((self.make)("new", 1)))),
            ("read for put", Step::get(self.at("old", ""))),
            ("put", Step::put(self.at("old", query), twist(versioned("old", 2)))),
            ("merge", Step::patch(MERGE, self.at("old", query), twist((self.change)(3)))),
            ("JSON patch", Step::patch(JSON_PATCH, self.at("old", query), operations(4))),
            ("apply", Step::patch(APPLY, self.at("old", &apply), twist((self.make)("old", 6)))),
            ("apply a new one", Step::patch(APPLY, self.at("newer", &apply), twist((self.make)("newer", 7)))),
        ];
        if self.is_builtin {
            steps.push(("strategic", Step::patch(STRATEGIC, self.at("old", query), twist((self.change)(5)))));
        }
        steps
    }
}

async fn served(prefix: &str, group: &'static str) -> Result<([World; 2], [Kind; 2])> {
    let worlds = worlds(prefix).await?;
    for world in &worlds {
        world.ask(&Step::post(CRDS, crd(group))).await?;
    }
    until_served(&worlds, group).await?;
    Ok((worlds, [config_maps(), widgets(group)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_each_verb_answers_and_leaves_nothing() -> Result<()> {
    let (worlds, kinds) = served("dryrun", "dryrun.example.com").await?;
    for kind in &kinds {
        let held = |name: &str| {
            let mut object = (kind.make)(name, 1);
            object["metadata"]["finalizers"] = json!(["a.example.com/b"]);
            object
        };
        let setup = vec![
            ("old", Step::post(&kind.all, (kind.make)("old", 1))),
            ("held", Step::post(&kind.all, held("held"))),
        ];
        compare(&worlds, &setup).await?;
        let before = revision(&worlds[0])?;
        let mut steps = kind.writes("dryRun=All", &|object| object);
        if !kind.is_builtin {
            let status = json!({ "status": { "made": 1 } });
            steps.push(("status", Step::patch(MERGE, kind.at("old/status", "dryRun=All"), status)));
            let invalid = json!({ "status": { "made": 9 } });
            steps.push(("bad status", Step::patch(MERGE, kind.at("old/status", "dryRun=All"), invalid)));
        }
        steps.extend([
            ("delete", Step::delete(kind.at("old", "dryRun=All"))),
            ("delete what is held", Step::delete(kind.at("held", "dryRun=All"))),
            (
                "delete in the foreground",
                Step::delete(kind.at("old", "dryRun=All&propagationPolicy=Foreground")),
            ),
            ("delete all", Step::delete(format!("{}?dryRun=All", kind.all))),
            ("what is left", Step::get(&kind.all)),
        ]);
        compare(&worlds, &steps).await?;
        assert_eq!(revision(&worlds[0])?, before, "{}", kind.all);
    }
    Ok(())
}

fn revision(world: &World) -> Result<u64> {
    Ok(world.server.as_ref().context("the embedded one")?.revision())
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_treated_by_each_verb_as_on_the_real_server() -> Result<()> {
    let (worlds, kinds) = served("unknown", "unknown.example.com").await?;
    let twist = |mut object: Value| {
        object["bogus"] = 1.into();
        object
    };
    for kind in &kinds {
        for validation in ["Ignore", "Warn", "Strict"] {
            let query = format!("fieldValidation={validation}");
            let mut steps = vec![("old", Step::post(&kind.all, (kind.make)("old", 1)))];
            // The decoder's words about a patched object show it in its own order.
            let loosely = |(name, step): (&'static str, Step)| match name {
                "merge" | "JSON patch" | "strategic" if validation == "Strict" => (name, step.loosely()),
                _ => (name, step),
            };
            steps.extend(kind.writes(&query, &twist).into_iter().map(loosely));
            for name in ["old", "new", "newer"] {
                steps.push(("read", Step::get(kind.at(name, ""))));
                steps.push(("clean up", Step::delete(kind.at(name, ""))));
            }
            compare(&worlds, &steps).await.with_context(|| format!("{validation}, {}", kind.all))?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_managers_share_an_object_as_on_the_real_server() -> Result<()> {
    let (worlds, _) = served("managers", "managers.example.com").await?;
    let maps = "/api/v1/namespaces/{ns}/configmaps/shared";
    let map = |data: &Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shared" }, "data": data });
    let widgets = "/apis/managers.example.com/v1/namespaces/{ns}/widgets/shared";
    let wide = |spec: &Value| widget("managers.example.com", "shared", spec);
    let mut steps = life(
        maps,
        [
            map(&json!({ "a": "1", "b": "1" })),
            map(&json!({ "b": "2", "c": "2" })),
            map(&json!({ "a": "1" })),
            map(&json!({})),
        ],
    );
    steps.extend(life(
        widgets,
        [
            wide(&json!({ "size": 1, "tags": ["a"], "parts": [{ "name": "p" }] })),
            wide(&json!({ "size": 2, "tags": ["b"] })),
            wide(&json!({ "size": 2 })),
            wide(&json!({ "size": 2 })),
        ],
    ));
    steps.push((
        "the status has managers of its own",
        Step::patch(
            APPLY,
            format!("{widgets}/status?fieldManager=controller"),
            json!({ "apiVersion": "managers.example.com/v1", "kind": "Widget", "status": { "made": 1 } }),
        ),
    ));
    for at in [maps, widgets] {
        let mut elsewhere = if at == maps { map(&json!({})) } else { wide(&json!({ "size": 2 })) };
        elsewhere["metadata"]["namespace"] = "elsewhere".into();
        let by = format!("{at}?fieldManager=one");
        steps.push(("other namespace", Step::patch(APPLY, &by, elsewhere.clone())));
        elsewhere["metadata"]["namespace"] = "{ns}".into();
        steps.push(("its namespace", Step::patch(APPLY, &by, elsewhere.clone())));
        elsewhere["metadata"]["name"] = "another".into();
        steps.push(("other name", Step::patch(APPLY, &by, elsewhere)));
    }
    for at in [maps, widgets] {
        let mut nameless = if at == maps { map(&json!({})) } else { wide(&json!({ "size": 2 })) };
        nameless["metadata"] = json!({});
        let by = format!("{}?fieldManager=one", at.replace("shared", "nameless"));
        steps.push(("new without a name", Step::patch(APPLY, &by, nameless)));
    }
    steps.push(("no manager", Step::patch(APPLY, widgets, wide(&json!({ "size": 2 })))));
    compare(&worlds, &steps).await
}

/// Create, change, conflict, force, remove. `first` and `second` are two managers' wishes that differ; then
/// come what the first one still wants, and what the second one does.
fn life(at: &str, [first, second, third, last]: [Value; 4]) -> Steps {
    let apply = |manager: &str, more: &str, body: &Value| {
        Step::patch(APPLY, format!("{at}?fieldManager={manager}{more}"), body.clone())
    };
    vec![
        ("create", apply("one", "", &first)),
        ("again", apply("one", "", &first)),
        ("conflict", apply("two", "", &second)),
        ("force", apply("two", "&force=true", &second)),
        ("the first one's turn", apply("one", "", &first)),
        ("remove", apply("one", "", &third)),
        (
            "a label by merge",
            Step::patch(
                MERGE,
                format!("{at}?fieldManager=three"),
                json!({ "metadata": { "labels": { "l": "3" } } }),
            ),
        ),
        ("remove the rest", apply("two", "", &last)),
        ("what is left", Step::get(at)),
    ]
}
