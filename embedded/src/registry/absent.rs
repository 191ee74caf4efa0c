//! What Kubernetes itself serves and this server does not, so that a refusal can say so.

/// Groups of which nothing is served here.
const GROUPS: [&str; 13] = [
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Kinds of groups of which some are served.
const RESOURCES: [(&str, &[&str]); 3] = [
    (
        "",
        &[
            "bindings",
            "componentstatuses",
            "endpoints",
            "limitranges",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &[
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ],
    ),
    ("coordination.k8s.io", &["leasecandidates"]),
];

/// Whether a resource is one of Kubernetes' own that this server does not have.
pub(crate) fn is_of_kubernetes(group: &str, resource: &str) -> bool {
    GROUPS.contains(&group)
        || RESOURCES.iter().any(|(name, resources)| *name == group && resources.contains(&resource))
}
