internal import Foundation

/// Finds a first page that claims other sizes than the file's, wherever the engine may read one.
///
/// SQLite trusts the first page about its size, and SQLCipher its own settings: where they differ,
/// pages overflow SQLite's buffers. The engine has its own rules for which frame of a log and which
/// record of a journal it uses, so here each one counts, used or not: no program writes such a
/// page.
struct MisstatedSizes {
    let path: String
    let cipher: PageCipher

    private var pageSize: Int { cipher.format.pageSize }

    /// Returns where such a page, or a header that claims another page size, was found; nil for
    /// nowhere.
    func place() throws -> String? {
        if let own = try RawFile(path).bytes(at: 0, count: pageSize), cipher.misstatesSizes(own) {
            return "the file's first page"
        }
        if let journal = try RawFile(ifPresent: path + "-journal"), try isIn(journal: journal) {
            return "the journal that a crash left behind"
        }
        if let log = try RawFile(ifPresent: path + "-wal"), try isIn(log: log) {
            return "the write-ahead log"
        }
        return nil
    }

    private func isIn(journal: RawFile) throws -> Bool {
        guard let header = try journal.bytes(at: 0, count: 28),
            header.starts(with: RollbackJournal.magic)
        else { return false }
        // The engine adopts any size that a page can have.
        let size = Int(WriteAheadLog.number(header, at: 24))
        if size != pageSize, size == 0 || PlainHeader.isPageSize(size) { return true }
        let records =
            try RollbackJournal(of: path, pageSize: pageSize)?.segments.flatMap(\.records) ?? []
        return try records.contains { record in
            try record.number == 1
                && journal.bytes(at: record.offset, count: pageSize).map(cipher.misstatesSizes)
                    ?? false
        }
    }

    private func isIn(log: RawFile) throws -> Bool {
        guard let header = try log.bytes(at: 0, count: WriteAheadLog.headerSize) else {
            return false
        }
        if let size = WriteAheadLog.pageSize(ofHeader: header), size != pageSize,
            PlainHeader.isPageSize(size)
        {
            return true
        }
        let frameSize = WriteAheadLog.frameHeaderSize + pageSize
        let count = try max(log.size() - WriteAheadLog.headerSize, 0) / frameSize
        var isFound = false
        try WriteAheadLog.forEachStoredFrame(0..<count, of: log, pageSize) { offset in
            guard let frame = try log.bytes(at: offset, count: WriteAheadLog.frameHeaderSize) else {
                return false
            }
            // Without HMACs, pages of an earlier use of the log, under another key, look like
            // anything.
            guard WriteAheadLog.number(frame, at: 0) == 1,
                cipher.format.hmac != nil || frame[8..<16] == header[16..<24]
            else { return true }
            let page = try log.bytes(
                at: offset + WriteAheadLog.frameHeaderSize, count: pageSize)
            isFound = page.map(cipher.misstatesSizes) ?? false
            return !isFound
        }
        return isFound
    }
}
