internal import Foundation

/// A value as a page holds it: a text is bytes, which need not be valid in the database's encoding.
enum StoredValue: Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text(ArraySlice<UInt8>)
    case blob(ArraySlice<UInt8>)
}

/// The encoding of a database's texts, by its number in the header and in SQLite's C interface.
enum TextEncoding: UInt8 {
    case utf8 = 1
    case utf16LittleEndian = 2
    case utf16BigEndian = 3

    /// The name as in `PRAGMA encoding`.
    var name: String {
        switch self {
        case .utf8: "UTF-8"
        case .utf16LittleEndian: "UTF-16le"
        case .utf16BigEndian: "UTF-16be"
        }
    }

    /// Returns the text of some bytes; invalid ones become U+FFFD.
    func text(_ bytes: ArraySlice<UInt8>) -> String {
        guard self != .utf8 else { return String(decoding: bytes, as: UTF8.self) }
        let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map {
            let (first, second) = (UInt16(bytes[$0]), UInt16(bytes[$0 + 1]))
            return self == .utf16BigEndian ? first << 8 | second : second << 8 | first
        }
        return String(decoding: units, as: UTF16.self)
    }
}
