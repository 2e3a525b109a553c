//! Reading what the policy says of a secret's use.

use http::HeaderName;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Part, SecretPlace, SecretUse};
use crate::egress::{HttpRule, is_forbidden};
use crate::json::cut;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    #[serde(default)]
    secret: Option<String>,
    to: Vec<HttpRule>,
    #[serde(rename = "as")]
    place: SecretPlace,
}

impl TryFrom<Table> for SecretUse {
    type Error = String;

    fn try_from(Table { secret, to, place }: Table) -> Result<Self, String> {
        if to.is_empty() {
            return Err("`to` names no host, so the secret would go nowhere".into());
        }
        match to.iter().find(|rule| !rule.keeps_secrets()) {
            Some(rule) => Err(format!(
                "a secret may not go to `{rule}`: unencrypted it goes only to `localhost`, private addresses and names \
                 that are marked `private`"
            )),
            None => Ok(Self { secret, to, place }),
        }
    }
}

/// The members of `as = { … }`: one of them, and `prefix` beside `header`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    header: Option<String>,
    prefix: Option<String>,
    basic: Option<String>,
    query: Option<String>,
    placeholder: Option<String>,
}

impl TryFrom<Place> for SecretPlace {
    type Error = String;

    fn try_from(place: Place) -> Result<Self, String> {
        match place {
            Place { header: Some(name), prefix, basic: None, query: None, placeholder: None } => {
                header(&name, prefix.unwrap_or_default())
            }
            Place { basic: Some(user), header: None, prefix: None, query: None, placeholder: None } => {
                match user.contains(':') || user.contains(char::is_control) {
                    true => Err(format!("\"{}\" is no user's name: it may hold no `:`", cut(&user))),
                    false => Ok(Self::Basic { user }),
                }
            }
            Place { query: Some(parameter), header: None, prefix: None, basic: None, placeholder: None } => {
                match parameter.is_empty() {
                    true => Err("the parameter of the query has no name".into()),
                    false => Ok(Self::Query { parameter }),
                }
            }
            Place { placeholder: Some(part), header: None, prefix: None, basic: None, query: None } => {
                let also = match part.as_str() {
                    "headers" => None,
                    "url" => Some(Part::Url),
                    "body" => Some(Part::Body),
                    _ => return Err(format!("\"{}\" is none of \"headers\", \"url\" and \"body\"", cut(&part))),
                };
                Ok(Self::Placeholder { also })
            }
            _ => Err("`as` has one of `header` (and `prefix`), `basic`, `query` and `placeholder`".into()),
        }
    }
}

fn header(name: &str, prefix: String) -> Result<SecretPlace, String> {
    let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
        return Err(format!("\"{}\" is not the name of a header", cut(name)));
    };
    if is_forbidden(&header) {
        return Err(format!("the header `{header}` is the host's own"));
    }
    match prefix.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        true => Ok(SecretPlace::Header { name: header, prefix }),
        false => Err(format!("the prefix \"{}\" has characters that no header has", cut(&prefix))),
    }
}

/// From a word, or from a table.
impl<'de> Deserialize<'de> for SecretPlace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = SecretPlace;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"bearer\", \"placeholder\", or a table such as { header = \"x-api-key\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<SecretPlace, E> {
                match text {
                    "bearer" => header("authorization", "Bearer ".into()).map_err(E::custom),
                    "placeholder" => Ok(SecretPlace::Placeholder { also: None }),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SecretPlace, A::Error> {
                Place::deserialize(MapAccessDeserializer::new(map))?.try_into().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
