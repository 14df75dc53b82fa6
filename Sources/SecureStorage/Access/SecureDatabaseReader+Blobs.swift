public import Foundation

// Large values as sequences of chunks.

extension SecureDatabaseReader {
    /// Returns a value in chunks, without loading it whole.
    ///
    /// ```swift
    /// for try await chunk in pool.chunks(table: "file", column: "body", rowID: id) {
    ///     try output.write(contentsOf: chunk)
    /// }
    /// ```
    ///
    /// The value is read as it is when the first chunk is requested, whatever is written in the
    /// meantime; otherwise as ``rows(of:map:)``.
    ///
    /// - Parameters:
    ///   - table: A table with row ids.
    ///   - column: A column with a BLOB or a TEXT.
    ///   - rowID: The row.
    ///   - chunkSize: The bytes of each chunk but the last, at least 1; several are read ahead.
    /// - Returns: Chunks that are read as a loop requests them. It throws the errors of
    ///   ``SecureDatabaseStore/withBlob(table:column:rowID:database:isWritable:_:)``.
    public func chunks(
        table: String, column: String, rowID: Int64, chunkSize: Int = 1 << 16
    ) -> SecureDatabaseRows<Data> {
        let point = access.point
        let size = max(chunkSize, 1)
        return SecureDatabaseRows(makeReader: { try point.makeRowReader($0) }) { store in
            let blob = try store.openBlob(table, column, rowID, "main", isWritable: false)
            var position = 0
            return {
                let chunk = try blob.read(at: position, count: size)
                position += chunk.count
                return chunk.isEmpty ? nil : chunk
            }
        }
    }
}

extension SecureDatabaseWriter {
    /// Replaces a value by the bytes of a sequence, without holding them in memory.
    ///
    /// ```swift
    /// try await pool.write(chunks, count: size, table: "file", column: "body", rowID: id)
    /// ```
    ///
    /// All of it is one transaction: other writes wait until the sequence has ended. A value has at
    /// most a billion bytes; larger ones are stored in several rows.
    ///
    /// - Parameters:
    ///   - chunks: The bytes, in chunks of any size.
    ///   - count: The number of all bytes.
    ///   - table: A table with row ids, whose last column it is: otherwise the engine holds `count`
    ///     bytes in memory.
    ///   - column: A column that is part of no index and no foreign key.
    ///   - rowID: A row that exists.
    ///   - progress: Called after each chunk, with bytes, on a separate thread; its error ends the
    ///     call.
    /// - Throws: What `chunks` and `progress` throw; `.backingStoreError`, code `.range` for
    ///   another number of bytes, code `.error` for a missing row; `CancellationError`. The value
    ///   is then as it was.
    public func write<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, count: Int, table: String, column: String, rowID: Int64,
        progress: @escaping @Sendable (FileProgress) throws -> Void = { _ in }
    ) async throws where Chunks.Element: ContiguousBytes {
        let channel = ChunkChannel()
        try await withTaskCancellationHandler {
            async let sent: Void = Self.send(chunks, to: channel)
            do {
                try await write { db in
                    try db.replaceValue(
                        table, column, rowID, count: count, progress
                    ) { try channel.receive() }
                }
                channel.end(.success(()))
            } catch {
                channel.end(.failure(error))
                throw error
            }
            await sent
        } onCancel: {
            channel.end(.failure(CancellationError()))
        }
    }

    private static func send<Chunks: AsyncSequence>(
        _ chunks: Chunks, to channel: ChunkChannel
    ) async where Chunks.Element: ContiguousBytes {
        do {
            for try await chunk in chunks {
                try await channel.send(chunk.withUnsafeBytes { Data($0) })
            }
            channel.end(.success(()))
        } catch {
            channel.end(.failure(error))
        }
    }
}

extension SecureDatabaseStore {
    /// Replaces a value by chunks.
    fileprivate func replaceValue(
        _ table: String, _ column: String, _ rowID: Int64, count: Int,
        _ progress: FileProgress.Handler, _ nextChunk: () throws -> Data?
    ) throws {
        try executeUpdate(
            "UPDATE \(SQLText.identifier(table)) SET \(SQLText.identifier(column)) = zeroblob(?) "
                + "WHERE rowid = ?", values: [count, rowID])
        guard try changedRowCount() == 1 else {
            throw SecureStorageError.statementFailed(.error, "no row \(rowID) in \(table)")
        }
        func wrongCount(_ bytes: String) -> SecureStorageError {
            .statementFailed(.range, "the sequence has \(bytes), but \(count) were announced")
        }
        // Without a savepoint, for which the engine would hold the whole value in memory; an error
        // rolls the transaction back.
        try lend(openBlob(table, column, rowID, "main", isWritable: true)) { blob in
            var position = 0
            while let chunk = try nextChunk() {
                guard chunk.count <= count - position else {
                    throw wrongCount("\(position + chunk.count) bytes or more")
                }
                try blob.write(chunk, at: position)
                position += chunk.count
                try progress(FileProgress(position, of: count))
            }
            guard position == count else { throw wrongCount("\(position) bytes") }
        }
    }
}
