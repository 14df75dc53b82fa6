import Crypto
import Foundation
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport
import Testing

struct SealedBatchTests {
    private let key: DataEncryptionKey
    private let signing = Curve25519.Signing.PrivateKey()
    private let body = BatchSamples.body(BatchSamples.rows)

    init() throws { key = try .random(name: "epoch 1") }

    private func seal(_ header: BatchHeader = BatchSamples.header()) throws -> SealedBatch {
        try SealedBatch.seal(body, header, key: key) { try signing.signature(for: $0) }
    }

    private func verify(_ batch: SealedBatch) throws {
        try batch.verify { signing.publicKey.isValidSignature($0, for: $1) }
    }

    /// Signs whatever these bytes are.
    private func signed(_ bytes: Data) throws -> Data {
        let message = Data("SecureStorage sync batch 1".utf8) + Data(SHA256.hash(data: bytes))
        return bytes + (try signing.signature(for: message))
    }

    @Test func `a batch is read as it was sealed, also from the middle of other bytes`() throws {
        for header in [BatchSamples.header(), BatchSamples.header(.init(Int64.max))] {
            let sealed = try seal(header)
            for bytes in [
                sealed.bytes, (Data([9, 9]) + sealed.bytes + [9]).dropFirst(2).dropLast(),
            ] {
                let batch = try SealedBatch(reading: bytes)
                check(batch.header, equals: header)
                check(batch.hash, equals: sealed.hash)
                check(batch.hash, equals: Data(SHA256.hash(data: sealed.bytes)))
                try verify(batch)
                try check(batch.open(key: key), equals: body)
            }
        }
    }

    @Test func `a batch takes less than 300 bytes beside its rows, and shows none of them`() throws
    {
        let empty = try SealedBatch.seal(BatchSamples.body([]), BatchSamples.header(), key: key) {
            try signing.signature(for: $0)
        }
        check(empty.bytes.count < 300)
        check(SealedBatch.overhead, equals: 229)
        let bytes = try seal().bytes
        for text in ["milk", "note", "title"] {
            check(bytes.range(of: Data(text.utf8)) == nil)
        }
    }

    @Test func `the same rows are sealed into other bytes each time`() throws {
        try check(seal().bytes != seal().bytes)
    }

    @Test func `every changed bit is an error`() throws {
        let bytes = try seal().bytes
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                do {
                    try verify(SealedBatch(reading: changed))
                    Issue.record("bit \(bit) of byte \(index) may be changed")
                } catch is CBORError {
                } catch is NewerFormat {
                    check(index, equals: 3)
                }
            }
        }
    }

    @Test func `the seal alone notices every changed byte, too`() throws {
        // A member without this epoch's key signs what another has sealed.
        let bytes = try seal().bytes.dropLast(SealedBatch.signatureCount)
        for index in bytes.indices {
            var changed = Data(bytes)
            changed[index] ^= 1
            let batch: SealedBatch
            do {
                batch = try SealedBatch(reading: signed(changed))
            } catch is CBORError {
                continue
            } catch is NewerFormat {
                check(index, equals: 3)
                continue
            }
            try verify(batch)
            #expect(throws: CBORError.self, "byte \(index)") { try batch.open(key: key) }
        }
    }

    @Test func `every cut is an error, and bytes after the end`() throws {
        let bytes = try seal().bytes
        for count in bytes.indices {
            for part in [bytes.prefix(count), bytes.suffix(count)] {
                #expect(throws: CBORError.self) { try verify(SealedBatch(reading: part)) }
            }
        }
        for more in [Data([0]), Data(count: 64), bytes] {
            #expect(throws: CBORError.self) { try verify(SealedBatch(reading: bytes + more)) }
        }
    }

    @Test func `a body does not open at another place`() throws {
        let original = try seal().bytes
        let start = BatchHeader.byteCount
        let content = original.dropFirst(start).dropLast(SealedBatch.signatureCount)
        var headers = [BatchHeader](repeating: BatchSamples.header(2), count: 6)
        headers[0].group = Data(count: 16)
        headers[1].member = BatchSamples.members[1]
        headers[2].epoch = 2
        headers[3].previous = Data(repeating: 8, count: 32)
        headers[4].chain.number = 6
        headers[5].chain.hash = Data(repeating: 8, count: 32)
        for header in headers + [BatchSamples.header(2), BatchSamples.header(3)] {
            let other = try seal(header).bytes.prefix(start)
            let batch = try SealedBatch(reading: signed(other + content))
            check(batch.header, equals: header)
            try verify(batch)
            #expect(throws: CBORError("its seal does not open")) { try batch.open(key: key) }
        }
        try check(
            SealedBatch(reading: signed(original.prefix(start) + content)).open(key: key),
            equals: body)
    }

    @Test func `another key of the group, or another member's signature, is an error`() throws {
        let batch = try seal()
        let other = try DataEncryptionKey.random(name: "epoch 1")
        #expect(throws: CBORError("its seal does not open")) { try batch.open(key: other) }
        let stranger = Curve25519.Signing.PrivateKey().publicKey
        #expect(throws: CBORError("its signature is not valid")) {
            try batch.verify { stranger.isValidSignature($0, for: $1) }
        }
    }

    @Test func `a signature of the bare hash or of the bytes is none of a batch`() throws {
        let bytes = try seal().bytes.dropLast(SealedBatch.signatureCount)
        for message in [bytes, Data(SHA256.hash(data: bytes))] {
            let batch = try SealedBatch(reading: bytes + signing.signature(for: message))
            #expect(throws: CBORError.self) { try verify(batch) }
        }
    }

    @Test func `a cleared key is not taken for a damaged batch`() throws {
        let batch = try seal()
        key.clear()
        #expect(throws: EnvelopeError.cleared(name: "epoch 1")) { try batch.open(key: key) }
    }

    @Test func `a failure to sign is the caller's error`() {
        struct Locked: Error {}
        #expect(throws: Locked.self) {
            try SealedBatch.seal(body, BatchSamples.header(), key: key) { _ in throw Locked() }
        }
    }

    @Test func `a newer format is told from damage`() throws {
        var bytes = try seal().bytes
        bytes[3] = 2
        #expect(throws: NewerFormat.self) { try SealedBatch(reading: bytes) }
        bytes[3] = 0
        #expect(throws: CBORError.self) { try SealedBatch(reading: bytes) }
    }

    @Test(arguments: [0, 1 << 63, UInt64.max]) func `a number out of range is an error`(
        _ number: UInt64
    ) throws {
        let bytes = try seal(BatchSamples.header(number)).bytes
        #expect(throws: CBORError("its number is out of range")) { try SealedBatch(reading: bytes) }
    }

    @Test func `only the first batch follows none`() throws {
        for number in [UInt64(1), 2] {
            var header = BatchSamples.header(number)
            header.previous = Data(repeating: number == 1 ? 1 : 0, count: 32)
            let bytes = try seal(header).bytes
            #expect(throws: CBORError.self) { try SealedBatch(reading: bytes) }
        }
    }

    @Test func `an object larger than any batch is not read`() throws {
        let bytes = try seal().bytes
        let large = bytes + Data(count: SealedBatch.longest - bytes.count + 1)
        #expect(throws: CBORError("it is too large")) { try SealedBatch(reading: large) }
    }
}
