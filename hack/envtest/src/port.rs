//! A local TCP port that stays ours.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result};
use tokio::net::TcpSocket;

/// A port of 127.0.0.1 that is bound with `SO_REUSEPORT` and never listened on.
///
/// The server that binds it the same way gets every connection; nobody else is given the port, neither
/// before that server starts nor while it is being restarted.
pub(crate) struct Port {
    _socket: TcpSocket,
    address: SocketAddr,
}

impl Port {
    /// # Errors
    /// When the system has no port to give.
    pub(crate) fn reserve() -> Result<Self> {
        let reserve = || {
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseport(true)?;
            socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
            let address = socket.local_addr()?;
            std::io::Result::Ok(Self { _socket: socket, address })
        };
        reserve().context("failed to reserve a port")
    }

    pub(crate) fn number(&self) -> u16 {
        self.address.port()
    }
}
