import Foundation
import SecureStorage
import SecureSync
import SyncTestKit
import Testing
import TestSupport

/// The snippets about stores and mirrors, compiled and run; `DocumentationTests` compares the text.
@Suite(.timeLimit(.minutes(10))) struct SyncSnippets {
    private let home: TemporaryDatabase

    init() throws { home = try TemporaryDatabase() }

    @Test func `a database is mirrored and restored`() async throws {
        let pool = try home.openPool()
        defer { pool.close() }
        let folder = URL(fileURLWithPath: home.path).deletingLastPathComponent()
        let (share, url) = (
            folder.appendingPathComponent("share"), folder.appendingPathComponent("restored.db")
        )
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        let yesterday = Date()
        // begin
        let store = DirectoryObjectStore(directory: share)
        // end
        // begin
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        // end
        running.cancel()
        _ = await running.result
        // begin
        try await DatabaseMirror.restore("notes", from: store, to: url, key: key)
        // end
        #expect(SecureDatabaseStore.exists(at: url))
        await #expect(throws: SyncError.noMirror("notes")) {
            // begin
            try await DatabaseMirror.restore(
                "notes", from: store, to: url, key: key, at: .date(yesterday), replacing: true)
            // end
        }
    }

    @Test func `a mirror has settings, a history and a check`() async throws {
        let pool = try home.openPool()
        defer { pool.close() }
        let store = DirectoryObjectStore(
            directory: URL(fileURLWithPath: home.path).deletingLastPathComponent()
                .appendingPathComponent("share"))
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        // begin
        var settings = DatabaseMirror.Settings()
        settings.interval = .seconds(5)
        settings.keepsPoints = .seconds(7 * 24 * 3600)
        // end
        try await DatabaseMirror(of: pool, in: store, name: "notes", settings: settings).flush()
        // begin
        for generation in try await DatabaseMirror.history(of: "notes", in: store) {
            print(generation.begin, generation.end, generation.byteCount)
        }
        let report = try await DatabaseMirror.verify("notes", in: store, key: key)
        // end
        #expect(report.isSound)
    }

    @Test func `a store of S3 is named by an address`() throws {
        let typed = "secret"
        // begin
        let store = try S3ObjectStore(address: "s3://my-bucket/backup", region: "eu-central-1")
        // end
        // begin
        let credentials = S3Credentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: SecretBytes(utf8: typed))
        // end
        #expect(!"\(store) \(credentials)".contains(typed))
    }

    private func MyStore() -> DirectoryObjectStore {
        DirectoryObjectStore(
            directory: URL(fileURLWithPath: home.path).deletingLastPathComponent()
                .appendingPathComponent("mine"))
    }

    // begin
    @Test(arguments: StoreConformance.Check.allCases)
    func `my store is one`(_ check: StoreConformance.Check) async throws {
        try await StoreConformance(under: "test/\(check)/".lowercased()) { MyStore() }.run(check)
    }
    // end
}
