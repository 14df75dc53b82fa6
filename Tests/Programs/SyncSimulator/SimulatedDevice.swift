import Foundation
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport

/// A member of a simulation: a file, its keys, and its way to the store.
final class SimulatedDevice {
    let name: String
    let store: SimulatedStore
    let keyStore: InMemoryKeyStore
    /// How far its clock is off, in milliseconds.
    let clockOffset: Int64
    private let policy: SnapshotPolicy
    private(set) var database: TemporaryDatabase
    private(set) var queue: SecureDatabaseQueue
    private(set) var engine: SyncEngine
    /// Of the app that writes the file: the second has more columns, a table more and a key-value
    /// store.
    private(set) var version: Version
    /// Whether it writes the table `pair` under its name: the copy of a file does not.
    private(set) var isOriginal = true

    /// What it may do in its group.
    var role = SyncMember.Role.admin

    /// Whether another program has written since the last sync, and may have left orphans.
    var hasForeignWrites = false

    enum Version { case first, second }

    static func tables(_ version: Version) -> SyncedTables {
        var tables = SyncedTables()
        tables.add("parent")
        tables.add("child", together: [["a", "b"]])
        tables.add("setting", merging: .row)
        tables.add("pair")
        tables.add("link")
        if version == .second {
            tables.add("tag")
            tables.add(keyValueStore: "simulation")
        }
        return tables
    }

    /// Snapshots after a few batches, which are removed at once.
    static let policy = {
        var policy = SnapshotPolicy()
        (policy.batches, policy.retention) = (5, 0)
        return policy
    }()

    static let schema = """
        CREATE TABLE IF NOT EXISTS parent (
          id TEXT PRIMARY KEY NOT NULL, name TEXT, code TEXT UNIQUE);
        CREATE TABLE IF NOT EXISTS child (
          id BLOB PRIMARY KEY NOT NULL, parent TEXT REFERENCES parent (id) ON DELETE CASCADE,
          text TEXT, a INTEGER, b INTEGER, CHECK (a IS b));
        CREATE TABLE IF NOT EXISTS setting (
          name TEXT NOT NULL, place INTEGER NOT NULL, value, other,
          PRIMARY KEY (name, place)) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS pair (
          id TEXT PRIMARY KEY NOT NULL, token INTEGER);
        CREATE TABLE IF NOT EXISTS link (
          source TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (source, target)) WITHOUT ROWID;
        """

    static let migration = """
        ALTER TABLE parent ADD COLUMN note TEXT DEFAULT 'none';
        ALTER TABLE setting ADD COLUMN more;
        CREATE TABLE tag (name TEXT PRIMARY KEY NOT NULL, colour) WITHOUT ROWID;
        """

    init(
        _ name: String, _ objects: SimulatedObjects, version: Version = .first,
        clockOffset: Int64 = 0,
        policy: SnapshotPolicy = SimulatedDevice.policy
    ) throws {
        self.version = version
        self.name = name
        self.clockOffset = clockOffset
        self.policy = policy
        store = SimulatedStore(objects)
        keyStore = InMemoryKeyStore()
        database = try TemporaryDatabase()
        (queue, engine) = try Self.open(database, version, store, keyStore, clockOffset, policy)
    }

    /// A copy of another device's file, on the same machine unless there is another key store.
    ///
    /// With `objects` it is the device itself, in another future, with what its key store has now.
    init(
        copyOf other: SimulatedDevice, _ name: String, in objects: SimulatedObjects? = nil,
        keyStore: InMemoryKeyStore? = nil, policy: SnapshotPolicy? = nil
    ) throws {
        self.name = name
        version = other.version
        clockOffset = other.clockOffset
        self.policy = policy ?? other.policy
        store = SimulatedStore(objects ?? other.store.all)
        self.keyStore = try keyStore ?? (objects == nil ? other.keyStore : other.copiedKeys())
        database = try other.database.copiedFiles()
        isOriginal = false
        role = other.role
        hasForeignWrites = other.hasForeignWrites
        (queue, engine) = try Self.open(
            database, version, store, self.keyStore, clockOffset, self.policy)
    }

    /// A key store with the same keys.
    func copiedKeys() throws -> InMemoryKeyStore {
        let copy = InMemoryKeyStore()
        for name in try keyStore.names() {
            try copy.insert(try keyStore.read(name), forName: name)
        }
        return copy
    }

    private static func open(
        _ database: TemporaryDatabase, _ version: Version, _ store: SimulatedStore,
        _ keyStore: InMemoryKeyStore, _ clockOffset: Int64, _ policy: SnapshotPolicy
    ) throws -> (SecureDatabaseQueue, SyncEngine) {
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        configuration.foreignKeysEnabled = true
        configuration.synchronous = .normal
        let queue = SecureDatabaseQueue(url: database.url, configuration: configuration)
        try queue.open(with: .raw(TemporaryDatabase.key))
        try queue.write { db in
            try db.executeStatements(schema)
            if version == .second, try !db.tableExists("tag") {
                try db.executeStatements(migration)
            }
        }
        var capture = Capture(tables(version), clockOffset: clockOffset)
        // Rows are few: clocks are to move to the large table, too.
        capture.recentClockLimit = 2
        // Clocks are up to two years apart here, and everything is to arrive.
        capture.mostAhead = 750 * 86_400_000
        let engine = try SyncEngine(
            queue, capture: capture, store: store, keyStore: keyStore, policy: policy)
        return (queue, engine)
    }

