#!/usr/bin/env python3
"""A member of a group in a directory, told what to do by lines of JSON, each answered by one.

    {"do": "join", "folder": F, "code": C, "name": N}
    {"do": "sync"}                                      how many transactions were applied
    {"do": "scribble", "seed": S}                       writes rows at random, as one transaction
    {"do": "rows"}                                      those of the tables below, as text
"""
import json
import random
import struct
import sys

from secure_sync.member import Member
from secure_sync.objects import Directory

#: The tables of SyncPythonTests, with the columns of their keys and the others.
TABLES = {"note": (["id"], ["title", "body"]), "place": (["x", "y"], ["name", "height", "photo"])}


def spelled(value):
    if value is None:
        return "null"
    if isinstance(value, int):
        return f"integer {value}"
    if isinstance(value, float):
        return f"real {struct.pack('>d', value).hex()}"
    return f"text {value}" if isinstance(value, str) else f"blob {value.hex()}"


def rows(member):
    lines = []
    for (table, _), row in member.rows.items():
        if table in TABLES and row.alive:
            key, columns = TABLES[table]
            values = [row.cells[c][0] if c in row.cells else None for c in columns]
            lines.append("|".join([table, *map(spelled, row.key), *map(spelled, values)]))
    return sorted(lines)


def scribble(member, seed):
    draw, changes = random.Random(seed), []
    values = [None, 0, -1, 2**63 - 1, -2**63, 1.5, -2.0**-30, 1e300, "", "milk", "e\u0301\u00e9", b"", b"\0\xff",
              draw.randrange(10**9)]
    for _ in range(draw.randint(1, 4)):
        table = draw.choice(list(TABLES))
        columns = TABLES[table][1]
        alive = [row.key for (name, _), row in member.rows.items() if name == table and row.alive]
        kind = draw.random()
        if kind < 0.4 or not alive:
            key = (f"p{draw.randrange(6)}",) if table == "note" else (draw.randrange(3), draw.choice("ab"))
            change = member.insert(table, key, {c: draw.choice(values) for c in columns})
        elif kind < 0.8:
            chosen = draw.sample(columns, draw.randint(1, len(columns)))
            change = member.update(table, draw.choice(alive), {c: draw.choice(values) for c in chosen})
        else:
            change = member.delete(table, draw.choice(alive))
        # A transaction has one change for each row.
        if all((c.table, c.key) != (change.table, change.key) for c in changes):
            changes.append(change)
    member.write(changes)
    return len(changes)


member = None
for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "join":
        member = Member.join(Directory(order["folder"]), order["code"], order["name"])
        answer = member.sync()
    elif order["do"] == "sync":
        answer = member.sync()
    elif order["do"] == "scribble":
        answer = scribble(member, order["seed"])
    else:
        answer = rows(member)
    print(json.dumps(answer), flush=True)
