"""The three documents on servers, locks and transfers.

Lists which of their results were measured again, and whether those agree.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import PUBLISHED
from sweep_analysis.say import tables
from sweep_analysis.services import document_findings, servers
from sweep_analysis.services.experiments import beside
from sweep_analysis.services.results import Result

DOCUMENTS = (
    (
        "a key-value server",
        "all tables, graphs by method and by order of requests, what was left out",
        "kv-queues",
    ),
    (
        "a message board",
        "tables of posts, reads and requests per thread, with their differences, under both harnesses",
        "forum-grid",
    ),
    (
        "user-level threads",
        "table 1, mutex and spin lock by length of the section",
        "locks-mutex-spin",
    ),
    (
        "user-level threads",
        "table 5, twenty threads; the question on several cores",
        "locks-many-contenders",
    ),
    ("user-level threads", "text at table 5, sections beyond the quantum", "locks-beyond-quantum"),
    ("user-level threads", "table 3, transfers by size", "async-io-size"),
    ("user-level threads", "table 4, transfers by the work beside them", "async-io-work"),
)
"""The document, its table or figure, and the experiment that repeats it. There is no table 2."""


def overview(results: list[Result]) -> str:
    """A Markdown table of every table and figure of the documents.

    Each row says where it was measured again, and whether the order of two ways agrees
    (`document_findings.agreement`).
    """
    rows = []
    by_name = {each.experiment.name: each for each in results}
    for document, shown, name in DOCUMENTS:
        each = by_name[name]
        same, other, untold = document_findings.agreement(each.points, each.experiment.figure)
        rows.append(
            {
                "document": document,
                "table or figure": shown,
                "experiment": name,
                "sweep": each.sweep.path.name if each.sweep else "not measured yet",
                "not measured yet": ", ".join(servers.lacking(each.points, each.experiment.figure)),
                "printed numbers": each.points.filter(pl.col("origin") == PUBLISHED).height,
                "measured beside": beside(each.points, each.experiment.figure).height,
                "same order": same,
                "other order": other,
                "order not told": untold,
            }
        )
    return tables.markdown(pl.DataFrame(rows))


def orders(results: list[Result]) -> str:
    """How often two ways have the order that was printed."""
    by_name = {each.experiment.name: each for each in results}
    found = [by_name[name] for *_, name in DOCUMENTS]
    agreed = [document_findings.agreement(each.points, each.experiment.figure) for each in found]
    same, other, untold = (sum(column) for column in zip(*agreed, strict=True))
    return (
        f"Of {same + other + untold} places in which two ways were printed and measured, {same} have the printed order "
        f"here, {other} the opposite one, and {untold} are inconclusive, because the intervals overlap."
    )
