import Foundation
import Logging
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Damage in the log or journal of a crash is reported as far as it can be proved, and no further.
struct SideFileDamageTests {
    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
    private static let frameSize = 24 + DamagedState.pageSize

    /// The library's findings about a state.
    private struct Findings {
        var diagnosis: FileDiagnosis.Finding
        var error: SecureStorageError?
        var report: IntegrityReport?
        var rows: [String] = []
        var warnings: [String] = []
        var isUnchanged = true
    }

    private func look(
        at state: DamagedState, _ configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> Findings {
        let path = try state.lay()
        defer {
            try? FileManager.default.removeItem(
                atPath: (path as NSString).deletingLastPathComponent)
        }
        let log = LogRecorder()
        let configuration = DamagedState.configuration {
            $0.keepsJournalMode = true
            $0.logger = Logger(label: "test") { _ in log }
            configure(&$0)
        }
        var findings = Findings(
            diagnosis: try SecureDatabaseStore.diagnose(
                at: URL(fileURLWithPath: path), key: Self.key, cipher: configuration.cipher
            ).finding)
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        findings.error = storageError {
            try db.open(with: TemporaryDatabase.key)
            findings.rows = try db.strings(DamagedState.rows).compactMap { $0 }
            findings.report = try db.verifyIntegrity()
        }
        findings.isUnchanged = try DamagedState.files(of: path) == state.files
        db.close()
        findings.warnings = log.warnings
        return findings
    }

    private func changed(
        _ state: DamagedState, _ file: String, _ change: (inout Data) -> Void
    ) -> DamagedState {
        var state = state
        change(&state.files[file, default: Data()])
        return state
    }

    /// Salvages a state, which must not change.
    private func salvage(
        _ state: DamagedState
    ) throws -> (report: SalvageReport, target: TemporaryDatabase) {
        let path = try state.lay()
        defer {
            try? FileManager.default.removeItem(
                atPath: (path as NSString).deletingLastPathComponent)
        }
        let target = try TemporaryDatabase(name: "saved.db")
        let report = try SecureDatabaseStore.salvage(
            at: URL(fileURLWithPath: path), key: Self.key,
            cipher: DamagedState.configuration().cipher, to: target.url)
        try check(DamagedState.files(of: path), equals: state.files)
        return (report, target)
    }

    // MARK: - Log

    @Test(arguments: [0, 10, 20, 30, 32, 40, 48, 56, 500])
    func `a byte that drops commits from the log is reported by open, diagnose and verify`(
        _ offset: Int
    ) throws {
        let state = try DamagedState.log(isMoved: false)
        let found = try look(at: changed(state, "-wal") { $0[offset] ^= 1 })

        check(found.error == nil && found.rows == state.committed[0])
        guard case .damagedLog(let damage) = found.diagnosis else {
            Issue.record("\(found.diagnosis)")
            return
        }
        check(damage.firstDamagedFrame, equals: (offset < 32 ? nil : 1))
        check(damage.unreadCommits == 8 && damage.unreadFrames >= 40 && !damage.mixesStates)
        check(damage.pages.contains(1) && damage.pages == damage.pages.sorted())
        check(found.report?.logDamage == damage && found.report?.isSound == false)
        check(found.warnings.contains { $0.contains("8 commits") }, "\(found.warnings)")
    }

    @Test func `with synchronous normal a power cut can leave the same, and open reports nothing`()
        throws
    {
        let state = try DamagedState.log(isMoved: false)
        let found = try look(at: changed(state, "-wal") { $0[500] ^= 1 }) {
            $0.synchronous = .normal
        }
        check(found.error == nil && found.rows == state.committed[0])
        check(found.warnings.isEmpty && found.report?.isSound == true)
    }

    @Test func `a log whose later pages are in the file is refused, since the states would mix`()
        throws
    {
        let state = try DamagedState.log(isMoved: true)
        let log = try require(state.files["-wal"])
        let frames = (log.count - 32) / Self.frameSize
        let ends = (0..<frames).filter { log[32 + $0 * Self.frameSize + 7] != 0 }
        try require(ends.count == 8)
        // Damages the third of eight transactions, of which five are in the file.
        let damaged = changed(state, "-wal") { $0[32 + (ends[1] + 1) * Self.frameSize + 300] ^= 1 }
        for synchronous in SecureDatabaseConfiguration.Synchronous.allCases {
            let found = try look(at: damaged) { $0.synchronous = synchronous }
            check(found.error?.kind == .openFailed && found.error?.code == 11)
            check(found.error?.description.contains("salvage"), equals: true)
            check(found.isUnchanged)
            guard case .damagedLog(let damage) = found.diagnosis else {
                Issue.record("\(found.diagnosis)")
                return
            }
            check(damage.mixesStates && damage.firstDamagedFrame == ends[1] + 2)
        }
    }

    @Test func `a transaction cut short at the end of the log is not damage`() throws {
        let state = try DamagedState.log(isMoved: false)
        let log = try require(state.files["-wal"])
        for missing in [1, Self.frameSize, 3 * Self.frameSize / 2] {
            let found = try look(
                at: changed(state, "-wal") { $0 = $0.prefix(log.count - missing) })
            check(found.diagnosis == .ok && found.warnings.isEmpty)
            check(found.rows == state.committed[7] && found.report?.isSound == true)
        }
        // Frames arrive in any order: the last frame is present, the one before it is missing.
        let found = try look(
            at: changed(state, "-wal") {
                let start = $0.count - 2 * Self.frameSize
                $0.replaceSubrange(
                    start..<(start + Self.frameSize), with: Data(count: Self.frameSize))
            })
        check(found.diagnosis == .ok && found.warnings.isEmpty)
        check(found.rows, equals: state.committed[7])
    }

    @Test func `the remains of a longer transaction after a shorter one are not damage`() throws {
        let database = try TemporaryDatabase()
        let db = SecureDatabaseStore(
            fullDatabasePath: database.path,
            configuration: DamagedState.configuration { $0.cacheSize = 0 })
        try db.open(with: TemporaryDatabase.key)
        try db.executeStatements(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, version, note BLOB); BEGIN")
        for number in 1...60 {
            try db.executeUpdate("INSERT INTO t VALUES (?, 1, randomblob(900))", number)
        }
        try db.rollback()
        try db.executeUpdate("INSERT INTO t VALUES (1, 1, x'00')")
        let state = DamagedState(files: try DamagedState.files(of: database.path), committed: [])
        db.close()
        try require((state.files["-wal"]?.count ?? 0) > 30 * Self.frameSize)

        let found = try look(at: state)
        check(found.diagnosis == .ok && found.warnings.isEmpty)
        check(found.rows == ["1|1|00"] && found.report?.isSound == true)
    }

    /// In a log of frames of 4,120 bytes, that of frame 19 ends where a sector begins: a power cut
    /// can leave the header of a new frame with the page of an earlier one, which is in the file.
    @Test func `a power cut between the header of a frame and its page is not damage`() throws {
        let database = try TemporaryDatabase()
        let db = SecureDatabaseStore(
            fullDatabasePath: database.path,
            configuration: DamagedState.configuration { $0.synchronous = .normal })
        try db.open(with: TemporaryDatabase.key)
        defer { db.close() }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, version INTEGER, note);
            INSERT INTO t VALUES (1, 0, x'00')
            """)
        try db.checkpoint(.restart)
        let page = 32 + 19 * Self.frameSize + 24..<32 + 20 * Self.frameSize
        for version in 1...20 { try db.executeUpdate("UPDATE t SET version = ?", version) }
        let earlier = try require(DamagedState.files(of: database.path)["-wal"]?[page])
        try db.checkpoint(.restart)
        for version in 21...40 { try db.executeUpdate("UPDATE t SET version = ?", version) }

        let state = DamagedState(files: try DamagedState.files(of: database.path), committed: [])
        let cut = changed(state, "-wal") { $0.replaceSubrange(page, with: earlier) }
        for synchronous in SecureDatabaseConfiguration.Synchronous.allCases {
            let found = try look(at: cut) { $0.synchronous = synchronous }
            check(found.error == nil && found.rows == ["1|39|00"])
            check(found.diagnosis == .ok && found.warnings.isEmpty)
        }
    }

    // MARK: - Journal

    @Test(arguments: ["delete", "truncate", "persist"])
    func `a damaged journal is refused before it is played back, and nothing changes`(
        _ mode: String
    ) async throws {
        for state in [try DamagedState.spilledJournal(mode), try await .brokenCommit(mode)] {
            let whole = try look(at: state)
            check(whole.diagnosis == .ok && whole.rows == state.committed.last)
            var damages: [(String, DamagedState)] = [0, 3, 11, 14, 18, 22, 26, 512, 700, 1539].map {
                offset in
                ("byte \(offset)", changed(state, "-journal") { $0[offset] ^= 0x20 })
            }
            for count in [20, 100, 600, 1500] {
                damages.append(
                    ("cut to \(count)", changed(state, "-journal") { $0 = $0.prefix(count) }))
            }
            // One page proves the key.
            let onePage = changed(state, "") { $0 = $0.prefix(DamagedState.pageSize) }
            damages.append(("of one page", changed(onePage, "-journal") { $0[3] ^= 0x20 }))
            for (name, damaged) in damages {
                let found = try look(at: damaged)
                check(
                    found.error?.kind == .openFailed && found.error?.code == 11, "\(mode) \(name)")
                check(found.isUnchanged, "\(mode) \(name)")
                guard case .damagedJournal = found.diagnosis else {
                    Issue.record("\(mode) \(name): \(found.diagnosis)")
                    continue
                }
                check(found.error?.description.contains("journal"), equals: true)
            }
        }
    }

    @Test func `salvage reads what open refuses, and names the damage`() throws {
        let log = changed(try DamagedState.log(isMoved: false), "-wal") { $0[500] ^= 1 }
        let journal = changed(try DamagedState.spilledJournal("delete"), "-journal") { $0[14] ^= 1 }
        for (state, name) in [(log, "the log is damaged"), (journal, "the journal")] {
            let (report, _) = try salvage(state)
            check(report.problems.contains { $0.contains(name) }, "\(report)")
            check(!report.isWhole)
        }
    }

    @Test(arguments: ["delete", "truncate", "persist"])
    func
        `salvage keeps apart what an interrupted transaction has changed, and counts what it may have`(
            _ mode: String
        ) throws
    {
        let state = try DamagedState.spilledJournal(mode)
        let size = try require(state.files["-journal"]).count
        let committed = Set(try require(state.committed.last))
        var kinds: Set<String> = []
        for damage in 0..<12 {
            let damaged = changed(state, "-journal") { journal in
                // Cut, or another checksum of a record: the first one begins after a sector.
                if damage < 6 {
                    journal = journal.prefix(1100 + damage * (size - 1100) / 6)
                } else {
                    journal[512 + (damage - 5) * (4 + DamagedState.pageSize + 4) - 1] ^= 1
                }
            }
            // Without its last part, a journal cannot be told from one that was whole.
            guard try look(at: damaged).error != nil else { continue }
            let (report, target) = try salvage(damaged)
            let db = SecureDatabaseStore(
                fullDatabasePath: target.path, configuration: DamagedState.configuration())
            try db.open(with: TemporaryDatabase.key)
            let saved = try db.strings(DamagedState.rows).compactMap { $0 }
            let table = try require(report.tables.first)
            let strange = saved.count { !committed.contains($0) }
            check(strange <= table.rowsUncertain, "\(damage): \(strange) of \(report)")
            let isSaid = report.problems.contains { $0.contains("never committed") }
            check(isSaid || strange == 0, "\(damage): \(report)")
            if strange > 0 { kinds.insert("counted") }
            if report.unassignedRows > 0 { kinds.insert("apart") }
            db.close()
        }
        check(kinds.isSuperset(of: ["counted", "apart"]), "\(kinds)")
    }

    @Test func `a finished journal and one that was just begun are not damage`() throws {
        let state = try DamagedState.atRest()
        let journal = try require(DamagedState.spilledJournal("persist").files["-journal"])
        for content in [
            Data(), Data(count: 28), Data(count: 512), Data(count: 28) + journal.dropFirst(28),
            Data(count: 12) + journal.dropFirst(12),
        ] {
            var state = state
            state.files["-journal"] = content
            let found = try look(at: state)
            check(found.diagnosis == .ok && found.error == nil)
            check(found.rows == state.committed.last && found.report?.isSound == true)
        }
    }

    @Test func `a journal of a committed transaction over several files is not played back`() throws
    {
        var state = try DamagedState.spilledJournal("delete")
        let name = Array("/nowhere/test.db-mj12345678".utf8)
        func number(_ value: Int) -> [UInt8] {
            withUnsafeBytes(of: UInt32(value).bigEndian) { Array($0) }
        }
        let lockPage = (1 << 30) / DamagedState.pageSize + 1
        let record =
            number(lockPage) + name + number(name.count)
            + number(name.reduce(0) { $0 + Int($1) })
            + [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        state.files["-journal", default: Data()] += record
        let found = try look(at: state)
        // Then the content of the half-written file counts.
        check(found.error?.description.contains("journal") != true)
        check(found.rows != state.committed.last)
    }
}
