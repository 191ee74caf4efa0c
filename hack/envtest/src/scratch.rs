//! The folder of one control plane, and what becomes of it when nobody is left to remove it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

const PREFIX: &str = "kapstan-envtest-";
const LOCK: &str = "lock";
/// A folder younger than this may belong to a process that has not locked it yet.
const YOUNG: Duration = Duration::from_mins(1);

/// A temporary folder, removed when dropped.
///
/// It holds a file that is locked as long as this process lives. The folder of a process that was
/// killed is unlocked, and the next one to make a folder removes it.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    _lock: File,
}

impl Scratch {
    pub(crate) fn new() -> Result<Self> {
        sweep(&std::env::temp_dir());
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir();
        let folder = folder.context("failed to create a temporary folder")?;
        let lock = File::create(folder.path().join(LOCK)).context("failed to create a lock file")?;
        lock.lock().context("failed to lock a file of our own")?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file of this folder and says where it is.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.join(name);
        fs::write(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
        Ok(path)
    }

    /// Removes the folder now; dropping does nothing more.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(self.path()); // nothing can be done about it, and the sweep follows
    }
}

/// Removes the folders that killed processes left. Whatever cannot be looked at is left alone.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if is_ours(&name) && is_abandoned(&entry.path().join(LOCK)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX))
}

fn is_abandoned(lock: &Path) -> bool {
    let Ok(file) = File::open(lock) else { return false };
    let age = file.metadata().and_then(|metadata| metadata.modified()).map(|modified| modified.elapsed());
    matches!(age, Ok(Ok(age)) if age > YOUNG) && file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn folder(parent: &Path, name: &str, age: Duration) -> (PathBuf, File) {
        let folder = parent.join(name);
        fs::create_dir(&folder).unwrap();
        let lock = File::create(folder.join(LOCK)).unwrap();
        lock.set_modified(SystemTime::now() - age).unwrap();
        (folder, lock)
    }

    #[test]
    fn only_old_unlocked_folders_of_ours_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let old = YOUNG * 2;
        let (abandoned, _unlocked) = folder(parent.path(), "kapstan-envtest-abandoned", old);
        let (young, _unlocked) = folder(parent.path(), "kapstan-envtest-young", Duration::ZERO);
        let (foreign, _unlocked) = folder(parent.path(), "foreign", old);
        let (in_use, lock) = folder(parent.path(), "kapstan-envtest-in-use", old);
        lock.lock().unwrap();

        sweep(parent.path());

        let left = [abandoned, young, foreign, in_use].map(|folder| folder.exists());
        assert_eq!(left, [false, true, true, true]);
    }
}
