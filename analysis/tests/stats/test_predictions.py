"""Registered predictions on synthetic sweeps of known truth, and on a box of known truth."""

from __future__ import annotations

import math
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import synthetic
from sweep_analysis.__main__ import BAD_INPUT, main
from sweep_analysis.read import predictions as reading
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import PREDICTIONS, TIMES
from sweep_analysis.read.load import CHECKOUT, Sweep, find_sweep, read_sweep
from sweep_analysis.read.predictions import FOLDER, Prediction, costs_of, read_predictions
from sweep_analysis.read.schema import TRIALS
from sweep_analysis.say.predictions import predictions_table
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.predictions import (
    HIT,
    MISS,
    OPEN,
    UNTESTED,
    check_origin,
    judged,
    share,
)
from sweep_analysis.stats.speedup import trial_times

SIMULATED = Path("2026-11-27T223418Z")
"""A sweep of the experiment on one simulated machine of 64 cores."""

MANY = synthetic.Truth(
    branches=["master", "champion"],
    workloads={"packets": 0.1},
    threads=[16],
    cpus=16,
    trials=9,
    sequential=False,
)
"""A synthetic host of 16 cores."""


def prediction(direction: str, **fields: Any) -> Prediction:  # noqa: ANN401 - as a file has it
    written = {
        "branch": "champion",
        "against": "master",
        "workload": "packets",
        "size": "small",
        "parameters": "n=1000",
        "threads": 16,
        "quantity": "time",
        "direction": direction,
        "margin": 1.1,
        "command": "cargo runner sweep --experiment predictions --threads 16",
        "falsified-if": "the ratio is on the other side of the margin",
        "commit": "0" * 12,
        "machine": {"cores": 16},
        "from": {"sweep": "none", "agree": 1, "of": 1},
    }
    return msgspec.convert(written | fields, Prediction)


def results(
    truth: synthetic.Truth, *asked: Prediction, costs: dict[str, float] | None = None
) -> pl.DataFrame:
    sweep = synthetic.swept(truth)
    named = {str(at): it for at, it in enumerate(asked)}
    found = judged(named, sweep, trial_times(sweep).collect(), costs or {})
    assert found.schema == PREDICTIONS
    return found


def host(ratio: float, noise: float = 0.01) -> synthetic.Truth:
    effects = {("champion", "packets"): ratio}
    return replace(MANY, effects=effects, trial_noise=noise)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.6, [HIT, MISS, MISS]),
        (0.97, [MISS, MISS, HIT]),
        (1.0, [MISS, MISS, HIT]),
        (1.5, [MISS, HIT, HIT]),
    ],
)
def test_each_direction_gets_the_result_that_the_truth_implies(
    ratio: float, expected: list[str]
) -> None:
    found = results(host(ratio), *map(prediction, ("faster", "slower", "no-gain")))
    assert found["verdict"].to_list() == expected
    assert found["time_ratio"].to_list() == pytest.approx([ratio] * 3, rel=0.03)


def test_an_interval_across_the_margin_is_undecided() -> None:
    found = results(host(1 / 1.1, noise=0.1), prediction("faster"), prediction("no-gain"))
    assert found["verdict"].to_list() == [OPEN, OPEN]


def test_equal_branches_are_no_hit_of_a_gain_in_noise() -> None:
    verdicts = [
        results(replace(host(1.0, noise=0.2), seed=seed), prediction("faster"))["verdict"][0]
        for seed in range(20)
    ]
    assert verdicts.count(HIT) == 0


@pytest.mark.parametrize(
    ("fields", "costs", "reason"),
    [
        ({"machine": {"cores": 32}}, {}, "needs 32 cores; this machine has 16"),
        ({"threads": 64}, {}, "needs 64 CPUs; this machine has 16"),
        (
            {"machine": {"cores": 16, "costs": {"wake-ns": {"at-most": 4000}}}},
            {},
            "needs the cost `wake-ns`, which is unknown: run `cargo runner calibrate`",
        ),
        (
            {"machine": {"cores": 16, "costs": {"wake-ns": {"at-most": 4000}}}},
            {"wake-ns": 9218.4},
            "is about machines whose `wake-ns` is at most 4000; this machine has 9218",
        ),
        ({"branch": "packed"}, {}, "no good trial of `packed` in this configuration"),
        ({"parameters": "n=7"}, {}, "no good trial of `champion` in this configuration"),
    ],
)
def test_a_machine_outside_the_class_or_without_data_tests_nothing_and_says_why(
    fields: dict[str, Any], costs: dict[str, float], reason: str
) -> None:
    found = results(host(0.5), prediction("faster", **fields), prediction("faster"), costs=costs)
    assert found["verdict"].to_list() == [UNTESTED, HIT]
    assert found["reason"][0] == reason
    assert predictions_table(found)["found"][0] == reason


