"""Every trap measured, for chapter 15.

    PGT_GEOLIFE_WINDOWS=… PGT_GEOLIFE=… PGT_GEOLIFE_FIXES=… python -m pgt.traps_report

writes ``book/results/traps.json``: rows of ``trap``, ``what``, ``value``, ``unit`` and, where
there are such, ``low`` and ``high`` (95 % interval, people resampled), ``n``, ``way``, ``epoch``,
``hour``, ``data``, ``protocol``. No person, place or moment can be told from them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from pgt import gps, runs, traps, traps_gps
from pgt.fixes import read_fixes
from pgt.reports import write_report
from pgt.results import read_results, results_folder
from pgt.traps import Row


def measured() -> Iterator[tuple[str, Iterable[Row]]]:
    """Each trap's name and its rows."""
    published, ablations = read_results("geolife_published"), read_results("ablations")
    visits = runs.DATA["geolife_exact"].load()
    yield "unknown token", traps.unknown_token(published, visits)
    yield "told the day", traps.told_the_day(published)
    yield "few people", traps.few_people(published)
    yield "copy ceiling", traps.copy_ceiling(visits)
    yield "one seed", traps.one_seed(ablations)
    yield "twins", traps.twins(visits)
    yield "mixed protocols", traps.mixed_protocols(visits)
    yield "stopping", traps.stopping()
    yield "chosen on test", traps.chosen_on_test(runs.dataset("geolife_exact"))
    tracks = gps.follow(read_fixes(runs.from_environment(gps.FIXES)))
    found = {
        way: gps.tracks_to_visits(tracks, **settings) for way, settings in traps_gps.WAYS.items()
    }
    yield "ways", traps_gps.ways(found)
    yield "clusters", traps_gps.clusters(found["as published"])


def main() -> int:
    """Measure, print and write."""
    began, rows = time.perf_counter(), []
    for trap, some in measured():
        for one in some:
            rows.append({"trap": trap} | one)
            print(*rows[-1].values(), flush=True)
    print(
        write_report(
            results_folder() / "traps.json",
            question="How large is each trap of evaluation on GeoLife?",
            module="traps_report",
            data=["geolife_published", "geolife_exact"],
            results=["geolife_published", "ablations"],
            seconds=time.perf_counter() - began,
            rows=rows,
            models=("pgt",),
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
