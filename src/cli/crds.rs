//! `kapstan crds`: the CRDs, for whoever installs them.

use std::fmt::Write as _;

use super::print;
use crate::crds::OWN;

/// Prints them.
pub(super) fn run() -> anyhow::Result<()> {
    print(&text())
}

fn text() -> String {
    let mut text = String::new();
    for crd in OWN {
        let separator = if crd.yaml.starts_with("---\n") { "" } else { "---\n" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{separator}{}", crd.yaml.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use kapstan_embedded::Server;
    use kube::{Api, api::ListParams};

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

    use super::*;

    #[tokio::test]
    async fn a_server_that_is_given_what_is_printed_serves_our_kinds() {
        let server = Server::builder().start();
        server.load(&text()).unwrap();
        let crds: Api<CustomResourceDefinition> = Api::all(server.client());
        let kinds: Vec<_> = crds
            .list(&ListParams::default())
            .await
            .unwrap()
            .into_iter()
            .map(|crd| crd.spec.names.kind)
            .collect();
        assert_eq!(kinds, ["ClusterClass", "ExtensionConfig"]);
    }
}
