//! The real server.

use anyhow::{Context as _, Result};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::outcome::{Outcome, masked};
use crate::scenario::{CONFIG_MAP, Scenario, Step, Verb, crds};

pub(crate) struct Real {
    client: Client,
    namespace: String,
    /// The UIDs of two objects that are there to be owners: one whose owner is not there is deleted.
    owners: Vec<String>,
}

impl Real {
    /// A namespace of its own on the server, which has the custom resources of the scenarios.
    pub(crate) async fn start() -> Result<Self> {
        let control_plane = kapstan_envtest::shared().await?;
        let folder = tempfile::tempdir()?;
        for (i, crd) in crds().iter().enumerate() {
            std::fs::write(folder.path().join(format!("{i}.yaml")), serde_json::to_string(crd)?)?;
        }
        control_plane.apply_crds([folder.path()]).await?;
        let (client, namespace) = (control_plane.client()?, control_plane.namespace("apply").await?);
        let mut real = Self { client, namespace, owners: Vec::new() };
        for i in 1..=2 {
            let owner = json!({"metadata": {"name": format!("owner-{i}")}});
            let path = CONFIG_MAP.path(&real.namespace);
            let (_, owner) = real.send(Method::POST, &path, "application/json", &owner).await?;
            real.owners.push(owner["metadata"]["uid"].as_str().context("no UID")?.to_owned());
        }
        Ok(real)
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<(u16, Value)> {
        let request = Request::builder().method(method).uri(path).header("Content-Type", content_type);
        let request =
            request.header("User-Agent", "agent/1.0").body(Body::from(serde_json::to_vec(body)?))?;
        let answer = self.client.send(request).await?;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).with_context(|| format!("{path}: no JSON"))?))
    }

    /// Runs a scenario on an object of this name.
    pub(crate) async fn run(&self, scenario: &Scenario, name: &str) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        let mut stored = Value::Null;
        for step in &scenario.steps {
            let (code, answer, now) = self.step(scenario, name, step, &stored).await?;
            outcomes.push(self.outcome(code, &answer, name, &stored, &now));
            stored = now;
        }
        Ok(outcomes)
    }

    /// Sends one request. The status code, the answer, and what is stored then; null if nothing is.
    pub(crate) async fn step(
        &self,
        scenario: &Scenario,
        name: &str,
        step: &Step,
        stored: &Value,
    ) -> Result<(u16, Value, Value)> {
        let (code, answer) = self.request(scenario, name, step, stored).await?;
        let path = format!("{}/{name}", scenario.kind.path(&self.namespace));
        let (found, now) = self.send(Method::GET, &path, "", &json!(null)).await?;
        Ok((code, answer, if found == 200 { now } else { Value::Null }))
    }

    async fn request(
        &self,
        scenario: &Scenario,
        name: &str,
        step: &Step,
        stored: &Value,
    ) -> Result<(u16, Value)> {
        let (method, content_type) = match step.verb {
            Verb::Create => (Method::POST, "application/json"),
            Verb::Put => (Method::PUT, "application/json"),
            Verb::Apply => (Method::PATCH, "application/apply-patch+yaml"),
            Verb::Merge => (Method::PATCH, "application/merge-patch+json"),
            Verb::Strategic => (Method::PATCH, "application/strategic-merge-patch+json"),
            Verb::Delete => (Method::DELETE, "application/json"),
        };
        let mut path = scenario.kind.path(&self.namespace);
        if step.verb != Verb::Create {
            path = format!("{path}/{name}");
        }
        if !step.subresource.is_empty() {
            path = format!("{path}/{}", step.subresource);
        }
        let force = if step.force { "&force=true" } else { "" };
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("fieldManager", &step.manager);
        let path = format!("{path}?{}{force}", query.finish());
        let body = crate::body_of(scenario.kind, name, step, stored);
        let mut body = body.to_string().replace("NAMESPACE", &self.namespace);
        for (i, uid) in self.owners.iter().enumerate() {
            body = body.replace(&format!("UID-{}", i + 1), uid);
        }
        let body = serde_json::from_str(&body)?;
        self.send(method, &path, content_type, &body).await
    }

    fn outcome(&self, code: u16, answer: &Value, name: &str, before: &Value, now: &Value) -> Outcome {
        // What validation says is not about apply.
        let failed = code >= 400 && code != 422 && code != 415;
        let text = |name: &str| if failed { answer[name].as_str().unwrap_or_default() } else { "" };
        let causes = answer["details"]["causes"].as_array().filter(|_| failed).cloned().unwrap_or_default();
        let plain = |text: &str| {
            let text = text.replace(&self.namespace, "NAMESPACE").replace(name, "NAME");
            let owners = self.owners.iter().enumerate();
            owners.fold(text, |text, (i, uid)| text.replace(uid, &format!("UID-{}", i + 1)))
        };
        let mut causes: Vec<_> = causes.iter().map(ToString::to_string).map(|cause| plain(&cause)).collect();
        causes.sort();
        Outcome {
            code,
            reason: match code {
                415 => "UnsupportedMediaType",
                422 => "Invalid",
                _ => text("reason"),
            }
            .to_owned(),
            message: plain(text("message")),
            causes,
            changed: before["metadata"]["resourceVersion"] != now["metadata"]["resourceVersion"],
            object: masked(&serde_json::from_str(&plain(&now.to_string())).unwrap_or_default()),
        }
    }
}
