"""The command line: `python -m sweep_analysis report SWEEP`. Messages go to stderr, data to stdout or files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl

from sweep_analysis import notebooks, tables
from sweep_analysis.errors import InputError
from sweep_analysis.findings import analyse
from sweep_analysis.load import Sweep, read_sweep
from sweep_analysis.report import write_report, write_tables
from sweep_analysis.speedup import DEFINITIONS
from sweep_analysis.study import TIME_UNITS, read_study

BAD_INPUT = 2
HOST_NOT_FIT = 4

EXAMPLES = """\
examples:
  python -m sweep_analysis report results/sweeps/2026-01-31-host-abc1234 --output results/reports/mine
  python -m sweep_analysis speedup SWEEP --definition own --format md
  python -m sweep_analysis compare SWEEP --baseline packed --level workload
  python -m sweep_analysis export SWEEP --format parquet --output tables/
  python -m sweep_analysis report 12-07-2022 --layout study --time-unit ns --output report/
  python -m sweep_analysis notebooks --execute

exit codes: 0 all good, 2 bad input, 4 host not fit (nothing can be written there)
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    asked = _parser().parse_args(arguments)
    try:
        asked.run(asked)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        # Reading is told by `InputError`; what is left is a place that cannot be written.
        where = error.filename or "standard output"
        print(f"error: {where}: {error.strerror}; choose another `--output`, or mend that", file=sys.stderr)
        return HOST_NOT_FIT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sweep_analysis",
        description="Turns the trials of a sweep into speed-ups, comparisons and a report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    report = _command(commands, "report", "write figures, tables and one HTML page", _report)
    report.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder to write, made if needed")

    speedup = _command(commands, "speedup", "print speed-ups with intervals", _speedup)
    speedup.add_argument("--definition", choices=DEFINITIONS, default="sequential", help="default: %(default)s")
    speedup.add_argument("--format", choices=["csv", "md"], default="csv", help="default: %(default)s")

    compare = _command(commands, "compare", "print every branch's verdict against the baseline", _compare)
    compare.add_argument("--baseline", metavar="BRANCH", help="default: the one that the sweep names")
    compare.add_argument(
        "--level", choices=["cell", "workload", "overall"], default="cell", help="default: %(default)s"
    )
    compare.add_argument("--format", choices=["csv", "md"], default="csv", help="default: %(default)s")

    export = _command(commands, "export", "write the tables alone", _export)
    export.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder to write, made if needed")
    export.add_argument("--format", choices=tables.SUFFIXES, default="parquet", help="default: %(default)s")

    executed = commands.add_parser("notebooks", help="run the notebooks and keep their outputs")
    executed.add_argument("--execute", action="store_true", required=True, help="run every notebook in place")
    executed.add_argument(
        "--sweep", type=Path, help="sweep to show; default: the committed one that each notebook names"
    )
    executed.set_defaults(run=lambda asked: notebooks.execute_all(asked.sweep))
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, run: object
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("sweep", type=Path, help="folder of the sweep")
    command.add_argument(
        "--layout",
        choices=["sweep", "study"],
        default="sweep",
        help="`study`: files named speedup-<branch>-<threads>-threads.csv (default: %(default)s)",
    )
    command.add_argument("--time-unit", choices=TIME_UNITS, help="unit of a column `time` in the study's layout")
    command.set_defaults(run=run)
    return command


def _read(asked: argparse.Namespace) -> Sweep:
    if asked.layout == "study":
        return read_study(asked.sweep, asked.time_unit)
    return read_sweep(asked.sweep)


def _report(asked: argparse.Namespace) -> None:
    sweep = _read(asked)
    page = write_report(sweep, asked.output)
    for note in sweep.notes:
        print(f"note: {note}", file=sys.stderr)
    print(page)


def _speedup(asked: argparse.Namespace) -> None:
    sweep = _read(asked)
    frame = analyse(sweep).speedups.filter(pl.col("definition") == asked.definition)
    if frame.is_empty():
        raise InputError(
            asked.sweep,
            f"no speed-up {DEFINITIONS[asked.definition]}: its reference has no good trial",
            "choose another `--definition`, or run the reference",
        )
    _print(frame, asked.format)


def _compare(asked: argparse.Namespace) -> None:
    sweep = _read(asked)
    baseline = asked.baseline or sweep.baseline
    if baseline not in sweep.branches:
        raise InputError(
            asked.sweep,
            f"baseline `{baseline}` has no trial" if baseline else "no branch is the baseline",
            f"choose one with `--baseline`: {', '.join(sweep.branches)}",
        )
    frame = analyse(sweep, baseline).comparisons
    _print(frame.filter(pl.col("level") == asked.level), asked.format)


def _export(asked: argparse.Namespace) -> None:
    write_tables(analyse(_read(asked)), asked.output, [asked.format])
    print(asked.output)


def _print(frame: pl.DataFrame, form: str) -> None:
    print(tables.markdown(frame) if form == "md" else frame.write_csv(), end="")


if __name__ == "__main__":
    sys.exit(main())
