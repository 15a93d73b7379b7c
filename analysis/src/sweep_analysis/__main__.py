"""The command line: `python -m sweep_analysis report SWEEP`. Messages go to stderr, data to stdout or files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec
import polars as pl

from sweep_analysis import notebooks, tables
from sweep_analysis.calibration import CELL_MARGIN, MEAN_MARGIN, calibration
from sweep_analysis.compare import FIGURES, compare
from sweep_analysis.errors import InputError
from sweep_analysis.events import event_rates, line_rates
from sweep_analysis.findings import analyse, cautions
from sweep_analysis.labels import count, percent, with_panel
from sweep_analysis.load import Sweep, read_sweep
from sweep_analysis.report import write_report, write_tables
from sweep_analysis.speedup import DEFINITIONS, trial_times
from sweep_analysis.study import TIME_UNITS, read_study

LEVELS = ("cell", "workload", "overall")

CHECK_FAILED = 1
BAD_INPUT = 2
HOST_NOT_FIT = 4

EXAMPLES = """\
examples:
  python -m sweep_analysis report results/sweeps/2026-01-31-host-abc1234 --output results/reports/mine
  python -m sweep_analysis speedup SWEEP --definition own --format md
  python -m sweep_analysis compare SWEEP --baseline packed --level workload
  python -m sweep_analysis calibration SWEEP --branch packed --figure cpu
  python -m sweep_analysis events SWEEP --by line --format md
  python -m sweep_analysis export SWEEP --format parquet --output tables/
  python -m sweep_analysis report 12-07-2022 --layout study --time-unit ns --output report/
  python -m sweep_analysis notebooks --execute

exit codes: 0 all good, 1 a branch is not calibrated, 2 bad input, 4 host not fit (nothing can be written there)
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    asked = _parser().parse_args(arguments)
    try:
        return int(asked.run(asked) or 0)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        # Reading is told by `InputError`; what is left is a place that cannot be written.
        where = error.filename or "standard output"
        print(f"error: {where}: {error.strerror}; choose another `--output`, or mend that", file=sys.stderr)
        return HOST_NOT_FIT


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

    compared = _command(commands, "compare", "print every branch's verdict against the baseline", _compare)
    compared.add_argument("--baseline", metavar="BRANCH", help="default: the one that the sweep names")
    compared.add_argument(
        "--level",
        choices=[*LEVELS, "pooled"],
        default="cell",
        help="`pooled`: workload and overall (default: %(default)s)",
    )
    _takes_figure(compared)
    compared.add_argument(
        "--format",
        choices=["csv", "md", "json"],
        default="csv",
        help="`json` also has what cannot be concluded (default: %(default)s)",
    )

    calibrated = _command(
        commands, "calibration", "check that a branch costs what the baseline costs, cell by cell", _calibration
    )
    calibrated.add_argument("--branch", default="packed", help="default: %(default)s")
    calibrated.add_argument("--baseline", metavar="BRANCH", help="default: the one that the sweep names")
    _takes_figure(calibrated)

    events = _command(commands, "events", "print what instrumented builds counted, per unit of work", _events)
    events.add_argument(
        "--by",
        choices=["event", "line"],
        default="event",
        help="every kind of event, or accesses to each cache line of the counters (default: %(default)s)",
    )
    events.add_argument("--format", choices=["csv", "md"], default="csv", help="default: %(default)s")

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


def _takes_figure(command: argparse.ArgumentParser) -> None:
    text = "wall time or CPU time per unit of work (default: %(default)s)"
    command.add_argument("--figure", choices=FIGURES, default="time", help=text)


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
    frame = compare(trial_times(sweep), baseline, asked.figure)
    levels = ["workload", "overall"] if asked.level == "pooled" else [asked.level]
    frame = frame.filter(pl.col("level").is_in(levels))
    if asked.format == "json":
        found = {"comparisons": with_panel(frame).to_dicts(), "cautions": cautions(analyse(sweep, baseline))}
        print(msgspec.json.encode(found).decode())
    else:
        _print(frame, asked.format)


def _calibration(asked: argparse.Namespace) -> int:
    sweep = _read(asked)
    baseline = asked.baseline or sweep.baseline
    found = calibration(trial_times(sweep), baseline, asked.branch, asked.figure) if baseline else None
    if found is None:
        raise InputError(
            asked.sweep,
            f"`{asked.branch}` cannot be calibrated against `{baseline}`: they share no cell, or there is no A/A twin",
            f"choose `--branch` and `--baseline` among {', '.join(sweep.branches)}, or sweep again with the twin",
        )
    print(tables.markdown(tables.calibration_table(with_panel(found.cells))), end="")
    mean = found.mean.row(0, named=True)
    low, high = percent(mean["ratio_low"]), percent(mean["ratio_high"])
    print(
        f"\n{asked.branch} over {baseline}, {asked.figure}: geometric mean of {count(mean['cells'], 'cell')}"
        f" {percent(mean['time_ratio'])} ({low} to {high}), margin ±{MEAN_MARGIN:.0%};"
        f" {count(int((~found.cells['is_near']).sum()), 'cell')} outside the A/A band plus {CELL_MARGIN:.0%}."
    )
    return 0 if found.is_near else CHECK_FAILED


def _events(asked: argparse.Namespace) -> None:
    sweep = _read(asked)
    frame = (event_rates if asked.by == "event" else line_rates)(sweep).collect()
    if frame.is_empty():
        raise InputError(
            asked.sweep, "no trial was counted", "sweep again with `--instrument` and a branch of rayon-fork/"
        )
    _print(frame, asked.format)


def _export(asked: argparse.Namespace) -> None:
    write_tables(analyse(_read(asked)), asked.output, [asked.format])
    print(asked.output)


def _print(frame: pl.DataFrame, form: str) -> None:
    print(tables.markdown(frame) if form == "md" else frame.write_csv(), end="")


if __name__ == "__main__":
    sys.exit(main())
