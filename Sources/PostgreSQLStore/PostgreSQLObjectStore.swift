#if PostgreSQL
    internal import Foundation
    internal import SecureStoragePlatform
    public import ObjectStores

    /// Objects in tables of PostgreSQL 12 or later, through libpq.
    ///
    /// ```swift
    /// let admin = "host=/run/postgresql dbname=app"
    /// try await PostgreSQLObjectStore.installSchema(connectionString: admin)
    /// // As the tables' owner: GRANT securestorage_client TO alice;
    /// // INSERT INTO securestorage_member (grp, role) VALUES ('notes', 'alice');
    /// let store = PostgreSQLObjectStore(
    ///     connectionString: "host=db.example.org dbname=app user=alice passfile=/etc/app/pgpass "
    ///         + "sslmode=verify-full",
    ///     group: "notes")
    /// ```
    ///
    /// The server decides who sees which group, by the role that it has checked: a role
    /// without membership in a group can neither see nor create its objects, and no role can change
    /// the bytes of an object.
    ///
    /// ## Connections
    ///
    /// Opened when they are needed, and kept; each call uses one, on a thread of its own, so that
    /// no task's thread blocks. A connection that carried more than 16 MiB at once, or whose call
    /// was cancelled, is closed. A call that fails for now, such as by a lost connection or a
    /// server that restarts, is repeated with growing pauses until the patience is over. A `create`
    /// that is repeated after its answer was lost returns false, although it has created the
    /// object. A server that neither takes nor sends anything for the patience, at least 30
    /// seconds, counts as lost.
    ///
    /// Works with PgBouncer in transaction mode: no statement is named, and nothing is set in a
    /// session. Only notifications do not arrive through it, so that marks are found by looking for
    /// them.
    ///
    /// ## TLS
    ///
    /// Use `sslmode=verify-full`: all other modes accept any server, or its name unchecked. It is
    /// the default of this store, unlike libpq's, if the connection string names no `sslmode` and a
    /// server is not on this machine (a Unix socket or loopback), or is named by a service file;
    /// the variable `PGSSLMODE` does not count then. With libpq 16 or later the system's
    /// certificates are its default (`sslrootcert=system`); earlier versions, and servers with a
    /// certificate of an organisation's own, need `sslrootcert=FILE`.
    ///
    /// ## Errors
    ///
    /// ``/ObjectStores/StoreError/failed(code:message:isTransient:)`` with the SQLSTATE; 08006 if the
    /// connection or libpq failed without one. No message has the password or the connection
    /// string.
    ///
    /// Thread-safe. The connections are closed with the last reference, or by ``close()``.
    public struct PostgreSQLObjectStore: ObjectStore, CustomStringConvertible, CustomReflectable {
        let core: Core
        let group: String
        let patience: Duration

        /// Where the connections are, which end with the last reference.
        final class Core: Sendable {
            let pool: ConnectionPool
            let listener: MarkListener?
            let options: @Sendable () throws -> ConnectionOptions

            init(
                connections: Int, _ listener: MarkListener?,
                _ options: @escaping @Sendable () throws -> ConnectionOptions
            ) {
                pool = ConnectionPool(size: connections)
                self.listener = listener
                self.options = options
            }

            deinit { listener?.stop() }
        }

        /// Creates a store, without connecting.
        ///
        /// - Parameters:
        ///   - connectionString: Of libpq: `key=value` pairs or a URI. Checked by the first call.
        ///   - group: The objects' group; the role must be a member of it.
        ///   - notifies: Whether marks are sent and awaited with `NOTIFY`, on one more connection,
        ///     instead of looked for after 0.2 to 5 seconds. It makes the commits of a busy server
        ///     wait for each other. Has to be the same for all that use the group; otherwise marks
        ///     are seen later.
        ///   - connections: The most connections at a time, at least 1.
        ///   - patience: How long calls are repeated that fail for now; zero: not at all.
        public init(
            connectionString: String, group: String, notifies: Bool = false, connections: Int = 4,
            patience: Duration = .seconds(30)
        ) {
            // Parsed with each connection: a call can throw, an initializer of a store should not.
            let options: @Sendable () throws -> ConnectionOptions = {
                try ConnectionOptions(
                    connectionString, patience: patience,
                    environment: ProcessInfo.processInfo.environment)
            }
            // Without it marks are only seen later.
            let listener = notifies ? try? MarkListener(options) : nil
            core = Core(connections: connections, listener, options)
            self.group = group
            self.patience = patience
        }

        /// The group, and nothing of the connection string.
        public var description: String { "PostgreSQLObjectStore(group: \"\(group)\")" }

        /// Nothing: the connection string may hold a password.
        public var customMirror: Mirror { Mirror(self, children: []) }

        /// Closes all connections, after the calls that run have ended.
        ///
        /// Later calls fail with the code 08003. May be called again.
        public func close() async {
            core.listener?.stop()
            await core.pool.close()
        }

        // MARK: - Running statements

        /// Runs a statement, and repeats it while it fails for now.
        func run(_ statement: Statement, patience: Duration? = nil) async throws -> Rows {
            var backoff = Backoff(
                patience: patience ?? self.patience, first: .milliseconds(50),
                longest: .seconds(5))
            while true {
                do {
                    return try await runOnce(statement, connectingFor: backoff.rest)
                } catch let error as StoreError {
                    guard error.isTransient, let pause = backoff.next() else {
                        throw error
                    }
                    try await Task.sleep(for: pause)
                }
            }
        }

        private func runOnce(_ statement: Statement, connectingFor rest: Duration) async throws
            -> Rows
        {
            let known = try await core.pool.acquire()
            var kept: Connection?
            defer { core.pool.release(kept) }
            let (connection, options) = (try known ?? Connection(), core.options)
            let silence = max(.seconds(30), patience)
            do {
                let rows = try await withTaskCancellationHandler {
                    try await onOwnThread {
                        if known == nil {
                            try connection.open(
                                options(), atMost: max(.seconds(1), min(.seconds(10), rest)))
                        }
                        return try connection.run(statement, silence: silence)
                    }
                } onCancel: {
                    connection.wake.set()
                }
                if connection.isReusable { kept = connection }
                return rows
            } catch {
                if connection.isReusable {
                    kept = connection
                } else if !(error is CancellationError) {
                    core.pool.discardIdle()
                }
                throw error
            }
        }
    }
#endif
