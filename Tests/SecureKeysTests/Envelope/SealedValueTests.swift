import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

struct SealedValueTests {
    private let key: DataEncryptionKey

    init() throws { key = try .random(name: "data") }

    @Test(arguments: [0, 1, 15, 16, 17, 100, 4096, 1_000_000])
    func `a value opens in its place`(_ count: Int) throws {
        let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for row in [1, -1, .integer(.max), "", "a\0b"] as [RowIdentity] {
            let sealed = try key.seal(value, table: "t", column: "c", row: row)
            check(sealed.count, equals: count + DataEncryptionKey.valueOverhead)
            try check(key.open(sealed, table: "t", column: "c", row: row), equals: value)
            let secret = try key.openSecret(sealed, table: "t", column: "c", row: row)
            check(secret, equals: SecretBytes(copying: value))
            let again = try key.seal(secret, table: "t", column: "c", row: row)
            check(again != sealed)
            try check(key.open(again, table: "t", column: "c", row: row), equals: value)
        }
        check(DataEncryptionKey.valueOverhead, equals: 41)
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
        try check(key.open(slice, table: "t", column: "c", row: 1), equals: Data([1, 2, 3]))
        let value = Data([9, 1, 2])[1...]
        let again = try key.seal(value, table: "t", column: "c", row: 1)
        try check(key.open(again, table: "t", column: "c", row: 1), equals: Data([1, 2]))
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
                        try check(
                            key.open(sealed, table: "t", column: "c", row: row), equals: value)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
