import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Two members, and what each has written and not yet told the other.
final class MergePair {
    static let schema = """
        CREATE TABLE folder (id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE);
        CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL,
            folder TEXT REFERENCES folder (id) ON DELETE CASCADE, text TEXT);
        """

    let first: CapturedFile
    let second: CapturedFile

    init(_ schema: String = MergePair.schema, _ tables: [String] = ["note", "folder"]) throws {
        func file(_ number: UInt8) throws -> CapturedFile {
            try CapturedFile(schema, member: .numbered(number)) { declared in
                for table in tables { declared.add(table) }
            }
        }
        (first, second) = (try file(1), try file(2))
    }

    func timestamped(_ file: CapturedFile) throws -> [RowChange] {
        try file.write { try file.capture.timestampAndSettle(in: file.db) }
    }

    /// Both timestamp, then each gets what the other has.
    func exchange() throws -> (MergeReport, MergeReport) {
        let (own, other) = (try timestamped(first), try timestamped(second))
        return (
            try first.write { try first.capture.apply(other, in: first.db) },
            try second.write { try second.capture.apply(own, in: second.db) }
        )
    }

    func expect(_ sql: String, _ rows: [String?]) throws {
        for file in [first, second] { try check(file.db.strings(sql), equals: rows) }
    }
}
