internal import CSQLCipher
internal import Foundation

/// The origin of the SQL that a connection runs, which decides what it may do.
enum SQLOrigin {
    /// The app's statements, and the library's statements on its behalf.
    case app
    /// Statements from elsewhere; see `SecureDatabaseConfiguration.runsUntrustedSQL`.
    case stranger
    /// The text of a table, an index, a view or a trigger from the schema of a file from elsewhere.
    case schema
    /// Statements of the library alone, on a file from elsewhere.
    case library
}

extension Connection {
    /// Returns why a statement is refused, worded for its error; nil when it is not.
    ///
    /// The authorizer calls this for each thing that a statement does while it is prepared, and
    /// once more for the statements that it makes SQLite run: that of a table-valued `pragma_…` or
    /// of a virtual table.
    func reasonToRefuse(
        _ action: Int32, _ name: UnsafePointer<CChar>?, _ argument: UnsafePointer<CChar>?,
        _ database: UnsafePointer<CChar>?
    ) -> String? {
        switch (action, authorizer.origin) {
        case (SQLITE_FUNCTION, _):
            return argument.flatMap { reasonToRefuse(function: $0) }
        case (_, .schema): return reasonToRefuseInSchema(action, name)
        case (SQLITE_PRAGMA, .app), (SQLITE_PRAGMA, .stranger):
            return name.flatMap {
                reasonToRefuse(
                    pragma: String(cString: $0), argument.map { String(cString: $0) },
                    database.map { String(cString: $0) })
            }
        case (_, .app): return nil
        case (SQLITE_ATTACH, _):
            // VACUUM attaches an in-memory database with an empty name; nil is an expression, whose
            // value is unknown here.
            guard name == nil || name?.pointee != 0 else { return nil }
            return "ATTACH is refused: untrusted SQL may not access other files"
        case (SQLITE_DETACH, _):
            return "DETACH is refused: untrusted SQL may not access other files"
        case (SQLITE_CREATE_VTABLE, .stranger):
            let module = argument.map { String(cString: $0).lowercased() } ?? ""
            guard !Self.harmlessModules.contains(module) else { return nil }
            return "the virtual table is refused: the SQL is untrusted and its module is not one "
                + "of those for full-text search and R-trees"
        case (SQLITE_READ, .stranger):
            // The first shows the app's statements; the second writes pages.
            guard Self.isNamed(name, "sqlite_stmt") || Self.isNamed(name, "sqlite_dbpage") else {
                return nil
            }
            return "a table of the engine is refused: the SQL is untrusted"
        default: return nil
        }
    }

    private func reasonToRefuse(
        pragma name: String, _ argument: String?, _ database: String?
    ) -> String? {
        let rules = PragmaRules(configuration: configuration)
        guard authorizer.origin == .stranger else {
            return rules.refusal(name, argument: argument, database: database)
        }
        return rules.refusalForStranger(
            name, argument: argument, database: database, isInTransaction: isInTransaction)
    }

    // MARK: - Functions

    private func reasonToRefuse(function name: UnsafePointer<CChar>) -> String? {
        // The first loads code of another file; the second gives out pointers as blobs and accepts
        // them.
        for refused in ["load_extension", "fts3_tokenizer"] where Self.isNamed(name, refused) {
            return "\(refused)() is refused: SQL may not load code into the process"
        }
        guard authorizer.origin != .app else { return nil }
        let name = String(cString: name).lowercased()
        guard Self.functionsOfFiles.contains(name) || authorizer.directFunctions.contains(name)
        else {
            return nil
        }
        return
            "\(name)() is refused: the SQL is untrusted, and the function is the app's or "
            + "accesses other files"
    }

    /// Functions that reach other files; the last four come with shells, or as extensions.
    private static let functionsOfFiles: Set<String> = [
        "sqlcipher_export", "readfile", "writefile", "edit", "fsdir",
    ]

    private static let harmlessModules: Set<String> = [
        "fts3", "fts4", "fts4aux", "fts3tokenize", "fts5", "fts5vocab", "rtree", "rtree_i32",
        "geopoly",
    ]

    private static func isNamed(_ name: UnsafePointer<CChar>?, _ expected: String) -> Bool {
        name.map { sqlite3_stricmp($0, expected) == 0 } ?? false
    }

    // MARK: - Schemas

    /// Returns why a schema's text is refused; nil for what a CREATE does.
    ///
    /// A CREATE reads and writes the schema, makes one thing, and builds an index.
    private func reasonToRefuseInSchema(
        _ action: Int32, _ name: UnsafePointer<CChar>?
    ) -> String? {
        switch action {
        case SQLITE_READ, SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_CREATE_VIEW,
            SQLITE_CREATE_TRIGGER, SQLITE_REINDEX:
            return nil
        case SQLITE_INSERT, SQLITE_UPDATE:
            if Self.isNamed(name, "sqlite_master") || Self.isNamed(name, "sqlite_schema") {
                return nil
            }
        default: break
        }
        return
            "a statement in the schema is refused: it does something other than create a table, an index, a "
            + "view or a trigger"
    }

    /// Runs a text from the schema of a file from elsewhere, which makes one thing in this
    /// database.
    ///
    /// - Throws: `.backingStoreError` code `.notAuthorized` for a text that does anything else.
    func runSchema(_ sql: String) throws {
        try running(.schema) { try run(sql) }
    }

    /// Runs `body`, whose statements have this origin.
    func running<R>(_ newOrigin: SQLOrigin, _ body: () throws -> R) rethrows -> R {
        let before = authorizer.origin
        authorizer.origin = newOrigin
        defer { authorizer.origin = before }
        return try body()
    }
}
