"""The command line: `python -m sweep_analysis COMMAND`; `--help` lists the commands.

Messages go to stderr, data to stdout or files.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl

from sweep_analysis.read.errors import InputError, plain
from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.load import Sweep, find_sweep, read_sweep
from sweep_analysis.read.turns import read_turns
from sweep_analysis.say import output, tables
from sweep_analysis.say.boxes import box_sentence, box_table
from sweep_analysis.say.columns import Look
from sweep_analysis.say.sweep_table import SweepTable
from sweep_analysis.say.turns import turns_table
from sweep_analysis.say.validation import difference_sentence, validation_sentences
from sweep_analysis.stats.analysis import FRAMES, Analysis, analyse
from sweep_analysis.stats.differences import differences
from sweep_analysis.stats.validation import Validation, validation

CHECK_FAILED = 1
BAD_INPUT = 2
HOST_NOT_FIT = 4
INTERRUPTED = 130


SHOWN_AS = ("table", "md", "json", "csv")
"""The values of `show --format`, as `cargo runner show` takes it."""

MOST_VALUES = 12
"""If a column lacks the value that the user asked for, the error names at most this many of its values."""

REMEDIES = {
    "claims": (
        "manifest.json",
        "no branch has a pre-registered hypothesis",
        "give branches `claims` in branches.toml before the sweep; its first lines explain the form",
    ),
    **dict.fromkeys(
        ("events", "lines"),
        (
            "",
            "no trial of an instrumented build",
            "sweep again with `--instrument` and a branch of rayon-fork/",
        ),
    ),
    **dict.fromkeys(
        ("spent", "line-waits"),
        (
            "manifest.json",
            "it was measured, not simulated",
            "sweep with `--machine NAME`; `cargo runner list machines`",
        ),
    ),
    **dict.fromkeys(
        ("box", "box-waits"),
        (
            "manifest.json",
            "the sweep is not over a box of machines",
            "sweep with `--box`",
        ),
    ),
    "calibration": (
        "",
        "no branch was measured beside the baseline",
        "measure one, for example with `--experiment calibration`",
    ),
    "predictions": (
        "manifest.json",
        "the sweep did not run the experiment `predictions`",
        "sweep with `--experiment predictions`",
    ),
    "placements": (
        "",
        "no workload ran free and pinned on one branch",
        "measure again with `--placement both`",
    ),
}
"""File, problem and remedy of the error for each table that must have rows; other tables may be empty."""

EXAMPLES = """\
examples (`cargo runner analysis` instead of `python -m sweep_analysis` sets up Python by itself):
  python -m sweep_analysis show latest
  python -m sweep_analysis report latest --output results/reports/mine
  python -m sweep_analysis table latest comparisons --where level=workload --where quantity=cpu --format md
  python -m sweep_analysis table latest claims --format md        # pre-registered hypotheses: held or falsified
  python -m sweep_analysis table latest calibration --format md   # branches and the baseline: equivalent or different
  python -m sweep_analysis table latest predictions --format md   # registered predictions: hit or miss
  python -m sweep_analysis validate SIMULATED MEASURED --format md  # predicted times beside measured ones
  python -m sweep_analysis export SWEEP --format parquet --output tables/

