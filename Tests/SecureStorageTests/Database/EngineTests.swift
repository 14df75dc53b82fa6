import Foundation
import Logging
@testable import SecureStorage
import Testing
import TestSupport

@Suite struct EngineTests {
    @Test func `one call identifies the engine`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        let engine = try SecureDatabaseStore.engine
        #expect(try engine.sqliteVersion == db.string(forQuery: "SELECT sqlite_version()"))
        #expect(try engine.cipherVersion == db.string(forQuery: "PRAGMA cipher_version"))
        #expect(try engine.provider == db.string(forQuery: "PRAGMA cipher_provider"))
        #expect(try engine.providerVersion == db.cipherProviderVersion())
        var options: [String] = []
        let rows = try db.executeQuery("PRAGMA compile_options")
        while try rows.next() { options.append(rows.string(forColumnIndex: 0) ?? "") }
        #expect(engine.options == options.sorted())
        #expect(engine.hasOption("HAS_CODEC"))
        #expect(!engine.hasOption("THREADSAFE"))
    }

    @Test func `an engine's weaknesses follow from its version and options`() throws {
        func names(_ version: String, _ options: [String] = ["ENABLE_FTS5"]) -> [String] {
            SecureDatabaseEngine.Weakness.of(sqlite: version, options: options).map(\.name)
        }
        let fullText = ["CVE-2026-11822", "CVE-2026-11824"]
        #expect(names("3.46.1") == ["CVE-2025-6965", "WAL-reset bug"] + fullText)
        #expect(names("3.49.2") == ["CVE-2025-6965", "WAL-reset bug"] + fullText)
        #expect(names("3.50.2") == ["WAL-reset bug"] + fullText)
        #expect(names("3.51.3") == fullText)
        #expect(names("3.53.3").isEmpty)
        #expect(names("3.100.0").isEmpty)
        #expect(names("3.46.1", []) == ["CVE-2025-6965", "WAL-reset bug"])
        let engine = try SecureDatabaseStore.engine
        #expect(engine.weaknesses.map(\.name) == names(engine.sqliteVersion, engine.options))
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
            #expect(recorder.warnings.count == (met.isEmpty ? 0 : 1))
            for weakness in met {
                #expect(recorder.warnings[0].contains(weakness.description))
            }
            #expect(recorder.warnings.first?.contains("WAL-reset") != true)
        }
    }
}
