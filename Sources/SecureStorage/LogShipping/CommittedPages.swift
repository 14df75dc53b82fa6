package import Foundation
internal import SecureStoragePlatform

/// The committed pages of a database as they are stored, encrypted: first all of them, then those
/// that each commit changes.
///
/// A read transaction keeps every connection, of other processes too, from restarting the log,
/// so that no commit can be missed; checkpoints still copy from it. It is replaced by a later one
/// before it ends:
///
/// - While frames are in the log that the file does not hold, the transaction holds a place in the
///   log, and the log is not restarted.
/// - While the file holds everything, the transaction may hold only the file. Then the log may be
///   restarted. Its new frames cannot be copied into the file, so from then on it grows.
///
/// Thread-safe; the methods block.
package final class CommittedPages: Sendable {
    let access: any AccessPoint
    let path: String
    /// The file's cipher settings.
    package let cipher: CipherConfiguration
    /// The key at the beginning.
    private let key: DerivedKey
    let state: Locked<State>

    struct State {
        var reader: SnapshotReader
        var snapshot: Snapshot
        /// The end of what has been returned.
        var position: LogPosition
        /// Whether the transaction may keep the log from being restarted.
        var holdsLog = true
        /// The number of frames that the log had when it was last looked at.
        var seenFrames: UInt32
        /// The number of frames when `emptyLog()` was last tried.
        var triedFrames: UInt32 = 0
        /// What `emptyLog()` has read.
        var rest: Changes?
        /// The file as it was last seen.
        var file: SeenFile
        /// Some of the pages that were returned last, and the file as it was when it had them.
        var sample = PageSample()
        var comparedFile: SeenFile?

        mutating func advance(to end: LogPosition) {
            if end.salts != position.salts { triedFrames = 0 }
            position = end
            seenFrames = end.frame
        }
    }

    /// All pages at the beginning.
    struct Snapshot {
        var pageCount: Int
        /// The offsets in the log of those pages that the file does not hold.
        var offsets: [UInt32: Int]
    }

    private let isOverwrittenFlag = Locked(false)

    /// Whether something else than a checkpoint has written into the file: its pages may be others
    /// than those that were returned, whatever the log says.
    package var isOverwritten: Bool { isOverwrittenFlag.withLock { $0 } }

    /// Notes that it has, and returns the error for it.
    func noteOverwriting() -> SecureStorageError {
        isOverwrittenFlag.withLock { $0 = true }
        return Self.lostTrack
    }

    /// Begins with the state as it is now.
    ///
    /// - Throws: `.backingStoreError` code `.misuse` for a database without a log; the errors of
    ///   `read`.
    package init(of database: any SecureDatabaseReader) throws {
        access = database.access.point
        let (reader, snapshot, position) = try Self.begin(access)
        (path, cipher, key) = try reader.use {
            guard let key = $0.key else { throw SecureStorageError.closed }
            return ($0.path, $0.configuration.cipher, key)
        }
        let file = try SeenFile(path, reader)
        state = Locked(
            State(
                reader: reader, snapshot: snapshot, position: position,
                seenFrames: position.frame, file: file))
    }

    deinit { end() }

    /// Ends the read transaction; later calls throw `.closed`.
    package func end() { state.withLock { $0.reader.close() } }

    package var pageSize: Int { cipher.pageSize }

    /// The number of pages of the snapshot.
    package var pageCount: Int { state.withLock { $0.snapshot.pageCount } }

    /// The end of what has been returned.
    package var position: LogPosition { state.withLock { $0.position } }

    /// Bytes of the log's file.
    package var logSize: Int {
        (try? RawFile(ifPresent: path + "-wal")?.size()) ?? 0
    }

    /// The keys of the file, as they were at the beginning.
    package var keys: PageKeys { PageKeys(key) }

    // MARK: - The snapshot

    private static func begin(
        _ access: any AccessPoint
    ) throws -> (SnapshotReader, Snapshot, LogPosition) {
        let reader = try SnapshotReader(access)
        do {
            for _ in 1...1000 {
                let before = try reader.use { try WALIndex(of: $0) }
                try reader.beginAnew()
                let index = try reader.use { try WALIndex(of: $0) }
                // No commit between the two, so the transaction sees what the index shows.
                guard index.showsSameState(as: before),
                    let (snapshot, position) = try snapshot(index, reader)
                else { continue }
                return (reader, snapshot, position)
            }
        } catch {
            reader.close()
            throw error
        }
        reader.close()
        throw SecureStorageError.statementFailed(
            .busy, "others write without a pause; begin again later")
    }

    /// Returns the snapshot that `reader` sees, and the end of its log; nil if the log is restarted
    /// in the meantime.
    private static func snapshot(
        _ index: WALIndex, _ reader: SnapshotReader
    ) throws -> (Snapshot, LogPosition)? {
        let (path, pageSize, pageCount) = try reader.use {
            (
                $0.path, $0.configuration.cipher.pageSize,
                try $0.text("PRAGMA page_count").flatMap { Int($0) } ?? 0
            )
        }
        let log = try RawFile(ifPresent: path + "-wal")
        let header = try log?.bytes(at: 0, count: WriteAheadLog.headerSize)
        guard let log, index.frameCount > 0 else {
            let start = header.flatMap { LogPosition(atStartOf: $0) }
            let position = start.flatMap { $0.salts == index.salts ? $0 : nil } ?? .none
            return (Snapshot(pageCount: pageCount, offsets: [:]), position)
        }
        guard let start = header.flatMap({ LogPosition(atStartOf: $0) }),
            start.salts == index.salts
        else { return nil }
        do {
            try log.sync()
            let frames = try LogFrames(
                of: log, from: start, upTo: index.frameCount, pageSize: pageSize)
            // What the file holds is read there: the log may be restarted.
            let offsets = index.isBackfilled ? [:] : frames.offsets
            return (Snapshot(pageCount: pageCount, offsets: offsets), frames.end)
        } catch SecureStorageError.backingStoreError(ResultCode.busySnapshot.rawValue, _) {
            return nil
        }
    }

    /// Reads pages of the snapshot, before the first call of `next()`.
    ///
    /// - Parameters:
    ///   - number: The first page, from 1.
    ///   - count: The number of pages.
    /// - Returns: Their bytes.
    /// - Throws: Why the read transaction has ended; the disk's errors.
    package func snapshotPages(_ number: Int, count: Int) throws -> Data {
        let (reader, snapshot) = state.withLock { ($0.reader, $0.snapshot) }
        let file = try RawFile(path)
        let log = snapshot.offsets.isEmpty ? nil : try RawFile(path + "-wal")
        var data = Data(count: count * pageSize)
        try data.withUnsafeMutableBytes { bytes in
            // Nothing is stored beyond the end of a file whose last pages are in the log.
            _ = try file.read(into: bytes, at: (number - 1) * pageSize)
            for page in number..<(number + count) {
                guard let log, let offset = snapshot.offsets[UInt32(page)] else { continue }
                let place = (page - number) * pageSize
                let part = UnsafeMutableRawBufferPointer(
                    rebasing: bytes[place..<(place + pageSize)])
                guard try log.read(into: part, at: offset) == pageSize else {
                    throw CommittedPages.lostTrack
                }
            }
        }
        // Otherwise a checkpoint may have come in between.
        try reader.requireOpen()
        return data
    }

    // MARK: - Commits

    /// Returns what was committed since the last call, or since the beginning; nil for nothing.
    ///
    /// - Throws: `.backingStoreError` code `.busySnapshot` if the connection to the log was lost or
    ///   the file was overwritten, after which only a new beginning helps; the errors of `read`.
    package func next() throws -> Changes? { try state.withLock { try next(&$0) } }

    private func next(_ state: inout State) throws -> Changes? {
        state.snapshot.offsets = [:]
        guard try !leaveLog(&state) else { return nil }
        let earlier = try replaceReader(&state)
        defer { earlier.close() }
        state.holdsLog = true
        do {
            let index = try state.reader.use { try WALIndex(of: $0) }
            let changes = try changes(upTo: index, state)
            try compareSample(&state, besides: changes.pages)
            state.advance(to: changes.end)
            state.sample = try PageSample(of: changes)
            try earlier.requireOpen()
            return changes
        } catch {
            state.reader.close()
            throw error
        }
    }

    /// Lets the log be restarted, if everything in it was returned and is in the file.
    ///
    /// - Throws: As ``next()``.
    package func leaveLog() throws { _ = try state.withLock { try leaveLog(&$0) } }

    /// - Returns: Whether everything in the log was returned.
    private func leaveLog(_ state: inout State) throws -> Bool {
        let file = try SeenFile(path, state.reader)
        guard file.follows(state.file) else { throw noteOverwriting() }
        state.file = file
        let index = file.index
        let isNew = index.salts != state.position.salts && index.frameCount > 0
        guard !isNew, index.frameCount <= state.position.frame else { return false }
        try compareSample(&state, besides: [])
        if state.holdsLog, index.isBackfilled {
            try replaceReader(&state).close()
            state.holdsLog = false
        }
        return true
    }

    /// Begins a later transaction, and returns the earlier one.
    private func replaceReader(_ state: inout State) throws -> SnapshotReader {
        let earlier = state.reader
        state.reader = try newReader()
        return earlier
    }

    /// Begins a read transaction of the state as it is now.
    ///
    /// - Throws: As `next()`.
    func newReader() throws -> SnapshotReader {
        let reader = try SnapshotReader(access)
        // All pages have changed with it.
        guard try reader.use({ $0.key?.key == key.key }) else {
            reader.close()
            throw Self.lostTrack
        }
        return reader
    }

    func changes(upTo index: WALIndex, _ state: State) throws -> Changes {
        let log = try RawFile(path + "-wal")
        // With `synchronous = NORMAL`, or grouped writes, a commit is seen before it is on the
        // disk. A copy must not have what a power cut takes from the file.
        try log.sync()
        guard let header = try log.bytes(at: 0, count: WriteAheadLog.headerSize),
            let start = LogPosition(atStartOf: header), start.salts == index.salts
        else { throw Self.lostTrack }
        let from: LogPosition
        if start.salts == state.position.salts {
            from = state.position
        } else {
            // Restarted, possibly several times, but with frames only this time: those of the log
            // before could not be copied into the file.
            guard state.position.frame == state.seenFrames else { throw Self.lostTrack }
            from = start
        }
        let frames = try LogFrames(of: log, from: from, upTo: index.frameCount, pageSize: pageSize)
        let pages = frames.offsets.keys.filter { $0 <= frames.pageCount }.sorted()
        return Changes(
            pages: pages, pageCount: Int(frames.pageCount), end: frames.end, pageSize: pageSize,
            place: .log(log, offsets: frames.offsets, state.reader))
    }

    static var lostTrack: SecureStorageError {
        .statementFailed(
            .busySnapshot,
            "the log was restarted without its pages having been read, the key has changed, or "
                + "another program has written into the file")
    }
}
