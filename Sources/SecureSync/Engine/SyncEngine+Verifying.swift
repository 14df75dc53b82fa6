internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// What ``SyncEngine/verify()`` has found in a store.
public struct SyncVerification: Sendable {
    /// How many objects were read.
    public internal(set) var objectCount = 0
    /// Their bytes.
    public internal(set) var byteCount = 0
    /// What is not as it should be; empty if all is sound.
    public internal(set) var problems: [SyncError] = []

    /// Whether nothing was found.
    public var isSound: Bool { problems.isEmpty }
}

extension SyncEngine {
    /// Reads all of the group that the store has to have, and checks it: signatures, the order of
    /// each log, that keys open it, and the newest snapshot; also that writes are captured here.
    ///
    /// Changes nothing but what this member knows of the chain. What a stranger has put into the
    /// store, or a removed member, counts for nobody and is no problem.
    ///
    /// - Returns: What was found.
    /// - Throws: ``SyncError/notAMember``; the errors of the store and of the database.
    public func verify() async throws -> SyncVerification {
        let result = Locked(SyncVerification())
        try await inTurn { [self] in
            let group = try await currentGroup()
            var checking = StoreChecking(store: store)
            checking.note(try await group.refreshFailure())
            try await keepChain(of: group)
            let count = await group.entries.count
            checking.found.objectCount += count
            let keys = try await group.keys()
            checking.note(
                try await database.read { [capture] db -> SyncError? in
                    do { try capture.verify(in: db) } catch let error as SyncError { return error }
                    return nil
                })
            let newest = try await checking.checkSnapshots(keys)
            for member in keys.writers {
                try await checking.checkLog(
                    of: member, keys,
                    contained: newest?.declaration.heads[member] ?? 0,
                    last: newest?.declaration.closed[member] ?? keys.removed[member])
            }
            let found = checking.found
            result.withLock { $0 = found }
        }
        return result.withLock { $0 }
    }
}

extension SyncGroup {
    /// Reads what is new in the chain; returns why that is not possible, if it is the store's
    /// content.
    fileprivate func refreshFailure() async throws -> SyncError? {
        do { try await refresh() } catch let error as SyncError where !error.isTransient {
            return error
        }
        return nil
    }
}

/// Reads objects and notes what is wrong with them.
private struct StoreChecking {
    let store: any SyncObjectStore
    var found = SyncVerification()

    mutating func note(_ error: SyncError?) {
        if let error { found.problems.append(error) }
    }

    private mutating func read(_ name: String) async throws -> Data? {
        guard let bytes = try await store.read(name) else { return nil }
        found.objectCount += 1
        found.byteCount += bytes.count
        return bytes
    }

    /// Checks the newest snapshot that counts, and all its parts.
    mutating func checkSnapshots(_ keys: GroupKeys) async throws -> SnapshotManifest? {
        let snapshots = SnapshotStore(store: store, keys: keys)
        do {
            let numbers = try await snapshots.numbers(after: 0)
            guard let newest = try await snapshots.newest(of: numbers) else {
                note(.withheld(member: "snapshots", number: 1))
                return nil
            }
            found.objectCount += 1
            try await check(newest.manifest.rows, keys)
            return newest.manifest
        } catch let error as SyncError where !error.isTransient {
            note(error)
            return nil
        }
    }

    private mutating func check(_ rows: SnapshotManifest.Rows, _ keys: GroupKeys) async throws {
        for (index, part) in rows.parts.enumerated() {
            let name = SyncNames.snapshotPart(
                group: keys.group, rows: rows.name, part: UInt64(index + 1))
            guard let bytes = try await read(name) else {
                note(.damaged(name, "a part of the newest snapshot is missing"))
                continue
            }
            guard SnapshotPart.isPart(bytes, of: part) else {
                note(.damaged(name, "it is not what the snapshot says"))
                continue
            }
            do {
                try SnapshotPart.read(
                    bytes, number: index + 1, of: rows, group: keys.group,
                    key: keys.key(ofEpoch: rows.epoch)
                ) { _ in }
            } catch let error as CBORError {
                note(.damaged(name, error.reason))
            }
        }
    }

    /// Checks what the store has of a log.
    ///
    /// Batches up to `contained` are in the newest snapshot and may be gone; those after `last`
    /// count for nobody.
    mutating func checkLog(
        of member: MemberID, _ keys: GroupKeys, contained: UInt64, last: UInt64?
    ) async throws {
        let prefix = SyncNames.log(group: keys.group, member: member)
        let numbers = try await store.listAll(prefix)
            .compactMap { SyncNames.number(of: $0.name, after: prefix) }
            .filter { $0 <= last ?? .max }
        var expected = min(numbers.first ?? contained + 1, contained + 1)
        var previous: Data?
        for number in numbers {
            if number != expected {
                note(.withheld(member: member.description, number: expected))
                previous = nil
            }
            expected = number + 1
            let name = SyncNames.batch(group: keys.group, member: member, number: number)
            guard let bytes = try await read(name) else {
                note(.withheld(member: member.description, number: number))
                previous = nil
                continue
            }
            do {
                previous = try LogReader.open(
                    bytes, name, keys, number, of: member, after: previous
                ).batch.hash
            } catch let error as SyncError {
                note(error)
                previous = nil
            }
        }
        if expected <= contained, let first = numbers.first, first <= contained {
            note(.withheld(member: member.description, number: expected))
        }
    }
}
