import Foundation
import StoreChecks
import ObjectStores
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport

/// A group of a member in Python and two of this library, over a directory.
struct PythonHistory {
    private var random: SplitMix64
    private let home: TemporaryDatabase
    private let folder: URL
    private let policy: SnapshotPolicy
    private var devices: [Device] = []
    private(set) var log: [String] = []

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        home = try TemporaryDatabase()
        folder = home.directory.appendingPathComponent("store")
        var policy = SnapshotPolicy()
        policy.batches = 5
        // Otherwise batches are gone that the program has not read.
        if random.next() % 2 == 0 { policy.retention = 0 }
        self.policy = policy
    }

    private struct Device {
        let name: String
        let database: TemporaryDatabase
        let queue: SecureDatabaseQueue
        let engine: SyncEngine
    }

    private mutating func below(_ limit: UInt64) -> UInt64 { random.next() % limit }

    private func open(_ name: String) throws -> Device {
        let database = try TemporaryDatabase()
        let queue = SecureDatabaseQueue(url: database.url)
        try queue.open(with: .raw(TemporaryDatabase.key))
        try queue.write {
            try $0.executeStatements(
                """
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, title, body);
                CREATE TABLE place (
                  x INTEGER NOT NULL, y TEXT NOT NULL, name, height, photo, PRIMARY KEY (x, y));
                """)
        }
        var tables = SyncedTables()
        tables.add("note")
        tables.add("place")
        let engine = try SyncEngine(
            queue, capture: Capture(tables), store: DirectoryObjectStore(directory: folder),
            keyStore: InMemoryKeyStore(), policy: policy)
        return Device(name: name, database: database, queue: queue, engine: engine)
    }

    mutating func run() async throws {
        let anna = try open("anna")
        try await anna.engine.createGroup(deviceName: "anna")
        devices = [anna]
        for _ in 0..<below(4) { try await write(anna) }
        let role = below(3) == 0 ? SyncMember.Role.admin : .writer
        let code = try await anna.engine.invite(.once, role: role).code
        if below(2) == 0 { try await anna.engine.syncOnce() }
        let python = try PythonMember()
        try python.join(folder, code)
        log.append("python joins as \(role)")
        for _ in 0..<30 { try await step(python) }
        try await settle(python)
    }

    private mutating func step(_ python: PythonMember) async throws {
        let device = devices[Int(below(UInt64(devices.count)))]
        switch below(20) {
        case 0..<6: try await write(device)
        case 6..<11:
            log.append("\(device.name): \(try await device.engine.syncOnce())")
        case 11..<15:
            let seed = random.next() >> 16
            log.append("python writes \(try python.scribble(seed)) rows, \(seed)")
        case 15..<18: log.append("python applies \(try python.sync())")
        case 18:
            log.append("anna rotates")
            try await devices[0].engine.rotateKey()
        default:
            if devices.count == 1 {
                let ben = try open("ben")
                try await ben.engine.join(
                    try await devices[0].engine.invite(.once), deviceName: "ben",
                    localRows: .discard)
                devices.append(ben)
                log.append("ben joins")
            } else if let ben = try await devices[0].engine.members().first(
                where: { $0.name == "ben" })
            {
                try await devices[0].engine.remove(ben)
                devices.removeLast()
                log.append("ben is removed")
            }
        }
    }

    private mutating func write(_ device: Device) async throws {
        let values = ["NULL", "7", "-1.5", "'text'", "x'00ff'", "\(below(1_000_000))", "9e99"]
        func value(_ number: UInt64) -> String { values[Int(number) % values.count] }
        let (note, x, y) = ("'p\(below(6))'", "\(below(3))", below(2) == 0 ? "'a'" : "'b'")
        let (first, second) = (value(below(99)), value(below(99)))
        let statement =
            switch below(7) {
            case 0: "REPLACE INTO note VALUES (\(note), \(first), \(second))"
            case 1: "UPDATE note SET title = \(first) WHERE id = \(note)"
            case 2: "UPDATE note SET title = \(first), body = \(second)"
            case 3: "DELETE FROM note WHERE id = \(note)"
            case 4: "REPLACE INTO place VALUES (\(x), \(y), \(first), \(second), NULL)"
            case 5: "UPDATE place SET photo = \(first) WHERE x = \(x)"
            default: "DELETE FROM place WHERE x = \(x)"
            }
        log.append("\(device.name): \(statement)")
        try await device.queue.write { try $0.executeUpdate(statement) }
    }

    private mutating func settle(_ python: PythonMember) async throws {
        for round in 0... {
            var isQuiet = try python.sync() == 0
            for device in devices {
                let report = try await device.engine.syncOnce()
                if report.sentBatches + report.appliedTransactions > 0 { isQuiet = false }
            }
            if isQuiet { break }
            guard round < 20 else { throw Failure("it never comes to rest") }
        }
        let read = try python.rows()
        for device in devices {
            let rows = try rows(of: device)
            guard rows == read else {
                let difference = Set(rows).symmetricDifference(read).sorted()
                throw Failure("\(device.name) and the program differ: \(difference)")
            }
            let found = try await device.engine.verify()
            guard found.isSound else { throw Failure("\(device.name): \(found.problems)") }
        }
    }

    /// As Tests/Programs/SyncPython/member.py spells them.
    private func rows(of device: Device) throws -> [String] {
        try device.queue.read { db in
            var lines: [String] = []
            for (table, count) in [("note", 3), ("place", 5)] {
                let rows = try db.executeQuery("SELECT * FROM \(table)")
                defer { rows.close() }
                while try rows.next() {
                    let values = try (0..<count).map { try rows.sqliteValue(at: $0).spelled }
                    lines.append(([table] + values).joined(separator: "|"))
                }
            }
            return lines.sorted()
        }
    }
}

extension SQLiteValue {
    fileprivate var spelled: String {
        func hex(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        switch self {
        case .null: return "null"
        case .integer(let number): return "integer \(number)"
        case .real(let number):
            return withUnsafeBytes(of: number.bitPattern.bigEndian) { "real \(hex($0))" }
        case .text(let text): return "text \(text)"
        case .blob(let bytes): return "blob \(hex(bytes))"
        }
    }
}
