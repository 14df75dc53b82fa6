import Crypto
import Foundation
import SecureKeys

@testable import SecureSync

/// Reads an input as a batch, as one that a member has signed, and as a body that a member has
/// sealed.
struct BatchTarget: FuzzTarget {
    private let key: DataEncryptionKey
    private let signing: Curve25519.Signing.PrivateKey

    init() throws {
        key = try Self.key()
        signing = try Self.signing()
    }

    // Fixed, so that the corpus remains useful.
    static func key() throws -> DataEncryptionKey {
        try DataEncryptionKey(
            name: "epoch 1", bytes: SecretBytes(copying: [UInt8](repeating: 3, count: 32)))
    }

    static func signing() throws -> Curve25519.Signing.PrivateKey {
        try Curve25519.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 4, count: 32))
    }

    func run(_ input: Data) throws {
        try readBody(input)
        try readBatch(input)
        let message =
            Data("SecureStorage sync batch 1".utf8) + Data(SHA256.hash(data: input))
        try readBatch((Data([0]) + input + signing.signature(for: message)).dropFirst())
    }

    private func readBody(_ input: Data) throws {
        guard
            let body = try allowing(
                CBORError.self, { try BatchBody(decoding: [UInt8](input)) })
        else { return }
        precondition(body.encoded().elementsEqual(input), "a body has two forms")
        // What was read can be divided and put together again.
        var assembly = TransactionAssembly()
        var whole: BatchBody?
        let parts = try TransactionParts.split(body.changes)
        for (index, part) in parts.enumerated() {
            var next = body
            (next.changes, next.isLast) = (Array(part), index == parts.count - 1)
            if index > 0 { next.positions = [] }
            whole = try assembly.add(BatchBody(decoding: next.encoded()))
        }
        precondition(
            whole?.changes == body.changes && whole?.positions == body.positions, "rows are lost")
        let header = BatchHeader(
            group: Data(count: 16), member: .none, number: 1, epoch: 1, previous: Data(count: 32),
            chain: ChainPosition(number: 1, hash: Data(count: 32)))
        let sealed = try SealedBatch.seal(body, header, key: key) { _ in Data(count: 64) }
        let opened = try SealedBatch(reading: sealed.bytes).open(key: key)
        precondition(opened == body, "a seal loses rows")
    }

    private func readBatch(_ input: Data) throws {
        _ = try allowing(NewerFormat.self) {
            try allowing(CBORError.self) {
                let batch = try SealedBatch(reading: input)
                precondition(batch.bytes == input, "a batch has other bytes")
                try batch.verify { signing.publicKey.isValidSignature($0, for: $1) }
                _ = try batch.open(key: key)
            }
        }
    }
}
