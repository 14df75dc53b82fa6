import Foundation
import SecureStorage
import SecureSync
import TestSupport

/// A future of a group, in a store of its own.
struct AdversaryTrial {
    let group: AdversaryGroup
    let objects: SimulatedObjects
    let victim: SimulatedDevice
    private(set) var refusals = 0
    private(set) var lies = 0

    struct Broken: Error, CustomStringConvertible {
        var description: String
    }

    /// - Parameters:
    ///   - group: Whose objects are shown.
    ///   - file: The device that is lied to. It writes no snapshot: one that it writes upon a lie
    ///     about the snapshot before it contradicts that one, and stops all, as it must.
    /// - Throws: The errors of the engine.
    init(_ group: AdversaryGroup, _ file: SimulatedDevice) throws {
        self.group = group
        objects = SimulatedObjects(group.objects.all)
        var policy = SnapshotPolicy()
        (policy.batches, policy.bytes) = (.max, .max)
        victim = try SimulatedDevice(copyOf: file, file.name, in: objects, policy: policy)
    }

    /// Lets the victim sync while it is shown other objects.
    ///
    /// - Returns: Its error.
    @discardableResult
    mutating func lie(_ shown: [String: Data?], _ what: String) async throws -> SyncError? {
        victim.store.show(shown)
        lies += 1
        var refusal: SyncError?
        do {
            try await victim.engine.syncOnce()
        } catch let error as SyncError {
            refusals += 1
            refusal = error
        } catch {
            throw Broken(description: "\(what): an error without a type: \(error)")
        }
        if let broken = try group.broken(victim) {
            throw Broken(description: "\(what): \(broken)")
        }
        return refusal
    }

    /// Shows one object in every wrong way: with a bit of a byte flipped, cut, with a byte more,
    /// not at all, exchanged with another one, or that of another group.
    ///
    /// - Parameters:
    ///   - name: Of the object.
    ///   - positions: Of the bytes that are flipped, in an object of that many bytes.
    ///   - stranger: The other group.
    /// - Throws: ``Broken``.
    mutating func lieAbout(
        _ name: String, flipping positions: (Int) -> [Int], stranger: AdversaryGroup
    ) async throws {
        guard let bytes = objects.read(name) else {
            throw Broken(description: "there is no \(name)")
        }
        for position in positions(bytes.count) {
            var flipped = bytes
            flipped[position] ^= 1 << UInt8(position % 8)
            try await lie([name: flipped], "byte \(position) flipped")
        }
        for count in [0, 1, 4, 32, 84, bytes.count / 2, bytes.count - 64, bytes.count - 1]
        where count >= 0 && count < bytes.count {
            try await lie([name: bytes.prefix(count)], "cut to \(count)")
        }
        try await lie([name: bytes + [0]], "a byte more")
        try await lie([name: Data?.none], "hidden")
        // Of the same kind, preferably of the same log.
        let twins = objects.all.keys.filter { $0.hasPrefix(name.prefix(35)) && $0 != name }.sorted()
        if let second = twins.first(where: { $0 > name }) ?? twins.last {
            try await lie([name: objects.read(second), second: bytes], "swapped")
        }
        let kind = name.dropFirst(32).prefix(3)
        if let foreign = stranger.ownNames.last(where: { $0.dropFirst(32).prefix(3) == kind }) {
            try await lie([name: stranger.objects.read(foreign)], "of another group")
        }
    }

    /// Shows the objects as they are, and lets the devices sync until nothing is to be done.
    func heal(with others: [SimulatedDevice]) async throws {
        victim.store.show([:])
        let others = try others.map { try SimulatedDevice(copyOf: $0, $0.name, in: objects) }
        let devices = [victim] + others
        for round in 0... {
            guard round < 10 else { throw Broken(description: "they never come to rest") }
            var isQuiet = true
            for device in devices {
                let report = try await device.engine.syncOnce()
                if report.sentBatches + report.appliedTransactions > 0 { isQuiet = false }
            }
            if isQuiet { break }
        }
        let rows = try devices.map { try $0.rows() }
        for (device, other) in zip(devices, rows) where other != rows[0] {
            let difference = Set(rows[0]).symmetricDifference(other).sorted().prefix(9)
            throw Broken(description: "\(device.name) differs: \(difference)")
        }
    }
}
