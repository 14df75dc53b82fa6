import SecureStorage

/// Whether the engine was built without a function or a module that an SQL text names: an engine
/// that lacks it need not refuse it.
///
/// - Parameter sql: Any text.
/// - Returns: True for `fts3_tokenizer` without FTS3, and `sqlite_stmt` without its module.
/// - Throws: `SecureStorageError` if the engine cannot be used.
package func engineLacks(_ sql: String) throws -> Bool {
    let needed =
        [("fts3_tokenizer", ["ENABLE_FTS3", "ENABLE_FTS4"]), ("sqlite_stmt", ["ENABLE_STMTVTAB"])]
        .first { sql.contains($0.0) }?.1
    guard let needed else { return false }
    let engine = try SecureDatabaseStore.engine
    return !needed.contains { engine.hasOption($0) }
}
