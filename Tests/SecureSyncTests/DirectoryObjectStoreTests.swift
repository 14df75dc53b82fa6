import Foundation
import SecureSync
import SyncTestKit
import Testing
import TestSupport

/// Objects as files.
struct DirectoryObjectStoreTests {
    private let folder: TemporaryDatabase

    init() throws { folder = try TemporaryDatabase() }

    private var directory: URL {
        URL(fileURLWithPath: folder.path).deletingLastPathComponent()
            .appendingPathComponent("store")
    }

    @Test(arguments: StoreConformance.Check.allCases)
    func `a directory keeps what a store promises`(_ check: StoreConformance.Check) async throws {
        let directory = directory
        try await StoreConformance(under: "test/") { DirectoryObjectStore(directory: directory) }
            .run(check)
    }

    @Test func `an error names the directory whose parent is missing, and nothing is made`()
        async throws
    {
        let store = directory.appendingPathComponent("none/store")
        let error = await #expect(throws: SyncError.self) {
            _ = try await DirectoryObjectStore(directory: store).create("a", Data("a".utf8))
        }
        let message =
            "cannot make the store's directory \"\(store.path)\": No such file or directory; "
            + "make the directory that it is in, or mount it"
        check(error, equals: .store(code: "ENOENT", message: message, isTransient: false))
        check(!FileManager.default.fileExists(atPath: directory.path))
    }
}
