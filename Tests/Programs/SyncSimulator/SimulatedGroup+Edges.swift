import Foundation
import SecureStorage
import SecureSync
import TestSupport

/// What happens at the edges: stores that vanish and come back, groups that are reset on several
/// devices, writers that know nothing of this library, rows that cannot travel; and whether a value
/// ever yields to one that it was written over.
extension SimulatedGroup {
    /// The row whose values are numbers of writes, each made in the knowledge of the one before.
    private static let story = "story"

    /// Writes the next number over the one that the device shows.
    mutating func tellStory(_ device: SimulatedDevice) throws {
        guard device.role != .reader, let known = try Self.told(by: device) else { return }
        let next = Int64(before.count + 1)
        before.append(known)
        log.append("\(device.name): \(next) over \(known)")
        try device.queue.write { db in
            try db.executeUpdate(
                """
                INSERT INTO parent (id, name) VALUES (?1, ?2)
                ON CONFLICT (id) DO UPDATE SET name = ?2
                """, values: [Self.story, next])
        }
    }

    /// The number that a device shows; 0 for none, nil where another program has written its own.
    private static func told(by device: SimulatedDevice) throws -> Int64? {
        try device.queue.read { db in
            try db.int64(forQuery: "SELECT name FROM parent WHERE id = '\(story)'") ?? 0
        }
    }

    /// Syncs a device.
    ///
    /// - Throws: ``Broken`` if the device shows an older number afterwards, over which the one was
    ///   written that it had before. What a killed or failed sync has begun, the next one ends.
    mutating func watching(
        _ device: SimulatedDevice, _ sync: (inout SimulatedGroup) async throws -> Bool
    ) async throws {
        let had = try shown[device.name] ?? Self.told(by: device)
        let isDone = try await sync(&self)
        shown[device.name] = isDone ? nil : had
        guard hasEdges, !mayGoBack, isDone, let had, let has = try Self.told(by: device) else {
            return
        }
        var number = had
        while number > 0, number != has { number = before[Int(number) - 1] }
        guard has == had || number != has else {
            // Times tell what a copied file has written since: by a clock that is behind, that may
            // be taken for sent. It is listed then.
            if isPerhapsGone(device), try device.lists("\(had)") { return }
            throw Broken(
                description: """
                    \(device.name) shows \(has) after \(had), which knew it; of the row, it lists \
                    \(try device.listed(Self.story))
                    """)
        }
    }

    mutating func edge(_ device: SimulatedDevice) async throws {
        let number = below(10)
        // A reader's file refuses what is written to it.
        if device.role == .reader, (3..<8).contains(number) { return }
        switch number {
        case 0..<3:
            let isGone = chance(60)
            log.append("\(device.name): its store \(isGone ? "vanishes" : "is back")")
            device.store.setFaults { $0.isVanished = isGone }
        case 3: try writeUntold(device)
        case 4: try mendUntold(device)
        case 5..<8:
            log.append("\(device.name): another program writes")
            let statements = (0..<(1 + below(3))).map { _ in statement(device) }
            log.append(statements.joined(separator: "; "))
            try device.writeElsewhere(statements)
        case 8: try await beginAnewTogether()
        default:
            // A copy that was made before the last writes were sent, and is put in place.
            try write(device)
            try tellStory(device)
            let copy = try device.database.copiedFiles()
            try noteCopy(of: device)
            try await sync(device)
            for _ in 0..<below(6) {
                let other = devices[below(devices.count)]
                try write(other)
                try tellStory(other)
                try await sync(other)
            }
            guard devices.contains(where: { $0 === device }) else { return }
            log.append("\(device.name): is restored with unsent rows")
            mayBeGone.insert(device.name)
            try device.restore(copy)
            shown[device.name] = nil
            drop(device, isGone: false)
        }
    }

    /// Which of the writes came first that a copy has, and the file that it was made of, cannot be
    /// told where the log had not begun; what lost is listed.
    mutating func noteCopy(of device: SimulatedDevice) throws {
        let began = try device.queue.read { db in
            try db.int64(forQuery: "SELECT began FROM securestorage_sync_group") ?? 0
        }
        if began == 0 { mayGoBack = true }
    }

    /// Writes a row that cannot travel.
    private mutating func writeUntold(_ device: SimulatedDevice) throws {
        let row = below(2)
        log.append("\(device.name): writes what is no text")
        try device.queue.write { db in
            try db.executeUpdate(
                """
                REPLACE INTO setting (name, place, value)
                VALUES ('untold', ?, CAST(x'61ff' AS TEXT))
                """, values: [row])
        }
    }

    func mendUntold(_ device: SimulatedDevice) throws {
        guard device.role != .reader else { return }
        try device.queue.write {
            try $0.executeUpdate("UPDATE setting SET value = 1 WHERE name = 'untold'")
        }
    }

    /// Two devices reset the group, without knowing of each other.
    private mutating func beginAnewTogether() async throws {
        let first = below(devices.count)
        let chosen = [devices[first], devices[(first + 1) % devices.count]]
        log.append("\(chosen.map(\.name)): reset together")
        await withTaskGroup(of: Void.self) { tasks in
            for engine in chosen.map(\.engine) {
                // What fails shows in the end: nothing may be lost.
                tasks.addTask { try? await engine.reset() }
            }
        }
        for device in chosen {
            device.store.setFaults { $0.callsUntilKill = nil }
            try device.killAndReopen()
        }
        seen.insert(.anew)
    }
}

extension SyncError {
    /// Whether the store may be right again later: here another device or a reset heals it.
    var mayPassInSimulation: Bool {
        switch self {
        case .withheld, .storeHasForgotten, .damaged: true
        default: false
        }
    }
}
