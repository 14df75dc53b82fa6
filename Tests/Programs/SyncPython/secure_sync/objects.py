"""Batches, manifests and parts of snapshots, and a directory with them."""
import base64
import os
import struct
import uuid
from dataclasses import dataclass

from .body import NOBODY, Body
from .encoding import decode, encode, digits, number_of, padded, require, sha256, unpadded
from .keys import is_signed

MOST_BYTES = 24 << 20


class Directory:
    """Objects as files."""

    def __init__(self, root):
        self.root = root

    def read(self, name):
        try:
            with open(os.path.join(self.root, name), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def create(self, name, data):
        """False if the name is taken."""
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        draft = os.path.join(self.root, f".draft-{uuid.uuid4()}")
        with open(draft, "wb") as file:
            file.write(data)
        try:
            os.link(draft, path)
            return True
        except FileExistsError:
            return False
        finally:
            os.unlink(draft)

    def mark(self, name):
        draft = os.path.join(self.root, f".draft-{uuid.uuid4()}")
        with open(draft, "wb") as file:
            file.write(os.urandom(16))
        os.rename(draft, os.path.join(self.root, name))

    def groups(self):
        return [bytes.fromhex(name) for name in os.listdir(self.root) if len(name) == 32]

    def numbers(self, prefix):
        """The numbers of the objects whose names are the prefix and 16 digits, in their order."""
        folder, found = os.path.join(self.root, prefix), []
        for high in os.listdir(folder) if os.path.isdir(folder) else []:
            path = os.path.join(folder, high)
            for low in os.listdir(path) if os.path.isdir(path) else []:
                number = number_of(f"{high}/{low.split('.')[0]}")
                if number:
                    found.append(number)
        return sorted(set(found))


@dataclass
class Header:
    """What a batch and a manifest begin with."""
    magic: bytes
    group: bytes
    member: bytes
    number: int
    epoch: int
    previous: bytes
    chain: tuple

    SIZE = 124

    def encoded(self):
        return (self.magic + b"\1" + self.group + self.member + struct.pack(">QQ", self.number, self.epoch)
                + self.previous + struct.pack(">Q", self.chain[0]) + self.chain[1])

    @classmethod
    def decoded(cls, data):
        require(len(data) > cls.SIZE + 64 and data[3] == 1, "it has no header")
        number, epoch = struct.unpack(">QQ", data[36:52])
        entry, = struct.unpack(">Q", data[84:92])
        return cls(data[:3], data[4:20], data[20:36], number, epoch, data[52:84], (entry, data[92:124]))

    @property
    def label(self):
        return "SecureStorage sync batch 1" if self.magic == b"SSB" else "SecureStorage sync snapshot 1"


def seal(header, content, key, keys):
    position = header.encoded()
    data = position + key.key.seal(padded(content), header.label, "body", base64.b64encode(position))
    return data + keys.signing.sign(header.label.encode() + sha256(data))


def is_signed_for(data, magic, group, member, number, public):
    """Whether a member has signed an object for this place."""
    if data is None or not Header.SIZE + 64 < len(data) <= MOST_BYTES or data[3] != 1:
        return False
    header = Header.decoded(data)
    place = (header.magic, header.group, header.member, header.number)
    return place == (magic, group, member, number) and is_signed(
        public, data[-64:], header.label.encode() + sha256(data[:-64]))


def open_object(data, keys_by_epoch, chain):
    """The header and the content of an object whose signature is valid."""
    header = Header.decoded(data)
    entry, digest = header.chain
    require(0 < entry <= chain.count, "the store does not show the chain of members so far")
    require(chain.hashes[entry - 1] == digest, "its writer has seen another chain of members")
    require(chain.epochs[entry - 1] == header.epoch, "it is sealed with a key of another time")
    require(header.epoch in keys_by_epoch, "its key is not known")
    padded = keys_by_epoch[header.epoch].key.open(
        data[Header.SIZE:-64], header.label, "body", base64.b64encode(data[:Header.SIZE]))
    return header, unpadded(padded)


@dataclass
class Log:
    """A member's log, as a manifest has it."""
    position: int
    hash: bytes
    stable_point: int
    began: int = 0
    closing: int = 0
    closed: int = None
    heard: int = 0
    lower_bounds: list = None
    published: list = None
    adopted: int = 0


@dataclass
class Manifest:
    number: int
    time: int
    schema: int
    stable_point: int
    logs: dict
    rows: list

    @classmethod
    def decoded(cls, number, data):
        time, schema, stable_point, logs, rows = decode(data)
        found = {}
        for member, position, digest, least, place, heard, lower_bounds, published, adopted in logs:
            require(member > max(found, default=NOBODY), "logs are not in their order")
            log = Log(position, digest, least, heard=heard, lower_bounds=lower_bounds, published=published, adopted=adopted)
            if isinstance(place, list):
                log.began, log.closing = (place + [0])[:2]
            else:
                log.closed = place
            found[member] = log
        return cls(number, time, schema, stable_point, found, rows)

    def encoded(self):
        logs = []
        for member, log in sorted(self.logs.items()):
            place = log.closed if log.closed is not None else [log.began] + ([log.closing] if log.closing else [])
            logs.append([member, log.position, log.hash, log.stable_point, place, log.heard, log.lower_bounds, log.published,
                         log.adopted])
        return encode([self.time, self.schema, self.stable_point, logs, self.rows])


def snapshot_rows(store, group, rows, keys_by_epoch):
    """All changes of a snapshot's parts."""
    name, epoch, parts = rows
    for index, (size, digest) in enumerate(parts):
        data = store.read(f"{group.hex()}/p/{name.hex()}/{digits(index + 1)}")
        require(data is not None and len(data) == size and sha256(data) == digest, "a part is not what it says")
        require(data[:4] == b"SSP\1", "it has no rows of a snapshot")
        rest, frame = data[4:], 0
        while rest:
            count, = struct.unpack(">I", rest[:4])
            row = base64.b64encode(group + name + struct.pack(">QQQ", epoch, index + 1, frame))
            content = keys_by_epoch[epoch].key.open(
                rest[4:4 + count], "SecureStorage sync snapshot rows 1", "rows", row)
            yield from Body.decoded(unpadded(content)).changes
            rest, frame = rest[4 + count:], frame + 1

