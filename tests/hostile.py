"""Text that tries to be something else, and a town, its people and a model full of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import pandas as pd
import torch
from wherenext import city

from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows, prepare

from .helpers import tiny_config

HOSTILE = (
    "{{ 7*191 }}",
    "{{- this.__class__.__init__.__globals__ -}}",
    "{% raw %}",
    "{# unfinished",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "</style></title></option><!--",
    "\"double\" 'single' `back`",
    "back\\slash \\u0022 \\",
    "${1} `${alert(1)}`",
    "&lt;b&gt; &#123;{ 7*191 }}",
    "two\nlines",
    "\u202eright \u2028 to \u2066 left",
    "\x07bell \x1b[31m \x7f",
    "red; } * { display: none } /*",
    "url(https://example.com/x.png) url('javascript:alert(1)')",
    "jAvA\tscript:alert(1)//https://example.com",
    "//example.com/%3Cscript%3E?a=1&lt=2#x",
)


@dataclass(frozen=True)
class Scene:
    """All that maps draw, with one text in every name, kind, role and id."""

    text: str
    town: city.City
    model: PointerGeneratorTransformer
    windows: Windows


@lru_cache
def scene(text: str) -> Scene:
    """A small part of the town whose every text begins with the given one."""
    town = city.load()
    users = town.visits.user_id.value_counts().index[8:10]
    visits = town.visits[town.visits.user_id.isin(users)]
    places = town.places[town.places.location_id.isin(visits.location_id)]

    def renamed(column: pd.Series) -> pd.Series:
        """Texts that keep the order of what they replace."""
        return text + " " + column.rank(method="dense").astype(int).astype(str).str.zfill(3)

    ids = dict(zip(places.location_id, renamed(places.location_id), strict=True))
    people = town.people[town.people.user_id.isin(users)]
    who = dict(zip(people.user_id, renamed(people.user_id), strict=True))
    features = [
        f | {"properties": f["properties"] | {"name": f"{text} {f['properties']['name']}"}}
        for f in town.base["features"]
    ]
    town = replace(
        town, name=text, base=town.base | {"features": features},
        places=places.assign(
            location_id=renamed(places.location_id), name=renamed(places.name),
            kind=renamed(places.kind), district=text + " " + places.district,
        ),
        people=people.assign(user_id=renamed(people.user_id), role=text),
        visits=visits.assign(
            location_id=visits.location_id.map(ids), user_id=visits.user_id.map(who),
            kind=text,
        ),
    )  # fmt: skip
    data = prepare(town.visits, protocol="exact")
    windows = data.test
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(tiny_config(data)).eval()
    return Scene(text, town, model, windows)
