internal import CSQLCipher
internal import Foundation

/// Reads the values of the current row.
///
/// Callers ensure that a row is current and the index is in range.
extension Statement {
    /// Returns one column of the current row.
    ///
    /// It is an "unprotected" value of SQLite: the functions that read it take no lock. None is
    /// needed here, since a connection is used by one thread at a time and opened without SQLite's
    /// mutex.
    @inline(__always)
    func column(_ index: Int) -> Column { Column(sqlite3_column_value(handle, Int32(index))) }

    /// Returns the storage class before any conversion.
    @inline(__always)
    func storageClass(at index: Int) -> StorageClass { column(index).storageClass }

    /// Returns the bytes of a BLOB, or the UTF-8 of a TEXT, whatever the encoding of the database.
    func bytes(at index: Int) -> Data { column(index).data }

    /// Returns the value as it is stored; nil for TEXT that is not UTF-8.
    func value(at index: Int) -> SQLiteValue? { column(index).sqliteValue }
}

/// A value of the current row, valid until the next step.
struct Column {
    let value: OpaquePointer?

    @inline(__always)
    init(_ value: OpaquePointer?) { self.value = value }

    @inline(__always)
    var storageClass: StorageClass { StorageClass(rawValue: sqlite3_value_type(value)) }

    /// Whether it is a BLOB or a TEXT, which have bytes of their own.
    @inline(__always)
    var hasBytes: Bool { storageClass == .blob || storageClass == .text }

    @inline(__always)
    var integer: Int64 { sqlite3_value_int64(value) }

    @inline(__always)
    var real: Double { sqlite3_value_double(value) }

    /// The value as text, converted as SQLite's CAST does; nil for NULL, and when the bytes are not
    /// UTF-8.
    var text: String? {
        guard let start = sqlite3_value_text(value) else { return nil }
        let length = Int(sqlite3_value_bytes(value))
        // Ends at the first NUL, which is the end of the text as a rule.
        if let text = UnsafeRawPointer(start).withMemoryRebound(
            to: CChar.self, capacity: length + 1, { String(validatingCString: $0) }),
            text.utf8.count == length
        {
            return text
        }
        return String(validatingUTF8: UnsafeBufferPointer(start: start, count: length))
    }

    /// The value as it is stored; nil for TEXT that is not UTF-8.
    var sqliteValue: SQLiteValue? {
        switch storageClass {
        case .integer: .integer(integer)
        case .real: .real(real)
        case .text: text.map { .text($0) }
        case .blob: .blob(data)
        default: .null
        }
    }

    /// A copy of the bytes of a BLOB, or of the UTF-8 of any other value.
    var data: Data {
        withBytes { bytes in
            bytes.baseAddress.map { Data(bytes: $0, count: bytes.count) } ?? Data()
        }
    }

    /// A copy of the bytes of a BLOB, or of the UTF-8 of any other value.
    var bytes: [UInt8] { withBytes { [UInt8]($0) } }

    /// Passes the bytes of a BLOB, or the UTF-8 of any other value, whatever the encoding of the
    /// database.
    @inline(__always)
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        // The pointer before the length: the call may convert the value.
        let start =
            storageClass == .blob
            ? sqlite3_value_blob(value) : UnsafeRawPointer(sqlite3_value_text(value))
        let count = Int(sqlite3_value_bytes(value))
        return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

/// SQLite's [fundamental datatypes](https://sqlite.org/c3ref/c_blob.html).
struct StorageClass: RawRepresentable, Equatable {
    let rawValue: Int32

    static var integer: StorageClass { StorageClass(rawValue: SQLITE_INTEGER) }
    static var real: StorageClass { StorageClass(rawValue: SQLITE_FLOAT) }
    static var text: StorageClass { StorageClass(rawValue: SQLITE3_TEXT) }
    static var blob: StorageClass { StorageClass(rawValue: SQLITE_BLOB) }
    static var null: StorageClass { StorageClass(rawValue: SQLITE_NULL) }
}

extension String {
    /// Creates the text of exactly these bytes; nil, not a repaired text, when they are not UTF-8.
    ///
    /// `String(validating:as:)` is newer than the oldest supported system and is not specialised:
    /// it costs more than the rest of reading a short text.
    init?(validatingUTF8 bytes: UnsafeBufferPointer<UInt8>) {
        var text = String(decoding: bytes, as: UTF8.self)
        let isUnchanged = text.withUTF8 { text in
            guard let start = text.baseAddress, let source = bytes.baseAddress else {
                return text.count == bytes.count
            }
            return text.count == bytes.count && memcmp(start, source, text.count) == 0
        }
        guard isUnchanged else { return nil }
        self = text
    }
}
