import SecureStorage
import TestSupport

extension Workspace {
    /// Imports a file into `a.db` by the program.
    func importing(_ name: String, _ options: [String]) throws -> Program {
        try Program(
            ["import", "a.db", name, "--key-file", "key", "--raw-key"] + options, directory: path)
    }

    /// Returns the rows that the library reads, with their values joined by `|`.
    func rows(_ name: String, _ sql: String) throws -> [String] {
        let store = try store(name)
        defer { store.close() }
        let rows = try store.executeQuery(sql)
        var texts: [String] = []
        while try rows.next() {
            texts.append(
                (0..<rows.columnCount).map { rows.string(forColumnIndex: $0) ?? "" }
                    .joined(separator: "|"))
        }
        return texts
    }
}
