use std::{fs, path::Path};

use kapstan_embedded::Server;
use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use rstest::rstest;
use serde_json::json;

use super::*;

// ---- what is in a manifest ----

fn titles(text: &str) -> Result<Vec<String>, String> {
    let objects = objects(&[Manifest::new("f.yaml", text)]).map_err(|problems| problems.to_string())?;
    Ok(objects.iter().map(|object| format!("{} {}", object.origin, object.title())).collect())
}

#[rstest]
#[case::one("kind: K\napiVersion: v1\nmetadata: {name: a}\n", &["f.yaml: document 1, line 1 K a"])]
#[case::with_a_namespace("{kind: K, apiVersion: v1, metadata: {name: a, namespace: ns}}", &["f.yaml: document 1, line 1 K ns/a"])]
#[case::several_and_empty_ones(
    "# first\n---\n{kind: K, apiVersion: v1, metadata: {name: a}}\n---\n---\n# nothing\n---\n\n# b\nkind: K\napiVersion: v1\nmetadata: {name: b}\n",
    &["f.yaml: document 1, line 3 K a", "f.yaml: document 4, line 10 K b"]
)]
#[case::of_windows(
    "---\r\n{kind: K, apiVersion: v1, metadata: {name: a}}\r\n---\r\n{kind: K, apiVersion: v1, metadata: {name: b}}\r\n",
    &["f.yaml: document 1, line 2 K a", "f.yaml: document 2, line 4 K b"]
)]
#[case::a_separator_with_a_comment(
    "{kind: K, apiVersion: v1, metadata: {name: a}}\n--- # more\n{kind: K, apiVersion: v1, metadata: {name: b}}\n",
    &["f.yaml: document 1, line 1 K a", "f.yaml: document 2, line 3 K b"]
)]
#[case::dashes_in_a_text(
    "kind: K\napiVersion: v1\nmetadata: {name: a}\ndata:\n  pem: |\n    -----BEGIN\n    ---\n",
    &["f.yaml: document 1, line 1 K a"]
)]
#[case::json("{\"kind\": \"K\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\"}}", &["f.yaml: document 1, line 1 K a"])]
#[case::json_after_json(
    "\n{\"kind\": \"K\", \"apiVersion\": \"v1\",\n\"metadata\": {\"name\": \"a\"}}\n\n{\"kind\": \"K\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"b\"}}\n",
    &["f.yaml: document 1, line 2 K a", "f.yaml: document 2, line 5 K b"]
)]
#[case::a_list(
    "kind: List\napiVersion: v1\nitems:\n- {kind: K, apiVersion: v1, metadata: {name: a}}\n- {kind: L, apiVersion: v1, metadata: {name: b}}\n",
    &["f.yaml: document 1, line 1, item 1 K a", "f.yaml: document 1, line 1, item 2 L b"]
)]
#[case::a_typed_list("{kind: KList, apiVersion: g/v1, items: [{metadata: {name: a}}]}", &["f.yaml: document 1, line 1, item 1 K a"])]
fn every_object_is_found_with_its_place(#[case] text: &str, #[case] found: &[&str]) {
    assert_eq!(titles(text).unwrap(), found);
}

#[test]
fn scalars_are_what_kubectl_takes_them_for() {
    let text = "{a: y, b: yes, c: on, d: NO, e: 'on', f: 010, g: 0o10, h: 0x1F, i: 0b1, j: ~, k: 1_000, l: 2001-01-01, m: 1:30}";
    let object = format!("kind: K\napiVersion: v1\nmetadata: {{name: a}}\ndata: {text}\n");
    let found = objects(&[Manifest::new("f.yaml", object)]).unwrap();
    let expected = json!({
        "a": true, "b": true, "c": true, "d": false, "e": "on", "f": 8, "g": 8, "h": 31, "i": 1, "j": null, "k": 1000,
        "l": "2001-01-01", "m": "1:30",
    });
    assert_eq!(found[0].value["data"], expected);
}

