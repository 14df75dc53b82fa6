"""A member: it joins, reads what others have written, and writes rows."""
import time as clock

from .body import STABLE_POINT, NOBODY, Body, Change, ColumnGroup
from .chain import ADD, DEVICE, Chain, Member as Record, invitation_mac, signed
from .encoding import Damaged, digits, padded, require, sha256
from .keys import ED25519, GroupSecret, MemberKeys
from .objects import Header, Log, Manifest, is_signed_for, open_object, seal, snapshot_rows

LONGEST_AHEAD = 31 * 86_400_000


def typed(value):
    """To SQLite 1, 1.0 and '1' are three values."""
    return (type(value).__name__, value)


class Row:
    def __init__(self, change):
        self.key = change.key
        self.incarnation, self.alive = change.timestamp, change.alive
        self.cells = {}
        self.merge_column_groups(change)

    def merge_column_groups(self, change):
        for column_group in change.column_groups if self.alive else []:
            for column, value in zip(column_group.columns, column_group.values):
                own = self.cells.get(column)
                if own is None or own[1] < column_group.timestamp:
                    self.cells[column] = (value, column_group.timestamp, column_group.columns)

    def merge(self, change):
        if (self.incarnation, self.alive) == (change.timestamp, change.alive):
            self.merge_column_groups(change)
        elif (self.incarnation, not self.alive) < (change.timestamp, not change.alive):
            self.__init__(change)

    def reduce(self, stable_point):
        """Forgets the timestamps up to a stable point."""
        self.incarnation = reduced(self.incarnation, stable_point)
        self.cells = {c: (v, reduced(s, stable_point), g) for c, (v, s, g) in self.cells.items()}

    def greatest(self):
        return max([self.incarnation] + [cell[1] for cell in self.cells.values()])


def reduced(timestamp, stable_point):
    return STABLE_POINT if timestamp is not None and timestamp[0] <= stable_point else timestamp


