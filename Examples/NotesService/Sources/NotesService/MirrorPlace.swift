import ArgumentParser
import Foundation
import SecureMirror
import S3Store

#if PostgreSQL
    import PostgreSQLStore
#endif

/// Where the mirror is, as the argument `--mirror` names it.
enum MirrorPlace: Equatable {
    case directory(String)
    case s3(address: String)
    case postgreSQL(group: String)

    /// The variable that holds the connection string, which may contain a password.
    static let variable = "NOTES_POSTGRESQL"

    /// How long the stores repeat what fails.
    ///
    /// A request waits for this time, so it is short: a client learns sooner that its note is not
    /// safe yet. The mirror itself keeps trying.
    private static let patience = Duration.seconds(5)

    /// Returns the store.
    ///
    /// - Parameters:
    ///   - endpoint: The URL of an S3 server; nil for Amazon's, or that of the environment.
    ///   - region: The region of a bucket.
    ///   - environment: The variables of the process.
    /// - Returns: The store; nothing is connected yet.
    /// - Throws: `ServiceError.configuration`; `MirrorError` for an address of S3.
    func store(
        endpoint: String?, region: String?, environment: [String: String]
    ) throws -> any ObjectStore {
        switch self {
        case .directory(let path):
            return DirectoryObjectStore(directory: URL(fileURLWithPath: path, isDirectory: true))
        case .s3(let address):
            let url = try endpoint.map { text in
                guard let url = URL(string: text) else {
                    throw ServiceError.configuration("--s3-endpoint is not a URL")
                }
                return url
            }
            return try S3ObjectStore(
                address: address, endpoint: url, region: region, patience: Self.patience,
                environment: environment)
        case .postgreSQL(let group):
            return try Self.postgreSQL(group, environment)
        }
    }

    private static func postgreSQL(
        _ group: String, _ environment: [String: String]
    ) throws -> any ObjectStore {
        #if PostgreSQL
            guard let connection = environment[variable], !connection.isEmpty else {
                throw ServiceError.configuration(
                    "the variable \(variable) is empty; it holds the connection string")
            }
            return PostgreSQLObjectStore(
                connectionString: connection, group: group, patience: patience)
        #else
            throw ServiceError.configuration(
                "this program was built without PostgreSQL; build it with --traits PostgreSQL")
        #endif
    }
}

extension MirrorPlace: ExpressibleByArgument {
    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        // A relative path would depend on the folder that the service happens to run in.
        case "directory" where parts[1].hasPrefix("/"): self = .directory(String(parts[1]))
        case "s3": self = .s3(address: argument)
        case "postgresql": self = .postgreSQL(group: String(parts[1]))
        default: return nil
        }
    }
}
