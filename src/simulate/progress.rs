//! Tells on standard error how far a long simulation has come, every few seconds by the machine's clock, whatever clock
//! is simulated.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::fleet::Size;

/// How often it is told.
const EVERY: Duration = Duration::from_secs(5);

/// How far a simulation has come. It is told no more once this is dropped.
pub(super) struct Progress {
    counts: Arc<Counts>,
    _told_until_dropped: mpsc::Sender<()>,
}

#[derive(Default)]
struct Counts {
    created: AtomicUsize,
    configs: AtomicUsize,
    classes: AtomicUsize,
}

impl Progress {
    /// Begins to tell.
    pub(super) fn start(size: Size) -> Self {
        let counts = Arc::new(Counts::default());
        let (sender, dropped) = mpsc::channel();
        thread::spawn({
            let counts = Arc::clone(&counts);
            // A thread of its own: a virtual clock moves on only while nothing else is to be done.
            move || {
                while dropped.recv_timeout(EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    counts.tell(size);
                }
            }
        });
        Self { counts, _told_until_dropped: sender }
    }

    /// An object has been created while so many configs and classes are ready.
    pub(super) fn created(&self, ready: (usize, usize)) {
        self.counts.created.fetch_add(1, Ordering::Relaxed);
        self.ready(ready);
    }

    /// So many configs and classes are ready.
    pub(super) fn ready(&self, (configs, classes): (usize, usize)) {
        self.counts.configs.store(configs, Ordering::Relaxed);
        self.counts.classes.store(classes, Ordering::Relaxed);
    }
}

impl Counts {
    #[expect(clippy::print_stderr, reason = "what a person sees who waits")]
    fn tell(&self, size: Size) {
        let Self { created, configs, classes } = self;
        let [created, configs, classes] =
            [created, configs, classes].map(|count| count.load(Ordering::Relaxed));
        eprintln!(
            "created {created} of {} objects; ready are {configs} of {} ExtensionConfigs, {classes} of {} ClusterClasses",
            size.objects(),
            size.extension_configs,
            size.cluster_classes
        );
    }
}
