//! The journals' rows.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::{damaged, failed};
use super::feed;
use super::notice::Notice;
use super::writer::Tx;
use crate::StoreError;
use crate::clock::Timestamp;
use crate::host::WebhookEvent;
use crate::journal::{Body, Event, EventKind, NewEntry, Stamp, StoredEntry};

const WHAT: &str = "a journal";

/// What was appended.
pub(super) struct Appended {
    /// The last `seq` that there is now.
    pub last: u64,
    /// Bytes of the entries, but for the task's end and for the responses beside those that tell of HTTP: outputs and
    /// bodies have limits of their own.
    pub bytes: u64,
    /// Some are news, and somebody has a webhook for those.
    pub hooked: bool,
    /// Some are news.
    pub news: bool,
}

/// Appends entries after `last`. `feed`: the namespace whose news they may be, for a task that is no child.
pub(super) fn append(
    tx: &mut Tx<'_>,
    task: i64,
    last: u64,
    entries: &[NewEntry],
    feed: Option<&str>,
) -> Result<Appended, StoreError> {
    let (mut seq, mut bytes) = (last, 0);
    let (mut hooked, mut news) = (false, false);
    let mut insert = tx
        .sql
        .prepare_cached(
            "INSERT INTO entry (task, seq, at, kind, data, call, hash, blob, feed, news)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )
        .map_err(failed(WHAT))?;
    for entry in entries {
        seq += 1;
        let Columns { kind, data, blob } = columns(&entry.body)?;
        let call = entry.stamp.map(|stamp| stamp.call.cast_signed());
        let hash = entry.stamp.map(|stamp| stamp.hash.cast_signed());
        let at = entry.at.as_millis().cast_signed();
        let counted = match entry.body {
            Body::Event(EventKind::Ended { .. }, _) => 0,
            Body::Event(EventKind::Http { .. }, _) => data.as_ref().map_or(0, String::len),
            _ => data.as_ref().map_or(0, String::len) + blob.map_or(0, <[u8]>::len),
        };
        bytes += counted as u64;
        let place = match (feed, &entry.body) {
            (Some(namespace), Body::Event(kind, _)) if WebhookEvent::of(kind).is_some() => {
                Some(feed::next(tx, namespace)?)
            }
            _ => None,
        };
        hooked |= place.is_some_and(|place| place.hooked);
        news |= place.is_some();
        let (namespace, number) = (place.map(|place| place.namespace), place.map(|place| place.news));
        insert
            .execute(params![task, seq.cast_signed(), at, kind, data, call, hash, blob, namespace, number])
            .map_err(failed(WHAT))?;
        if matches!(entry.body, Body::Event(EventKind::Refused { .. }, _)) {
            tx.notices.push(Notice::Refused);
        }
    }
    if seq > last {
        tx.notices.push(Notice::Entries { task });
    }
    if let Some(namespace) = feed.filter(|_| news) {
        tx.notices.push(Notice::News { namespace: namespace.to_owned() });
    }
    Ok(Appended { last: seq, bytes, hooked, news })
}

/// How a body is stored.
struct Columns<'a> {
    kind: String,
    data: Option<String>,
    blob: Option<&'a [u8]>,
}

fn columns(body: &Body) -> Result<Columns<'_>, StoreError> {
    match body {
        Body::Records(block) => Ok(Columns { kind: "records".to_owned(), data: None, blob: Some(block) }),
        Body::Event(kind, blob) => {
            let data = serde_json::to_string(kind)
                .map_err(|error| StoreError::Failed { what: WHAT, problem: error.to_string() })?;
            Ok(Columns { kind: kind.name().to_owned(), data: Some(data), blob: blob.as_deref() })
        }
    }
}

/// Public entries after `after`, at most `limit`.
pub(crate) fn public(sql: &Connection, task: i64, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT seq, at, data FROM entry WHERE task = ?1 AND seq > ?2 AND data IS NOT NULL ORDER BY seq LIMIT ?3",
        )
        .map_err(failed(WHAT))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select
        .query_map(params![task, i64::try_from(after).unwrap_or(i64::MAX), limit], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
        })
        .map_err(failed(WHAT))?;
    rows.map(|row| {
        let (seq, at, data) = row.map_err(failed(WHAT))?;
        Ok(Event { seq: seq.cast_unsigned(), at: Timestamp::from_millis(at.cast_unsigned()), kind: parse(&data)? })
    })
    .collect()
}

/// The public entry `seq`.
pub(super) fn one(sql: &Connection, task: i64, seq: i64) -> Result<EventKind, StoreError> {
    let mut select = sql.prepare_cached("SELECT data FROM entry WHERE task = ?1 AND seq = ?2").map_err(failed(WHAT))?;
    let data: String = select.query_row(params![task, seq], |row| row.get(0)).map_err(failed(WHAT))?;
    parse(&data)
}

/// What the guest did in its current segment: everything after the entry `segment_seq`. The bodies of HTTP responses are
/// not among it: they are read one by one, by [`kept`].
pub(crate) fn of_segment(sql: &Connection, task: i64, segment_seq: u64) -> Result<Vec<StoredEntry>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT seq, data, call, hash, iif(kind = 'http', NULL, blob) FROM entry
             WHERE task = ?1 AND seq > ?2 AND call IS NOT NULL ORDER BY seq",
        )
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![task, segment_seq.cast_signed()], stored).map_err(failed(WHAT))?;
    rows.map(|row| row.map_err(failed(WHAT))?).collect()
}

