import Crypto
import Foundation
import SecureKeys

@testable import SecureSync

/// Reads an input as a sealed object of each kind: as it is, as one that a member has signed, and
/// as the padded content of a correct seal.
struct SealedTarget: FuzzTarget {
    private let key: DataEncryptionKey
    private let signing: Curve25519.Signing.PrivateKey

    init() throws {
        key = try BatchTarget.key()
        signing = try BatchTarget.signing()
    }

    static func header(_ kind: SealedKind) -> BatchHeader {
        BatchHeader(
            kind, group: Data(repeating: 5, count: 16), member: .none, number: 2, epoch: 1,
            previous: Data(repeating: 6, count: 32),
            chain: ChainPosition(number: 1, hash: Data(repeating: 7, count: 32)))
    }

    func run(_ input: Data) throws {
        for kind in [SealedKind.batch, .snapshot] {
            try readHeader(input, kind)
            try read(input, kind)
            try read(try signed(input, kind), kind)
            try readPadded(input, kind)
        }
    }

    private func signed(_ bytes: Data, _ kind: SealedKind) throws -> Data {
        let message = Data(kind.label.utf8) + Data(SHA256.hash(data: bytes))
        // A slice that does not begin at 0.
        return (Data([0]) + bytes + (try signing.signature(for: message))).dropFirst()
    }

    private func readHeader(_ input: Data, _ kind: SealedKind) throws {
        let header = try allowing(NewerFormat.self) {
            try allowing(CBORError.self) { try BatchHeader(reading: input, kind) }
        }
        guard let header = header ?? nil else { return }
        precondition(
            header.bytes == input.prefix(BatchHeader.byteCount), "a header has two forms")
    }

    private func read(_ input: Data, _ kind: SealedKind) throws {
        _ = try allowing(NewerFormat.self) {
            try allowing(CBORError.self) {
                let object = try SealedObject(reading: input, kind)
                precondition(object.bytes == input, "an object has other bytes")
                let other: SealedKind = kind == .batch ? .snapshot : .batch
                precondition(
                    (try? SealedObject(reading: input, other)) == nil, "an object of two kinds")
                try object.verify { signing.publicKey.isValidSignature($0, for: $1) }
                _ = try object.open(key: key)
            }
        }
    }

    private func readPadded(_ input: Data, _ kind: SealedKind) throws {
        let position = Self.header(kind).bytes
        let sealed = try key.seal(
            input, table: kind.label, column: "body", row: .text(position.base64EncodedString()))
        let bytes = try signed(position + sealed, kind)
        let content = try allowing(CBORError.self) {
            let object = try SealedObject(reading: bytes, kind)
            try object.verify { signing.publicKey.isValidSignature($0, for: $1) }
            return try object.open(key: key)
        }
        guard let content else { return }
        precondition(Padding.padded(content).elementsEqual(input), "a padding has two forms")
    }
}
