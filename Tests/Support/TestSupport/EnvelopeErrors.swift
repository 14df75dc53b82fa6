package import SecureKeys

/// The error that `body` throws, when it is one of ours.
package func envelopeError(_ body: () throws -> Void) -> EnvelopeError? {
    do {
        try body()
        return nil
    } catch {
        return error as? EnvelopeError
    }
}

/// Whether an error says that the bytes are not what was written.
package func isDamage(_ error: (any Error)?) -> Bool {
    switch error as? EnvelopeError {
    case .damaged, .notAuthentic, .unsupportedVersion, .wrongKey, .unacceptableParameters: true
    default: false
    }
}

extension ScryptParameters {
    /// The cheapest that are taken: for tests, which do not guess.
    package static var cheapest: ScryptParameters {
        get throws { try ScryptParameters(costExponent: 14, blockSize: 8, parallelism: 4) }
    }
}