#[rstest]
#[case::no_yaml(
    "{kind: K, apiVersion: v1, metadata: {name: a}}\n---\nkind: K\nmetadata: [a\n",
    "nothing was applied: f.yaml: document 2, line 4: column 11: unclosed bracket '['"
)]
#[case::a_key_twice(
    "kind: K\nkind: L\n",
    "nothing was applied: f.yaml: document 1, line 2: column 1: duplicate mapping key: kind"
)]
#[case::json_that_ends(
    "{\"kind\": \"K\",",
    "nothing was applied: f.yaml: document 1, line 1: column 1: unclosed bracket '{'"
)]
#[case::a_text(
    "---\nhello\n",
    "nothing was applied: f.yaml: document 1, line 2: there is no object but the text \"hello\""
)]
#[case::a_sequence("- a\n", "nothing was applied: f.yaml: document 1, line 1: there is no object but a list")]
#[case::without_kind("apiVersion: v1\n", "nothing was applied: f.yaml: document 1, line 1: kind: missing")]
#[case::without_version("kind: K\n", "nothing was applied: f.yaml: document 1, line 1: apiVersion: missing")]
#[case::a_number_for_a_version(
    "apiVersion: 1\nkind: K\n",
    "nothing was applied: f.yaml: document 1, line 1: apiVersion: must be a string, not 1"
)]
#[case::without_name(
    "apiVersion: v1\nkind: K\n",
    "nothing was applied: f.yaml: document 1, line 1: K: metadata.name: missing"
)]
#[case::a_generated_name(
    "apiVersion: v1\nkind: K\nmetadata: {generateName: a-}\n",
    "nothing was applied: f.yaml: document 1, line 1: K: metadata.generateName: cannot be applied, because the name is made anew each time; set metadata.name"
)]
#[case::an_item_without_name(
    "kind: List\napiVersion: v1\nitems: [{kind: K, apiVersion: v1}]\n",
    "nothing was applied: f.yaml: document 1, line 1, item 1: K: metadata.name: missing"
)]
#[case::nothing("# nothing\n---\n", "nothing was applied: there is no object in f.yaml")]
#[case::two_at_once(
    "kind: K\n---\napiVersion: v1\n",
    "nothing was applied, for 2 reasons:\n* f.yaml: document 1, line 1: apiVersion: missing\n* f.yaml: document 2, line 3: kind: missing"
)]
fn what_cannot_be_applied_is_named_with_its_place(#[case] text: &str, #[case] says: &str) {
    assert_eq!(titles(text).unwrap_err(), says);
}

#[test]
fn a_placeholder_is_filled_in_wherever_it_is() {
    let manifest =
        Manifest::new("f.yaml", "a: ${URL}/a\nb: ${URL}/b\nc: ${OTHER}\n").fill("${URL}", "https://e");
    assert_eq!(manifest, Manifest::new("f.yaml", "a: https://e/a\nb: https://e/b\nc: ${OTHER}\n"));
}

// ---- which files ----

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// The files that are read, or what is said instead; without the folder's own name.
fn read_in(folder: &Path, name: &str) -> Result<Vec<String>, String> {
    let plain = |text: &str| {
        text.replace(&format!("{}/", folder.display()), "").replace(&folder.display().to_string(), ".")
    };
    match read(&folder.join(name)) {
        Ok(manifests) => Ok(manifests.iter().map(|manifest| plain(manifest.source())).collect()),
        Err(error) => Err(plain(&crate::error::chain(&error))),
    }
}

#[test]
fn of_a_folder_the_manifests_are_read_by_name() {
    let folder = folder(&[("b.yml", ""), ("a.yaml", ""), ("c.json", ""), ("d.txt", ""), ("sub/e.yaml", "")]);
    assert_eq!(read_in(folder.path(), "").unwrap(), ["a.yaml", "b.yml", "c.json"]);
    assert_eq!(read_in(folder.path(), "d.txt").unwrap(), ["d.txt"]);
}

