import CBaseline
import Foundation
import SecureStorage

/// What the cases work on: rows with an integer key, a text of 15 to 20 bytes, a real and a blob of 100
/// bytes; and a key-value store of as many keys.
final class SampleData {
    static let storeName = "benchmark"

    let names: [String]
    /// Of rows, in an order that jumps.
    let ids: [Int64]
    let lookedUpKeys: [String]
    let writtenKeys: [String]
    let writtenValues: [String]

    private let directory: URL
    private let key = Data((1...32).map { UInt8($0) })
    private let empty: String
    private let filled: String

    init(rows: Int) throws {
        var generator = SplitMix64(state: 42)
        names = (0..<rows).map { "name \($0) " + String(repeating: "x", count: 9) }
            .map { String($0.prefix(20)) }
        ids = (0..<rows).map { _ in Int64.random(in: 1...Int64(rows), using: &generator) }
        let keys = (0..<rows).map { "setting/\($0)" }
        lookedUpKeys = ids.map { keys[Int($0) - 1] }
        // Each in a transaction of its own, which costs far more than a look-up.
        writtenKeys = Array(lookedUpKeys.prefix(max(1, rows / 20)))
        writtenValues = writtenKeys.map { "new value of \($0.suffix(6))" }

        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("benchmark-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        empty = directory.appendingPathComponent("empty.db").path
        filled = directory.appendingPathComponent("filled.db").path

        let store = try openStore(empty)
        try store.executeUpdate(
            "CREATE TABLE sample (id INTEGER PRIMARY KEY, name TEXT, amount REAL, payload BLOB)")
        let settings = try SecureKeyValueStore(databaseStore: store, name: Self.storeName)
        store.close()
        try FileManager.default.copyItem(atPath: empty, toPath: filled)
        let full = try openStore(filled)
        _ = try Case.insert.ours(self, full)
        full.close()
        let values = try openStore(filled)
        try values.executeUpdate(
            """
            INSERT INTO securestorage_kv_1
            SELECT 'setting/' || (id - 1), 1, 'a value of ' || name, NULL FROM sample
            """)
        values.close()
        withExtendedLifetime(settings) {}
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    // MARK: - Databases

    /// A fresh copy; the one before is removed.
    func makeDatabase(filled isFilled: Bool) throws -> String {
        let path = directory.appendingPathComponent("work.db").path
        for suffix in ["", "-wal", "-shm"] { _ = unlink(path + suffix) }
        try FileManager.default.copyItem(atPath: isFilled ? filled : empty, toPath: path)
        return path
    }

    func openBaseline(_ path: String) -> OpaquePointer {
        let bytes = Array(key)
        return baseline_open(path, bytes)
    }

    func openStore(_ path: String) throws -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.synchronous = .normal
        configuration.cacheSize = 64 * 1024 * 1024
        let store = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        try store.open(with: key)
        return store
    }

    /// Lends texts as C strings that are made beforehand.
    func withCStrings(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>, Int32) -> UInt64
    ) -> UInt64 {
        var pointers = texts.map { UnsafePointer(strdup($0)) }
        defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { body($0, Int32(texts.count)) } ?? 0
        }
    }
}

/// The same numbers in every run.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
