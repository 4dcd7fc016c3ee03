"""Every trap measured, for chapter 15.

    PGT_GEOLIFE_WINDOWS=… PGT_GEOLIFE=… PGT_GEOLIFE_FIXES=… python book/lab/run.py traps

writes ``book/results/traps.json``: rows of ``trap``, ``what``, ``value``, ``unit`` (shares and
accuracies in percent, counts, or half-widths in points) and, where
there are such, ``low`` and ``high`` (95 % interval, people resampled and, where there are
several, seeds), ``n``, ``way``, ``epoch``, ``hour``, ``data``, ``protocol``. No person, place or
moment can be recognized in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wherenext.results import read_results

from lab import data_sets, gps_protocol, traps, traps_gps
from lab.reports import Report, Row
from pgt.readers import gps
from pgt.readers.tables import read_fixes


def measured() -> Iterator[tuple[str, Iterable[Row]]]:
    """Each trap's name and its rows."""
    published, ablations = read_results("geolife_published"), read_results("ablations")
    visits = data_sets.DATA["geolife_exact"].load()
    yield "unknown token", traps.unknown_token(published, visits)
    yield "knows the day", traps.knows_the_day(published)
    yield "few people", traps.few_people(published)
    yield "copy ceiling", traps.copy_ceiling(visits)
    yield "one seed", traps.one_seed(ablations)
    yield "twins", traps.twins(visits)
    yield "mixed protocols", traps.mixed_protocols(visits)
    yield "stopping", traps.stopping()
    yield "chosen on test", traps.chosen_on_test(data_sets.dataset("geolife_exact"))
    tracks = gps_protocol.staypoints_and_triplegs(read_fixes(data_sets.from_environment(gps.FIXES)))
    found = {
        way: gps_protocol.tracks_to_visits(tracks, **settings)
        for way, settings in traps_gps.WAYS.items()
    }
    yield "ways", traps_gps.ways(found)
    yield "clusters", traps_gps.clusters(found["as published"])


def _rows() -> Iterator[Row]:
    for trap, some in measured():
        for one in some:
            yield {"trap": trap} | one


REPORT = Report(
    question="How large is each trap of evaluation on GeoLife?",
    rows=_rows,
    data=("geolife_published", "geolife_exact"),
    results=("geolife_published", "ablations"),
)
