"""From position fixes to visits: clean, staypoints, locations, merged visits.

`pgt.gps.pipeline` goes the whole way; each step is a module of its own.
"""

from pgt.gps.cleaning import FIX_COLUMNS, clean_fixes
from pgt.gps.locations import HaversineOrder, generate_locations, merge_staypoints
from pgt.gps.pipeline import FIXES, GpsResult, fixes_to_visits, tracks_to_visits
from pgt.gps.staypoints import generate_staypoints
from pgt.gps.tracking_quality import generate_triplegs, tracking_quality
from pgt.gps.tracks import Tracks, staypoints_and_triplegs

__all__ = [
    "FIXES", "FIX_COLUMNS", "GpsResult", "HaversineOrder", "Tracks", "clean_fixes",
    "fixes_to_visits", "generate_locations", "generate_staypoints", "generate_triplegs",
    "merge_staypoints", "staypoints_and_triplegs", "tracking_quality", "tracks_to_visits",
]  # fmt: skip
