//! Where an extension is, and the URL of a call to it.
//!
//! Behaviour: Cluster API `internal/runtime/client/client.go`, `urlForExtension`, and Go's `net/url` below it. The
//! recorded URLs are `tests/vectors/hooks.json`, `url/…`.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use http::uri::Authority;
use http::{HeaderValue, Uri};
use kapstan_api::extension_config::{ClientConfig, ServiceReference};
use kapstan_api::hooks::catalog::GroupVersionHook;
use url::form_urlencoded;

use super::error::Failure;

const URL: &str = "spec.clientConfig.url";
const SERVICE: &str = "spec.clientConfig.service";
const DEFAULT_PORT: u16 = 443;

/// Where an extension is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host, with the port where one was given, as in a URL.
    authority: Authority,
    /// Host without brackets, as it is dialed.
    host: Arc<str>,
    port: u16,
    /// What comes before the hook's path, decoded.
    prefix: Vec<u8>,
    /// The query of the URL, as it was written.
    query: String,
    /// From user and password in the URL.
    authorization: Option<HeaderValue>,
    field: &'static str,
}

impl TryFrom<&ClientConfig> for Endpoint {
    type Error = Failure;

    /// The Service when one is named, else the URL.
    fn try_from(config: &ClientConfig) -> Result<Self, Failure> {
        match (&config.service, config.url.as_deref()) {
            (Some(service), _) if *service != ServiceReference::default() => Self::of_service(service),
            (_, None | Some("")) => {
                Err(Failure::misconfigured("spec.clientConfig", "neither url nor service is set"))
            }
            (_, Some(url)) => Self::of_url(url).map_err(|problem| Failure::misconfigured(URL, problem)),
        }
    }
}

impl Endpoint {
    fn of_service(service: &ServiceReference) -> Result<Self, Failure> {
        let host = format!("{}.{}.svc", service.name, service.namespace);
        let port = service.port.map(u16::try_from).transpose();
        let port =
            port.map_err(|_| Failure::misconfigured("spec.clientConfig.service.port", "it is not a port"))?;
        let authority = authority(&host, port).map_err(|problem| Failure::misconfigured(SERVICE, problem))?;
        Ok(Self {
            authority,
            host: host.into(),
            port: port.unwrap_or(DEFAULT_PORT),
            prefix: service.path.clone().unwrap_or_default().into_bytes(),
            query: String::new(),
            authorization: None,
            field: SERVICE,
        })
    }

    fn of_url(url: &str) -> Result<Self, &'static str> {
        if url.chars().any(|c| c.is_ascii_control()) {
            return Err("there is a control character in it");
        }
        let (url, _fragment) = url.split_once('#').unwrap_or((url, ""));
        let (scheme, rest) = url.split_once(':').ok_or("the scheme must be https")?;
        if !scheme.eq_ignore_ascii_case("https") {
            return Err("the scheme must be https");
        }
        let rest = rest.strip_prefix("//").ok_or("there is no host in it")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (whom, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host_and_port) =
            whom.rsplit_once('@').map_or((None, whom), |(user, host)| (Some(user), host));
        let (host, port) = host_and_port_of(host_and_port)?;
        Ok(Self {
            authority: authority(host, port)?,
            host: host.into(),
            port: port.unwrap_or(DEFAULT_PORT),
            prefix: decoded(path)?,
            query: query.to_owned(),
            authorization: user.map(basic).transpose()?,
            field: URL,
        })
    }

    /// Host and port as they are dialed.
    pub(super) fn address(&self) -> (Arc<str>, u16) {
        (self.host.clone(), self.port)
    }

    /// Host and port for people.
    pub(super) fn address_text(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Host without port and brackets: what a certificate must be for.
    #[must_use]
    pub fn server_name(&self) -> &str {
        &self.host
    }

    /// Host as the URL has it, with the port where one was given. What upstream's metrics call `host`.
    #[must_use]
    pub fn url_host(&self) -> &str {
        self.authority.as_str()
    }

    /// What to send as `Authorization`. `None` when the URL names no user.
    pub(super) const fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// The URL of a call: the hook's path below the prefix, and how long the call may take.
    ///
    /// # Errors
    /// When the pieces do not make a URL.
    pub fn uri(
        &self,
        hook: &GroupVersionHook,
        handler: Option<&str>,
        timeout: Duration,
    ) -> Result<Uri, Failure> {
        let path = joined(&self.prefix, hook.path(handler).as_bytes());
        let timeout = go_duration(timeout);
        let mut pairs: Vec<_> = form_urlencoded::parse(self.query.as_bytes()).collect();
        pairs.push(("timeout".into(), timeout.into()));
        pairs.sort_by(|one, other| one.0.cmp(&other.0)); // stable: values of one key keep their order
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        Uri::builder()
            .scheme("https")
            .authority(self.authority.clone())
            .path_and_query(format!("{path}?{query}"))
            .build()
            .map_err(|error| Failure::misconfigured(self.field, error.to_string()))
    }
}

