"""Bytes that several objects have in common: parts, CBOR, padding, sealed values, names."""
import hashlib
import hmac
import io
import os
import struct

import cbor2
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.cmac import CMAC


class Damaged(Exception):
    """An object is not what Docs/SyncFormat.md says."""


def require(condition, reason):
    if not condition:
        raise Damaged(reason)


def sha256(data):
    return hashlib.sha256(data).digest()


def u64(number):
    return struct.pack(">Q", number)


def part(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def encode(value):
    return cbor2.dumps(value, canonical=True)


def decode(data):
    """One value in CBOR's deterministic form."""
    stream = io.BytesIO(data)
    try:
        value = cbor2.load(stream)
    except (cbor2.CBORDecodeError, EOFError) as error:
        raise Damaged(f"no CBOR: {error}")
    require(stream.read() == b"" and encode(value) == data, "it is not in the one form of its content")
    return value


def hkdf(key, info, salt=b"", count=32):
    """HKDF-SHA256 (RFC 5869)."""
    key = hmac.new(salt or bytes(32), key, hashlib.sha256).digest()
    output, block = b"", b""
    while len(output) < count:
        block = hmac.new(key, block + info + bytes([len(output) // 32 + 1]), hashlib.sha256).digest()
        output += block
    return output[:count]


def padded(content):
    """Padme, after a byte 0x80."""
    content += b"\x80"
    exponent = len(content).bit_length() - 1
    unit = 1 << max(0, exponent - exponent.bit_length()) if exponent else 1
    return content + bytes(-len(content) % unit)


def unpadded(data):
    content = data.rstrip(b"\0")
    require(content[-1:] == b"\x80" and padded(content[:-1]) == data, "its padding is wrong")
    return content[:-1]


class DataKey:
    """A data key of Docs/FileFormats.md, and its sealed values."""

    def __init__(self, name, secret):
        self.name, self.secret = name, secret
        info = part("SecureStorage data key 1") + part("values") + part("") + part("")
        # The key is random, so only HKDF's second half is needed.
        self.values = hmac.new(secret, info + b"\1", hashlib.sha256).digest()

    def _message_key(self, nonce):
        """XAES-256-GCM: a key for each nonce."""
        def block(counter):
            mac = CMAC(algorithms.AES(self.values))
            mac.update(struct.pack(">H", counter) + b"X\0" + nonce[:12])
            return mac.finalize()
        return AESGCM(block(1) + block(2))

    def _context(self, table, column, row):
        return (part("SecureStorage value") + b"\1" + part(self.name) + part(table) + part(column) + b"\1" + part(row))

    def seal(self, content, table, column, row):
        nonce = os.urandom(24)
        context = self._context(table, column, row)
        return b"\1" + nonce + self._message_key(nonce).encrypt(nonce[12:], content, context)

    def open(self, sealed, table, column, row):
        require(len(sealed) > 40 and sealed[0] == 1, "no sealed value")
        nonce = sealed[1:25]
        try:
            return self._message_key(nonce).decrypt(nonce[12:], sealed[25:], self._context(table, column, row))
        except Exception:
            raise Damaged("its seal does not open")


def digits(number):
    text = f"{number:016x}"
    return f"{text[:14]}/{text[14:]}"


def number_of(text):
    """The number of 16 digits with a `/` before the last two; None for another text."""
    plain = text.replace("/", "")
    if len(plain) == 16 and all(c in "0123456789abcdef" for c in plain):
        number = int(plain, 16)
        if digits(number) == text and 0 < number < 1 << 63:
            return number
    return None
