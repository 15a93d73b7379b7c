"""Results of each experiment of the three documents, in sentences.

The code computes every number in them, and every word that depends on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from sweep_analysis.read.labels import HERE, PUBLISHED
from sweep_analysis.services.servers import FIGURES, FORUM_GRID, LONG

NAP = "lock-free sleeping 250 ms, reader-writer"
"""The key-value server's queue with the document's mistake, as the document printed it."""

NAPPING = "lock-free sleeping"
"""Begins the name of that queue, whatever guards the store."""

REQUESTS = 100
"""Of a session of the key-value server, there and here."""

WALL_PLACE = ["place", "panel", "x"]
"""Columns in which two locks, or two ways of input and output, are compared."""

ALIKE = pl.DataFrame(
    [
        ("own", "own, own harness", "pool"),
        ("own", "reference, reference harness", "threads"),
        ("second", "own, reference harness", f"pool{LONG}"),
        ("second", "reference, reference harness", f"threads{LONG}"),
    ],
    schema=["harness", "way", "ours"],
    orient="row",
)
"""Which of our implementations of a board stands for which of the document's, under which of the two harnesses."""


def found(name: str, points: pl.DataFrame) -> list[str]:
    """Sentences on an experiment; none if nothing was measured.

    In: `points` of a `experiment_results.Result`, of one branch.
    """
    say = _FINDERS.get(name)
    if say is None or points.filter(pl.col("origin") == HERE).is_empty():
        return []
    return say(points)


def agreement(points: pl.DataFrame, figure: str) -> tuple[int, int, int]:
    """In how many places two ways have the same order here as in the document, the other one, or none to be told.

    In: as for `found`. A place is a cell and two ways that were both measured and printed there. No
    order is told where the intervals of the two overlap here.
    """
    if figure == FORUM_GRID:
        value, place, ends = (
            "requests_per_second",
            ["harness", "kind", "posters", "readers"],
            ["low", "high"],
        )
        ours = ALIKE.with_columns(pl.col("ours").alias("way"))
        points = points.join(pl.concat([ALIKE, ours]), on="way").drop("way").rename({"ours": "way"})
    elif figure in FIGURES:
        value, place, ends = "value_ms", ["side", "panel", "threads"], ["low_ms", "high_ms"]
    else:
        value, place, ends = "wall_ms", WALL_PLACE, ["low", "high"]
    low, high = ends
    rows = points.select(
        "origin", *place, "way", value=pl.col(value), low=pl.col(low), high=pl.col(high)
    )
    met = _here(rows).join(_there(rows).select(*place, "way", there="value"), on=[*place, "way"])
    pairs = met.join(met, on=place, suffix="_2").filter(pl.col("way") < pl.col("way_2"))
    told = pairs.filter((pl.col("high") < pl.col("low_2")) | (pl.col("high_2") < pl.col("low")))
    same = (told["value"] < told["value_2"]) == (told["there"] < told["there_2"])
    return int(same.sum()), told.height - int(same.sum()), pairs.height - told.height


def _here(points: pl.DataFrame) -> pl.DataFrame:
    return points.filter(pl.col("origin") == HERE).drop("origin")


def _there(points: pl.DataFrame) -> pl.DataFrame:
    return points.filter(pl.col("origin") == PUBLISHED).drop("origin")


def span(values: Iterable[float], unit: str = "", *, signed: bool = False) -> str:
    """The least and the most of some numbers, to three digits: `0.362 to 0.384 ms`."""
    told = sorted(values)
    if not told:
        return "nothing"
    ends = [_number(told[0], signed=signed), _number(told[-1], signed=signed)]
    text = ends[0] if ends[0] == ends[1] else " to ".join(ends)
    return f"{text} {unit}".strip()


def _number(value: float, *, signed: bool = False) -> str:
    """Three digits, whole numbers whole."""
    size = abs(value)
    text = f"{size:.0f}" if isinstance(value, int) or size >= 100 else f"{size:#.3g}"  # noqa: PLR2004
    return ("−" if value < 0 else "+" if signed and value > 0 else "") + text


def _ratios(
    points: pl.DataFrame, place: list[str], value: str, over: str, under: str
) -> pl.DataFrame:
    """`ratio` of two ways in each place of each origin, and the intervals `low`, `high`, `low_under`, `high_under`."""
    columns = ["origin", *place]
    ends = [name for name in ("low", "high") if name in points.columns]
    upper = points.filter(pl.col("way") == over).select(*columns, *ends, upper=pl.col(value))
    lower = points.filter(pl.col("way") == under).select(*columns, *ends, lower=pl.col(value))
    both = upper.join(lower, on=columns, suffix="_under")
    return both.with_columns(ratio=pl.col("upper") / pl.col("lower")).sort(columns)


