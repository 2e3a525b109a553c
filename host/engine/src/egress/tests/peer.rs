//! Servers to talk to.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::egress::HttpConfig;

pub type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What a server was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// As it was written: a path, or a URL.
    pub uri: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: Option<HeaderMap>,
}

/// A server, and what it was asked so far. It ends with its runtime.
pub struct Peer {
    pub port: u16,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    pub connections: Arc<Mutex<usize>>,
}

impl Peer {
    pub fn last(&self) -> Asked {
        self.asked.lock().unwrap().last().expect("it was asked").clone()
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

pub fn answer(body: impl Into<Bytes>) -> Answer {
    Response::new(Full::new(body.into()).boxed())
}

/// A server that does with each connection what it is told.
pub async fn raw<F: Future<Output = ()> + Send + 'static>(
    at: &str,
    talk: impl Fn(TcpStream) -> F + Send + 'static,
) -> Peer {
    let listener = TcpListener::bind(at.parse::<SocketAddr>().unwrap()).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = Peer { port, asked: Arc::default(), connections: Arc::default() };
    let connections = peer.connections.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            *connections.lock().unwrap() += 1;
            tokio::spawn(talk(stream));
        }
    });
    peer
}

/// A server of HTTP, encrypted if there is a certificate.
pub async fn serve(tls: Option<ServerConfig>, reply: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Peer {
    let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
    let (heard, reply) = (asked.clone(), Arc::new(reply));
    let peer = raw("127.0.0.1:0", move |stream| {
        let (acceptor, heard, reply) = (acceptor.clone(), heard.clone(), reply.clone());
        async move {
            match acceptor {
                None => talk(stream, false, heard, reply).await,
                Some(acceptor) => {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    talk(stream, h2, heard, reply).await;
                }
            }
        }
    })
    .await;
    Peer { asked, ..peer }
}

async fn talk<F: Fn(&Asked) -> Answer + Send + Sync + 'static>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    h2: bool,
    heard: Arc<Mutex<Vec<Asked>>>,
    reply: Arc<F>,
) {
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (heard, reply) = (heard.clone(), reply.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?;
            let asked = Asked {
                method: head.method.to_string(),
                uri: head.uri.to_string(),
                headers: head.headers,
                trailers: body.trailers().cloned(),
                body: body.to_bytes(),
            };
            let answer = reply(&asked);
            heard.lock().unwrap().push(asked);
            Ok::<_, hyper::Error>(answer)
        }
    });
    let stream = TokioIo::new(stream);
    let _ = match h2 {
        true => hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await,
        false => hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await,
    };
}

/// An authority, whose certificate lies in a file.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    dir: tempfile::TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), dir }
    }

    /// A configuration that trusts it.
    pub fn trusted(&self) -> HttpConfig {
        HttpConfig { ca: Some(self.dir.path().join("ca.pem")), ..HttpConfig::default() }
    }

    /// A server's certificate for that name or address, that was valid until then.
    pub fn server(&self, name: &str, protocols: &[&str], until: i32) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config
    }
}
