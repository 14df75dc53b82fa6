import Foundation
import Testing
import TestSupport

@testable import SecureStorage

/// Tokenizers in Swift, on every connection, with any bytes and any errors.
@Suite(.engine(has: "ENABLE_FTS5")) struct FullTextTokenizerTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    /// Cuts at commas, and fails where the text or the arguments ask for it.
    private struct Commas: FullTextTokenizer {
        static let name = "commas"

        struct Canary: Error { let text = "secret" }

        init(arguments: [String]) throws {
            if arguments == ["own"] { throw SecureDatabaseFunctionError("commas has no own") }
            if !arguments.isEmpty { throw Canary() }
        }

        func tokenize(
            _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
            into tokens: borrowing FullTextTokens
        ) throws {
            var start = 0
            for part in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let range = start..<start + part.count
                start = range.upperBound + 1
                switch String(decoding: part, as: UTF8.self) {
                case "": continue
                case "fail": throw Canary()
                case "own": throw SecureDatabaseFunctionError("own words\0 of commas")
                case "far": try tokens.add("x", at: 0..<text.count + 1)
                case "back":
                    try tokens.add("x", at: range)
                    try tokens.add("x", at: 0..<0)
                case "dropped": try? tokens.add("x", at: 0..<text.count + 1)
                case "empty": try tokens.add("", at: range)
                case "synonym":
                    try tokens.add("a", at: range)
                    try tokens.addSynonym("b")
                default: try tokens.add(UnsafeBufferPointer(rebasing: part), at: range)
                }
            }
        }
    }

    private struct Synonym: FullTextTokenizer {
        static let name = "synonym"

        init(arguments: [String]) {}

        func tokenize(
            _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
            into tokens: borrowing FullTextTokens
        ) throws {
            try tokens.addSynonym("x")
        }
    }

    private func makeStore() throws -> SecureDatabaseStore {
        let db = try database.openStore { $0.tokenizers = [Commas.self, Synonym.self] }
        try db.executeUpdate("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = commas)")
        return db
    }

    @Test func `a table uses the tokenizer for rows and for queries`() throws {
        let db = try makeStore()
        try db.executeUpdate("INSERT INTO t VALUES ('one two,three'), ('three,four'), (NULL), ('')")
        try check(
            db.strings("SELECT rowid FROM t WHERE t MATCH '\"three\"' ORDER BY 1"),
            equals: [
                "1", "2",
            ])
        try check(db.strings("SELECT rowid FROM t WHERE t MATCH '\"one two\"'"), equals: ["1"])
        try check(db.strings("SELECT rowid FROM t WHERE t MATCH '\"two\"'"), equals: [])
        try check(
            db.strings(
                "SELECT highlight(t, 0, '[', ']') FROM t WHERE t MATCH '\"three\"' ORDER BY rowid"),
            equals: ["one two,[three]", "[three],four"])
        try db.executeUpdate("INSERT INTO t VALUES ('z,synonym')")
        try check(db.strings("SELECT x FROM t WHERE t MATCH '\"b\"'"), equals: ["z,synonym"])
        try db.executeUpdate("INSERT INTO t(t) VALUES ('integrity-check')")
    }

    @Test func `each connection of a queue and a pool has it, and so have copies and checks`()
        async throws
    {
        try makeStore().close()
        var configuration = SecureDatabaseConfiguration()
        configuration.tokenizers = [Commas.self]
        let pool = SecureDatabasePool(url: database.url, configuration: configuration)
        try await pool.open(with: .raw(TemporaryDatabase.key))
        try await pool.write { try $0.executeUpdate("INSERT INTO t VALUES ('a b,c')") }
        // Readers at the same time, so that each has a connection of its own.
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await pool.read { db in
                        try db.int(forQuery: "SELECT count(*) FROM t WHERE t MATCH '\"a b\"'")
                    }
                }
            }
            for try await count in group { check(count, equals: 1) }
        }
        try await check(pool.verifyIntegrity().isSound)
        let copy = try TemporaryDatabase(name: "copy.db")
        try await pool.backup(to: copy.url)
        await pool.close()
        let queue = SecureDatabaseQueue(url: copy.url, configuration: configuration)
        try await queue.open(with: .raw(TemporaryDatabase.key))
        try await check(
            queue.read { try $0.strings("SELECT x FROM t WHERE t MATCH '\"c\"'") },
            equals: [
                "a b,c"
            ])
        try await check(queue.verifyIntegrity().isSound)
        await queue.close()
    }

    @Test(arguments: [
        ("x,fail", "the tokenizer commas failed: Canary"), ("own", "own words\u{fffd} of commas"),
        ("far", "outside of the text"), ("a,back", "before the last token"),
    ])
    func `an error fails the statement with its reason, and the index stays whole`(
        _ text: String, _ reason: String
    ) throws {
        let db = try makeStore()
        try db.executeUpdate("INSERT INTO t VALUES ('one')")
        for body in [
            { try db.executeUpdate("INSERT INTO t VALUES (?)", values: [text]) },
            { _ = try db.strings("SELECT x FROM t WHERE t MATCH '\"\(text)\"'") },
        ] as [() throws -> Void] {
            let error = storageError(body)
            check(error?.resultCode, equals: .error)
            check(
                error?.description.contains(reason), equals: true, "\(error?.description ?? "none")"
            )
            check(error?.description.contains("secret"), equals: false)
        }
        // The next error has its own words.
        check(
            storageError { try db.executeUpdate("INSERT INTO missing VALUES (1)") }?.description
                .contains("no such table"), equals: true)
        try db.executeUpdate("INSERT INTO t(t) VALUES ('integrity-check')")
        try check(db.strings("SELECT x FROM t WHERE t MATCH '\"one\"'"), equals: ["one"])
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `a dropped error of a range and a first synonym do not reach the engine`() throws {
        let db = try makeStore()
        try db.executeUpdate("INSERT INTO t VALUES ('dropped,b,empty')")
        try check(db.strings("SELECT x FROM t WHERE t MATCH '\"b\"'"), equals: ["dropped,b,empty"])
        try db.executeUpdate("CREATE VIRTUAL TABLE s USING fts5(x, tokenize = synonym)")
        check(
            storageError { try db.executeUpdate("INSERT INTO s VALUES ('a')") }?.description
                .contains("cannot be a synonym"), equals: true)
    }

    @Test func `arguments that it refuses, and one that a program does not have, are errors`()
        throws
    {
        let db = try makeStore()
        for (argument, reason) in [
            ("own", "commas has no own"), ("other", "commas failed: Canary"),
        ] {
            let error = storageError {
                try db.executeUpdate(
                    "CREATE VIRTUAL TABLE u USING fts5(x, tokenize = 'commas \(argument)')")
            }
            check(error?.resultCode, equals: .error)
            check(
                error?.description.contains(reason), equals: true, "\(error?.description ?? "none")"
            )
        }
        db.close()
        let other = try database.openStore()
        let error = storageError { _ = try other.strings("SELECT x FROM t WHERE t MATCH 'one'") }
        check(error?.description.contains("no such tokenizer"), equals: true)
    }

    @Test func `bytes that are not UTF-8 are passed as they are`() throws {
        let db = try makeStore()
        try db.executeUpdate("INSERT INTO t VALUES (CAST(x'ff2cc32c41' AS TEXT))")
        try check(db.int("SELECT count(*) FROM t WHERE t MATCH CAST(x'22c322' AS TEXT)"), equals: 1)
        try check(db.int("SELECT count(*) FROM t WHERE t MATCH '\"A\"'"), equals: 1)
    }

    @Test func `a name that is invalid, and that of a built-in tokenizer, are refused`() throws {
        struct BuiltIn: FullTextTokenizer {
            static let name = "Unicode61"
            init(arguments: [String]) {}
            func tokenize(
                _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
                into tokens: borrowing FullTextTokens
            ) {}
        }
        struct Nameless: FullTextTokenizer {
            static let name = ""
            init(arguments: [String]) {}
            func tokenize(
                _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
                into tokens: borrowing FullTextTokens
            ) {}
        }
        for type in [BuiltIn.self, Nameless.self] as [any FullTextTokenizer.Type] {
            check(
                storageError { _ = try database.openStore { $0.tokenizers = [type] } }?.code,
                equals: SQLiteResultCode.misuse.rawValue)
        }
    }

    @Test func `an engine without the full-text module is a typed error`() throws {
        // The name of the module's function, taken by another one, as if there were none.
        let db = try database.openStore()
        try db.makeFunction(named: "fts5", argumentCount: 1) { _ in nil }
        let error = storageError { try db.openConnection().install([CJKTokenizer.self]) }
        guard case .openFailed(1, let message) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        check(message.contains("without FTS5"))
    }
}
