"""The examples that end the help of every command."""

from __future__ import annotations

EXAMPLES = {
    "": """examples:
  python -m pgt predict visits.csv --timezone Europe/Vienna     where does everybody go next?
  python -m pgt explain visits.csv --user 7                     and why?
  python -m pgt map visits.csv --user 7 --out map.html          on a map
  python -m pgt evaluate visits.csv                             how often is that right?
  python -m pgt train visits.csv --out mine.safetensors         fit it to these people
  python -m pgt city town                                       a simulated town to try it on

COMMAND --help tells more of each.""",
    "city": """examples:
  python -m pgt city town
  python -m pgt city --preset large --seed 3 big_town""",
    "visits": """examples:
  python -m pgt visits Geolife.zip --out visits.csv --timezone Asia/Shanghai
  python -m pgt visits Geolife.zip --out visits.parquet --haversine-order swapped
  python -m pgt visits my_tracks/ --out visits.csv --everybody   a folder of GPX files

The steps and their settings are those of Hong et al. (2023), whose figures rest on UTC and on the
swapped order.""",
    "download": """examples:
  python -m pgt download geolife --to data                     shows the terms, and stops
  python -m pgt download geolife --to data --accept-licence

Killed, it goes on from what has arrived when called again. Nothing is unpacked.""",
    "prepare": """examples:
  python -m pgt prepare visits.csv visits.parquet --timezone Europe/Vienna
  python -m pgt prepare checkins.csv visits.parquet --checkins \\
      --columns user_id=user,location_id=venue,started_at=time --timezone Asia/Tokyo
  python -m pgt prepare geolife_windows geolife.parquet   a folder of train, valid and test.csv
  python -m pgt prepare 's3://mine/visits/*.parquet' prepared --engine pool --workers 8

With --engine a table may be larger than memory: it becomes a folder of buckets, which 'predict',
'evaluate' and 'train --model pgt' take as well. Killed, it goes on when called again.""",
    "train": """examples:
  python -m pgt train visits.parquet --out mine.safetensors
  python -m pgt train visits.parquet --out kernel.safetensors --model kernel
  python -m pgt train visits.parquet --out model.safetensors --model pgt
  python -m pgt train visits.parquet --out no_pointer.safetensors --without pointer --seed 1

The predictor is taken as it comes, tuned, or trained anew: the validation windows decide. A run of
PGT that was killed goes on from its last whole epoch when called again the same way.""",
    "evaluate": """examples:
  python -m pgt evaluate visits.csv
  python -m pgt evaluate visits.parquet model.safetensors --baselines
  python -m pgt evaluate visits.parquet model.safetensors --split valid --json result.json
  python -m pgt evaluate prepared/ --engine pool --workers 8      a folder of 'prepare --engine'""",
    "predict": """examples:
  python -m pgt predict visits.csv                                      needs no training
  python -m pgt predict my_tracks/ --person me                          a folder of GPX files
  python -m pgt predict visits.csv --at "2024-05-07 09:00" --user 7     where at nine on Tuesday?
  python -m pgt predict prepared/ --engine pool --workers 8 --out next.csv   a larger table
  python -m pgt predict visits.parquet model.safetensors --user 7
  python -m pgt predict visits.parquet model.safetensors --at 2024-05-01T12:00+02:00 --out next.csv

In recorded positions it first finds the visits, as 'visits --everybody' does, and writes nothing.
The predictor knows any person and any place. For a PGT, a person that training has not seen has the
vector of an unseen person, and such a place is read as "unknown".""",
    "map": """examples:
  python -m pgt map checkins.csv --user 7 --out map.html            needs no training
  python -m pgt map visits.csv mine.safetensors --user 7 --at "2024-05-07 09:00" --out map.html

The page holds where this person has been: think before you share it. It loads Leaflet from a CDN;
streets come from a tile server, which learns the area, and are off until you switch them on.""",
    "live": """examples:
  python -m pgt live --out live.html                    drop a file of visits into the page
  python -m pgt live visits.csv --timezone Europe/Vienna --out mine.html
  python -m pgt live visits.csv mine.safetensors --user 7 --out mine.html

The page needs no server and no network. With VISITS it holds where people have been: think before
you share it. A file that is dropped into a page stays where it is.""",
    "pretrain": """examples:
  python -m pgt pretrain --out nobody.safetensors

It takes about a quarter of an hour. Nobody's visits are read: the worlds are simulated.""",
    "explain": """examples:
  python -m pgt explain visits.csv --user 7
  python -m pgt explain visits.csv mine.safetensors --user 7 --top 1 --reasons 10

The effect of a fact is the probability with it minus the probability without it; of a rule, what
its votes for the fact give to the probability.""",
    "export": """examples:
  python -m pgt export --html city.html                the live model of the shipped town
  python -m pgt export --model m.safetensors --out m.json
  python -m pgt export --model m.safetensors --visits visits.parquet --html m.html
  python -m pgt export --model m.safetensors --onnx m.onnx

The page holds the model and the visits of the test windows; it needs no server and no network.
For ONNX: pip install onnx onnxscript onnxruntime""",
}  # fmt: skip
