import Foundation
import SecureStorage

/// The encrypted database of packages: its location, schema and lifetime.
///
/// It holds only a queue, so any thread may use it. Every access is a block that the queue runs
/// with the store.
struct PackageDatabase: Sendable {
    let queue: SecureDatabaseQueue

    /// Sets the location; nothing is opened yet.
    init(at url: URL) {
        queue = SecureDatabaseQueue(databaseStore: SecureDatabaseStore(fullDatabasePath: url.path))
    }

    /// Opens the file, or creates it with its schema.
    func open(with passphrase: String) throws {
        try queue.inDatabase { db in
            // The handler runs only when this call creates the file. If it fails, no file is left,
            // so an existing file always has its tables.
            try db.open(with: passphrase) { db in
                do {
                    try db.executeStatements(Self.schema)
                    return nil
                } catch {
                    return error
                }
            }
        }
    }

    /// Re-encrypts the file; from then on only the new passphrase opens it.
    func changePassphrase(to passphrase: String) throws {
        try queue.inDatabase { try $0.changeEncryptionKey(with: passphrase) }
    }

    func close() throws {
        try queue.inDatabase { $0.close() }
    }

    // Foreign keys need no PRAGMA: the library enforces them unless configured otherwise.
    private static let schema = """
        CREATE TABLE package (
            id             INTEGER PRIMARY KEY,
            name           TEXT NOT NULL,
            version        TEXT,
            architecture   TEXT,
            section        TEXT,
            priority       TEXT,
            maintainer     TEXT,
            installed_size INTEGER,  -- KiB
            summary        TEXT,
            description    TEXT
        );
        CREATE INDEX package_by_name ON package (name);

        -- Every field as it stands in the list, also those that have a column above.
        CREATE TABLE field (
            package_id INTEGER NOT NULL REFERENCES package ON DELETE CASCADE,
            position   INTEGER NOT NULL,
            field      TEXT NOT NULL,
            value      TEXT NOT NULL,
            PRIMARY KEY (package_id, position)
        ) WITHOUT ROWID;

        -- on_name is no foreign key: a package may need one that is not in the list.
        CREATE TABLE dependency (
            package_id INTEGER NOT NULL REFERENCES package ON DELETE CASCADE,
            on_name    TEXT NOT NULL,
            PRIMARY KEY (package_id, on_name)
        ) WITHOUT ROWID;
        CREATE INDEX dependency_by_name ON dependency (on_name);

        -- The index only; the text itself is read from `package`.
        CREATE VIRTUAL TABLE package_text USING fts5 (
            name, description, content = 'package', content_rowid = 'id'
        );
        """
}
