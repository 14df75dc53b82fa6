"""The body of a batch, and its rows."""
from dataclasses import dataclass, field

from .encoding import decode, encode, require

NOBODY = bytes(16)
#: The timestamp of what nobody has to tell from older things any more.
FLOOR = (0, 0, NOBODY)


@dataclass
class Register:
    columns: tuple
    values: tuple
    timestamp: tuple
    known: tuple = None


@dataclass
class Change:
    """A timestamp is (milliseconds, counter, member)."""
    table: str
    key: tuple
    alive: bool
    timestamp: tuple
    known: tuple = None
    registers: list = field(default_factory=list)


@dataclass
class Body:
    time: int
    heads: list
    changes: list
    schema: int = 0
    last: bool = True
    promises: bool = True

    def encoded(self):
        names, members, shapes, rows = [], [], [], []

        def number(of, item):
            if item not in of:
                of.append(item)
            return of.index(item)

        def timestamp(s, like):
            if s is None or s == FLOOR:
                return None if s is None else False
            if s == like:
                return True
            return [s[0] - self.time, *([s[1]] if s[1] else []), number(members, s[2])]

        life = known = None
        for change in self.changes:
            shape = (change.table, len(change.key), *(r.columns for r in change.registers))
            plain = all(r.timestamp == change.timestamp and r.known is None for r in change.registers)
            kind = 0 if not change.alive else 2 if plain else 1
            row = [number(shapes, shape), kind, timestamp(change.timestamp, life), timestamp(change.known, known), *change.key]
            life, known = change.timestamp, change.known
            own, seen = life, known
            for register in change.registers:
                if kind == 1:
                    row += [timestamp(register.timestamp, own), timestamp(register.known, seen)]
                    own, seen = register.timestamp, register.known
                row += register.values
            rows.append(row)
        forms = [
            [number(names, table), count, *([number(names, c) for c in columns] for columns in registers)]
            for table, count, *registers in shapes
        ]
        return encode([self.time, self.schema, self.last, self.promises, self.heads, names, members, forms, rows])

    @classmethod
    def decoded(cls, data):
        items = decode(data)
        require(isinstance(items, list) and len(items) == 9, "no body")
        time, schema, last, promises, heads, names, members, shapes, rows = items

        def timestamp(item, like):
            if item is None or item is True:
                return like if item else None
            if item is False:
                return FLOOR
            return (time + item[0], item[1] if len(item) == 3 else 0, members[item[-1]])

        changes, life, known = [], None, None
        for row in rows:
            table, count, *registers = shapes[row[0]]
            life, known = timestamp(row[2], life), timestamp(row[3], known)
            change = Change(names[table], tuple(row[4:4 + count]), row[1] > 0, life, known)
            rest, own, seen = row[4 + count:], life, known
            for columns in registers:
                if row[1] == 1:
                    own, seen, rest = timestamp(rest[0], own), timestamp(rest[1], seen), rest[2:]
                change.registers.append(Register(
                    tuple(names[c] for c in columns), tuple(rest[:len(columns)]), own,
                    seen if row[1] == 1 else None))
                rest = rest[len(columns):]
            require(not rest, "a row is too long")
            changes.append(change)
        body = cls(time, heads, changes, schema, last, promises)
        require(body.encoded() == data, "it is not in the one form of its content")
        return body
