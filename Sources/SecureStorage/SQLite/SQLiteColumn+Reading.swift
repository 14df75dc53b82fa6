internal import CSQLCipher
public import Foundation

// How the types of typed rows read a column. Each tests the most common storage class first,
// without building a `SQLiteValue`; any other value is converted as everywhere else.

extension SQLiteDatatypeBridgeable {
    /// Reads any value that the type converts.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Self {
        try column.converted()
    }
}

extension Optional where Wrapped: SQLiteDatatypeBridgeable {
    /// Reads NULL as nil, and any other value as the wrapped type does.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Wrapped? {
        column.isNull ? nil : try Wrapped.read(from: column)
    }
}

extension Int64 {
    /// Reads an INTEGER, or a value that spells one.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Int64 {
        let stored = Column(column.value)
        return stored.storageClass == .integer ? stored.integer : try column.converted()
    }
}

extension Int {
    /// Reads an INTEGER, or a value that spells one.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Int {
        guard let number = Int(exactly: try Int64.read(from: column)) else {
            throw SQLiteColumnMismatch()
        }
        return number
    }
}

extension Bool {
    /// Reads a number: false for zero.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Bool {
        let stored = Column(column.value)
        return stored.storageClass == .integer ? stored.integer != 0 : try column.converted()
    }
}

extension Double {
    /// Reads a REAL, or a value that a `Double` can hold.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Double {
        let stored = Column(column.value)
        return stored.storageClass == .real ? stored.real : try column.converted()
    }
}

extension String {
    /// Reads TEXT, a number as SQLite spells it, or a BLOB that is UTF-8.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> String {
        let stored = Column(column.value)
        if stored.storageClass == .text, let text = stored.text { return text }
        return try column.converted()
    }
}

extension Data {
    /// Reads a BLOB, or the UTF-8 bytes of TEXT.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Data {
        let stored = Column(column.value)
        guard stored.hasBytes else { throw SQLiteColumnMismatch() }
        return stored.data
    }
}

extension Array where Element == UInt8 {
    /// Reads a BLOB, or the UTF-8 bytes of TEXT.
    public static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> [UInt8] {
        let stored = Column(column.value)
        guard stored.hasBytes else { throw SQLiteColumnMismatch() }
        return stored.bytes
    }
}

extension SQLiteColumn {
    var isNull: Bool { Column(value).storageClass == .null }

    /// Converts a value of a less common storage class.
    @inline(never)
    func converted<T: SQLiteDatatypeBridgeable>() throws(SQLiteColumnMismatch) -> T {
        guard let stored = Column(value).sqliteValue, let converted = T(sqliteValue: stored) else {
            throw SQLiteColumnMismatch()
        }
        return converted
    }
}
