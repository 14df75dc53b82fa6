import Foundation
import SecureStorage
import SecureSync
import TestSupport

/// A small group with objects of every kind, as its members have made them, and files that have
/// not seen most of them.
struct AdversaryGroup {
    let objects: SimulatedObjects
    let anna: SimulatedDevice
    let ben: SimulatedDevice
    /// Was away since it joined: it reads every log from the beginning.
    let cleo: SimulatedDevice
    /// Has joined last and read nothing: it begins with the newest snapshot.
    let dora: SimulatedDevice
    /// Was removed.
    let ruth: SimulatedDevice
    let ruthID: MemberID
    /// How many objects there were when it was removed.
    let removal: Int
    /// All that any member has ever had in a column of a row, with the row's place.
    private(set) var cells: Set<String> = []

    /// Rows of the transaction of several parts.
    static let bulk = 1_100

    /// The device that is lied to.
    enum Victim: String, CaseIterable, Sendable { case away, newcomer }

    /// - Parameters:
    ///   - objects: Of the store; may have other groups.
    ///   - mark: What all values contain that the group writes.
    /// - Throws: The errors of the engines.
    init(in objects: SimulatedObjects, mark: String) async throws {
        self.objects = objects
        var policy = SnapshotPolicy()
        policy.batches = 8
        func device(_ name: String) throws -> SimulatedDevice {
            try SimulatedDevice("device-\(mark)-\(name)", objects, policy: policy)
        }
        (anna, ben, cleo) = (try device("anna"), try device("ben"), try device("cleo"))
        (dora, ruth) = (try device("dora"), try device("ruth"))
        try await anna.engine.createGroup(deviceName: anna.name)
        for guest in [ben, cleo, ruth] {
            try await guest.engine.join(
                try await anna.engine.invite(.once, role: .admin), deviceName: guest.name,
                localRows: .discard)
            try await guest.engine.syncOnce()
        }
        let ruthID = try await Self.id(of: ruth)
        self.ruthID = ruthID
        var seen: Set<String> = []
        func write(_ device: SimulatedDevice, _ sql: String) async throws {
            try await device.queue.write { try $0.executeStatements(sql) }
            seen.formUnion(try Self.cells(of: device))
            try await device.engine.syncOnce()
            seen.formUnion(try Self.cells(of: device))
        }

        try await write(anna, "INSERT INTO parent VALUES ('key-\(mark)', 'anna-\(mark)', 'a')")
        try await write(ben, "UPDATE parent SET name = 'ben-\(mark)'")
        try await write(ruth, "INSERT INTO child VALUES (x'01', NULL, 'ruth-\(mark)', 1, 1)")
        try await write(
            ben,
            """
            INSERT INTO pair VALUES ('bel', 1), ('ber', 1);
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT \(Self.bulk))
            INSERT INTO setting SELECT 'bulk', i, 'many-\(mark)', i FROM n;
            """)
        try await anna.engine.rotateKey()
        try await write(anna, "UPDATE parent SET name = 'rotated-\(mark)', code = NULL")
        let members = try await anna.engine.members()
        guard let removed = members.first(where: { $0.memberID == ruthID }) else {
            throw SyncError.notAMember
        }
        try await anna.engine.remove(removed)
        let chain = objects.history.lastIndex { $0.contains("/m/") }
        removal = chain ?? 0
        for number in 0..<6 {
            try await write(ben, "REPLACE INTO setting VALUES ('after', 0, \(number), '\(mark)')")
            try await write(anna, "UPDATE parent SET code = 'after-\(number)-\(mark)'")
        }
        try await dora.engine.join(
            try await anna.engine.invite(.once, role: .admin), deviceName: dora.name,
            localRows: .discard)
        try await write(ben, "INSERT INTO pair VALUES ('bfl', 2), ('bfr', 2)")
        try await write(anna, "DELETE FROM child")
        try await ben.engine.syncOnce()
        try await anna.engine.syncOnce()
        seen.formUnion(try Self.cells(of: anna))
        cells = seen
    }

    /// The 32 digits that all names of the group's objects begin with.
    var prefix: String { String(ownNames.first?.prefix(32) ?? "") }

    /// The names of the group's objects, in the order of their creation.
    var ownNames: [String] {
        let all = objects.all
        guard let name = objects.history.first(where: { all[$0] != nil && $0.contains("/m/") })
        else { return [] }
        return objects.history.filter { all[$0] != nil && $0.hasPrefix(name.prefix(33)) }
    }

    func file(of victim: Victim) -> SimulatedDevice { victim == .away ? cleo : dora }

    /// The names of one kind: `/m/`, `/d/`, `/s/` or `/p/`; in their order.
    func names(_ kind: String, _ all: some Sequence<String>) -> [String] {
        all.filter { $0.dropFirst(32).hasPrefix(kind) }.sorted()
    }

    /// The chain of some of the objects, as a member reads it that has the device's keys.
    func chain(
        of device: SimulatedDevice, _ member: MemberID, in all: some Sequence<String>
    ) throws -> SyncGroup {
        try SyncGroup(
            resuming: names("/m/", all).compactMap { objects.read($0) }, as: member,
            in: device.store, keyStore: device.keyStore)
    }

    /// The device's own id.
    static func id(of device: SimulatedDevice) async throws -> MemberID {
        try await device.engine.members().first(where: \.isThisDevice)?.memberID ?? .none
    }

    /// What is in each column of each row.
    static func cells(of device: SimulatedDevice) throws -> Set<String> {
        let keys = ["parent": 1, "child": 1, "setting": 2, "pair": 1, "link": 2]
        return try device.queue.read { db in
            var cells: Set<String> = []
            for (table, columns) in SimulatedDevice.columns {
                let key = columns.prefix(keys[table] ?? 1).map { "quote(\($0))" }
                for column in columns {
                    let text = (["'\(table) \(column)'"] + key + ["quote(\(column))"])
                        .joined(separator: " || ' ' || ")
                    cells.formUnion(
                        try db.strings("SELECT \(text) FROM \(table)").compactMap { $0 })
                }
            }
            return cells
        }
    }

    /// What a file shows that no honest member has written, or that is half of a transaction.
    func broken(_ device: SimulatedDevice) throws -> String? {
        let foreign = try Self.cells(of: device).subtracting(cells)
        if let cell = foreign.first { return "nobody has written \(cell)" }
        if let lowerBound = try device.brokenPromise() { return lowerBound }
        let bulk = try device.queue.read { db in
            try db.int("SELECT count(*) FROM setting WHERE name = 'bulk'") ?? 0
        }
        return bulk == 0 || bulk == Self.bulk ? nil : "\(bulk) rows of one transaction are seen"
    }
}
