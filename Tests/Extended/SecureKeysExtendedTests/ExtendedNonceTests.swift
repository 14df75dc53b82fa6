import Crypto
import Foundation
import TestSupport
import Testing

@testable import SecureKeys
@testable import SecureKeysTests

struct ExtendedNonceTests {
    @Test func `XAES-256-GCM of 10,000 random messages has the published digest`() throws {
        var (source, digest) = (Shake128(), Shake128())
        for iteration in 0..<10_000 {
            let (key, nonce) = (source.squeeze(32), source.squeeze(24))
            if iteration == 0 { check(key.prefix(3), equals: [0x7f, 0x9c, 0x2b]) }
            let plaintext = source.squeeze(Int(source.squeeze(1)[0]))
            let context = source.squeeze(Int(source.squeeze(1)[0]))
            let cipher = try ExtendedNonceCipher(key: SymmetricKey(data: key))
            let sealed = try cipher.seal(
                plaintext, authenticating: context, after: [], nonce: nonce)
            digest.absorb(sealed.dropFirst(24))
        }
        let expected = "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939"
        check(digest.squeeze(32).map { String(format: "%02x", $0) }.joined(), equals: expected)
    }
}
