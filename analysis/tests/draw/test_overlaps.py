"""No two labels of a figure stand on each other, however few or many thread counts a sweep has."""

from __future__ import annotations

import pytest

import letters
import made_up
from sweep_analysis.draw import svg
from sweep_analysis.report.figures import figures
from sweep_analysis.stats.analysis import analyse

GAP = 40
"""Most pixels from a map's last row to the title of its axis."""
LONG = "split-counters-no-jec-sleepers-only-cache-padded"


@pytest.mark.parametrize("threads", [[2], [1, 2, 4, 16, 64]], ids=["one", "five"])
def test_no_label_stands_on_another(threads: list[int]) -> None:
    truth = made_up.Truth(
        branches=["master", "packed", LONG],
        workloads={"injection-ping-pong": 0.1, "tsp": 0.2},
        threads=threads,
        trials=5,
        cpus=1,
        modes={"dynamic": dict.fromkeys(threads, 3.0)},
        waits_ns={
            name: {"latency_p50": 1000.0, "latency_max": 9000.0}
            for name in ("master", "packed", LONG)
        },
        counts={"packed": {"jec_rmws": 7, "searches": 3, "sleeps": 1}},
    )
    analysis = analyse(made_up.swept(truth))
    found = {
        (figure.name, name): told
        for figure in figures(analysis)
        if not figure.missing
        for name, chart in figure.whole().items()
        if (told := letters.overlaps(svg.draw(chart)))
    }
    assert found == {}


def test_overlapping_labels_would_be_found() -> None:
    first = '<g transform="translate(10,9)"><text>threads of the pool</text></g>'
    pair = f'<svg xmlns="http://www.w3.org/2000/svg">{first}{{}}</svg>'
    near = '<text transform="translate(40,9)">threads of the pool</text>'
    far = '<text transform="translate(140,9)">threads of the pool</text>'
    assert letters.overlaps(pair.format(near)) == [("threads of the pool", "threads of the pool")]
    assert letters.overlaps(pair.format(far)) == []


def test_an_axis_stands_under_its_own_map() -> None:
    """Three maps to a row and five branches.

    The last row is short, and shared axes would hang under nothing.
    """
    names = ["master", "packed", "split-counters", "one-more", "yet-another", LONG]
    truth = made_up.Truth(
        branches=names,
        workloads={"tsp": 0.1},
        threads=[1, 2, 4, 8, 16, 32, 64],
        trials=4,
        twin=False,
    )
    analysis = analyse(made_up.swept(truth))
    (found,) = [figure for figure in figures(analysis) if figure.name == "map"]
    told = letters.texts(svg.draw(found.whole()["map"]))
    rows = [text for text in told if text.words in {"±0.0", "tsp"} or text.words[0] in "+−±"]
    for title in [text for text in told if text.words == "threads"]:
        above = [
            row
            for row in rows
            if row.left < title.right and title.left < row.right and row.bottom < title.top
        ]
        assert above
        assert title.top - max(row.bottom for row in above) < GAP
