import Foundation
import ObjectStores
import SecureMirror
import SecureStorage
import SecureSync
import TestSupport

extension DirectoryObjectStore {
    /// A store in the folder of a test's database.
    init(beside database: TemporaryDatabase) {
        self.init(
            directory: URL(fileURLWithPath: database.path).deletingLastPathComponent()
                .appendingPathComponent("store"))
    }
}

extension ObjectStore {
    /// Restores the mirror "notes" into a file that is removed afterwards, and reads that.
    func restored<R>(
        at point: DatabaseMirror.Point = .latest, _ read: (SecureDatabaseStore) throws -> R
    ) async throws -> R {
        let target = try TemporaryDatabase(name: "restored.db")
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        try await DatabaseMirror.restore("notes", from: self, to: target.url, key: key, at: point)
        let db = SecureDatabaseStore(url: target.url)
        try db.open(with: key)
        defer { db.close() }
        return try read(db)
    }
}
