internal import SecureStorage

/// Imports a file with one JSON object per line into a table.
struct JSONLinesImport {
    let input: InputFile
    let table: String

    /// - Returns: The number of rows.
    func run(in store: SecureDatabaseStore, _ progress: ProgressBar) throws -> Int {
        let rows = TableImport(table, in: store)
        var chunk: [UInt8] = []
        var line: [UInt8] = []
        var number = 1
        do {
            while true {
                try input.read(into: &chunk)
                if chunk.isEmpty { break }
                var rest = chunk[...]
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    line += rest[..<end]
                    try insert(line, into: rows)
                    progress.advance(to: input.position, "\(rows.rowCount) rows")
                    line.removeAll(keepingCapacity: true)
                    number += 1
                    rest = rest[(end + 1)...]
                }
                line += rest
            }
            try insert(line, into: rows)
        } catch {
            throw located(error, line: number)
        }
        return rows.rowCount
    }

    private func insert(_ line: [UInt8], into rows: TableImport) throws {
        guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }) else { return }
        let members = try JSONObjectReader.members(of: line)
        let columns = members.map(\.name)
        // The columns have no type, so that each value keeps its own.
        if rows.rowCount == 0 { try rows.makeTable(columns, type: "") }
        try rows.insert(members.map(\.value), with: rows.statement(columns))
    }
}
