//! What must hold of a data directory whatever has happened to the processes that used it.

use std::path::Path;

use rusqlite::Connection;

/// The database, to be read beside whoever uses it.
pub fn database(data: &Path) -> Connection {
    let sql = Connection::open(data.join("longhaul.db")).expect("the database opens");
    sql.busy_timeout(std::time::Duration::from_secs(10)).expect("it may wait");
    sql
}

/// The only number that a query gives.
pub fn number(data: &Path, query: &str) -> i64 {
    database(data).query_row(query, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// Each rule, as a query for the tasks that break it.
const RULES: &[(&str, &str)] = &[
    (
        "an entry is missing or doubled",
        "SELECT n FROM task LEFT JOIN entry ON task = n GROUP BY n
         HAVING count(seq) <> last_seq OR min(seq) <> 1 OR max(seq) <> last_seq",
    ),
    (
        "it was not started once, at first",
        "SELECT n FROM task WHERE (SELECT group_concat(seq) FROM entry WHERE task = n AND kind = 'started') IS NOT '1'",
    ),
    (
        "it has not one end for its one end",
        "SELECT n FROM task WHERE (SELECT count(*) FROM entry WHERE task = n AND kind = 'ended') <> (ended_at IS NOT NULL)",
    ),
    ("something came after its end", "SELECT n FROM task JOIN entry ON task = n AND seq > ended_seq"),
    (
        "a question was asked twice",
        "SELECT task FROM entry WHERE kind = 'question' GROUP BY task, data ->> 'question' HAVING count(*) > 1",
    ),
    (
        "a question was settled twice",
        "SELECT task FROM entry WHERE kind = 'reply' GROUP BY task, data ->> 'question' HAVING count(*) > 1",
    ),
    (
        "a question and its journal differ",
        "SELECT n FROM task WHERE
           (SELECT count(*) FROM entry WHERE task = n AND kind = 'question')
             <> (SELECT count(*) FROM question WHERE task = n)
           OR (SELECT count(*) FROM entry WHERE task = n AND kind = 'reply')
             <> (SELECT count(*) FROM question WHERE task = n AND reply IS NOT NULL)",
    ),
    (
        "an attempt was begun twice",
        "SELECT task FROM entry WHERE kind = 'attempt' GROUP BY task, data ->> 'attempt' HAVING count(*) > 1",
    ),
    (
        "a segment was begun twice",
        "SELECT task FROM entry WHERE kind = 'checkpoint' GROUP BY task, data ->> 'segment' HAVING count(*) > 1",
    ),
    (
        "it said the same twice",
        "SELECT task FROM entry WHERE kind = 'progress' AND task IN
           (SELECT n FROM task WHERE tool IN ('steps', 'job', 'sleepy') AND attempt = 1)
         GROUP BY task, data ->> 'done', data ->> 'message' HAVING count(*) > 1",
    ),
    (
        "it ended, and a question is open",
        "SELECT n FROM task JOIN question ON task = n WHERE ended_at IS NOT NULL AND reply IS NULL",
    ),
];

/// What does not hold, in words; nothing if all is well.
pub fn audit(data: &Path) -> Vec<String> {
    let sql = database(data);
    let mut broken = Vec::new();
    for (rule, query) in RULES {
        let mut select = sql.prepare(query).expect("the rule is a query");
        let rows = select.query_map([], |row| row.get::<_, i64>(0)).expect("it can be asked");
        let tasks: Vec<_> = rows.map(|row| row.expect("a number")).collect();
        if let [first, ..] = tasks.as_slice() {
            broken.push(format!("{rule}: task {first}, {} in all", tasks.len()));
        }
    }
    let whole: String = sql.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it can be asked");
    if whole != "ok" {
        broken.push(format!("SQLite finds the file damaged: {whole}"));
    }
    broken
}
