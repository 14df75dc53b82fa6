import FaultyDisk
import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// What a re-key reports when the disk fails during it is true, for the next process too.
struct RekeyOutcomeTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    /// The step between the calls that fail; `make campaign NAME=crash` tries each call.
    private static let step = max(environmentNumber("SECURESTORAGE_DISK_STEP", default: 11), 1)

    @Test(arguments: JournalMode.allCases, [false, true])
    func `an error says which key opens the file, or that this is unknown`(
        _ mode: JournalMode, _ forever: Bool
    ) async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) {
            [
                directory = database.directory.path as String, mode = mode.rawValue as String,
                forever = forever as Bool, step = Self.step as Int
            ] in
            let mode = try require(JournalMode(rawValue: mode))
            faulty_disk_install()
            var outcomes: Set<String> = []
            var call = Campaign.part.number
            while true {
                let trial = RekeyTrial(path: "\(directory)/\(call).db", mode: mode)
                try trial.prepare()
                let outcome = try trial.run(failingAt: call, forever)
                outcomes.insert(outcome.name)
                try trial.verify(outcome, "call \(call) (\(outcome.name))")
                guard outcome.isFailureMet else { break }
                call += step * Campaign.part.of
            }
            check(call > 20)
            check(outcomes.contains("changed") && outcomes.contains("not changed"))
        }
    }

    @Test func `an unknown outcome is settled by repeating the call`() async throws {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) {
            [directory = database.directory.path as String] in
            faulty_disk_install()
            var unknown = 0
            for call in 1... {
                let trial = RekeyTrial(path: "\(directory)/\(call).db", mode: .delete)
                try trial.prepare()
                let db = trial.store()
                try db.open(with: RekeyTrial.oldKey)
                faulty_disk_fail_at(call, 1)
                let error = storageError { try db.changeEncryptionKey(with: RekeyTrial.newKey) }
                let isFailureMet = faulty_disk_failures() > 0
                faulty_disk_fail_at(0, 0)
                if error?.kind == .encryptionKeyChangeUnknown {
                    unknown += 1
                    check(error?.description.contains("keep both keys"), equals: true)
                    try check(db.int("SELECT count(*) FROM t"), equals: RekeyTrial.rows)
                    try db.changeEncryptionKey(with: RekeyTrial.newKey)
                    db.close()
                    try db.open(with: RekeyTrial.newKey)
                    try check(db.int("SELECT count(*) FROM t"), equals: RekeyTrial.rows)
                }
                db.close()
                guard isFailureMet else { break }
            }
            check(unknown > 0)
        }
    }
}

/// One re-key on a failing disk.
private struct RekeyTrial {
    let path: String
    let mode: SecureDatabaseConfiguration.JournalMode

    static let oldKey = TemporaryDatabase.key
    static let newKey = Data((1...32).map { UInt8($0 + 100) })
    static let rows = 5

    struct Outcome {
        let error: SecureStorageError?
        let isFailureMet: Bool

        var name: String {
            switch error?.kind {
            case nil: "changed"
            case .encryptionKeyChangeFailed: "not changed"
            case .encryptionKeyChangeUnknown: "unknown"
            case .some(let kind): "\(kind)"
            }
        }
    }

    func store() -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = mode
        configuration.secondInstance = .allowed
        return SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
    }

    func prepare() throws {
        let db = store()
        try db.open(with: Self.oldKey)
        try db.executeUpdate("CREATE TABLE t (x)")
        for _ in 1...Self.rows {
            try db.executeUpdate("INSERT INTO t VALUES (randomblob(5000))")
        }
        db.close()
    }

    func run(failingAt call: Int, _ forever: Bool) throws -> Outcome {
        let db = store()
        try db.open(with: Self.oldKey)
        // If the disk has failed permanently, the connection ends like a killed process's.
        defer { db.close() }
        faulty_disk_fail_at(call, forever ? 1 : 0)
        let error = storageError { try db.changeEncryptionKey(with: Self.newKey) }
        let failures = faulty_disk_failures()
        if forever { db.close() }
        faulty_disk_fail_at(0, 0)
        return Outcome(error: error, isFailureMet: failures > 0)
    }

    func verify(_ outcome: Outcome, _ call: String) throws {
        let place = "\(call): \(outcome.error.map { "\($0)" } ?? "")"
        let db = store()
        let opens = [Self.oldKey, Self.newKey].map { key in
            defer { db.close() }
            return storageError { try db.open(with: key) } == nil
        }
        switch outcome.name {
        case "changed": check(opens, equals: [false, true], "\(place)")
        case "not changed": check(opens, equals: [true, false], "\(place)")
        case "unknown": check(opens.filter { $0 }.count, equals: 1, "\(place)")
        default: Issue.record("\(place)")
        }
        try db.open(with: opens[0] ? Self.oldKey : Self.newKey)
        try check(db.int("SELECT count(*) FROM t"), equals: Self.rows, "\(place)")
        let report = try db.verifyIntegrity()
        check(report.isSound, "\(place)")
        db.close()
    }
}
