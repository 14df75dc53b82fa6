import Foundation
import GRDB
import Workers

extension Sample: FetchableRecord {}

extension WorkerCase {
    static let rowCases = [
        WorkerCase(queue: "insert-positional", check: SampleData.checkRows, insertPositional),
        WorkerCase(queue: "insert-named", check: SampleData.checkRows, insertNamed),
        WorkerCase(queue: "scan-index", warm: SampleData.warmRows) { queue, _ in
            try queue.inDatabase(scan)
        },
        WorkerCase(queue: "scan-name", warm: SampleData.warmRows, scanByName),
        WorkerCase(queue: "scan-borrowed", warm: SampleData.warmRows, scanBorrowed),
        WorkerCase(queue: "scan-bytes", warm: SampleData.warmRows) { queue, _ in
            try queue.inDatabase(scan)
        },
        WorkerCase(queue: "scan-typed", warm: SampleData.warmRows, scanCodable),
        WorkerCase(queue: "scan-codable", warm: SampleData.warmRows, scanCodable),
        WorkerCase(queue: "scan-cold", cacheKilobytes: 2048) { queue, _ in
            try queue.inDatabase(scan)
        },
        WorkerCase(queue: "point-lookup", warm: SampleData.warmRows, pointLookup),
        WorkerCase(queue: "lookup-values", warm: SampleData.warmRows, lookupValues),
        WorkerCase(queue: "lookup-interpolated", warm: SampleData.warmRows, lookupInterpolated),
        // For `--scaling`, with a cache too small for any table.
        WorkerCase(
            queue: "insert-cold", cacheKilobytes: 2048, check: SampleData.checkRows,
            insertPositional),
        WorkerCase(queue: "lookup-cold", cacheKilobytes: 2048, pointLookup),
    ]

    private static let select = "SELECT id, name, amount, payload FROM sample"

    @Sendable static func scan(_ db: Database) throws -> UInt64 {
        var sum: UInt64 = 0
        let rows = try Row.fetchCursor(db.cachedStatement(sql: select))
        while let row = try rows.next() { sum &+= checksum(row[0], row[1], row[2], row[3]) }
        return sum
    }

    private static func insertPositional(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        let (texts, payloads) = (SampleData.texts, SampleData.payloads)
        try queue.write { db in
            let statement = try db.cachedStatement(
                sql: "INSERT INTO sample (id, name, amount, payload) VALUES (?, ?, ?, ?)")
            for index in 0..<job.rows {
                statement.setUncheckedArguments([
                    index + 1, texts[index % texts.count], Double(index) * 0.5,
                    payloads[index % payloads.count],
                ])
                try statement.execute()
            }
        }
        return 0
    }

    private static func insertNamed(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        let (texts, payloads) = (SampleData.texts, SampleData.payloads)
        try queue.write { db in
            let statement = try db.cachedStatement(
                sql: """
                    INSERT INTO sample (id, name, amount, payload)
                    VALUES (:id, :name, :amount, :payload)
                    """)
            for index in 0..<job.rows {
                statement.setUncheckedArguments([
                    "id": index + 1, "name": texts[index % texts.count],
                    "amount": Double(index) * 0.5, "payload": payloads[index % payloads.count],
                ])
                try statement.execute()
            }
        }
        return 0
    }

    private static func scanByName(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        try queue.inDatabase { db in
            var sum: UInt64 = 0
            let rows = try Row.fetchCursor(db.cachedStatement(sql: select))
            while let row = try rows.next() {
                sum &+= checksum(row["id"], row["name"], row["amount"], row["payload"])
            }
            return sum
        }
    }

    private static func scanBorrowed(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        try queue.inDatabase { db in
            var sum: UInt64 = 0
            let rows = try Row.fetchCursor(db.cachedStatement(sql: select))
            while let row = try rows.next() {
                let id: Int64 = row[0]
                let amount: Double = row[2]
                sum &+= UInt64(id) &+ UInt64(amount)
                // For a text these are its UTF-8 bytes.
                sum &+= try row.withUnsafeData(atIndex: 1) { checksum($0 ?? Data()) }
                sum &+= try row.withUnsafeData(atIndex: 3) { checksum($0 ?? Data()) }
            }
            return sum
        }
    }

    private static func scanCodable(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        try queue.inDatabase { db in
            var sum: UInt64 = 0
            let samples = try Sample.fetchCursor(db.cachedStatement(sql: select))
            while let sample = try samples.next() { sum &+= sample.sum }
            return sum
        }
    }

    private static func pointLookup(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        try queue.read { db in
            var sum: UInt64 = 0
            let statement = try db.cachedStatement(sql: "SELECT name FROM sample WHERE id = ?")
            for id in job.ids {
                statement.setUncheckedArguments([id])
                sum &+= checksum(try String.fetchOne(statement) ?? "")
            }
            return sum
        }
    }

    private static func lookupValues(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        let (amount, other) = (-0.5, "nobody")
        return try queue.read { db in
            var sum: UInt64 = 0
            for id in job.ids {
                let name = try String.fetchOne(
                    db, sql: "SELECT name FROM sample WHERE id = ? AND amount >= ? AND name <> ?",
                    arguments: [id, amount, other])
                sum &+= checksum(name ?? "")
            }
            return sum
        }
    }

    private static func lookupInterpolated(_ queue: DatabaseQueue, _ job: Job) throws -> UInt64 {
        let (amount, other) = (-0.5, "nobody")
        return try queue.read { db in
            var sum: UInt64 = 0
            for id in job.ids {
                let request: SQLRequest<String> = """
                    SELECT name FROM sample WHERE id = \(id) AND amount >= \(amount) AND name <> \(other)
                    """
                sum &+= checksum(try request.fetchOne(db) ?? "")
            }
            return sum
        }
    }
}
