import TestSupport

extension Workspace {
    /// A workspace with a file `a.db`, as the tests of the shell's commands use it.
    static func withNotes() throws -> Workspace {
        let workspace = try Workspace()
        try workspace.fill(
            "a.db",
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, "a|b");
            CREATE INDEX by_text ON note (text);
            CREATE TABLE other (x UNIQUE);
            INSERT INTO note VALUES (1, 'buy milk', 2.5), (2, NULL, X'00ff');
            """)
        return workspace
    }
}
