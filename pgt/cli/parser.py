"""The command line: python -m pgt COMMAND, a command for every step from data to prediction.

What a command does is imported when it runs, so that ``--help`` is there at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from pgt.cli import values
from pgt.cli.choices import ENGINES, MODELS, PRESETS, SPLITS, VISITS
from pgt.cli.examples import EXAMPLES
from pgt.config import PARTS
from pgt.errors import DataError, DataNote


def parser() -> argparse.ArgumentParser:
    """The arguments of every command."""
    top = argparse.ArgumentParser(
        prog="pgt", description="Next-location prediction with the Pointer-Generator Transformer.",
        epilog=EXAMPLES[""], formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    choices = top.add_subparsers(metavar="COMMAND", required=True)

    def command(where: str, text: str) -> argparse.ArgumentParser:
        module, _, name = where.partition(".")
        sub = choices.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", epilog=EXAMPLES[name],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        sub.set_defaults(run=(module, name))
        return sub

    sub = command("model.city", "simulate a town and the visits of its people")
    sub.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    sub.add_argument("--preset", choices=("small", "large"), default="small",
                     help="how big (default: %(default)s)")  # fmt: skip
    sub.add_argument("--seed", type=values.seed, default=7, help="(default: %(default)s)")

    sub = command("gps.visits", "find the visits in recorded positions (GPS)")
    sub.add_argument(
        "fixes", type=values.place, metavar="FIXES",
        help="GeoLife (archive or folder), GPX, .csv or .parquet, or a folder of such files",
    )  # fmt: skip
    sub.add_argument("--out", type=Path, required=True, metavar="OUT", help=".csv or .parquet")
    sub.add_argument("--timezone", metavar="ZONE",
                     help="the local zone, such as Asia/Shanghai (default: UTC)")  # fmt: skip
    sub.add_argument(
        "--haversine-order", choices=("right", "swapped"), default="right",
        help="(latitude, longitude), or the other way round as in the published figures "
        "(default: %(default)s)",
    )  # fmt: skip
    sub.add_argument("--everybody", action="store_true",
                     help="keep people however briefly they were tracked")  # fmt: skip
    sub.add_argument("--eps", type=values.metres, default=20.0, metavar="METRES",
                     help="staypoints this near are neighbours (default: %(default)g)")  # fmt: skip
    sub.add_argument("--min-samples", type=values.positive, default=2,
                     help="staypoints that found a location (default: %(default)s)")  # fmt: skip
    sub.add_argument(
        "--columns", type=values.columns, metavar="OURS=THEIRS,...", help="names in your table"
    )
    sub.add_argument("--time-unit", choices=("s", "ms"), default="s",
                     help="of times that are numbers (default: %(default)s)")  # fmt: skip
    sub.add_argument("--person", metavar="NAME", help="all GPX files are this one person's")
    sub.add_argument("--quiet", action="store_true", help="no progress bar")
    _engine(sub, "many people", "reads several people at a time")

    sub = command("model.download", "fetch GeoLife from Microsoft Research, verified")
    sub.add_argument("what", choices=("geolife",), metavar="geolife", help="the data set")
    sub.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    sub.add_argument("--accept-licence", action="store_true", help="you have read its terms")
    sub.add_argument("--url", help="should it have moved (default: Microsoft's address)")
    sub.add_argument("--quiet", action="store_true", help="no progress bar")

    sub = command(
        "model.prepare", "check a table of visits, split it by days and count its windows"
    )
    sub.add_argument("input", type=values.place, metavar="INPUT",
                     help=".csv, .parquet, or a folder (city, windows, Parquet)")  # fmt: skip
    sub.add_argument("out", type=values.place, metavar="OUT",
                     help="the visits table, .parquet (a CSV would lose the zone)")  # fmt: skip
    _zone(sub)
    sub.add_argument(
        "--columns", type=values.columns, metavar="OURS=THEIRS,...", help="names in your file"
    )
    sub.add_argument("--checkins", action="store_true", help="visits have no end: end = start")
    sub.add_argument("--drop-duplicates", action="store_true", help="drop repeated visits")
    _history(sub, "; a table keeps all visits, its counts follow")
    group = _engine(
        sub, "tables larger than memory", "works through buckets of people; OUT is then a folder "
        "of windows, INPUT may have * or be an address",
    )  # fmt: skip
    group.add_argument("--memory", metavar="SIZE", help="for sorting the table (default: 1GB)")
    group.add_argument("--buckets", type=values.positive, help="(default: one for 200,000 visits)")
    _protocol(sub)

    sub = command("model.train", "fit the predictor to your people, or train the book's PGT")
    sub.add_argument("visits", type=values.place, metavar="VISITS", help=VISITS)
    sub.add_argument("--out", type=Path, required=True, metavar="MODEL.safetensors")
    sub.add_argument("--model", choices=MODELS,
                     help="the predictor, a rule, or PGT (default: contextual, the predictor; pgt, "
                     "as soon as one of its options is given: those below)")  # fmt: skip
    sub.add_argument("--seed", type=values.seed, default=42, help="(default: %(default)s)")
    _zone(sub, person=True)
    sub.add_argument("--preset", choices=PRESETS, default="default",
                     help="shape and training (default: %(default)s)")  # fmt: skip
    sub.add_argument("--epochs", type=values.positive, help="at most so many (default: 50)")
    sub.add_argument("--target-time", choices=("unknown", "day"),
                     help="what it knows of the next visit's time (default: that of --preset: day "
                     "for diy and geolife, else unknown)")  # fmt: skip
    _protocol(sub)
    sub.add_argument("--without", type=values.parts, default=(), metavar="PART,...",
                     help="leave parts out (default: none): " + ", ".join(PARTS))  # fmt: skip
    sub.add_argument(
        "--checkpoint", type=Path, metavar="FILE",
        help="where the run is kept until it is done (default: beside --out)",
    )  # fmt: skip
    sub.add_argument("--fresh", action="store_true", help="start anew, whatever the checkpoint")
    sub.add_argument(
        "--device", type=values.device, help="cpu or cuda (default: cuda if it is there)"
    )
    sub.add_argument("--quiet", action="store_true", help="no progress bar")
    _history(sub)
    # Who gives one of these means PGT: the predictor has no such options.
    own = ("preset", "epochs", "target_time", "protocol", "without", "checkpoint", "fresh",
           "device", "days", "min_visits")  # fmt: skip
    sub.set_defaults(of_pgt={name: sub.get_default(name) for name in own})

    sub = command("answers.evaluate", "measure a model, by group and with intervals")
    sub.add_argument("visits", type=values.place, metavar="VISITS", help=VISITS)
    sub.add_argument("model", type=Path, nargs="?", metavar="MODEL",
                     help="(default: the predictor as it comes)")  # fmt: skip
    _zone(sub, person=True)
    sub.add_argument("--split", choices=SPLITS, default="test",
                     help="whose windows (default: %(default)s)")  # fmt: skip
    _same_days(sub)
    sub.add_argument("--baselines", action="store_true", help="put the baselines beside it")
    sub.add_argument("--json", type=Path, metavar="OUT", help="also write the rows as JSON")
    _engine(sub, "prepared folders", "ranks the buckets of VISITS, which 'prepare --engine' wrote")

    sub = command("answers.predict", "predict where people go next")
    _asking(sub)
    sub.add_argument("--user", metavar="ID", help="only this person")
    sub.add_argument("--top", type=values.positive, default=5, help="(default: %(default)s)")
    _same_days(sub)
    sub.add_argument("--out", type=Path, metavar="CSV", help="write a table instead of printing")
    _engine(sub, "prepared folders", "predicts the buckets of VISITS, see 'prepare --engine'")

    sub = command("predictor.explain", "say what spoke for a person's likeliest places")
    _asking(sub)
    sub.add_argument("--user", metavar="ID", required=True, help="whose")
    sub.add_argument("--top", type=values.positive, default=3,
                     help="places (default: %(default)s)")  # fmt: skip
    sub.add_argument("--reasons", type=values.positive, default=5,
                     help="of each (default: %(default)s)")  # fmt: skip

    sub = command("predictor.map", "draw a person's places and the guesses on a map, as a page")
    _asking(sub)
    sub.add_argument("--user", metavar="ID", required=True, help="whose")
    sub.add_argument("--top", type=values.positive, default=5,
                     help="guesses (default: %(default)s)")  # fmt: skip
    sub.add_argument("--streets", action="store_true",
                     help="show streets at once; their server learns the area")  # fmt: skip
    sub.add_argument("--out", type=Path, required=True, metavar="FILE.html")

    sub = command("predictor.live", "write a page in which the predictor answers, offline")
    sub.add_argument("visits", type=values.place, nargs="?", metavar="VISITS",
                     help="whom it begins with (default: a simulated person)")  # fmt: skip
    sub.add_argument("model", type=Path, nargs="?", metavar="MODEL",
                     help="(default: the predictor as it comes)")  # fmt: skip
    _zone(sub, person=True)
    sub.add_argument("--user", metavar="ID", help="only this person's visits")
    sub.add_argument("--out", type=Path, required=True, metavar="FILE.html")

    sub = command("predictor.pretrain", "train the predictor anew, on simulated people alone")
    sub.add_argument("--out", type=Path, required=True, metavar="MODEL.safetensors")
    sub.add_argument("--seed", type=values.seed, default=42, help="(default: %(default)s)")
    sub.add_argument("--workers", type=values.positive, default=1,
                     help="processes that simulate (default: %(default)s)")  # fmt: skip
    sub.add_argument("--quiet", action="store_true", help="no progress bar")

    sub = command("export.export", "write a model for the web (JSON, a live page) or ONNX")
    sub.add_argument(
        "--model", type=Path, metavar="FILE", help="a trained model (default: that of the town)"
    )
    sub.add_argument("--out", type=Path, metavar="FILE.json", help="weights and vocabulary")
    sub.add_argument("--html", type=Path, metavar="FILE.html", help="the live model as a page")
    sub.add_argument("--visits", type=Path, metavar="VISITS",
                     help="the table that the model was trained on, for the page")  # fmt: skip
    sub.add_argument("--onnx", type=Path, metavar="FILE.onnx", help="for onnxruntime and others")
    return top


def _asking(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("visits", type=values.place, metavar="VISITS", help=VISITS)
    sub.add_argument("model", type=Path, nargs="?", metavar="MODEL",
                     help="(default: the predictor as it comes)")  # fmt: skip
    _zone(sub, person=True)
    sub.add_argument("--at", type=values.moment, metavar="TIME",
                     help="after the last visit before this moment, local time if it names no "
                     "offset (default: after the last visit); the predictor then knows that the "
                     "next visit begins at it")  # fmt: skip


def _zone(sub: argparse.ArgumentParser, person: bool = False) -> None:
    sub.add_argument("--timezone", metavar="ZONE", help="the local zone, such as "
                     "Europe/Vienna (default: that of the times)")  # fmt: skip
    if person:
        sub.add_argument("--person", metavar="NAME", help="all GPX files are this one person's")


def _history(sub: argparse.ArgumentParser, note: str = "") -> None:
    sub.add_argument(
        "--days", type=values.positive, default=7, help=f"of history (default: %(default)s){note}"
    )
    sub.add_argument("--min-visits", type=values.positive, default=3,
                     help=f"in a window (default: %(default)s){note}")  # fmt: skip


def _protocol(sub: argparse._ActionsContainer) -> None:
    sub.add_argument(
        "--protocol", choices=("published", "exact"), default="exact",
        help="places that training has not seen are one 'unknown', or themselves "
        "(default: %(default)s)",
    )  # fmt: skip


def _engine(sub: argparse.ArgumentParser, title: str, text: str) -> argparse._ArgumentGroup:
    group = sub.add_argument_group(title)
    group.add_argument("--engine", choices=ENGINES, help=text)
    group.add_argument("--workers", type=values.positive, help="processes (default: 1)")
    group.add_argument("--address", metavar="tcp://HOST:PORT", help="of a Dask scheduler that runs")
    return group


def _same_days(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--days", type=values.positive,
        help="of history; the model refuses other days than its own (default: its own)",
    )  # fmt: skip


def _say(
    message: Warning | str, category: type[Warning], filename: str, lineno: int,
    file: TextIO | None = None, line: str | None = None,
) -> None:  # fmt: skip
    """Show a note on the data as a line of ours, and any other warning as Python does."""
    shown = warnings.formatwarning(message, category, filename, lineno, line).rstrip()
    if issubclass(category, DataNote):
        shown = f"pgt: note: {values.plain(message)}"
    print(shown, file=file or sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # ids may be in letters that a terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    args = parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataNote)
            warnings.showwarning = _say
            module, name = args.run
            getattr(import_module(f"pgt.cli.{module}"), name)(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        about = ": ".join(str(part) for part in (error.filename, error.strerror) if part)
        print(f"pgt: {values.plain(about or ' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    except (DataError, FloatingPointError) as error:
        print(f"pgt: {values.plain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"\npgt: stopped; {stop}" if str(stop) else "\npgt: stopped", file=sys.stderr)
        return 130
    return 0
