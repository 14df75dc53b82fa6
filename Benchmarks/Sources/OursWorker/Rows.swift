import Foundation
import SecureStorage
import Workers

extension WorkerCase {
    static let rowCases = [
        WorkerCase("insert-positional", check: SampleData.checkRows, insertPositional),
        WorkerCase("insert-named", check: SampleData.checkRows, insertNamed),
        WorkerCase("scan-index", warm: SampleData.warmRows) { db, _ in try scan(db) },
        WorkerCase("scan-name", warm: SampleData.warmRows, scanByName),
        WorkerCase("scan-borrowed", warm: SampleData.warmRows, scanBorrowed),
        WorkerCase("scan-bytes", warm: SampleData.warmRows, scanBytes),
        WorkerCase("scan-typed", warm: SampleData.warmRows, scanTyped),
        WorkerCase("scan-codable", warm: SampleData.warmRows, scanCodable),
        WorkerCase("scan-cold", cacheSize: 2 << 20) { db, _ in try scan(db) },
        WorkerCase("point-lookup", warm: SampleData.warmRows, pointLookup),
        WorkerCase("lookup-values", warm: SampleData.warmRows, lookupValues),
        WorkerCase("lookup-interpolated", warm: SampleData.warmRows, lookupInterpolated),
        // For `--scaling`, with a cache too small for any table.
        WorkerCase(
            "insert-cold", cacheSize: 2 << 20, check: SampleData.checkRows, insertPositional),
        WorkerCase("lookup-cold", cacheSize: 2 << 20, pointLookup),
    ]

    static let select = "SELECT id, name, amount, payload FROM sample"

    static func scan(_ db: SecureDatabaseStore) throws -> UInt64 {
        var sum: UInt64 = 0
        let rs = try db.executeQuery(select)
        while try rs.next() {
            sum &+= checksum(
                rs.int64(forColumnIndex: 0) ?? 0, rs.string(forColumnIndex: 1) ?? "",
                rs.double(forColumnIndex: 2) ?? 0, rs.data(forColumnIndex: 3) ?? Data())
        }
        return sum
    }

    private static func insertPositional(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let (texts, payloads) = (SampleData.texts, SampleData.payloads)
        try db.beginDeferredTransaction()
        for index in 0..<job.rows {
            try db.executeUpdate(
                "INSERT INTO sample (id, name, amount, payload) VALUES (?, ?, ?, ?)",
                values: [
                    index + 1, texts[index % texts.count], Double(index) * 0.5,
                    payloads[index % payloads.count],
                ])
        }
        try db.commit()
        return 0
    }

    private static func insertNamed(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let (texts, payloads) = (SampleData.texts, SampleData.payloads)
        try db.beginDeferredTransaction()
        for index in 0..<job.rows {
            try db.executeUpdate(
                "INSERT INTO sample (id, name, amount, payload) VALUES (:id, :name, :amount, :payload)",
                named: [
                    "id": index + 1, "name": texts[index % texts.count],
                    "amount": Double(index) * 0.5, "payload": payloads[index % payloads.count],
                ])
        }
        try db.commit()
        return 0
    }

    private static func scanByName(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        var sum: UInt64 = 0
        let rs = try db.executeQuery(select)
        while try rs.next() {
            sum &+= checksum(
                rs.int64(forColumnName: "id") ?? 0, rs.string(forColumnName: "name") ?? "",
                rs.double(forColumnName: "amount") ?? 0,
                rs.data(forColumnName: "payload") ?? Data())
        }
        return sum
    }

    private static func scanBorrowed(_ db: SecureDatabaseStore, _: Job) throws -> UInt64 {
        var sum: UInt64 = 0
        let rs = try db.executeQuery(select)
        while try rs.next() {
            sum &+= UInt64(rs.int64(forColumnIndex: 0) ?? 0)
            sum &+= rs.withUnsafeBytes(forColumnIndex: 1, checksum) ?? 0
            sum &+= UInt64(rs.double(forColumnIndex: 2) ?? 0)
            sum &+= rs.withUnsafeBytes(forColumnIndex: 3, checksum) ?? 0
        }
        return sum
    }

    private static func scanBytes(_ db: SecureDatabaseStore, _: Job) throws -> UInt64 {
        var sum: UInt64 = 0
        let rs = try db.executeQuery(select)
        while try rs.next() {
            let payload = rs.bytes(forColumnIndex: 3) ?? []
            sum &+= checksum(
                rs.int64(forColumnIndex: 0) ?? 0, rs.string(forColumnIndex: 1) ?? "",
                rs.double(forColumnIndex: 2) ?? 0, payload)
        }
        return sum
    }

    private static func scanTyped(_ db: SecureDatabaseStore, _: Job) throws -> UInt64 {
        var sum: UInt64 = 0
        let rs = try db.executeQuery(select)
        while try rs.next() {
            sum &+= try rs.row { (id: Int64, name: String, amount: Double, payload: Data) in
                checksum(id, name, amount, payload)
            }
        }
        return sum
    }

    private static func scanCodable(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        var sum: UInt64 = 0
        let rs = try db.executeQuery(select)
        while try rs.next() { sum &+= try rs.decode(Sample.self).sum }
        return sum
    }

    private static func pointLookup(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        var sum: UInt64 = 0
        try db.beginDeferredTransaction()
        for id in job.ids {
            let rs = try db.executeQuery("SELECT name FROM sample WHERE id = ?", values: [id])
            if try rs.next() { sum &+= checksum(rs.string(forColumnIndex: 0) ?? "") }
            rs.close()
        }
        try db.commit()
        return sum
    }

    private static func lookupValues(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let (amount, other) = (-0.5, "nobody")
        var sum: UInt64 = 0
        try db.beginDeferredTransaction()
        for id in job.ids {
            let name = try db.fetchOne(
                "SELECT name FROM sample WHERE id = ? AND amount >= ? AND name <> ?",
                values: [id, amount, other]
            ) { (name: String) in name }
            sum &+= checksum(name ?? "")
        }
        try db.commit()
        return sum
    }

    private static func lookupInterpolated(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let (amount, other) = (-0.5, "nobody")
        var sum: UInt64 = 0
        try db.beginDeferredTransaction()
        for id in job.ids {
            let name = try db.fetchOne(
                "SELECT name FROM sample WHERE id = \(id) AND amount >= \(amount) AND name <> \(other)"
            ) { (name: String) in name }
            sum &+= checksum(name ?? "")
        }
        try db.commit()
        return sum
    }
}
