import Foundation
import SecureStorage
import TestSupport
import Testing

/// A file of Fixtures/ that another program wrote.
enum ForeignFile {
    static let passphrase = "correct horse battery staple"

    /// Returns where the fixtures are in the test bundle.
    static var folder: URL {
        get throws {
            try require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        }
    }

    /// Copies the file into the folder of `database`, and returns where it is.
    static func copy(_ name: String, beside database: TemporaryDatabase) throws -> URL {
        let copy = database.directory.appendingPathComponent(name)
        // Not with the owner, as `FileManager` copies folders: only root may give files away.
        let original = try folder.appendingPathComponent(name)
        let run = try ChildProcess("cp", ["-R", original.path, copy.path])
        try require(run.status == 0, "\(run.errors)")
        return copy
    }
}

/// Whether the engine has FTS5; an engine that cannot be asked fails the tests that need one.
let hasFTS5 = (try? SecureDatabaseStore.engine.hasOption("ENABLE_FTS5")) ?? true

extension SecureStorageError {
    /// The name of a case with associated values.
    var caseName: String? { Mirror(reflecting: self).children.first?.label }
}

/// Runs `body` on another thread, and waits for it.
func onOtherThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) throws -> T {
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var result: Result<T, any Error>?
    Thread.detachNewThread {
        result = Result { try body() }
        done.signal()
    }
    done.wait()
    return try require(result).get()
}

extension TemporaryDatabase {
    /// Returns a queue opened with ``key``, after `sql` has run.
    func openQueue(
        _ sql: String = "",
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabaseQueue {
        let queue = SecureDatabaseQueue(
            url: url, configuration: store(configure: configure).configuration)
        try queue.open(with: .raw(Self.key))
        try queue.inDatabase { db in try db.executeStatements(sql) }
        return queue
    }
}
