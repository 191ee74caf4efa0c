//! URLs as Go's `url.ParseRequestURI` reads them.

/// The parts of a URL that rules may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// Host and port as written, unescaped.
    pub(crate) host: String,
    pub(crate) escaped_path: String,
    pub(crate) raw_query: String,
}

impl Url {
    /// Reads an absolute URL or an absolute path. The error is Go's, without the URL in front.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        let mut url = Self {
            scheme: String::new(),
            host: String::new(),
            escaped_path: String::new(),
            raw_query: String::new(),
        };
        if text == "*" {
            "*".clone_into(&mut url.escaped_path);
            return Ok(url);
        }
        let (scheme, rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        query.clone_into(&mut url.raw_query);
        if !rest.starts_with('/') {
            // Opaque, such as mailto:a@b.
            return if url.scheme.is_empty() { Err("invalid URI for request".to_owned()) } else { Ok(url) };
        }
        let mut path = rest;
        if let Some(authority) = rest.strip_prefix("//").filter(|_| !url.scheme.is_empty()) {
            let end = authority.find('/').unwrap_or(authority.len());
            url.host = host_of(&authority[..end])?;
            path = &authority[end..];
        }
        check_escapes(path)?;
        url.escaped_path = escape_path(path);
        Ok(url)
    }

    /// The host without port and brackets.
    pub(crate) fn hostname(&self) -> &str {
        let (host, _) = self.split_port();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port as written; empty when there is none.
    pub(crate) fn port(&self) -> &str {
        self.split_port().1
    }

    fn split_port(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (&self.host, ""),
        }
    }

    /// The query, by name, in the order of the first value of each.
    pub(crate) fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut out: Vec<(String, Vec<String>)> = Vec::new();
        for pair in self.raw_query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (unescape_query(name), unescape_query(value)) else { continue };
            match out.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => out.push((name, vec![value])),
            }
        }
        out
    }
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn host_of(authority: &str) -> Result<String, String> {
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let valid = user
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte));
            if !valid {
                return Err("net/url: invalid userinfo".to_owned());
            }
            check_escapes(user)?;
            host
        }
        None => authority,
    };
    if host.starts_with('[') {
        let Some(end) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
        check_port(&host[end + 1..])?;
        let zone = host[..end].find("%25").unwrap_or(end);
        check_host(&host[..zone])?;
        return Ok(host.replace("%25", "%"));
    }
    if let Some(colon) = host.rfind(':') {
        check_port(&host[colon..])?;
    }
    check_host(host)?;
    unescape(host, false).ok_or_else(|| "invalid URL escape".to_owned())
}

fn check_port(text: &str) -> Result<(), String> {
    let valid = text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    if valid { Ok(()) } else { Err(format!("invalid port {} after host", super::quote(text))) }
}

fn check_host(host: &str) -> Result<(), String> {
    let bytes = host.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'%' {
            let escaped = host.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
            // Only bytes outside ASCII may be escaped in a host.
            if escaped.is_none_or(|byte| byte < 0x80) {
                return Err(format!(
                    "invalid URL escape {}",
                    super::quote(host.get(at..at + 3).unwrap_or("%"))
                ));
            }
            at += 3;
            continue;
        }
        if byte < 0x80 && !(byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)) {
            return Err(format!(
                "invalid character {} in host name",
                super::quote(&char::from(byte).to_string())
            ));
        }
        at += 1;
    }
    Ok(())
}

fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let shown = text.get(at..at + 3).unwrap_or(&text[at..]);
            return Err(format!("invalid URL escape {}", super::quote(shown)));
        }
    }
    Ok(())
}

/// What Go's `EscapedPath` gives: the path as written where its escapes are valid, else escaped anew.
fn escape_path(path: &str) -> String {
    let as_written = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*[]%".contains(&byte);
    if path.bytes().all(as_written) {
        return path.to_owned();
    }
    let plain = unescape(path, false).unwrap_or_else(|| path.to_owned());
    let mut out = String::new();
    for byte in plain.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            use std::fmt::Write as _;
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn unescape_query(text: &str) -> Option<String> {
    check_escapes(text).ok()?;
    unescape(text, true)
}

fn unescape(text: &str, plus_is_space: bool) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                out.push(u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok()?);
                at += 2;
            }
            b'+' if plus_is_space => out.push(b' '),
            byte => out.push(byte),
        }
        at += 1;
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_uris_are_told_from_other_text() {
        let valid = [
            "http://foo.bar/#com",
            "https://foobar.com",
            "http://foobar.中文网/",
            "ftp://foobar.ru/",
            "http://user:pass@www.foobar.com/",
            "http://duckduckgo.com/?q=%2F",
            "http://localhost:3000/",
            "xyz://foobar.com",
            "mailto:someone@example.com",
            "/abs/test/dir",
            "http://[::1]:80/",
            "*",
        ];
        for text in valid {
            assert!(Url::parse(text).is_ok(), "{text}");
        }
        let invalid = [
            "",
            "foobar.com",
            "invalid.",
            ".com",
            "./rel/test/dir",
            "http://a b/",
            "http://[::1/",
            "http://a:b/",
            "/%zz",
            "http://a\n/",
            ":foo",
            "http://foobar.com#baz",
        ];
        for text in invalid {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_are_as_in_go() {
        let url = Url::parse("https://user:pass@example.com:80/path%20x?k1=a&k2=b&k2=c+d").unwrap();
        assert_eq!((url.scheme.as_str(), url.host.as_str()), ("https", "example.com:80"));
        assert_eq!(
            (url.hostname(), url.port(), url.escaped_path.as_str()),
            ("example.com", "80", "/path%20x")
        );
        assert_eq!(url.query()[1], ("k2".to_owned(), vec!["b".to_owned(), "c d".to_owned()]));
        assert_eq!(Url::parse("https://[::1]:80/").unwrap().hostname(), "::1");
        assert_eq!(Url::parse("https://example.com/a b").unwrap().escaped_path, "/a%20b");
    }
}
