//! One control plane for all the tests of a process.

use anyhow::{Result, anyhow};
use tokio::sync::OnceCell;

use crate::control_plane::ControlPlane;
use crate::sys;

static SHARED: OnceCell<Result<ControlPlane, String>> = OnceCell::const_new();

/// The control plane that all tests of this process share, with audit log and garbage collector. The
/// first to ask starts it; it ends with the process, however that ends.
///
/// It outlives the runtime of the test that started it. Tests that share it keep to a
/// [namespace](ControlPlane::namespace) of their own and never stop its API server.
///
/// # Errors
/// When it did not start; it is tried once only, and everyone gets the same answer.
pub async fn shared() -> Result<&'static ControlPlane> {
    let start = async || start().await.map_err(|error| format!("{error:#}"));
    SHARED.get_or_init(start).await.as_ref().map_err(|error| anyhow!("{error}"))
}

async fn start() -> Result<ControlPlane> {
    let control_plane = ControlPlane::builder().audit().garbage_collector().start().await?;
    // The kernel ends the children in any case; this is for the folder.
    sys::at_exit(kill)?;
    Ok(control_plane)
}

extern "C" fn kill() {
    if let Some(Ok(control_plane)) = SHARED.get() {
        control_plane.kill();
    }
}
