"""Who belongs to the group: a function of the objects of the chain."""
import copy
import hashlib
import hmac
from dataclasses import dataclass

from .encoding import Damaged, decode, encode, hkdf, part, require, sha256, u64
from .keys import ED25519, X25519, XWING, GroupSecret, is_signed
from .tree import Tree

DEVICE, INVITATION, RECOVERY = range(3)
ADMIN, WRITER, READER = range(3)
FOUND, ADD, REMOVE, ROTATE, LEAVE, FORK, SUCCEED, UPDATE = range(8)
LABEL = b"SecureStorage sync chain 1"
MOST_MEMBERS, MOST_BYTES = 1024, 4 << 20
PRIME = 2**255 - 19


@dataclass
class Member:
    id: bytes
    keys: dict
    kind: int
    role: int
    name: bytes
    name_epoch: int
    mac: bytes
    expires: int
    author: bytes = b""
    number: int = 0
    previous: bytes = b""

    @classmethod
    def of(cls, items):
        member, keys, *rest = items
        return cls(member, public_keys(keys), *rest)

    def items(self):
        keys = [[algorithm, self.keys[algorithm]] for algorithm in sorted(self.keys)]
        return [self.id, keys, self.kind, self.role, self.name, self.name_epoch, self.mac, self.expires]


def public_keys(items):
    algorithms = [algorithm for algorithm, _ in items]
    require(algorithms == sorted(set(algorithms)) and len(items) <= 8, "keys are not in their order")
    keys = dict(items)
    sizes = {ED25519: 32, X25519: 32, XWING: 1216}
    require({ED25519, X25519} <= set(keys), "a member has two keys at least")
    require(all(len(keys[a]) == size for a, size in sizes.items() if a in keys), "a key has the wrong size")
    for algorithm in (ED25519, X25519):
        number = int.from_bytes(keys[algorithm], "little")
        if algorithm == ED25519:
            number &= (1 << 255) - 1
        require(number < PRIME, "a key is not in its canonical form")
    return keys


def signed(items, keys):
    content = encode(items)
    return content + keys.signing.sign(LABEL + sha256(content))


