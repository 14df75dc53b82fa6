import Foundation
import Testing

/// A file of Fixtures/, which another program wrote.
enum Fixture {
    /// The passphrase of its passphrase files.
    static let passphrase = "correct horse"
    /// The key of its raw-key files.
    static let rawKey = Data((0..<32).map { UInt8($0) })

    /// Copies the file to the place of `database`.
    static func copy(_ name: String, to database: TemporaryDatabase) throws {
        let directory = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        try FileManager.default.copyItem(
            at: directory.appendingPathComponent(name), to: database.url)
    }
}
