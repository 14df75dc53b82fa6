#!/usr/bin/env python3
"""Batches by Docs/SyncFormat.md, made and read from its tables alone.

    batches.py write            prints batches.json; nothing is random, so it comes out the same each time
    batches.py read < ARRAY     opens batches of another writer, given as in batches.json, and prints their contents

Python 3 with the packages cryptography (48.0.0 wrote the file in this folder) and cbor2 (6.2.1).
"""
import base64, hashlib, hmac, io, json, random, struct, sys
import cbor2
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.cmac import CMAC

PLACE = "SecureStorage sync batch 1"
STABLE_POINT = [0, 0, "00" * 16]


# Sealed values: Docs/FileFormats.md.

def part(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def message_key(key, nonce):
    info = part("SecureStorage data key 1") + part("values") + part("") + part("")
    key = hmac.new(key, info + b"\1", hashlib.sha256).digest()

    def block(counter):
        mac = CMAC(algorithms.AES(key))
        mac.update(struct.pack(">H", counter) + b"X\0" + nonce[:12])
        return mac.finalize()
    return AESGCM(block(1) + block(2))


def context(epoch, header):
    row = base64.b64encode(header)
    return (part("SecureStorage value") + b"\1" + part(f"epoch {epoch}") + part(PLACE) + part("body")
            + b"\1" + part(row))


def padded_size(size):
    exponent = size.bit_length() - 1
    unit = 1 << max(0, exponent - exponent.bit_length()) if exponent else 1
    return -(-size // unit) * unit


# Values are [type, value] in the file of vectors, since JSON has no bytes and no bits of numbers.

def value(v):
    kind, content = v
    return {
        "null": lambda: None, "integer": lambda: int(content), "text": lambda: content,
        "real": lambda: struct.unpack(">d", bytes.fromhex(content))[0],
        "blob": lambda: bytes.fromhex(content),
    }[kind]()


def spelled(v):
    if v is None:
        return ["null", ""]
    if isinstance(v, int):
        return ["integer", str(v)]
    if isinstance(v, float):
        return ["real", struct.pack(">d", v).hex()]
    return ["text", v] if isinstance(v, str) else ["blob", v.hex()]


def body(b):
    names, members, shapes, rows = [], [], [], []

    def number(of, item):
        if item not in of:
            of.append(item)
        return of.index(item)

    def timestamp(s, like):
        if s is None:
            return None
        if s == STABLE_POINT:
            return False
        if s == like:
            return True
        counter = [s[1]] if s[1] else []
        return [s[0] - b["time"], *counter, number(members, bytes.fromhex(s[2]))]

    incarnation = known = None
    for change in b["changes"]:
        shape = [change["table"], len(change["key"]), *(r["columns"] for r in change["columnGroups"])]
        plain = all(r["timestamp"] == change["timestamp"] and r["known"] is None for r in change["columnGroups"])
        kind = 0 if not change["alive"] else 2 if plain else 1
        row = [number(shapes, shape), kind, timestamp(change["timestamp"], incarnation), timestamp(change["known"], known)]
        row += map(value, change["key"])
        incarnation, known = change["timestamp"], change["known"]
        own, seen = incarnation, known
        for column_group in change["columnGroups"]:
            if kind == 1:
                row += [timestamp(column_group["timestamp"], own), timestamp(column_group["known"], seen)]
                own, seen = column_group["timestamp"], column_group["known"]
            row += map(value, column_group["values"])
        rows.append(row)
    forms = [
        [number(names, table), count, *([number(names, c) for c in columns] for columns in columnGroups)]
        for table, count, *columnGroups in shapes
    ]
    positions = [[bytes.fromhex(m), n, bytes.fromhex(h)] for m, n, h in b["positions"]]
    return cbor2.dumps(
        [b["time"], b["schema"], b["isLast"], b["hasLowerBound"], positions, names, members, forms, rows],
        canonical=True)


def header(v):
    return (b"SSB\1" + bytes.fromhex(v["group"]) + bytes.fromhex(v["member"])
            + struct.pack(">QQ", v["number"], v["epoch"]) + bytes.fromhex(v["previous"])
            + struct.pack(">Q", v["chain"][0]) + bytes.fromhex(v["chain"][1]))


def batch(v, signing):
    clear, content = header(v), bytes.fromhex(v["encoded"]) + b"\x80"
    content += bytes(padded_size(len(content)) - len(content))
    nonce = hashlib.shake_256(clear).digest(24)
    sealed = b"\1" + nonce + message_key(bytes.fromhex(v["key"]), nonce).encrypt(
        nonce[12:], content, context(v["epoch"], clear))
    return clear + sealed + signing.sign(PLACE.encode() + hashlib.sha256(clear + sealed).digest())


def read(v):
    data = bytes.fromhex(v["batch"])
    clear, sealed, signature = data[:124], data[124:-64], data[-64:]
    signer = Ed25519PublicKey.from_public_bytes(bytes.fromhex(v["signer"]))
    signer.verify(signature, PLACE.encode() + hashlib.sha256(clear + sealed).digest())
    number, epoch = struct.unpack(">QQ", clear[36:52])
    assert clear[:4] == b"SSB\1" and sealed[0] == 1
    content = message_key(bytes.fromhex(v["key"]), sealed[1:25]).decrypt(
        sealed[13:25], sealed[25:], context(epoch, clear))
    encoded = content.rstrip(b"\0")
    assert encoded[-1] == 0x80 and padded_size(len(encoded)) == len(content)
    encoded = encoded[:-1]
    stream = io.BytesIO(encoded)
    time, schema, last, hasLowerBound, positions, names, members, shapes, rows = cbor2.load(stream)
    assert stream.read() == b""

    def timestamp(item, like):
        if item is None or item is True:
            return like if item else None
        if item is False:
            return STABLE_POINT
        return [time + item[0], item[1] if len(item) == 3 else 0, members[item[-1]].hex()]

    changes, incarnation, known = [], None, None
    for row in rows:
        table, count, *columnGroups = shapes[row[0]]
        incarnation, known = timestamp(row[2], incarnation), timestamp(row[3], known)
        change = dict(table=names[table], key=[spelled(v) for v in row[4:4 + count]], alive=row[1] > 0,
                      timestamp=incarnation, known=known, columnGroups=[])
        rest, own, seen = row[4 + count:], incarnation, known
        for columns in columnGroups:
            if row[1] == 1:
                own, seen, rest = timestamp(rest[0], own), timestamp(rest[1], seen), rest[2:]
            change["columnGroups"].append(dict(
                columns=[names[c] for c in columns], values=[spelled(v) for v in rest[:len(columns)]],
                timestamp=own, known=seen if row[1] == 1 else None))
            rest = rest[len(columns):]
        assert not rest
        changes.append(change)
    return dict(
        group=clear[4:20].hex(), member=clear[20:36].hex(), number=number, epoch=epoch,
        previous=clear[52:84].hex(), chain=[struct.unpack(">Q", clear[84:92])[0], clear[92:].hex()],
        encoded=encoded.hex(), time=time, schema=schema, isLast=last,
        hasLowerBound=hasLowerBound,
        positions=[[m.hex(), n, h.hex()] for m, n, h in positions], changes=changes)


def vectors():
    draw = random.Random(1)
    some = lambda label, count: hashlib.shake_256(label.encode()).digest(count).hex()
    writers = [some(f"member {i}", 16) for i in range(3)]
    base = 1_790_000_000_000
    numbers = [0, -1, 23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**63 - 1, -2**63, -24, -25, -256, -257]
    reals = [0.0, -0.0, 1.5, 0.1, float("inf"), float("-inf"), 65504.0, 65505.0, 2.0**-24, 2.0**-25, 5e-324,
             1.7976931348623157e308, 3.4028234663852886e38, 1e10, 2.0**-14, 0.333251953125]
    texts = ["", "a", "milk", "\0", "e\u0301", "\u00e9", "\U0001f600", "x" * 300]
    values = [["null", ""], *(["integer", str(n)] for n in numbers),
              *(["real", struct.pack(">d", r).hex()] for r in reals), *(["text", t] for t in texts),
              ["blob", ""], ["blob", "00ff"], ["blob", some("blob", 70)]]

    def timestamp():
        return [base - draw.choice([-5, 0, 1, 23, 24, 1000, 86_400_000, 9_000_000_000, base]),
                draw.choice([0, 0, 0, 1, 700, 65535]), draw.choice(writers)]

    def change():
        # One column group of each composed name and its decomposed form: SQLite tells them apart.
        table = draw.choice(["note", "e\u0301", "\u00e9", "a \"b\""])
        groups = draw.choice([[["title"], ["body"]], [["begins", "ends"]], [["e\u0301"], ["\u00e9"]], []])
        incarnation = timestamp() if draw.random() < 0.7 else STABLE_POINT
        alive, inserted = draw.random() < 0.8, draw.random() < 0.4
        columnGroups = [dict(
            columns=g, values=[draw.choice(values) for _ in g], timestamp=incarnation if inserted else timestamp(),
            known=None if inserted else draw.choice([None, STABLE_POINT, incarnation, timestamp()])) for g in groups]
        return dict(table=table, key=[draw.choice(values) for _ in range(draw.choice([1, 1, 2]))], alive=alive,
                    timestamp=incarnation, known=draw.choice([None, None, STABLE_POINT, timestamp()]), columnGroups=columnGroups if alive else [])

    all_values = dict(
        table="all", key=[["integer", "1"]], alive=True, timestamp=[base, 0, writers[0]], known=None,
        columnGroups=[dict(columns=[f"c{i}"], values=[v], timestamp=[base, 0, writers[0]], known=None)
                   for i, v in enumerate(values)])
    bodies = [
        dict(time=0, schema=0, isLast=True, hasLowerBound=False, positions=[], changes=[]),
        dict(time=base, schema=3, isLast=True, hasLowerBound=True,
             positions=[[writers[1], 7, some("head", 16)], [writers[2], 2**63 - 1, "00" * 16]], changes=[all_values]),
    ]
    for index in range(10):
        bodies.append(dict(time=base, schema=index, isLast=index % 3 != 0, hasLowerBound=index % 2 == 0, positions=[],
                           changes=[change() for _ in range(index * 2)]))
    previous = "00" * 32
    for index, b in enumerate(bodies):
        signing = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(some("signing", 32)))
        v = dict(b, group=some("group", 16), member=writers[0], number=index + 1, epoch=1 + index // 4,
                 previous=previous, chain=[2 + index // 3, some(f"chain {2 + index // 3}", 32)],
                 key=some(f"epoch {1 + index // 4}", 32), encoded=body(b).hex())
        v["signer"] = signing.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw).hex()
        v["batch"] = batch(v, signing).hex()
        previous = hashlib.sha256(bytes.fromhex(v["batch"])).hexdigest()
        content = read(v)
        assert all(v[k] == content[k] for k in content), v
        yield v


if sys.argv[1:] == ["read"]:
    json.dump([read(v) for v in json.load(sys.stdin)], sys.stdout)
else:
    print("[" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in vectors()) + "]")
