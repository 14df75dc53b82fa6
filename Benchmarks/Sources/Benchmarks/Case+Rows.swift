import CBaseline
import Foundation
import SecureStorage

extension Case {
    static let all = [
        insert, scanByIndex, scanByName, pointLookup, queueRead, keyValueGet, keyValuePut,
    ]

    static let insert = Case(
        name: "insert-positional",
        c: { data, db in data.withCStrings(data.names) { baseline_insert(db, $0, $1) } },
        ours: { data, db in
            try db.beginExclusiveTransaction()
            for (index, name) in data.names.enumerated() {
                try db.executeUpdate(
                    "INSERT INTO sample (id, name, amount, payload) VALUES (?, ?, ?, ?)",
                    values: [
                        index + 1, name, Double(index) * 0.5,
                        Data(repeating: UInt8(truncatingIfNeeded: index), count: 100),
                    ])
            }
            try db.commit()
            return UInt64(data.names.count)
        })

    static let scanByIndex = Case(
        name: "scan-index",
        c: { _, db in baseline_scan(db) },
        ours: { _, db in
            var sum: UInt64 = 0
            let rs = try db.executeQuery("SELECT id, name, amount, payload FROM sample")
            while try rs.next() {
                sum += UInt64(rs.int64(forColumnIndex: 0) ?? 0)
                sum += checksum(rs.string(forColumnIndex: 1) ?? "")
                sum += UInt64(rs.double(forColumnIndex: 2) ?? 0)
                sum += checksum(rs.data(forColumnIndex: 3) ?? Data())
            }
            return sum
        })

    static let scanByName = Case(
        name: "scan-name",
        c: { _, db in baseline_scan(db) },
        ours: { _, db in
            var sum: UInt64 = 0
            let rs = try db.executeQuery("SELECT id, name, amount, payload FROM sample")
            while try rs.next() {
                sum += UInt64(rs.int64(forColumnName: "id") ?? 0)
                sum += checksum(rs.string(forColumnName: "name") ?? "")
                sum += UInt64(rs.double(forColumnName: "amount") ?? 0)
                sum += checksum(rs.data(forColumnName: "payload") ?? Data())
            }
            return sum
        })

    static let pointLookup = Case(
        name: "point-lookup",
        c: { data, db in
            baseline_execute(db, "BEGIN")
            defer { baseline_execute(db, "COMMIT") }
            return baseline_lookup(db, data.ids, Int32(data.ids.count))
        },
        ours: { data, db in
            try db.beginDeferredTransaction()
            var sum: UInt64 = 0
            for id in data.ids {
                let rs = try db.executeQuery("SELECT name FROM sample WHERE id = ?", values: [id])
                if try rs.next() { sum += checksum(rs.string(forColumnIndex: 0) ?? "") }
                rs.close()
            }
            try db.commit()
            return sum
        })

    static let queueRead = Case(
        name: "queue-read",
        c: { data, db in baseline_lookup(db, data.ids, Int32(data.ids.count)) },
        ours: { data, db in
            let queue = SecureDatabaseQueue(databaseStore: db)
            var sum: UInt64 = 0
            for id in data.ids {
                let name = try queue.inDatabase { db in
                    let rs = try db.executeQuery(
                        "SELECT name FROM sample WHERE id = ?", values: [id])
                    return try rs.next() ? rs.string(forColumnIndex: 0) : nil
                }
                sum += checksum(name ?? "")
            }
            return sum
        })
}
