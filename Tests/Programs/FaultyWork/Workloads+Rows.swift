import Foundation
import SecureStorage

// Workloads that store, change and open.

extension Workload {
    static func header(_ configuration: inout SecureDatabaseConfiguration) {
        configuration.cipher.plaintextHeaderSize = 32
    }

    static func delete(_ configuration: inout SecureDatabaseConfiguration) {
        configuration.journalMode = .delete
    }

    private static func create(
        _ name: String, _ configure: @escaping Place.Configure, passphrase: Bool = false
    ) -> Workload {
        func open(_ db: SecureDatabaseStore, _ made: inout Bool) throws {
            var wasMade = false
            func fill(_ db: SecureDatabaseStore) -> (any Error)? {
                wasMade = true
                do {
                    try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x BLOB)")
                    try db.insert(1)
                    return nil
                } catch {
                    return error
                }
            }
            defer { made = wasMade }
            if passphrase {
                try db.open(with: "a passphrase", initializationHandler: fill)
            } else {
                try db.open(with: Place.key, initializationHandler: fill)
            }
        }
        return Workload(
            name: name,
            run: { place, log in
                let db = place.store("test.db", configure)
                var made = false
                log.attempt("row 1") { try open(db, &made) }
                if db.isOpen() { log.attempt("row 2") { try db.insert(2) } }
                db.close()
            },
            check: { place, record in
                let wasThere = place.exists("test.db")
                let db = place.store("test.db", configure)
                var made = false
                do { try open(db, &made) } catch { return ["the next open: \(error)"] }
                defer { db.close() }
                var problems: [String] = []
                if record.done.contains("row 1"), made { problems.append("lost: the whole file") }
                if wasThere, made { problems.append("a file that was there was made again") }
                let ids = Set(try db.ints("SELECT id FROM t"))
                if !ids.isSuperset(of: record.storedRows.union([1])) {
                    problems.append("lost: \(record.storedRows) but \(ids)")
                }
                let report = try db.verifyIntegrity()
                if !report.isSound { problems.append("\(report)") }
                return problems
            })
    }

    private static func insert(
        _ name: String, _ configure: @escaping Place.Configure
    ) -> Workload {
        Workload(
            name: name, prepare: { try $0.make(rows: [1, 2, 3], configure) },
            run: { place, log in
                let db = place.store("test.db", configure)
                log.attempt("open") { try db.open(with: Place.key) }
                for row in 4...7 where db.isOpen() {
                    log.attempt("row \(row)") { try db.insert(row) }
                }
                if db.isOpen() { log.attempt("checkpoint") { try db.checkpoint(.truncate) } }
                if db.isOpen() { log.attempt("row 8") { try db.insert(8) } }
                db.close()
            },
            check: { $0.problems($1, prepared: [1, 2, 3], configure) })
    }

    private static func transactions(
        _ name: String, _ configure: @escaping Place.Configure
    ) -> Workload {
        Workload(
            name: name, prepare: { try $0.make(rows: [1, 2, 3], configure) },
            run: { place, log in
                let queue = SecureDatabaseQueue(
                    databaseStore: place.store("test.db", configure))
                log.attempt("open") { try queue.inDatabase { try $0.open(with: Place.key) } }
                for pair in 1...4 {
                    log.attempt("pair \(pair)") {
                        try queue.inExclusiveTransaction { db in
                            try db.insert(pair * 10)
                            try db.insert(pair * 10 + 1)
                            return false
                        }
                    }
                }
                _ = try? queue.inExclusiveTransaction { db in
                    try db.insert(500)
                    return true
                }
                try? queue.inDatabase { $0.close() }
            },
            check: { place, record in
                var stored: Set<Int> = [1, 2, 3]
                var tried: Set<Int> = []
                for pair in 1...4 {
                    let rows = [pair * 10, pair * 10 + 1]
                    if record.done.contains("pair \(pair)") { stored.formUnion(rows) }
                    tried.formUnion(rows)
                }
                var problems = place.problems(
                    "test.db", stored: stored, tried: tried, configure)
                let db = place.store("test.db", configure)
                try db.open(with: Place.key)
                defer { db.close() }
                let ids = Set(try db.ints("SELECT id FROM t"))
                for pair in 1...4 where ids.contains(pair * 10) != ids.contains(pair * 10 + 1) {
                    problems.append("half of transaction \(pair)")
                }
                return problems
            })
    }

    private static func rekey(
        _ name: String, _ configure: @escaping Place.Configure
    ) -> Workload {
        Workload(
            name: name, prepare: { try $0.make(rows: [1, 2, 3], configure) },
            run: { place, log in
                let db = place.store("test.db", configure)
                log.attempt("open") { try db.open(with: Place.key) }
                guard db.isOpen() else { return }
                log.attempt("rekey") { try db.changeEncryptionKey(with: Place.otherKey) }
                log.attempt("row 4") { try db.insert(4) }
                db.close()
            },
            check: { place, record in
                let opens = [Place.key, Place.otherKey].map { key in
                    let db = place.store("test.db", configure)
                    defer { db.close() }
                    return (try? db.open(with: key)) != nil
                }
                guard opens.filter({ $0 }).count == 1 else {
                    return ["\(opens.filter { $0 }.count) keys open it"]
                }
                let key = opens[0] ? Place.key : Place.otherKey
                var problems = place.problems(record, key: key, prepared: [1, 2, 3], configure)
                if record.done.contains("rekey"), opens[0] {
                    problems.append("untrue: changed, but the old key opens it")
                }
                if record.errors["rekey"]?.hasPrefix("not changed") == true, opens[1] {
                    problems.append("untrue: \(record.errors["rekey"] ?? "")")
                }
                if record.errors["rekey"]?.hasPrefix("error") == true {
                    problems.append("no statement: \(record.errors["rekey"] ?? "")")
                }
                return problems
            })
    }

    private static var keyValue: Workload {
        Workload(
            name: "key-value",
            prepare: { place in
                let kv = try SecureKeyValueStore(databaseStore: place.store(), name: "kv")
                try kv.open(with: Place.key)
                try kv.put("1", forKey: "1")
                kv.close()
            },
            run: { place, log in
                // The busy timeout is short, because locks left by a failed call are waited for.
                guard
                    let kv = try? SecureKeyValueStore(databaseStore: place.store(), name: "kv")
                else { return }
                log.attempt("open") { try kv.open(with: Place.key) }
                for row in 2...6 {
                    log.attempt("row \(row)") { try kv.put("\(row)", forKey: "\(row)") }
                }
                log.attempt("remove") { _ = try kv.remove("1") }
                kv.close()
            },
            check: { place, record in
                let kv = try SecureKeyValueStore(databaseStore: place.store(), name: "kv")
                try kv.open(with: Place.key)
                defer { kv.close() }
                var problems: [String] = []
                for row in record.storedRows where try kv.getString("\(row)") != "\(row)" {
                    problems.append("lost: \(row)")
                }
                let first = try kv.getString("1")
                if record.done.contains("remove")
                    ? first != nil : !record.begun.contains("remove") && first == nil
                {
                    problems.append("removed: \(String(describing: first))")
                }
                return problems
            })
    }

    private static var pool: Workload {
        Workload(
            name: "pool", prepare: { try $0.make(rows: [1, 2, 3]) },
            run: { place, log in
                let pool = SecureDatabasePool(
                    url: place.url("test.db"), configuration: place.configuration { _ in })
                log.attempt("open") { try pool.open(with: .raw(Place.key)) }
                for row in 4...7 {
                    log.attempt("row \(row)") { try pool.write { try $0.insert(row) } }
                    log.attempt("read") {
                        _ = try pool.read { try $0.ints("SELECT count(*) FROM t") }
                    }
                }
                log.attempt("checkpoint") { try pool.checkpoint(.truncate) }
                pool.close()
            },
            check: { $0.problems($1, prepared: [1, 2, 3]) })
    }

    private static var suspension: Workload {
        Workload(
            name: "suspend", prepare: { try $0.make(rows: [1, 2, 3]) },
            run: { place, log in
                let pool = SecureDatabasePool(
                    url: place.url("test.db"), configuration: place.configuration { _ in })
                log.attempt("open") { try pool.open(with: .raw(Place.key)) }
                guard pool.isOpen() else { return }
                log.attempt("row 4") { try pool.write { try $0.insert(4) } }
                _ = pool.suspend(waiting: .milliseconds(10))
                pool.resume()
                log.attempt("row 5") { try pool.write { try $0.insert(5) } }
                log.attempt("read") { _ = try pool.read { try $0.ints("SELECT count(*) FROM t") } }
                pool.close()
            },
            check: { $0.problems($1, prepared: [1, 2, 3]) })
    }

    private static var steps: SchemaMigrations {
        var steps = SchemaMigrations()
        steps.add(
            "a",
            sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, x BLOB); INSERT INTO t VALUES (1, NULL)")
        steps.add("b", sql: "INSERT INTO t SELECT id + 1, x FROM t; ALTER TABLE t ADD COLUMN y")
        steps.add("c", sql: "INSERT INTO t (id) SELECT max(id) + 1 FROM t; CREATE INDEX i ON t (y)")
        return steps
    }

    private static var migrations: Workload {
        Workload(
            name: "schema migrations",
            prepare: { place in
                let db = place.store()
                try db.open(with: Place.key)
                try db.executeUpdate("CREATE TABLE other (x)")
                db.close()
            },
            run: { place, log in
                let db = place.store()
                log.attempt("open") { try db.open(with: Place.key) }
                log.attempt("migrate") { _ = try steps.apply(to: db) }
                db.close()
            },
            check: { place, record in
                let db = place.store()
                try db.open(with: Place.key)
                defer { db.close() }
                let left = try steps.apply(to: db)
                var problems: [String] = []
                if record.done.contains("migrate"), !left.isEmpty {
                    problems.append("lost: \(left)")
                }
                if try db.ints("SELECT id FROM t ORDER BY 1") != [1, 2, 3] {
                    problems.append("a step was applied in part, or twice")
                }
                return problems
            })
    }

    private static var shared: Workload {
        Workload(
            name: "shared database",
            run: { place, log in
                let shared = SharedDatabase(at: place.url("test.db"))
                let pool = log.attempt("row 3") {
                    try shared.open(with: Place.databaseKey, migrations: steps)
                }
                if let pool {
                    log.attempt("row 4") {
                        try pool.write { try $0.executeUpdate("INSERT INTO t (id) VALUES (4)") }
                    }
                    pool.close()
                }
            },
            check: { place, record in
                let pool = try SharedDatabase(at: place.url("test.db")).open(
                    with: Place.databaseKey, migrations: steps)
                defer { pool.close() }
                let ids = try pool.read { try $0.ints("SELECT id FROM t ORDER BY 1") }
                let isLost = !Set(ids).isSuperset(of: record.storedRows.union([1, 2, 3]))
                return isLost ? ["lost: \(record.storedRows) but \(ids)"] : []
            })
    }

    /// Opens a file left by a crash, with the files beside it.
    private static func recovery(
        _ name: String, _ configure: @escaping Place.Configure
    ) -> Workload {
        Workload(
            name: name,
            prepare: { place in
                try place.make("origin.db", rows: [1, 2, 3]) {
                    configure(&$0)
                    $0.cacheSize = 0
                }
                let db = place.store("origin.db") {
                    configure(&$0)
                    $0.cacheSize = 0
                }
                try db.open(with: Place.key)
                try db.insert(4)
                if db.configuration.journalMode == .delete {
                    try db.beginExclusiveTransaction()
                    try db.executeUpdate("UPDATE t SET x = randomblob(20000)")
                    try db.executeUpdate("INSERT INTO t SELECT id + 100, randomblob(20000) FROM t")
                }
                for suffix in ["", "-wal", "-journal"] where place.exists("origin.db" + suffix) {
                    try FileManager.default.copyItem(
                        at: place.url("origin.db" + suffix), to: place.url("test.db" + suffix))
                }
                if db.configuration.journalMode == .delete { try db.rollback() }
                db.close()
                try SecureDatabaseStore.remove(at: place.url("origin.db"))
            },
            run: { place, log in
                let db = place.store("test.db", configure)
                log.attempt("open") { try db.open(with: Place.key) }
                if db.isOpen() { log.attempt("row 5") { try db.insert(5) } }
                db.close()
                log.attempt("open again") { try db.open(with: Place.key) }
                if db.isOpen() { log.attempt("row 6") { try db.insert(6) } }
                db.close()
            },
            check: { $0.problems($1, prepared: [1, 2, 3, 4], configure) })
    }

    static var rows: [Workload] {
        [
            create("create", { _ in }), create("create with a header", header),
            create(
                "create with a passphrase", { $0.cipher.kdfIterations = 1000 }, passphrase: true),
            insert("insert, log", { _ in }), insert("insert, journal", delete),
            transactions("transactions, log", { _ in }),
            transactions("transactions, journal", delete),
            rekey("re-key, log", { _ in }), rekey("re-key, journal", delete),
            rekey("re-key with a header", header), keyValue, pool, suspension, migrations, shared,
            recovery("left log", { _ in }), recovery("hot journal", delete),
        ]
    }
}
