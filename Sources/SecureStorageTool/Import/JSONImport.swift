internal import SecureStorage

/// Imports JSON objects, as lines or as an array, into a table.
struct JSONImport {
    let input: InputFile
    let rows: TableImport
    /// Whether an object may have several lines.
    let isArray: Bool

    /// Imports everything.
    func run(_ progress: ProgressBar) throws {
        var records = try JSONRecords(input, isArray: isArray)
        var record = JSONRecords.Record()
        var columns = JSONColumns(rows)
        let place = records.form == .lines ? "line" : "object"
        while try records.advance(to: &record) {
            do {
                let members = try JSONObjectReader.members(of: record.bytes, place)
                let names = try columns.names(of: members.map(\.name))
                try rows.insert(members.map(\.value), with: rows.statement(names))
            } catch {
                try rows.leaveOut(error, line: record.line)
            }
            progress.advance(to: input.position, "\(rows.rowCount) rows")
        }
    }
}

/// The columns for the members of JSON objects.
private struct JSONColumns {
    private let rows: TableImport
    private var byMember: [String: String] = [:]
    /// The columns of all members, of which some may differ in their case only.
    private var used: Set<String> = []

    init(_ rows: TableImport) { self.rows = rows }

    /// Returns the columns of the members of an object, in their order, and makes those that are
    /// missing.
    mutating func names(of members: [String]) throws -> [String] {
        guard !members.isEmpty || rows.isMade else {
            throw Failure("the object has no members, so the table would have no columns")
        }
        if members.contains(where: { byMember[$0] == nil }) { try add(members) }
        let columns = members.map { byMember[$0] ?? $0 }
        if byMember.count > used.count, Set(columns).count < columns.count {
            let twice = columns.first { column in columns.count { $0 == column } > 1 } ?? ""
            throw Failure("two members are the column \"\(twice)\"")
        }
        return columns
    }

    private mutating func add(_ object: [String]) throws {
        var taken = ColumnNames()
        for member in object {
            if let column = byMember[member] { _ = taken.add(column) }
        }
        var new: [(member: String, column: String)] = []
        for member in object where byMember[member] == nil {
            let name = taken.free(member, besides: rows.names)
            let column = rows.names[name] ?? name
            _ = taken.add(column)
            new.append((member, column))
        }
        // They have no type, so that each value keeps its own.
        try rows.make(new.filter { !rows.has($0.column) }.map { (name: $0.column, type: "") })
        for (member, column) in new {
            byMember[member] = column
            used.insert(column)
            if column.lowercased() != member.lowercased() {
                rows.remarks.named.append("a member \"\(member)\" named \"\(column)\"")
            }
        }
    }
}