#[test]
fn a_kustomization_says_which_files_and_in_which_order() {
    let folder = folder(&[
        (
            "kustomization.yaml",
            "kind: Kustomization\nresources: [b.yaml, sub, a.yaml]\nsortOptions: {order: fifo}\n",
        ),
        ("a.yaml", ""),
        ("b.yaml", ""),
        ("c.yaml", ""),
        ("sub/kustomization.yml", "resources:\n- ../c.yaml\n"),
        ("sub/d.yaml", ""),
    ]);
    let listed = ["b.yaml", "sub/../c.yaml", "a.yaml"];
    assert_eq!(read_in(folder.path(), "").unwrap(), listed);
    assert_eq!(read_in(folder.path(), "kustomization.yaml").unwrap(), listed);
}

#[rstest]
#[case::not_there(&[], "a.yaml", "failed to read a.yaml: No such file or directory (os error 2)")]
#[case::an_empty_folder(&[("a.txt", "")], "", ": there is no file *.yaml, *.yml or *.json in this folder")]
#[case::more_than_a_list(
    &[("kustomization.yaml", "resources: [a.yaml]\nnamePrefix: x-\n"), ("a.yaml", "")], "",
    "kustomization.yaml: namePrefix: only a list of resources is understood here; `kubectl kustomize . | kapstan dev -f -` does the rest"
)]
#[case::another_order(
    &[("kustomization.yaml", "sortOptions: {order: legacy}\n")], "",
    "kustomization.yaml: sortOptions: only a list of resources is understood here; `kubectl kustomize . | kapstan dev -f -` does the rest"
)]
#[case::on_another_machine(
    &[("kustomization.yaml", "resources: [\"https://example.com/a.yaml\"]\n")], "",
    "kustomization.yaml: resources[0]: https://example.com/a.yaml is not on this machine"
)]
#[case::a_plain_folder(
    &[("kustomization.yaml", "resources: [sub]\n"), ("sub/a.yaml", "")], "",
    "kustomization.yaml: resources[0]: the folder sub has no kustomization.yaml"
)]
#[case::a_resource_that_is_no_path(&[("kustomization.yaml", "resources: [{}]\n")], "", "kustomization.yaml: resources[0]: must be a path")]
#[case::a_missing_resource(
    &[("kustomization.yaml", "resources: [a.yaml]\n")], "", "failed to read a.yaml: No such file or directory (os error 2)"
)]
#[case::a_circle(
    &[("kustomization.yaml", "resources: [sub]\n"), ("sub/kustomization.yaml", "resources: [..]\n")], "",
    "sub/../kustomization.yaml: resources: it leads back to itself"
)]
#[case::no_yaml(
    &[("kustomization.yaml", "resources: [a\n")], "", "kustomization.yaml: document 1, line 1: column 12: unclosed bracket '['"
)]
#[case::no_mapping(&[("kustomization.yaml", "- a\n")], "", "kustomization.yaml: kustomization: must be one mapping")]
fn what_cannot_be_read_is_named(#[case] files: &[(&str, &str)], #[case] name: &str, #[case] says: &str) {
    assert_eq!(read_in(folder(files).path(), name).unwrap_err(), says);
}

// ---- into a server ----

const OPTIONS: Options<'_> = Options { field_manager: "tests", force: false };

const GADGETS: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions:
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations: [{rule: '!has(self.spec) || self.spec.size != 7', message: seven is unlucky}]
        properties:
          spec: {type: object, required: [size], properties: {size: {type: integer, minimum: 1}}}
";

