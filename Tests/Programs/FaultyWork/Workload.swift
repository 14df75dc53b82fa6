import Foundation
import SecureStorage

/// A piece of work that is repeated with each of its system calls failing in turn.
struct Workload {
    let name: String
    /// Makes the files that the work begins with; no call fails here.
    var prepare: (Place) throws -> Void = { _ in }
    let run: (Place, Log) -> Void
    /// Returns what was lost, what was reported wrongly, and what cannot be recovered from.
    ///
    /// Runs in another process, where no call fails.
    let check: (Place, Record) throws -> [String]
}

/// The directory of one run.
struct Place {
    let directory: String

    static let key = Data((1...32).map { UInt8($0) })
    static let otherKey = Data((1...32).map { UInt8($0 + 100) })
    static var databaseKey: DatabaseKey { .raw(SecretBytes(copying: key)) }

    func path(_ name: String) -> String { directory + "/" + name }
    func url(_ name: String) -> URL { URL(fileURLWithPath: path(name)) }
    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
    }

    typealias Configure = (inout SecureDatabaseConfiguration) -> Void

    func configuration(_ configure: Configure) -> SecureDatabaseConfiguration {
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        configuration.busyTimeout = .milliseconds(300)
        configure(&configuration)
        return configuration
    }

    func store(_ name: String = "test.db", _ configure: Configure = { _ in }) -> SecureDatabaseStore
    {
        SecureDatabaseStore(fullDatabasePath: path(name), configuration: configuration(configure))
    }

    /// Makes a file with rows of these numbers.
    func make(_ name: String = "test.db", rows: [Int], _ configure: Configure = { _ in }) throws {
        let db = store(name, configure)
        try db.open(with: Self.key)
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x BLOB)")
        for row in rows { try db.insert(row) }
        db.close()
    }

    /// Returns what is wrong with a file that must open, hold the rows `stored`, and otherwise hold
    /// at most those of `tried`.
    func problems(
        _ name: String = "test.db", key: Data = Place.key, stored: Set<Int>, tried: Set<Int> = [],
        _ configure: Configure = { _ in }
    ) -> [String] {
        guard exists(name) else { return ["\(name) is gone"] }
        let db = store(name, configure)
        defer { db.close() }
        do {
            try db.open(with: key)
        } catch {
            return ["\(name) does not open: \(error)"]
        }
        do {
            let ids = Set(try db.ints("SELECT id FROM t"))
            var problems: [String] = []
            let lost = stored.subtracting(ids)
            let strange = ids.subtracting(stored).subtracting(tried)
            if !lost.isEmpty { problems.append("\(name): lost \(lost.sorted())") }
            if !strange.isEmpty { problems.append("\(name): never stored \(strange.sorted())") }
            let report = try db.verifyIntegrity()
            if !report.isSound { problems.append("\(name): \(report)") }
            if !db.configuration.isReadOnly {
                try db.insert(9999)
                try db.executeUpdate("DELETE FROM t WHERE id = 9999")
            }
            return problems
        } catch {
            return ["\(name): \(error)"]
        }
    }

    /// Like ``problems(_:key:stored:tried:_:)``, for the rows of a record's steps `row N`.
    func problems(
        _ record: Record, _ name: String = "test.db", key: Data = Place.key, prepared: Set<Int>,
        _ configure: Configure = { _ in }
    ) -> [String] {
        problems(
            name, key: key, stored: prepared.union(record.storedRows),
            tried: record.rows(record.begun), configure)
    }
}

extension SecureDatabaseStore {
    func insert(_ row: Int) throws {
        try executeUpdate("INSERT INTO t VALUES (?, randomblob(3000))", values: [row])
    }

    func ints(_ sql: String) throws -> [Int] {
        let rows = try executeQuery(sql)
        defer { rows.close() }
        var result: [Int] = []
        while try rows.next() { result.append(Int(rows.int64(forColumnIndex: 0) ?? 0)) }
        return result
    }
}
