"""What DBOS does beside Longhaul: a durable no-op, and a workflow that waits for one message.

Called with an empty directory; prints one line a measurement, its name and its value with a tab between.
"""

import asyncio
import logging
import os
import sqlite3
import statistics
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path

import sqlalchemy
from dbos import DBOS

CLIENTS = 50
EACH = 4
ROUNDS = 3
ALONE = 100
WAITING = 1_000
ANSWERS = 100
# The whole of it; what hangs is not waited for.
LIMIT_SECONDS = 600
# How often DBOS looks for messages: SQLite does not tell it of them. Its default is one second. It asks for each workflow
# that waits by itself; at a hundredth of a second, with 1,000 of them, it does nothing else.
POLL_SECONDS = 0.1
# With more, writers wait for each other asleep in SQLite: a third fewer no-ops, measured. DBOS's default is 20.
CONNECTIONS = 1


@DBOS.workflow()
async def noop() -> None:
    pass


@DBOS.workflow()
async def ask() -> bool:
    return await DBOS.recv_async("answer", timeout_seconds=3600)


def row(what: str, value: str) -> None:
    print(f"{what}\t{value}", flush=True)


def micros(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us"


def millis(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


@sqlalchemy.event.listens_for(sqlalchemy.engine.Engine, "connect")
def sync_every_commit(connection, _record) -> None:
    connection.execute("PRAGMA synchronous = FULL")


def write_ahead(path: Path) -> None:
    """The journal's mode stays with the file. DBOS leaves it as it finds it."""
    with sqlite3.connect(path) as sql:
        (mode,) = sql.execute("PRAGMA journal_mode = WAL").fetchone()
    sql.close()
    assert mode == "wal", mode


def raw_commit(path: Path) -> float:
    """What the disk does by itself, through the same SQLite: the median of one commit."""
    sql = sqlite3.connect(path, isolation_level=None)
    sql.execute("PRAGMA journal_mode = WAL")
    sql.execute("PRAGMA synchronous = FULL")
    sql.execute("CREATE TABLE t (n INTEGER, text TEXT)")
    each = []
    for n in range(500):
        began = time.perf_counter()
        sql.execute("INSERT INTO t VALUES (?, 'some hundred bytes, about as much as one entry of a journal has')", [n])
        each.append(time.perf_counter() - began)
    sql.close()
    return statistics.median(each)


async def do_nothing() -> None:
    await (await DBOS.start_workflow_async(noop)).get_result()


async def answered_at_once() -> None:
    handle = await DBOS.start_workflow_async(ask)
    await DBOS.send_async(handle.get_workflow_id(), True, "answer")
    assert await handle.get_result() is True


async def alone(once) -> float:
    each = []
    for _ in range(ALONE):
        began = time.perf_counter()
        await once()
        each.append(time.perf_counter() - began)
    return statistics.median(each)


async def at_once(once) -> float:
    """How many a second, with clients that do one after the other; the median of the rounds."""

    async def client() -> None:
        for _ in range(EACH):
            await once()

    rates = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        rates.append(CLIENTS * EACH / (time.perf_counter() - began))
    return statistics.median(rates)


async def waiting(path: Path) -> list[float]:
    """From the answer to the workflow's end, one after the other, while the others wait."""
    handles = [await DBOS.start_workflow_async(ask) for _ in range(WAITING)]
    with sqlite3.connect(path) as sql:
        # Each wait writes down its deadline when it begins.
        begun = """SELECT count(*) FROM operation_outputs o JOIN workflow_status s USING (workflow_uuid)
            WHERE s.status = 'PENDING' AND o.function_name = 'DBOS.sleep'"""
        while sql.execute(begun).fetchone()[0] < WAITING:
            await asyncio.sleep(0.1)
    sql.close()
    each = []
    for handle in handles[:: WAITING // ANSWERS]:
        began = time.perf_counter()
        await DBOS.send_async(handle.get_workflow_id(), True, "answer")
        assert await handle.get_result() is True
        each.append(time.perf_counter() - began)
    return sorted(each)


def launch(database: Path) -> None:
    write_ahead(database)
    dbos = DBOS(config={
        "name": "peer",
        "system_database_url": f"sqlite:///{database}",
        "log_level": "ERROR",
        "sys_db_pool_size": CONNECTIONS,
        "notification_listener_polling_interval_sec": POLL_SECONDS,
    })
    DBOS.launch()
    with dbos._sys_db.engine.connect() as connection:
        settings = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    assert settings == ["wal", 2], settings


async def measure(database: Path) -> None:
    await at_once(do_nothing)
    row(f"DBOS {version('dbos')}, durable no-op, one at a time, p50", micros(await alone(do_nothing)))
    row("  durable no-ops/s, 50 at once", f"{await at_once(do_nothing):.0f}")
    row("  with one message waited for, sent at once", f"{await at_once(answered_at_once):.0f}")
    answers = await waiting(database)
    row(f"  answer to the end, {WAITING} waiting, p50", millis(statistics.median(answers)))
    row("    p99", millis(answers[len(answers) * 99 // 100]))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    limit = threading.Timer(LIMIT_SECONDS, lambda: os._exit(3))
    limit.daemon = True
    limit.start()
    directory = Path(sys.argv[1])
    row("raw SQLite commit from Python, WAL, FULL: p50", micros(raw_commit(directory / "raw.sqlite")))
    # Outside of the event loop: launched inside of it, everything takes several times as long.
    launch(directory / "dbos.sqlite")
    asyncio.run(measure(directory / "dbos.sqlite"))
    # Those that still wait are not waited for.
    sys.stdout.flush()
    os._exit(0)