class Chain:
    def __init__(self, group):
        self.group, self.members, self.order = group, {}, []
        self.removed, self.spent, self.pins, self.last_snapshots = {}, set(), [], {}
        self.hashes, self.epochs, self.entries = [], [], 0
        self.epoch, self.sealed, self.wrapped, self.tree = 0, {}, {}, Tree()
        self.used, self.time = set(), 0

    @property
    def count(self):
        return len(self.hashes)

    @property
    def last(self):
        return self.hashes[-1] if self.hashes else bytes(32)

    @property
    def position(self):
        """The last entry, and the hash up to it."""
        return self.entries, self.hashes[self.entries - 1]

    def is_active(self, member):
        return member in self.members and member not in self.removed and member not in self.spent

    def active(self):
        return [self.members[m] for m in self.order if self.is_active(m)]

    def may_write(self, member):
        known = self.members.get(member)
        return known is not None and known.kind == DEVICE and known.role != READER

    def counts(self, number, digest, epoch):
        """Whether, for each removal, a manifest is the one that it names, or a later one under a key since then."""
        return all(number < n or (h.startswith(digest) if number == n else epoch >= least) for n, h, least in self.pins)

    def is_named(self, writer, number, digest):
        """Whether an entry by which a member went names the manifest, or its writer is still a member."""
        return (writer not in self.removed or self.last_snapshots[writer] == (number, digest)
                or any((n, h) == (number, digest) for n, h, _ in self.pins))

    def is_late(self, member, number, digest):
        """Whether a batch is after the last one of a former member that counts, or another one in its place."""
        last, its_hash = self.removed.get(member, (number + 1, b""))
        return number > last or (number == last and not its_hash.startswith(digest))

    # Objects

    def follow(self, data):
        """Applies the next object, or skips it if it is invalid."""
        kept = self.__dict__.copy()
        try:
            self._apply(data)
            is_invalid = False
        except Damaged as reason:
            # Nothing that a refused entry has changed stays.
            self.__dict__.update(kept)
            if self.count == 0 or str(reason) == "it follows another chain":
                raise
            is_invalid = True
        # Nobody has to read an object that is too long for an entry.
        content = data if len(data) <= MOST_BYTES else b""
        self.hashes = self.hashes + [sha256(self.last + sha256(content))]
        self.epochs = self.epochs + [self.epoch]
        if not is_invalid:
            self.entries = self.count

    def _apply(self, data):
        require(64 < len(data) <= MOST_BYTES, "no entry")
        items = decode(data[:-64])
        require(isinstance(items, list) and len(items) == 8, "no entry")
        version, group, number, previous, author, time, action, fields = items
        require(version == 1, "a newer version")
        require(group == self.group and number == self.count + 1, "it is of another place")
        message = LABEL + sha256(data[:-64])
        # What a refused entry would change is changed in copies.
        self.members, self.order, self.removed, self.spent, self.pins, self.last_snapshots, self.sealed, \
            self.wrapped, self.tree, self.used = map(copy.deepcopy, (
                self.members, self.order, self.removed, self.spent, self.pins, self.last_snapshots, self.sealed,
                self.wrapped, self.tree, self.used))
        if number == 1:
            require(action in (FOUND, SUCCEED), "a group is founded")
            members = [fields[0]] if action == FOUND else fields[1]
            members = [Member.of(items) for items in members]
            founder = members[0]
            require(founder.id == author and founder.kind == DEVICE and founder.role == ADMIN, "by its first device")
            require(is_signed(founder.keys[ED25519], data[-64:], message), "its signature is not valid")
            require(previous == bytes(32), "nothing is before it")
            for member in members:
                require(member.name_epoch == 1, "the first epoch is 1")
                self._append(member, author, number, previous)
            self._take(fields[-1], founder, 1)
            return
        require(self.is_active(author), "its author is not a member")
        by = self.members[author]
        require(is_signed(by.keys[ED25519], data[-64:], message), "its signature is not valid")
        require(previous == self.last, "it follows another chain")
        self._check_role(by, action, fields)
        if by.kind == DEVICE and by.role == ADMIN:
            self.time = max(self.time, time)
        if action in (ADD, FORK):
            member, own = Member.of(fields[0]), fields[1]
            if action == ADD:
                require(by.expires == 0 or max(self.time, time) <= by.expires, "the invitation has expired")
                if by.kind == INVITATION:
                    self.spent.add(author)
                    self.tree.remove(author)
            else:
                require(member.kind == DEVICE and member.role == by.role and fields[2][0] == author,
                        "a copy goes on from its own log")
            require(len(self.active()) < MOST_MEMBERS, "the group is full")
            require(1 <= member.name_epoch <= self.epoch, "its name has no key")
            require(len(member.mac) == (0 if member.kind == DEVICE else 32), "no MAC")
            self._append(member, author, number, previous)
            self._give(own, member, by)
        elif action == REMOVE:
            positions, keys, snapshot = fields
            gone = {position[0] for position in positions}
            require(positions and len(gone) == len(positions) and author not in gone
                    and all(self.is_active(m) or m in self.removed for m in gone), "it removes other members")
            self._depart(positions, snapshot)
            self._take(keys, by)
            if snapshot[0] > 0:
                self.pins.append((*snapshot, self.epoch))
        elif action == ROTATE:
            self._take(fields[0], by)
        elif action == LEAVE:
            require(fields[0][0] == author, "a member only leaves itself")
            self._depart([fields[0]], fields[1])
            rest = self.active()
            require(not rest or any(m.role == ADMIN for m in rest), "the last admin stays")
        elif action == UPDATE:
            keys = public_keys(fields[0])
            require(by.kind == DEVICE and keys[ED25519] == by.keys[ED25519], "a device signs with one key")
            new = {key for a, key in keys.items() if a != ED25519}
            require(not new & self.used, "its keys were used before")
            self.used |= new
            old = by.keys
            by.keys = keys
            self.tree.renew(author)
            self._give(fields[1], by, by)
        else:
            raise Damaged("an unknown action")

    def _check_role(self, by, action, fields):
        if by.kind != DEVICE:
            require(action == ADD, "an invitation only adds a device")
            member = Member.of(fields[0])
            require(member.kind == DEVICE and member.role == by.role, "with its own role")
        elif by.role != ADMIN:
            require(action in (LEAVE, FORK, UPDATE), "only an admin does that")
            require(action != FORK or by.role == WRITER, "a reader has no log")

    def _append(self, member, author, number, previous):
        require(member.id not in self.members and not set(member.keys.values()) & self.used, "it was there before")
        member.author, member.number, member.previous = author, number, previous
        self.members[member.id] = member
        self.order.append(member.id)
        self.used |= set(member.keys.values())
        self.tree.add(member.id, member.role == ADMIN)

    @staticmethod
    def algorithm(author, member):
        return XWING if XWING in author.keys and XWING in member.keys else X25519

    def _is_wrapped(self, wrapped, member, author):
        return not wrapped or wrapped[0] == self.algorithm(author, member)

    def _give(self, own, member, author):
        require(self._is_wrapped(own[0], member, author), "the key is wrapped as keys allow")
        require(self._is_wrapped(own[1], member, author) if member.role == ADMIN else not own[1],
                "the secret is for admins")
        self.wrapped.setdefault(member.id, {})[self.epoch] = own[0]
        if member.role == ADMIN:
            self.tree.give(member.id, own[1])

    def _depart(self, positions, snapshot):
        gone = {position[0] for position in positions}
        for member in self.active():
            if member.id in gone or (member.kind != DEVICE and member.author in gone):
                self.tree.remove(member.id)
                if member.id not in gone:
                    self.spent.add(member.id)
        for member, number, digest in positions:
            self.removed[member], self.last_snapshots[member] = (number, digest), tuple(snapshot)

    def _take(self, keys, author, first=None):
        number, commitment, for_admins, for_others, secret, nodes, before, previous = keys
        require(number == (first or self.epoch + 1), "a new key has the next number")
        require(first or (previous and 1 <= before <= self.epoch), "the key before is sealed with it")
        self.tree.take(number, secret, nodes, for_others,
                       lambda wrapped, member: self._is_wrapped(wrapped, self.members[member], author))
        self.epoch = number
        self.sealed[number] = (commitment, for_admins, for_others, self.tree.height, before, previous)

    # Keys

    def keys_for(self, keys):
        """The keys of all epochs that a member can open, by their numbers."""
        opened, own = {}, self.wrapped.get(keys.member, {})
        for number in range(self.epoch, 0, -1):
            commitment, for_admins, for_others, height, before, previous = self.sealed[number]
            if number not in opened and number in own:
                found = GroupSecret.unwrapped("epoch", number, own[number], keys, self.group, commitment)
                if found:
                    opened[number] = found
            if number not in opened:
                found = self._by_tree(number, keys, commitment, for_admins, for_others, height)
                if found:
                    opened[number] = found
            if number in opened and before and before not in opened:
                found = GroupSecret.opened(
                    "epoch", before, previous, opened[number], self.group, self.sealed[before][0])
                if found:
                    opened[before] = found
        return opened

    def _by_tree(self, number, keys, commitment, for_admins, for_others, height):
        member = self.members[keys.member]
        if member.role == ADMIN:
            secrets = [s for s in self.tree.secrets if s[0] <= number]
            wrapped = secrets[-1][2].get(member.id) if secrets else None
            root = wrapped and GroupSecret.unwrapped(
                "tree", secrets[-1][0], wrapped, keys, self.group, secrets[-1][1])
        else:
            root = None
            for level, index, epoch, step, wrapped in self.tree.way(member.id, number, height):
                use = f"node {level} {index}"
                root = (GroupSecret.opened(use, epoch, wrapped, root, self.group, step) if root else
                        GroupSecret.unwrapped(use, epoch, wrapped, keys, self.group, step))
                if not root:
                    break
        sealed = for_admins if member.role == ADMIN else for_others
        return root and GroupSecret.opened("epoch", number, sealed, root, self.group, commitment)


def invitation_mac(code, group, number, previous):
    key = hkdf(code.encode(), b"SecureStorage sync invitation 1")
    return hmac.new(key, part(group) + u64(number) + part(previous), hashlib.sha256).digest()
