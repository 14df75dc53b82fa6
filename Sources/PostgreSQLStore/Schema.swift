#if PostgreSQL
    internal import Foundation
    internal import SecureStoragePlatform

    extension PostgreSQLObjectStore {
        /// The SQL of the tables and rights, which may be run again at any time.
        ///
        /// Its comments say what it creates and how roles get rights. For `psql` it is the file
        /// `Sources/PostgreSQLStore/schema.sql`.
        public static var schema: String {
            String(decoding: PackageResources.schema_sql, as: UTF8.self)
        }

        /// Creates the tables and rights where they are missing.
        ///
        /// Runs ``schema`` in one transaction, as the tables' future owner, who must be allowed to
        /// create roles. Changes no object. Does not wait for a server that is away.
        ///
        /// - Parameter connectionString: As in the initializer, of an administrator.
        /// - Throws: ``/ObjectStores/StoreError``; `CancellationError`.
        public static func installSchema(connectionString: String) async throws {
            let options = try ConnectionOptions(
                connectionString, patience: .seconds(30),
                environment: ProcessInfo.processInfo.environment)
            let connection = try Connection()
            try await withTaskCancellationHandler {
                try await onOwnThread {
                    try connection.open(options, atMost: .seconds(10))
                    try connection.run(script: schema, silence: .seconds(60))
                }
            } onCancel: {
                connection.wake.set()
            }
        }
    }
#endif
