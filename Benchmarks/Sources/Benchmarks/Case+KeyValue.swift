import CBaseline
import Foundation
import SecureStorage

extension Case {
    // By hand, the statements are those of the library (see Docs/FileFormats.md), prepared once.

    static let keyValueGet = Case(
        name: "kv-get",
        c: { data, db in
            data.withCStrings(data.lookedUpKeys) {
                baseline_get_texts(
                    db, "SELECT kind, value, expires FROM securestorage_kv_1 WHERE key = ?", 1, $0,
                    $1)
            }
        },
        ours: { data, db in
            let settings = try SecureKeyValueStore(databaseStore: db, name: SampleData.storeName)
            var sum: UInt64 = 0
            for key in data.lookedUpKeys { sum += checksum(try settings.getString(key) ?? "") }
            return sum
        })

    static let keyValuePut = Case(
        name: "kv-put",
        c: { data, db in
            data.withCStrings(data.writtenKeys) { keys, count in
                data.withCStrings(data.writtenValues) { values, _ in
                    baseline_put_texts(
                        db,
                        """
                        INSERT INTO securestorage_kv_1 (key, kind, value, expires) VALUES (?, ?, ?, ?)
                        ON CONFLICT (key) DO UPDATE SET
                            kind = excluded.kind, value = excluded.value, expires = excluded.expires
                        """, keys, values, count)
                }
            }
        },
        ours: { data, db in
            let settings = try SecureKeyValueStore(databaseStore: db, name: SampleData.storeName)
            for (key, value) in zip(data.writtenKeys, data.writtenValues) {
                try settings.put(value, forKey: key)
            }
            return UInt64(data.writtenKeys.count)
        })
}
