import Foundation
import SecureStorage

// Compiled copies of the snippets of Docs/FromSQLiteSwift.md.

func sqliteSwiftFirstLines(path: String) throws -> [String] {
    let queue = SecureDatabaseQueue(fullDatabasePath: path)
    try queue.open(with: .passphrase("correct horse battery staple"))

    let id = try queue.write { db in try db.insert(["email": "ada@example.com"], into: "users") }
    let emails = try queue.fetchAll(
        "SELECT id, email FROM users WHERE email LIKE ?", "%@example.com"
    ) {
        (id: Int64, email: String) in "\(id) \(email)"
    }
    _ = id
    return emails
}

func encryptFile(from plain: URL, to encrypted: URL, key: DatabaseKey) throws {
    guard !SecureDatabaseStore.exists(at: encrypted) else { return }
    try SecureDatabaseStore.importPlaintext(from: plain, to: encrypted, key: key)
}

extension SchemaMigrations {
    /// Adds a step that led to a value of `user_version` and may have run on the file already.
    mutating func add(_ name: String, upToUserVersion version: Int32, sql: String) {
        add(name) { db in
            guard try db.userVersion < version else { return }
            try db.executeStatements(sql)
            try db.setUserVersion(version)
        }
    }
}

func usersMigrations() -> SchemaMigrations {
    var migrations = SchemaMigrations()
    migrations.add(
        "users", upToUserVersion: 1,
        sql: """
            CREATE TABLE users (
                id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, email TEXT NOT NULL UNIQUE,
                isAdmin INTEGER NOT NULL DEFAULT 0, joined TEXT NOT NULL, token TEXT NOT NULL,
                site TEXT, photo BLOB, settings TEXT);
            """)
    migrations.add(
        "index of joined", upToUserVersion: 2,
        sql: "CREATE INDEX index_users_on_joined ON users (joined);")
    migrations.add(
        "dates as numbers",
        sql: """
            CREATE TABLE new_users (
                id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, email TEXT NOT NULL UNIQUE,
                isAdmin INTEGER NOT NULL DEFAULT 0, joined REAL NOT NULL, token TEXT NOT NULL,
                site TEXT, photo BLOB, settings TEXT);
            INSERT INTO new_users
                SELECT id, email, isAdmin,
                    CAST(strftime('%s', joined) AS INTEGER)
                        + CAST('0' || substr(strftime('%f', joined), 3) AS REAL),
                    token, site, photo,
                    CASE WHEN json_type(settings, '$.since') IS NOT NULL THEN
                        json_set(settings, '$.since', json_extract(settings, '$.since') + 978307200)
                    ELSE settings END
                FROM users;
            DROP TABLE users;
            ALTER TABLE new_users RENAME TO users;
            CREATE INDEX index_users_on_joined ON users (joined);
            """)
    return migrations
}
