//! Serving: protocols, certificates and their renewal, limits, shutdown. Clients are hyper on rustls.

// Clippy knows `#[test]` functions as tests, but not their helpers.
#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use hyper::StatusCode;
use kapstan_sdk::{CertificateError, CertificateFiles, Certificates, ConnectionError, Limits, Server};
use rustls::pki_types::CertificateDer;
use support::{Ca, Client, get as ask, router};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(30);

/// Serves on a free port until the token is cancelled.
async fn serve(server: Server) -> (u16, CancellationToken, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = CancellationToken::new();
    let token = shutdown.clone();
    (port, shutdown, tokio::spawn(async move { server.serve(listener, token).await }))
}

fn quick_reload() -> Limits {
    Limits { reload_every: Duration::from_millis(10), ..Limits::default() }
}

#[tokio::test]
async fn http_1_and_http_2_are_served_as_alpn_decides() {
    let ca = Ca::new("ca");
    let server = Server::new(router(), Certificates::from_pem(ca.issue("localhost")).unwrap());
    let (port, ..) = serve(server).await;
    for (alpn, version) in
        [(&["h2", "http/1.1"][..], hyper::Version::HTTP_2), (&["http/1.1"], hyper::Version::HTTP_11)]
    {
        let mut client = Client::dial(port, &ca, alpn, None).await.unwrap();
        let response = client.get("/").await.unwrap();
        assert_eq!((response.status(), response.version()), (StatusCode::OK, version));
    }
    // No ALPN at all, as simple clients have it.
    let mut client = Client::dial(port, &ca, &[], None).await.unwrap();
    assert_eq!(client.get("/").await.unwrap().version(), hyper::Version::HTTP_11);
}

/// As the kubelet writes a Secret volume: files are links into `..data`, which is a link that is swapped.
fn write_secret(volume: &Path, version: &str, pem: &kapstan_sdk::Pem) {
    let directory = volume.join(version);
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("tls.crt"), &pem.certificate).unwrap();
    std::fs::write(directory.join("tls.key"), &pem.key).unwrap();
    symlink(version, volume.join("..tmp")).unwrap();
    std::fs::rename(volume.join("..tmp"), volume.join("..data")).unwrap();
    for file in ["tls.crt", "tls.key"] {
        if !volume.join(file).exists() {
            symlink(Path::new("..data").join(file), volume.join(file)).unwrap();
        }
    }
}

async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, wait).await.expect("condition must come true");
}

async fn shown(port: u16, ca: &Ca) -> CertificateDer<'static> {
    Client::dial(port, ca, &["http/1.1"], None).await.unwrap().certificate.clone()
}

#[tokio::test]
async fn a_renewed_secret_is_shown_to_new_connections_and_open_ones_survive() {
    let volume = tempfile::tempdir().unwrap();
    let ca = Ca::new("ca");
    let (old, new) = (ca.issue("localhost"), ca.issue("localhost"));
    write_secret(volume.path(), "..1", &old);
    let certificates = Certificates::from_files(CertificateFiles::in_directory(volume.path())).unwrap();
    let server = Server::new(router(), certificates.clone()).with_limits(quick_reload());
    let (port, ..) = serve(server).await;

    let mut open = Client::dial(port, &ca, &["http/1.1"], None).await.unwrap();
    assert_eq!(open.certificate, support::leaf(&old));
    assert_eq!(open.get("/").await.unwrap().status(), StatusCode::OK);

    write_secret(volume.path(), "..2", &new);
    until(async || shown(port, &ca).await == support::leaf(&new)).await;
    assert_eq!(open.get("/").await.unwrap().status(), StatusCode::OK);
    assert_eq!(certificates.failed_reloads(), 0);
}

