//! Which files are meant.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Manifest, kustomization};

/// Stands for standard input.
const STDIN: &str = "-";
/// Its name in messages.
const STDIN_NAME: &str = "standard input";
/// The files of a folder that count.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Why manifests cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file or folder cannot be read.
    #[error("failed to read {path}")]
    Io {
        /// Which one.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Nothing in a folder has the name of a manifest.
    #[error("{}: there is no file *.yaml, *.yml or *.json in this folder", .0.display())]
    Empty(PathBuf),
    /// A kustomization is no YAML; the text names it.
    #[error("{0}")]
    Text(String),
    /// A kustomization asks for more than a list of files.
    #[error("{}: {field}: {why}", .path.display())]
    Kustomization {
        /// Its file.
        path: PathBuf,
        /// What in it.
        field: String,
        /// Why that cannot be.
        why: String,
    },
}

/// The manifests at a path: of a file, of a folder, or (`-`) of standard input.
///
/// Of a folder with a `kustomization.yaml`, the resources that it lists, in that order; if it does more than list, it is
/// refused. Of another folder, its files of YAML and JSON, by name; folders in it are left out.
///
/// # Errors
/// When anything of it cannot be read.
pub fn read(path: &Path) -> Result<Vec<Manifest>, ReadError> {
    if path == Path::new(STDIN) {
        let text = io::read_to_string(io::stdin());
        let text = text.map_err(|source| ReadError::Io { path: STDIN_NAME.to_owned(), source })?;
        return Ok(vec![Manifest::new(STDIN_NAME, text)]);
    }
    at(path, &mut Vec::new())
}

/// The manifests at a path that is no `-`. `within` are the kustomizations that led here.
pub(super) fn at(path: &Path, within: &mut Vec<PathBuf>) -> Result<Vec<Manifest>, ReadError> {
    if path.is_dir() {
        return match kustomization::of_folder(path) {
            Some(file) => kustomization::resources(&file, within),
            None => folder(path),
        };
    }
    if kustomization::is_one(path) {
        return kustomization::resources(path, within);
    }
    file(path).map(|manifest| vec![manifest])
}

pub(super) fn file(path: &Path) -> Result<Manifest, ReadError> {
    let text = fs::read_to_string(path).map_err(|source| failed(path, source))?;
    Ok(Manifest::new(path.display().to_string(), text))
}

fn folder(path: &Path) -> Result<Vec<Manifest>, ReadError> {
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|source| failed(path, source))?;
    let counts = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && !path.is_dir()
    };
    let mut files: Vec<_> = entries.iter().map(fs::DirEntry::path).filter(counts).collect();
    if files.is_empty() {
        return Err(ReadError::Empty(path.to_owned()));
    }
    files.sort();
    files.iter().map(|path| file(path)).collect()
}

fn failed(path: &Path, source: io::Error) -> ReadError {
    ReadError::Io { path: path.display().to_string(), source }
}
