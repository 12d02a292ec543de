"""The journal: what was put is there after any death, and nothing else is taken for it."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphapath.errors import JournalError
from alphapath.search.journal import Journal
from alphapath.search.journal import journal as journal_module
from alphapath.search.journal.journal import key_text, pack, unpack

FACTS = {"data": "aa", "splits": "bb"}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "search.db") as journal:
        journal.bind(FACTS)
        yield journal


def arrays_of(number: int) -> dict[str, Any]:
    rng = np.random.default_rng(number)
    return {
        "score": rng.normal(size=(3, 2)),
        "n_iter": rng.integers(0, 9, 4),
        "seed": np.array(["cold", "scale"]),
        "is_done": np.array(True),
        "empty": np.zeros((0, 3)),
    }


def same(found: Any, expected: Any) -> bool:
    return list(found) == list(expected) and all(
        found[name].dtype == expected[name].dtype and np.array_equal(found[name], expected[name])
        for name in expected
    )


def test_what_was_put_is_there(journal: Journal) -> None:
    assert journal.get(("rbf", 0.5, 0)) is None
    journal.put(("rbf", 0.5, 0), arrays_of(1))
    journal.put(("rbf", 0.5, 1), arrays_of(2))
    assert same(journal.get(("rbf", 0.5, 0)), arrays_of(1))
    assert same(journal.get((np.str_("rbf"), np.float64(0.5), np.int64(1))), arrays_of(2))
    assert len(journal) == 2
    assert ("rbf", 0.5, 1) in journal
    assert ("rbf", 0.25, 1) not in journal
    with Journal(journal.path) as again:
        again.bind(FACTS)
        assert same(again.get(("rbf", 0.5, 1)), arrays_of(2))


def test_a_finished_chain_stays_as_it_is(journal: Journal) -> None:
    journal.put(1, arrays_of(1))
    journal.put(1, arrays_of(2))
    assert same(journal.get(1), arrays_of(1))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({**FACTS, "data": "zz"}, ["data: aa there, zz now"]),
        ({**FACTS, "splits": "zz"}, ["splits: bb there, zz now"]),
        ({"data": "aa"}, ["splits: bb there, nothing now"]),
        ({**FACTS, "grid": "cc"}, ["grid: nothing there, cc now"]),
    ],
)
def test_another_search_is_refused(journal: Journal, facts: Any, words: list[str]) -> None:
    with Journal(journal.path) as other, pytest.raises(JournalError) as caught:
        other.bind(facts)
    for word in [*words, str(journal.path), "belongs to another search", "delete this one"]:
        assert word in str(caught.value)


def test_another_version_is_refused(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "__version__", "99.0")
    with Journal(journal.path) as other, pytest.raises(JournalError, match=r"99\.0 now"):
        other.bind(FACTS)


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("1 1:0.5 2:3\n" * 200)
    with pytest.raises(JournalError, match=r"notes\.txt is no journal, or a damaged one"):
        Journal(text).bind(FACTS)
    assert text.read_text() == "1 1:0.5 2:3\n" * 200

    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE bookmark (url TEXT)")
    connection.close()
    before = foreign.read_bytes()
    with pytest.raises(JournalError, match="another program"):
        Journal(foreign).bind(FACTS)
    assert foreign.read_bytes() == before

    with pytest.raises(JournalError, match="The folder must exist and be writable"):
        Journal(tmp_path / "nowhere" / "search.db").bind(FACTS)


def test_a_journal_of_another_layout_is_refused(journal: Journal) -> None:
    with sqlite3.connect(journal.path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with Journal(journal.path) as other, pytest.raises(JournalError, match="layout 7"):
        other.bind(FACTS)


def test_a_damaged_record_is_named(journal: Journal) -> None:
    journal.put(("rbf", 0.5), arrays_of(1))
    with sqlite3.connect(journal.path) as connection:
        connection.execute("UPDATE chain SET arrays = substr(arrays, 1, 40)")
    connection.close()
    with pytest.raises(JournalError, match=r"\('rbf', 0\.5\) does not match its checksum"):
        journal.get(("rbf", 0.5))


def test_a_damaged_file_is_named(journal: Journal) -> None:
    for number in range(200):
        journal.put(number, arrays_of(number))
    journal.close()
    content = bytearray(journal.path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    journal.path.write_bytes(content)
    with Journal(journal.path) as again, pytest.raises(JournalError, match="is damaged"):
        again.bind(FACTS)


def test_nothing_is_pickled() -> None:
    with pytest.raises(TypeError, match="dtype object"):
        pack({"scores": np.array([{}])})
    assert same(unpack(pack(arrays_of(3))), arrays_of(3))
    with pytest.raises(TypeError, match="may be made of tuples"):
        key_text((1, np.zeros(3)))  # type: ignore[arg-type]


def test_threads_share_a_journal(journal: Journal) -> None:
    def write(first: int) -> None:
        for number in range(first, 120, 4):
            journal.put(number, arrays_of(number))
            assert journal.get(number) is not None

    threads = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal) == 120
    assert all(same(journal.get(number), arrays_of(number)) for number in range(120))


def test_a_pickled_journal_opens_the_same_file(journal: Journal) -> None:
    journal.put(1, arrays_of(1))
    with pickle.loads(pickle.dumps(journal)) as copy:
        assert same(copy.get(1), arrays_of(1))


WRITER = """
import sys
import numpy as np
from alphapath.search.journal import Journal

first, step = int(sys.argv[2]), int(sys.argv[3])
journal = Journal(sys.argv[1])
journal.bind({"data": "aa", "splits": "bb"})
for number in range(first, 10**6, step):
    if number not in journal:
        rng = np.random.default_rng(number)
        journal.put(number, {"noise": rng.normal(size=5000)})
"""


def test_killed_writers_leave_whole_chains(tmp_path: Path) -> None:
    """Two processes write one file and are killed together, twice over."""
    path = tmp_path / "search.db"
    rng = np.random.default_rng(0)
    n_before = 0
    for _ in range(2):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(first), "2"])
            for first in range(2)
        ]
        deadline = time.monotonic() + 60.0
        while not path.exists() or len(Journal(path)) <= n_before:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.1))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.wait()
        with Journal(path) as journal:
            journal.bind(FACTS)
            n_before = len(journal)
            numbers = [number for number in range(4 * n_before) if number in journal]
            for number in numbers:
                noise = np.random.default_rng(number).normal(size=5000)
                assert np.array_equal(journal.get(number)["noise"], noise)  # type: ignore[index]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
