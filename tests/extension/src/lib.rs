//! A runtime extension that tests switch at run time.
//!
//! [`TestExtension`] is an extension made with the sdk, served over real TLS on loopback or in process over a
//! pipe (so that a paused tokio clock can run it). Tests tell it how to misbehave ([`Behaviour`]) for all calls
//! or some ([`Target`]), and ask it what came ([`Counts`], [`RecordedRequest`]). It knows nothing of the
//! manager it is asked by.
//!
//! ```
//! # use kapstan_test_extension::{Behaviour, Target, TestExtension};
//! # use std::time::Duration;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! let extension = TestExtension::builder().latency(Duration::from_millis(50)).start().await?;
//! let (url, ca_bundle) = (extension.url_of("/ext-17"), extension.ca_bundle());
//! extension.behave(Target::discovery("/ext-17"), Behaviour::failure("not today").times(2));
//! // … let a manager have an ExtensionConfig with this url and caBundle …
//! assert_eq!(extension.calls(Target::discovery("/ext-17")), 0);
//! # Ok(())
//! # }
//! ```

mod behaviour;
mod certificate;
mod connection;
mod content;
mod extension;
mod record;
mod service;
mod target;

pub use behaviour::Behaviour;
pub use certificate::{CertificateBuilder, DEFAULT_NAMES, TestCa, TestCertificate};
pub use content::{HandlerSpec, Variables};
pub use extension::{Builder, TestExtension};
pub use record::{Arrival, Counts, NullInBody, RecordedRequest};
pub use target::{Target, hook_path};

/// The host by which an extension is known that is reached in process only.
pub const IN_PROCESS_HOST: &str = "extension.test";
