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
            try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        }
    }

    /// Copies the file into the folder of `database`, and returns where it is.
    static func copy(_ name: String, beside database: TemporaryDatabase) throws -> URL {
        let copy = database.directory.appendingPathComponent(name)
        try FileManager.default.copyItem(at: folder.appendingPathComponent(name), to: copy)
        return copy
    }
}

/// Waits for the next element that satisfies `condition`.
func next<Sequence: AsyncSequence>(
    _ iterator: inout Sequence.AsyncIterator, of _: Sequence,
    where condition: (Sequence.Element) -> Bool = { _ in true }
) async throws -> Sequence.Element? {
    while let element = try await iterator.next() {
        if condition(element) { return element }
    }
    return nil
}

extension TemporaryDatabase {
    /// Returns a queue opened with ``key``, after `sql` has run.
    func openQueue(
        _ sql: String = "",
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabaseQueue {
        let queue = SecureDatabaseQueue(url: url, configuration: store(configure: configure).configuration)
        try queue.open(with: .raw(Self.key))
        try queue.inDatabase { db in try db.executeStatements(sql) }
        return queue
    }
}
