internal import Foundation

/// The committed part of a write-ahead log, as a connection that opens the file now would find it.
///
/// The layout is in [SQLite's file
/// format](https://sqlite.org/fileformat2.html#the_write_ahead_log). Pages in the log are encrypted
/// as in the file; the checksums are over the encrypted bytes.
struct WriteAheadLog {
    /// The offset in the `-wal` file of each page's newest committed version.
    private(set) var offsets: [UInt32: Int] = [:]
    /// Pages of the database after the last commit of the log; nil when it has no commit.
    private(set) var pageCount: Int?
    /// The log's header; nil when it is not whole: then nothing of the log counts.
    private(set) var header: [UInt8]?
    /// The number of frames up to the last commit.
    private(set) var committedFrames = 0
    /// The number of frames before the first that is not whole.
    private(set) var wholeFrames = 0
    /// The number of frames that existed when the reading began.
    private let frameCount: Int

    static let headerSize = 32
    static let frameHeaderSize = 24

    /// Reads the log up to the last commit whose frames are whole.
    init(_ file: RawFile, pageSize: Int) throws {
        frameCount = try max(file.size() - Self.headerSize, 0) / (Self.frameHeaderSize + pageSize)
        guard let header = try file.bytes(at: 0, count: Self.headerSize),
            Self.pageSize(ofHeader: header) == pageSize, var sum = Self.checksum(ofHeader: header)
        else { return }
        self.header = header

        let frameSize = Self.frameHeaderSize + pageSize
        var frame = [UInt8](repeating: 0, count: frameSize)
        var uncommitted: [UInt32: Int] = [:]
        var offset = Self.headerSize
        while try frame.withUnsafeMutableBytes({ try file.read(into: $0, at: offset) }) == frameSize
        {
            // A frame that an earlier use of the log has left has other salts.
            guard frame[8..<16] == header[16..<24] else { return }
            sum.add(frame: frame)
            guard sum.matches(frame, at: 16), Self.number(frame, at: 0) > 0 else { return }
            wholeFrames += 1
            uncommitted[Self.number(frame, at: 0)] = offset + Self.frameHeaderSize
            let pagesAfterCommit = Self.number(frame, at: 4)
            if pagesAfterCommit > 0 {
                offsets.merge(uncommitted) { $1 }
                uncommitted = [:]
                pageCount = Int(pagesAfterCommit)
                committedFrames = wholeFrames
            }
            offset += frameSize
        }
    }

    /// Returns the page size that a log's header names; nil for an invalid header.
    static func pageSize(ofHeader header: [UInt8]) -> Int? {
        checksum(ofHeader: header).map { _ in Int(number(header, at: 8)) }
    }

    /// Returns the checksum of a header, from which the frames' continue; nil when it is not right.
    private static func checksum(ofHeader header: [UInt8]) -> Checksum? {
        guard number(header, at: 0) & ~1 == 0x377f_0682 else { return nil }
        var sum = Checksum(isBigEndian: number(header, at: 0) & 1 == 1)
        header.withUnsafeBytes { sum.add(UnsafeRawBufferPointer(rebasing: $0[..<24])) }
        return sum.matches(header, at: 24) ? sum : nil
    }

    /// Returns whether frames follow that may belong to the log, and that no connection reads.
    func isFollowed(in file: RawFile, pageSize: Int) throws -> Bool {
        guard let header else { return frameCount > 0 }
        var isFollowed = false
        try Self.forEachStoredFrame(wholeFrames..<max(frameCount, wholeFrames), of: file, pageSize)
        {
            isFollowed = try file.bytes(at: $0 + 8, count: 8) == Array(header[16..<24])
            return !isFollowed
        }
        return isFollowed
    }

    /// Passes the offset of each frame of which something is stored, until `body` returns false.
    ///
    /// A hole reads as zeros, which are not a frame: so a log costs what it holds, not its size.
    static func forEachStoredFrame(
        _ frames: Range<Int>, of file: RawFile, _ pageSize: Int, _ body: (Int) throws -> Bool
    ) rethrows {
        let frameSize = frameHeaderSize + pageSize
        let end = headerSize + frames.upperBound * frameSize
        var offset = headerSize + frames.lowerBound * frameSize
        while offset < end, let stored = file.storedBytes(from: offset) {
            let skipped = max(stored.lowerBound - offset, 0) / frameSize
            offset += skipped * frameSize
            while offset < min(end, stored.upperBound) {
                guard try body(offset) else { return }
                offset += frameSize
            }
        }
    }

    static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// SQLite's checksum of the log, over 32-bit words in the byte order that the header names.
    struct Checksum {
        let isBigEndian: Bool
        private var sums: (UInt32, UInt32) = (0, 0)

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        /// Continues from the checksum that is stored at `offset`.
        init(continuingFrom bytes: [UInt8], at offset: Int, isBigEndian: Bool) {
            self.isBigEndian = isBigEndian
            sums = (number(bytes, at: offset), number(bytes, at: offset + 4))
        }

        /// Adds a frame: its first eight bytes and its page, not its salts.
        mutating func add(frame: [UInt8]) {
            frame.withUnsafeBytes { bytes in
                add(UnsafeRawBufferPointer(rebasing: bytes[..<8]))
                add(UnsafeRawBufferPointer(rebasing: bytes[WriteAheadLog.frameHeaderSize...]))
            }
        }

        mutating func add(_ bytes: UnsafeRawBufferPointer) {
            var offset = 0
            while offset < bytes.count {
                sums.0 &+= word(bytes, offset) &+ sums.1
                sums.1 &+= word(bytes, offset + 4) &+ sums.0
                offset += 8
            }
        }

        private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
            let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
        }

        func matches(_ bytes: [UInt8], at offset: Int) -> Bool {
            (sums.0, sums.1) == (number(bytes, at: offset), number(bytes, at: offset + 4))
        }
    }
}
