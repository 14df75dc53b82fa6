"""The body of a batch, and its rows."""
from dataclasses import dataclass, field

from .encoding import decode, encode, require

NOBODY = bytes(16)
#: The timestamp of what nobody has to tell from older things any more.
STABLE_POINT = (0, 0, NOBODY)


@dataclass
class ColumnGroup:
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
    column_groups: list = field(default_factory=list)


@dataclass
class Body:
    time: int
    positions: list
    changes: list
    schema: int = 0
    last: bool = True
    has_lower_bound: bool = True

    def encoded(self):
        names, members, shapes, rows = [], [], [], []

        def number(of, item):
            if item not in of:
                of.append(item)
            return of.index(item)

        def timestamp(s, like):
            if s is None or s == STABLE_POINT:
                return None if s is None else False
            if s == like:
                return True
            return [s[0] - self.time, *([s[1]] if s[1] else []), number(members, s[2])]

        incarnation = known = None
        for change in self.changes:
            shape = (change.table, len(change.key), *(r.columns for r in change.column_groups))
            plain = all(r.timestamp == change.timestamp and r.known is None for r in change.column_groups)
            kind = 0 if not change.alive else 2 if plain else 1
            row = [number(shapes, shape), kind, timestamp(change.timestamp, incarnation), timestamp(change.known, known), *change.key]
            incarnation, known = change.timestamp, change.known
            own, seen = incarnation, known
            for column_group in change.column_groups:
                if kind == 1:
                    row += [timestamp(column_group.timestamp, own), timestamp(column_group.known, seen)]
                    own, seen = column_group.timestamp, column_group.known
                row += column_group.values
            rows.append(row)
        forms = [
            [number(names, table), count, *([number(names, c) for c in columns] for columns in column_groups)]
            for table, count, *column_groups in shapes
        ]
        return encode([self.time, self.schema, self.last, self.has_lower_bound, self.positions, names, members, forms, rows])

    @classmethod
    def decoded(cls, data):
        items = decode(data)
        require(isinstance(items, list) and len(items) == 9, "no body")
        time, schema, last, has_lower_bound, positions, names, members, shapes, rows = items

        def timestamp(item, like):
            if item is None or item is True:
                return like if item else None
            if item is False:
                return STABLE_POINT
            return (time + item[0], item[1] if len(item) == 3 else 0, members[item[-1]])

        changes, incarnation, known = [], None, None
        for row in rows:
            table, count, *column_groups = shapes[row[0]]
            incarnation, known = timestamp(row[2], incarnation), timestamp(row[3], known)
            change = Change(names[table], tuple(row[4:4 + count]), row[1] > 0, incarnation, known)
            rest, own, seen = row[4 + count:], incarnation, known
            for columns in column_groups:
                if row[1] == 1:
                    own, seen, rest = timestamp(rest[0], own), timestamp(rest[1], seen), rest[2:]
                change.column_groups.append(ColumnGroup(
                    tuple(names[c] for c in columns), tuple(rest[:len(columns)]), own,
                    seen if row[1] == 1 else None))
                rest = rest[len(columns):]
            require(not rest, "a row is too long")
            changes.append(change)
        body = cls(time, positions, changes, schema, last, has_lower_bound)
        require(body.encoded() == data, "it is not in the one form of its content")
        return body
