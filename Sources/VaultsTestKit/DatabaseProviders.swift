public import Foundation
public import SecureStorage
public import Vaults

/// A vault's database in a temporary file, which accepts any key and keeps it for the test to
/// inspect.
///
/// The file is removed with the object.
public final class MockDatabaseProvider: SecureStorageDatabaseProvider, Sendable {
    private let provider: TemporaryDatabaseProvider

    /// The open database.
    public var db: any SecureDatabaseWriter { provider.db }

    /// The key that was passed to `init`.
    public let key: Data

    /// Creates a new database.
    ///
    /// - Parameters:
    ///   - key: Any bytes; the file has another key.
    ///   - registerMigrationsHandler: Registers the schema migrations.
    /// - Throws: `SecureStorageError`, and any error that the handler throws.
    public init(
        key: Data = Data(),
        registerMigrationsHandler: (inout SchemaMigrations) throws -> Void = { _ in }
    ) throws {
        self.key = Data([UInt8](key))
        provider = try TemporaryDatabaseProvider(
            registerMigrationsHandler: registerMigrationsHandler)
    }
}

/// A vault's database in a separate directory, which is removed with the object.
open class TemporaryDatabaseProvider: VaultDatabaseProvider, @unchecked Sendable {
    // @unchecked: a non-final class cannot be checked; nothing here is mutable.

    /// The file.
    public let file: URL

    /// Creates a new database.
    ///
    /// - Parameters:
    ///   - key: 32 bytes, not all of them zero.
    ///   - writerType: One connection, or several.
    ///   - registerMigrationsHandler: Registers the schema migrations.
    /// - Throws: `SecureStorageError`, and any error that the handler throws.
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

    /// Returns a file URL in a new directory.
    static func newFile() throws -> URL {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("VaultsTestKit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        return directory.appendingPathComponent("vault.db")
    }
}
