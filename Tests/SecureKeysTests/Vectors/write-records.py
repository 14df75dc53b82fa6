#!/usr/bin/env python3
"""Writes records.json: every record of Docs/FileFormats.md, made from its tables alone.

Python 3 with the package cryptography (48.0.0 wrote the file in this folder). Nothing is random, so that
the file comes out the same each time.
"""
import hashlib, hmac, json, struct, sys, unicodedata
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.cmac import CMAC


def name(text):
    data = text.encode()
    return bytes([len(data)]) + data


def part(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def expand(key, info):
    return hmac.new(key, info + b"\1", hashlib.sha256).digest()


def subkey(key, use, purpose="", salt=b""):
    return expand(key, part("SecureStorage data key 1") + part(use) + part(purpose) + part(salt))


def checked(record):
    return record + hashlib.sha256(record).digest()[:8]


def fixed(label, count):
    return hashlib.shake_256(label.encode()).digest(count)


def wrapped(data_key, kind, data_name, key_name, key, parameters=b""):
    header = b"SSWK" + bytes([1, kind]) + name(data_name) + name(key_name) + parameters
    nonce = fixed("nonce " + key_name, 12)

    def derived(use):
        return expand(key, part("SecureStorage wrapped key 1") + part(use) + part(nonce))
    box = nonce + AESGCM(derived("encryption")).encrypt(nonce, data_key, header)
    return checked(header + box + derived("commitment"))


def extended(key, nonce, plaintext, context):
    def block(counter):
        mac = CMAC(algorithms.AES(key))
        mac.update(struct.pack(">H", counter) + b"X\0" + nonce[:12])
        return mac.finalize()
    return nonce + AESGCM(block(1) + block(2)).encrypt(nonce[12:], plaintext, context)


def value(key, key_name, plaintext, table, column, row):
    context = part("SecureStorage value") + b"\1" + part(key_name) + part(table) + part(column)
    context += b"\0" + struct.pack(">q", row) if isinstance(row, int) else b"\1" + part(row)
    nonce = fixed(f"value {row}", 24)
    return b"\1" + extended(subkey(key, "values"), nonce, plaintext, context)


def stream(key, key_name, plaintext, context):
    salt = fixed("stream", 16)
    header = b"SSST\1" + name(key_name) + salt
    cipher = AESGCM(subkey(key, "stream", salt=salt))
    chunks = [plaintext[i:i + 65536] for i in range(0, len(plaintext), 65536)] or [b""]
    out = header
    for number, chunk in enumerate(chunks):
        nonce = b"\0\0\0" + struct.pack(">QB", number, number == len(chunks) - 1)
        out += cipher.encrypt(
            nonce, chunk, part("SecureStorage stream") + part(header) + part(context))
    return out


def text_input(text):
    """The profile OpaqueString of RFC 8265, then the hash that makes every password different."""
    spaced = "".join(" " if unicodedata.category(c) == "Zs" else c for c in text)
    data = unicodedata.normalize("NFC", spaced).encode()
    return hashlib.sha512(b"SecureStorage password 1" + struct.pack(">Q", len(data)) + data).digest()


data_key, device = fixed("data key", 32), fixed("device", 32)
salt = fixed("salt", 16)
password = hashlib.scrypt(
    text_input("pässword"), salt=salt, n=1 << 14, r=8, p=4, maxmem=1 << 26, dklen=32)
typed = hashlib.scrypt(
    text_input("zoe\u0308\u00a0\u1112\u1161\u11ab \ufb01 \u212b"), salt=salt, n=1 << 14, r=8, p=4,
    maxmem=1 << 26, dklen=32)
prk = hmac.new(salt, b"0123456789ABCDEFGHJK", hashlib.sha256).digest()
code = expand(prk, b"SecureStorage recovery code 1")
records = [
    wrapped(data_key, 0, "data", "device", device),
    wrapped(data_key, 1, "data", "password", password, struct.pack(">BII", 14, 8, 4) + salt),
    wrapped(data_key, 2, "data", "recovery code", code, salt),
    wrapped(data_key, 1, "data", "typed", typed, struct.pack(">BII", 14, 8, 4) + salt),
]
key_set = checked(
    b"SSWS\1" + name("data") + subkey(data_key, "check")[:16] + bytes([len(records)])
    + b"".join(struct.pack(">H", len(r)) + r for r in records))
long = bytes(i * 7 & 255 for i in range(65536 + 10))
sealed = stream(data_key, "data", long, b"context")
json.dump({
    "device": device.hex(), "dataKey": data_key.hex(), "set": key_set.hex(),
    "derived": subkey(data_key, "derived", "database").hex(),
    "valueOfRow": value(data_key, "data", b"hello", "people", "secret", -7).hex(),
    "valueOfText": value(data_key, "data", b"", "people", "secret", "zoë").hex(),
    "stream": stream(data_key, "data", b"hello", b"context").hex(),
    "emptyStream": stream(data_key, "data", b"", b"").hex(),
    # A stream of two chunks is too long to stand here.
    "longStreamSalt": fixed("stream", 16).hex(),
    "longStreamDigest": hashlib.sha256(sealed).hexdigest(),
}, sys.stdout, indent=1)
print()
