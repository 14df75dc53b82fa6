internal import ArgumentParser
internal import Foundation
internal import ObjectStores
internal import SecureStorage

#if PostgreSQL
    internal import PostgreSQLStore
#endif
#if S3 || canImport(Darwin)
    internal import S3Store
#endif

/// How a store of mirrors is reached.
struct MirrorStoreOptions: ParsableArguments {
    static let title = "Store"
    static let addresses = "a directory, s3://BUCKET/PREFIX or postgresql:GROUP"
    static let help = ArgumentHelp("The store: \(addresses).", valueName: "store")
    static let nameHelp = ArgumentHelp(
        "The mirror's name in the store; \"mirrors\" lists them.", valueName: "name")

    @Option(
        help: ArgumentHelp(
            "The S3 server (default: AWS_ENDPOINT_URL, or else Amazon's).", valueName: "url"))
    var s3Endpoint: String?

    @Flag(
        name: .customLong("s3-plain-http"),
        help: "An S3 server on another machine may be without TLS: others see the names of objects."
    )
    var s3PlainHTTP = false

    @Option(
        help: ArgumentHelp("The bucket's region (default: AWS_REGION).", valueName: "region"))
    var s3Region: String?

    @Option(
        help: ArgumentHelp(
            "How to connect to PostgreSQL, without a password.", valueName: "connection"))
    var postgresql: String?

    @Option(
        help: ArgumentHelp(
            "The same in a file that only you can access; it may have a password.",
            valueName: "file"),
        completion: .file())
    var postgresqlFile: String?

    /// The variable with the connection string.
    static let variable = "SECURESTORAGE_POSTGRESQL"

    func validate() throws {
        guard postgresql == nil || postgresqlFile == nil else {
            throw ValidationError("use only one of --postgresql and --postgresql-file")
        }
        guard postgresql.map(Self.holdsPassword) != true else {
            throw ValidationError(
                "a password must not be in an argument, which others can see; use "
                    + "--postgresql-file, or libpq's passfile")
        }
    }

    /// Opens a store that a mirror was written to.
    func existing(_ address: String) throws -> any ObjectStore {
        if let url = try directory(address), !FileManager.default.fileExists(atPath: url.path) {
            throw Failure("no such directory: \"\(url.path)\"", .noFile)
        }
        return try store(address)
    }

    /// Opens a store, which may connect later.
    ///
    /// - Parameters:
    ///   - address: What the user gave.
    ///   - patience: How long its calls are repeated that fail for now.
    /// - Returns: The store.
    /// - Throws: a usage error, which repeats no address that may hold a secret.
    func store(_ address: String, patience: Duration = .seconds(30)) throws -> any ObjectStore {
        let scheme = Self.scheme(of: address)
        guard scheme == "s3" || (s3Endpoint == nil && s3Region == nil && !s3PlainHTTP) else {
            throw Failure.usage("--s3-endpoint and --s3-region are for a store s3://…")
        }
        guard scheme == "postgresql" || (postgresql == nil && postgresqlFile == nil) else {
            throw Failure.usage("--postgresql and --postgresql-file are for a store postgresql:…")
        }
        #if os(Linux)
            // Dispatch and Foundation's networking look into it, and end the program without it.
            guard access("/proc/self/stat", F_OK) == 0 else {
                throw Failure(
                    "mirrors need /proc, which is not mounted", hint: "mount -t proc proc /proc")
            }
        #endif
        if let url = try directory(address) { return DirectoryObjectStore(directory: url) }
        switch scheme {
        case "s3": return try s3(address, patience)
        case "postgresql": return try postgresql(address, patience)
        default:
            throw Failure.usage(
                "stores with addresses \(Visible.text(scheme ?? ""))://… are not known",
                hint: "a store is \(Self.addresses)")
        }
    }

    /// Returns what precedes the colon of an address; nil for a path, which may contain colons.
    private static func scheme(of address: String) -> String? {
        guard let colon = address.firstIndex(of: ":") else { return nil }
        let scheme = address[..<colon].lowercased()
        let isKnown = ["file", "s3", "postgresql"].contains(scheme)
        return isKnown || address[colon...].hasPrefix("://") ? scheme : nil
    }

    /// Returns the directory of a path or a URL; nil for another address.
    private func directory(_ address: String) throws -> URL? {
        switch Self.scheme(of: address) {
        case nil: return URL(fileURLWithPath: address)
        case "file":
            guard let url = URL(string: address), url.isFileURL,
                ["", "localhost"].contains(url.host ?? ""), url.path.hasPrefix("/")
            else { throw Failure.usage("the address file:… needs an absolute path") }
            return url
        default: return nil
        }
    }

    private func s3(_ address: String, _ patience: Duration) throws -> any ObjectStore {
        // Messages about a bucket repeat its name.
        guard !address.contains("@") else {
            throw Failure.usage(
                "an address of S3 has no user or password",
                hint:
                    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use ~/.aws/credentials")
        }
        #if S3 || canImport(Darwin)
            let endpoint = try s3Endpoint.map { text in
                guard let url = URL(string: text) else {
                    throw Failure.usage("--s3-endpoint is not a URL")
                }
                return url
            }
            do {
                return try S3ObjectStore(
                    address: address, endpoint: endpoint, allowsPlainHTTP: s3PlainHTTP,
                    region: s3Region,
                    patience: patience)
            } catch StoreError.failed("InvalidAddress", let message, _) {
                throw Failure.usage(
                    message,
                    hint:
                        "--s3-region and --s3-endpoint say where it is; --s3-plain-http allows http://"
                )
            }
        #else
            throw Failure.usage(
                "this program was built without S3", hint: "build it with: make install TRAITS=S3")
        #endif
    }

    // MARK: - PostgreSQL

    private func postgresql(
        _ address: String, _ patience: Duration
    ) throws -> any ObjectStore {
        let group = String(address.dropFirst("postgresql:".count))
        guard !group.isEmpty, !group.hasPrefix("//") else {
            throw Failure.usage(
                "a store in PostgreSQL has the address postgresql:GROUP",
                hint: "the server is named by --postgresql, --postgresql-file or \(Self.variable)")
        }
        #if PostgreSQL
            return PostgreSQLObjectStore(
                connectionString: try connectionString(), group: group, patience: patience)
        #else
            throw Failure.usage(
                "this program was built without PostgreSQL",
                hint: "build it with: make install TRAITS=PostgreSQL")
        #endif
    }

    #if PostgreSQL
        /// Returns the string that was given; an empty one leaves everything to libpq's variables.
        private func connectionString() throws -> String {
            if let postgresql { return postgresql }
            let bytes: SecretBytes
            if let postgresqlFile {
                bytes = try KeySource.read(postgresqlFile, as: "connection file")
            } else if getenv(Self.variable) != nil {
                bytes = try KeySource.environment(Self.variable).read(asking: "")
            } else {
                return ""
            }
            return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    #endif

    /// Whether a connection string names a password or another secret.
    static func holdsPassword(_ string: String) -> Bool {
        let text = (string.removingPercentEncoding ?? string).lowercased()
        // libpq's keywords password, sslpassword, oauth_client_secret and scram_client_key.
        if text.contains(/(password|secret|client_key)\s*=/) { return true }
        return text.contains(/:\/\/[^\/?]*:[^\/?]*@/)
    }
}
