//! The samples that the binary carries (`config/samples`), and what their extension serves.

use crate::manifests::Manifest;

/// The placeholder for the URL of the sample extension, `https://host:port`.
pub const URL: &str = "${EXTENSION_URL}";
/// The placeholder for its CA bundle, PEM in base64 on one line.
pub const CA_BUNDLE: &str = "${EXTENSION_CA_BUNDLE}";

/// The extensions of the samples: the path at which each is served, and how many variables it has.
pub const EXTENSIONS: [(&str, usize); 3] = [("/images", 3), ("/sites", 2), ("/sizing", 4)];

macro_rules! samples {
    ($($file:literal),+ $(,)?) => {
        [$(($file, include_str!(concat!("../config/samples/", $file)))),+]
    };
}

/// The files of `config/samples`, as its `kustomization.yaml` lists them.
const FILES: [(&str, &str); 5] = samples!(
    "namespaces.yaml",
    "secret.yaml",
    "extensionconfigs.yaml",
    "templates.yaml",
    "clusterclasses.yaml",
);

/// The samples, placeholders and all.
#[must_use]
pub fn manifests() -> Vec<Manifest> {
    FILES.map(|(file, text)| Manifest::new(format!("config/samples/{file}"), text)).to_vec()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_binary_carries_what_the_kustomization_lists() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/samples");
        let names = |manifests: Vec<Manifest>| -> Vec<_> {
            let name = |manifest: &Manifest| Path::new(manifest.source()).file_name().unwrap().to_owned();
            manifests.iter().map(name).collect()
        };
        let in_folder = crate::manifests::read(&folder).unwrap();
        assert_eq!(names(manifests()), names(in_folder));
    }
}
