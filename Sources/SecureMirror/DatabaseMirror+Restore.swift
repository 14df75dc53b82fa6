internal import Crypto
public import Foundation
public import ObjectStores
public import SecureStorage
internal import SecureStoragePlatform

extension DatabaseMirror {
    /// A state to restore.
    public enum Point: Sendable, Hashable {
        /// The newest that is complete.
        case latest
        /// The newest that was shipped at this time or before it.
        case date(Date)
    }

    /// What was restored.
    public struct Restoration: Sendable {
        /// When the state was shipped.
        public let date: Date
        /// The number of pages.
        public let pageCount: Int
        /// The number of objects that were read.
        public let objectCount: Int
    }

    /// Restores a database from a mirror.
    ///
    /// Every object's MAC and place in the chain is checked, then the file as a whole, and only
    /// then the file gets its name. After an error or a kill, whatever was there before is
    /// unchanged; the next restore to this name removes what a kill has left.
    ///
    /// - Parameters:
    ///   - name: The mirror's name.
    ///   - store: The store.
    ///   - url: The new file; its directory is created if only that is missing.
    ///   - key: The database's key at that time.
    ///   - point: The state.
    ///   - configuration: The cipher settings of the database.
    ///   - replacing: Whether an existing file, which nothing has open, is replaced.
    ///   - progress: Called on threads of its own, with bytes that were read in the first half of
    ///     the work, and then of the check; may end it by throwing.
    /// - Returns: What was restored.
    /// - Throws: ``MirrorError/noMirror(_:)``, ``MirrorError/wrongKey(_:)``,
    ///   ``MirrorError/otherPageSize(_:)``, ``MirrorError/damaged(_:_:)``,
    ///   ``MirrorError/clockWasWrong(last:next:)``; the store's errors; `SecureStorageError` if the
    ///   file cannot be written; `CancellationError`; the error of `progress`.
    @discardableResult
    public static func restore(
        _ name: String, from store: any ObjectStore, to url: URL, key: DatabaseKey,
        at point: Point = .latest,
        configuration: SecureDatabaseConfiguration = SecureDatabaseConfiguration(),
        replacing: Bool = false,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws -> Restoration {
        let place = MirrorPlace(names: try MirrorNames(name), store: store)
        let chain = try await MirrorChain.find(place, at: point, key, configuration.cipher)
        let size = try await chain.size()
        let file = try PageFile(beside: url, replacing: replacing, configuration)
        do {
            // With the beginning and the manifest.
            let read = Locked((objects: 2, bytes: 0))
            let write: MirrorChain.Visitor = { object in
                try object.forEachPage { try file.write($1, page: $0) }
                let bytes = read.withLock { read in
                    read.objects += 1
                    read.bytes += object.content.count
                    return read.bytes
                }
                try progress(FileProgress(bytes, of: max(size, bytes) * 2))
            }
            try await chain.readSnapshot(write)
            let state = try await chain.readSegments(write)
            try point.requireTimes(of: state, now: place.clock.now)
            try await onOwnThread(reporting: progress) { progress in
                try file.truncate(pages: state.pageCount)
                try file.publish(key: key, salt: chain.keys.salt) {
                    try progress(FileProgress($0.total + $0.completed, of: $0.total * 2))
                }
            }
            return Restoration(
                date: Date(milliseconds: state.time), pageCount: state.pageCount,
                objectCount: read.withLock { $0.objects })
        } catch {
            file.discard()
            throw error
        }
    }
}

extension DatabaseMirror.Point {
    func includes(_ time: UInt64) -> Bool {
        switch self {
        case .latest: true
        case .date(let date): Double(time) <= date.timeIntervalSince1970 * 1000
        }
    }

    /// Checks that the next state is a later one, as far as that can be seen.
    ///
    /// One from the future may have been committed at any time after the one before it.
    ///
    /// - Throws: `.clockWasWrong`.
    func requireTimes(of state: MirrorChain.State, now: UInt64) throws {
        guard case .date(let date) = self, let next = state.following else { return }
        let point = date.timeIntervalSince1970 * 1000
        // Clocks of two machines may differ a little. Whoever names a state's own millisecond, or a
        // time that is still to come, knows what the mirror says.
        let limit = Double(now) + 60_000
        guard Double(next) > limit, point <= limit, point >= Double(state.time) + 1 else { return }
        throw MirrorError.clockWasWrong(
            last: Date(milliseconds: state.time), next: Date(milliseconds: next))
    }
}

extension Date {
    /// Creates a date from an object's time.
    init(milliseconds: UInt64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
