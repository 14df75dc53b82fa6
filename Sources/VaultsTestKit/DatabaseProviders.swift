public import Foundation
public import SecureStorage
public import Vaults

/// A vault's database in a temporary file that takes any key, and keeps it for the test to look at.
///
/// The file goes with the object.
open class MockDatabaseProvider: SecureStorageDatabaseProvider, @unchecked Sendable {
    // @unchecked: a class that is not final cannot be checked; nothing here changes.
    private let provider: TemporaryDatabaseProvider

    /// The open database.
    public var db: any SecureDatabaseWriter { provider.db }

    /// The key that it was made with.
    public let key: Data

    /// A new database.
    ///
    /// - Parameters:
    ///   - key: Any bytes; the file has another key.
    ///   - registerMigrationsHandler: Adds the steps of the schema.
    /// - Throws: `SecureStorageError`, and what the handler throws.
    public init(
        key: Data = Data(),
        registerMigrationsHandler: (inout SchemaMigrations) throws -> Void = { _ in }
    ) throws {
        self.key = Data([UInt8](key))
        provider = try TemporaryDatabaseProvider(
            registerMigrationsHandler: registerMigrationsHandler)
    }
}

/// A vault's database in a directory of its own, which goes with the object.
open class TemporaryDatabaseProvider: VaultDatabaseProvider, @unchecked Sendable {
    // @unchecked: a class that is not final cannot be checked; nothing here changes.

    /// The file.
    public let file: URL

    /// A new database.
    ///
    /// - Parameters:
    ///   - key: 32 bytes, not all of them zero.
    ///   - writerType: One connection, or several.
    ///   - registerMigrationsHandler: Adds the steps of the schema.
    /// - Throws: `SecureStorageError`, and what the handler throws.
    public init(
        key: Data = Data(repeating: 1, count: 32), writerType: DatabaseWriterType = .queue,
        registerMigrationsHandler: (inout SchemaMigrations) throws -> Void = { _ in }
    ) throws {
        file = try Self.newFile()
        try super.init(
            file: file, key: key, writerType: writerType,
            registerMigrationsHandler: registerMigrationsHandler)
    }

    deinit {
        db.close()
        try? FileManager.default.removeItem(at: file.deletingLastPathComponent())
    }

    /// A place in a new directory.
    static func newFile() throws -> URL {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("VaultsTestKit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        return directory.appendingPathComponent("vault.db")
    }
}
