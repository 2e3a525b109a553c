//! Whom we believe.

use std::process::Command;

use super::peer::{Authority, answer, serve};
use super::{egress_by, get, send};
use crate::egress::tls::Tls;
use crate::egress::{Code, Egress, HttpConfig};

fn trusting(authority: &Authority, names: &[(&str, &[&str])]) -> Egress {
    egress_by(&authority.trusted(), names)
}

#[tokio::test]
async fn a_server_is_believed_by_a_certificate_of_the_operators() {
    let authority = Authority::new();
    let peer = serve(Some(authority.server("api.internal", &[], 2090)), |_| answer("secure")).await;
    let egress = trusting(&authority, &[("api.internal", &["127.0.0.1"])]);
    let rule = format!("api.internal:{} private", peer.port);
    let url = format!("https://api.internal:{}/", peer.port);
    assert_eq!(send(&egress, &rule, get(&url)).await.unwrap().body, "secure");
    let by_address = serve(Some(authority.server("127.0.0.1", &[], 2090)), |_| answer("secure")).await;
    let url = format!("https://127.0.0.1:{}/", by_address.port);
    assert_eq!(send(&egress, &format!("127.0.0.1:{}", by_address.port), get(&url)).await.unwrap().body, "secure");
}

#[tokio::test]
async fn a_server_that_is_not_who_it_says_is_told_nothing() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    for (tls, what) in [
        (theirs.server("api.internal", &[], 2090), "another authority's"),
        (ours.server("other.internal", &[], 2090), "another name's"),
        (ours.server("api.internal", &[], 2001), "expired"),
    ] {
        let peer = serve(Some(tls), |_| answer("secure")).await;
        let egress = trusting(&ours, &[("api.internal", &["127.0.0.1"])]);
        let url = format!("https://api.internal:{}/", peer.port);
        let failure = send(&egress, &format!("api.internal:{} private", peer.port), get(&url)).await.unwrap_err();
        assert_eq!((failure.code, failure.in_doubt), (Code::TlsCertificateError, false), "{what}");
        assert!(peer.asked.lock().unwrap().is_empty(), "{what}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_encrypt_is_told_nothing() {
    let authority = Authority::new();
    let peer = serve(None, |_| answer("open")).await;
    let egress = trusting(&authority, &[("localhost", &["127.0.0.1"])]);
    let url = format!("https://localhost:{}/", peer.port);
    let failure = send(&egress, &format!("localhost:{}", peer.port), get(&url)).await.unwrap_err();
    assert_eq!((failure.code, failure.in_doubt), (Code::TlsProtocolError, false));
    assert!(peer.asked.lock().unwrap().is_empty());
}

#[test]
fn certificates_that_cannot_be_read_are_said_so_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("none.pem"), "nothing").unwrap();
    for (file, why) in [("missing.pem", "No such file"), ("none.pem", "there are none; it is to be a PEM file")] {
        let config = HttpConfig { ca: Some(dir.path().join(file)), ..HttpConfig::default() };
        let error = Egress::new(&config).err().unwrap();
        assert!(error.contains(file) && error.contains(why), "{error}");
    }
    assert!(Egress::new(&HttpConfig::default()).is_ok());
}

/// Where the system's certificates are is said by the environment, which a test may not change: so in a process of its own.
#[tokio::test]
async fn the_systems_certificates_are_read_again_when_they_could_not_be_read() {
    const PLACE: &str = "SSL_CERT_FILE";
    const THIS: &str = "egress::tests::tls::the_systems_certificates_are_read_again_when_they_could_not_be_read";
    const MARK: &str = "LONGHAUL_TEST_CERTIFICATES";
    if std::env::var_os(MARK).is_none() {
        let dir = tempfile::tempdir().unwrap();
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", THIS])
            .envs([(MARK, "1".as_ref()), (PLACE, dir.path().join("all.pem").as_os_str())])
            .env("SSL_CERT_DIR", dir.path().join("none"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let tls = Tls::new(None).unwrap();
    let error = tls.origin().await.unwrap_err();
    assert!(error.starts_with("there is nobody to trust"), "{error}");
    let authority = Authority::new();
    std::fs::copy(authority.trusted().ca.unwrap(), std::env::var_os(PLACE).unwrap()).unwrap();
    tls.origin().await.unwrap();
    tls.proxy().await.unwrap();
}
