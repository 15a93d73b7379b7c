"""What is kept of a large file: made once, found by content, never torn, never out of date."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import polars as pl
import pytest

import made_up
from sweep_analysis.read import cache, records
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import read_sweep
from sweep_analysis.read.records import Records, parse


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "WORTH_BYTES", 0)
    truth = made_up.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        threads=[1, 2],
        trials=2,
        counts={"packed": {"pushes": 3}},
    )
    return made_up.write_sweep(tmp_path / "sweep", truth) / "trials.jsonl"


def same(one: Records, other: Records) -> bool:
    frames = all(getattr(one, name).collect().equals(getattr(other, name).collect()) for name in Records.frames())
    return frames and one.notes == other.notes


def never(*_: Path | None) -> Records:
    raise AssertionError("parsed again")


def test_the_second_reading_takes_what_the_first_kept(file: Path, tmp_path: Path) -> None:
    first = cache.read(file, parse, tmp_path / "kept")
    again = cache.read(file, never, tmp_path / "kept")
    assert same(first, parse(file))
    assert same(again, parse(file))


def test_what_was_spilled_on_the_way_is_all_there(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "BATCH", 3)
    monkeypatch.setattr(records, "SPILLED", 2)
    assert same(cache.read(file, parse, tmp_path / "kept"), parse(file))
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [cache._key(file)]  # noqa: SLF001 - nothing else


def test_a_moved_sweep_is_found_by_its_content(file: Path, tmp_path: Path) -> None:
    cache.read(file, parse, tmp_path / "kept")
    moved = shutil.copytree(file.parent, tmp_path / "elsewhere") / file.name
    assert same(cache.read(moved, never, tmp_path / "kept"), parse(file))


def test_a_grown_file_is_read_anew(file: Path, tmp_path: Path) -> None:
    cache.read(file, parse, tmp_path / "kept")
    text = file.read_text()
    file.write_text(text.rpartition("\n")[0].rpartition("\n")[0] + "\n")
    assert same(cache.read(file, parse, tmp_path / "kept"), parse(file))
    file.write_text(text)
    assert same(cache.read(file, never, tmp_path / "kept"), parse(file))


def test_compressed_records_are_kept_too_by_about_the_size_of_their_text(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = made_up.pack(file.parent)
    monkeypatch.setattr(cache, "WORTH_BYTES", packed.stat().st_size * 2)
    first = cache.read(packed, parse, tmp_path / "kept")
    assert same(cache.read(packed, never, tmp_path / "kept"), first)


def test_notes_are_kept_too(file: Path, tmp_path: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])
    cache.read(file, parse, tmp_path / "kept")
    assert "torn off" in cache.read(file, never, tmp_path / "kept").notes[0]


def test_another_shape_of_frames_is_another_entry(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.read(file, parse, tmp_path / "kept")
    monkeypatch.setattr(cache, "METRICS", pl.Schema({"trial": pl.String}))
    with pytest.raises(AssertionError, match="parsed again"):
        cache.read(file, never, tmp_path / "kept")


@pytest.mark.parametrize("harm", ["cut", "missing", "no about", "nonsense"])
def test_a_torn_entry_is_made_anew(file: Path, tmp_path: Path, harm: str) -> None:
    cache.read(file, parse, tmp_path / "kept")
    (entry,) = (tmp_path / "kept").iterdir()
    if harm == "cut":
        (entry / "iterations.parquet").write_bytes((entry / "iterations.parquet").read_bytes()[:-8])
    elif harm == "missing":
        (entry / "trials.parquet").unlink()
    elif harm == "no about":
        (entry / "about.json").unlink()
    else:
        (entry / "about.json").write_text("{")
    assert same(cache.read(file, parse, tmp_path / "kept"), parse(file))
    assert same(cache.read(file, never, tmp_path / "kept"), parse(file))


def test_many_readers_at_once_all_get_the_whole(file: Path, tmp_path: Path) -> None:
    barrier = threading.Barrier(6)
    found: list[bool] = []

    def read() -> None:
        barrier.wait()
        found.append(same(cache.read(file, parse, tmp_path / "kept"), parse(file)))

    readers = [threading.Thread(target=read) for _ in range(6)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert found == [True] * 6
    assert len(list((tmp_path / "kept").iterdir())) == 1  # and no draft is left behind


def test_a_place_that_cannot_be_written_does_no_harm(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "a file, not a folder"
    place.write_text("")
    assert same(cache.read(file, parse, place), parse(file))


def test_a_bad_file_is_refused_and_not_kept(file: Path, tmp_path: Path) -> None:
    file.write_text("{}\n")
    for _ in range(2):
        with pytest.raises(InputError, match=r"trials\.jsonl:1: not a record"):
            cache.read(file, parse, tmp_path / "kept")
    assert not list((tmp_path / "kept").iterdir())


def test_small_files_are_not_kept_twice(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "WORTH_BYTES", file.stat().st_size + 1)
    cache.read(file, parse, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_the_place_can_be_chosen_or_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache.PLACE, raising=False)
    assert cache.folder(tmp_path) == tmp_path / "target" / "analysis-cache"
    monkeypatch.setenv(cache.PLACE, "/elsewhere")
    assert cache.folder(tmp_path) == Path("/elsewhere")
    monkeypatch.setenv(cache.PLACE, "")
    assert cache.folder(tmp_path) is None


def test_a_sweep_read_from_what_was_kept_is_the_same(file: Path, tmp_path: Path) -> None:
    first, again = (read_sweep(file.parent, tmp_path / "kept") for _ in range(2))
    assert first.branches == again.branches
    assert first.iterations.collect().equals(again.iterations.collect())
    assert again.iterations.explain().count("SCAN") == 1
