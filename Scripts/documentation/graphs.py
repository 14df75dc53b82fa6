"""Removes from symbol graphs what would put symbols into groups of docc's own.

usage: graphs.py FOLDER

docc lists a member that a protocol asks for a second time, in a group "Default Implementations" of
pages named "… Implementations", wherever the graph says which requirement it meets.
"""

import json
import pathlib
import sys

for file in pathlib.Path(sys.argv[1]).glob("*/*.symbols.json"):
    graph = json.loads(file.read_text())
    for relationship in graph["relationships"]:
        relationship.pop("sourceOrigin", None)
    file.write_text(json.dumps(graph))
