internal import Foundation

/// The rollback journal beside a file, as far as the file's state and its key can be told from it.
///
/// A journal that a crash has left is played back before anything of the file can be read, whatever the
/// key is. It holds the pages as they were before the broken transaction, page 1 always among them, so
/// the key is checked against that one first. The layout is in
/// [SQLite's file format](https://sqlite.org/fileformat2.html#the_rollback_journal).
struct RollbackJournal {
    let content: RawFile
    private let pageSize: Int
    /// Pages of the database before the transaction.
    let pageCount: Int

    /// The journal of the database at `path`; nil when there is none, or one that is finished.
    init?(of path: String, pageSize: Int) {
        guard let content = try? RawFile(path + "-journal") else { return nil }
        self.content = content
        self.pageSize = pageSize
        guard let header = Self.header(content, at: 0, pageSize) else { return nil }
        pageCount = header.pageCount
    }

    /// The original page 1; nil when the journal does not hold it (yet): then the file is unchanged.
    func firstPage() -> [UInt8]? {
        offsets[1].flatMap { try? content.bytes(at: $0, count: pageSize) }
    }

    /// Where each original page begins in the journal.
    var offsets: [UInt32: Int] {
        var offsets: [UInt32: Int] = [:]
        var segment = 0
        while let header = Self.header(content, at: segment, pageSize) {
            var position = segment + header.sectorSize
            for _ in 0..<header.recordCount {
                // Page number, page, checksum.
                guard let number = Self.number(content, at: position),
                    position + pageSize + 8 <= content.size
                else { return offsets }
                // The first is the original; a savepoint may have journaled it again.
                if offsets[number] == nil { offsets[number] = position + 4 }
                position += pageSize + 8
            }
            segment = (position + header.sectorSize - 1) / header.sectorSize * header.sectorSize
        }
        return offsets
    }

    private struct Header {
        /// All records to the end of the file, for a journal that was never synced.
        let recordCount: UInt32
        let pageCount: Int
        let sectorSize: Int
    }

    private static func header(_ content: RawFile, at offset: Int, _ pageSize: Int) -> Header? {
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        guard let bytes = try? content.bytes(at: offset, count: 8), bytes == magic,
            let recordCount = number(content, at: offset + 8),
            let pageCount = number(content, at: offset + 16),
            let sectorSize = number(content, at: offset + 20), (32...65536).contains(sectorSize),
            let size = number(content, at: offset + 24), size == pageSize
        else { return nil }
        return Header(
            recordCount: recordCount, pageCount: Int(pageCount), sectorSize: Int(sectorSize))
    }

    private static func number(_ content: RawFile, at offset: Int) -> UInt32? {
        guard let bytes = try? content.bytes(at: offset, count: 4) else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
