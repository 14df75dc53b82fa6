internal import Foundation

/// Checks a whole file: the HMAC of each page, then SQLite's structures, then the foreign keys.
///
/// SQLCipher's own `PRAGMA cipher_integrity_check` examines only the main file, reports no progress
/// and cannot be interrupted; and the connection is unusable once it has met a damaged page.
struct IntegrityCheck {
    let connection: Connection

    /// - Throws: `.backingStoreError`, `.openFailed` if the file cannot be read; what `progress`
    ///   throws.
    func run(_ progress: FileProgress.Handler) throws -> IntegrityReport {
        try inSnapshot {
            // The pages are half of the work, the statements the other half.
            let (pages, logDamage) = try examine { try progress($0.asFirstHalf) }
            var next = ContinuousClock.now
            return try connection.withTicks {
                guard .now >= next else { return }
                try progress(FileProgress(pages.pageCount, of: pages.pageCount * 2))
                next = .now + .milliseconds(50)
            } _: {
                let report = try report(pages, logDamage)
                try progress(FileProgress(pages.pageCount * 2, of: pages.pageCount * 2))
                return report
            }
        }
    }

    private func examine(
        _ progress: FileProgress.Handler
    ) throws -> (Examination.Outcome, LogDamage?) {
        // Nothing authenticates the pages of a plain file.
        guard let key = connection.key else { return (Examination.Outcome(), nil) }
        let scan = try PageScan(connection.path, key, connection.configuration.cipher)
        let outcome = try Examination(scan: scan).run(progress)
        return (outcome, scan.view.isLogFollowed ? try connection.logDamage() : nil)
    }

    /// Runs `body` in a snapshot, so that neither the file nor its content changes.
    private func inSnapshot<R>(_ body: () throws -> R) throws -> R {
        guard !connection.isInTransaction else { return try body() }
        defer { try? connection.endSnapshot() }
        do {
            try connection.beginSnapshot()
        } catch SecureStorageError.backingStoreError(let code, _)
            where ![ResultCode.busy, .interrupted].map({ $0.rawValue }).contains(code)
        {
            // Its pages are damaged, which the check reports.
        }
        return try body()
    }

    private func report(
        _ pages: Examination.Outcome, _ logDamage: LogDamage?
    ) throws -> IntegrityReport {
        var problems: [String] = []
        if pages.surplusBytes > 0 {
            problems.append("\(pages.surplusBytes) bytes follow the last page")
        }
        var violations: [IntegrityReport.ForeignKeyViolation] = []
        do {
            problems += try rows("PRAGMA main.integrity_check(1000)") { $0.column(0).text ?? "" }
                .filter { $0 != "ok" }
            violations = try rows("PRAGMA main.foreign_key_check") { row in
                IntegrityReport.ForeignKeyViolation(
                    table: row.column(0).text ?? "",
                    rowID: row.column(1).storageClass == .null ? nil : row.column(1).integer,
                    referencedTable: row.column(2).text ?? "")
            }
        } catch let error as SecureStorageError {
            // Caused by the damage; whether there is more cannot be determined.
            guard error.interruption == nil, !pages.isSound || error.isOfFile else { throw error }
            problems.append("the check of the structure ended early: \(error)")
        }
        return IntegrityReport(
            pageCount: pages.pageCount,
            damagedPages: (pages.damaged.numbers.map(Int.init) + pages.missing).sorted(),
            structureProblems: problems, foreignKeyViolations: violations,
            logDamage: logDamage)
    }

    private func rows<R>(_ sql: String, _ transform: (Statement) -> R) throws -> [R] {
        let statement = try Statement(sql, on: connection, persistent: false)
        defer { statement.giveBack() }
        var rows: [R] = []
        while try statement.step() { rows.append(transform(statement)) }
        return rows
    }
}

extension SecureStorageError {
    /// Whether the file is the cause, not the moment: damage, or a virtual table that cannot be set
    /// up.
    fileprivate var isOfFile: Bool {
        guard case .backingStoreError(let code, _) = self else { return false }
        return [ResultCode.corrupt, .notADatabase, .error].map { $0.rawValue }.contains(code)
    }
}
