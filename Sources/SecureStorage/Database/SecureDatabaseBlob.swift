public import Foundation

/// One BLOB or TEXT of a row, read and written at any offset without loading it whole.
///
/// Passed by ``SecureDatabaseStore/withBlob(table:column:rowID:database:isWritable:_:)``. It
/// belongs to the thread of its store and ends with that call: later calls throw `.closed`. If the
/// row is changed by SQL in the meantime, they throw code `.abort` (SQLITE_ABORT).
public final class SecureDatabaseBlob {
    private let store: SecureDatabaseStore
    private let blob: IncrementalBlob
    private var rowID: Int64
    /// The name of the table for observers; nil for one of an attached database.
    private let observedTable: String?

    init(
        _ blob: IncrementalBlob, of store: SecureDatabaseStore, rowID: Int64, observedTable: String?
    ) {
        self.blob = blob
        self.store = store
        self.rowID = rowID
        self.observedTable = observedTable
    }

    /// The size in bytes, which only SQL can change; 0 when closed.
    ///
    /// The corresponding C function is
    /// [`sqlite3_blob_bytes`](https://sqlite.org/c3ref/blob_bytes.html).
    public var count: Int { blob.count }

    /// Reads bytes.
    ///
    /// - Parameters:
    ///   - offset: Where they begin, at least 0.
    ///   - count: Their number; fewer are read at the end of the value.
    /// - Returns: The bytes; none at the end of the value.
    /// - Throws: `.closed`, `.suspended`; `.backingStoreError`, code `.range` for an offset outside
    ///   of the value, code `.corrupt` for a damaged page; `CancellationError`.
    public func read(at offset: Int, count: Int) throws -> Data {
        try requireUsable()
        let size = max(min(count, blob.count - offset), 0)
        var data = Data(count: size)
        try data.withUnsafeMutableBytes { try blob.read(into: $0, at: offset) }
        return data
    }

    /// Reads bytes into memory of the caller.
    ///
    /// - Parameters:
    ///   - buffer: Filled completely.
    ///   - offset: Where they begin, at least 0.
    /// - Throws: As ``read(at:count:)``; code `.range` also if the value ends before.
    ///
    /// The corresponding C function is
    /// [`sqlite3_blob_read`](https://sqlite.org/c3ref/blob_read.html).
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try requireUsable()
        try blob.read(into: buffer, at: offset)
    }

    /// Overwrites bytes.
    ///
    /// - Parameters:
    ///   - bytes: `Data` or `[UInt8]`, for example.
    ///   - offset: Where they begin. They cannot end after the value.
    /// - Throws: As ``read(into:at:)``; code `.readOnly` for a value that was opened for reading.
    ///
    /// The corresponding C function is
    /// [`sqlite3_blob_write`](https://sqlite.org/c3ref/blob_write.html).
    public func write(_ bytes: some ContiguousBytes, at offset: Int) throws {
        try requireUsable()
        try bytes.withUnsafeBytes { try blob.write($0, at: offset) }
        // No hook of the engine reports it.
        if let observedTable {
            blob.connection.recorder?.noteUnseenUpdate(of: observedTable, rowID)
        }
    }

    /// Moves to the same column of another row, which is faster than opening that one.
    ///
    /// - Parameter rowID: The row.
    /// - Throws: As ``read(at:count:)``; code `.error` for a missing row, after which every call
    ///   throws.
    ///
    /// The corresponding C function is
    /// [`sqlite3_blob_reopen`](https://sqlite.org/c3ref/blob_reopen.html).
    public func move(toRowID rowID: Int64) throws {
        try requireUsable()
        try blob.move(to: rowID)
        self.rowID = rowID
    }

    func close() { blob.close() }

    private func requireUsable() throws {
        guard blob.isOpen, store.connection === blob.connection else {
            throw SecureStorageError.closed
        }
        try blob.connection.home.requireCurrent()
        try store.requireGoingOn()
    }
}

@available(*, unavailable, message: "a value belongs to its store's thread; copy what you need")
extension SecureDatabaseBlob: Sendable {}

extension SecureDatabaseStore {
    /// Opens one value of a row, to read or write parts of it without loading it whole.
    ///
    /// ```swift
    /// try db.executeUpdate("UPDATE file SET body = zeroblob(?) WHERE id = ?", values: [size, id])
    /// try db.withBlob(table: "file", column: "body", rowID: id, isWritable: true) { blob in
    ///     try blob.write(head, at: 0)
    /// }
    /// ```
    ///
    /// A value has at most a billion bytes. Its size is changed with SQL, and a `zeroblob` needs no
    /// memory if its column is the last one of the table.
    ///
    /// - Parameters:
    ///   - table: A table with row ids, not a virtual one.
    ///   - column: For writing, not part of an index or a foreign key.
    ///   - rowID: The row.
    ///   - database: `main`, or the name of an attached database.
    ///   - isWritable: Whether it may be written. Then `body` runs in a transaction, or in a
    ///     savepoint of the caller's, and is rolled back when it throws. For a savepoint the engine
    ///     holds what `body` overwrites in memory.
    ///   - body: Must not let the value escape.
    /// - Returns: The result of `body`.
    /// - Throws: `.closed`; `.backingStoreError` with SQLite's message, code `.error` for a missing
    ///   table, column or row, and for a value that is neither BLOB nor TEXT; code `.readOnly`;
    ///   any error thrown by `body`.
    ///
    /// The corresponding C function is
    /// [`sqlite3_blob_open`](https://sqlite.org/c3ref/blob_open.html).
    public func withBlob<R>(
        table: String, column: String, rowID: Int64, database: String = "main",
        isWritable: Bool = false, _ body: (SecureDatabaseBlob) throws -> R
    ) throws -> R {
        guard isWritable else {
            return try lend(openBlob(table, column, rowID, database, isWritable: false), to: body)
        }
        if connection?.authorizer.refusesWrites == true {
            throw SecureStorageError.statementFailed(
                .readOnly, "a value cannot be written in a block that only reads")
        }
        var result: R?
        try inTransaction(.immediate) { _ in
            result = try lend(
                openBlob(table, column, rowID, database, isWritable: true), to: body)
            return false
        }
        guard let result else { preconditionFailure("inTransaction did not run its block") }
        return result
    }

    /// Opens a value, which its last reference closes.
    func openBlob(
        _ table: String, _ column: String, _ rowID: Int64, _ database: String, isWritable: Bool
    ) throws -> SecureDatabaseBlob {
        let connection = try workingConnection()
        let blob = try IncrementalBlob(
            on: connection, database: database, table: table, column: column, rowID: rowID,
            isWritable: isWritable)
        return SecureDatabaseBlob(
            blob, of: self, rowID: rowID,
            observedTable: database.lowercased() == "main" ? table : nil)
    }

    func lend<R>(
        _ blob: SecureDatabaseBlob, to body: (SecureDatabaseBlob) throws -> R
    ) throws -> R {
        defer { blob.close() }
        return try body(blob)
    }
}
