/// A range of frames in a write-ahead log, from the end of one commit to the end of another.
///
/// Each frame is checked: its salts, and the checksum that continues from the range's beginning.
struct LogFrames {
    /// The offset of the newest version of each page.
    private(set) var offsets: [UInt32: Int] = [:]
    /// The number of pages of the database after the last commit.
    private(set) var pageCount: UInt32 = 0
    private(set) var end: LogPosition

    /// Reads the frames after `start` up to the frame with the number `count`.
    ///
    /// - Throws: `.backingStoreError` code `.busySnapshot` if the frames are not those of the log:
    ///   it was restarted.
    init(of log: RawFile, from start: LogPosition, upTo count: UInt32, pageSize: Int) throws {
        end = start
        guard count > start.frame else { return }
        guard let header = try log.bytes(at: 0, count: WriteAheadLog.headerSize) else {
            throw CommittedPages.lostTrack
        }
        let isBigEndian = WriteAheadLog.number(header, at: 0) & 1 == 1
        var sum = WriteAheadLog.Checksum(
            continuingFrom: start.checksum, at: 0, isBigEndian: isBigEndian)
        let frameSize = WriteAheadLog.frameHeaderSize + pageSize
        var frame = [UInt8](repeating: 0, count: frameSize)
        for index in start.frame..<count {
            let offset = WriteAheadLog.headerSize + Int(index) * frameSize
            guard
                try frame.withUnsafeMutableBytes({ try log.read(into: $0, at: offset) })
                    == frameSize,
                frame[8..<16].elementsEqual(start.salts)
            else { throw CommittedPages.lostTrack }
            sum.add(frame: frame)
            let page = WriteAheadLog.number(frame, at: 0)
            guard sum.matches(frame, at: 16), page > 0 else { throw CommittedPages.lostTrack }
            offsets[page] = offset + WriteAheadLog.frameHeaderSize
            let pagesAfterCommit = WriteAheadLog.number(frame, at: 4)
            if pagesAfterCommit > 0 { pageCount = pagesAfterCommit }
            if index == count - 1, pagesAfterCommit == 0 { throw CommittedPages.lostTrack }
        }
        end.frame = count
        end.checksum = Array(frame[16..<24])
    }

    /// Returns the checksum of the frame with the number `count`, or of the header for 0; nil where
    /// nothing is stored.
    static func checksum(of log: RawFile, after count: UInt32, pageSize: Int) throws -> [UInt8]? {
        guard count > 0 else { return try log.bytes(at: 24, count: 8) }
        let offset =
            WriteAheadLog.headerSize + Int(count - 1) * (WriteAheadLog.frameHeaderSize + pageSize)
        return try log.bytes(at: offset + 16, count: 8)
    }
}
