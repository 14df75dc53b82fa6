import Foundation
import SecureStorage
import SecureSync
import TestSupport

/// A file with synced tables, and a member.
final class CapturedFile {
    let home: TemporaryDatabase
    let db: SecureDatabaseStore
    let capture: Capture
    let member: MemberID

    init(
        _ schema: String, member: MemberID = .numbered(1), clockOffset: Int64 = 0,
        declare: (inout SyncedTables) -> Void
    ) throws {
        home = try TemporaryDatabase()
        self.member = member
        var tables = SyncedTables()
        declare(&tables)
        capture = Capture(tables, clockOffset: clockOffset).withFewRecentClocks
        db = try home.openStore()
        try db.executeStatements("PRAGMA foreign_keys = ON;" + schema)
        try install()
    }

    convenience init(_ schema: String, tables: String...) throws {
        try self.init(schema) { declared in for table in tables { declared.add(table) } }
    }

    deinit { db.close() }

    func install() throws {
        try write {
            try capture.install(in: db)
            if try capture.member(in: db) == nil { try capture.setMember(member, in: db) }
        }
    }

    /// What an engine does when it starts, after the app's migrations.
    func restart() throws {
        try install()
        try write { _ = try capture.takeUpLater(in: db) }
    }

    func write<R>(_ body: () throws -> R) throws -> R {
        try db.beginImmediateTransaction()
        do {
            let result = try body()
            try db.commit()
            return result
        } catch {
            try? db.rollback()
            throw error
        }
    }

    /// A connection that knows nothing of sync, as another program's.
    func stranger() throws -> SecureDatabaseStore { try home.openStore() }

    func run(_ sql: String) throws { try db.executeStatements(sql) }

    /// Timestamps what was written, and describes it; sorted.
    func captured() throws -> [String] { try timestamped().map(\.summary).sorted() }

    func timestamped(clockOffset: Int64? = nil) throws -> [RowChange] {
        let capture =
            clockOffset.map {
                Capture(self.capture.tables, clockOffset: $0).withFewRecentClocks
            } ?? capture
        return try write { try capture.timestamp(in: db) }
    }

    /// Sets the times of all marks of the first table: those of insertions, and of updates.
    func setMarks(inserted: Int64, updated: Int64) throws {
        try db.executeUpdate(
            "UPDATE securestorage_sync_mark_1 SET at = CASE WHEN mask < 0 THEN ? ELSE ? END",
            values: [inserted, updated])
    }

    func clock(of key: SQLiteValue..., table: Int = 0) throws -> RowClock? {
        let shape = try capture.shapes(in: db)[table]
        return try ClockTable(of: shape, members: try MemberNumbers(in: db), in: db).clock(of: key)
    }
}

extension Capture {
    /// So few that the clocks of small tests move to the large table, too.
    var withFewRecentClocks: Self {
        var capture = self
        capture.recentClockLimit = 1
        return capture
    }
}

extension MemberID {
    static func numbered(_ number: UInt8) -> MemberID {
        MemberID(Array(repeating: 0, count: 15) + [number]) ?? .none
    }
}

extension RowChange {
    /// `+ t[k] a=1` for a new incarnation, `- t[k]` for its end, `~ t[k] a=1` for an update.
    var summary: String {
        let isNew =
            incarnation.isAlive
            && columnGroups.allSatisfy { $0.timestamp == incarnation.timestamp || $0.known == nil }
        let kind =
            !incarnation.isAlive ? "-" : isNew && incarnation.timestamp != .stablePoint ? "+" : "~"
        let values = columnGroups.flatMap { zip($0.columns, $0.values) }
            .map { "\($0)=\($1.summary)" }.sorted()
        return ([kind, "\(table)[\(key.map(\.summary).joined(separator: ","))]"] + values)
            .joined(separator: " ")
    }
}

extension SQLiteValue {
    var summary: String {
        switch self {
        case .null: "null"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text
        case .blob(let data): data.map { String($0, radix: 16) }.joined()
        }
    }
}