#[tokio::test]
async fn a_bad_pair_keeps_the_old_certificate_and_is_counted_once() {
    let volume = tempfile::tempdir().unwrap();
    let ca = Ca::new("ca");
    let (old, new, other) = (ca.issue("localhost"), ca.issue("localhost"), ca.issue("localhost"));
    write_secret(volume.path(), "..1", &old);
    let certificates = Certificates::from_files(CertificateFiles::in_directory(volume.path())).unwrap();
    let (port, ..) = serve(Server::new(router(), certificates.clone()).with_limits(quick_reload())).await;

    let mismatch = kapstan_sdk::Pem { key: other.key, ..new.clone() };
    let empty = kapstan_sdk::Pem { certificate: Vec::new(), ..new.clone() };
    for (version, pem, failures) in [("..2", &mismatch, 1), ("..3", &empty, 2)] {
        write_secret(volume.path(), version, pem);
        until(async || certificates.failed_reloads() == failures).await;
        assert_eq!(shown(port, &ca).await, support::leaf(&old));
        // Nothing new in it: asked directly, so that no wait is needed to know.
        assert!(!certificates.reload().unwrap());
        assert_eq!(certificates.failed_reloads(), failures);
    }
    std::fs::remove_file(volume.path().join("tls.key")).unwrap();
    until(async || certificates.failed_reloads() == 3).await;
    assert!(!certificates.reload().unwrap());
    write_secret(volume.path(), "..4", &new);
    until(async || shown(port, &ca).await == support::leaf(&new)).await;
    assert_eq!(certificates.failed_reloads(), 3);
}

#[test]
fn certificates_that_cannot_be_served_say_why() {
    let ca = Ca::new("ca");
    let (good, other) = (ca.issue("localhost"), ca.issue("localhost"));
    let pem = |certificate: &[u8], key: &[u8], client_ca: Option<&[u8]>| {
        let (certificate, key, client_ca) =
            (certificate.to_vec(), key.to_vec(), client_ca.map(<[u8]>::to_vec));
        Certificates::from_pem(kapstan_sdk::Pem { certificate, key, client_ca }).unwrap_err()
    };
    let mismatch = pem(&good.certificate, &other.key, None);
    assert!(matches!(mismatch, CertificateError::Pair(rustls::Error::InconsistentKeys(_))), "{mismatch:?}");
    let nothing = pem(b"", &good.key, None);
    assert!(matches!(nothing, CertificateError::NotPem { what: "certificate", source: None }), "{nothing:?}");
    let no_key = pem(&good.certificate, b"hello", None);
    assert!(matches!(no_key, CertificateError::NotPem { what: "private key", .. }), "{no_key:?}");
    let no_ca = pem(&good.certificate, &good.key, Some(b""));
    assert!(matches!(no_ca, CertificateError::NotPem { what: "client CA certificate", .. }), "{no_ca:?}");
    let missing = Certificates::from_files(CertificateFiles::in_directory("/nowhere")).unwrap_err();
    assert_eq!(missing.to_string(), "failed to read /nowhere/tls.crt");
    assert!(!format!("{good:?}").contains("KEY"));
}

#[tokio::test]
async fn with_a_client_ca_only_its_clients_are_served() {
    let (ca, clients) = (Ca::new("ca"), Ca::new("clients"));
    let pem = kapstan_sdk::Pem { client_ca: Some(clients.pem().into_bytes()), ..ca.issue("localhost") };
    let (port, ..) = serve(Server::new(router(), Certificates::from_pem(pem).unwrap())).await;

    let friend = clients.issue_client("manager");
    let mut client = Client::dial(port, &ca, &["h2"], Some(&friend)).await.unwrap();
    assert_eq!(client.get("/").await.unwrap().status(), StatusCode::OK);
    // With TLS 1.3 a client learns of its refusal when it reads.
    for stranger in [None, Some(ca.issue_client("stranger"))] {
        let client = Client::dial(port, &ca, &["http/1.1"], stranger.as_ref()).await;
        let refused = match client {
            Ok(mut client) => client.get("/").await.is_err(),
            Err(_) => true,
        };
        assert!(refused);
    }
}

