"""The command line: ``python -m pgt COMMAND``, from files that people have to answers.

What a command needs is imported when it runs, so that ``--help`` is there at once.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pgt
from pgt.errors import DataError, DataNote

if TYPE_CHECKING:
    import pandas as pd

    from pgt.predictor.predictor import NextLocation
    from pgt.visits import CheckedVisits

EXAMPLES = """examples:
  python -m pgt visits my_tracks/ --person me --out visits.csv  a folder of GPX files
  python -m pgt visits checkins.csv --columns user_id=who,location_id=venue --out visits.parquet
  python -m pgt predict Timeline.json                           your own, from your phone
  python -m pgt predict visits.csv --timezone Europe/Vienna     where does everybody go next?
  python -m pgt predict visits.csv --at "2024-05-07 09:00"      and where at nine on Tuesday?
  python -m pgt explain visits.csv --user 7                     and why?
  python -m pgt map visits.csv --user 7 --out map.html          on a map
  python -m pgt evaluate visits.csv                             how often is that right?
  python -m pgt train visits.csv --out mine.safetensors         fit it to these people
  python -m pgt predict visits.csv --model mine.safetensors --out next.csv
  python -m pgt city visits.csv                                 a simulated town to try it on

COMMAND --help tells more of each. Nothing leaves this machine."""
SUFFIXES = {"map": (".html",), "train": (".safetensors",)}  # of what is written, if no table
OF_POSITIONS = ("eps", "min_samples", "max_gap")  # settings of `pgt.readers.gps.visits`


def parser() -> argparse.ArgumentParser:
    """The arguments of every command."""
    top = argparse.ArgumentParser(
        prog="pgt", description="Where people go next.", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"pgt {pgt.__version__}")
    choices = top.add_subparsers(metavar="COMMAND", required=True)

    def command(run: Any, text: str, more: str = "") -> Any:
        sub = choices.add_parser(name_of(run), help=text, description=f"{text.capitalize()}.{more}")
        sub.set_defaults(run=run)
        if run is not run_city:
            about_visits(sub.add_argument, with_model=run is not run_visits)
        return sub.add_argument

    def about_visits(add: Any, *, with_model: bool) -> None:
        add("visits", type=Path, metavar="VISITS",
            help="a table of visits, an export, or recorded positions")  # fmt: skip
        add("--timezone", metavar="ZONE",
            help="where the places are, such as Europe/Vienna (default: the clocks of the file, or "
            "found from the coordinates)")  # fmt: skip
        add("--file-timezone", metavar="ZONE",
            help="the clock of times without an offset, if it is another")  # fmt: skip
        add("--columns", type=columns, action=Gathering, metavar="OURS=THEIRS,...", default={},
            help="names in your file (usual ones are known)")  # fmt: skip
        add(
            "--person",
            metavar="NAME",
            help="whose it is; overrides what was guessed, not a column user_id",
        )
        for kind, what in (("fixes", "recorded positions"), ("visits", "visits")):
            add(f"--{kind}", dest="kind", action="store_const", const=kind,
                help=f"the rows are {what} (default: told by the columns)")  # fmt: skip
        if with_model:
            add("--model", type=Path, metavar="FILE",
                help="of 'train' (default: the predictor as it comes)")  # fmt: skip

    def about_question(add: Any, whom: str, top: int) -> None:
        add("--user", metavar="ID", help=whom)
        add("--at", metavar="TIME", help="when the next visit begins; later visits are not used "
            "(default: any time after the last visit)")  # fmt: skip
        add("--top", type=positive_int, default=top, help="places (default: %(default)s)")

    whose = "whose (may be left out if the table is one person's)"
    add = command(run_visits, "read any file, find the visits in recorded positions, write a table")
    add("--out", type=Path, required=True, metavar="FILE", help=".csv or .parquet")
    add("--eps", type=float, metavar="METRES",
        help="stays this near are at one place (default: 20)")  # fmt: skip
    add("--min-samples", type=positive_int, help="stays that make a place (default: 2)")
    add("--max-gap", type=float, metavar="HOURS",
        help="longest silence that is still a stay (default: 72)")  # fmt: skip

    add = command(run_predict, "say where everybody goes next")
    about_question(add, "only this person", 5)
    add("--out", type=Path, metavar="FILE", help="write a table: .csv or .parquet")

    add = command(run_explain, "say what spoke for a person's likeliest places",
                  " An effect is the probability with a fact minus that without it.")  # fmt: skip
    about_question(add, whose, 3)
    add("--reasons", type=positive_int, default=5, help="of each (default: %(default)s)")

    add = command(run_map, "draw a person's places and the guesses on a map, as a page",
                  " It holds where this person has been: think before you share it.")  # fmt: skip
    about_question(add, whose, 5)
    add("--out", type=Path, required=True, metavar="FILE.html")
    add("--streets", action="store_true",
        help="show streets at once; a tile server then learns the area")  # fmt: skip

    command(run_evaluate, "measure how often the predictor is right, the rules beside it")

    add = command(run_train, "fit the predictor to your people", " The networks are kept as they "
                  "are, tuned, or trained anew: the validation days decide.")  # fmt: skip
    add("--out", type=Path, required=True, metavar="MODEL.safetensors")
    add("--seed", type=int, default=42, help="(default: %(default)s)")
    add("--quiet", action="store_true", help="no progress bars")

    add = command(run_city, "write the visits of a simulated town, to try things on")
    add("out", type=Path, metavar="FILE", help=".csv or .parquet")
    return top


def name_of(run: Any) -> str:
    """The name of the command that a function runs."""
    return str(run.__name__.removeprefix("run_"))


def positive_int(text: str) -> int:
    """A whole number of at least 1 that is not absurd."""
    value = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return value


class Gathering(argparse.Action):
    """An option that may be given several times: what it names is put together."""

    def __call__(self, _: Any, to: argparse.Namespace, values: Any, option: Any = None) -> None:
        setattr(to, self.dest, getattr(to, self.dest) | values)


def columns(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(ours.strip() and theirs.strip() for ours, _, theirs in pairs):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form OURS=THEIRS,..., such as user_id=uid,location_id=place"
        )
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def run_visits(args: argparse.Namespace) -> None:
    table = visits_asked_about(args).table
    pgt.readers.tables.write(table, args.out)
    first, last = table.started_at.min(), table.started_at.max()
    print(f"{summary(table)}; {first:%Y-%m-%d} to {last:%Y-%m-%d}, written to {args.out}")


def summary(table: pd.DataFrame) -> str:
    people, places = table.user_id.nunique(), table.location_id.nunique()
    return f"visits: {len(table):,}, people: {people:,}, places: {places:,}"


def run_predict(args: argparse.Namespace) -> None:
    visits = visits_asked_about(args)
    model = opened(args)
    answer = model.predict(visits, top=args.top, at=args.at, user=args.user)
    if args.out:
        pgt.readers.tables.write(answer, args.out)
        print(f"{answer.user_id.nunique()} people; written to {args.out}")
        return
    for user, part in answer.groupby("user_id", sort=False):
        first = part.iloc[0]
        began = moment_with_clock(visits.table, user, first.after, args.timezone)
        print(f"user {for_terminal(user)}, after the visit of {began}")
        for row in part.itertuples():
            print(f"  {row.rank}. {for_terminal(row.location_id)}  {row.probability:.3f}")
        print(f"  -  somewhere new  {first.somewhere_new:.3f}")


def moment_with_clock(table: pd.DataFrame, user: Any, at: pd.Timestamp, asked: str | None) -> str:
    """When a person's visit began, and by which clock unless that was asked for."""
    if "utc_offset" in table.columns:  # each visit has its own
        minutes = int(table.utc_offset[(table.user_id == user) & (table.started_at == at)].iloc[-1])
        at = at.tz_convert(datetime.timezone(datetime.timedelta(minutes=minutes)))
    return f"{at:%Y-%m-%d %H:%M}" + ("" if asked else f" ({for_terminal(at.tz)})")


