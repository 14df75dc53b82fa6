internal import Foundation
public import SecureStorage

/// What both programs know of the file: where it is, its key and its schema.
public enum SharedCounter {
    /// The file, in a directory that the programs of this user share; or at the path that is given.
    public static func database() throws -> SharedDatabase {
        if let path = CommandLine.arguments.dropFirst().first {
            return SharedDatabase(at: URL(fileURLWithPath: path))
        }
        let directory = try SharedDatabase.directory(named: "org.example.shared-counter")
        return SharedDatabase(at: directory.appendingPathComponent("counter.db"))
    }

    /// An example's key; a real program takes it from a key store.
    public static var key: DatabaseKey { .passphrase("correct horse battery staple") }

    /// The one step that there is so far.
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
