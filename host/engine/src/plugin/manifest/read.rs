//! JSON text to a value, where a name that comes twice is an error.
//!
//! Most readers keep the last of two members of one name, some the first. A plugin could show one thing to the operator's tools
//! and another to the host.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::json::{Problem, child, cut, problem};

/// Reads JSON. Nesting is bounded by the reader, to 128.
pub(super) fn read(text: &str) -> Result<Value, Problem> {
    let place = Place::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Item(&place).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    read.map_err(|error| match place.twice.take() {
        Some(twice) => twice,
        None => problem("", format_args!("it is not JSON: {error}")),
    })
}

/// Where the reader is.
#[derive(Default)]
struct Place {
    path: RefCell<Vec<String>>,
    twice: RefCell<Option<Problem>>,
}

impl Place {
    fn within<T>(&self, token: String, read: impl FnOnce() -> T) -> T {
        self.path.borrow_mut().push(token);
        let read = read();
        self.path.borrow_mut().pop();
        read
    }

    fn pointer(&self) -> String {
        self.path.borrow().iter().fold(String::new(), |at, token| child(&at, token))
    }
}

struct Item<'a>(&'a Place);

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // The reader refuses what no float holds.
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        loop {
            match self.0.within(read.len().to_string(), || items.next_element_seed(Item(self.0)))? {
                Some(item) => read.push(item),
                None => return Ok(Value::Array(read)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if read.contains_key(&name) {
                let what = format_args!("the name \"{}\" comes twice in the same object", cut(&name)).to_string();
                let twice = problem(&self.0.pointer(), what);
                let error = A::Error::custom(&twice);
                self.0.twice.replace(Some(twice));
                return Err(error);
            }
            let value = self.0.within(name.clone(), || members.next_value_seed(Item(self.0)))?;
            read.insert(name, value);
        }
        Ok(Value::Object(read))
    }
}
