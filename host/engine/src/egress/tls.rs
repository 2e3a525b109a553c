//! Whom we believe that they are who they say.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;

/// TLS as this host speaks it: the system's certificates, and the operator's beside them.
pub(super) struct Tls {
    extra: Vec<CertificateDer<'static>>,
    /// Made when it is first needed: to read the system's certificates takes a while, and a machine that has none can do
    /// without as long as nobody asks. What could not be read once is read again when it is needed again.
    configs: OnceCell<Configs>,
}

struct Configs {
    origin: Arc<ClientConfig>,
    proxy: Arc<ClientConfig>,
}

impl Tls {
    /// Reads the operator's certificates, if there is such a file.
    pub fn new(ca: Option<&Path>) -> Result<Self, String> {
        let extra = match ca {
            None => Vec::new(),
            Some(path) => read(path).map_err(|what| format!("the certificates in `{}`: {what}", path.display()))?,
        };
        Ok(Self { extra, configs: OnceCell::new() })
    }

    /// For servers that requests go to: HTTP/2 where they have it.
    pub async fn origin(&self) -> Result<Arc<ClientConfig>, String> {
        self.configs().await.map(|configs| configs.origin.clone())
    }

    /// For a proxy: HTTP/1.1.
    pub async fn proxy(&self) -> Result<Arc<ClientConfig>, String> {
        self.configs().await.map(|configs| configs.proxy.clone())
    }

    async fn configs(&self) -> Result<&Configs, String> {
        let make = || async {
            let extra = self.extra.clone();
            tokio::task::spawn_blocking(move || Configs::new(extra)).await.map_err(|error| error.to_string())?
        };
        self.configs.get_or_try_init(make).await
    }
}

impl Configs {
    /// Reads the system's certificates: not for an async thread.
    fn new(extra: Vec<CertificateDer<'static>>) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new_with_extra_roots(extra, provider.clone()).map_err(|error| {
            format!("there is nobody to trust: {error}; install the system's CA certificates, or name a file by `ca`")
        })?;
        let verifier = Arc::new(verifier);
        let origin = config(provider.clone(), verifier.clone(), &[b"h2", b"http/1.1"])?;
        let proxy = config(provider, verifier, &[b"http/1.1"])?;
        Ok(Self { origin, proxy })
    }
}

fn config(
    provider: Arc<CryptoProvider>,
    verifier: Arc<Verifier>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, String> {
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&pem).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    match found.is_empty() {
        true => Err("there are none; it is to be a PEM file".into()),
        false => Ok(found),
    }
}
