//! A connection to exactly the address that was judged.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::target::Peer;
use super::{Code, Failure};

/// Anything that can be talked over.
pub(super) trait Talk: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Talk for T {}

/// Addresses of one name that are tried: a name with hundreds is no reason to knock at hundreds of doors.
pub(super) const TRIED: usize = 8;
/// Head start of one address over the next ([RFC 8305](https://www.rfc-editor.org/rfc/rfc8305#section-5)).
const HEAD_START: Duration = Duration::from_millis(250);

/// The first of these addresses that answers. The next is tried when one has failed, or is slow.
pub(super) async fn tcp(peer: &Peer, addresses: &[IpAddr], port: u16) -> Result<TcpStream, Failure> {
    let mut left = addresses.iter().take(TRIED);
    let mut attempts = FuturesUnordered::new();
    let mut last = None;
    loop {
        let more = match left.next() {
            Some(&address) => {
                attempts.push(TcpStream::connect(SocketAddr::new(address, port)));
                true
            }
            None => false,
        };
        let outcome = match more && left.len() > 0 {
            true => tokio::time::timeout(HEAD_START, attempts.next()).await.ok().flatten(),
            false => attempts.next().await,
        };
        match outcome {
            Some(Ok(stream)) => {
                // A request is written whole, so there is nothing to wait for.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Some(Err(error)) => last = Some(error),
            None => {}
        }
        if attempts.is_empty() && left.len() == 0 {
            return Err(unreached(peer, last));
        }
    }
}

fn unreached(peer: &Peer, error: Option<io::Error>) -> Failure {
    let Some(error) = error else {
        return Failure::unsent(Code::DestinationUnavailable, format!("{peer} has no address to connect to"));
    };
    let code = match error.kind() {
        io::ErrorKind::ConnectionRefused => Code::ConnectionRefused,
        io::ErrorKind::TimedOut => Code::ConnectionTimeout,
        _ => Code::DestinationUnavailable,
    };
    Failure::unsent(code, format!("no connection to {peer}: {error}"))
}

/// Encrypts a connection, once the peer has shown who it is. Also says whether it wants HTTP/2.
pub(super) async fn tls(
    peer: &Peer,
    config: Arc<ClientConfig>,
    stream: impl Talk + 'static,
) -> Result<(Box<dyn Talk>, bool), Failure> {
    let name = match peer {
        Peer::Name(name) => ServerName::try_from(name.clone()).map_err(|_| {
            Failure::unsent(Code::RequestUriInvalid, format!("no certificate can be for the name {name}"))
        })?,
        Peer::Address(address) => ServerName::from(*address),
    };
    let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|error| untrusted(peer, &error))?;
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok((Box::new(stream), h2))
}

fn untrusted(peer: &Peer, error: &io::Error) -> Failure {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let code = match inner {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Code::TlsCertificateError
        }
        Some(rustls::Error::AlertReceived(_)) => Code::TlsAlertReceived,
        Some(_) => Code::TlsProtocolError,
        None => Code::ConnectionTerminated,
    };
    Failure::unsent(code, format!("no encrypted connection to {peer}: {error}"))
}
