#!/usr/bin/env python3
"""Writes signatures.json: Ed25519 signatures on which implementations differ, and what the rule of
Docs/SyncFormat.md says of each.

Plain Python, from RFC 8032 alone; nothing is random, so that the file comes out the same each time. The kinds of
cases are those of Chalkias, Garillot, Nikolaenko: Taming the many EdDSAs (2020).
"""
import hashlib, json, sys

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def recover(y, sign):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    assert x * x % P == square
    return P - x if x & 1 != sign else x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = (recover(BASE_Y, 0), BASE_Y)
ZERO = (0, 1)


def add(p, q):
    (x1, y1), (x2, y2) = p, q
    t = D * x1 * x2 * y1 * y2 % P
    return ((x1 * y2 + x2 * y1) * pow(1 + t, P - 2, P) % P, (y1 * y2 + x1 * x2) * pow(1 - t, P - 2, P) % P)


def times(n, p):
    result = ZERO
    while n:
        if n & 1:
            result = add(result, p)
        p, n = add(p, p), n >> 1
    return result


def encoded(p):
    return (p[1] | (p[0] & 1) << 255).to_bytes(32, "little")


def challenge(r, a, message):
    return int.from_bytes(hashlib.sha512(r + a + message).digest(), "little") % L


def seed(label):
    return int.from_bytes(hashlib.sha512(label.encode()).digest(), "little") % L


def eighth():
    """A point of order 8."""
    y = int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little")
    point = (recover(y, 0), y)
    assert times(8, point) == ZERO and times(4, point) != ZERO
    return point


def case(what, valid, allowed, a, message, r, s):
    return dict(case=what, isValid=valid, isAllowed=allowed, key=a.hex(), message=message.hex(),
                signature=(r + s.to_bytes(32, "little")).hex())


def search(condition):
    """The first message whose challenge fulfils a condition."""
    number = 0
    while True:
        message = b"message %d" % number
        if condition(message):
            return message
        number += 1


def main():
    t8 = eighth()
    secret, nonce = seed("secret"), seed("nonce")
    key, commitment = times(secret, BASE), times(nonce, BASE)
    a, r, m = encoded(key), encoded(commitment), b"message"
    h = challenge(r, a, m)
    s = (nonce + h * secret) % L
    cases = [
        case("of an honest signer", True, True, a, m, r, s),
        case("with another message", False, True, a, b"massage", r, s),
        case("whose S is larger by the order of the group", False, True, a, m, r, s + L),
    ]
    # R with a part of order 8: valid only by the equation with the cofactor.
    r8 = encoded(add(commitment, t8))
    s8 = (nonce + challenge(r8, a, m) * secret) % L
    cases.append(case("whose R has a part of order 8", False, True, a, m, r8, s8))
    # A key with a part of order 8: valid without the cofactor if the challenge is a multiple of 8, else only with it.
    mixed = encoded(add(key, t8))
    good = search(lambda m: challenge(r, mixed, m) % 8 == 0)
    bad = search(lambda m: challenge(r, mixed, m) % 8 != 0)
    for message, valid in [(good, True), (bad, False)]:
        s = (nonce + challenge(r, mixed, message) * secret) % L
        name = "of a key with a part of order 8, " + ("which the challenge cancels" if valid else "with the cofactor only")
        cases.append(case(name, valid, True, mixed, message, r, s))
    # Both have such a part: without the cofactor they have to cancel each other in R + h*A.
    for sum in (0, 1):
        both = encoded(add(commitment, times(3, t8)))
        message = search(lambda m: (3 + challenge(both, mixed, m)) % 8 == sum)
        h = challenge(both, mixed, message)
        s = (nonce + h * secret) % L
        assert (times(s, BASE) == add(add(commitment, times(3, t8)), times(h, add(key, t8)))) == (sum == 0)
        name = "whose R and key have parts of order 8, which " + ("differ" if sum else "cancel each other")
        cases.append(case(name, sum == 0, True, mixed, message, both, s))
    # Keys of small order, for which a signature of zeros is valid for some messages or all.
    for name, point in [("the neutral point", ZERO), ("a point of order 2", (0, P - 1)), ("a point of order 8", t8)]:
        small = encoded(point)
        neutral = encoded(ZERO)
        message = search(lambda m: times(challenge(neutral, small, m), point) == ZERO)
        cases.append(case(f"by {name}", True, False, small, message, neutral, 0))
    # The neutral point in another form: y = p + 1.
    other = (P + 1).to_bytes(32, "little")
    cases.append(case("by the neutral point in another form", None, False, other, m, encoded(ZERO), 0))
    # R in another form: recomputed, it has the other bytes.
    cases.append(case("whose R is the neutral point in another form", False, True, a, m, other,
                      challenge(other, a, m) * secret % L))
    json.dump(cases, sys.stdout, indent=1)
    print()


main()
