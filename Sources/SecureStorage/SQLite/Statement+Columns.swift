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

    /// The bytes of a BLOB, or of a TEXT in UTF-8.
    func blob(at index: Int) -> Data {
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
        case .blob: .blob(blob(at: index))
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
    fileprivate init?(validatingUTF8 bytes: UnsafeBufferPointer<UInt8>) {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, macCatalyst 18, *) {
            self.init(validating: bytes, as: UTF8.self)
        } else {
            self.init(decoding: bytes, as: UTF8.self)
            // A repaired text differs from its source.
            guard utf8.elementsEqual(bytes) else { return nil }
        }
    }
}
