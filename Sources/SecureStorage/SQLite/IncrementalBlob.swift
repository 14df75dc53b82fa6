internal import CSQLCipher

/// The sole owner of a `sqlite3_blob`: one value of one row, read and written in place.
///
/// Not thread-safe, like its connection.
final class IncrementalBlob {
    let connection: Connection
    private var handle: OpaquePointer?
    private let home = HomeProcess()
    /// The value's place, for messages.
    private let place: String

    /// - Throws: `.backingStoreError` with SQLite's message for a missing table, column or row, and
    ///   for a value that is neither BLOB nor TEXT.
    init(
        on connection: Connection, database: String, table: String, column: String, rowID: Int64,
        isWritable: Bool
    ) throws {
        self.connection = connection
        place = "\(table).\(column)"
        guard ![database, table, column].contains(where: { $0.utf8.contains(0) }) else {
            throw SecureStorageError.statementFailed(.error, "a name contains a NUL")
        }
        try connection.home.requireCurrent()
        try connection.callbacks.requireNoComparison()
        connection.authorizer.refusal = nil
        var opened: OpaquePointer?
        let code = sqlite3_blob_open(
            try connection.requireHandle(), database, table, column, rowID, isWritable ? 1 : 0,
            &opened)
        handle = opened
        guard code == SQLITE_OK else {
            defer { close() }
            throw failure(code)
        }
        try requireSoundPages()
    }

    deinit { close() }

    func close() {
        guard let handle, home.isCurrent else { return }
        self.handle = nil
        // Repeats the outcome of the last call, which was already reported.
        _ = sqlite3_blob_close(handle)
    }

    var isOpen: Bool { handle != nil }

    /// The size in bytes.
    var count: Int { handle.map { Int(sqlite3_blob_bytes($0)) } ?? 0 }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        guard let start = buffer.baseAddress, buffer.count > 0 else { return }
        let (size, position) = try range(buffer.count, offset)
        try check(sqlite3_blob_read(try requireHandle(), start, size, position))
        try requireSoundPages()
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        let (size, position) = try range(bytes.count, offset)
        try check(sqlite3_blob_write(try requireHandle(), start, size, position))
        // A damaged page that is written in part would count as whole.
        try requireSoundPages()
    }

    /// Moves to the same column of another row.
    func move(to rowID: Int64) throws {
        try check(sqlite3_blob_reopen(try requireHandle(), rowID))
        try requireSoundPages()
    }

    private func requireHandle() throws -> OpaquePointer {
        guard let handle else { throw SecureStorageError.closed }
        return handle
    }

    private func range(_ size: Int, _ offset: Int) throws -> (Int32, Int32) {
        guard offset >= 0, offset <= count, size <= count - offset else {
            throw SecureStorageError.statementFailed(
                .range,
                "\(size) bytes from \(offset) on are not within the \(count) bytes of \(place); the "
                    + "size of a value is changed with UPDATE and zeroblob()")
        }
        return (Int32(size), Int32(offset))
    }

    /// The pages of a value are the ones that SQLCipher may return as zeros; see
    /// `Connection+DamagedPages`.
    private func requireSoundPages() throws {
        guard connection.noteReadPages(), !connection.probePagers() else { return }
        throw connection.damagedPage(in: nil)
    }

    private func check(_ code: Int32) throws {
        guard code != SQLITE_OK else { return }
        throw failure(code)
    }

    private func failure(_ code: Int32) -> SecureStorageError {
        guard code & 0xff == SQLITE_ABORT else { return connection.failure(code) }
        return .statementFailed(
            .abort, "the row of \(place) was changed since the value was opened; open it again")
    }
}
