//! What is done to an API server from outside, whichever it is.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use kapstan::clock::Clock;
use kapstan_embedded::HaltedControllers;
use kapstan_envtest::ControlPlane;
use kube::Client;

use crate::{
    audit::{AuditEvent, AuditMark},
    power::Power,
    server::Server,
};

/// The time at which the embedded server starts.
pub(crate) const ORIGIN: &str = "2026-01-01T00:00:00Z";

/// An API server.
pub(crate) enum Plane {
    Embedded { server: kapstan_embedded::Server, power: Power, _halted: Option<HaltedControllers> },
    Real(Box<ControlPlane>),
}

impl Plane {
    /// Starts it, with an audit log.
    pub(crate) async fn start(server: Server, has_garbage_collector: bool) -> Result<Self> {
        if server == Server::Embedded {
            let server = kapstan_embedded::Server::builder().starting_at(ORIGIN.parse()?).seed(1).start();
            let halted = (!has_garbage_collector).then(|| server.halt_controllers());
            return Ok(Self::Embedded { server, power: Power::default(), _halted: halted });
        }
        let builder = ControlPlane::builder().audit();
        let builder = if has_garbage_collector { builder.garbage_collector() } else { builder };
        Ok(Self::Real(Box::new(builder.start().await?)))
    }

    /// The name of the user whose client [`Plane::client`] is.
    pub(crate) fn admin(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => "kapstan-embedded-admin",
            Self::Real(_) => "kapstan-envtest-admin",
        }
    }

    /// Applies the CRDs of these folders and waits until they are served.
    pub(crate) async fn apply_crds(&self, folders: &[PathBuf]) -> Result<()> {
        let server = match self {
            Self::Embedded { server, .. } => server,
            Self::Real(plane) => return plane.apply_crds(folders).await.map(drop),
        };
        for folder in folders {
            for file in std::fs::read_dir(folder)? {
                let path = file?.path();
                let loaded = server.load(&std::fs::read_to_string(&path)?);
                loaded.with_context(|| format!("failed to load {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// A client of an administrator.
    pub(crate) fn client(&self) -> Result<Client> {
        match self {
            Self::Embedded { server, power, .. } => Ok(power.before(server.client())),
            Self::Real(plane) => plane.client(),
        }
    }

    /// A client of another user.
    pub(crate) fn client_of(&self, user: &str) -> Result<Client> {
        match self {
            Self::Embedded { server, power, .. } => Ok(power.before(server.client_of(user))),
            Self::Real(plane) => plane.user(user, None)?.client(),
        }
    }

    /// The clock by which the server goes.
    pub(crate) fn clock(&self) -> Clock {
        match self {
            Self::Embedded { server, .. } => Clock::starting_at(server.now()),
            Self::Real(_) => Clock::system(),
        }
    }

    /// The end of the audit log.
    pub(crate) fn audit_mark(&self) -> Result<AuditMark> {
        match self {
            Self::Embedded { server, .. } => Ok(AuditMark::Embedded(server.audit().mark())),
            Self::Real(plane) => Ok(AuditMark::Real(plane.audit_mark()?)),
        }
    }

    /// Every request since the mark.
    pub(crate) fn audit_events(&self, since: AuditMark) -> Result<Vec<AuditEvent>> {
        match self {
            Self::Embedded { server, .. } => {
                let events = server.audit().events_since(since.embedded());
                Ok(events.into_iter().map(AuditEvent::from).collect())
            }
            Self::Real(plane) => {
                let events = plane.audit_events_since(since.real())?;
                Ok(events.into_iter().map(AuditEvent::from).collect())
            }
        }
    }

    /// Ends the API server; what it stored stays.
    pub(crate) fn kill(&self) {
        match self {
            Self::Embedded { power, .. } => power.off(),
            Self::Real(plane) => plane.kill_api_server(),
        }
    }

    /// Starts it again. It does not remember what it has told to watches.
    pub(crate) async fn restart(&self) -> Result<()> {
        match self {
            Self::Embedded { server, power, .. } => {
                server.compact();
                power.on();
                Ok(())
            }
            Self::Real(plane) => plane.restart_api_server().await,
        }
    }

    /// Halts the garbage collector until what is given back is dropped.
    pub(crate) fn halt_collector(&self) -> Result<HaltedCollector> {
        match self {
            Self::Embedded { server, .. } => {
                Ok(HaltedCollector::Embedded { _halted: server.halt_controllers() })
            }
            Self::Real(plane) => {
                // Who depends on others is first.
                let collector = *plane.pids().first().context("no process runs")?;
                anyhow::ensure!(signal(collector, "-STOP"), "the collector cannot be halted");
                Ok(HaltedCollector::Real(collector))
            }
        }
    }
}

/// A garbage collector that is halted until this is dropped.
pub(crate) enum HaltedCollector {
    Embedded { _halted: HaltedControllers },
    Real(u32),
}

impl Drop for HaltedCollector {
    fn drop(&mut self) {
        if let Self::Real(collector) = self {
            signal(*collector, "-CONT");
        }
    }
}

fn signal(process: u32, signal: &str) -> bool {
    let sent = std::process::Command::new("kill").args([signal, &process.to_string()]).status();
    sent.is_ok_and(|status| status.success())
}
