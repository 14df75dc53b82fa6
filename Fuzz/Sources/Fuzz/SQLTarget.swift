import Foundation
import SecureStorage

/// Runs SQL with bound values.
///
/// An input is
///
/// ```
/// bytes
///     1  the call: u, q, s, p, n, d or v, see below; others modulo 7
///        SQL, up to the first NUL
///     1  NUL
///        values: a byte for the storage class, modulo 5, and 8 bytes of a number, or a length
///        and that many bytes
/// ```
///
/// Statements run in a transaction that is rolled back. The connection is kept until the SQL
/// changes more than a rollback undoes.
final class SQLTarget: FuzzTarget {
    private let folder: URL
    private let file: URL
    private let template: Data
    private var store: SecureDatabaseStore

    private static let key = SecretBytes(copying: [UInt8](repeating: 3, count: 32))
    // Begins each bound text. No error may show it unless the SQL contains it too.
    private static let mark = "boundText"

    init() throws {
        folder = try Scratch.folder("sql")
        file = folder.appendingPathComponent("sql.db")
        // Files that SQL names without a folder are created here.
        guard FileManager.default.changeCurrentDirectoryPath(folder.path) else {
            throw CocoaError(.fileNoSuchFile)
        }
        store = Self.store(file)
        try store.open(with: .raw(Self.key))
        try store.executeStatements(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, body, size REAL);
            CREATE TABLE tag (note INTEGER REFERENCES note ON DELETE CASCADE, name TEXT COLLATE NOCASE);
            CREATE INDEX tag_name ON tag (name);
            CREATE VIEW titled AS SELECT title, name FROM note JOIN tag ON note.id = tag.note;
            CREATE TRIGGER named AFTER INSERT ON tag WHEN new.name = '' BEGIN SELECT RAISE(ABORT, 'no name'); END;
            CREATE VIRTUAL TABLE words USING fts5(title);
            INSERT INTO note VALUES (1, 'milk', x'00ff', 1.5), (2, 'é', NULL, -1e300);
            INSERT INTO tag VALUES (1, 'food'), (1, 'white');
            INSERT INTO words VALUES ('milk and bread');
            """)
        store.close()
        template = try Data(contentsOf: file)
        try reopen()
    }

    private static func store(_ file: URL) -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = .delete
        configuration.synchronous = .normal
        configuration.busyTimeout = .zero
        return SecureDatabaseStore(url: file, configuration: configuration)
    }

    private func reopen() throws {
        store.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
        // Not copied as a file, because libFuzzer's timer would interrupt that.
        try template.write(to: file)
        store = Self.store(file)
        try store.open(with: .raw(Self.key))
        // No statement exhausts the memory, and none writes into another folder.
        try store.setLimit(.length, to: 100_000)
        try store.setLimit(.attachedDatabaseCount, to: 0)
    }

    func run(_ input: Data) throws {
        var reader = InputReader(input)
        let call = Call(reader.byte())
        let sql = String(decoding: reader.rest.prefix { $0 != 0 }, as: UTF8.self)
        reader = InputReader(reader.rest.drop { $0 != 0 }.dropFirst())
        var values: [SQLiteValue] = []
        while !reader.rest.isEmpty { values.append(Self.value(&reader)) }

        try store.beginTransaction()
        // Long enough for any statement on so few rows that terminates.
        try store.withDeadline(.milliseconds(100)) {
            do {
                try run(call, sql, values)
            } catch let error as SecureStorageError {
                precondition(
                    sql.contains(Self.mark) || !"\(error)".contains(Self.mark),
                    "an error shows a bound value: \(error)")
            }
        }
        try reset(after: sql)
    }

    private static func value(_ reader: inout InputReader) -> SQLiteValue {
        switch reader.byte() % 5 {
        case 0:
            let text = reader.bytes(Int(reader.byte()))
            return .text(mark + String(decoding: text, as: UTF8.self))
        case 1: return .blob(Data(reader.bytes(Int(reader.byte()))))
        case 2: return .integer(reader.number())
        case 3: return .real(Double(bitPattern: UInt64(bitPattern: reader.number())))
        default: return .null
        }
    }

    /// Undoes the changes of the input.
    private func reset(after sql: String) throws {
        let lasts = ["pragma", "attach", "begin", "commit", "end", "rollback", "vacuum"]
        let lowercase = sql.lowercased()
        if try store.isInTransaction(), !lasts.contains(where: lowercase.contains) {
            store.closeOpenResultSets()
            try store.rollback()
        } else {
            try reopen()
        }
    }

    // MARK: - Calls

    private enum Call: Character, CaseIterable {
        case update = "u"
        case query = "q"
        case statements = "s"
        case prepared = "p"
        case named = "n"
        case decoded = "d"
        /// All other calls that accept a name or SQL.
        case various = "v"

        init(_ byte: UInt8) {
            self =
                Call(rawValue: Character(Unicode.Scalar(byte)))
                ?? Self.allCases[Int(byte) % Self.allCases.count]
        }
    }

    private func run(_ call: Call, _ sql: String, _ values: [SQLiteValue]) throws {
        // `:a`, `@b` and so on are named in order.
        let names = zip("abcdefgh", values).map { (String($0), $1) }
        let named = Dictionary(uniqueKeysWithValues: names) as [String: SQLiteValue?]
        switch call {
        case .update: try store.executeUpdate(sql, values: values)
        case .query: try read(store.executeQuery(sql, values: values))
        case .statements: try store.executeStatements(sql) { $0.count < 100 }
        case .named: try read(store.executeQuery(sql, parameterDictionary: named))
        case .decoded:
            _ = try store.fetchAll(Row.self, SQL(raw: sql, values: values), dates: .text)
        case .prepared:
            let statement = try store.prepare(sql)
            try statement.bind(values)
            // Twice, and with a result set that is closed early.
            let rows = try statement.executeQuery()
            _ = try rows.next()
            rows.close()
            try read(statement.executeQuery(values: values.reversed()))
            statement.close()
        case .various:
            try store.validateSQL(sql)
            for case .text(let text) in values { try use(text) }
        }
    }

    /// Uses a text as the name of something.
    private func use(_ name: String) throws {
        _ = try store.tableExists(name)
        _ = try store.columnExists(name, inTable: "note")
        _ = try store.columnExists("title", inTable: name)
        try read(store.tableSchema(name))
        try store.startSavePoint(name)
        try store.executeUpdate("INSERT INTO note (title) VALUES (?)", values: [name])
        try store.rollbackToSavePoint(name)
        try store.releaseSavePoint(name)
    }

    private func read(_ rows: SecureDatabaseResultSet) throws {
        defer { rows.close() }
        var count = 0
        while count < 100, try rows.next() {
            count += 1
            for index in -1...min(rows.columnCount, 20) {
                _ = rows.string(forColumnIndex: index)
                _ = rows.data(forColumnIndex: index)
                _ = rows.int8(forColumnIndex: index)
                _ = rows.uint64(forColumnIndex: index)
                _ = rows.double(forColumnIndex: index)
                _ = rows.float(forColumnIndex: index)
                _ = rows.bool(forColumnIndex: index)
                _ = rows.date(forColumnIndex: index)
                guard let name = rows.columnName(forIndex: index) else { continue }
                _ = rows.columnIndex(forName: name)
                _ = rows.string(forColumnName: name)
                _ = try rows.type(forColumnName: name)
            }
            _ = rows.resultDictionary
        }
    }

    private struct Row: Decodable {
        var id: Int?
        var title: String?
        var body: [String]?
        var size: Float?
        var date: Date?
        var data: Data?
    }
}
