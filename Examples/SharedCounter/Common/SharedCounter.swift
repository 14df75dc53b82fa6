internal import Foundation
public import SecureStorage

/// The file's location, key and schema, shared by both programs.
public enum SharedCounter {
    /// Returns the file at the path in the first argument, or in a directory that this user's
    /// programs share.
    public static func database() throws -> SharedDatabase {
        if let path = CommandLine.arguments.dropFirst().first {
            return SharedDatabase(at: URL(fileURLWithPath: path))
        }
        let directory = try SharedDatabase.directory(named: "org.example.shared-counter")
        return SharedDatabase(at: directory.appendingPathComponent("counter.db"))
    }

    /// An example's key; a real program reads it from a key store.
    public static var key: DatabaseKey { .passphrase("correct horse battery staple") }

    /// The only migration so far.
    public static var migrations: SchemaMigrations {
        var migrations = SchemaMigrations()
        migrations.add(
            "counter",
            sql: """
                CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
                INSERT INTO counter VALUES ('clicks', 0);
                """)
        return migrations
    }
}
