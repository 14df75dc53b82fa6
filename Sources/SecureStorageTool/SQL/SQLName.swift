internal import Foundation
internal import SecureStorage

/// Names of tables and columns in SQL.
enum SQLName {
    /// Quotes a name, safely for any name that SQLite allows.
    static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    /// Returns the name as a string literal.
    static func literal(_ name: String) -> String {
        "'" + name.replacingOccurrences(of: "'", with: "''") + "'"
    }
}

extension SecureDatabaseStore {
    /// Returns the first column of every row as text.
    func names(_ sql: String, _ values: String...) throws -> [String] {
        let rows = try executeQuery(sql, values: values)
        defer { rows.close() }
        var names: [String] = []
        while try rows.next() { names.append(rows.string(forColumnIndex: 0) ?? "") }
        return names
    }
}
