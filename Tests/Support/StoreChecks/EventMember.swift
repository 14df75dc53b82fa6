package import Foundation
package import ObjectStores
internal import SecureKeys
package import SecureStorage
package import SecureSync
internal import TestSupport

/// A member whose rows tell their causes: each event has its writer's number, and what its writer
/// had seen of the others when it wrote it.
///
/// So whoever looks at the events can tell whether one is missing that another one depends on.
package struct EventMember: Sendable {
    package let pool: SecureDatabasePool
    package let engine: SyncEngine

    /// Opens a member's file, and creates it if it is missing.
    ///
    /// - Parameters:
    ///   - folder: The member's folder: its file and its keys.
    ///   - store: Where the objects are.
    /// - Throws: The errors of the database.
    package init(in folder: URL, store: any ObjectStore) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = SecureDatabaseConfiguration()
        configuration.busyTimeout = .seconds(60)
        configuration.secondInstance = .allowed
        pool = SecureDatabasePool(
            url: folder.appendingPathComponent("events.db"), configuration: configuration)
        try pool.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        try pool.write { db in
            try db.executeStatements(
                """
                CREATE TABLE IF NOT EXISTS event (
                  id TEXT PRIMARY KEY NOT NULL, writer TEXT NOT NULL, number INTEGER NOT NULL,
                  seen TEXT NOT NULL);
                CREATE TABLE IF NOT EXISTS shared (id TEXT PRIMARY KEY NOT NULL, value TEXT);
                """)
        }
        var tables = SyncedTables()
        tables.add("event")
        tables.add("shared")
        engine = try SyncEngine(
            pool, tables: tables, store: store,
            keyStore: FileKeyStore(directory: folder.appendingPathComponent("keys")))
    }

    /// The greatest number of each writer.
    package typealias Vector = [String: Int]

    /// Writes the next event of `writer`.
    ///
    /// - Returns: What is seen after it.
    /// - Throws: ``Failure`` if a cause is missing.
    package func write(as writer: String) async throws -> Vector {
        try await pool.write { db in
            var seen = try Self.check(db)
            let number = seen[writer, default: 0] + 1
            let causes = seen.map { "\($0.key):\($0.value)" }.sorted().joined(separator: " ")
            try db.executeUpdate(
                "INSERT INTO event (id, writer, number, seen) VALUES (?, ?, ?, ?)",
                values: ["\(writer)-\(number)", writer, number, causes])
            // All write to the same few rows as well.
            try db.executeUpdate(
                """
                INSERT INTO shared (id, value) VALUES (?1, ?2)
                ON CONFLICT (id) DO UPDATE SET value = ?2
                """, values: ["s\(number % 3)", "\(writer)-\(number)"])
            seen[writer] = number
            return seen
        }
    }

    /// Checks what is seen now.
    ///
    /// - Throws: ``Failure`` if an event is missing before one of the same writer, or before one
    ///   whose writer had seen it.
    package func look() async throws -> Vector { try await pool.read { try Self.check($0) } }

    private static func check(_ db: SecureDatabaseStore) throws -> Vector {
        var (vector, counts) = (Vector(), Vector())
        var causes: [(String, String)] = []
        let rows = try db.executeQuery("SELECT writer, number, seen, id FROM event")
        defer { rows.close() }
        while try rows.next() {
            let writer = rows.string(forColumnIndex: 0) ?? ""
            vector[writer] = max(vector[writer, default: 0], rows.int(forColumnIndex: 1) ?? 0)
            counts[writer, default: 0] += 1
            causes.append(
                (rows.string(forColumnIndex: 3) ?? "", rows.string(forColumnIndex: 2) ?? ""))
        }
        guard vector == counts else {
            throw EventFailure("events are missing: \(counts) \(vector)")
        }
        for (event, seen) in causes {
            for cause in seen.split(separator: " ") {
                let words = cause.split(separator: ":")
                guard vector[String(words[0]), default: 0] >= Int(words[1]) ?? .max else {
                    throw EventFailure("\(event) is seen without its cause \(cause)")
                }
            }
        }
        return vector
    }

    /// All rows, as text.
    package func rows() async throws -> [String] {
        try await pool.read { db in
            try db.strings("SELECT id || ' ' || seen FROM event ORDER BY id").compactMap { $0 }
                + db.strings("SELECT id || ' ' || value FROM shared ORDER BY id").compactMap { $0 }
        }
    }
}

/// What a check has seen, and should not have.
package struct EventFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
