//! Which connections go through a proxy, by the environment, as a Go program decides it.
//!
//! Behaviour: Go's `golang.org/x/net/http/httpproxy`, which upstream's client uses; `ALL_PROXY` means nothing to it.
//! Ours on top: the name of a Service (`*.svc`) is never sent to a proxy, which could not resolve it.

use std::net::IpAddr;

use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// A proxy for HTTPS connections, and the targets that do without it.
#[derive(Debug)]
pub struct Proxy {
    via: Intercept,
    except: Vec<Exception>,
}

/// The proxy settings in the environment cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("HTTPS_PROXY is not the URL of an http, https or socks5 proxy")]
pub struct ProxyError;

#[derive(Debug, PartialEq, Eq)]
enum Exception {
    Everything,
    Network {
        address: IpAddr,
        prefix: u8,
    },
    Address {
        address: IpAddr,
        port: Option<u16>,
    },
    /// `.example.com`: what is below it; the name itself only where it was written without the dot.
    Domain {
        suffix: String,
        itself: bool,
        port: Option<u16>,
    },
}

impl Proxy {
    /// The proxy of the process's environment: `HTTPS_PROXY` and `NO_PROXY`, or their lower-case forms where these
    /// are unset or empty. `None` when there is none.
    ///
    /// # Errors
    /// When `HTTPS_PROXY` is no usable URL. The text leaves it out: it may have a password in it.
    pub fn from_environment() -> Result<Option<Self>, ProxyError> {
        let first = |names: [&str; 2]| {
            names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
        };
        let Some(proxy) = first(["HTTPS_PROXY", "https_proxy"]) else { return Ok(None) };
        Self::try_new(&proxy, &first(["NO_PROXY", "no_proxy"]).unwrap_or_default()).map(Some)
    }

    /// A proxy by its URL (`http://` where the scheme is left out) and the text of `NO_PROXY`.
    ///
    /// # Errors
    /// When the URL is not that of an `http`, `https` or `socks5` proxy.
    pub fn try_new(proxy: &str, no_proxy: &str) -> Result<Self, ProxyError> {
        let any = http::Uri::from_static("https://proxied.invalid/");
        let via = Matcher::builder().https(proxy.trim()).build().intercept(&any).ok_or(ProxyError)?;
        if !matches!(via.uri().scheme_str(), Some("http" | "https" | "socks5" | "socks5h")) {
            return Err(ProxyError);
        }
        Ok(Self { via, except: no_proxy.split(',').filter_map(Exception::parse).collect() })
    }

    /// The proxy for a target; `None` when it is dialed directly.
    pub(super) fn for_target(&self, host: &str, port: u16) -> Option<&Intercept> {
        (!self.is_direct(host, port)).then_some(&self.via)
    }

    fn is_direct(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        host == "localhost"
            || host.strip_suffix(".svc").is_some()
            || address.is_some_and(|address| address.is_loopback())
            || self.except.iter().any(|exception| exception.matches(&host, address, port))
    }
}

impl Exception {
    /// One entry of `NO_PROXY`. `None` for an empty one or one that cannot match anything.
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return Some(Self::Everything);
        }
        if let Some((address, prefix)) = entry.split_once('/') {
            let (address, prefix): (IpAddr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
            return (u32::from(prefix) <= bits(address).1).then_some(Self::Network { address, prefix });
        }
        let (host, port) = split_port(&entry);
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Some(Self::Address { address, port });
        }
        let domain = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        match domain.strip_prefix('.') {
            Some("") => None,
            Some(_) => Some(Self::Domain { suffix: domain.to_owned(), itself: false, port }),
            None if domain.is_empty() => None,
            None => Some(Self::Domain { suffix: format!(".{domain}"), itself: true, port }),
        }
    }

    fn matches(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        let same_port = |wanted: Option<u16>| wanted.is_none_or(|wanted| wanted == port);
        match self {
            Self::Everything => true,
            Self::Network { address: network, prefix } => {
                address.is_some_and(|address| is_inside(address, *network, *prefix))
            }
            Self::Address { address: wanted, port } => address == Some(*wanted) && same_port(*port),
            Self::Domain { suffix, itself, port } => {
                let is_it = host.ends_with(suffix.as_str()) || (*itself && suffix.get(1..) == Some(host));
                is_it && same_port(*port)
            }
        }
    }
}

fn split_port(entry: &str) -> (&str, Option<u16>) {
    // An IPv6 address without brackets has colons, but no port.
    if entry.parse::<IpAddr>().is_ok() {
        return (entry, None);
    }
    match entry.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) => (host, Some(port)),
        _ => (entry, None),
    }
}

