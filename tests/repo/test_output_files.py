"""Files are replaced at once or not at all, whatever they are and whatever goes wrong."""

from __future__ import annotations

import ast
import errno
import os
import re
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import alphapath
from alphapath import SVC, output_files
from alphapath.output_files import write_arrays, write_file, write_files


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full as soon as anything is flushed to it."""

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(output_files.os, "fsync", refuse)


def test_content_is_replaced_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_file(path, "first\n")
    write_file(str(path), b"\xff\x00")
    assert path.read_bytes() == b"\xff\x00"
    write_file(path, "é\n\u2028\r\n")
    assert path.read_bytes() == "é\n\u2028\r\n".encode()
    assert names_in(tmp_path) == ["a.txt"]


def test_a_full_disk_keeps_all_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, new = (tmp_path / name for name in ("a", "b", "c"))
    write_files({first: "old a", second: "old b"})
    written = output_files.fill

    def fail_at_second(temporary: Path, target: Path, data: bytes) -> None:
        if target == second:
            fill_the_disk(monkeypatch)
        written(temporary, target, data)

    monkeypatch.setattr(output_files, "fill", fail_at_second)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_files({first: "new a", second: "new b", new: "new c"})
    assert caught.value.filename == str(second)
    assert (first.read_text(), second.read_text()) == ("old a", "old b")
    assert names_in(tmp_path) == ["a", "b"]


def test_a_model_survives_a_failed_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    SVC(C=1).fit(X, y).save_libsvm(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    fill_the_disk(monkeypatch)
    with pytest.raises(OSError, match="No space left"):
        SVC(C=100).fit(X, y).save_libsvm(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert names_in(tmp_path) == ["m"]


def test_rights_and_links_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("target")
    write_file(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    (tmp_path / "later").symlink_to("not_yet")
    write_file(tmp_path / "later", "now")
    assert (tmp_path / "not_yet").read_text() == "now"
    old = os.umask(0o027)
    try:
        write_file(tmp_path / "fresh", "")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


def test_devices_and_pipes_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    write_file("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen: list[bytes] = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, "through")
    reader.join(timeout=10)
    assert seen == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_can_not_be_written_is_named(tmp_path: Path) -> None:
    for path, kind in ((tmp_path / "no" / "x", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(kind) as caught:
            write_file(path, "")
        assert caught.value.filename == str(path)
    write_file(tmp_path / ("n" * 255), "long")
    with pytest.raises(OSError, match="too long"):
        write_file(tmp_path / ("n" * 256), "longer")
    assert names_in(tmp_path) == ["n" * 255]


def test_arrays_have_numpys_ending(tmp_path: Path) -> None:
    for name in ("a", "b.npz"):
        write_arrays(tmp_path / name, {"x": np.arange(3)})
    assert names_in(tmp_path) == ["a.npz", "b.npz"]
    with np.load(tmp_path / "a.npz") as file:
        assert file["x"].tolist() == [0, 1, 2]


def test_nothing_else_writes_files() -> None:
    """Every other way to write a file leaves half of one when it is cut short."""
    root = Path(alphapath.__file__).parent
    ways = re.compile(r"write_text|write_bytes|savetxt|savez|np\.save|open")
    found = []
    for path in root.rglob("*.py"):
        if path.name == "output_files.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
            writes = name == "open" and any(
                isinstance(m, str) and set(m) & set("wax+") for m in modes
            )
            if writes or (name != "open" and ways.fullmatch(name)):
                found.append(f"{path.relative_to(root)}: {ast.unparse(node)[:60]}")
    # To streams in memory, or to a stream that the caller opened.
    allowed = ("savetxt(text", "savez_compressed(path, **arrays)")
    assert [one for one in found if not any(words in one for words in allowed)] == []
