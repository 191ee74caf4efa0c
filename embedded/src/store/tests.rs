use serde_json::json;

use super::*;

fn store() -> (Store, CollectionId) {
    store_with(Limits { writes: 8, bytes: usize::MAX })
}

fn store_with(limits: Limits) -> (Store, CollectionId) {
    let store = Store::new(limits);
    let things = store.add_collection();
    create(&store, NAMESPACES, None, "ns").unwrap();
    (store, things)
}

fn draft(metadata: &serde_json::Value) -> Draft {
    Draft { value: json!({ "metadata": metadata }), fields: Fields::default(), encoding: 0 }
}

fn address(collection: CollectionId, namespace: Option<&str>, name: &str) -> Address {
    Address { collection, key: Key::new(namespace, name) }
}

fn create(
    store: &Store,
    collection: CollectionId,
    namespace: Option<&str>,
    name: &str,
) -> Result<Arc<Object>, Refused> {
    let mut draft = draft(&json!({ "name": name, "uid": format!("uid-{name}") }));
    store.create(&address(collection, namespace, name), &mut draft, false)
}

fn names(page: &Page) -> Vec<&str> {
    page.objects.iter().map(|object| object.key.name()).collect()
}

fn list(store: &Store, collection: CollectionId, query: Query<'_>) -> Page {
    store.list(collection, query, &Filter::default()).unwrap()
}

#[test]
fn every_write_has_a_revision_of_its_own() {
    let (store, things) = store();
    let first = create(&store, things, Some("ns"), "a").unwrap();
    let second = create(&store, things, Some("ns"), "b").unwrap();
    assert_eq!(second.revision, first.revision + 1);
    assert_eq!(store.revision(), second.revision);
}

#[test]
fn a_write_made_from_an_older_object_is_stale() {
    let (store, things) = store();
    let first = create(&store, things, Some("ns"), "a").unwrap();
    let metadata = json!({ "uid": "uid-a" });
    store.update(things, &first, &mut draft(&metadata)).unwrap();
    assert!(matches!(store.update(things, &first, &mut draft(&metadata)), Err(Refused::Stale)));
    assert!(matches!(store.delete(things, &first, &mut draft(&metadata)), Err(Refused::Stale)));
}

#[test]
fn a_name_is_used_once_and_only_in_a_namespace_that_is_there() {
    let (store, things) = store();
    create(&store, things, Some("ns"), "a").unwrap();
    assert!(matches!(create(&store, things, Some("ns"), "a"), Err(Refused::Exists)));
    assert!(matches!(create(&store, things, Some("nope"), "a"), Err(Refused::NoNamespace)));
}

#[test]
fn a_terminating_namespace_takes_nothing_new() {
    let (store, things) = store();
    let namespace = store.get(NAMESPACES, &Key::new(None, "ns")).unwrap();
    let mut deleting = draft(&json!({ "uid": "uid-ns", "deletionTimestamp": "now" }));
    store.update(NAMESPACES, &namespace, &mut deleting).unwrap();
    assert!(matches!(create(&store, things, Some("ns"), "a"), Err(Refused::NamespaceTerminating)));
}

#[test]
fn a_namespace_knows_how_many_objects_it_holds() {
    let (store, things) = store();
    let object = create(&store, things, Some("ns"), "a").unwrap();
    create(&store, things, Some("ns"), "b").unwrap();
    store.delete(things, &object, &mut draft(&json!({}))).unwrap();
    assert_eq!(store.namespace("ns"), Some(NamespaceState { is_terminating: false, objects: 1 }));
    assert_eq!(store.content("ns"), [address(things, Some("ns"), "b")]);
}

#[test]
fn pages_show_one_revision_whatever_is_written_between_them() {
    let (store, things) = store();
    for name in ["a", "b", "c", "d"] {
        create(&store, things, Some("ns"), name).unwrap();
    }
    let first = list(&store, things, Query { limit: 2, ..Query::default() });
    assert_eq!((names(&first), first.is_partial, first.remaining), (vec!["a", "b"], true, Some(2)));

    let object = store.get(things, &Key::new(Some("ns"), "c")).unwrap();
    store.delete(things, &object, &mut draft(&json!({}))).unwrap();
    create(&store, things, Some("ns"), "bb").unwrap();
    let after = first.objects[1].key.clone();
    let query = Query { limit: 2, revision: Some(first.revision), after: Some(&after), ..Query::default() };
    let second = list(&store, things, query);
    assert_eq!((names(&second), second.is_partial, second.remaining), (vec!["c", "d"], false, None));
    assert_eq!(names(&list(&store, things, Query::default())), ["a", "b", "bb", "d"]);
}

