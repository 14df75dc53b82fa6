internal import Crypto
public import Foundation
public import SecureStorage
internal import SecureStoragePlatform

extension DatabaseMirror {
    /// A state to restore.
    public enum Point: Sendable {
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
    /// unchanged.
    ///
    /// - Parameters:
    ///   - name: The mirror's name.
    ///   - store: The store.
    ///   - url: The new file; its directory is created if only that is missing.
    ///   - key: The database's key at that time.
    ///   - point: The state.
    ///   - configuration: The cipher settings of the database.
    ///   - replacing: Whether an existing file, which nothing has open, is replaced.
    /// - Returns: What was restored.
    /// - Throws: ``SyncError/noMirror(_:)``, ``SyncError/damaged(_:_:)``, also for a wrong key;
    ///   the store's errors; `SecureStorageError` if the file cannot be written.
    @discardableResult
    public static func restore(
        _ name: String, from store: any SyncObjectStore, to url: URL, key: DatabaseKey,
        at point: Point = .latest,
        configuration: SecureDatabaseConfiguration = SecureDatabaseConfiguration(),
        replacing: Bool = false
    ) async throws -> Restoration {
        let chain = try await MirrorChain.find(
            try MirrorNames(name), in: store, at: point, key, configuration.cipher)
        let file = try PageFile(beside: url, replacing: replacing, configuration)
        do {
            let restoration = try await chain.write(to: file)
            try await onOwnThread { try file.publish(key: key) }
            return restoration
        } catch {
            file.discard()
            throw error
        }
    }
}
