//! A write costs the same however many objects there are. What is counted are allocations and their
//! bytes: whoever looks at every object collects something of each.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use futures::StreamExt as _;
use kapstan_embedded::{AuditLevel, Server};
use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, WatchParams,
};
use serde_json::json;

thread_local! {
    static ALLOCATIONS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The system's allocator, with a count of what each thread asks for.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(bytes: usize) {
    // The last allocations of a thread come after its variables are gone.
    let _ = ALLOCATIONS.try_with(|allocations| {
        let (count, sum) = allocations.get();
        allocations.set((count + 1, sum + bytes as u64));
    });
}

#[expect(unsafe_code, reason = "an allocator cannot be written without; it hands on to the system's")]
// SAFETY: every call goes to the system's allocator as it came, whose promises are thus kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// How many of each write are counted.
const WRITES: u32 = 64;

/// Allocations and bytes of one write, by verb.
#[derive(Debug)]
struct Costs([(&'static str, u64, u64); 4]);

struct Store {
    server: Server,
    widgets: Api<DynamicObject>,
    resource: ApiResource,
}

impl Store {
    /// A server with this many widgets, each owned by one before it.
    async fn with(objects: u32) -> Self {
        let server = Server::builder().seed(1).history(100).audit(AuditLevel::Off, 1).start();
        server.load(include_str!("../examples/widgets.yaml")).unwrap();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("shop.example.com", "v1", "Widget"));
        let widgets = Api::namespaced_with(server.client(), "default", &resource);
        let store = Self { server, widgets, resource };
        for number in 0..objects {
            store.create(number).await;
        }
        store
    }

    async fn create(&self, number: u32) -> DynamicObject {
        let mut widget = DynamicObject::new(&format!("w{number:06}"), &self.resource);
        widget.metadata.labels = Some([("app".to_owned(), "shop".to_owned())].into());
        widget.data = json!({ "spec": { "size": 3 } });
        self.widgets.create(&PostParams::default(), &widget).await.unwrap()
    }

    /// The writes come after a watch began, which reads what they do.
    async fn costs(&self, first: u32) -> Costs {
        let numbers = first..first + WRITES;
        let revision = self.server.revision().to_string();
        let mut watch = self.widgets.watch(&WatchParams::default(), &revision).await.unwrap().boxed();
        let params = PatchParams::default();
        let labels = Patch::Merge(json!({ "metadata": { "labels": { "app": "store" } } }));
        let status = Patch::Merge(json!({ "status": { "parts": 6 } }));
        let mut costs = [("create", 0, 0), ("merge", 0, 0), ("status", 0, 0), ("delete", 0, 0)];
        for (verb, count, bytes) in &mut costs {
            let before = ALLOCATIONS.get();
            for number in numbers.clone() {
                let name = format!("w{number:06}");
                match *verb {
                    "create" => drop(self.create(number).await),
                    "merge" => drop(self.widgets.patch(&name, &params, &labels).await.unwrap()),
                    "status" => drop(self.widgets.patch_status(&name, &params, &status).await.unwrap()),
                    _ => drop(self.widgets.delete(&name, &DeleteParams::default()).await.unwrap()),
                }
                watch.next().await.unwrap().unwrap();
            }
            let after = ALLOCATIONS.get();
            *count = (after.0 - before.0) / u64::from(WRITES);
            *bytes = (after.1 - before.1) / u64::from(WRITES);
        }
        Costs(costs)
    }
}

#[tokio::test]
async fn a_write_costs_the_same_however_many_objects_there_are() {
    let (few, many) = (150, 5_000);
    let Costs(small) = Store::with(few).await.costs(few).await;
    let Costs(large) = Store::with(many).await.costs(many).await;
    for ((verb, count, bytes), (_, large_count, large_bytes)) in small.iter().zip(&large) {
        // Nodes of a tree come now and then, and revisions have more digits.
        assert!(large_count.abs_diff(*count) <= count / 50, "{verb}: {small:?} {large:?}");
        assert!(large_bytes.abs_diff(*bytes) <= bytes / 50, "{verb}: {small:?} {large:?}");
    }
}
