import Foundation
import SecureSync
import SyncTestKit
import Testing
import TestSupport

/// Objects as files.
@Suite(.timeLimit(.minutes(10))) struct DirectoryObjectStoreTests {
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
}
