import Foundation
import SecureStorage

/// A path for a database in a directory of its own, which goes with its last reference.
final class TemporaryDatabase: Sendable {
    let directory: URL
    let url: URL

    var path: String { url.path }

    init(name: String = "test.db") throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("SecureStorageTests-\(UUID().uuidString)", isDirectory: true)
        url = directory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// A closed store on the path.
    func store(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        // Many tests look at a file with a second store, and need no warning.
        configuration.secondInstance = .allowed
        // A test that is about waiting says how long; the others wait as long as a busy machine
        // takes.
        configuration.busyTimeout = .seconds(120)
        configure(&configuration)
        return SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
    }

    /// A store that is open with ``key``, which costs no key derivation.
    func openStore(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabaseStore {
        let store = store(configure: configure)
        try store.open(with: Self.key)
        return store
    }

    /// A pool that is open with ``key``.
    func openPool(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabasePool {
        let pool = SecureDatabasePool(
            url: url, configuration: store(configure: configure).configuration)
        try pool.open(with: .raw(Self.key))
        return pool
    }

    /// The names in the directory, hidden ones too.
    func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    /// The files as they are now, as a crash would leave them, in a directory of their own.
    func copiedFiles() throws -> TemporaryDatabase {
        let copy = try TemporaryDatabase(name: url.lastPathComponent)
        for name in try fileNames() where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(
                at: directory.appendingPathComponent(name),
                to: copy.directory.appendingPathComponent(name))
        }
        return copy
    }

    /// A raw key for tests that are not about keys.
    static let key = Data((1...32).map { UInt8($0) })
}

extension SecureDatabaseStore {
    /// The first column of every row, as text.
    func strings(_ sql: String) throws -> [String?] {
        let rs = try executeQuery(sql)
        defer { rs.close() }
        var strings: [String?] = []
        while try rs.next() { strings.append(rs.string(forColumnIndex: 0)) }
        return strings
    }

    /// The first column of the first row, as a number.
    func int(_ sql: String) throws -> Int? {
        let rs = try executeQuery(sql)
        defer { rs.close() }
        return try rs.next() ? rs.int(forColumnIndex: 0) : nil
    }
}

/// What `body` throws, as the library's error.
func storageError(_ body: () throws -> Void) -> SecureStorageError? {
    do {
        try body()
        return nil
    } catch {
        return error as? SecureStorageError
    }
}

extension SecureStorageError {
    /// The code of the cases that have one.
    var code: Int? {
        switch self {
        case .openFailed(let code, _), .encryptionKeyChangeFailed(let code, _),
            .backingStoreError(let code, _):
            code
        default: nil
        }
    }
}
