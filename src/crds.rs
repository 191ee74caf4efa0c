//! The CRDs that the binary carries, as they are in `config`: our own kinds, equal to what the types say
//! (`kapstan_api::crd`), and copies of Cluster API's for the kinds of templates.

/// A CRD, and the file that it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crd {
    /// The name of the file, `<group>_<plural>.yaml`.
    pub file: &'static str,
    /// One YAML document.
    pub yaml: &'static str,
}

macro_rules! crds {
    ($folder:literal: $($file:literal),+ $(,)?) => {
        &[$(Crd { file: $file, yaml: include_str!(concat!("../", $folder, "/", $file)) }),+]
    };
}

/// The kinds that Kapstan is the controller of (`config/crd`).
pub const OWN: &[Crd] = crds!(
    "config/crd":
    "cluster.x-k8s.io_clusterclasses.yaml",
    "runtime.cluster.x-k8s.io_extensionconfigs.yaml",
);

/// The kinds of templates that the samples refer to (`config/samples/crds`). In a real cluster they come with the
/// providers of Cluster API.
pub const TEMPLATES: &[Crd] = crds!(
    "config/samples/crds":
    "bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates.yaml",
    "controlplane.cluster.x-k8s.io_kubeadmcontrolplanetemplates.yaml",
    "infrastructure.cluster.x-k8s.io_devclustertemplates.yaml",
    "infrastructure.cluster.x-k8s.io_devmachinetemplates.yaml",
);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::own("config/crd", OWN)]
    #[case::templates("config/samples/crds", TEMPLATES)]
    fn every_file_of_the_folder_is_in_the_binary(#[case] folder: &str, #[case] crds: &[Crd]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(crds.iter().map(|crd| crd.file).collect::<Vec<_>>(), files);
    }

    #[test]
    fn our_own_are_those_of_the_types() {
        let files: Vec<serde_json::Value> =
            OWN.iter().map(|crd| serde_saphyr::from_str(crd.yaml).unwrap()).collect();
        assert_eq!(files, kapstan_api::crd::all());
    }

    #[test]
    fn each_is_the_crd_that_its_file_is_named_after() {
        for Crd { file, yaml } in OWN.iter().chain(TEMPLATES) {
            let crd: CustomResourceDefinition = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!(format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural), *file);
        }
    }
}
