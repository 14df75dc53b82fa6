/// The name under which a key-value store is sent and declared: `securestorage_kv/` and the store's
/// name.
///
/// Its table has a different number in each file. An app's table cannot have such a name, since
/// names that begin with `securestorage_` are refused.
enum KeyValueStoreName {
    private static let prefix = "securestorage_kv/"

    /// All bytes except lowercase ASCII letters, digits, `-`, `.` and `_` are written as `%` and
    /// two digits: stores differ by bytes, and tables must differ by more than case.
    static func table(ofStore name: String) -> String {
        var table = prefix
        for byte in name.utf8 {
            switch byte {
            case 97...122, 48...57, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                table.unicodeScalars.append(UnicodeScalar(byte))
            default:
                let digits = String(byte, radix: 16)
                table += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return table
    }

    /// The name for people: a table's name, or a store's name with the words "key-value store".
    static func title(ofTable table: String) -> String {
        store(ofTable: table).map { "key-value store \"\($0)\"" } ?? table
    }

    /// Returns the store's name; nil for a table of the app.
    static func store(ofTable table: String) -> String? {
        guard table.hasPrefix(prefix) else { return nil }
        var bytes: [UInt8] = []
        var rest = table.utf8.dropFirst(prefix.utf8.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