def test_a_machine_inside_the_class_is_tested() -> None:
    of_class = {"cores": 16, "costs": {"wake-ns": {"at-least": 3000, "at-most": 4000}}}
    found = results(host(0.5), prediction("faster", machine=of_class), costs={"wake-ns": 3500.0})
    assert found["verdict"].to_list() == [HIT]


def test_too_few_builds_or_no_control_test_nothing() -> None:
    for change, reason in (
        ({"trials": 3}, "3 builds of each branch are too few, 4 are needed"),
        ({"twin": False}, "no A/A control ran, so the noise is unknown"),
    ):
        found = results(replace(host(0.5), **change), prediction("faster"))
        assert found.select("verdict", "reason").row(0) == (UNTESTED, reason)


def test_a_line_has_the_result_the_predicted_set_and_the_interval() -> None:
    found = results(host(0.5), *map(prediction, ("faster", "slower", "no-gain")))
    table = predictions_table(found)
    assert table["result"].to_list() == [HIT, MISS, MISS]
    assert [it.replace("\N{NO-BREAK SPACE}", " ") for it in table["predicted"]] == [
        "below −9.1 % time",
        "above +10.0 % time",
        "above −9.1 % time",
    ]
    assert table["found"][0].startswith("−")
    assert " to −" in table["found"][0]


def boxed(logs: list[float | None], wakes: list[float]) -> tuple[Sweep, pl.DataFrame]:
    """A box of machines on which the log of the ratio is known; None is a failed trial."""
    rows = [
        {
            "trial": f"{name} {at}",
            "branch": name,
            "program": "parallel",
            "workload": "packets",
            "size": "small",
            "parameters": f"box={at + 1} n=1000",
            "mode": "dynamic",
            "placement": "free",
            "threads": 16,
            "outcome": "timeout" if name == "champion" and log is None else "ok",
            "ns_per_unit": math.exp(5 + (0 if name == "master" else log or 0)),
            "input": "",
        }
        for at, log in enumerate(logs)
        for name in ("master", "champion")
    ]
    frame = pl.DataFrame(rows)
    points = [{"topology": "2x8", "cpus": 16, "prices": {"wake-ns": wake}} for wake in wakes]
    manifest = {
        "asked": {"machine": {"name": "box", "points": points}},
        "checkout": {"commit": "0" * 12},
    }
    times = synthetic.with_schema(frame.filter(outcome="ok"), TIMES)
    trials = synthetic.with_schema(frame, TRIALS).lazy()
    return (
        Sweep(Path("box"), manifest, {}, trials, pl.LazyFrame(), ["master", "champion"], "master"),
        times,
    )


def test_the_share_counts_machines_beyond_the_margin_and_a_failed_trial_does_not_agree() -> None:
    box = boxed([-0.5, -0.05, 0.05, 0.5, None], [1000.0] * 5)
    shares = [share(prediction(it), *box) for it in ("faster", "slower", "no-gain")]
    assert shares == [(1, 5), (1, 5), (3, 5)]


def test_the_share_is_that_of_the_machines_of_the_class() -> None:
    box = boxed([-0.5, -0.5, 0.5], [1000.0, 5000.0, 9000.0])
    slow = {"cores": 16, "costs": {"wake-ns": {"at-least": 3000}}}
    assert share(prediction("faster", machine=slow), *box) == (1, 2)


def test_a_file_with_another_share_or_commit_than_its_box_is_refused() -> None:
    box = boxed([-0.5, 0.5], [1000.0] * 2)
    right = {"sweep": "box", "agree": 1, "of": 2}
    assert check_origin("a file", prediction("faster", **{"from": right}), *box) == (1, 2)
    wrong = right | {"agree": 2}
    with pytest.raises(InputError, match="says 2 of 2 machines, but 1 of 2 agree"):
        check_origin("a file", prediction("faster", **{"from": wrong}), *box)
    with pytest.raises(InputError, match="field `commit` is `f00`"):
        check_origin("a file", prediction("faster", commit="f00", **{"from": right}), *box)


