internal import Foundation

/// Determines whether a write-ahead log has lost commits; `LogDamage` defines what counts as proof.
///
/// Frames after the first that is not whole are examined one by one. A frame belongs to the current
/// log when it carries the salts of the log's header, its page is authentic, and no power cut can
/// have put the two together. Each frame's checksum continues from the one stored in the frame
/// before it, which shows the order of the writes.
struct LogExamination {
    let path: String
    let cipher: PageCipher
    /// Whether a transaction was synced before the next began.
    let syncsCommits: Bool

    private var pageSize: Int { cipher.format.pageSize }
    private var frameSize: Int { WriteAheadLog.frameHeaderSize + pageSize }

    /// A frame after the last commit that counts.
    private struct Frame {
        /// The index of the frame, from 0.
        let index: Int
        let page: UInt32
        let endsTransaction: Bool
        /// Whether it was written with this log, and its page is authentic.
        let isKnown: Bool
        /// Whether its checksum continues from that of the frame before it.
        let isLinked: Bool
    }

    /// Returns proven damage; nil for a sound log, for none, and for one that is being written.
    func damage() throws -> LogDamage? {
        let log = path + "-wal"
        guard access(log, F_OK) == 0 else { return nil }
        return try SideFileExamination.confirmed(log, look)
    }

    private func look() throws -> LogDamage? {
        // Its writer may have removed it just now.
        guard let content = try RawFile(ifPresent: path + "-wal") else { return nil }
        // Frames that arrive while the log is read do not count as following its end.
        let count = try max(content.size() - WriteAheadLog.headerSize, 0) / frameSize
        let log = try WriteAheadLog(content, pageSize: pageSize)
        guard try log.isFollowed(in: content, pageSize: pageSize) else { return nil }
        guard let header = try log.header ?? salvagedHeader(content) else { return nil }
        let frames = try unreadFrames(of: count, log, header, content)
        guard let last = frames.last(where: { $0.isKnown && $0.endsTransaction }) else {
            return nil
        }
        let unread = frames.filter { $0.isKnown && $0.index <= last.index }
        let file = try RawFile(path)
        let inFile = try unread.filter { try isInFile($0, content, file) }
        guard log.header == nil || !inFile.isEmpty || syncsCommits && hasLaterCommit(frames)
        else { return nil }
        let isAllInFile = try isAllInFile(unread, log, content, file)
        // If a frame cannot be read here, the log's whole part may hold an older version of its
        // page.
        let hidesPage = log.committedFrames > 0 && unread.count <= last.index - log.committedFrames
        return LogDamage(
            firstDamagedFrame: log.header.map { _ in log.wholeFrames + 1 },
            unreadFrames: unread.count,
            unreadCommits: unread.count(where: \.endsTransaction),
            pages: Set(unread.map(\.page)).sorted().map(Int.init), isAllInFile: isAllInFile,
            mixesStates: !inFile.isEmpty && (!isAllInFile || hidesPage))
    }

    /// Returns the log's header with the salts of the first frame: for a log whose header is
    /// damaged.
    ///
    /// A header is synced before any frame follows it, so no crash leaves frames without one.
    private func salvagedHeader(_ content: RawFile) throws -> [UInt8]? {
        guard
            let header = try content.bytes(at: 0, count: WriteAheadLog.headerSize),
            let frame = try content.bytes(at: WriteAheadLog.headerSize, count: frameSize)
        else { return nil }
        return Array(header[..<16]) + Array(frame[8..<16]) + Array(header[24...])
    }