fn authority(host: &str, port: Option<u16>) -> Result<Authority, &'static str> {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let text = port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
    Authority::try_from(text).map_err(|_| "its host is not a name or an address")
}

fn host_and_port_of(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(None) => return Err("a bracket is not closed"),
        Some(Some((host, rest))) => (host, rest),
        None => text.split_at(text.rfind(':').unwrap_or(text.len())),
    };
    if host.is_empty() {
        return Err("there is no host in it");
    }
    match port.strip_prefix(':') {
        Some("") => Ok((host, None)),
        Some(port) if port.bytes().all(|digit| digit.is_ascii_digit()) => {
            port.parse().map(|port| (host, Some(port))).map_err(|_| "its port is not a port")
        }
        None if port.is_empty() => Ok((host, None)),
        _ => Err("its port is not a port"),
    }
}

fn basic(user_and_password: &str) -> Result<HeaderValue, &'static str> {
    let (user, password) = user_and_password.split_once(':').unwrap_or((user_and_password, ""));
    let credentials = [decoded(user)?, b":".to_vec(), decoded(password)?].concat();
    let credentials = base64::engine::general_purpose::STANDARD.encode(credentials);
    let mut value =
        HeaderValue::try_from(format!("Basic {credentials}")).map_err(|_| "its user cannot be sent")?;
    value.set_sensitive(true);
    Ok(value)
}

/// Replaces `%xx`. Anything else after a `%` is an error.
fn decoded(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        let value = digit().zip(digit()).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        decoded.push(value.ok_or("there is a % in it that no two hexadecimal digits follow")?);
    }
    Ok(decoded)
}

/// Both paths as one, cleaned of empty parts, `.` and `..`, and encoded.
fn joined(prefix: &[u8], path: &[u8]) -> String {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in prefix.split(|&byte| byte == b'/').chain(path.split(|&byte| byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut joined = String::new();
    for part in parts {
        joined.push('/');
        for &byte in part {
            push_encoded(&mut joined, byte);
        }
    }
    joined
}

fn push_encoded(path: &mut String, byte: u8) {
    if byte.is_ascii_alphanumeric() || b"-_.~$&+,:;=@".contains(&byte) {
        path.push(char::from(byte));
    } else {
        path.push('%');
        for digit in [byte >> 4, byte & 15] {
            path.extend(char::from_digit(u32::from(digit), 16).map(|digit| digit.to_ascii_uppercase()));
        }
    }
}

/// Whole seconds the way Go writes a duration: `7s`, `1m0s`, `1h0m0s`.
fn go_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain_text("http://a.test", "the scheme must be https")]
    #[case::no_host("https:///path", "there is no host in it")]
    #[case::opaque("https:a.test", "there is no host in it")]
    #[case::port_out_of_range("https://a.test:99999", "its port is not a port")]
    #[case::open_bracket("https://[::1", "a bracket is not closed")]
    #[case::other_letters("https://ü.test", "its host is not a name or an address")]
    fn an_error_names_the_field(#[case] url: &str, #[case] problem: &str) {
        let config = ClientConfig { url: Some(url.to_owned()), ..ClientConfig::default() };
        let expected = Failure::misconfigured("spec.clientConfig.url", problem);
        assert_eq!(Endpoint::try_from(&config), Err(expected));
    }

    #[test]
    fn neither_url_nor_service_is_an_error() {
        let expected = Failure::misconfigured("spec.clientConfig", "neither url nor service is set");
        assert_eq!(Endpoint::try_from(&ClientConfig::default()), Err(expected));
    }

    #[test]
    fn a_user_in_the_url_is_sent_as_authorization_and_shown_nowhere() {
        let url = Some("https://me:p%40ss@a.test/x".to_owned());
        let endpoint = Endpoint::try_from(&ClientConfig { url, ..ClientConfig::default() }).unwrap();
        assert_eq!(endpoint.authorization().unwrap(), "Basic bWU6cEBzcw==");
        assert_eq!(endpoint.url_host(), "a.test");
        assert!(!format!("{endpoint:?}").contains("bWU6"), "{endpoint:?}");
    }

    #[rstest]
    #[case(0, "0s")]
    #[case(59, "59s")]
    #[case(61, "1m1s")]
    #[case(3600, "1h0m0s")]
    fn durations_are_written_as_in_go(#[case] seconds: u64, #[case] text: &str) {
        assert_eq!(go_duration(Duration::from_secs(seconds)), text);
    }
}