def run_explain(args: argparse.Namespace) -> None:
    """Print what spoke for a person's likeliest places, then what spoke against them."""
    visits = visits_asked_about(args)
    model = opened(args)
    reasons = model.explain(visits, person(args, visits), at=args.at, top=args.top)
    for place, part in reasons.groupby("location_id", sort=False):
        first = part.iloc[0]
        print(f"{for_terminal(place)}: {first.probability:.3f}, {first.visits} "
              f"{'visit' if first.visits == 1 else 'visits'}")  # fmt: skip
        for sign in (1, -1):
            strength = (sign * part.effect).nlargest(args.reasons)
            for row, points in strength[strength >= 0.05].items():
                print(f"  {sign * points:+6.1f} points  {part.about[row]}")


def run_map(args: argparse.Namespace) -> None:
    visits = visits_asked_about(args)
    model = opened(args)
    options = {"at": args.at, "top": args.top, "streets": args.streets}
    drawn = model.map(visits, person(args, visits), **options)
    with pgt.files.whole(args.out) as half:
        drawn.save(str(half))
    print(f"written to {args.out}; open it in a browser")


def run_evaluate(args: argparse.Namespace) -> None:
    """Print the predictor's scores beside those of the rules, and what follows from them."""
    visits = visits_asked_about(args)
    model = opened(args)
    scores = model.score(visits)
    every = scores[scores.group == "all"].reset_index(drop=True)
    n, people = int(every.n[0]), int(every.people[0])
    print(f"test: {n} windows of {people} of {visits.table.user_id.nunique()} people, in percent; "
          "[95 % interval of acc@1, people resampled]")  # fmt: skip
    spans = [f"[{low:.1f}, {high:.1f}]" if low == low else "-"
             for low, high in zip(scores.low, scores.high, strict=True)]  # fmt: skip
    shown = scores.assign(interval=spans, model=scores.model.replace("contextual", "predictor"))
    names = ["model", "group", "n", "acc@1", "interval", "acc@5", "acc@10", "mrr"]
    print(shown[names].to_string(index=False, float_format="%.1f", na_rep="-"))
    print(verdict(every))
    tuned = model.tuning(visits, progress=sys.stdout.isatty())
    if tuned is not None and tuned.lead_low[tuned.group == "all"].notna().any():
        print(advice(tuned[tuned.group == "all"].iloc[-1]))


