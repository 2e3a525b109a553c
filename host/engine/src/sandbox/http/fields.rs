//! Headers and trailers as a guest holds them: what a guest cannot spell cannot be sent.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use wasmtime::component::Resource;

use super::types::{HeaderError, HostFields};
use super::{held, no_room};
use crate::egress;
use crate::limits::{Limit, Limits};
use crate::sandbox::guest::Guest;
use crate::sandbox::meter::Held;
use crate::sandbox::run::Run;

/// What a field takes beside its name and value, as HTTP/2 counts it
/// <https://www.rfc-editor.org/rfc/rfc9113.html#section-6.5.2>.
const FIELD_BYTES: usize = 32;

/// What it takes in memory beside that, for a place in the map and two small allocations.
const FIELD_ROOM: usize = 224;

/// A guest's headers or trailers.
#[derive(Debug)]
pub struct Fields {
    map: HeaderMap,
    bytes: usize,
    immutable: bool,
    held: Held,
}

impl Fields {
    fn new(held: Held) -> Self {
        Self { map: HeaderMap::new(), bytes: 0, immutable: false, held }
    }

    /// A copy of these.
    fn copy(map: &HeaderMap, run: &Run) -> wasmtime::Result<Self> {
        let bytes = map.iter().map(|(name, value)| size(name, value)).sum();
        let mut fields = Self { map: map.clone(), bytes, immutable: false, held: held(run) };
        fields.hold(&run.limits)?;
        Ok(fields)
    }

    /// A copy that nobody may change.
    pub fn immutable(map: &HeaderMap, run: &Run) -> wasmtime::Result<Self> {
        Ok(Self { immutable: true, ..Self::copy(map, run)? })
    }

    /// The fields, as they are sent, and the room that they take.
    pub fn into_parts(self) -> (HeaderMap, Held) {
        (self.map, self.held)
    }

    fn append(&mut self, name: HeaderName, value: HeaderValue, limits: &Limits) -> wasmtime::Result<()> {
        self.bytes += size(&name, &value);
        let fits = self.bytes as u64 <= limits.http_headers;
        if !fits || self.map.try_append(name, value).is_err() {
            let said = limits.said(Limit::http_headers);
            return Err(wasmtime::Error::msg(format!("its headers have {} bytes ({said})", self.bytes)));
        }
        self.hold(limits)
    }

    fn remove(&mut self, name: &HeaderName, limits: &Limits) -> wasmtime::Result<()> {
        let gone: usize = self.map.get_all(name).iter().map(|value| size(name, value)).sum();
        self.bytes -= gone;
        self.map.remove(name);
        self.hold(limits)
    }

    fn hold(&mut self, limits: &Limits) -> wasmtime::Result<()> {
        let fits = self.held.set((self.bytes + self.map.len() * FIELD_ROOM) as u64);
        if fits { Ok(()) } else { Err(wasmtime::Error::msg(no_room(limits))) }
    }
}

fn size(name: &HeaderName, value: &HeaderValue) -> usize {
    name.as_str().len() + value.len() + FIELD_BYTES
}

/// A name that a guest may set.
fn settable(name: &str) -> Result<HeaderName, HeaderError> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeaderError::InvalidSyntax)?;
    if egress::is_forbidden(&name) { Err(HeaderError::Forbidden) } else { Ok(name) }
}

/// A value without what would end its line.
fn value(bytes: &[u8]) -> Result<HeaderValue, HeaderError> {
    HeaderValue::from_bytes(bytes).map_err(|_| HeaderError::InvalidSyntax)
}

impl HostFields for Guest {
    fn new(&mut self) -> wasmtime::Result<Resource<Fields>> {
        let fields = Fields::new(held(&self.run));
        Ok(self.table.push(fields)?)
    }

