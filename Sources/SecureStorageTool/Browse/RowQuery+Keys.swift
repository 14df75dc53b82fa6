internal import SecureStorage

// The key that orders rows: as SQL, and as conditions.
extension RowQuery {
    func order(_ isForward: Bool) -> String {
        switch shape.key {
        case .rowID(let name): name + (isForward ? "" : " DESC")
        case .offset: "1"
        case .primaryKey(let columns):
            columns.map {
                "\(Self.collated($0)) \($0.isDescending == isForward ? "DESC" : "ASC")"
            }.joined(separator: ", ")
        }
    }

    private static func collated(_ column: KeyShape.Column) -> String {
        let name = SQLName.quoted(column.name)
        return column.collation.map { "\(name) COLLATE \(SQLName.quoted($0))" } ?? name
    }

    /// Compares in the order of the key: `>` is "after", also where a column is descending.
    func comparison(
        with key: RowKey, _ sign: String, _ values: inout [SQLiteValue]
    ) -> String {
        guard case .values(let parts) = key else { return "1" }
        guard case .primaryKey(let columns) = shape.key, columns.count == parts.count else {
            guard case .rowID(let name) = shape.key, parts.count == 1 else { return "1" }
            values.append(parts[0].value)
            return "\(name) \(sign) ?"
        }
        let isUniform = Set(columns.map(\.isDescending)).count == 1
        if isUniform {
            values += parts.map(\.value)
            let names = columns.map { Self.collated($0) }.joined(separator: ", ")
            let marks = parts.map(\.placeholder).joined(separator: ", ")
            return "(\(names)) \(Self.sign(sign, columns[0].isDescending)) (\(marks))"
        }
        // (a, b DESC) > (?, ?) is: a >= ? AND (a > ? OR (a = ? AND b < ?)); the first term is what
        // the key is looked up by.
        let bound =
            "\(Self.collated(columns[0])) "
            + "\(Self.sign(String(sign.prefix(1)) + "=", columns[0].isDescending)) "
            + parts[0].placeholder
        values.append(parts[0].value)
        var alternatives: [String] = []
        for last in columns.indices {
            var terms: [String] = []
            for index in 0..<last {
                terms.append("\(Self.collated(columns[index])) = \(parts[index].placeholder)")
                values.append(parts[index].value)
            }
            // Only the last column may be equal.
            let isLast = last == columns.count - 1
            let strict = isLast ? sign : String(sign.prefix(1))
            let signOfColumn = Self.sign(strict, columns[last].isDescending)
            terms.append(
                "\(Self.collated(columns[last])) \(signOfColumn) \(parts[last].placeholder)")
            values.append(parts[last].value)
            alternatives.append("(\(terms.joined(separator: " AND ")))")
        }
        return "\(bound) AND (\(alternatives.joined(separator: " OR ")))"
    }

    private static func sign(_ sign: String, _ isDescending: Bool) -> String {
        guard isDescending else { return sign }
        return (sign.hasPrefix(">") ? "<" : ">") + sign.dropFirst()
    }

    /// The condition that only the row with this key fulfils.
    static func condition(
        _ shape: TableShape, _ key: RowKey, _ values: inout [SQLiteValue]
    ) -> String? {
        guard case .values(let parts) = key else { return nil }
        values += parts.map(\.value)
        switch shape.key {
        case .rowID(let name) where parts.count == 1: return "\(name) = ?"
        case .primaryKey(let columns) where columns.count == parts.count:
            return zip(columns, parts).map { "\(collated($0)) = \($1.placeholder)" }
                .joined(separator: " AND ")
        default: return nil
        }
    }
}
