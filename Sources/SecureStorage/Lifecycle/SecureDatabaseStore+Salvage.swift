public import Foundation

extension SecureDatabaseStore {
    /// Puts all rows that can still be read from a damaged file into a new one.
    ///
    /// SQLite stops at the first damaged page. This call reads the file page by page: every row of
    /// every page with a correct HMAC is put into the new file, with its row id, even if the path
    /// to its page is lost. Rows whose table cannot be determined with certainty are put into a
    /// table `lost_and_found` (page, row id, number of values, and the values `c0`, `c1`, …).
    /// Indexes are created again, and damaged full-text indexes rebuilt. The content of
    /// the log is included. The damaged file is only read.
    ///
    /// From a file without damage, everything is salvaged. If rows are lost although no page is
    /// damaged, the structure of the file is broken: the new file has what could be read, and
    /// ``SalvageReport/isWhole`` is false.
    ///
    /// If a transaction was interrupted and its journal is damaged, it cannot be undone. Pages
    /// whose original the journal still has are saved as they were before it. Rows of pages that it
    /// is known to have changed are put into `lost_and_found`; those of all others may be of the
    /// transaction, too, and are counted (``SalvageReport/Table/rowsUncertain``).
    ///
    /// Two cases cannot be salvaged: a damaged salt (the first 16 bytes), and a key that is not the
    /// file's.
    ///
    /// - Parameters:
    ///   - source: The damaged file. No other process should write to it in the meantime.
    ///   - key: The file's key.
    ///   - cipher: The file's cipher configuration; the new file gets the same.
    ///   - url: The location of the new file, whose directory is created if only that is missing.
    ///   - newKey: The new file's key; nil for the same.
    ///   - replacing: Whether an existing file is replaced. It must not be in use.
    ///   - progress: Receives numbers of tables and pages; throwing ends the salvage.
    /// - Returns: What was saved and what was lost, for each table.
    /// - Throws: `.openFailed`, `.authenticationFailed` and others, as `open` does, if the key
    ///   opens none of the file's pages; `.backingStoreError`, code `.cannotOpen` for a location
    ///   that is taken; what `progress` throws.
    @discardableResult
    public static func salvage(
        at source: URL, key: DatabaseKey, cipher: CipherConfiguration = .init(), to url: URL,
        newKey: DatabaseKey? = nil, replacing: Bool = false,
        progress: FileProgress.Handler = { _ in }
    ) throws -> SalvageReport {
        try cipher.validate()
        let oldKey = try EncryptionKey(key)
        let targetKey = try newKey.map { try EncryptionKey($0) } ?? oldKey
        let path = try DatabaseFile(at: source, creatingDirectory: false).path
        let diagnostician = Diagnostician(path: path, key: oldKey, cipher: cipher)
        let view = try PageView(path, pageSize: cipher.pageSize)
        guard let scan = try diagnostician.pageScan(view, oldKey),
            try scan.knowsKey(lookingAt: .max)
        else { throw try diagnostician.diagnose().openingError(path) }
        guard FileIdentity(path) != FileIdentity(url.path) else {
            throw DatabaseFile(resolvedPath: path).failure(
                "the salvaged copy cannot replace the damaged file itself; choose another name")
        }
        let outcome = try Examination(scan: scan).run {
            try progress(FileProgress(0, of: $0.total))
        }
        let unfinished = try UnfinishedTransaction(path, view, scan.cipher)
        return try NewFile(at: url, replacing: replacing).make(timeout: .seconds(5)) { draft in
            let file = NewContent(
                draft: draft, key: targetKey, cipher: cipher,
                logger: SecureDatabaseConfiguration().logger)
            var derived: DerivedKey?
            var (report, virtualTables) = try file.fill(progress) { target in
                derived = target.key
                var done = 0
                let total = outcome.damaged.count + outcome.pageCount / 10
                return try Salvage(
                    tree: TreeReader(view: view, cipher: scan.cipher, unfinished: unfinished),
                    target: target
                ).run {
                    done += $0
                    try progress(FileProgress(min(done, total), of: total).asFirstHalf)
                }
            }
            if let derived, !virtualTables.isEmpty {
                // After the check of the file: problems inside virtual tables do not cost the rest.
                try file.addVirtualTables(virtualTables, derived, &report) {
                    try progress(FileProgress(1, of: 1))
                }
            }
            report.damagedPages =
                (outcome.damaged.numbers.map(Int.init) + outcome.missing).sorted()
            if report.damagedPages.isEmpty, !report.isComplete, unfinished == nil {
                report.problems.append(
                    "every page is as it was written, so the structure of the file is broken or not "
                        + "supported: keep the old file")
            }
            let log = LogExamination(path: path, cipher: scan.cipher, syncsCommits: true)
            let journal = JournalExamination(path: path, cipher: scan.cipher)
            report.problems += try [journal.damage()?.description, log.damage()?.description]
                .compactMap { $0 }
            if unfinished != nil {
                report.problems.append(
                    "what was written last never committed, and its journal, which would undo it, is "
                        + "damaged: rows of pages that the journal still names are in lost_and_found, and the "
                        + "others that may be of it are counted for each table")
            }
            return report
        }
    }
}

extension NewContent {
    /// Adds virtual tables whose own tables are already in the file; rebuilds or reports damaged
    /// ones.
    func addVirtualTables(
        _ tables: [SalvagedVirtualTable], _ key: DerivedKey, _ report: inout SalvageReport,
        _ progress: () throws -> Void
    ) throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher
        configuration.logger = logger
        let target = try Connection.open(
            draft.path, content: .encrypted(.derived(key)), configuration: configuration)
        defer { target.close() }
        try target.text("PRAGMA journal_mode = MEMORY")
        var end: (any Error)?
        try target.withTicks {
            do { try progress() } catch {
                end = error
                throw error
            }
        } _: {
            try target.execute("BEGIN")
            for table in tables { try table.noteMissingTables(on: target, &report) }
            if let end { throw end }
            do {
                for table in tables { try table.restoreFormat(on: target) }
                try target.addToSchema(tables.map(\.entry))
            } catch let error as SecureStorageError {
                report.problems.append("virtual tables are missing: \(error)")
            }
            try target.execute("COMMIT")
            // Makes the connection read the schema again.
            try target.text("PRAGMA writable_schema = RESET")
            for table in tables {
                table.repair(on: target, &report)
                if let end { throw end }
            }
        }
        target.close()
        try DraftCheck(draft: draft, key: key, configuration: configuration).checkPages()
    }
}

extension Connection {
    /// Inserts tables without pages into the schema, as they are in another one.
    fileprivate func addToSchema(_ entries: [SalvagedSchema.Entry]) throws {
        var taken = Set(
            try texts("SELECT name FROM main.sqlite_schema").map { $0.lowercased() })
        try writeSchemaRows { insert in
            for entry in entries where taken.insert(entry.name.lowercased()).inserted {
                try insert.bind([entry.type, entry.name, entry.table, entry.sql])
                try insert.run()
                insert.rewind()
            }
        }
    }
}
