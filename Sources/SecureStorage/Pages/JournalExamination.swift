internal import Foundation

/// Determines whether the journal that a crash has left is whole, before the engine plays it back.
///
/// The engine ends at the first record with a wrong checksum, or at an invalid header, and
/// considers the file restored. That is right for what a power cut leaves of a journal that was not
/// yet synced, since the file was not written to before. A synced journal must have all its
/// records.
struct JournalExamination {
    let path: String
    let cipher: PageCipher

    private var pageSize: Int { cipher.format.pageSize }

    /// Returns proven damage; nil for a sound journal, for none, and for one that is being written.
    func damage() throws -> JournalDamage? {
        try SideFileExamination.confirmed(path + "-journal", look)
    }

    private func look() throws -> JournalDamage? {
        guard let journal = try RollbackJournal(of: path, pageSize: pageSize) else {
            return try endedInFirstByteOnly()
                ? Self.damage("its header is not as it was written") : nil
        }
        let file = try RawFile(path)
        guard let header = journal.header, !journal.segments.isEmpty else {
            return try headerDamage(journal, file)
        }
        if let damage = try pageCountDamage(header, journal, file) { return damage }
        let last = journal.segments.count - 1
        for (index, segment) in journal.segments.enumerated() {
            if let damage = try damage(
                of: segment, isFirst: index == 0, isLast: index == last, journal, file)
            {
                return damage
            }
        }
        return nil
    }

    private static func damage(_ reason: String, sureWithFullOnly: Bool = false) -> JournalDamage {
        JournalDamage(reason: reason, isSureWithFullOnly: sureWithFullOnly)
    }

    // MARK: - The first header

    /// Whether only the first byte of the header is zero: in a finished journal all of them are, or
    /// none exist.
    private func endedInFirstByteOnly() throws -> Bool {
        guard let content = try RawFile(ifPresent: path + "-journal"),
            let bytes = try content.bytes(at: 0, count: 8)
        else { return false }
        return bytes[0] == 0 && bytes[1...].elementsEqual(RollbackJournal.magic[1...])
    }

    private func headerDamage(_ journal: RollbackJournal, _ file: RawFile) throws -> JournalDamage?
    {
        // Pages of another size belong to a file with another cipher configuration: the given one
        // is then wrong. Here the key and the configuration have opened a page of the file.
        guard try isKeyProved(file) else { return nil }
        guard journal.header == nil else {
            return Self.damage("it was truncated within its header")
        }
        // The magic and the count are written over a header that is synced before them, or with
        // them.
        let rest = try journal.content.bytes(at: 12, count: 16)
        let isBegun =
            try journal.content.size() == 12 || rest?.allSatisfy { $0 == 0 } == true
        return Self.damage("its header is not as it was written", sureWithFullOnly: isBegun)
    }

    private func isKeyProved(_ file: RawFile) throws -> Bool {
        let count = try min(file.size() / pageSize, 16)
        for number in 1..<UInt32(count + 1) where try ownPage(number, file) != nil { return true }
        return false
    }

    /// Checks the number of pages that the file is cut to: not fewer than its own header had, not
    /// more than the file has.
    private func pageCountDamage(
        _ header: RollbackJournal.Header, _ journal: RollbackJournal, _ file: RawFile
    ) throws -> JournalDamage? {
        let filePages = try file.size() / pageSize
        if header.pageCount > filePages {
            return Self.damage(
                "it records \(header.pageCount) pages, but the file has \(filePages)")
        }
        // The first transaction of a new file.
        guard header.pageCount > 0 else { return nil }
        let records = journal.segments.flatMap(\.records).filter { $0.number == 1 }
        let first =
            try records.isEmpty
            ? ownPage(1, file) : records.first.flatMap { try page(of: $0, journal) }
        guard let first, let pages = PlainHeader(first).pageCount, pages > header.pageCount else {
            return nil
        }
        return Self.damage("it records \(header.pageCount) pages, but there were \(pages)")
    }

    // MARK: - Segments

    private func damage(
        of segment: RollbackJournal.Segment, isFirst: Bool, isLast: Bool,
        _ journal: RollbackJournal, _ file: RawFile
    ) throws -> JournalDamage? {
        var reason: String?
        // Whether a page of this segment was written to the file, or the file extended, which
        // happens after the segment's sync.
        var wasUsed = try isFirst && file.size() / pageSize > journal.pageCount
        for (index, record) in segment.records.enumerated() {
            let original = try page(of: record, journal)
            if let original, record.isWhole, Int(record.number) <= journal.pageCount {
                wasUsed = try wasUsed || ownPage(record.number, file) != original
            } else {
                reason = reason ?? "record \(index + 1) is not as it was written"
                // The engine would write such a page into the file.
                if original == nil, record.isWhole, Int(record.number) <= journal.pageCount {
                    wasUsed = true
                }
            }
        }
        if segment.header.recordCount != .max, segment.records.count < segment.header.recordCount {
            reason =
                reason ?? "it ends after \(segment.records.count) of "
                + "\(segment.header.recordCount) records"
        }
        if let reason {
            let isSure = wasUsed || !isLast
            guard isSure || segment.header.recordCount != .max else { return nil }
            return Self.damage(reason, sureWithFullOnly: !isSure)
        }
        guard try hasMoreRecords(after: segment, isLast: isLast, journal) else { return nil }
        return Self.damage("the data after its first records is not read")
    }

    /// Returns whether records of the same transaction follow that the header does not count, or
    /// that follow an invalid header.
    private func hasMoreRecords(
        after segment: RollbackJournal.Segment, isLast: Bool, _ journal: RollbackJournal
    ) throws -> Bool {
        guard segment.header.recordCount != .max, let sectorSize = journal.header?.sectorSize else {
            return false
        }
        func isRecord(at offset: Int, _ nonce: UInt32) throws -> Bool {
            guard let record = try journal.record(at: offset, nonce: nonce), record.isWhole else {
                return false
            }
            return try page(of: record, journal) != nil
        }
        let end = segment.records.last.map { $0.offset + pageSize + 4 }
        let next = end ?? segment.end
        if try isRecord(at: next, segment.header.nonce) { return true }
        // A header that does not count yet begins with zeros; in one that an earlier transaction
        // has left, SQLite zeroes the first byte.
        guard isLast, let bytes = try journal.content.bytes(at: segment.end, count: 16),
            bytes[0] != 0
        else { return false }
        let nonce = bytes[12...].reduce(0) { $0 << 8 | UInt32($1) }
        return try isRecord(at: segment.end + sectorSize, nonce)
    }

    // MARK: - Pages

    /// Returns the content of a record's page; nil when it is not authentic.
    private func page(
        of record: RollbackJournal.Record, _ journal: RollbackJournal
    ) throws -> [UInt8]? {
        try content(
            journal.content.bytes(at: record.offset, count: pageSize), record.number)
    }

    /// Returns the content of a page in the file itself; nil when it is not authentic.
    private func ownPage(_ number: UInt32, _ file: RawFile) throws -> [UInt8]? {
        try content(
            file.bytes(at: (Int(number) - 1) * pageSize, count: pageSize), number)
    }

    private func content(_ page: [UInt8]?, _ number: UInt32) -> [UInt8]? {
        page?.withUnsafeBytes {
            cipher.isAuthentic($0, number: number) ? cipher.decrypt($0, number: number) : nil
        }
    }
}
