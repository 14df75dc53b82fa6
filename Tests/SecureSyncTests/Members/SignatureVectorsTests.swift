import Foundation
import TestSupport
import Testing

@testable import SecureSync

/// Which signatures are valid: all members have to agree on that, since what the chain says follows
/// from it.
struct SignatureVectorsTests {
    private struct Vector: Decodable {
        let `case`, key, message, signature: String
        let isAllowed: Bool
        /// nil where it does not matter, since no member may have the key.
        let isValid: Bool?
    }

    @Test func `signatures on which implementations differ are valid by the documented rule`()
        throws
    {
        let url = try require(Bundle.module.url(forResource: "signatures", withExtension: "json"))
        let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: url))
        check(vectors.count >= 12)
        for vector in vectors {
            var keys = try MemberKeys.random().publicKeys
            keys[.ed25519] = Data(try Hex.bytes(vector.key))
            check(keys.areAllowed, equals: vector.isAllowed, "\(vector.case)")
            guard let isValid = vector.isValid else { continue }
            let (message, signature) = try (
                Data(Hex.bytes(vector.message)), Data(Hex.bytes(vector.signature))
            )
            check(keys.isValid(signature, for: message), equals: isValid, "\(vector.case)")
        }
    }
}