    /// Returns the frames after the last commit that counts.
    private func unreadFrames(
        of frameCount: Int, _ log: WriteAheadLog, _ header: [UInt8], _ content: RawFile
    ) throws -> [Frame] {
        let count = log.committedFrames
        let salts = header[16..<24]
        let isBigEndian = header[3] & 1 == 1
        var frames: [Frame] = []
        // The previous frame: the stored checksum from which the next one continues, and its
        // offset.
        var previous: (bytes: [UInt8], offset: Int)?
        if count == 0 { previous = (Array(header[8...]), offset(-1)) }
        try WriteAheadLog.forEachStoredFrame(count..<max(frameCount, count), of: content, pageSize)
        {
            start in
            let before = start - frameSize
            if previous?.offset != before {
                previous = try content.bytes(at: before, count: WriteAheadLog.frameHeaderSize)
                    .map { ($0, before) }
            }
            guard let stored = previous?.bytes,
                let found = try content.bytes(at: start, count: WriteAheadLog.frameHeaderSize)
            else { return false }
            previous = (found, start)
            let index = (start - WriteAheadLog.headerSize) / frameSize
            // Frames of an earlier use of the log are many, and are not read.
            guard found[8..<16] == salts || index == log.wholeFrames,
                let frame = try content.bytes(at: start, count: frameSize)
            else { return true }
            var sum = WriteAheadLog.Checksum(
                continuingFrom: stored, at: 16, isBigEndian: isBigEndian)
            sum.add(frame: frame)
            let isLinked = sum.matches(frame, at: 16)
            let page = WriteAheadLog.number(frame, at: 0)
            frames.append(
                Frame(
                    index: index, page: page,
                    endsTransaction: WriteAheadLog.number(frame, at: 4) > 0,
                    isKnown: (isLinked || frame[8..<16] == salts && !canBeTorn(index))
                        && isAuthentic(frame, page),
                    isLinked: isLinked))
            return true
        }
        return frames
    }

    /// Returns whether a power cut can leave the header of a frame with the page of an earlier one.
    ///
    /// A sector is old or new as a whole, and so is an authentic page.
    private func canBeTorn(_ index: Int) -> Bool {
        !isInOneSector(index, count: WriteAheadLog.frameHeaderSize + 1)
    }

    private func isAuthentic(_ frame: [UInt8], _ number: UInt32) -> Bool {
        frame.withUnsafeBytes {
            cipher.isAuthentic(
                UnsafeRawBufferPointer(rebasing: $0[WriteAheadLog.frameHeaderSize...]),
                number: number)
        }
    }

    /// Returns whether a transaction ends at or after the first frame that is not whole, and
    /// another one continues from it.
    private func hasLaterCommit(_ frames: [Frame]) -> Bool {
        zip(frames, frames.dropFirst()).contains { end, next in
            guard end.endsTransaction, next.index == end.index + 1, next.isKnown, next.isLinked
            else { return false }
            return end.isKnown && end.isLinked
                || isInOneSector(end.index, count: WriteAheadLog.frameHeaderSize)
        }
    }

    /// Returns whether the first `count` bytes of a frame are in one sector, which a power cut
    /// leaves either old or new.
    ///
    /// For the header, they are then as old as its checksum, for which the next frame vouches.
    private func isInOneSector(_ index: Int, count: Int) -> Bool {
        offset(index) / 512 == (offset(index) + count - 1) / 512
    }

    private func isInFile(_ frame: Frame, _ content: RawFile, _ file: RawFile) throws -> Bool {
        guard frame.page > 0, let page = try page(of: frame.index, content) else { return false }
        return try file.bytes(at: (Int(frame.page) - 1) * pageSize, count: pageSize) == page
    }

    /// Returns whether a connection finds the newest version of each page.
    private func isAllInFile(
        _ unread: [Frame], _ log: WriteAheadLog, _ content: RawFile, _ file: RawFile
    ) throws -> Bool {
        let newest = Dictionary(unread.map { ($0.page, $0) }) { $1 }
        return try newest.values.allSatisfy { frame in
            guard let offset = log.offsets[frame.page] else {
                return try isInFile(frame, content, file)
            }
            return try content.bytes(at: offset, count: pageSize) == page(of: frame.index, content)
        }
    }

    private func page(of index: Int, _ content: RawFile) throws -> [UInt8]? {
        try content.bytes(at: offset(index) + WriteAheadLog.frameHeaderSize, count: pageSize)
    }

    private func offset(_ index: Int) -> Int { WriteAheadLog.headerSize + index * frameSize }
}
