//! The network between the manager and the extensions of a test.

use std::{
    collections::HashMap,
    io,
    net::Ipv4Addr,
    sync::{Arc, Weak},
};

use futures::future::BoxFuture;
use kapstan::runtime::transport::{BoxedIo, Dial, SystemResolver, TcpDialer};
use kapstan_test_extension::TestExtension;
use parking_lot::Mutex;

use crate::server::Server;

/// Connects by sockets beside the real API server, and in process beside the embedded one, where nobody may wait for
/// anything that the clock does not know of.
pub(crate) struct Network {
    server: Server,
    by_port: Mutex<HashMap<u16, Weak<TestExtension>>>,
    /// Names that stand for this machine, as those of Services would.
    names: Mutex<Vec<String>>,
    tcp: TcpDialer,
}

impl Network {
    pub(crate) fn of(server: Server) -> Arc<Self> {
        let tcp = TcpDialer::new(Arc::new(SystemResolver), None, None);
        Arc::new(Self { server, by_port: Mutex::default(), names: Mutex::default(), tcp })
    }

    /// From now on the extension can be reached.
    pub(crate) fn add(&self, extension: &Arc<TestExtension>) {
        let port = extension.address().map_or(0, |address| address.port());
        self.by_port.lock().insert(port, Arc::downgrade(extension));
    }

    /// From now on every extension can be reached by this name too.
    pub(crate) fn name(&self, name: &str) {
        self.names.lock().push(name.to_owned());
    }

    fn connect(&self, host: &str, port: u16) -> io::Result<BoxedIo> {
        let found = self.by_port.lock().get(&port).and_then(Weak::upgrade);
        let extension = found.filter(|_| host == Ipv4Addr::LOCALHOST.to_string());
        Ok(Box::new(extension.ok_or(io::ErrorKind::ConnectionRefused)?.connect()?))
    }
}

impl Dial for Network {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxedIo>> {
        let is_name = self.names.lock().iter().any(|name| name == host);
        let host = if is_name { "127.0.0.1" } else { host };
        match self.server {
            Server::Embedded => Box::pin(std::future::ready(self.connect(host, port))),
            Server::Real => self.tcp.dial(host, port),
        }
    }
}
