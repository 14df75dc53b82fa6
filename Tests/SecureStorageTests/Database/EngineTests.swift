import Foundation
import Logging
@testable import SecureStorage
import Testing
import TestSupport

struct EngineTests {
    @Test func `one call identifies the engine`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        let engine = try SecureDatabaseStore.engine
        try check(engine.sqliteVersion, equals: db.string(forQuery: "SELECT sqlite_version()"))
        try check(engine.cipherVersion, equals: db.string(forQuery: "PRAGMA cipher_version"))
        try check(engine.provider, equals: db.string(forQuery: "PRAGMA cipher_provider"))
        try check(engine.providerVersion, equals: db.cipherProviderVersion())
        var options: [String] = []
        let rows = try db.executeQuery("PRAGMA compile_options")
        while try rows.next() { options.append(rows.string(forColumnIndex: 0) ?? "") }
        check(engine.options, equals: options.sorted())
        check(engine.hasOption("HAS_CODEC"))
        check(!engine.hasOption("THREADSAFE"))
    }

    @Test func `an engine's weaknesses follow from its version and options`() throws {
        func names(_ version: String, _ options: [String] = ["ENABLE_FTS5"]) -> [String] {
            SecureDatabaseEngine.Weakness.of(sqlite: version, options: options).map(\.name)
        }
        let fullText = ["CVE-2026-11822", "CVE-2026-11824"]
        check(names("3.46.1"), equals: ["CVE-2025-6965", "WAL-reset bug"] + fullText)
        check(names("3.49.2"), equals: ["CVE-2025-6965", "WAL-reset bug"] + fullText)
        check(names("3.50.2"), equals: ["WAL-reset bug"] + fullText)
        check(names("3.51.3"), equals: fullText)
        check(names("3.53.3").isEmpty)
        check(names("3.100.0").isEmpty)
        check(names("3.46.1", []), equals: ["CVE-2025-6965", "WAL-reset bug"])
        let engine = try SecureDatabaseStore.engine
        check(engine.weaknesses.map(\.name), equals: names(engine.sqliteVersion, engine.options))
    }

    @Test func `known weaknesses of the engine are warned of once, and only those that users meet`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            let recorder = LogRecorder()
            for _ in 1...2 {
                let database = try TemporaryDatabase()
                let db = database.store {
                    $0.logger = Logger(label: "test") { _ in recorder }
                }
                try db.open(with: TemporaryDatabase.key)
                db.close()
            }
            let met = try SecureDatabaseStore.engine.weaknesses.filter { !$0.isAvoided }
            check(recorder.warnings.count, equals: (met.isEmpty ? 0 : 1))
            for weakness in met {
                check(recorder.warnings[0].contains(weakness.description))
            }
            check(recorder.warnings.first?.contains("WAL-reset") != true)
        }
    }
}