#[test]
fn a_page_of_a_revision_that_is_gone_says_so() {
    let (store, things) = store();
    let revision = create(&store, things, Some("ns"), "a").unwrap().revision;
    create(&store, things, Some("ns"), "b").unwrap();
    store.compact();
    let query = Query { revision: Some(revision), ..Query::default() };
    let floor = revision + 1;
    assert_eq!(store.list(things, query, &Filter::default()).err(), Some(OutOfReach::Gone { floor }));
    let query = Query { revision: Some(99), ..Query::default() };
    assert_eq!(
        store.list(things, query, &Filter::default()).err(),
        Some(OutOfReach::Future { current: floor })
    );
}

#[test]
fn a_list_of_one_namespace_leaves_out_those_that_start_alike() {
    let (store, things) = store();
    create(&store, NAMESPACES, None, "ns-2").unwrap();
    create(&store, things, Some("ns"), "a").unwrap();
    create(&store, things, Some("ns-2"), "b").unwrap();
    let query = Query { namespace: Some("ns"), ..Query::default() };
    assert_eq!(names(&list(&store, things, query)), ["a"]);
}

#[test]
fn a_watch_reads_what_is_written_after_its_revision() {
    let (store, things) = store();
    let first = create(&store, things, Some("ns"), "a").unwrap();
    let (mut place, _) = store.follow(things, first.revision).unwrap();
    let second = create(&store, things, Some("ns"), "b").unwrap();
    store.delete(things, &second, &mut draft(&json!({}))).unwrap();
    let events = store.read(&mut place).unwrap();
    let seen: Vec<_> = events.iter().map(|event| (event.change, event.object.key.name())).collect();
    assert_eq!(seen, [(Change::Added, "b"), (Change::Deleted, "b")]);
    assert_eq!(store.read(&mut place).unwrap().len(), 0);
}

#[test]
fn a_watch_that_falls_behind_the_history_is_told_so() {
    let (store, things) = store();
    let (mut place, _) = store.follow(things, store.revision()).unwrap();
    for number in 0..9 {
        create(&store, things, Some("ns"), &format!("a{number}")).unwrap();
    }
    assert!(matches!(store.read(&mut place), Err(OutOfReach::Gone { .. })));
    assert!(matches!(store.follow(things, 2), Err(OutOfReach::Gone { .. })));
    assert!(store.follow(things, store.revision()).is_ok());
}

#[test]
fn history_is_bounded_by_the_bytes_that_it_holds_on_to() {
    let (store, things) = store_with(Limits { writes: 1000, bytes: 64 * 1024 });
    let large = "x".repeat(10 * 1024);
    let mut revisions = Vec::new();
    for number in 0..20 {
        let name = format!("a{number}");
        let mut draft = draft(&json!({ "name": name, "uid": name, "annotations": { "a": large } }));
        let object = store.create(&address(things, Some("ns"), &name), &mut draft, false).unwrap();
        revisions.push(object.revision);
    }
    let reaches: Vec<_> = revisions.iter().map(|revision| store.follow(things, *revision).is_ok()).collect();
    assert_eq!(reaches.iter().filter(|reaches| **reaches).count(), 7, "{reaches:?}");
    assert!(reaches.ends_with(&[true; 7]));

    let mut draft =
        draft(&json!({ "name": "huge", "uid": "huge", "annotations": { "a": large.repeat(10) } }));
    let (mut place, _) = store.follow(things, revisions[19]).unwrap();
    store.create(&address(things, Some("ns"), "huge"), &mut draft, false).unwrap();
    assert_eq!(store.read(&mut place).unwrap().len(), 1, "the latest write is there in any case");
}

#[test]
fn a_watch_of_a_quiet_kind_stays_in_reach() {
    let (store, things) = store();
    let quiet = store.add_collection();
    let (mut place, _) = store.follow(quiet, store.revision()).unwrap();
    for number in 0..20 {
        create(&store, things, Some("ns"), &format!("a{number}")).unwrap();
    }
    assert_eq!(store.read(&mut place).unwrap().len(), 0);
    assert_eq!(place.revision(), store.revision());
}

#[test]
fn objects_are_found_by_uid_and_by_owner() {
    let (store, things) = store();
    let mut owned = draft(&json!({ "uid": "1", "ownerReferences": [{ "uid": "boss" }, { "uid": "other" }] }));
    let at = address(things, Some("ns"), "a");
    let object = store.create(&at, &mut owned, false).unwrap();
    assert_eq!(store.find("1"), Some(at.clone()));
    assert_eq!(store.dependents("boss"), std::slice::from_ref(&at));
    let mut disowned = draft(&json!({ "uid": "1", "ownerReferences": [{ "uid": "other" }] }));
    let object = store.update(things, &object, &mut disowned).unwrap();
    assert_eq!((store.dependents("boss"), store.dependents("other")), (vec![], vec![at]));
    store.delete(things, &object, &mut disowned).unwrap();
    assert_eq!((store.dependents("other"), store.find("1")), (vec![], None));
}
