internal import Foundation
internal import SecureStorage

/// Names of tables and columns in SQL.
enum SQLName {
    /// Safe for any name that SQLite can have.
    static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    /// As a text.
    static func literal(_ name: String) -> String {
        "'" + name.replacingOccurrences(of: "'", with: "''") + "'"
    }
}

extension SecureDatabaseStore {
    /// The first column of every row, as text.
    func names(_ sql: String, _ values: String...) throws -> [String] {
        let rows = try executeQuery(sql, values: values)
        defer { rows.close() }
        var names: [String] = []
        while try rows.next() { names.append(rows.string(forColumnIndex: 0) ?? "") }
        return names
    }
}
