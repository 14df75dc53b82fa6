internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// The result of ``SyncEngine/verify()``.
public struct SyncVerification: Sendable {
    /// How many objects were read.
    public internal(set) var objectCount = 0
    /// Their total size in bytes.
    public internal(set) var byteCount = 0
    /// The problems found; empty if everything is sound.
    public internal(set) var problems: [SyncError] = []

    /// Whether there are no problems.
    public var isSound: Bool { problems.isEmpty }
}

extension SyncEngine {
    /// Reads every object that the store should hold for this group, and checks it: the chain of
    /// members, signatures, the order of each log, that keys open it, and the newest snapshot,
    /// whose rows are compared with this file's.
    ///
    /// Also checks that writes are captured here. The store should hold everything that this file
    /// sent, applied or adopted, and every position that others acknowledged. Changes nothing
    /// except this member's copy of the chain. Objects by strangers or removed members are ignored,
    /// and are not a problem.
    ///
    /// - Returns: The result.
    /// - Throws: ``SyncError/notAMember``; the errors of the store and of the database.
    public func verify() async throws -> SyncVerification {
        let result = Locked(SyncVerification())
        try await inTurn { [self] in
            let group = try await currentGroup()
            await group.invalid.forget()
            var checking = StoreChecking(store: store)
            if let failure = try await group.refreshFailure() {
                try await requirePresence(of: group)
                checking.note(failure)
            }
            try await keepChain(of: group)
            try await checking.checkChain(await group.entries, of: group.id)
            let keys = try await group.keys()
            let (known, captureProblem) = try await database.read {
                [capture] db -> (StoreChecking.Known, SyncError?) in
                let known = try StoreChecking.Known(keys, SyncJournal(db))
                do { try capture.verify(in: db) } catch let error as SyncError {
                    return (known, error)
                }
                return (known, nil)
            }
            checking.note(captureProblem)
            let snapshot = try await checking.checkSnapshots(keys, known.adopted)
            if let snapshot, checking.found.isSound {
                try await checking.compareRows(
                    of: snapshot, by: try await group.name(of: snapshot.writer), keys, capture,
                    in: database)
            }
            let newest = snapshot?.manifest
            for member in keys.writers {
                try await checking.checkLog(
                    of: member, keys, known,
                    contained: newest?.declaration.positions[member] ?? 0,
                    last: keys.removed[member]?.number ?? newest?.declaration.closed[member])
            }
            checking.checkEnds(known)
            var found = checking.found
            let names = await group.names()
            found.problems = found.problems.map { $0.naming(names) }
            result.withLock { [found] in $0 = found }
        }
        return result.withLock { $0 }
    }
}

extension SyncGroup {
    /// Reads new chain entries; returns the error, if the store's content prevents it.
    fileprivate func refreshFailure() async throws -> SyncError? {
        do { try await refresh() } catch let error as SyncError where !error.isTransient {
            return error
        }
        return nil
    }
}
