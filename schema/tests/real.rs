//! The real kube-apiserver says what is right: schemas, objects and rules get the same verdict from it
//! and from this crate, with the same paths, causes and texts.
#![allow(clippy::unwrap_used)] // a panic is how a test fails
#![recursion_limit = "1024"] // json! of whole schemas

mod cases;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kapstan_envtest::{ControlPlane, until};
use kapstan_schema::{FieldError, Options, Schema};
use kube::Client;
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SCHEMA_PATH: &str = "spec.validation.openAPIV3Schema";

/// `field | cause | text` of every error.
type Verdict = BTreeSet<String>;

fn verdict(errors: &[FieldError]) -> Verdict {
    errors
        .iter()
        .map(|error| format!("{} | {} | {}", error.path, error.cause.reason(), error.body()))
        .collect()
}

/// What the API server answers: the object, or what is wrong with it.
async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Result<Value, Verdict>> {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(serde_json::to_vec(body)?)?;
    match client.request::<Value>(request).await {
        Ok(object) => Ok(Ok(object)),
        Err(kube::Error::Api(status)) if status.code == 422 => {
            let details = status.details.clone().context("a refusal has details")?;
            let causes = details.causes.iter();
            Ok(Err(causes
                .map(|cause| format!("{} | {} | {}", cause.field, cause.reason, cause.message))
                .collect()))
        }
        Err(error) => bail!("{method} {path}: {error}: {body}"),
    }
}

fn crd(plural: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.dev")},
        "spec": {
            "group": "example.dev",
            "scope": "Cluster",
            "names": {"plural": plural, "singular": plural, "kind": kind(plural), "listKind": format!("{}List", kind(plural))},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn kind(plural: &str) -> String {
    let mut kind = plural.to_owned();
    kind[..1].make_ascii_uppercase();
    kind
}

fn object(plural: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.dev/v1", "kind": kind(plural), "metadata": {"name": name}, "spec": spec})
}

async fn establish(client: &Client, plural: &str, schema: &Value) -> Result<()> {
    if let Err(why) = send(client, "POST", CRDS, &crd(plural, schema)).await? {
        bail!("the API server refuses the schema of {plural}: {why:#?}");
    }
    until(Duration::from_secs(30), "the new kind", async || {
        let request = http::Request::get(format!("/apis/example.dev/v1/{plural}")).body(Vec::new())?;
        Ok(client.request::<Value>(request).await.ok())
    })
    .await?;
    Ok(())
}

/// Random numbers in the name of types, and the version in paths, are not compared.
fn normalized(verdict: Verdict) -> Verdict {
    let number = |text: String| {
        let mut parts = text.split("selfType");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str("self");
            out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        out
    };
    verdict
        .into_iter()
        .map(|text| number(text.replace("spec.versions[0].schema.openAPIV3Schema", SCHEMA_PATH)))
        .collect()
}

#[tokio::test]
async fn schemas_objects_and_rules_get_the_verdicts_of_the_real_server() -> Result<()> {
    let control_plane = ControlPlane::builder().start().await?;
    let client = control_plane.client()?;
    let mut differences = Differences::default();
    schemas(&client, &mut differences).await?;
    objects(&client, &mut differences).await?;
    updates(&client, &mut differences).await?;
    expressions(&client, &mut differences).await?;
    assert!(
        differences.found.is_empty(),
        "{} differ\n{}",
        differences.found.len(),
        differences.found.join("\n")
    );
    assert!(differences.errors > 500, "only {} errors were compared", differences.errors);
    Ok(())
}

/// Where the two disagree: all of it, so that one run of the server tells everything.
#[derive(Default)]
struct Differences {
    found: Vec<String>,
    /// How many errors the real server told: a comparison of nothing with nothing shows nothing.
    errors: usize,
}

impl Differences {
    fn compare(&mut self, what: &str, real: &Verdict, ours: &Verdict) {
        self.errors += real.len();
        if real == ours {
            return;
        }
        let lines = |mark: &str, from: &Verdict, without: &Verdict| {
            from.difference(without).fold(String::new(), |all, text| all + "\n  " + mark + " " + text)
        };
        self.found.push(format!("{what}{}{}", lines("real:", real, ours), lines("ours:", ours, real)));
    }
}

/// Schemas that are refused, and some that are not.
async fn schemas(client: &Client, differences: &mut Differences) -> Result<()> {
    for (name, schema) in cases::schemas() {
        compare_schemas(client, differences, &name, &schema).await?;
    }
    Ok(())
}

async fn compare_schemas(
    client: &Client,
    differences: &mut Differences,
    name: &str,
    schema: &Value,
) -> Result<()> {
    let real = send(client, "POST", &format!("{CRDS}?dryRun=All"), &crd("things", schema)).await?;
    let real = normalized(real.err().unwrap_or_default());
    let options = Options { path: SCHEMA_PATH, ..Options::default() };
    let ours =
        Schema::parse_with(schema, &options).err().map(|errors| verdict(errors.errors())).unwrap_or_default();
    differences.compare(name, &real, &ours);
    Ok(())
}

/// Objects: what is stored of them, or what is wrong with them.
async fn objects(client: &Client, differences: &mut Differences) -> Result<()> {
    let schema = cases::object_schema();
    establish(client, "things", &schema).await?;
    let parsed = Schema::parse(&schema)?;
    for (index, spec) in cases::objects().into_iter().enumerate() {
        let mut ours = object("things", &format!("thing-{index}"), &spec);
        let real = send(client, "POST", "/apis/example.dev/v1/things?dryRun=All", &ours).await?;
        parsed.prune(&mut ours);
        parsed.default(&mut ours);
        let found = verdict(&parsed.validate(&ours, None));
        match real {
            Ok(real) => {
                differences.compare(&spec.to_string(), &Verdict::new(), &found);
                let stored = |object: &Value| [whole(&object["spec"]).to_string()].into();
                differences.compare(&format!("{spec} stored"), &stored(&real), &stored(&ours));
            }
            Err(real) => differences.compare(&spec.to_string(), &real, &found),
        }
    }
    Ok(())
}

/// The API server writes doubles without a fraction as integers.
fn whole(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), whole(value))).collect(),
        Value::Number(number) => json!(number.to_string().trim_end_matches(".0")),
        other => other.clone(),
    }
}

