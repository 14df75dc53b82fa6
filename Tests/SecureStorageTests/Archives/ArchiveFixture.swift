import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureStorage

/// The archives in Fixtures/Archives, which Python wrote.
enum ArchiveFixture {
    static func names(_ prefix: String) -> [String] {
        guard
            let folder = Bundle.module.url(forResource: "Fixtures/Archives", withExtension: nil),
            let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        else { return [] }
        return names.filter { $0.hasPrefix(prefix) }.sorted()
    }

    static func data(_ name: String) throws -> Data {
        let folder = try require(
            Bundle.module.url(forResource: "Fixtures/Archives", withExtension: nil))
        return try Data(contentsOf: folder.appendingPathComponent(name))
    }

    /// Returns the errors of decoding each class that a hostile archive may target.
    static func decodeAll(_ data: Data) -> [SecureStorageError?] {
        [
            storageError { _ = try KeyedArchive.decode(data, as: NSArray.self) },
            storageError { _ = try KeyedArchive.decode(data, as: NSDictionary.self) },
            storageError { _ = try KeyedArchive.decode(data, as: NSString.self) },
            storageError { _ = try KeyedArchive.decode(data, as: Person.self) },
            storageError { _ = try KeyedArchive.decode(data, as: Note.self) },
        ]
    }
}
