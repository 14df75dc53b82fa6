import SecureStorage
import Workers

extension WorkerCase {
    static let queueCases = [
        WorkerCase("queue-read", warm: SampleData.warmRows, queueRead),
        WorkerCase(
            "queue-write", warm: SampleData.warmRows, check: SampleData.checkNames, queueWrite),
        WorkerCase("kv-get", warm: SampleData.warmSettings, keyValueGet),
        WorkerCase(
            "kv-put", warm: SampleData.warmSettings, check: SampleData.checkSettings, keyValuePut),
        WorkerCase("kv-get-codable", warm: SampleData.warmSettings, keyValueGetCodable),
    ]

    private static func queueRead(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let queue = SecureDatabaseQueue(databaseStore: db)
        var sum: UInt64 = 0
        for id in job.ids {
            let name = try queue.inDatabase { db in
                try db.string(forQuery: "SELECT name FROM sample WHERE id = ?", values: [id])
            }
            sum &+= checksum(name ?? "")
        }
        return sum
    }

    private static func queueWrite(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let queue = SecureDatabaseQueue(databaseStore: db)
        for index in 0..<job.writes {
            let name = SampleData.texts[(index + 7) % SampleData.texts.count]
            try queue.inImmediateTransaction { db in
                try db.executeUpdate(
                    "UPDATE sample SET name = ? WHERE id = ?", values: [name, job.ids[index]])
                return false
            }
        }
        return 0
    }

    private static func keyValueGet(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let settings = try SecureKeyValueStore(databaseStore: db, name: SampleData.storeName)
        var sum: UInt64 = 0
        for key in job.settingKeys { sum &+= checksum(try settings.getString(key) ?? "") }
        return sum
    }

    private static func keyValuePut(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let settings = try SecureKeyValueStore(databaseStore: db, name: SampleData.storeName)
        for index in 0..<job.writes {
            try settings.put(
                SampleData.texts[(index + 7) % SampleData.texts.count],
                forKey: job.settingKeys[index])
        }
        return 0
    }

    private static func keyValueGetCodable(_ db: SecureDatabaseStore, _ job: Job) throws -> UInt64 {
        let settings = try SecureKeyValueStore(databaseStore: db, name: SampleData.storeName)
        var sum: UInt64 = 0
        for key in job.profileKeys { sum &+= try settings.get(key, as: Profile.self)?.sum ?? 0 }
        return sum
    }
}
