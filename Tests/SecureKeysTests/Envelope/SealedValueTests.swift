import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

@Suite(.timeLimit(.minutes(10))) struct SealedValueTests {
    private let key: DataEncryptionKey

    init() throws { key = try .random(name: "data") }

    @Test(arguments: [0, 1, 15, 16, 17, 100, 4096, 1_000_000])
    func `a value opens in its place`(_ count: Int) throws {
        let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for row in [1, -1, .integer(.max), "", "a\0b"] as [RowIdentity] {
            let sealed = try key.seal(value, table: "t", column: "c", row: row)
            #expect(sealed.count == count + DataEncryptionKey.valueOverhead)
            #expect(try key.open(sealed, table: "t", column: "c", row: row) == value)
            let secret = try key.openSecret(sealed, table: "t", column: "c", row: row)
            #expect(secret == SecretBytes(copying: value))
            let again = try key.seal(secret, table: "t", column: "c", row: row)
            #expect(again != sealed)
            #expect(try key.open(again, table: "t", column: "c", row: row) == value)
        }
        #expect(DataEncryptionKey.valueOverhead == 41)
    }

    @Test func `a value does not open in any other place`() throws {
        let sealed = try key.seal(Data([1, 2]), table: "ab", column: "c", row: 1)
        let renamed = try DataEncryptionKey(name: "datb", bytes: key.material.secret())
        let elsewhere: [(DataEncryptionKey, String, String, RowIdentity)] = try [
            (key, "ab", "c", 2), (key, "ab", "c", -1), (key, "ab", "c", "1"),
            (key, "ab", "c", .text("\0\0\0\0\0\0\0\u{1}")), (key, "ab", "d", 1),
            (key, "AB", "c", 1), (key, "a", "bc", 1), (key, "abc", "", 1), (key, "", "abc", 1),
            (renamed, "ab", "c", 1), (.random(name: "data"), "ab", "c", 1),
        ]
        for (key, table, column, row) in elsewhere {
            guard
                case .notAuthentic = envelopeError({
                    _ = try key.open(sealed, table: table, column: column, row: row)
                })
            else {
                Issue.record("\(table).\(column) \(row)")
                continue
            }
        }
    }

    @Test func `two spellings of a text identify two rows`() throws {
        let sealed = try key.seal(Data([1]), table: "t", column: "c", row: "\u{e9}")
        #expect(throws: EnvelopeError.self) {
            try key.open(sealed, table: "t", column: "c", row: "e\u{301}")
        }
    }

    @Test func `values that are too short or of a newer version have different errors`() throws {
        let sealed = try key.seal(Data(), table: "t", column: "c", row: 1)
        for count in 0..<sealed.count {
            guard
                case .damaged = envelopeError({
                    _ = try key.open(sealed.prefix(count), table: "t", column: "c", row: 1)
                })
            else {
                Issue.record("\(count) bytes")
                continue
            }
        }
        let newer = Data([2]) + sealed.dropFirst()
        #expect(throws: EnvelopeError.unsupportedVersion(2)) {
            try key.open(newer, table: "t", column: "c", row: 1)
        }
    }

    @Test func `a value that is a slice of other data opens as well`() throws {
        let sealed = try key.seal(Data([1, 2, 3]), table: "t", column: "c", row: 1)
        let slice = (Data([9, 9]) + sealed + Data([9]))[2..<(2 + sealed.count)]
        #expect(try key.open(slice, table: "t", column: "c", row: 1) == Data([1, 2, 3]))
        let value = Data([9, 1, 2])[1...]
        let again = try key.seal(value, table: "t", column: "c", row: 1)
        #expect(try key.open(again, table: "t", column: "c", row: 1) == Data([1, 2]))
    }

    @Test func `threads may share a key`() async throws {
        let key = key
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<200 {
                        let (value, row) = (
                            Data("\(task) \(number)".utf8), RowIdentity.integer(Int64(number))
                        )
                        let sealed = try key.seal(value, table: "t", column: "c", row: row)
                        #expect(
                            try key.open(sealed, table: "t", column: "c", row: row) == value)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