def _kv(points: pl.DataFrame) -> list[str]:
    def times(side: str, panel: str) -> pl.DataFrame:
        return points.filter((pl.col("side") == side) & (pl.col("panel") == panel))

    naps, napping = pl.col("way") == NAP, pl.col("way").str.starts_with(NAPPING)
    worst, means = times("server", "max"), times("server", "mean")
    others = _here(worst.filter(~napping))
    by_threads = means.filter(naps).sort("threads")
    regular = means.filter(pl.col("way").str.starts_with("regular"))
    locks = _ratios(means, ["threads"], "value_ms", "regular, global", "regular, reader-writer")
    sessions = times("client", "mean").join(
        means, on=["origin", "way", "threads"], suffix="_request"
    )
    shares = sessions.with_columns(
        (pl.col("value_ms") / REQUESTS / pl.col("value_ms_request")).alias("share")
    )
    methods = _here(points.filter((pl.col("side") == "methods") & ~napping))
    medians = {
        panel: methods.filter(pl.col("panel") == panel)["value_ms"] * 1e3
        for panel in ("GET", "POST", "DELETE")
    }
    dearest = max(medians, key=lambda panel: float(str(medians[panel].median() or 0)))
    nap_there, nap_here = _sides(worst.filter(naps), "value_ms", "ms")
    mean_there, mean_here = _sides(regular, "value_ms", "ms")
    lock_there, lock_here = _middle(_there(locks)["ratio"]), _middle(_here(locks)["ratio"])
    session_there, session_here = _sides(shares.filter(~napping), "share", "times")
    order = points.filter((pl.col("side") == "order") & napping)
    by_method = ", ".join(f"{panel} {span(values, 'µs')}" for panel, values in medians.items())
    return [
        (
            f"The nap is the longest request: {nap_there} there, {nap_here} here. The queues that wait as they should, "
            f"and the pool, have {span(others['value_ms'], 'ms')} here."
        ),
        (
            "More handlers hide the nap from the mean: from one handler to the most it goes from "
            f"{_ends(_there(by_threads))} ms there, from {_ends(_here(by_threads))} ms here."
        ),
        (
            "The regular queue has no use for more handlers, since one client is served at a time: its mean is "
            f"{mean_there} there and {mean_here} here, from one handler to the most."
        ),
        (
            f"The lock around the store: with the global one the mean is {lock_there} times that with the "
            f"reader-writer lock there, {lock_here} times here (medians over numbers of handlers)."
        ),
        (
            f"A session takes {session_there} its hundred requests as the server times them there, "
            f"{session_here} here, where a request keeps the server for so short a time that the way through sockets "
            "and clients counts."
        ),
        (
            f"By method (the document has graphs, no numbers): median {by_method} here; {dearest} is the dearest. "
            "There it was POST and DELETE."
        ),
        *_locks_behind_the_lock_free_queue(means),
        *_beginning(order),
    ]


def _locks_behind_the_lock_free_queue(means: pl.DataFrame) -> list[str]:
    """The cost of the global lock behind the lock-free queue. In: mean service times."""
    ratios = _here(
        _ratios(means, ["threads"], "value_ms", "lock-free, global", "lock-free, reader-writer")
    )["ratio"]
    if ratios.is_empty():
        return []
    times = f"{_middle(ratios)} times that with the reader-writer lock here"
    return [
        f"Behind the lock-free queue, not printed with the global lock there, the mean with that lock is {times}."
    ]


def _beginning(order: pl.DataFrame) -> list[str]:
    """How the napping queue begins, with the most handlers. In: points of side `order`."""
    most = order.filter(pl.col("threads") == pl.col("threads").max()).sort("request")
    sentences = []
    for (way,), part in most.group_by(["way"], maintain_order=True):
        first, last = part.row(0, named=True), part.row(-1, named=True)
        sentences.append(
            f"By order of requests (a graph in the document, no numbers), {way}, {first['panel']}: the longest of the "
            f"first {first['request']} takes {_number(first['value_ms'])} ms, of the last ones "
            f"{_number(last['value_ms'])} ms."
        )
    return sentences


def _sides(
    rows: pl.DataFrame, column: str, unit: str = "", *, signed: bool = False
) -> tuple[str, str]:
    """`span` of what was printed, and of what was measured."""
    return span(_there(rows)[column], unit, signed=signed), span(
        _here(rows)[column], unit, signed=signed
    )


def _middle(values: pl.Series) -> str:
    return _number(float(str(values.median()))) if values.len() else "nothing"


def _ends(rows: pl.DataFrame) -> str:
    values = rows["value_ms"].to_list()
    return "nothing" if not values else f"{_number(values[0])} to {_number(values[-1])}"