class Member:
    def __init__(self, store, group, keys, now=lambda: int(clock.time() * 1000)):
        self.store, self.group, self.keys, self.now = store, group, keys, now
        self.chain = Chain(group)
        self.epochs, self.rows = {}, {}
        #: By member: the last applied batch and its hash; what each has said to have applied.
        self.positions, self.lower_bounds = {}, {}
        self.adopted, self.adopted_hash = None, None
        self.own, self.own_hash, self.told = 0, bytes(32), {}
        self.last = 0

    # The chain

    def name(self, rest):
        return f"{self.group.hex()}/{rest}"

    def read_chain(self):
        for number in self.store.numbers(self.name("m/")):
            if number == self.chain.count + 1:
                self.chain.follow(self.store.read(self.name(f"m/{digits(number)}")))
        if self.keys.member in self.chain.members:
            self.epochs = self.chain.keys_for(self.keys)

    def append(self, action, fields):
        """Creates the next entry of the chain."""
        chain = self.chain
        entry = [1, self.group, chain.count + 1, chain.last, self.keys.member, self.now(), action, fields]
        data = signed(entry, self.keys)
        created = self.store.create(self.name(f"m/{digits(chain.count + 1)}"), data)
        self.read_chain()
        return created

    @classmethod
    def join(cls, store, code, device_name, now=lambda: int(clock.time() * 1000)):
        guest = MemberKeys.of_invitation(code)
        for group in store.groups():
            host = cls(store, group, guest, now)
            try:
                host.read_chain()
            except Damaged:
                continue
            known = host.chain.members.get(guest.member)
            if known is None or known.mac != invitation_mac(code, group, known.number, known.previous):
                continue
            while True:
                require(host.chain.is_active(guest.member), "the code was used, or withdrawn")
                member = cls(store, group, MemberKeys.random(), now)
                if host.append(ADD, host._adding(member.keys, known.role, device_name)):
                    member.read_chain()
                    return member
        raise Damaged("the store has no group that has made the code")

    def _adding(self, keys, role, device_name):
        author, epoch = self.chain.members[self.keys.member], self.epochs[self.chain.epoch]
        name = epoch.key.seal(
            padded(device_name.encode()), "SecureStorage sync member 1", "name", keys.member.hex())
        record = Record(keys.member, keys.public, DEVICE, role, name, self.chain.epoch, b"", 0)
        algorithm = Chain.algorithm(author, record)
        wrapped, secret = epoch.wrapped(record.id, record.keys, algorithm, self.group), b""
        if role == 0:
            number, commitment, all_wrapped = self.chain.tree.secrets[-1]
            tree = GroupSecret.unwrapped(
                "tree", number, all_wrapped[self.keys.member], self.keys, self.group, commitment)
            secret = tree.wrapped(record.id, record.keys, algorithm, self.group)
        return [record.items(), [wrapped, secret]]

    # Snapshots

    def manifests(self):
        """Those that count, in their order: (number, hash, hash before, manifest)."""
        found, following = list(self._manifests()), None
        counting = []
        for number, digest, previous, manifest, writer in reversed(found):
            if self.chain.is_named(writer, number, digest) or following == digest:
                counting.append((number, digest, previous, manifest))
                following = previous
        return counting[::-1]

    def _manifests(self):
        for number in self.store.numbers(self.name("s/")):
            data = self.store.read(self.name(f"s/{digits(number)}"))
            if data is None or len(data) <= Header.SIZE + 64:
                continue
            writer = data[20:36]
            if not self.chain.may_write(writer) or number > self.chain.last_snapshots.get(writer, (number,))[0]:
                continue
            if not is_signed_for(data, b"SSS", self.group, writer, number, self.chain.members[writer].keys[ED25519]):
                continue
            digest, epoch = sha256(data), Header.decoded(data).epoch
            if not self.chain.counts(number, digest, epoch):
                continue
            _, content = open_object(data, self.epochs, self.chain)
            yield number, digest, Header.decoded(data).previous, Manifest.decoded(number, content), writer

    def adopt(self, manifest, digest):
        self.adopted, self.adopted_hash = manifest, digest
        for row in self.rows.values():
            row.reduce(manifest.stable_point)
        self.last = max(self.last, (manifest.stable_point + 1) << 16)

    def adopt_next(self):
        """Adopts the next snapshot, if all that it contains is applied."""
        if self.lacks_snapshots():
            return False
        for number, digest, previous, manifest in self.manifests():
            if number <= self.adopted.number:
                continue
            require(previous == self.adopted_hash, "a snapshot does not follow the one before it")
            for member, log in manifest.logs.items():
                number, own_hash = self.position(member)
                if number < log.position:
                    return False
                require(number > log.position or log.position == 0 or own_hash == log.hash, "it has seen another batch")
            self.adopt(manifest, digest)
            return True
        return False

    def enter(self):
        """Loads the newest snapshot, reads the logs, and lets its own log begin."""
        while True:
            number, digest, _, manifest = self.manifests()[-1]
            require(number >= max([0] + [n for n, _, _ in self.chain.pins[-1:]]), "the removal's snapshot is not there")
            self.rows, self.positions = {}, {}
            for member, log in manifest.logs.items():
                self.positions[member] = (log.position, log.hash)
                self.lower_bounds[member] = max([time for n, time in log.lower_bounds if n <= log.position], default=0)
            self.adopt(manifest, digest)
            for change in snapshot_rows(self.store, self.group, manifest.rows, self.epochs):
                self.merge(change)
            self.apply_all(adopts=False)
            log = Log(0, bytes(32), 0, began=number + 1, heard=self.now(), lower_bounds=[], published=[])
            manifest.number, manifest.time = number + 1, self.now()
            manifest.logs[self.keys.member] = log
            header = Header(b"SSS", self.group, self.keys.member, number + 1, self.chain.epoch, digest,
                            self.chain.position)
            data = seal(header, manifest.encoded(), self.epochs[self.chain.epoch], self.keys)
            if self.store.create(self.name(f"s/{digits(number + 1)}"), data):
                self.adopt(manifest, sha256(data))
                return

    # Logs

    def position(self, member):
        return (self.own, self.own_hash) if member == self.keys.member else self.positions.get(member, (0, bytes(32)))

    def batch(self, member, number):
        """The batch of a number; None if there is none."""
        tries = [""] + [f".{n}" for n in range(1, 9)]
        for attempt in tries:
            data = self.store.read(self.name(f"d/{member.hex()}/{digits(number)}{attempt}"))
            if data is None:
                return None
            if is_signed_for(data, b"SSB", self.group, member, number, self.chain.members[member].keys[ED25519]):
                return data
        return None

    def next_transaction(self, member):
        """The batches up to the next one that is the last of its transaction."""
        number, digest = self.position(member)
        limit = self.chain.removed.get(member, (1 << 63, b""))[0]
        closed = self.adopted.logs[member].closed if member in self.adopted.logs else None
        limit = min(limit, closed if closed is not None else limit)
        batches = []
        if member in self.chain.removed and number < limit and not self.leads_to_end(member, number, digest):
            return None
        while number < limit:
            number += 1
            data = self.batch(member, number)
            if data is None:
                return None
            header, content = open_object(data, self.epochs, self.chain)
            require(header.previous == digest, "it does not follow the batch before it")
            digest = sha256(data)
            if self.chain.is_late(member, number, digest):
                return None
            batches.append((number, digest, Body.decoded(content), header.epoch))
            if batches[-1][2].last:
                return batches
        return None

    def leads_to_end(self, member, number, digest):
        """Whether the batches after a position lead to the last one of a former member that counts."""
        last, its_hash = self.chain.removed[member]
        while number < last:
            number += 1
            data = self.batch(member, number)
            if data is None or Header.decoded(data).previous != digest:
                return False
            digest = sha256(data)
        return digest == its_hash

    def is_ready(self, positions, epoch):
        for member, number, digest in positions:
            if self.chain.is_late(member, number, digest):
                return False
            if member == NOBODY:
                require(number != self.adopted.number or self.adopted_hash[:16] == digest, "it has seen another snapshot")
                if number > self.adopted.number or not self.chain.counts(number, digest, epoch):
                    return False
            else:
                require(self.chain.may_write(member), "it has seen a batch of no writer")
                own = self.position(member)
                if own[0] < number:
                    return False
                require(own[0] > number or own[1][:16] == digest, "it has seen another batch")
        return True

    def merge(self, change):
        stable_point = self.adopted.stable_point
        change = Change(
            change.table, change.key, change.alive, reduced(change.timestamp, stable_point), change.known,
            [ColumnGroup(r.columns, r.values, reduced(r.timestamp, stable_point), r.known) for r in change.column_groups])
        place = (change.table, tuple(map(typed, change.key)))
        if place in self.rows:
            self.rows[place].merge(change)
        elif change.alive or change.timestamp != STABLE_POINT:
            self.rows[place] = Row(change)
        for timestamp in [change.timestamp] + [r.timestamp for r in change.column_groups]:
            self.last = max(self.last, timestamp[0] << 16 | timestamp[1])

    def apply_all(self, adopts=True):
        """Applies all that may be applied, and returns how many transactions that were."""
        applied, moved = 0, True
        while moved:
            moved = adopts and self.adopt_next()
            for member in sorted(set(self.adopted.logs) - {self.keys.member}):
                while self.chain.may_write(member):
                    batches = self.next_transaction(member)
                    if not batches or not self.is_ready(batches[0][2].positions, batches[0][3]):
                        break
                    for number, digest, body, _ in batches:
                        require(body.time <= self.now() + LONGEST_AHEAD, "its clock is ahead")
                        for change in body.changes:
                            given = [r.timestamp for r in change.column_groups] or [change.timestamp]
                            require(min(given)[0] > self.lower_bounds.get(member, 0) - 1 or STABLE_POINT in given,
                                    "a row is older than its log's lower bound")
                            self.merge(change)
                    self.positions[member] = batches[-1][:2]
                    if batches[-1][2].has_lower_bound:
                        self.lower_bounds[member] = batches[-1][2].time
                    applied, moved = applied + 1, True
        return applied

    def sync(self):
        self.read_chain()
        require(self.chain.is_active(self.keys.member), "this member was removed")
        if self.adopted is None:
            self.enter()
        applied = self.apply_all()
        while self.join_newest():
            applied += 1 + self.apply_all()
        return applied

    def lacks_snapshots(self):
        """Whether snapshots are gone that this member has not adopted."""
        later = [n for n in self.store.numbers(self.name("s/")) if n > self.adopted.number]
        return bool(later) and later[0] > self.adopted.number + 1

    def join_newest(self):
        """Joins the rows of the newest snapshot with its own, if batches or snapshots are gone that it lacks."""
        number, digest, _, manifest = self.manifests()[-1]
        missing = [member for member, log in manifest.logs.items()
                   if self.position(member)[0] < log.position and self.batch(member, self.position(member)[0] + 1) is None]
        if number <= self.adopted.number or not (missing or self.lacks_snapshots()):
            return False
        self.adopt(manifest, digest)
        for change in snapshot_rows(self.store, self.group, manifest.rows, self.epochs):
            self.merge(change)
        for member, log in manifest.logs.items():
            if self.position(member)[0] < log.position:
                require(member != self.keys.member, "another one has written into its log")
                self.positions[member] = (log.position, log.hash)
                self.lower_bounds[member] = max([time for _, time in log.lower_bounds], default=0)
        return True

    # Writing

    def timestamp(self):
        self.last = max(self.last + 1, self.now() << 16)
        return (self.last >> 16, self.last & 0xFFFF, self.keys.member)

    def insert(self, table, key, columns):
        """Columns: values by name; a new row, or another one in the place of one."""
        place = (table, tuple(map(typed, key)))
        known, incarnation = self.rows.get(place), self.timestamp()
        change = Change(table, tuple(key), True, incarnation, known.greatest() if known else None)
        change.column_groups = [ColumnGroup((name,), (value,), incarnation) for name, value in columns.items()]
        return change

    def update(self, table, key, columns):
        row = self.rows[(table, tuple(map(typed, key)))]
        change = Change(table, tuple(key), True, row.incarnation)
        for name, value in columns.items():
            known = row.cells[name][1] if name in row.cells else row.incarnation
            change.column_groups.append(ColumnGroup((name,), (value,), self.timestamp(), known))
        return change

    def delete(self, table, key):
        row = self.rows[(table, tuple(map(typed, key)))]
        return Change(table, tuple(key), False, self.timestamp(), row.greatest())

    def write(self, changes):
        """Sends changes as one transaction, and what was applied since the batch before."""
        for change in changes:
            self.merge(change)
        positions = [[m, n, h[:16]] for m, (n, h) in sorted(self.positions.items()) if n > self.told.get(m, 0)]
        if self.adopted.number > self.told.get(NOBODY, 0):
            positions.insert(0, [NOBODY, self.adopted.number, self.adopted_hash[:16]])
        time = max(self.now(), self.last >> 16)
        header = Header(b"SSB", self.group, self.keys.member, self.own + 1, self.chain.epoch, self.own_hash,
                        self.chain.position)
        data = seal(header, Body(time, positions, changes).encoded(), self.epochs[self.chain.epoch], self.keys)
        name = self.name(f"d/{self.keys.member.hex()}/{digits(self.own + 1)}")
        require(self.store.create(name, data), "another one has the name")
        self.own, self.own_hash = self.own + 1, sha256(data)
        self.last = max(self.last, time << 16 | 0xFFFF)
        self.told.update({m: n for m, n, _ in positions})
        self.store.mark(self.name("w"))