/// A task's whole journal, up to the entry `upto`.
pub(crate) fn all(sql: &Connection, task: i64, upto: u64) -> Result<Vec<StoredEntry>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT seq, data, call, hash, iif(kind = 'http', NULL, blob) FROM entry
             WHERE task = ?1 AND seq <= ?2 ORDER BY seq",
        )
        .map_err(failed(WHAT))?;
    let upto = i64::try_from(upto).unwrap_or(i64::MAX);
    let rows = select.query_map(params![task, upto], stored).map_err(failed(WHAT))?;
    rows.map(|row| row.map_err(failed(WHAT))?).collect()
}

/// What an entry keeps beside what readers see of it.
pub(crate) fn kept(sql: &Connection, task: i64, seq: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let mut select = sql.prepare_cached("SELECT blob FROM entry WHERE task = ?1 AND seq = ?2").map_err(failed(WHAT))?;
    let kept = select.query_row(params![task, seq.cast_signed()], |row| row.get(0)).optional();
    kept.map(Option::flatten).map_err(failed(WHAT))
}

/// How many bytes that is. They are not read.
pub(crate) fn kept_bytes(sql: &Connection, task: i64, seq: u64) -> Result<u64, StoreError> {
    let mut select =
        sql.prepare_cached("SELECT length(blob) FROM entry WHERE task = ?1 AND seq = ?2").map_err(failed(WHAT))?;
    let bytes = select.query_row(params![task, seq.cast_signed()], |row| row.get::<_, Option<i64>>(0)).optional();
    Ok(bytes.map_err(failed(WHAT))?.flatten().unwrap_or_default().cast_unsigned())
}

/// The keys of the HTTP requests that were answered before the entry `seq`.
pub(crate) fn keys_before(sql: &Connection, task: i64, seq: u64) -> Result<HashSet<String>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT data FROM entry WHERE task = ?1 AND seq < ?2 AND kind = 'http'")
        .map_err(failed(WHAT))?;
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let rows = select.query_map(params![task, seq], |row| row.get::<_, String>(0)).map_err(failed(WHAT))?;
    let mut keys = HashSet::new();
    for row in rows {
        if let EventKind::Http { key: Some(key), status: Some(_), .. } = parse(&row.map_err(failed(WHAT))?)? {
            keys.insert(key);
        }
    }
    Ok(keys)
}

/// The seed of the attempt that began with the entry `attempt_seq`.
pub(crate) fn seed(sql: &Connection, task: i64, attempt_seq: u64) -> Result<[u8; 32], StoreError> {
    let mut select = sql.prepare_cached("SELECT blob FROM entry WHERE task = ?1 AND seq = ?2").map_err(failed(WHAT))?;
    let blob: Option<Vec<u8>> =
        select.query_row(params![task, attempt_seq.cast_signed()], |row| row.get(0)).map_err(failed(WHAT))?;
    blob.and_then(|blob| blob.try_into().ok()).ok_or_else(|| damaged(WHAT)(format!("entry {attempt_seq} has no seed")))
}

/// The seed of a task's first attempt, which stands for the task.
pub(crate) fn first_seed(sql: &Connection, task: i64) -> Result<[u8; 32], StoreError> {
    let mut select = sql
        .prepare_cached("SELECT blob FROM entry WHERE task = ?1 AND kind = 'attempt' ORDER BY seq LIMIT 1")
        .map_err(failed(WHAT))?;
    let blob: Option<Vec<u8>> = select.query_row(params![task], |row| row.get(0)).map_err(failed(WHAT))?;
    blob.and_then(|blob| blob.try_into().ok()).ok_or_else(|| damaged(WHAT)("its first attempt has no seed".to_owned()))
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Result<StoredEntry, StoreError>> {
    let seq = row.get::<_, i64>(0)?.cast_unsigned();
    let data: Option<String> = row.get(1)?;
    let (call, hash): (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
    let stamp = call.zip(hash).map(|(call, hash)| Stamp { call: call.cast_unsigned(), hash: hash.cast_unsigned() });
    let blob: Option<Vec<u8>> = row.get(4)?;
    let body = match data {
        Some(data) => match parse(&data) {
            Ok(kind) => Body::Event(kind, blob),
            Err(error) => return Ok(Err(error)),
        },
        None => Body::Records(blob.unwrap_or_default()),
    };
    Ok(Ok(StoredEntry { seq, stamp, body }))
}

/// Whether something has arrived for the guest after the entry `seq`, from elsewhere: a reply, or the end of a child.
pub(super) fn arrived(sql: &Connection, task: i64, seq: u64) -> Result<bool, StoreError> {
    sql.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM entry WHERE task = ?1 AND seq > ?2 AND call IS NULL
                        AND kind IN ('reply', 'child-ended'))",
    )
    .and_then(|mut select| select.query_row(params![task, seq.cast_signed()], |row| row.get(0)))
    .map_err(failed(WHAT))
}

pub(super) fn parse(data: &str) -> Result<EventKind, StoreError> {
    serde_json::from_str(data).map_err(damaged(WHAT))
}
