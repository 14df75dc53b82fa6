package import Foundation
package import ObjectStores
internal import SecureKeys
package import SecureMirror
package import SecureStorage
internal import TestSupport

#if PostgreSQL
    internal import PostgreSQLStore
#endif
#if S3 || canImport(Darwin)
    internal import S3Store
#endif

/// Where a mirror under test is: a store, and the mirror's name in it.
///
/// Its description makes another process find the same place. The servers are those of
/// `Scripts/stores`.
package struct MirrorPlace: Sendable, CustomStringConvertible {
    /// A kind of store.
    package enum Kind: String, CaseIterable, Sendable {
        case directory, s3, postgresql

        /// Those that can be used now.
        package static var available: [Kind] { allCases.filter(\.isAvailable) }

        /// Those with a server.
        package static var servers: [Kind] { available.filter { $0 != .directory } }

        private var isAvailable: Bool {
            switch self {
            case .directory: return true
            case .s3:
                #if S3 || canImport(Darwin)
                    return MirrorPlace.variable("SECURESTORAGE_S3") != nil
                #else
                    return false
                #endif
            case .postgresql:
                #if PostgreSQL
                    return MirrorPlace.variable("SECURESTORAGE_POSTGRESQL") != nil
                #else
                    return false
                #endif
            }
        }
    }

    package let kind: Kind
    package let name: String
    /// The directory, of that kind.
    private let root: String

    /// A place that nothing else uses.
    ///
    /// - Parameters:
    ///   - kind: The kind of store.
    ///   - directory: Where a directory of objects is created.
    package init(_ kind: Kind, in directory: URL) {
        self.kind = kind
        let id = UUID().uuidString.lowercased()
        name = "mirror-\(id)/notes"
        root = directory.appendingPathComponent("store-\(id)").path
    }

    package init?(_ description: String) {
        let words = description.split(separator: "|").map(String.init)
        guard words.count == 3, let kind = Kind(rawValue: words[0]) else { return nil }
        (self.kind, name, root) = (kind, words[1], words[2])
    }

    package var description: String { "\(kind.rawValue)|\(name)|\(root)" }

    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name]
    }

    // MARK: - The store

    /// Returns a store with connections of its own.
    ///
    /// - Parameters:
    ///   - port: Of a proxy before the server; then without TLS.
    ///   - patience: How long the store repeats what fails.
    /// - Returns: The store.
    /// - Throws: ``Failure`` if there is no such server.
    package func store(
        through port: UInt16? = nil, patience: Duration = .seconds(60)
    ) throws -> any ObjectStore {
        switch kind {
        case .directory:
            return DirectoryObjectStore(directory: URL(fileURLWithPath: root))
        case .s3:
            #if S3 || canImport(Darwin)
                let address = port.map { "http://127.0.0.1:\($0)" }
                let endpoint = (address ?? Self.variable("SECURESTORAGE_S3")).flatMap {
                    URL(string: $0)
                }
                guard let endpoint else { throw Failure("SECURESTORAGE_S3 is no URL") }
                return try S3ObjectStore(
                    endpoint: endpoint, bucket: "securestorage", region: "us-east-1",
                    patience: patience, timeout: .seconds(60)
                ) { S3Credentials(accessKeyID: "test", secretAccessKey: SecretBytes(utf8: "test")) }
            #else
                throw Failure("built without the trait S3")
            #endif
        case .postgresql:
            #if PostgreSQL
                let string = Self.variable("SECURESTORAGE_POSTGRESQL") ?? ""
                return PostgreSQLObjectStore(
                    connectionString: string
                        + (port.map { " port=\($0) sslmode=disable" } ?? ""),
                    group: "test", connections: 2, patience: patience)
            #else
                throw Failure("built without the trait PostgreSQL")
            #endif
        }
    }

    /// The port of the server.
    package var serverPort: UInt16 {
        let text = Self.variable(kind == .s3 ? "SECURESTORAGE_S3" : "SECURESTORAGE_POSTGRESQL")
        let port =
            kind == .s3
            ? text.flatMap { URL(string: $0)?.port }
            : text?.split(separator: " ").first { $0.hasPrefix("port=") }
                .flatMap { Int($0.dropFirst(5)) }
        return UInt16(port ?? 0)
    }

    /// Returns a mirror at the place.
    package func mirror(
        of database: any SecureDatabaseReader, in store: (any ObjectStore)? = nil
    ) throws -> DatabaseMirror {
        try DatabaseMirror(of: database, in: store ?? self.store(), name: name)
    }

    /// Removes all objects of the mirror.
    package func empty() async throws {
        let store = try store()
        try await store.remove(store.listAll(name).map(\.name))
    }

    // MARK: - Restored states

    /// Restores the mirror, and returns the ledger's state after its check.
    ///
    /// - Throws: ``Failure`` if no commit can have made the state; the errors of `restore`.
    package func restored(
        at point: DatabaseMirror.Point = .latest, key: Data = TemporaryDatabase.key
    ) async throws -> Ledger.State {
        let home = try TemporaryDatabase(name: "restored.db")
        try await DatabaseMirror.restore(
            name, from: store(), to: home.url, key: .raw(SecretBytes(copying: key)), at: point)
        return try Ledger.check(at: home.url, key: key)
    }
}

/// What a check has seen, and should not have.
package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
