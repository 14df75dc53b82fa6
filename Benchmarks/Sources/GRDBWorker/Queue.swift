import Foundation
import GRDB
import Workers

extension WorkerCase {
    static let queueCases = [
        WorkerCase(queue: "queue-read", warm: SampleData.warmRows) { queue, job in
            try readNames(job) { try queue.inDatabase($0) }
        },
        WorkerCase(queue: "queue-read-isolated", warm: SampleData.warmRows) { queue, job in
            try readNames(job) { try queue.read($0) }
        },
        WorkerCase(
            queue: "queue-write", warm: SampleData.warmRows, check: SampleData.checkNames,
            queueWrite),
        WorkerCase(queue: "kv-get", warm: SampleData.warmSettings) { queue, job in
            try readValues(job) { try queue.inDatabase($0) }
        },
        WorkerCase(queue: "kv-get-isolated", warm: SampleData.warmSettings) { queue, job in
            try readValues(job) { try queue.read($0) }
        },
        WorkerCase(
            queue: "kv-put", warm: SampleData.warmSettings, check: SampleData.checkSettings,
            keyValuePut),
        WorkerCase(queue: "kv-get-codable", warm: SampleData.warmSettings, keyValueGetCodable),
    ]

    // `inDatabase` reads without a transaction, like the library's, and is the fastest way; `read`
    // uses one, and GRDB's documentation shows it first.
    private typealias Access = ((Database) throws -> String?) throws -> String?

    private static func readNames(_ job: Job, _ access: Access) throws -> UInt64 {
        var sum: UInt64 = 0
        for id in job.ids {
            let name = try access { db in
                let statement = try db.cachedStatement(sql: "SELECT name FROM sample WHERE id = ?")
                statement.setUncheckedArguments([id])
                return try String.fetchOne(statement)
            }
            sum &+= checksum(name ?? "")
        }
        return sum
    }

    private static func queueWrite(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        for index in 0..<job.writes {
            let name = SampleData.texts[(index + 7) % SampleData.texts.count]
            try queue.write { db in
                let statement = try db.cachedStatement(
                    sql: "UPDATE sample SET name = ? WHERE id = ?")
                statement.setUncheckedArguments([name, job.ids[index]])
                try statement.execute()
            }
        }
        return 0
    }

    // GRDB has no key-value store: this is the code that an app would write, on the library's
    // table.

    private static let get = "SELECT value, kind, expires FROM securestorage_kv_1 WHERE key = ?"

    private static func readValues(_ job: Job, _ access: Access) throws -> UInt64 {
        var sum: UInt64 = 0
        for key in job.settingKeys {
            let text = try access { try value(key, in: $0) }
            sum &+= checksum(text ?? "")
        }
        return sum
    }

    private static func value(_ key: String, in db: Database) throws -> String? {
        let statement = try db.cachedStatement(sql: get)
        statement.setUncheckedArguments([key])
        return try String.fetchOne(statement)
    }

    private static func keyValuePut(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        for index in 0..<job.writes {
            let value = SampleData.texts[(index + 7) % SampleData.texts.count]
            try queue.writeWithoutTransaction { db in
                let statement = try db.cachedStatement(
                    sql: """
                        INSERT INTO securestorage_kv_1 (key, kind, value, expires) VALUES (?, ?, ?, ?)
                        ON CONFLICT (key) DO UPDATE SET
                            kind = excluded.kind, value = excluded.value, expires = excluded.expires
                        """)
                statement.setUncheckedArguments([job.settingKeys[index], 1, value, nil])
                try statement.execute()
            }
        }
        return 0
    }

    private static func keyValueGetCodable(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        let decoder = JSONDecoder()
        var sum: UInt64 = 0
        for key in job.profileKeys {
            let json = try queue.inDatabase { try value(key, in: $0) }
            let profiles = try decoder.decode([Profile].self, from: Data((json ?? "[]").utf8))
            sum &+= profiles.first?.sum ?? 0
        }
        return sum
    }
}
