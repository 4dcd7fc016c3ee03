"""The help is there at once, and an option's value is read or refused in one sentence."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest
from pgt.cli.parser import main
from pgt.predictor.estimator import MODELS
from pgt.scale import engines

from pgt import config, visits
from pgt.cli import choices, values

from ..helpers import run_python


def test_help_loads_neither_torch_nor_pandas() -> None:
    code = """
import sys
from pgt.cli.parser import main
for line in ([], ["train"], ["visits"]):
    try:
        main([*line, "--help"])
    except SystemExit:
        pass
loaded = [name for name in ("torch", "pandas", "numpy", "pyarrow") if name in sys.modules]
sys.exit(f"loaded {loaded}" if loaded else 0)
"""
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "usage: pgt visits" in done.stdout


def test_choices_are_what_they_stand_for() -> None:
    assert tuple(config.PRESETS) == choices.PRESETS
    assert choices.MODELS == MODELS
    assert choices.SPLITS == visits.SPLITS
    assert choices.ENGINES == engines.ENGINES


@pytest.mark.parametrize(
    ("read", "text", "says"),
    [
        (values.positive, "0", "no whole number from 1"),
        (values.positive, "1e3", "no whole number"),
        (values.positive, "²", "no whole number"),
        (values.positive, "1" + "0" * 20, "from 1 to 1,000,000"),
        (values.positive, "9" * 5000, "from 1 to 1,000,000"),
        (values.seed, "-1", "from 0 to 1099511627776"),
        (values.seed, str(2**64), "no whole number from 0"),
        (values.seed, "9" * 5000, "no whole number from 0"),
        (values.metres, "inf", "no length in metres"),
        (values.metres, "nan", "no length in metres"),
        (values.metres, "-3", "no length in metres"),
        (values.metres, "twenty", "no length in metres"),
        (values.columns, "user_id", "OURS=THEIRS"),
        (values.parts, "gait", "there is no part 'gait'; choose of user"),
        (values.parts, "pointer,generator", "keep one of the two"),
        (values.device, "abacus", "use cpu or cuda"),
        (values.device, "meta", "use cpu or cuda"),
        (values.device, "xla", "use cpu or cuda"),
        (values.device, "cuda:99", "no CUDA device"),
        (values.moment, "noon", "no ISO 8601 time"),
        (values.moment, "now", "no ISO 8601 time"),
        (values.moment, "9999-12-31", "too far away"),
        (values.moment, "0001-01-01", "too far away"),
    ],
)
def test_a_value_that_cannot_be_is_refused(
    read: Callable[[str], object], text: str, says: str
) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=says) as refusal:
        read(text)
    assert "\n" not in str(refusal.value)


def test_values_that_are_fine_are_read() -> None:
    assert values.positive("7") == 7
    assert (values.seed("0"), values.seed(str(2**40))) == (0, 2**40)
    assert values.metres("2.5") == 2.5
    assert values.parts("user, gate") == ("user", "gate")
    assert str(values.device("cpu")) == "cpu"
    assert str(values.moment("2024-05-01T12:00+02:00")) == "2024-05-01 12:00:00+02:00"
    assert str(values.moment("2024-05-01 12:00 +9")) == "2024-05-01 12:00:00+09:00"


@pytest.mark.parametrize(
    "line",
    ["train v --out m --seed -1", "train v --out m --device meta", "train v --out m --days 1e9",
     "train v --out m --without pointer,generator", "predict v m --at 9999-12-31",
     "visits f --out v.csv --eps inf", "city town --seed 18446744073709551616"],
)  # fmt: skip
def test_a_command_line_with_such_a_value_ends_with_status_2(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