#[tokio::test]
async fn shutdown_lets_a_call_under_way_finish_and_accepts_no_other() {
    let ca = Ca::new("ca");
    let (began, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (announce, wait) = (began.clone(), go.clone());
    let slow = router().route(
        "/slow",
        get(move || async move {
            announce.notify_one();
            wait.notified().await;
            "done"
        }),
    );
    let (port, shutdown, serving) =
        serve(Server::new(slow, Certificates::from_pem(ca.issue("localhost")).unwrap())).await;
    for alpn in ["http/1.1", "h2"] {
        let _idle = Client::dial(port, &ca, &[alpn], None).await.unwrap();
    }
    let mut client = Client::dial(port, &ca, &["h2"], None).await.unwrap();
    let call = tokio::spawn(async move { ask(&mut client, "/slow").await });
    began.notified().await;

    shutdown.cancel();
    until(async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err()).await;
    assert!(!serving.is_finished());
    go.notify_one();
    assert_eq!(call.await.unwrap(), "done");
    timeout(LONG, serving).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_is_given_up_after_the_drain_time() {
    let ca = Ca::new("ca");
    let began = Arc::new(Notify::new());
    let announce = began.clone();
    let stuck = router().route(
        "/stuck",
        get(move || async move {
            announce.notify_one();
            std::future::pending::<()>().await;
        }),
    );
    let server = Server::new(stuck, Certificates::from_pem(ca.issue("localhost")).unwrap());
    let shutdown = CancellationToken::new();
    let (near, far) = tokio::io::duplex(64 * 1024);
    let token = shutdown.clone();
    let serving = tokio::spawn(async move { server.serve_io(far, token).await });
    let mut client = Client::over(near, &ca, &["http/1.1"], None).await.unwrap();
    let call = tokio::spawn(async move { client.get("/stuck").await.is_err() });
    began.notified().await;
    shutdown.cancel();
    let ended = serving.await.unwrap().unwrap_err();
    assert!(matches!(ended, ConnectionError::Drain(drain) if drain == Duration::from_secs(30)), "{ended:?}");
    assert!(call.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_says_nothing_is_given_up() {
    let ca = Ca::new("ca");
    let server = Server::new(router(), Certificates::from_pem(ca.issue("localhost")).unwrap());
    let began = tokio::time::Instant::now();
    let (_near, far) = tokio::io::duplex(1024);
    let ended = server.serve_io(far, CancellationToken::new()).await.unwrap_err();
    assert!(matches!(ended, ConnectionError::HandshakeTimeout(_)), "{ended:?}");
    assert_eq!(began.elapsed(), Duration::from_secs(10));

    let (near, far) = tokio::io::duplex(64 * 1024);
    let serving = tokio::spawn(async move { server.serve_io(far, CancellationToken::new()).await });
    let mut stream = support::tls(near, &ca, &["http/1.1"], None).await.unwrap();
    let shaken = tokio::time::Instant::now();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET / HTTP/1.1\r\n").await.unwrap();
    assert!(matches!(serving.await.unwrap(), Err(ConnectionError::Http(_))));
    assert_eq!(shaken.elapsed().as_secs(), 120);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let ca = Ca::new("ca");
    let limits = Limits { head_bytes: 8 * 1024, ..Limits::default() };
    let server =
        Server::new(router(), Certificates::from_pem(ca.issue("localhost")).unwrap()).with_limits(limits);
    let (port, ..) = serve(server).await;
    let path = format!("/?{}", "a".repeat(20_000));
    for alpn in ["http/1.1", "h2"] {
        let mut client = Client::dial(port, &ca, &[alpn], None).await.unwrap();
        let status = client.get(&path).await.map(|response| response.status());
        assert!(
            matches!(status, Ok(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG)),
            "{alpn}: {status:?}"
        );
    }
}

#[tokio::test]
async fn connections_above_the_limit_wait_for_one_to_end() {
    let ca = Ca::new("ca");
    let limits = Limits { connections: 1, ..Limits::default() };
    let server =
        Server::new(router(), Certificates::from_pem(ca.issue("localhost")).unwrap()).with_limits(limits);
    let (port, ..) = serve(server).await;
    let mut first = Client::dial(port, &ca, &["http/1.1"], None).await.unwrap();
    let mut second = Box::pin(Client::dial(port, &ca, &["http/1.1"], None));
    tokio::select! {
        _ = &mut second => panic!("served beside the first"),
        response = first.get("/") => assert_eq!(response.unwrap().status(), StatusCode::OK),
    }
    drop(first);
    let mut second = timeout(LONG, second).await.unwrap().unwrap();
    assert_eq!(second.get("/").await.unwrap().status(), StatusCode::OK);
}
