//! Headers and trailers as a guest holds them: what a guest cannot spell cannot be sent.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use wasmtime::component::Resource;

use super::types::{HeaderError, HostFields};
use crate::egress;
use crate::sandbox::guest::Guest;

/// What a field takes beside its name and value, as HTTP/2 counts it
/// <https://www.rfc-editor.org/rfc/rfc9113.html#section-6.5.2>.
const FIELD_BYTES: usize = 32;

/// A guest's headers or trailers.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    map: HeaderMap,
    bytes: usize,
    immutable: bool,
}

impl Fields {
    /// What nobody may change any more.
    pub fn immutable(map: HeaderMap) -> Self {
        let bytes = map.iter().map(|(name, value)| size(name, value)).sum();
        Self { map, bytes, immutable: true }
    }

    /// The fields, as they are sent.
    pub fn into_map(self) -> HeaderMap {
        self.map
    }

    fn append(&mut self, name: HeaderName, value: HeaderValue, limit: usize) -> wasmtime::Result<()> {
        self.bytes += size(&name, &value);
        let fits = self.bytes <= limit;
        if !fits || self.map.try_append(name, value).is_err() {
            let message =
                format!("its headers have {} bytes; they may have {limit} (limit `http_headers`)", self.bytes);
            return Err(wasmtime::Error::msg(message));
        }
        Ok(())
    }

    fn remove(&mut self, name: &HeaderName) {
        let gone: usize = self.map.get_all(name).iter().map(|value| size(name, value)).sum();
        self.bytes -= gone;
        self.map.remove(name);
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
        Ok(self.table.push(Fields::default())?)
    }

    fn from_list(
        &mut self,
        entries: Vec<(String, Vec<u8>)>,
    ) -> wasmtime::Result<Result<Resource<Fields>, HeaderError>> {
        let limit = self.run.limits.http_headers as usize;
        let mut fields = Fields::default();
        for (name, bytes) in entries {
            match settable(&name).and_then(|name| Ok((name, value(&bytes)?))) {
                Ok((name, value)) => fields.append(name, value, limit)?,
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
        let limit = self.run.limits.http_headers as usize;
        let fields = self.table.get_mut(&this)?;
        if fields.immutable {
            return Ok(Err(HeaderError::Immutable));
        }
        let values: Result<Vec<_>, _> = values.iter().map(|bytes| value(bytes)).collect();
        match settable(&name).and_then(|name| Ok((name, values?))) {
            Ok((name, values)) => {
                fields.remove(&name);
                for value in values {
                    fields.append(name.clone(), value, limit)?;
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
        Ok(settable(&name).map(|name| fields.remove(&name)))
    }

    fn append(
        &mut self,
        this: Resource<Fields>,
        name: String,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<(), HeaderError>> {
        let limit = self.run.limits.http_headers as usize;
        let fields = self.table.get_mut(&this)?;
        if fields.immutable {
            return Ok(Err(HeaderError::Immutable));
        }
        match settable(&name).and_then(|name| Ok((name, value(&bytes)?))) {
            Ok((name, value)) => fields.append(name, value, limit).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn entries(&mut self, this: Resource<Fields>) -> wasmtime::Result<Vec<(String, Vec<u8>)>> {
        let fields = self.table.get(&this)?;
        Ok(fields.map.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect())
    }

    fn clone(&mut self, this: Resource<Fields>) -> wasmtime::Result<Resource<Fields>> {
        let fields = Fields { immutable: false, ..Clone::clone(self.table.get(&this)?) };
        Ok(self.table.push(fields)?)
    }

    fn drop(&mut self, this: Resource<Fields>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let add = |fields: &mut Fields, limit| {
            fields.append(HeaderName::from_static("a"), HeaderValue::from_static("b"), limit)
        };
        let mut fields = Fields::default();
        add(&mut fields, 34).unwrap();
        let error = add(&mut fields, 67).unwrap_err().to_string();
        assert!(error.contains("68 bytes; they may have 67 (limit `http_headers`)"), "{error}");
        fields.remove(&HeaderName::from_static("a"));
        assert_eq!(fields.map.len(), 0);
        add(&mut Fields::immutable(HeaderMap::new()), 34).unwrap();
    }
}