    /// Ends the process, as a kill does, and starts it again.
    func killAndReopen() throws {
        let copy = try database.copiedFiles()
        queue.close()
        database = copy
        store.setFaults { ($0.callsUntilKill, $0.isOffline) = (nil, false) }
        (queue, engine) = try Self.open(database, version, store, keyStore, clockOffset, policy)
    }

    /// Continues with the second version of the app.
    func upgrade() throws {
        version = .second
        try killAndReopen()
    }

    /// Writes through a connection of another program, without foreign keys.
    func writeElsewhere(_ statements: [String]) throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        configuration.foreignKeysEnabled = false
        let other = SecureDatabaseQueue(url: database.url, configuration: configuration)
        try other.open(with: .raw(TemporaryDatabase.key))
        defer { other.close() }
        try other.write { db in for statement in statements { try db.executeUpdate(statement) } }
        hasForeignWrites = true
    }

    /// Puts the file back to an older copy of itself.
    func restore(_ copy: TemporaryDatabase) throws {
        queue.close()
        database = try copy.copiedFiles()
        // The copy may have some that the file has not.
        hasForeignWrites = true
        (queue, engine) = try Self.open(database, version, store, keyStore, clockOffset, policy)
    }

    /// All rows of the synced tables, as text in the order of their keys; of the key-value store
    /// those that have not expired.
    func rows() throws -> [String] {
        let columns = version == .first ? Self.columns : Self.laterColumns
        return try queue.read { db in
            try columns.sorted { $0.key < $1.key }.flatMap { table, columns in
                try db.strings(
                    """
                    SELECT '\(table) ' || \(columns.map { "quote(\($0))" }
                        .joined(separator: " || ' ' || "))
                    FROM \(table) WHERE \(table == Self.keyValueTable ? "expires IS NULL" : "1")
                    ORDER BY 1
                    """
                ).compactMap { $0 }
            }
        }
    }

    /// Whether something waits for the second version.
    func hasLater() throws -> Bool {
        try queue.read { db in
            guard try db.tableExists("securestorage_sync_later") else { return false }
            return try db.int("SELECT EXISTS (SELECT 1 FROM securestorage_sync_later)") == 1
        }
    }

    /// What its journal says, for whoever looks at a failure.
    func journal() throws -> String {
        try queue.read { db in
            let queries = [
                "SELECT 'adopted ' || number FROM securestorage_sync_snapshot",
                """
                SELECT 'is ' || substr(hex(member), 1, 4) || ' began ' || began
                FROM securestorage_sync_group
                """,
                "SELECT 'waits ' || count(*) FROM securestorage_sync_pending",
                "SELECT 'out ' || group_concat(number) FROM securestorage_sync_out",
                """
                SELECT substr(hex(member), 1, 4) || ' ' || number || ' '
                    || substr(hex(hash), 1, 4)
                FROM securestorage_sync_position ORDER BY 1
                """,
            ]
            return try queries.flatMap { try db.strings($0) }.compactMap { $0 }
                .joined(separator: ", ")
        }
    }

    /// Whether clocks have been forgotten.
    func hasStablePoint() throws -> Bool {
        try queue.read { try Capture(SyncedTables()).stablePointTime(in: $0) > 0 }
    }

    /// What the app does not see of its rows.
    func hidden() throws -> Set<SimulatedGroup.Event> {
        try queue.read { [version] db in
            let capture = Capture(Self.tables(version))
            var events: Set<SimulatedGroup.Event> = []
            if try !capture.conflicts(in: db).isEmpty { events.insert(.conflict) }
            if try !capture.heldBackRows(in: db).isEmpty { events.insert(.heldBack) }
            return events
        }
    }

    /// What the conflicts have of a row, for whoever looks at a failure.
    func listed(_ key: String) throws -> [String] {
        try engine.conflicts().filter { $0.key == [.text(key)] }.map { "\($0.reason) \($0.values)" }
    }

    /// Whether a value of a row is among the conflicts.
    func lists(_ text: String) throws -> Bool {
        try queue.read { [version] db in
            try Capture(Self.tables(version)).conflicts(in: db).contains {
                $0.lost.values.contains(.text(text))
            }
        }
    }

    static let columns = [
        "parent": ["id", "name", "code"], "child": ["id", "parent", "text", "a", "b"],
        "setting": ["name", "place", "value", "other"], "pair": ["id", "token"],
        "link": ["source", "target"],
    ]

    static let keyValueTable = "securestorage_kv_1"
    static let laterColumns = columns.merging([
        "parent": ["id", "name", "code", "note"],
        "setting": ["name", "place", "value", "other", "more"], "tag": ["name", "colour"],
        keyValueTable: ["key", "kind", "value"],
    ]) { $1 }

    /// What must be true at every look.
    func brokenPromise() throws -> String? {
        try queue.read { db in
            if !hasForeignWrites, let table = try db.strings("PRAGMA foreign_key_check").first {
                return "a foreign key of \(table ?? "") points nowhere"
            }
            if let pair = try db.strings(
                """
                SELECT l.id FROM pair AS l LEFT JOIN pair AS r ON r.id = substr(l.id, 1, 2) || 'r'
                WHERE l.id LIKE '__l' AND r.token IS NOT l.token
                """
            ).first {
                return "one half of a transaction is seen: \(pair ?? "")"
            }
            return nil
        }
    }
}