    fn from_list(
        &mut self,
        entries: Vec<(String, Vec<u8>)>,
    ) -> wasmtime::Result<Result<Resource<Fields>, HeaderError>> {
        let mut fields = Fields::new(held(&self.run));
        for (name, bytes) in entries {
            match settable(&name).and_then(|name| Ok((name, value(&bytes)?))) {
                Ok((name, value)) => fields.append(name, value, &self.run.limits)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(self.table.push(fields)?))
    }

    fn get(&mut self, this: Resource<Fields>, name: String) -> wasmtime::Result<Vec<Vec<u8>>> {
        let fields = self.table.get(&this)?;
        Ok(fields.map.get_all(name.as_str()).iter().map(|value| value.as_bytes().to_vec()).collect())
    }

    fn has(&mut self, this: Resource<Fields>, name: String) -> wasmtime::Result<bool> {
        Ok(self.table.get(&this)?.map.contains_key(name.as_str()))
    }

    fn set(
        &mut self,
        this: Resource<Fields>,
        name: String,
        values: Vec<Vec<u8>>,
    ) -> wasmtime::Result<Result<(), HeaderError>> {
        let limits = &self.run.limits;
        let fields = self.table.get_mut(&this)?;
        if fields.immutable {
            return Ok(Err(HeaderError::Immutable));
        }
        let values: Result<Vec<_>, _> = values.iter().map(|bytes| value(bytes)).collect();
        match settable(&name).and_then(|name| Ok((name, values?))) {
            Ok((name, values)) => {
                fields.remove(&name, limits)?;
                for value in values {
                    fields.append(name.clone(), value, limits)?;
                }
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    fn delete(&mut self, this: Resource<Fields>, name: String) -> wasmtime::Result<Result<(), HeaderError>> {
        let fields = self.table.get_mut(&this)?;
        if fields.immutable {
            return Ok(Err(HeaderError::Immutable));
        }
        match settable(&name) {
            Ok(name) => fields.remove(&name, &self.run.limits).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn append(
        &mut self,
        this: Resource<Fields>,
        name: String,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<(), HeaderError>> {
        let fields = self.table.get_mut(&this)?;
        if fields.immutable {
            return Ok(Err(HeaderError::Immutable));
        }
        match settable(&name).and_then(|name| Ok((name, value(&bytes)?))) {
            Ok((name, value)) => fields.append(name, value, &self.run.limits).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn entries(&mut self, this: Resource<Fields>) -> wasmtime::Result<Vec<(String, Vec<u8>)>> {
        let fields = self.table.get(&this)?;
        Ok(fields.map.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect())
    }

    fn clone(&mut self, this: Resource<Fields>) -> wasmtime::Result<Resource<Fields>> {
        let fields = Fields::copy(&self.table.get(&this)?.map, &self.run)?;
        Ok(self.table.push(fields)?)
    }

    fn drop(&mut self, this: Resource<Fields>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sandbox::meter::MemoryUse;

    #[test]
    fn what_would_end_a_line_is_no_header() {
        for name in ["", "a b", "a:", "a\r\nb", "ü"] {
            assert!(matches!(settable(name), Err(HeaderError::InvalidSyntax)), "{name:?}");
        }
        for bytes in [b"a\r\nset-cookie: b".as_slice(), b"a\nb", b"a\0b", b"\x7f"] {
            assert!(matches!(value(bytes), Err(HeaderError::InvalidSyntax)), "{bytes:?}");
        }
        assert_eq!(settable("X-Trace").unwrap(), "x-trace");
        assert_eq!(value(b"caf\xc3\xa9").unwrap().as_bytes(), b"caf\xc3\xa9");
    }

    #[test]
    fn what_is_the_hosts_to_say_is_forbidden_in_any_case() {
        for name in ["Host", "connection", "Transfer-Encoding", "UPGRADE", "proxy-authorization"] {
            assert!(matches!(settable(name), Err(HeaderError::Forbidden)), "{name}");
        }
    }

    #[test]
    fn promise_6_headers_are_counted_and_the_limit_named() {
        let add = |fields: &mut Fields, http_headers| {
            let limits = Limits { http_headers, ..Limits::default() };
            fields.append(HeaderName::from_static("a"), HeaderValue::from_static("b"), &limits)
        };
        let mut fields = Fields::new(Held::new(Arc::default(), 1_000));
        add(&mut fields, 34).unwrap();
        fields.remove(&HeaderName::from_static("a"), &Limits::default()).unwrap();
        assert_eq!((fields.map.len(), fields.bytes, fields.held.bytes()), (0, 0, 0));
        add(&mut fields, 34).unwrap();
        let error = add(&mut fields, 67).unwrap_err().to_string();
        assert!(error.contains("68 bytes (limit `http_headers` = 67; `--limit http_headers=…` raises it"), "{error}");
    }

    #[test]
    fn promise_6_headers_count_as_memory_until_they_are_dropped() {
        let memory = Arc::new(MemoryUse::default());
        let mut one = Fields::new(Held::new(memory.clone(), 258));
        let append = |fields: &mut Fields| {
            fields.append(HeaderName::from_static("a"), HeaderValue::from_static("b"), &Limits::default())
        };
        append(&mut one).unwrap();
        let error = append(&mut Fields::new(Held::new(memory.clone(), 258 + 257))).unwrap_err().to_string();
        assert!(error.contains("more memory than it may (limit `memory` = "), "{error}");
        assert_eq!(memory.now(), 258);
        drop(one);
        assert_eq!(memory.now(), 0);
    }
}
