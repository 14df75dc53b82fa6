#if PostgreSQL
    import ObjectStores
    import PostgreSQLStore

    /// The snippets about PostgreSQL, compiled; `DocumentationTests` compares the text.
    private func setUp() async throws -> PostgreSQLObjectStore {
        // begin
        let admin = "host=/run/postgresql dbname=app"
        try await PostgreSQLObjectStore.installSchema(connectionString: admin)
        // As the tables' owner: GRANT securestorage_client TO alice;
        // INSERT INTO securestorage_member (grp, role) VALUES ('notes', 'alice');
        let store = PostgreSQLObjectStore(
            connectionString: "host=db.example.org dbname=app user=alice passfile=/etc/app/pgpass "
                + "sslmode=verify-full",
            group: "notes")
        // end
        return store
    }
#endif
