import Crypto
import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

/// Records that another program wrote from the documented tables: a change that breaks these tests
/// breaks files.
struct FormatTests {
    private struct Records: Decodable {
        let device, dataKey, set, derived, valueOfRow, valueOfText, stream, emptyStream: HexBytes
        let longStreamSalt, longStreamDigest: HexBytes
    }

    private let records: Records
    private let key: DataEncryptionKey

    init() throws {
        let url = try require(
            Bundle.module.url(
                forResource: "records", withExtension: "json", subdirectory: "Vectors"))
        records = try JSONDecoder().decode(Records.self, from: Data(contentsOf: url))
        key = try DataEncryptionKey(
            name: "data", bytes: SecretBytes(copying: records.dataKey.bytes))
    }

    @Test func `a set written by another program unwraps with each of its keys`() throws {
        let set = try WrappedKeySet(bytes: Data(records.set.bytes))
        check(Array(set.bytes), equals: records.set.bytes)
        let device = try KeyEncryptionKey(
            name: "device", bytes: SecretBytes(copying: records.device.bytes))
        let keys = try [
            set.unwrap(with: device), set.unwrap(with: PasswordKey("p\u{e4}ssword")),
            set.unwrap(with: RecoveryCode("OI234-56789-abcde-fghjk-h")),
            set.unwrap(
                with: PasswordKey("zo\u{eb} \u{d55c}\u{2003}\u{fb01} \u{c5}", name: "typed")),
        ]
        for key in keys {
            try check(key.material.secret(), equals: SecretBytes(copying: records.dataKey.bytes))
        }
    }

    @Test func `values sealed by another program open in their places`() throws {
        let hello = try key.open(
            Data(records.valueOfRow.bytes), table: "people", column: "secret", row: -7)
        check(hello, equals: Data("hello".utf8))
        let empty = try key.open(
            Data(records.valueOfText.bytes), table: "people", column: "secret",
            row: "zo\u{eb}")
        check(empty.isEmpty)
    }

    @Test func `streams sealed by another program open`() throws {
        func open(_ stream: HexBytes, _ context: String) throws -> Data {
            let reader = try SealedStreamReader(
                with: key, context: Data(context.utf8),
                from: SealedBytes.source(Data(stream.bytes)))
            var opened = Data()
            while let part = try reader.read() { opened.append(part) }
            return opened
        }
        try check(open(records.stream, "context"), equals: Data("hello".utf8))
        try check(open(records.emptyStream, "").isEmpty)
    }

    @Test func `a stream of two chunks matches another program's byte by byte`() throws {
        let salt = records.longStreamSalt.bytes
        let header = SealedStream.header(keyName: "data", salt: salt)
        let cipher = try SealedStreamCipher(
            key, header: header, salt: salt, context: Data("context".utf8))
        let data = Data((0..<65_546).map { UInt8(truncatingIfNeeded: $0 * 7) })
        let sealed =
            try Data(header) + cipher.seal(data.prefix(65_536), isLast: false)
            + cipher.seal(data.dropFirst(65_536), isLast: true)
        check(Array(SHA256.hash(data: sealed)), equals: records.longStreamDigest.bytes)
    }

    @Test func `a derived key matches the one that another program derives`() throws {
        try check(
            key.derivedKey(for: "database"), equals: SecretBytes(copying: records.derived.bytes))
    }
}
