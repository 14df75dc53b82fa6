public import Foundation

// Columns as bytes, copied or borrowed.

extension SecureDatabaseResultSet {
    /// Returns the value as bytes: those of a BLOB, or the UTF-8 bytes of TEXT.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func data(forColumnName columnName: String) -> Data? {
        column(columnName).flatMap { data(at: $0) }
    }

    /// Returns the value as bytes: those of a BLOB, or the UTF-8 bytes of TEXT.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func data(forColumnIndex columnIndex: Int) -> Data? {
        column(columnIndex).flatMap { data(at: $0) }
    }

    /// Returns the value as an array of bytes: those of a BLOB, or the UTF-8 bytes of TEXT.
    ///
    /// Takes one allocation, where `Data` takes two.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func bytes(forColumnName columnName: String) -> [UInt8]? {
        column(columnName).flatMap { bytes(at: $0) }
    }

    /// Returns the value as an array of bytes: those of a BLOB, or the UTF-8 bytes of TEXT.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func bytes(forColumnIndex columnIndex: Int) -> [UInt8]? {
        column(columnIndex).flatMap { bytes(at: $0) }
    }

    /// Calls a closure with the bytes of a BLOB, or the UTF-8 bytes of TEXT, without copying them.
    ///
    /// - Parameters:
    ///   - columnName: A case-insensitive name.
    ///   - body: Must not let the bytes escape, and must neither advance nor close the result set.
    /// - Returns: The result of `body`; nil, without calling `body`, for NULL, a number, a missing
    ///   column, or when no row is current.
    /// - Throws: Any error thrown by `body`.
    @inlinable
    public func withUnsafeBytes<R>(
        forColumnName columnName: String, _ body: (UnsafeRawBufferPointer) throws -> R
    ) rethrows -> R? {
        guard let bytes = lentBytes(forColumnName: columnName) else { return nil }
        return try body(bytes)
    }

    /// Calls a closure with the bytes of a BLOB, or the UTF-8 bytes of TEXT, without copying them.
    ///
    /// - Parameters:
    ///   - columnIndex: Zero-based.
    ///   - body: Must not let the bytes escape, and must neither advance nor close the result set.
    /// - Returns: The result of `body`; nil, without calling `body`, for NULL, a number, a missing
    ///   column, or when no row is current.
    /// - Throws: Any error thrown by `body`.
    @inlinable
    public func withUnsafeBytes<R>(
        forColumnIndex columnIndex: Int, _ body: (UnsafeRawBufferPointer) throws -> R
    ) rethrows -> R? {
        guard let bytes = lentBytes(forColumnIndex: columnIndex) else { return nil }
        return try body(bytes)
    }

    @usableFromInline
    func lentBytes(forColumnName columnName: String) -> UnsafeRawBufferPointer? {
        column(columnName).flatMap { lentBytes(at: $0) }
    }

    @usableFromInline
    func lentBytes(forColumnIndex columnIndex: Int) -> UnsafeRawBufferPointer? {
        column(columnIndex).flatMap { lentBytes(at: $0) }
    }

    // MARK: - By position

    @inline(__always)
    private func data(at index: Int) -> Data? {
        let column = statement.column(index)
        return column.hasBytes ? column.data : nil
    }

    @inline(__always)
    private func lentBytes(at index: Int) -> UnsafeRawBufferPointer? {
        let column = statement.column(index)
        return column.hasBytes ? column.withBytes { $0 } : nil
    }

    @inline(__always)
    private func bytes(at index: Int) -> [UInt8]? {
        let column = statement.column(index)
        return column.hasBytes ? column.bytes : nil
    }
}
