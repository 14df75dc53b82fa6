public import Foundation

// Foundation's types that SQLite stores as TEXT, and texts that are not a `String`.

extension UUID: SQLiteDatatypeBridgeable {
    /// TEXT in upper case, as `uuidString` and JSON have it.
    ///
    /// SQL does not find another spelling, or 16 bytes, by it: convert a column that has these.
    public var sqliteValue: SQLiteValue { .text(uuidString) }

    /// Converts TEXT in upper or lower case, or a BLOB of 16 bytes.
    public init?(sqliteValue: SQLiteValue) {
        switch sqliteValue {
        // `uuidString:` ignores what follows a NUL.
        case .text(let text) where text.utf8.count == 36: self.init(uuidString: text)
        case .blob(let bytes):
            guard bytes.count == MemoryLayout<uuid_t>.size else { return nil }
            self.init(
                uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        case .text, .null, .integer, .real: return nil
        }
    }
}

extension URL: SQLiteDatatypeBridgeable {
    /// TEXT, the absolute URL.
    public var sqliteValue: SQLiteValue { .text(absoluteString) }

    /// Converts TEXT that is a URL as it is: with what it cannot hold percent-encoded.
    public init?(sqliteValue: SQLiteValue) {
        guard let text = String(sqliteValue: sqliteValue), let url = URL(string: text),
            url.absoluteString.utf8.elementsEqual(text.utf8)
        else { return nil }
        self = url
    }
}

extension Decimal: SQLiteDatatypeBridgeable {
    /// TEXT with all digits.
    ///
    /// In a column that is declared as a number, SQLite stores it as one if that keeps the first 15
    /// digits: declare the column as TEXT to keep all. TEXT is compared and sorted as text: use
    /// `CAST(price AS REAL)` where a number is meant.
    ///
    /// - Throws: `.typeConversionFailed` for NaN.
    public var sqliteValue: SQLiteValue {
        get throws {
            guard !isNaN else { throw SecureStorageError.typeConversionFailed }
            return .text("\(self)")
        }
    }

    /// Converts TEXT that spells a number whose digits all fit (any 38 do), an INTEGER, or a REAL
    /// as SQLite spells it.
    public init?(sqliteValue: SQLiteValue) {
        guard let text = String(sqliteValue: sqliteValue),
            let match = text.wholeMatch(
                of: /[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?/),
            let number = Decimal(string: text),
            // `Decimal(string:)` rounds to the digits that it has.
            Self.digits(match.1) == Self.digits("\(number)")
        else { return nil }
        self = number
    }

    /// The digits of a number without the zeros before and after them.
    private static func digits(_ text: some StringProtocol) -> [Character] {
        let digits = text.filter(\.isNumber).drop { $0 == "0" }
        return digits.reversed().drop { $0 == "0" }.reversed()
    }
}

extension Substring: SQLiteDatatypeBridgeable {
    /// TEXT.
    public var sqliteValue: SQLiteValue { .text(String(self)) }

    /// Converts what a `String` converts.
    public init?(sqliteValue: SQLiteValue) {
        guard let text = String(sqliteValue: sqliteValue) else { return nil }
        self.init(text)
    }
}
