internal import CSQLCipher
internal import Foundation

/// The state of a write-ahead log, as its connections share it in memory.
///
/// The layout is in [SQLite's description](https://sqlite.org/walformat.html#the_wal_index_file_format)
/// of the index; numbers are in the machine's byte order.
struct WALIndex: Equatable {
    /// Changes with each commit.
    let changeCounter: UInt32
    /// Identifies this use of the log, with the log's own header: a restart changes them.
    let salts: [UInt8]
    /// The number of frames up to the last commit.
    let frameCount: UInt32
    /// The number of pages of the database after the last commit.
    let pageCount: UInt32
    let pageSize: Int
    /// The frames that have been copied into the file, from the first on.
    let backfilledCount: UInt32

    /// Those that a checkpoint has begun to copy; more only during one, or after one was killed.
    let attemptedCount: UInt32

    /// Whether the file holds everything.
    var isBackfilled: Bool { backfilledCount == frameCount }

    /// Whether no commit, and no new beginning of the log, came between the two.
    func showsSameState(as other: WALIndex) -> Bool {
        (changeCounter, frameCount, pageCount) == (
            other.changeCounter, other.frameCount, other.pageCount
        )
            && salts == other.salts
    }

    /// Reads it on a connection that has a read transaction.
    ///
    /// - Throws: `.backingStoreError` code `.misuse` in another journal mode; `.busy` if another
    ///   connection does not finish its change of the index.
    init(of connection: Connection) throws {
        // Another connection may be changing it, for nanoseconds, unless its thread is interrupted.
        for attempt in 1...6000 {
            if let index = try Self.read(connection) {
                self = index
                return
            }
            if attempt > 1000 { usleep(1000) }
        }
        throw SecureStorageError.statementFailed(
            .busy, "another connection does not finish its commit; try again later")
    }

    /// Returns what the index shows; nil if its two copies of the header differ.
    private static func read(_ connection: Connection) throws -> WALIndex? {
        var bytes = [UInt8](repeating: 0, count: 136)
        try connection.check(csqlcipher_wal_index(connection.requireHandle(), &bytes))
        guard bytes[..<48] == bytes[48..<96] else { return nil }
        guard bytes[12] == 1 else {
            throw SecureStorageError.statementFailed(
                .misuse, "the database has no write-ahead log: set journal mode WAL")
        }
        return WALIndex(bytes)
    }

    private init(_ bytes: [UInt8]) {
        func number(_ offset: Int) -> UInt32 {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        }
        let size = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 14, as: UInt16.self) }
        changeCounter = number(8)
        // 64 KiB is stored as 1.
        pageSize = size == 1 ? 65536 : Int(size)
        frameCount = number(16)
        pageCount = number(20)
        salts = Array(bytes[32..<40])
        backfilledCount = number(96)
        attemptedCount = number(128)
    }
}