def _board(points: pl.DataFrame) -> list[str]:
    each = points.filter(pl.col("kind") == "per thread")
    difference = each.filter(pl.col("difference_percent").is_not_null())

    def best(way: str) -> str:
        rows = each.filter(pl.col("way") == way).sort("requests_per_second")
        return "({posters}, {readers})".format(**rows.row(-1, named=True))

    total = points.filter(pl.col("kind") != "per thread")

    def reads_by_posts(way: str) -> float:
        rows = total.filter(pl.col("way") == way)
        rate = pl.col("requests_per_second")
        return float(
            (
                rows.filter(kind="read").select(rate.sum())
                / rows.filter(kind="post").select(rate.sum())
            ).item()
        )

    compared = difference.filter(pl.col("way").is_in(["pool", "own, own harness"]))
    less_there, less_here = _sides(compared, "difference_percent", "%", signed=True)
    reads = {way: _number(reads_by_posts(way)) for way in ("own, own harness", "pool", "threads")}
    sentences = [
        (
            f"Requests of a client, against the reference: {less_there} there, {less_here} here through the pool. The "
            "next section says why."
        ),
        (
            f"A client gets most answers with posters and readers {best('own, own harness')} there, whose server had "
            f"six cores; here, where server and clients share the CPUs, with {best('pool')} through the pool and "
            f"{best('threads')} with a thread for each connection."
        ),
        (
            f"Reads for a post, all in all: {reads['own, own harness']} there; {reads['pool']} through the pool and "
            f"{reads['threads']} with threads here."
        ),
    ]
    second = difference.filter(pl.col("way").is_in([f"pool{LONG}", "own, reference harness"]))
    if _here(second).height:
        there, here = _sides(second, "difference_percent", "%", signed=True)
        sentences.insert(1, f"The same under the second harness: {there} there, {here} here.")
    queue = each.filter(pl.col("way") == "queue")
    if queue.height:
        gap = span(_here(queue)["difference_percent"], "%", signed=True)
        sentences.append(f"Threads behind a queue in the pool's place: {gap}.")
    return sentences


def _spin_by_mutex(points: pl.DataFrame) -> pl.DataFrame:
    return _ratios(points, WALL_PLACE, "wall_ms", "spin", "mutex")


def _locks(points: pl.DataFrame) -> list[str]:
    ratios = _spin_by_mutex(points)
    both = _here(ratios).join(_there(ratios), on=WALL_PLACE, suffix="_there").sort("panel", "x")
    sentences = []
    if both.height:
        text = "; ".join(
            f"{row['panel']}, {row['x']} steps: {_number(row['ratio_there'])} there, {_number(row['ratio'])} here"
            for row in both.rows(named=True)
        )
        sentences.append(f"Time with the spin lock over time with the mutex: {text}.")
    for (place, panel), part in _here(ratios).group_by(["place", "panel"], maintain_order=True):
        text = f"{place}, {panel}: the spin lock {_loss(part)}"
        sentences.append(
            f"{text}; {span(part['ratio'], 'times')} the time, over sections of {span(part['x'])} steps."
        )
    return sentences


def _loss(ratios: pl.DataFrame) -> str:
    """From which length on the intervals say that the first of two ways takes longer.

    In: one panel of `_ratios`.
    """
    rows = ratios.sort("x", descending=True)
    loses = (rows["low"] > rows["high_under"]).to_list()
    longest = loses.index(False) if False in loses else len(loses)
    if longest == 0:
        return "loses nowhere"
    return f"loses from {rows['x'][longest - 1]} steps on"


def _transfers(points: pl.DataFrame) -> list[str]:
    ratios = _ratios(points, WALL_PLACE, "wall_ms", "asynchronous", "synchronous")
    known = _there(ratios)
    sentences = [
        f"Time of asynchronous over synchronous {place}: "
        + (
            f"{span(known.filter(place=place)['ratio'])} there, "
            if known.filter(place=place).height
            else ""
        )
        + f"{span(part['ratio'])} here, from {span(part['x'])} along the axis."
        for (place,), part in _here(ratios).group_by(["place"], maintain_order=True)
    ]
    extra = _here(ratios).with_columns(
        _each((pl.col("upper") - pl.col("lower")) * 1e3).alias("extra")
    )
    cost = ", ".join(
        f"{place} {span(part['extra'], 'µs', signed=True)}"
        for (place,), part in extra.group_by(["place"], maintain_order=True)
    )
    return [
        *sentences,
        f"A transfer that is made asynchronously costs more than a synchronous one by: {cost}.",
    ]


def _each(whole: pl.Expr) -> pl.Expr:
    """A run's value for each of its transfers."""
    tasks = pl.col("panel").str.extract(r"^(\d+) tasks").cast(pl.Int64)
    return whole / (tasks * pl.col("panel").str.extract(r"(\d+) transfers").cast(pl.Int64))


_FINDERS: dict[str, Callable[[pl.DataFrame], list[str]]] = {
    "kv-queues": _kv,
    "forum-grid": _board,
    "locks-mutex-spin": _locks,
    "locks-many-contenders": _locks,
    "locks-beyond-quantum": _locks,
    "async-io-size": _transfers,
    "async-io-work": _transfers,
}
"""By the name of the experiment."""