def verdict(every: pd.DataFrame) -> str:
    """What follows from the rows of the group "all": nothing that no interval carries."""
    best = every.loc[every["acc@1"][1:].idxmax()]
    about = (f"The predictor's first guess is right in {every['acc@1'][0]:.1f} %, that of the best "
             f"rule ({best.model}) in {best['acc@1']:.1f} %")  # fmt: skip
    if best.lead_low != best.lead_low:
        return f"{about}. That is no advice: fewer than five people carry no interval by people."
    about = f"{about}: {best.lead:+.1f} points [{best.lead_low:+.1f}, {best.lead_high:+.1f}]"
    if best.lead_low > 0:
        return f"{about}. Use the predictor."
    if best.lead_high < 0:
        return f"{about}. Use the rule."
    return f"{about}. That is within chance: neither is shown to be better."


def advice(lead: Any) -> str:
    """Whether to fine-tune, by what it added on the validation windows."""
    gain = f"{lead.lead:+.1f} points [{lead.lead_low:+.1f}, {lead.lead_high:+.1f}]"
    if lead.lead_low > 0:
        return (f"Fine-tuning helps on the validation windows ({gain}): fit the predictor to these "
                "people with python -m pgt train.")  # fmt: skip
    return f"Fine-tuning is not shown to help on the validation windows ({gain})."