async fn applied(client: &Client, text: &str, options: Options<'_>) -> (Vec<String>, Vec<String>) {
    let objects = objects(&[Manifest::new("f.yaml", text)]).unwrap();
    let report = apply(client, objects, options).await;
    let applied = report.applied.iter().map(Object::title).collect();
    (applied, report.refused.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn kinds_and_namespaces_come_before_what_needs_them() {
    let client = Server::builder().start().client();
    let text = format!(
        "{{apiVersion: example.com/v2, kind: Gadget, metadata: {{name: g, namespace: ns}}, spec: {{size: 1}}}}\n---\n\
         {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{a: b}}}}\n---\n\
         {{apiVersion: v1, kind: Namespace, metadata: {{name: ns}}}}\n---{GADGETS}"
    );
    let (applied, refused) = applied(&client, &text, OPTIONS).await;
    assert_eq!(refused, [""; 0]);
    assert_eq!(
        applied,
        ["CustomResourceDefinition gadgets.example.com", "Namespace ns", "Gadget ns/g", "ConfigMap c"]
    );
    let maps: Api<DynamicObject> = Api::namespaced_with(
        client,
        "default",
        &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
    );
    let manager = maps.get("c").await.unwrap().metadata.managed_fields.unwrap();
    assert_eq!(manager[0].manager.as_deref(), Some("tests"));
}

#[tokio::test]
async fn every_object_is_tried_and_every_refusal_has_its_place_and_field() {
    let client = Server::builder().start().client();
    let gadget = |name: &str, spec: &str| {
        format!(
            "---\n{{apiVersion: example.com/v2, kind: Gadget, metadata: {{name: {name}}}, spec: {spec}}}\n"
        )
    };
    let text = [
        GADGETS.to_owned(),
        gadget("small", "{size: 0}"),
        gadget("unlucky", "{size: 7}"),
        gadget("empty", "{}"),
        gadget("misspelt", "{size: 1, sise: 2}"),
        "---\n{apiVersion: example.com/v1, kind: Gadget, metadata: {name: old}}\n".to_owned(),
        "---\n{apiVersion: example.org/v1, kind: Gizmo, metadata: {name: h, namespace: ns}}\n".to_owned(),
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}\n".to_owned(),
        gadget("good", "{size: 1}"),
    ];
    let (applied, refused) = applied(&client, &text.concat(), OPTIONS).await;
    assert_eq!(applied, ["CustomResourceDefinition gadgets.example.com", "Gadget good"]);
    assert_eq!(
        refused,
        [
            "f.yaml: document 2, line 20: Gadget small: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            "f.yaml: document 3, line 22: Gadget unlucky: Invalid value: seven is unlucky",
            "f.yaml: document 4, line 24: Gadget empty: spec.size: Required value; Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
            "f.yaml: document 5, line 26: Gadget misspelt: failed to create typed patch object (/misspelt; example.com/v2, Kind=Gadget): .spec.sise: field not declared in schema",
            "f.yaml: document 6, line 28: Gadget old: the server has no CustomResourceDefinition of kind Gadget, apiVersion example.com/v1; it serves Gadget in example.com/v2",
            "f.yaml: document 7, line 30: Gizmo ns/h: the server has no CustomResourceDefinition of kind Gizmo, apiVersion example.org/v1",
            "f.yaml: document 8, line 32: ConfigMap nowhere/c: namespaces \"nowhere\" not found",
        ]
    );
}

#[tokio::test]
async fn a_field_of_somebody_else_is_taken_only_by_force() {
    let client = Server::builder().start().client();
    let maps: Api<DynamicObject> = Api::default_namespaced_with(
        client.clone(),
        &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
    );
    let there =
        serde_json::from_value(json!({ "metadata": { "name": "c" }, "data": { "a": "theirs" } })).unwrap();
    let theirs = PostParams { field_manager: Some("them".to_owned()), ..PostParams::default() };
    maps.create(&theirs, &there).await.unwrap();
    let ours = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: ours}}";
    let (_, refused) = applied(&client, ours, OPTIONS).await;
    assert_eq!(
        refused,
        ["f.yaml: document 1, line 1: ConfigMap c: .data.a: conflict with \"them\" using v1"]
    );
    let (taken, refused) = applied(&client, ours, Options { force: true, ..OPTIONS }).await;
    assert_eq!((taken, refused), (vec!["ConfigMap c".to_owned()], vec![]));
    assert_eq!(maps.get("c").await.unwrap().data["data"], json!({ "a": "ours" }));
}

#[tokio::test]
async fn the_summary_says_what_was_applied_and_what_was_not() {
    let client = Server::builder().start().client();
    let text = "{apiVersion: v1, kind: Gizmo, metadata: {name: g}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: ns}}\n";
    let report = apply(&client, objects(&[Manifest::new("f.yaml", text)]).unwrap(), OPTIONS).await;
    let says = "1 of 2 objects refused\n\
                * f.yaml: document 1, line 1: Gizmo g: the server has no CustomResourceDefinition of kind Gizmo, apiVersion v1\n\
                applied: Namespace ns";
    assert_eq!(report.to_string(), says);
}
