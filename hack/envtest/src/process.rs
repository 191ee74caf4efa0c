//! One child process: started, watched, stopped, started again; its output kept in a file.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::{poll, sys};

/// How many lines of its log an error shows.
const TAIL: usize = 15;

/// A program with its arguments, and the child that runs it, if one does.
pub(crate) struct Process {
    name: &'static str,
    program: PathBuf,
    args: Vec<OsString>,
    log: PathBuf,
    child: Mutex<Option<Child>>,
}

impl Process {
    pub(crate) fn new(
        name: &'static str,
        program: PathBuf,
        args: impl IntoIterator<Item = impl Into<OsString>>,
        log: PathBuf,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { name, program, args, log, child: Mutex::new(None) }
    }

    /// Starts the child, in a process group of its own. A running child is left alone.
    pub(crate) fn start(&self) -> Result<()> {
        let mut child = self.child();
        if let Some(running) = child.as_mut()
            && running.try_wait()?.is_none()
        {
            return Ok(());
        }
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("failed to open {}", self.log.display()))?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        sys::die_with_parent(&mut command);
        let started =
            spawn(command).with_context(|| format!("failed to start {}", self.program.display()))?;
        *child = Some(started);
        Ok(())
    }

    /// The id of the running child.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child().as_ref().map(Child::id)
    }

    /// Fails when the child is not running.
    pub(crate) fn check(&self) -> Result<()> {
        match self.exit_status()? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status})", self.name),
        }
    }

    /// Asks the child to end, and kills it when it has not ended within `grace`.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.signal(libc::SIGTERM);
        let ended = poll::until(grace, self.name, async || Ok(self.check().is_err().then_some(())));
        let _ = ended.await; // not in time: the kill below is what remains
        self.kill();
    }

    /// Kills the child and waits for its end, which takes milliseconds.
    pub(crate) fn kill(&self) {
        let mut slot = self.child();
        if let Some(mut child) = slot.take() {
            sys::signal_group(child.id(), libc::SIGKILL);
            let _ = child.wait(); // it fails only for a child that was waited for already
        }
    }

    /// Sends a signal to the child's process group.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        let slot = self.child();
        if let Some(child) = slot.as_ref() {
            sys::signal_group(child.id(), signal);
        }
    }

    /// The last lines of the log, under a heading.
    pub(crate) fn tail(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(TAIL)..];
        format!("--- end of the log of {} ---\n{}", self.name, tail.join("\n"))
    }

    fn exit_status(&self) -> Result<Option<ExitStatus>> {
        let mut slot = self.child();
        let child = slot.as_mut().with_context(|| format!("{} is not running", self.name))?;
        Ok(child.try_wait()?)
    }

    // A panic elsewhere leaves the slot as true as before: it only ever holds a whole value.
    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

type Request = (Command, mpsc::SyncSender<io::Result<Child>>);

/// Spawns from a thread that lives as long as this process; see [`sys::die_with_parent`].
fn spawn(command: Command) -> Result<Child> {
    static SPAWNER: LazyLock<io::Result<mpsc::Sender<Request>>> = LazyLock::new(|| {
        let (requests, queue) = mpsc::channel::<Request>();
        let serve = move || {
            for (mut command, reply) in queue {
                let _ = reply.send(command.spawn()); // the one who asked waits for it
            }
        };
        thread::Builder::new().name("envtest-spawner".to_owned()).spawn(serve).map(|_| requests)
    });
    let spawner = SPAWNER.as_ref().map_err(|error| anyhow!("failed to start a thread: {error}"))?;
    let (reply, answer) = mpsc::sync_channel(1);
    spawner.send((command, reply)).context("the spawning thread ended")?;
    Ok(answer.recv().context("the spawning thread ended")??)
}