exit codes: 0 all good, 1 a check failed, 2 bad input, 4 host not fit (the output cannot be written)
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    # A file name may have bytes that the terminal's encoding cannot show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    asked = _parser().parse_args(arguments)
    try:
        code = int(asked.run(asked) or 0)
        sys.stdout.flush()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does, which is no failure. Python still flushes stdout
        # at exit, so stdout now leads to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        # An error of reading is an `InputError`, so this error comes from an output that cannot be
        # written.
        where = error.filename or "standard output"
        print(
            f"error: {where}: {error.strerror}; choose another `--output`, or make it writable",
            file=sys.stderr,
        )
        return HOST_NOT_FIT
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sweep_analysis",
        description="Turns the trials of a sweep into speed-ups, comparisons and a report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    report = _command(commands, "report", "write figures, tables and one HTML page", _report)
    report.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder to write; created if missing",
    )

    shown = _command(
        commands,
        "show",
        "print the table of a sweep: medians, ratios to the baseline, and significant results",
        _show,
    )
    shown.add_argument("--format", choices=SHOWN_AS, default="table", help="default: %(default)s")

    table = _prints(commands, "table", "print a table behind the figures", _table)
    table.epilog = "tables:\n" + "\n".join(
        f"  {name:<18}{_first_line(compute)}" for name, compute in FRAMES.items()
    )
    table.formatter_class = argparse.RawDescriptionHelpFormatter
    table.add_argument("name", choices=FRAMES, metavar="NAME", help="one of the tables below")
    table.add_argument(
        "--where",
        type=_condition,
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="only rows with this value, such as `level=workload`; may be repeated",
    )
    table.add_argument("--baseline", metavar="BRANCH", help="default: the sweep's own baseline")

    validated = _prints(
        commands,
        "validate",
        "compare a simulated sweep with a measured one of the same configurations",
        _validate,
    )
    validated.add_argument("measured", type=Path, help="the measured sweep, named in the same way")
    validated.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="also write the figure `validation` and the table into this folder",
    )

    export = _command(commands, "export", "write the tables without the report", _export)
    export.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder to write; created if missing",
    )
    export.add_argument(
        "--format", choices=tables.SUFFIXES, default="parquet", help="default: %(default)s"
    )

    turns = commands.add_parser(
        "turns",
        help="print the table of benchmarks whose builds ran in turns (`cargo xtask upstream --demo`)",
    )
    turns.add_argument("runs", type=Path, help="the file of runs, a JSON line each")
    turns.set_defaults(run=_turns)

    stated = commands.add_parser(
        "statements",
        help="check the generated results in documents (their measured numbers), or write them again",
    )
    stated.add_argument(
        "--write",
        action="store_true",
        help="write the generated results again; without it: exit code 1 if one differs",
    )
    stated.set_defaults(run=_statements)

    executed = commands.add_parser("notebooks", help="run the notebooks and keep their outputs")
    executed.add_argument(
        "--execute", action="store_true", required=True, help="run every notebook in place"
    )
    executed.set_defaults(run=_notebooks)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, run: object
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument(
        "sweep",
        type=Path,
        help="a sweep: its folder, its name in results/sweeps or the start of it, or `latest`",
    )
    command.set_defaults(run=run)
    return command


def _prints(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, run: object
) -> argparse.ArgumentParser:
    command = _command(commands, name, text, run)
    command.add_argument(
        "--format",
        choices=output.FORMATS,
        default="csv",
        help="`json` and `md` name the source of the rows, `csv` names it on stderr (default: %(default)s)",
    )
    return command


def _first_line(compute: Callable[[Analysis], object]) -> str:
    return (compute.__doc__ or "").partition("\n")[0].partition(": rows of")[0].rstrip(".")


def _condition(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"`{text}` is not COLUMN=VALUE")
    return column, value


def _read(asked: argparse.Namespace, *, leaves_out: bool = False) -> Sweep:
    return read_sweep(find_sweep(asked.sweep), leaves_out=leaves_out)


def _report(asked: argparse.Namespace) -> None:
    from sweep_analysis.report.page import write_report  # noqa: PLC0415 - drawing takes 100 MB that no other command needs

    sweep = _read(asked)
    if sweep.points:
        raise InputError(
            sweep.path,
            "the sweep is over a box of machines, which has no page",
            "print its signs with `show`, or `table SWEEP box`",
        )
    page = write_report(sweep, asked.output)
    for note in sweep.notes:
        print(plain(f"note: {note}"), file=sys.stderr)
    print(page)


def _show(asked: argparse.Namespace) -> None:
    # `leaves_out`: one broken record must not hide the other records.
    sweep = _read(asked, leaves_out=True)
    for note in sweep.notes:
        print(plain(f"note: {note}"), file=sys.stderr)
    is_terminal = sys.stdout.isatty()
    look = Look(
        shutil.get_terminal_size().columns if is_terminal else None,
        has_colour=is_terminal and not os.environ.get("NO_COLOR"),
        is_markdown=asked.format == "md",
    )
    if sweep.points:  # times of one machine of a box prove nothing, so only signs are printed
        analysis = analyse(sweep)
        frame = analysis.box
        told = [
            f"{box_sentence(frame, branch, str(analysis.baseline))}."
            for branch in frame["branch"].unique(maintain_order=True)
        ]
        filled = [textwrap.fill(sentence, break_on_hyphens=False) for sentence in told]
        text = "\n".join([tables.markdown(box_table(frame)), *filled, ""])
    else:
        table = SweepTable(sweep)
        frame, text = table.rows, table.text(look)
    if asked.format == "csv":
        print(frame.write_csv(), end="")
    elif asked.format == "json":
        print(msgspec.json.format(msgspec.json.encode(frame.to_dicts())).decode())
    else:
        print(plain(text, keeps_colours=look.has_colour), end="")


