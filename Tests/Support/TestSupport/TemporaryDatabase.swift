package import Foundation
package import SecureStorage

/// A path for a database in a separate directory, which is removed with the last reference.
package final class TemporaryDatabase: Sendable {
    package let directory: URL
    package let url: URL

    package var path: String { url.path }

    package init(name: String = "test.db") throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("SecureStorageTests-\(UUID().uuidString)", isDirectory: true)
        url = directory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Returns a closed store on the path.
    package func store(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        // Many tests examine a file with a second store, and need no warning.
        configuration.secondInstance = .allowed
        // A test of waiting sets its own timeout; the others wait as long as a busy machine needs.
        configuration.busyTimeout = .seconds(120)
        configure(&configuration)
        return SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
    }

    /// Returns a store opened with ``key``, which needs no key derivation.
    package func openStore(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabaseStore {
        let store = store(configure: configure)
        try store.open(with: Self.key)
        return store
    }

    /// Returns a pool opened with ``key``.
    package func openPool(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        let pool = SecureDatabasePool(
            url: url, configuration: store(configure: configure).configuration)
        try pool.open(with: .raw(Self.key))
        return pool
    }

    /// Returns the names in the directory, including hidden ones.
    package func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    /// Copies the files as they are now, as a crash would leave them, to a separate directory.
    package func copiedFiles() throws -> TemporaryDatabase {
        let copy = try TemporaryDatabase(name: url.lastPathComponent)
        for name in try fileNames() where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(
                at: directory.appendingPathComponent(name),
                to: copy.directory.appendingPathComponent(name))
        }
        return copy
    }

    /// A raw key for tests that are not about keys.
    package static let key = Data((1...32).map { UInt8($0) })
}

extension SecureDatabaseStore {
    /// Returns the first column of every row, as text.
    package func strings(_ sql: String) throws -> [String?] {
        let rs = try executeQuery(sql)
        defer { rs.close() }
        var strings: [String?] = []
        while try rs.next() { strings.append(rs.string(forColumnIndex: 0)) }
        return strings
    }

    /// Returns the first column of the first row, as a number.
    package func int(_ sql: String) throws -> Int? {
        let rs = try executeQuery(sql)
        defer { rs.close() }
        return try rs.next() ? rs.int(forColumnIndex: 0) : nil
    }
}

/// Returns the error that `body` throws, as the library's type.
package func storageError(_ body: () throws -> Void) -> SecureStorageError? {
    do {
        try body()
        return nil
    } catch {
        return error as? SecureStorageError
    }
}

extension SecureStorageError {
    /// The code, for the cases that have one.
    package var code: Int? {
        switch self {
        case .openFailed(let code, _), .encryptionKeyChangeFailed(let code, _),
            .backingStoreError(let code, _):
            code
        default: nil
        }
    }
}

extension SchemaMigrations {
    /// One step, which makes a table of notes.
    package static let notes: SchemaMigrations = {
        var migrations = SchemaMigrations()
        migrations.add("notes", sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
        return migrations
    }()
}
