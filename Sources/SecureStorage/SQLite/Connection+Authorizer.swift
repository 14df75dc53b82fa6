internal import CSQLCipher
internal import Foundation

/// What SQL may not do, since the store does it, or since it would break what the store promises.
extension Connection {
    /// Refuses the pragmas below while they are prepared, with SQLITE_AUTH, and notes which
    /// statements control transactions.
    func installAuthorizer() throws {
        let code = sqlite3_set_authorizer(
            handle,
            { connection, action, name, argument, database, _ in
                if let connection {
                    let owner = Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                    if owner.isObserved, owner.observe(action, name, argument, database) {
                        return SQLITE_IGNORE
                    }
                }
                if action == SQLITE_TRANSACTION || action == SQLITE_SAVEPOINT, let connection {
                    Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                        .preparedControl = TransactionControl(action, name, argument)
                    return SQLITE_OK
                }
                guard action == SQLITE_PRAGMA, let name else { return SQLITE_OK }
                let pragma = String(cString: name)
                if let connection, argument != nil, pragma.lowercased() == "busy_timeout" {
                    Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                        .setsBusyTimeout = true
                }
                let isRefused = ForbiddenPragma.contains(
                    pragma, argument: argument.map { String(cString: $0) })
                return isRefused ? SQLITE_DENY : SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
        try check(code)
    }
}

/// Pragmas that are not for the SQL of an app.
enum ForbiddenPragma {
    static func contains(_ name: String, argument: String?) -> Bool {
        let name = name.lowercased()
        // key, rekey, hexkey, hexrekey, textkey, textrekey: the key would change behind the store's back
        // and leave traces. No other pragma ends so.
        if name.hasSuffix("key") { return true }
        // Works on the file's name, with keys of its own making.
        if name == "cipher_migrate" { return true }
        guard let argument else { return false }
        switch name {
        // A temporary file would be plain text.
        case "temp_store": return !["memory", "2"].contains(argument.lowercased())
        case "temp_store_directory": return true
        // Mapped pages would bypass the cipher's checks.
        case "mmap_size": return argument != "0"
        // The whole process's.
        case "hard_heap_limit", "soft_heap_limit": return true
        // Would put an end to the checkpoints of `Connection+Checkpoint`.
        case "wal_autocheckpoint": return true
        case "cipher_memory_security", "cipher_license", "cipher_add_random": return false
        // How pages are read and written must not change under an open file; `cipher_default_…` and the log,
        // which would show values, are the whole process's.
        default: return name.hasPrefix("cipher_") || name.hasSuffix("kdf_iter")
        }
    }
}