def run_train(args: argparse.Namespace) -> None:
    """Fit the predictor to these people, and say what was taken."""
    import pandas as pd

    visits = visits_asked_about(args)
    model = opened(args).fit(visits, seed=args.seed, progress=not args.quiet)
    selection = pd.DataFrame(model.notes["selection"])
    if len(selection):
        print("on the validation windows, in percent:")
        print(selection.to_string(index=False, float_format="%.1f"))
    else:
        print("There are no validation windows: the predictor stays as it is.")
    model.save(args.out)
    print(f"taken: {model.notes['taken'].replace('_', ' ')}; written to {args.out}")


def run_city(args: argparse.Namespace) -> None:
    table = pgt.readers.tables.load_city()
    names = ["user_id", "location_id", "started_at", "finished_at", "lon", "lat", "split"]
    pgt.readers.tables.write(table[names], args.out)
    print(f"{summary(table)}; all simulated, written to {args.out}")


def opened(args: argparse.Namespace) -> NextLocation:
    """The predictor of a file, or the one that comes with the package."""
    kind = pgt.NextLocation
    return kind.load(args.model) if args.model else kind.pretrained()


def visits_asked_about(args: argparse.Namespace) -> CheckedVisits:
    """The visits of a table, or those that are found in recorded positions."""
    settings = {name: getattr(args, name) for name in OF_POSITIONS if getattr(args, name, None)}
    visits = pgt.readers.tables.visits_of(
        args.visits, columns=args.columns, timezone=args.timezone,
        file_timezone=args.file_timezone, person=args.person, kind=args.kind,
        of_positions=settings,
    )  # fmt: skip
    if visits.n_fixes:
        print(f"pgt: {visits.n_fixes:,} positions; {summary(visits.table)}", file=sys.stderr)
    return visits


def person(args: argparse.Namespace, visits: CheckedVisits) -> Any:
    """Who is asked about: who is named, or the only one that there is."""
    people = visits.table.user_id.unique()
    if args.user is None and len(people) > 1:
        some = ", ".join(for_terminal(user) for user in people[:3])
        raise DataError(f"The table has {len(people)} people ({some}, …); name one with --user.")
    return people[0] if args.user is None else args.user


def require_writable(out: Path, args: argparse.Namespace) -> None:
    """Refuse a name that cannot be written, or that is read, before the work and not after it."""
    suffixes = SUFFIXES.get(name_of(args.run), (".csv", ".parquet"))
    if out.suffix not in suffixes:
        raise DataError(f"Cannot write {out}: its name must end in {' or '.join(suffixes)}.")
    if out.is_dir():
        raise DataError(f"Cannot write {out}: it is a folder; give a file name.")
    for path in (getattr(args, "visits", None), getattr(args, "model", None)):
        if path is not None and out.is_file() and path.is_file() and path.samefile(out):
            raise DataError(f"{out} is what this command reads; write to another name.")
        if path is not None and path.is_dir() and pgt.readers.tables.would_read(path, out):
            moved = ", and move this file away" if out.is_file() else ""
            raise DataError(
                f"{out} would be read as one of the files of {path} the next time; write it into "
                f"another folder{moved}."
            )


def for_terminal(text: object) -> str:
    """Text from data for a terminal: what would move its cursor or turn its text is escaped."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in str(text)
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # ids may be in letters that a terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    args = parser().parse_args(argv)

    def say(message: Any, category: type[Warning], *where: Any, **_: Any) -> None:
        """A note on the data as a line of ours; other warnings as Python shows them."""
        python = warnings.formatwarning(message, category, *where[:2])
        note = issubclass(category, DataNote)
        sys.stderr.write(f"pgt: note: {for_terminal(message)}\n" if note else python)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", DataNote)
            warnings.showwarning = say
            if getattr(args, "out", None):
                require_writable(args.out, args)
            args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (DataError, FloatingPointError, OSError) as error:
        print(f"pgt: {for_terminal(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\npgt: stopped", file=sys.stderr)
        return 130
    return 0
