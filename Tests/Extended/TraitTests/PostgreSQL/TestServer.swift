#if PostgreSQL
    import Foundation
    import ObjectStores
    import SecureStoragePlatform
    import SecureSync
    import TestSupport
    import Testing

    @testable import PostgreSQLStore

    /// All tests with a server, one after the other: some stop it.
    @Suite(
        .serialized, .enabled(if: TestServer.string != nil, "SECURESTORAGE_POSTGRESQL is not set"))
    struct PostgreSQLTests {}

    /// The server of `Scripts/stores postgresql`.
    enum TestServer {
        static func variable(_ suffix: String) -> String? {
            ProcessInfo.processInfo.environment["SECURESTORAGE_POSTGRESQL" + suffix]
        }

        /// The connection string of a role in the group "test".
        static let string = variable("")
        /// Of a role in the group "other".
        static let other = variable("_OTHER")
        /// Of a superuser.
        static let admin = variable("_ADMIN")
        /// Whether the server may be stopped, and changed.
        static let isOwn = [other, admin, variable("_SERVER"), variable("_CA")].allSatisfy {
            $0 != nil
        }

        static func store(
            _ more: String = "", group: String = "test", notifies: Bool = false,
            connections: Int = 4, patience: Duration = .seconds(30)
        ) throws -> PostgreSQLObjectStore {
            PostgreSQLObjectStore(
                connectionString: "\(try require(string)) \(more)", group: group,
                notifies: notifies, connections: connections, patience: patience)
        }

        /// Names that no other test uses.
        static func prefix() -> String { "t-\(UUID().uuidString.lowercased())/" }

        /// Runs a statement by hand, with a connection of its own.
        static func run(_ string: String?, _ statement: Statement) async throws -> Rows {
            try await connect(string).run(statement, silence: .seconds(60))
        }

        /// Runs statements by hand, which a test has put together.
        static func run(_ string: String?, script: String) async throws {
            let connection = try await connect(string)
            try await onOwnThread { try connection.run(script: script, silence: .seconds(60)) }
        }

        static func connect(_ string: String?) async throws -> Connection {
            let options = try ConnectionOptions(
                try require(string), patience: .seconds(30), environment: [:])
            return try await onOwnThread {
                let connection = try Connection()
                try connection.open(options, atMost: .seconds(10))
                return connection
            }
        }

        /// Stops the server as a crash does, or starts it.
        static func server(_ action: String) async throws {
            let program = try require(variable("_SERVER"))
            // Not with `Process`: it waits until a descriptor is closed that the server inherits.
            let status = try await onOwnThread {
                var process = pid_t()
                var arguments = [strdup(program), strdup(action), nil]
                defer { for argument in arguments { free(argument) } }
                guard posix_spawn(&process, program, nil, nil, &arguments, environ) == 0 else {
                    throw SystemError("run")
                }
                var status: Int32 = -1
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                return status
            }
            check(status, equals: 0)
        }

        /// Returns the error of a call that has to fail.
        static func failure<R>(of call: () async throws -> R) async throws -> StoreError {
            do {
                _ = try await call()
            } catch let error as StoreError {
                return error
            }
            throw Unexpected.success
        }

        enum Unexpected: Error { case success }

        /// Returns an option of a connection string.
        static func option(_ keyword: String, _ string: String?) throws -> String {
            let options = try ConnectionOptions(
                try require(string), patience: .seconds(30), environment: [:])
            return try require(options.values[keyword])
        }
    }

    extension StoreError {
        var code: String? {
            if case .failed(let code, _, _) = self { code } else { nil }
        }

        var isTransient: Bool {
            if case .failed(_, _, let isTransient) = self { isTransient } else { false }
        }
    }
#endif
