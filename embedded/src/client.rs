//! Clients in the same process: no socket, no TLS, no encoding but JSON.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use http::{HeaderValue, Request, header};
use kube::client::Body;
use tower::{ServiceExt as _, service_fn};

use crate::rest::User;
use crate::server::Server;

const USER: &str = "kapstan-embedded-admin";

impl Server {
    /// A client in this process, in the namespace `default`, who may do everything.
    ///
    /// It works under a paused tokio clock. It belongs to the runtime that it is made in.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client_named(USER)
    }

    /// The same, with this `User-Agent`, which the audit log shows and which is the field manager of
    /// writes that name none. One that is no header value is left out.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn client_named(&self, user_agent: &str) -> kube::Client {
        self.client_with(USER, user_agent)
    }

    /// The same, of another user, who may do everything too; the audit log shows the name. It is the
    /// `User-Agent` as well.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn client_of(&self, user: &str) -> kube::Client {
        self.client_with(user, user)
    }

    fn client_with(&self, user: &str, user_agent: &str) -> kube::Client {
        let router = self.router();
        let user_agent = HeaderValue::from_str(user_agent).ok();
        let user = User(Arc::from(user));
        let service =
            service_fn(move |request| call(router.clone(), request, user_agent.clone(), user.clone()));
        kube::Client::new(service, "default")
    }
}

async fn call(
    router: Router,
    request: Request<Body>,
    user_agent: Option<HeaderValue>,
    user: User,
) -> Result<axum::response::Response, Infallible> {
    let mut request = request.map(axum::body::Body::new);
    if let Some(user_agent) = user_agent {
        request.headers_mut().entry(header::USER_AGENT).or_insert(user_agent);
    }
    request.extensions_mut().insert(user);
    router.oneshot(request).await
}