/// Objects that come after others: transition rules, and mistakes that were there before.
async fn updates(client: &Client, differences: &mut Differences) -> Result<()> {
    for (index, (lax, strict, old, changes)) in cases::updates().into_iter().enumerate() {
        let plural = format!("changes{index}");
        establish(client, &plural, &lax).await?;
        let name = "it";
        let path = format!("/apis/example.dev/v1/{plural}");
        let stored = send(client, "POST", &path, &object(&plural, name, &old)).await?;
        let stored = stored.map_err(|why| anyhow::anyhow!("{old}: {why:#?}"))?;
        tighten(client, &plural, &strict).await?;
        let parsed = Schema::parse(&strict)?;
        for spec in changes {
            let mut new = stored.clone();
            new["spec"] = spec.clone();
            let real = send(client, "PUT", &format!("{path}/{name}?dryRun=All"), &new)
                .await?
                .err()
                .unwrap_or_default();
            parsed.prune(&mut new);
            parsed.default(&mut new);
            let ours = verdict(&parsed.validate(&new, Some(&stored)));
            differences.compare(&format!("to {spec}"), &real, &ours);
        }
    }
    Ok(())
}

/// Replaces the schema of a kind, and waits until it is the one that counts.
async fn tighten(client: &Client, plural: &str, schema: &Value) -> Result<()> {
    let path = format!("{CRDS}/{plural}.example.dev");
    until(Duration::from_secs(30), "the new schema", async || {
        let request = http::Request::get(&path).body(Vec::new())?;
        let mut stored: Value = client.request(request).await?;
        stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema.clone();
        let request = http::Request::put(&path)
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&stored)?)?;
        match client.request::<Value>(request).await {
            Ok(_) => Ok(Some(())),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
    .await?;
    // Every schema of the table refuses this text.
    let probe = object(plural, "probe", &json!({"probe": "new schema"}));
    until(Duration::from_secs(30), "the new schema to count", async || {
        let answer =
            send(client, "POST", &format!("/apis/example.dev/v1/{plural}?dryRun=All"), &probe).await?;
        Ok(answer.is_err().then_some(()))
    })
    .await?;
    Ok(())
}

/// Many rules on one object: which are broken, and which cannot be evaluated, and why.
async fn expressions(client: &Client, differences: &mut Differences) -> Result<()> {
    let value = cases::expression_value();
    let with = |rules: &[&str]| {
        let mut schema = cases::expression_schema();
        let rules: Vec<_> = rules.iter().map(|rule| json!({"rule": rule})).collect();
        schema["properties"]["spec"]["x-kubernetes-validations"] = json!(rules);
        schema
    };
    // One that is refused takes the others with it.
    let (accepted, refused): (Vec<_>, Vec<_>) =
        cases::expressions().into_iter().partition(|rule| Schema::parse(&with(&[*rule])).is_ok());
    for rule in refused {
        compare_schemas(client, differences, rule, &with(&[rule])).await?;
    }
    for (index, rules) in accepted.chunks(40).enumerate() {
        let plural = format!("rules{index}");
        let schema = with(rules);
        let parsed = Schema::parse(&schema)?;
        establish(client, &plural, &schema).await?;
        let ours = object(&plural, "it", &value);
        let real = send(client, "POST", &format!("/apis/example.dev/v1/{plural}?dryRun=All"), &ours).await?;
        let real = real.err().unwrap_or_default();
        differences.compare(&plural, &real, &verdict(&parsed.validate(&ours, None)));
    }
    Ok(())
}
