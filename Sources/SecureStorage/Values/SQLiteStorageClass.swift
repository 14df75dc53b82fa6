/// How a value is stored, before any conversion: one of SQLite's five
/// [storage classes](https://sqlite.org/datatype3.html).
///
/// It is a property of each value, not of its column.
public enum SQLiteStorageClass: Sendable, CaseIterable {
    /// NULL.
    case null
    /// INTEGER.
    case integer
    /// REAL.
    case real
    /// TEXT.
    case text
    /// BLOB.
    case blob
}
