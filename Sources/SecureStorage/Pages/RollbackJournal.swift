internal import Foundation

/// The rollback journal beside a file, as far as it shows the file's state and its key.
///
/// A journal that a crash has left is played back before anything of the file can be read, whatever
/// the key is. It holds the pages as they were before the interrupted transaction. The layout is in
/// [SQLite's file format](https://sqlite.org/fileformat2.html#the_rollback_journal): segments, each
/// of a header that fills a sector, and records of a page number, a page and a checksum.
struct RollbackJournal {
    let content: RawFile
    /// The header of the first segment; nil when the engine would not play it back.
    let header: Header?
    let segments: [Segment]
    private let pageSize: Int

    struct Header: Equatable {
        /// The number of records in the segment; `.max` for all to the end of the file, from a
        /// writer that never syncs.
        let recordCount: UInt32
        /// The initial value of each record's checksum, different in each header.
        let nonce: UInt32
        /// Pages of the database before the transaction.
        let pageCount: Int
        /// Counts in the first header only.
        let sectorSize: Int
    }

    struct Record {
        let number: UInt32
        /// The offset at which the page begins.
        let offset: Int
        /// Whether the checksum is right, which covers every 200th byte of the page.
        let isWhole: Bool
    }

    struct Segment {
        let header: Header
        /// The records up to the end of the file, whole or not.
        let records: [Record]
        /// Where the next header is expected.
        let end: Int
    }

    static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// Opens the journal of the database at `path`.
    ///
    /// The result is nil when no journal exists, when its transaction has ended (its first byte is
    /// 0), and when it is part of a transaction over several files that was committed: then its
    /// super-journal no longer exists.
    ///
    /// - Throws: `.openFailed` if it cannot be read.
    init?(of path: String, pageSize: Int) throws {
        guard let content = try RawFile(ifPresent: path + "-journal"),
            let first = try content.bytes(at: 0, count: 1), first != [0]
        else { return nil }
        if let superJournal = try Self.superJournal(content), !Self.isThere(superJournal) {
            return nil
        }
        self.content = content
        self.pageSize = pageSize
        var segments: [Segment] = []
        header = try Self.header(content, at: 0, isFirst: true, pageSize)
        // The engine looks for no header in less than a sector of 512 bytes.
        if let header, try content.size() >= 512 {
            var next: Header? = header
            while let current = next {
                let segment = try Self.segment(
                    current, at: segments.last?.end ?? 0, header.sectorSize, content, pageSize)
                segments.append(segment)
                next = try Self.header(content, at: segment.end, isFirst: false, pageSize)
            }
        }
        self.segments = segments
    }

    /// Pages of the database before the transaction.
    var pageCount: Int { header?.pageCount ?? 0 }

    /// Returns the original page 1; nil when the journal does not hold it (yet): then the file is
    /// unchanged.
    func firstPage() throws -> [UInt8]? {
        try offsets[1].flatMap { try content.bytes(at: $0, count: pageSize) }
    }

    /// Returns whether any page in the journal is authentic.
    func hasRecord(of cipher: PageCipher) throws -> Bool {
        try segments.lazy.flatMap(\.records).contains { record in
            try content.bytes(at: record.offset, count: pageSize)?.withUnsafeBytes {
                cipher.isAuthentic($0, number: record.number)
            } ?? false
        }
    }

    /// Where each original page begins in the journal, from the records whose checksum is right.
    var offsets: [UInt32: Int] {
        var offsets: [UInt32: Int] = [:]
        for record in segments.flatMap(\.records) where record.isWhole {
            // The first record of a page is the original.
            if offsets[record.number] == nil, Int(record.number) <= pageCount {
                offsets[record.number] = record.offset
            }
        }
        return offsets
    }

    /// Returns the record at `offset`, for a segment with that nonce; nil when the file ends
    /// before.
    func record(at offset: Int, nonce: UInt32) throws -> Record? {
        try Self.record(content, at: offset, nonce, pageSize)
    }

    // MARK: - Reading

    private static func segment(
        _ header: Header, at offset: Int, _ sectorSize: Int, _ content: RawFile, _ pageSize: Int
    ) throws -> Segment {
        var records: [Record] = []
        var position = offset + sectorSize
        while records.count < header.recordCount,
            let record = try record(content, at: position, header.nonce, pageSize)
        {
            records.append(record)
            position += pageSize + 8
        }
        return Segment(
            header: header, records: records,
            end: (position + sectorSize - 1) / sectorSize * sectorSize)
    }

    private static func record(
        _ content: RawFile, at offset: Int, _ nonce: UInt32, _ pageSize: Int
    ) throws -> Record? {
        guard let bytes = try content.bytes(at: offset, count: pageSize + 8) else { return nil }
        var sum = nonce
        for position in stride(from: pageSize - 200, to: 0, by: -200) {
            sum &+= UInt32(bytes[4 + position])
        }
        let page = number(bytes, 0)
        return Record(
            number: page, offset: offset + 4,
            isWhole: page > 0 && number(bytes, pageSize + 4) == sum)
    }

    private static func header(
        _ content: RawFile, at offset: Int, isFirst: Bool, _ pageSize: Int
    ) throws -> Header? {
        guard let bytes = try content.bytes(at: offset, count: 28), bytes.starts(with: magic)
        else { return nil }
        let sectorSize = Int(number(bytes, 20))
        if isFirst {
            guard (32...65536).contains(sectorSize), sectorSize & (sectorSize - 1) == 0,
                number(bytes, 24) == pageSize
            else { return nil }
        }
        return Header(
            recordCount: number(bytes, 8), nonce: number(bytes, 12),
            pageCount: Int(number(bytes, 16)), sectorSize: sectorSize)
    }

    /// Returns the name of the super-journal of a transaction over several files, which is at the
    /// end of each of their journals.
    private static func superJournal(_ content: RawFile) throws -> ArraySlice<UInt8>? {
        let size = try content.size()
        guard size >= 16, let end = try content.bytes(at: size - 16, count: 16),
            end[8...].elementsEqual(magic)
        else { return nil }
        let count = Int(number(end, 0))
        guard (1...longestPath).contains(count), count <= size - 16,
            let name = try content.bytes(at: size - 16 - count, count: count),
            sums(name).contains(number(end, 4)), name[0] != 0
        else { return nil }
        return name.prefix { $0 != 0 }
    }

    /// The limit of SQLite's VFS for Unix: it ignores a longer name and plays the journal back.
    private static let longestPath = 512

    /// Returns whether a file exists as SQLite sees it: an empty file is as good as none.
    private static func isThere(_ path: ArraySlice<UInt8>) -> Bool {
        var status = stat()
        // Not a String: a name need not be UTF-8.
        let name = (path + [0]).map { CChar(bitPattern: $0) }
        return stat(name, &status) == 0
            && (status.st_mode & S_IFMT != S_IFREG || status.st_size > 0)
    }

    /// Returns the checksums of a name, whose bytes are signed on some processors and not on
    /// others.
    private static func sums(_ name: [UInt8]) -> [UInt32] {
        [
            name.reduce(0) { $0 &+ UInt32($1) },
            name.reduce(0) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) },
        ]
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
