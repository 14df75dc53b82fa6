public import Foundation

extension SecureDatabaseStore {
    /// Puts all rows that can still be read of a damaged file into a new one.
    ///
    /// SQLite stops at the first damaged page. This reads the file page by page: every row of every page whose
    /// HMAC is right comes into the new file, with its row id, also when the way to its page is lost. Rows whose
    /// table cannot be told any more come into a table `lost_and_found` (page, row id, number of values, and the
    /// values `c0`, `c1`, …). Indexes are made anew. What is in the log counts. The damaged file is only read.
    ///
    /// What cannot be helped: a damaged salt (the first 16 bytes), and a key that is not the file's.
    ///
    /// - Parameters:
    ///   - source: The damaged file. Nobody should write to it meanwhile.
    ///   - key: Its key.
    ///   - cipher: How it is encrypted; the new file will be alike.
    ///   - url: The place of the new file, whose directory is made when only that is missing.
    ///   - newKey: The new file's key; nil for the same.
    ///   - replacing: Whether a file that is there already is replaced. It must not be in use.
    ///   - progress: Told of tables and pages; what it throws ends the work.
    /// - Returns: What was saved and what was lost, of each table.
    /// - Throws: `.openFailed`, `.authenticationFailed` and others for a file none of whose pages the key opens,
    ///   as `open` does; `.backingStoreError`, code 14 for a place that is taken; what `progress` throws.
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
                "what was saved cannot replace the damaged file itself; choose another name")
        }
        let outcome = try Examination(scan: scan).run {
            try progress(FileProgress(0, of: $0.total))
        }
        return try NewFile(at: url, replacing: replacing).make(timeout: .seconds(5)) { draft in
            let file = NewContent(
                draft: draft, key: targetKey, cipher: cipher,
                logger: SecureDatabaseConfiguration().logger)
            return try file.fill(progress) { target in
                var done = 0
                let total = outcome.damaged.count + outcome.pageCount / 10
                var report = try Salvage(
                    tree: TreeReader(view: view, cipher: scan.cipher), target: target
                ).run {
                    done += $0
                    try progress(FileProgress(min(done, total), of: total).asFirstHalf)
                }
                report.damagedPages =
                    (outcome.damaged.map(Int.init) + outcome.missing).sorted()
                // What was there before or after the transactions in question cannot be told apart.
                let log = LogExamination(path: path, cipher: scan.cipher, syncsCommits: true)
                let journal = JournalExamination(path: path, cipher: scan.cipher)
                report.problems += try [journal.damage()?.description, log.damage()?.description]
                    .compactMap { $0 }
                return report
            }
        }
    }
}