fn is_inside(address: IpAddr, network: IpAddr, prefix: u8) -> bool {
    let ((address, width), (network, network_width)) = (bits(address), bits(network));
    let host_bits = width.saturating_sub(u32::from(prefix));
    let drop_host_bits = |bits: u128| bits.checked_shr(host_bits).unwrap_or(0);
    width == network_width && drop_host_bits(address) == drop_host_bits(network)
}

fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing_excepted("", "ext.example.com", 443, true)]
    #[case::a_service_is_never_proxied("", "ext.system.svc", 443, false)]
    #[case::a_service_whatever_its_port("", "EXT.system.SVC", 9443, false)]
    #[case::only_whole_label("", "ext.notsvc", 443, true)]
    #[case::localhost("", "localhost", 443, false)]
    #[case::loopback("", "127.3.2.1", 443, false)]
    #[case::loopback_six("", "::1", 443, false)]
    #[case::star("*", "ext.example.com", 443, false)]
    #[case::name_itself("example.com", "example.com", 443, false)]
    #[case::name_and_below("example.com", "a.b.Example.com", 443, false)]
    #[case::not_in_a_label("example.com", "notexample.com", 443, true)]
    #[case::dot_is_below_only(".example.com", "example.com", 443, true)]
    #[case::dot_is_below(".example.com", "a.example.com", 443, false)]
    #[case::star_dot_is_below("*.example.com", "a.example.com", 443, false)]
    #[case::star_dot_is_not_itself("*.example.com", "example.com", 443, true)]
    #[case::port_must_match("example.com:8443", "example.com", 443, true)]
    #[case::port_matches("example.com:8443", "example.com", 8443, false)]
    #[case::address("192.0.2.7", "192.0.2.7", 443, false)]
    #[case::address_with_port("192.0.2.7:8443", "192.0.2.7", 443, true)]
    #[case::address_six("[2001:db8::7]:8443", "2001:db8::7", 8443, false)]
    #[case::address_six_without_brackets("2001:db8::7", "2001:db8::7", 1, false)]
    #[case::inside_cidr("10.0.0.0/8", "10.200.3.4", 443, false)]
    #[case::outside_cidr("10.0.0.0/8", "11.0.0.1", 443, true)]
    #[case::cidr_of_everything("0.0.0.0/0", "11.0.0.1", 443, false)]
    #[case::cidr_six("2001:db8::/32", "2001:db8:1::1", 443, false)]
    #[case::cidr_of_the_other_family("0.0.0.0/0", "2001:db8::1", 443, true)]
    #[case::cidr_does_not_match_names("10.0.0.0/8", "ten.example.com", 443, true)]
    #[case::broken_cidr_matches_nothing("10.0.0.0/99", "10.0.0.1", 443, true)]
    #[case::one_of_many(" a.test , ,10.0.0.0/8,b.test", "x.b.test", 443, false)]
    fn targets_without_a_proxy(
        #[case] no_proxy: &str,
        #[case] host: &str,
        #[case] port: u16,
        #[case] proxied: bool,
    ) {
        let proxy = Proxy::try_new("http://proxy.test:3128", no_proxy).unwrap();
        assert_eq!(proxy.for_target(host, port).is_some(), proxied);
    }

    #[rstest]
    #[case::plain("http://proxy.test:3128", "http://proxy.test:3128/")]
    #[case::without_scheme("proxy.test:3128", "http://proxy.test:3128/")]
    #[case::https("https://proxy.test", "https://proxy.test/")]
    #[case::socks("socks5://proxy.test:1080", "socks5://proxy.test:1080/")]
    #[case::with_password("http://me:secret@proxy.test:3128", "http://proxy.test:3128/")]
    fn proxies(#[case] url: &str, #[case] dialed: &str) {
        let proxy = Proxy::try_new(url, "").unwrap();
        assert_eq!(proxy.for_target("ext.test", 443).unwrap().uri().to_string(), dialed);
        assert!(!format!("{proxy:?}").contains("secret"));
    }

    #[test]
    fn a_proxy_that_is_none_is_an_error() {
        assert_eq!(Proxy::try_new("gopher://proxy.test", "").err(), Some(ProxyError));
        assert_eq!(Proxy::try_new("socks4://proxy.test", "").err(), Some(ProxyError));
        assert_eq!(Proxy::try_new("http://", "").err(), Some(ProxyError));
    }
}
