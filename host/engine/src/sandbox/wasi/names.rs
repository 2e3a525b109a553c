//! Looking up names: denied, and said to be so. wasmtime-wasi would answer that the resolver has failed for good, which is
//! what a name gets that there is not.

use wasmtime::Result;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{Host, HostResolveAddressStream, ResolveAddressStream};
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, IpAddress, Network};
use wasmtime_wasi::p2::{DynPollable, SocketError, SocketResult};

use crate::sandbox::guest::Guest;

/// How an error is told; the network itself is wasmtime-wasi's.
impl network::Host for Guest {
    fn convert_error_code(&mut self, error: SocketError) -> Result<ErrorCode> {
        error.downcast()
    }

    fn network_error_code(&mut self, _: Resource<wasmtime::Error>) -> Result<Option<ErrorCode>> {
        Ok(None)
    }
}

impl network::HostNetwork for Guest {
    fn drop(&mut self, network: Resource<Network>) -> Result<()> {
        self.table.delete(network)?;
        Ok(())
    }
}

impl Host for Guest {
    fn resolve_addresses(&mut self, _: Resource<Network>, _: String) -> SocketResult<Resource<ResolveAddressStream>> {
        Err(ErrorCode::AccessDenied.into())
    }
}

/// There is none.
impl HostResolveAddressStream for Guest {
    fn resolve_next_address(&mut self, _: Resource<ResolveAddressStream>) -> SocketResult<Option<IpAddress>> {
        Err(SocketError::from(ErrorCode::AccessDenied))
    }

    fn subscribe(&mut self, stream: Resource<ResolveAddressStream>) -> Result<Resource<DynPollable>> {
        wasmtime_wasi::p2::subscribe(&mut self.table, stream)
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> Result<()> {
        self.table.delete(stream)?;
        Ok(())
    }
}
