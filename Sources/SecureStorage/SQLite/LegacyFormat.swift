internal import CSQLCipher
internal import Foundation

/// The formats of SQLCipher 1, 2 and 3, recognised by opening a file with their parameters.
enum LegacyFormat {
    /// The version whose parameters and `key` open the file at `path`, or nil.
    ///
    /// Reads the first page only and changes nothing: the file is opened as immutable, without locks
    /// and side files. Costs at most 72,000 rounds of PBKDF2-HMAC-SHA1 for a passphrase.
    static func version(of path: String, key: EncryptionKey) -> Int? {
        [3, 2, 1].first { opens(path, key: key, version: $0) }
    }

    private static func opens(_ path: String, key: EncryptionKey, version: Int) -> Bool {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(FileStamp.immutableURI(path), &handle, flags, nil) == SQLITE_OK,
            apply(key, to: handle) == SQLITE_OK
        else { return false }
        return run("PRAGMA cipher_compatibility = \(version)", on: handle)
            && run("SELECT count(*) FROM sqlite_schema", on: handle)
    }

    private static func apply(_ key: EncryptionKey, to handle: OpaquePointer?) -> Int32 {
        switch key {
        case .passphrase(let passphrase):
            return passphrase.withUnsafeBytes {
                sqlite3_key_v2(handle, "main", $0.baseAddress, Int32(clamping: $0.count))
            }
        case .raw(let key), .rawWithSalt(let key, _):
            return DerivedKey(key: key, salt: []).withKeySpecification {
                sqlite3_key_v2(handle, "main", $0.baseAddress, Int32($0.count))
            }
        }
    }

    private static func run(_ sql: String, on handle: OpaquePointer?) -> Bool {
        sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK
    }
}
