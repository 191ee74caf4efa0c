//! The process.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

/// How long anything may take that a test waits for.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// A `kapstan` to be, in an environment in which nothing is set, and whose temporary files are in a folder of its own.
pub(crate) struct Kapstan {
    command: Command,
    /// Where it runs.
    pub(crate) folder: tempfile::TempDir,
    temporary: tempfile::TempDir,
    input: Vec<u8>,
}

/// How it ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Kapstan {
    pub(crate) fn new(args: &[&str]) -> Result<Self> {
        let (folder, temporary) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let mut command = Command::new(env!("CARGO_BIN_EXE_kapstan"));
        command.args(args).env_clear().env("HOME", folder.path()).env("TMPDIR", temporary.path());
        command.current_dir(folder.path()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Self { command, folder, temporary, input: Vec::new() })
    }

    /// `kapstan dev`.
    pub(crate) fn dev(args: &[&str]) -> Result<Self> {
        Self::new(&[&["dev"], args].concat())
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn file(self, name: &str, content: &str) -> Result<Self> {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().context("it is in a folder")?)?;
        fs::write(path, content)?;
        Ok(self)
    }

    pub(crate) fn input(mut self, text: &str) -> Self {
        self.input = text.into();
        self
    }

    /// Runs it to its end, after which none of its temporary files is left.
    pub(crate) async fn end(mut self) -> Result<Ended> {
        let mut child = self.command.spawn()?;
        let mut stdin = child.stdin.take().context("it is piped")?;
        let input = std::mem::take(&mut self.input);
        // It may end without reading.
        tokio::spawn(async move { stdin.write_all(&input).await });
        let output = tokio::time::timeout(DEADLINE, child.wait_with_output()).await;
        let Output { status, stdout, stderr } = output.context("it does not end")??;
        self.assert_nothing_is_left()?;
        Ok(Ended {
            code: status.code(),
            stdout: String::from_utf8(stdout)?,
            stderr: String::from_utf8(stderr)?,
        })
    }

    /// Starts it and leaves standard input open.
    pub(crate) fn spawn(mut self) -> Result<Running> {
        self.command.stderr(Stdio::inherit());
        let mut child = self.command.spawn()?;
        let lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
        Ok(Running { child, lines, kapstan: self })
    }

    fn assert_nothing_is_left(&self) -> Result<()> {
        let left: Vec<_> = fs::read_dir(self.temporary.path())?.collect();
        ensure!(left.is_empty(), "temporary files are left: {left:?}");
        Ok(())
    }
}

/// One that runs.
pub(crate) struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    kapstan: Kapstan,
}

impl Running {
    /// The next line of standard output.
    pub(crate) async fn line(&mut self) -> Result<String> {
        let line = tokio::time::timeout(DEADLINE, self.lines.next_line()).await;
        line.context("it says nothing more")??.context("it ended")
    }

    /// Reads on until it says where the kubeconfig is.
    pub(crate) async fn kubeconfig(&mut self) -> Result<PathBuf> {
        loop {
            if let Some(path) = self.line().await?.strip_prefix("kubeconfig: ") {
                return Ok(path.into());
            }
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.kapstan.folder.path()
    }

    /// Where its temporary files are.
    pub(crate) fn temporary(&self) -> &Path {
        self.kapstan.temporary.path()
    }

    pub(crate) fn id(&self) -> Result<u32> {
        self.child.id().context("it ended by itself")
    }

    pub(crate) async fn signal(&self, signal: &str) -> Result<()> {
        let id = self.id()?.to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().await?;
        ensure!(sent.success(), "kill: {sent}");
        Ok(())
    }

    /// Waits for its end, after which none of its temporary files is left, and gives its exit code.
    pub(crate) async fn end(mut self) -> Result<Option<i32>> {
        let ended = tokio::time::timeout(DEADLINE, async {
            while self.lines.next_line().await?.is_some() {}
            anyhow::Ok(self.child.wait().await?)
        });
        let status = ended.await.context("it does not end")??;
        self.kapstan.assert_nothing_is_left()?;
        Ok(status.code())
    }
}
