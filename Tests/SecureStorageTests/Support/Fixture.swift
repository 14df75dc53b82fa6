import Foundation
import Testing
import TestSupport

/// A file of Fixtures/ that another program wrote.
enum Fixture {
    /// The passphrase of the passphrase files.
    static let passphrase = "correct horse"
    /// The key of the raw-key files.
    static let rawKey = Data((0..<32).map { UInt8($0) })

    /// Copies the file to the path of `database`.
    static func copy(_ name: String, to database: TemporaryDatabase) throws {
        let directory = try require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        try FileManager.default.copyItem(
            at: directory.appendingPathComponent(name), to: database.url)
    }
}
