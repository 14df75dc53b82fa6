/// The change to a row that a mark records.
///
/// A number: negative for an insertion or a deletion; otherwise a bit for each of 48 columns that
/// an UPDATE changed. The bits above select the 48 columns, so a table may have as many columns as
/// SQLite allows.
enum Mark {
    static let inserted: Int64 = -1
    static let deleted: Int64 = -2
    /// A REPLACE may have removed the row: SQLite runs no delete trigger for it.
    static let perhapsReplaced: Int64 = -3

    static let wordWidth: Int64 = 48

    /// The numbers of the columns that a mark names; none for an insertion or a deletion.
    static func columns(_ mask: Int64) -> [Int64] {
        guard mask >= 0 else { return [] }
        let first = (mask >> wordWidth) * wordWidth
        return (0..<wordWidth).filter { mask >> $0 & 1 == 1 }.map { first + $0 }
    }

    static func bit(of column: Int64) -> Int64 { 1 << (column % wordWidth) }
    static func word(of column: Int64) -> Int64 { column / wordWidth }
}
