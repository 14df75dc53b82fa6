internal import Foundation

/// The rollback journal beside a file, as far as the key of the file can be told from it.
///
/// A journal that a crash has left is played back before anything of the file can be read, whatever the
/// key is. It holds the pages as they were before the broken transaction, page 1 always among them, so
/// the key is checked against that one first. The layout is in
/// [SQLite's file format](https://sqlite.org/fileformat2.html#the_rollback_journal).
struct RollbackJournal {
    private let content: FileHandle
    private let pageSize: Int

    /// The journal of the database at `path`; nil when there is none, or one that is finished.
    init?(of path: String, pageSize: Int) {
        guard let content = FileHandle(forReadingAtPath: path + "-journal") else { return nil }
        self.content = content
        self.pageSize = pageSize
        guard header(at: 0) != nil else { return nil }
    }

    /// The original page 1; nil when the journal does not hold it (yet): then the file is unchanged.
    func firstPage() -> [UInt8]? {
        var segment: UInt64 = 0
        while let header = header(at: segment) {
            var position = segment + header.sectorSize
            for _ in 0..<header.recordCount {
                guard let number = number(at: position) else { return nil }
                if number == 1 { return bytes(at: position + 4, count: pageSize) }
                position += UInt64(pageSize) + 8  // page number, page, checksum
            }
            segment = (position + header.sectorSize - 1) / header.sectorSize * header.sectorSize
            if header.isLast { return nil }
        }
        return nil
    }

    private struct Header {
        let recordCount: UInt32
        let sectorSize: UInt64

        /// The count of a journal that was never synced: all records to the end of the file.
        var isLast: Bool { recordCount == .max }
    }

    private func header(at offset: UInt64) -> Header? {
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        guard bytes(at: offset, count: 8) == magic, let recordCount = number(at: offset + 8),
            let sectorSize = number(at: offset + 20), (32...65536).contains(sectorSize),
            let pageSize = number(at: offset + 24), pageSize == self.pageSize
        else { return nil }
        return Header(recordCount: recordCount, sectorSize: UInt64(sectorSize))
    }

    private func number(at offset: UInt64) -> UInt32? {
        bytes(at: offset, count: 4).map { $0.reduce(0) { $0 << 8 | UInt32($1) } }
    }

    private func bytes(at offset: UInt64, count: Int) -> [UInt8]? {
        guard (try? content.seek(toOffset: offset)) != nil,
            let data = try? content.read(upToCount: count), data.count == count
        else { return nil }
        return Array(data)
    }
}
