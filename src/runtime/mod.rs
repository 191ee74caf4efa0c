//! Everything between the manager and an extension: registry, HTTPS client, cache, TLS.