def changed(folder: Path, field: str, line: str) -> Path:
    """A folder with one registered prediction, in which `line` replaces the line of a field."""
    text = (FOLDER / "fib-join-16-champion.toml").read_text(encoding="utf-8").splitlines()
    lines = [line if it.startswith(f"{field} =") else it for it in text]
    assert lines != text
    (folder / "mine.toml").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("field", "line", "told"),
    [
        ("workload", 'workload = "fib-jion"', "field `workload` is `fib-jion`.*known: fib-join"),
        ("branch", 'branch = "champoin"', "field `branch` is `champoin`.*known: champion"),
        ("direction", 'direction = "fastr"', 'field `direction` is `"fastr"`.*README.md'),
        ("threads", "threads = 17", "field `threads` is `17`.*known: 16, 64"),
        ("margin", "margin = 0.9", "field `margin` is `0.9`"),
        ("quantity", 'quantities = "time"', "unknown field `quantities`"),
        ("quantity", "", "missing required field `quantity`"),
        ("cores", 'cores = "many"', 'field `machine.cores` is `"many"`'),
        ("costs", "costs = { wake = { at-most = 1 } }", "field `machine.costs` is `wake`.*wake-ns"),
        ("command", 'command = "make"', "field `command` is `make`.*cargo runner sweep"),
        ("size", "size = ", "it is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_field_value_and_remedy(
    tmp_path: Path, field: str, line: str, told: str
) -> None:
    with pytest.raises(InputError, match=rf"mine\.toml: .*{told}"):
        read_predictions(changed(tmp_path, field, line))


def test_the_command_ends_with_2_at_a_wrong_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed(tmp_path, "direction", 'direction = "fastr"')
    monkeypatch.setattr(reading.read_predictions, "__defaults__", (folder,))
    sweep = str(find_sweep(SIMULATED))
    assert main(["table", sweep, "predictions", "--format", "md"]) == BAD_INPUT
    assert 'mine.toml: field `direction` is `"fastr"`' in capsys.readouterr().err


def test_at_least_ten_predictions_are_about_hosts_of_16_cores() -> None:
    known = read_predictions().values()
    assert sum(it.machine.cores <= 16 and it.threads <= 16 for it in known) >= 10


def test_no_machine_of_the_box_has_fewer_cores_than_its_prediction_needs() -> None:
    box = tomllib.loads((CHECKOUT / "machines/box.toml").read_text(encoding="utf-8"))
    cores = {
        it["name"]: it.get("sockets", 1)
        * it.get("clusters-per-socket", 1)
        * it["cores-per-cluster"]
        for it in box["topology"]
    }
    for name, it in read_predictions().items():
        sweep = read_sweep(find_sweep(Path(it.origin.sweep)))
        fewest = min(cores[point["topology"]] for point in sweep.points)
        assert it.machine.cores == fewest, name


def test_costs_of_a_host_are_those_that_it_measured(tmp_path: Path) -> None:
    sweep = synthetic.write_sweep(tmp_path / "sweeps" / "it", host(1.0))
    assert costs_of(read_sweep(sweep)) == {}
    of_host = tmp_path / "hosts" / "synthetic"
    of_host.mkdir(parents=True)
    committed = next((CHECKOUT / "results" / "hosts").glob("*/here.toml"))
    text = committed.read_text(encoding="utf-8")
    old = tomllib.loads(text)["title"].split(":")[0]
    (of_host / "here.toml").write_text(text.replace(old, "host synthetic"), encoding="utf-8")
    costs = costs_of(read_sweep(sweep))
    assert costs["wake-ns"] > 0
    assert "transfer-far-ns" not in costs, "a guess is no measurement"
    shutil.copy(committed, of_host / "here.toml")
    assert costs_of(read_sweep(sweep)) == {}, "the file is about another host"


def test_a_sweep_of_another_experiment_has_no_predictions() -> None:
    assert analyse(synthetic.swept(host(0.5))).frame("predictions").is_empty()


def test_on_a_simulated_machine_each_prediction_of_its_class_has_a_line_with_a_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = read_predictions()
    assert main(["table", str(SIMULATED), "predictions", "--format", "md"]) == 0
    said = capsys.readouterr().out
    lines = {line.split(" | ")[1]: line for line in said.splitlines() if line.startswith("| ")}
    assert known.keys() <= lines.keys()
    # The machine wakes a thread in 1500 ns.
    others = {name for name, it in known.items() if "not tested" in lines[name]}
    slow = {name for name, it in known.items() if "wake-ns" in it.machine.costs}
    asked = read_sweep(find_sweep(SIMULATED)).manifest["asked"]
    ran = {it["workload"] for it in asked["workloads"]}
    later = {name for name, it in known.items() if it.workload not in ran}
    assert others == later | slow - {"fib-join-16-champion"}
    tested = [lines[name] for name in known.keys() - others]
    assert all(line.split(" | ")[0] in ("| hit", "| miss", "| undecided") for line in tested)
    assert "simulated: zen4-64" in said
