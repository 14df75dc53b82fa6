"""What members have, and how keys come to them: HPKE (RFC 9180) with X25519 or X-Wing."""
import hashlib
import hmac
import os
import struct

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from .encoding import DataKey, hkdf, part, u64

ED25519, X25519, XWING = 1, 2, 3


def is_signed(public, signature, message):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


class MemberKeys:
    def __init__(self, member, signing, agreement, seed):
        self.member = member
        self.signing = Ed25519PrivateKey.from_private_bytes(signing)
        self.agreement = X25519PrivateKey.from_private_bytes(agreement)
        expanded = hashlib.shake_256(seed).digest(96)
        self.lattice = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
        self.curve = X25519PrivateKey.from_private_bytes(expanded[64:])

    @classmethod
    def random(cls):
        return cls(*(os.urandom(n) for n in (16, 32, 32, 32)))

    @classmethod
    def of_invitation(cls, code):
        secret = code.encode()
        derived = [hkdf(secret, f"SecureStorage sync {use} 1".encode())
                   for use in ("invitation id", "signing", "agreement", "X-Wing")]
        return cls(derived[0][:16], *derived[1:])

    @property
    def public(self):
        raw = lambda key: key.public_key().public_bytes_raw()
        return {ED25519: raw(self.signing), X25519: raw(self.agreement), XWING: raw(self.lattice) + raw(self.curve)}


# HPKE in its base mode, one message for each key.

def _labeled(suite, label, data):
    return b"HPKE-v1" + suite + label + data


def _extract(suite, salt, label, data):
    return hmac.new(salt or bytes(32), _labeled(suite, label, data), hashlib.sha256).digest()


def _expand(suite, key, label, info, count):
    info = struct.pack(">H", count) + _labeled(suite, label, info)
    return hmac.new(key, info + b"\1", hashlib.sha256).digest()[:count]


def _sealer(algorithm, shared, info):
    kem, aead, cipher = (0x20, 3, ChaCha20Poly1305) if algorithm == X25519 else (0x647A, 2, AESGCM)
    suite = b"HPKE" + struct.pack(">HHH", kem, 1, aead)
    context = b"\0" + _extract(suite, b"", b"psk_id_hash", b"") + _extract(suite, b"", b"info_hash", info)
    secret = _extract(suite, shared, b"secret", b"")
    return cipher(_expand(suite, secret, b"key", context, 32)), _expand(suite, secret, b"base_nonce", context, 12)


def _curve_secret(shared, encapsulated, public):
    """DHKEM(X25519, HKDF-SHA256)."""
    suite = b"KEM" + struct.pack(">H", 0x20)
    key = _extract(suite, b"", b"eae_prk", shared)
    return _expand(suite, key, b"shared_secret", encapsulated + public, 32)


def _combined(lattice, curve, ciphertext, public):
    """X-Wing's combiner."""
    return hashlib.sha3_256(lattice + curve + ciphertext + public + b"\\.//^\\").digest()


def wrap(secret, public, info, algorithm):
    ephemeral = X25519PrivateKey.generate()
    point = ephemeral.public_key().public_bytes_raw()
    if algorithm == X25519:
        shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public[X25519]))
        encapsulated, shared = point, _curve_secret(shared, point, public[X25519])
    else:
        lattice, curve = public[XWING][:1184], public[XWING][1184:]
        first, ciphertext = MLKEM768PublicKey.from_public_bytes(lattice).encapsulate()
        second = ephemeral.exchange(X25519PublicKey.from_public_bytes(curve))
        encapsulated, shared = ciphertext + point, _combined(first, second, point, curve)
    cipher, nonce = _sealer(algorithm, shared, info)
    return bytes([algorithm]) + encapsulated + cipher.encrypt(nonce, secret, b"")


def unwrap(wrapped, keys, info):
    """None if it was not wrapped for these keys."""
    algorithm, size = (wrapped[0], 32 if wrapped[0] == X25519 else 1120) if wrapped else (0, 0)
    if algorithm not in (X25519, XWING):
        return None
    encapsulated, sealed = wrapped[1:1 + size], wrapped[1 + size:]
    try:
        point = X25519PublicKey.from_public_bytes(encapsulated[-32:])
        if algorithm == X25519:
            shared = _curve_secret(keys.agreement.exchange(point), encapsulated, keys.public[X25519])
        else:
            shared = _combined(
                keys.lattice.decapsulate(encapsulated[:1088]), keys.curve.exchange(point), encapsulated[1088:],
                keys.public[XWING][1184:])
        cipher, nonce = _sealer(algorithm, shared, info)
        return cipher.decrypt(nonce, sealed, b"")
    except Exception:
        return None


class GroupSecret:
    """A key that members share: the key of an epoch, the secret of the tree, or the key of a node."""

    def __init__(self, use, number, secret):
        self.use, self.number, self.secret = use, number, secret
        self.key = DataKey(f"{use} {number}", secret)

    def context(self, purpose, group, member=b""):
        return part(purpose) + part(self.use) + part(group) + u64(self.number) + part(member)

    def commitment(self, group):
        return hmac.new(self.secret, self.context("SecureStorage sync commitment 1", group), hashlib.sha256).digest()

    def wrapped(self, member, public, algorithm, group):
        return wrap(self.secret, public, self.context("SecureStorage sync wrap 1", group, member), algorithm)

    def derived(self, level, index, number, group):
        """Of the tree's secret: a node's key."""
        node = GroupSecret(f"node {level} {index}", number, bytes(32))
        return GroupSecret(node.use, number, hkdf(self.secret, node.context("SecureStorage sync tree 1", group)))

    @classmethod
    def unwrapped(cls, use, number, wrapped, keys, group, commitment):
        empty = cls(use, number, bytes(32))
        secret = unwrap(wrapped, keys, empty.context("SecureStorage sync wrap 1", group, keys.member))
        return cls._checked(use, number, secret, group, commitment)

    @classmethod
    def opened(cls, use, number, sealed, other, group, commitment):
        try:
            secret = other.key.open(sealed, "SecureStorage sync key 1", use, str(number))
        except Exception:
            return None
        return cls._checked(use, number, secret, group, commitment)

    @classmethod
    def _checked(cls, use, number, secret, group, commitment):
        if secret is None or len(secret) != 32:
            return None
        new = cls(use, number, secret)
        return new if new.commitment(group) == commitment else None
