"""`read_sweep` accepts valid sweeps, and refuses others with a helpful error."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import synthetic
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import read_sweep
from sweep_analysis.read.provenance import provenance
from sweep_analysis.read.records import Records, file_of, parse
from sweep_analysis.read.request import request_of
from sweep_analysis.read.schema import ITERATIONS, TRIALS
from sweep_analysis.say.cautions import cautions
from sweep_analysis.say.conditions import conditions
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.decisions import of_the_fork


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    truth = synthetic.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        threads=[1, 2],
        trials=2,
        features={"master": [], "packed": []},
    )
    return synthetic.write_sweep(tmp_path / "sweep", truth)


def change_line(folder: Path, number: int, change: Callable[[dict[str, Any]], object]) -> None:
    file = folder / "trials.jsonl"
    lines = file.read_text().splitlines()
    record = json.loads(lines[number - 1])
    change(record)
    lines[number - 1] = json.dumps(record)
    file.write_text("\n".join(lines) + "\n")


def test_every_trial_and_iteration_becomes_a_row(folder: Path) -> None:
    sweep = read_sweep(folder)
    trials, iterations = sweep.trials.collect(), sweep.iterations.collect()
    # 2 trials of the sequential program, and of each of 2 thread counts with 2 branches and a control
    assert trials.height == 2 * (1 + 2 * 3)
    assert iterations.height == 3 * trials.height
    assert trials.schema == TRIALS
    assert iterations.schema == ITERATIONS
    assert set(trials["parameters"]) == {"n=1000"}


def test_a_record_that_does_not_say_where_its_workers_ran_reads_as_free(folder: Path) -> None:
    change_line(folder, 1, lambda record: record.update(placement="pinned"))
    assert read_sweep(folder).trials.collect()["placement"].to_list()[:2] == ["pinned", "free"]


def test_branches_come_in_the_order_of_the_manifest_without_the_twin(folder: Path) -> None:
    sweep = read_sweep(folder)
    assert sweep.branches == ["master", "packed"]
    assert (sweep.baseline, sweep.twin) == ("master", "master-again")


def test_a_torn_last_line_is_set_aside_and_reported(folder: Path) -> None:
    file = folder / "trials.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    sweep = read_sweep(folder)
    assert sweep.trials.collect().height == whole.count(b"\n") - 1
    assert any("line 14" in note and "--resume" in note for note in sweep.notes)


def with_iteration(**fields: int) -> Callable[[dict[str, Any]], object]:
    return lambda record: record["iterations"][1].update(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, r"field `schema` is 2, this analysis reads 1; use the analysis"),
        (lambda record: record.pop("threads"), r".*required field `threads`"),
        ({"threads": "two"}, r"field `threads` is `\"two\"`: expected `int`, got `str`"),
        ({"threads": 0}, r"field `threads` is `0`: expected `int` >= 1"),
        ({"outcome": "odd"}, r"field `outcome` is `\"odd\"`: .*; set the trial aside or run it"),
        ({"iterations": []}, r"field `iterations` is empty though"),
        (
            with_iteration(elapsed_ns=0),
            r"field `iterations\[1\].elapsed_ns` is `0`: expected `int` >= 1",
        ),
        (
            with_iteration(user_ns=-4_000_000),
            r"field `iterations\[1\].user_ns` is `-4000000`: expected `int` >= 0",
        ),
        (
            with_iteration(elapsed_ns=2**63),
            r"field `iterations\[1\].elapsed_ns` is `9223372036854775808`: expected `int` <",
        ),
        ({"process_ns": 2**63}, r"field `process_ns` is `9223372036854775808`: expected `int` <="),
        ({"seed": 2**64}, r"field `seed` is `18446744073709551616`: expected `int` of 64 bits"),
    ],
)
def test_a_bad_field_is_named_with_its_line(
    folder: Path, change: dict[str, Any] | Callable[[dict[str, Any]], object], message: str
) -> None:
    change_line(folder, 3, change if callable(change) else lambda record: record.update(change))
    with pytest.raises(InputError, match=f":3: {message}"):
        read_sweep(folder)


def test_bytes_that_are_no_text_are_named_with_their_line(folder: Path) -> None:
    file = folder / "trials.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"tsp"', b'"t\xff"')
    file.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=r"jsonl:3: not a record: .*restore the file"):
        read_sweep(folder)
    assert read_sweep(folder, leaves_out=True).trials.collect().height == 13


def test_fields_that_the_format_gains_later_do_no_harm(folder: Path) -> None:
    change_line(folder, 3, lambda record: record.update(new_field=[1, 2]))
    assert read_sweep(folder).trials.collect().height == 14


def test_a_trial_recorded_twice_is_refused(folder: Path) -> None:
    file = folder / "trials.jsonl"
    file.write_text(file.read_text() + file.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match=r":15: field `trial`: `.*` occurs more than once"):
        read_sweep(folder)


def test_compressed_records_are_read_as_the_others_and_named_with_file_and_line(
    folder: Path,
) -> None:
    change_line(folder, 3, lambda record: record.update(placement="pinned"))
    plain, lines = parse(file_of(folder)), (folder / "trials.jsonl").read_bytes()
    file = synthetic.pack(folder)
    packed = parse(file_of(folder))
    assert file_of(folder) == file
    for name in Records.frames():
        assert getattr(packed, name).collect().equals(getattr(plain, name).collect())
    file.write_bytes(synthetic.compressed(lines.replace(b"pinned", b"spread")))
    with pytest.raises(
        InputError, match=r"trials\.jsonl\.zst:3: field `placement` is `\"spread\"`"
    ):
        read_sweep(folder)


def test_of_a_compressed_file_and_the_one_that_records_are_added_to_the_latter_is_read(
    folder: Path,
) -> None:
    text = (folder / "trials.jsonl").read_text()
    synthetic.pack(folder)
    (folder / "trials.jsonl").write_text("".join(text.splitlines(keepends=True)[:-1]))
    assert read_sweep(folder).trials.collect().height == len(text.splitlines()) - 1


@pytest.mark.parametrize(
    "harm", [lambda it: it[:-9], lambda it: it[:99] + bytes(9) + it[108:], lambda _: b"hello"]
)
def test_a_damaged_compressed_file_is_refused_with_the_remedy(
    folder: Path, harm: Callable[[bytes], bytes]
) -> None:
    file = synthetic.pack(folder)
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(
        InputError,
        match=r"trials\.jsonl\.zst: cannot be read after line .*; restore it from a copy",
    ):
        read_sweep(folder)


@pytest.mark.parametrize("name", ["manifest.json", "host.json", "trials.jsonl"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name}: cannot be read"):
        read_sweep(folder)


@pytest.mark.parametrize("name", ["manifest.json", "host.json", "trials.jsonl"])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(
    folder: Path, make: Callable[[Path], None], name: str
) -> None:
    (folder / name).unlink()
    make(folder / name)
    with pytest.raises(InputError, match=rf"{re.escape(name)}: it is not a regular file"):
        read_sweep(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder"):
        read_sweep(tmp_path / "nowhere")


GONE = object()
WRONG: tuple[Any, ...] = ([], "x", None, GONE)
"""Values that few fields may have; `GONE` removes the field."""


def places(value: object) -> list[tuple[Any, ...]]:
    inner: Any = value.items() if isinstance(value, dict) else []
    inner = enumerate(value) if isinstance(value, list) else inner
    return [(), *((key, *rest) for key, it in inner for rest in places(it))]


@pytest.mark.parametrize("name", ["manifest.json", "host.json"])
def test_a_field_of_the_wrong_type_is_named_with_its_value_or_does_no_harm(
    folder: Path, name: str
) -> None:
    file = folder / name
    right = json.loads(file.read_text())
    refused = set()
    for *way, last in filter(None, places(right)):
        for wrong in WRONG:
            changed = copy.deepcopy(right)
            parent = changed
            for step in way:
                parent = parent[step]
            if wrong is GONE:
                del parent[last]
            else:
                parent[last] = wrong
            file.write_text(json.dumps(changed))
            try:
                sweep = read_sweep(folder)
                conditions(sweep)
                provenance(sweep)
                request_of(sweep)
                of_the_fork(sweep)
            except InputError as error:
                refused.add(re.split(r"[.\[`]", str(error).partition("field `")[2])[0])
    file.write_text(json.dumps(right))
    known = {"asked", "branches", "checkout"} if name == "manifest.json" else {"cpu", "cpus_usable"}
    assert known <= refused


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "host.json",
            {"cpu": []},
            r"host\.json: field `cpu` is `\[\]`: expected `object`.*restore",
        ),
        ("host.json", {"cpus_usable": -3}, r"field `cpus_usable` is `-3`: expected `int` >= 1"),
        ("manifest.json", {"branches": [{"name": "a"}, 7]}, r"field `branches\[1\]` is `7`: exp"),
        ("manifest.json", {"asked": {"threads": ["x"]}}, r'field `asked\.threads\[0\]` is `"x"`'),
        ("manifest.json", {"branches": [{}]}, r"field `branches\[0\]` is `{}`: .* `name`"),
    ],
)
def test_the_message_of_a_wrong_type_names_file_field_value_and_remedy(
    folder: Path, name: str, change: dict[str, Any], message: str
) -> None:
    file = folder / name
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(InputError, match=message):
        read_sweep(folder)


def test_failed_trials_are_rows_without_iterations(tmp_path: Path) -> None:
    truth = synthetic.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        threads=[1],
        fails=lambda branch, *_: "timeout" if branch == "packed" else None,
    )
    sweep = read_sweep(synthetic.write_sweep(tmp_path / "sweep", truth))
    failed = sweep.trials.filter(pl.col("outcome") == "timeout").collect()
    assert set(failed["branch"]) == {"packed"}
    assert set(failed["reason"]) == {"synthetic: timeout"}
    assert sweep.iterations.join(failed.lazy(), on="trial").collect().is_empty()


def test_a_dropped_trial_is_neither_a_time_nor_a_failure(tmp_path: Path) -> None:
    truth = synthetic.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        threads=[1, 2],
        fails=lambda branch, _, threads, *__: (
            "dropped" if (branch, threads) == ("packed", 2) else None
        ),
    )
    sweep = read_sweep(synthetic.write_sweep(tmp_path / "sweep", truth))
    dropped = sweep.dropped.collect()
    assert set(dropped["branch"]) == {"packed"}
    assert set(dropped["threads"]) == {2}
    assert set(sweep.trials.collect()["outcome"]) == {"ok"}
    assert not any("not finished" in it for it in cautions(analyse(sweep)))


def test_a_manifest_without_baseline_is_noted(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text()) | {"branches": []}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert read_sweep(folder).baseline == "master"  # the A/A control names the baseline
    file = folder / "trials.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if '"branch": "master-again"' not in line))
    sweep = read_sweep(folder)
    assert sweep.baseline is None
    assert any("no baseline" in note for note in sweep.notes)


def test_trials_of_several_machines_are_noted_and_shards_of_one_are_not(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())

    def notes(**fields: object) -> str:
        (folder / "manifest.json").write_text(json.dumps(manifest | fields))
        return " ".join(read_sweep(folder).notes)

    assert notes(shards=[{"host": "synthetic"}, {"host": "synthetic"}]) == ""
    another = "host.json describes machine synthetic, but the sweep was begun on another"
    assert another in notes(host="another")
    for number, cpus in ((1, 4), (2, 8)):
        own = folder / f"shards/{number}-of-2"
        own.mkdir(parents=True)
        (own / "host.json").write_text(json.dumps({"id": f"host{number}", "cpus_usable": cpus}))
    told = notes(shards=[{"host": "host1"}, {"host": "host2"}], host="2-hosts")
    assert "Trials of 2 machines (host1, host2) were merged" in told
    assert "different numbers of CPUs (4, 8)" in told


def test_what_a_message_quotes_changes_nothing_on_a_terminal() -> None:
    error = InputError("host.json", "`id` is \x1b[2J\x9b", "restore\nit")
    assert str(error) == "host.json: `id` is \\x1b[2J\\x9b; restore\nit"
