internal import Foundation

/// Determines which pages of a file whose key is known are not as they were written.
struct Examination {
    let scan: PageScan

    /// The missing and the damaged pages, in order, and other findings.
    struct Outcome {
        var damaged = PageList()
        /// The number of pages that the header or the log mentions but the file does not hold.
        var missingPages = 0
        /// Their numbers; at most as many as a list holds, since a log can mention any number.
        var missing: [Int] = []
        /// The bytes after the end of the database.
        var surplusBytes = 0
        var pageCount = 0
    }

    func run(_ progress: FileProgress.Handler) throws -> Outcome {
        var outcome = try look(scan)
        outcome.damaged = try scan.damagedPages(
            among: scan.view.heldPages(of: outcome.pageCount), progress)
        // Another connection may be writing: a moment later, only real damage is left.
        var current = scan
        var attempts = 0
        while !outcome.isSound, try !current.view.isCurrent(), attempts < 100 {
            attempts += 1
            usleep(5000)
            current = try current.again()
            let suspects = outcome.damaged
            outcome = try look(current)
            outcome.damaged =
                suspects.isComplete
                ? try current.damagedPages(
                    among: suspects.numbers.filter { Int($0) <= outcome.pageCount })
                : try current.damagedPages(among: current.view.heldPages(of: outcome.pageCount))
        }
        outcome.missing = missing(of: outcome.pageCount, in: current)
        return outcome
    }

    private func missing(of pageCount: Int, in scan: PageScan) -> [Int] {
        let held = scan.view.heldPages(of: pageCount)
        var missing: [Int] = []
        var next = Int(held.own) + 1
        for number in held.others.map(Int.init) + [pageCount + 1] {
            missing += (next..<max(number, next)).prefix(PageList.limit - missing.count)
            next = number + 1
        }
        return missing
    }

    /// Returns everything but the damaged pages.
    private func look(_ scan: PageScan) throws -> Outcome {
        var outcome = Outcome()
        outcome.pageCount = try databasePages(scan)
        let held = scan.view.heldPages(of: outcome.pageCount)
        outcome.missingPages = outcome.pageCount - held.count
        // With a journal or a log, the file's own length is not final yet.
        if scan.view.source == .fileOnly {
            outcome.surplusBytes = try surplusBytes(outcome.pageCount, scan)
        }
        return outcome
    }

    /// Returns the number of bytes after the last page; 0 if they are authentic pages of the file.
    ///
    /// In rollback journal mode SQLite shortens a file after the commit: a kill in between leaves
    /// such pages there.
    private func surplusBytes(_ pageCount: Int, _ scan: PageScan) throws -> Int {
        let pageSize = scan.view.pageSize
        let surplus = scan.view.fileSize - pageCount * pageSize
        guard surplus > 0, surplus % pageSize == 0, pageCount > 0 else { return max(surplus, 0) }
        let held = scan.view.heldPages(of: .max - 1)
        return try scan.areAuthentic(held.dropFirst(pageCount)) ? 0 : surplus
    }

    func diagnosis(
        _ reasons: [String], _ progress: FileProgress.Handler
    ) throws -> FileDiagnosis {
        let outcome = try run(progress)
        var lines = reasons
        let sound = outcome.pageCount - outcome.missingPages - outcome.damaged.count
        lines.append(
            "\(sound) of \(outcome.pageCount) pages have a valid HMAC under the key")
        if outcome.missingPages > 0 {
            lines.append("\(outcome.missingPages) pages are missing")
        }
        if outcome.surplusBytes > 0 {
            lines.append(
                "\(outcome.surplusBytes) bytes after the last page are ignored")
        }
        if !outcome.damaged.isEmpty {
            let shown = outcome.damaged.numbers.prefix(20).map(String.init).joined(separator: ", ")
            lines.append(
                "not as they were written: page \(shown)"
                    + (outcome.damaged.count > 20 ? " and others" : ""))
        }
        return FileDiagnosis(finding: outcome.finding, reasons: lines)
    }

    /// Returns the number of the database's pages from its own header, or else from the log or the
    /// journal, which nothing authenticates.
    private func databasePages(_ scan: PageScan) throws -> Int {
        let view = scan.view
        guard let page = try view.page(1) else { return view.pageCount }
        let header = page.withUnsafeBytes { page -> [UInt8]? in
            guard scan.cipher.isAuthentic(page, number: 1) else { return nil }
            return scan.cipher.decrypt(page, number: 1)
        }
        return header.flatMap { PlainHeader($0).pageCount } ?? view.pageCount
    }
}

extension Examination.Outcome {
    /// Whether no damage was found; extra bytes do no harm, but something has put them there.
    var isSound: Bool { damaged.isEmpty && missingPages == 0 && surplusBytes == 0 }

    var finding: FileDiagnosis.Finding {
        if !damaged.isEmpty { return .corrupt(pages: damaged.numbers.map(Int.init)) }
        if missingPages > 0 { return .truncated }
        return surplusBytes > 0 ? .corrupt(pages: [pageCount + 1]) : .ok
    }
}