def _turns(asked: argparse.Namespace) -> None:
    print(turns_table(read_turns(asked.runs), Look()), end="")


def _table(asked: argparse.Namespace) -> None:
    sweep = _read(asked)
    analysis = analyse(sweep, asked.baseline)
    frame = analysis.frame(asked.name)
    if frame.is_empty() and asked.name == "comparisons":
        known = ", ".join(name for name in sweep.branches if name in analysis.times["branch"])
        what = f"no branch has a good trial in a block with `{analysis.baseline or 'a baseline'}`"
        remedy = f"choose another `--baseline`: {known}" if known else "run the sweep again"
        raise InputError(sweep.path, what, remedy)
    if frame.is_empty() and asked.name in REMEDIES:
        file, what, remedy = REMEDIES[asked.name]
        raise InputError(sweep.path / file, what, remedy)
    for column, value in asked.where:
        frame = _only(sweep, asked.name, frame, column, value)
    read = tables.for_people(analysis, asked.name, frame)
    output.show(sweep, asked.name, frame, asked.format, read=read)


def _only(sweep: Sweep, name: str, frame: pl.DataFrame, column: str, value: str) -> pl.DataFrame:
    """The rows of the table `name` with this value in a column.

    Raises:
        InputError: there is no such column, or no such value in it.
    """
    if column not in frame.columns:
        raise InputError(
            sweep.path, f"`{name}` has no column `{column}`", f"it has {', '.join(frame.columns)}"
        )
    known = frame[column].cast(pl.String)
    kept = frame.filter(known == value)
    if kept.is_empty():
        values = ", ".join(sorted(set(known.drop_nulls()))[:MOST_VALUES])
        raise InputError(
            sweep.path, f"no row of `{name}` has `{column}={value}`", f"it is {values}"
        )
    return kept


def _validate(asked: argparse.Namespace) -> None:
    simulated, measured = _read(asked), read_sweep(find_sweep(asked.measured))
    found = validation(simulated, measured)
    cells = with_panel(found.cells)
    if asked.output is not None:
        _write_validation(found, simulated, asked.output)
    output.show(
        simulated, "validation", found.cells, asked.format, read=tables.validation_table(cells)
    )
    beside = sys.stdout if asked.format == "md" else sys.stderr
    said = validation_sentences(found, simulated, measured)
    analyses = analyse(simulated), analyse(measured)
    if analyses[0].baseline and found.cells["branch"].n_unique() > 1:
        apart = with_panel(differences(*analyses))
        print("\n" + plain(tables.markdown(tables.differences_table(apart))), file=beside)
        said.insert(0, difference_sentence(apart, analyses[0].baseline))
    print("\n" + plain("\n".join(said)), file=beside)


def _write_validation(found: Validation, simulated: Sweep, folder: Path) -> None:
    from sweep_analysis.draw import svg  # noqa: PLC0415 - as in `_report`
    from sweep_analysis.draw.palette import LIGHT  # noqa: PLC0415
    from sweep_analysis.draw.validation_plots import validation_figure  # noqa: PLC0415
    from sweep_analysis.report.page import write_figures  # noqa: PLC0415

    chart = validation_figure(found, str(simulated.machine), LIGHT)
    write_figures({"validation": {"validation": svg.draw(chart)}}, folder)
    tables.write(found.cells, folder / "validation.csv")


def _export(asked: argparse.Namespace) -> None:
    from sweep_analysis.report.page import write_tables  # noqa: PLC0415 - as in `_report`

    write_tables(analyse(_read(asked)), asked.output, [asked.format])
    print(asked.output)


def _statements(asked: argparse.Namespace) -> int:
    from sweep_analysis.report import statements  # noqa: PLC0415 - as in `_report`

    code = 0
    for file, text in (it for stated in statements.FILES for it in statements.made(stated).items()):
        if file.is_file() and text == file.read_text(encoding="utf-8"):
            continue
        if asked.write:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        else:
            code = CHECK_FAILED
        print(
            f"{file}: {'written again' if asked.write else 'a generated result is out of date; run with `--write`'}"
        )
    return code


def _notebooks(_: argparse.Namespace) -> None:
    from sweep_analysis.report import notebooks  # noqa: PLC0415 - no other command needs IPython

    notebooks.execute_all()


if __name__ == "__main__":
    sys.exit(main())
