internal import CSQLCipher
internal import Foundation

/// The values of the current row. The index must be in range and a row current: the callers see to it.
extension Statement {
    /// What is stored, before any conversion.
    @inline(__always)
    func storageClass(at index: Int) -> StorageClass {
        StorageClass(rawValue: sqlite3_column_type(handle, Int32(index)))
    }

    @inline(__always)
    func integer(at index: Int) -> Int64 { sqlite3_column_int64(handle, Int32(index)) }

    @inline(__always)
    func real(at index: Int) -> Double { sqlite3_column_double(handle, Int32(index)) }

    /// The text of a value of any type but NULL, converted as SQLite's CAST does; nil when the bytes
    /// are not UTF-8.
    func text(at index: Int) -> String? {
        guard let start = sqlite3_column_text(handle, Int32(index)) else { return nil }
        let length = Int(sqlite3_column_bytes(handle, Int32(index)))
        return String(validatingUTF8: UnsafeBufferPointer(start: start, count: length))
    }

    /// The bytes of a BLOB, or the UTF-8 of a TEXT, whatever the encoding of the database.
    func bytes(at index: Int) -> Data {
        if storageClass(at: index) == .text { _ = sqlite3_column_text(handle, Int32(index)) }
        // The pointer before the length: the call may convert the value.
        guard let start = sqlite3_column_blob(handle, Int32(index)) else { return Data() }
        return Data(bytes: start, count: Int(sqlite3_column_bytes(handle, Int32(index))))
    }

    /// The value as it is stored; nil for TEXT that is not UTF-8.
    func value(at index: Int) -> SQLiteValue? {
        switch storageClass(at: index) {
        case .integer: .integer(integer(at: index))
        case .real: .real(real(at: index))
        case .text: text(at: index).map { .text($0) }
        case .blob: .blob(bytes(at: index))
        default: .null
        }
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
    /// The text of exactly these bytes; nil, not a repaired text, when they are not UTF-8.
    ///
    /// Not `String(validating:as:)`, which is newer than the oldest system here and is not specialised:
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
