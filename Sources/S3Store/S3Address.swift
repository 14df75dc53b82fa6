internal import Foundation
internal import ObjectStores

/// Where a store's objects are: a server, a bucket, and the beginning of all keys.
struct S3Address: Sendable, Equatable {
    /// `https` or `http`.
    let scheme: String
    /// The host as the header has it: with the port, if that is not the scheme's own.
    let host: String
    /// The path of the bucket, which ends with `/`.
    let path: String
    /// The bucket's name, for messages.
    let bucket: String
    /// The beginning of all keys: empty, or ends with `/`.
    let prefix: String
    /// The region, such as `eu-central-1`.
    let region: String

    init(
        endpoint: URL?, allowsPlainHTTP: Bool = false, bucket: String, prefix: String,
        region: String, style: S3ObjectStore.AddressStyle?
    ) throws {
        guard Self.isWord(bucket), !bucket.hasPrefix("."), bucket.utf8.count <= 255 else {
            throw Self.failure("\"\(bucket)\" cannot be the name of a bucket")
        }
        guard Self.isWord(region) else {
            throw Self.failure("\"\(region)\" cannot be a region; an example is us-east-1")
        }
        let server = try endpoint.map(Self.server) ?? Self.amazon(region)
        guard server.scheme == "https" || allowsPlainHTTP || Self.isThisMachine(server.host) else {
            throw Self.failure(
                "the endpoint begins with http://, so all can see and change the names of objects; "
                    + "use https://, or allow it")
        }
        // With a dot in the bucket's name no certificate of Amazon's matches the host.
        let isInPath =
            style.map { $0 == .path } ?? (endpoint != nil || !Self.isHostLabel(bucket))
        guard isInPath || Self.isHostLabel(bucket) else {
            throw Self.failure(
                "the bucket \"\(bucket)\" cannot be part of a host; use the style .path")
        }
        scheme = server.scheme
        host = isInPath ? server.host : "\(bucket).\(server.host)"
        path = isInPath ? "\(server.path)\(bucket)/" : server.path
        self.bucket = bucket
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        self.region = region
        try ObjectName.check(prefix: self.prefix)
        // S3's keys have at most 1024 bytes, and names 600.
        guard self.prefix.utf8.count <= 424 else { throw StoreError.invalidName(prefix) }
    }

    /// Returns the encoded path of an object, or of the bucket.
    ///
    /// The characters of names and prefixes need no encoding.
    func path(_ name: String?) -> String {
        // A bucket's own path ends without a slash for some servers, and needs one in a host.
        name.map { path + prefix + $0 } ?? (path == "/" ? path : String(path.dropLast()))
    }

    func url(_ path: String, query: String) throws -> URL {
        guard let url = URL(string: "\(scheme)://\(host)\(path)\(query.isEmpty ? "" : "?" + query)")
        else { throw Self.failure("\"\(host)\" cannot be the host of a store") }
        return url
    }

    // MARK: - Texts

    /// Returns the bucket and the prefix of `s3://bucket/prefix`.
    static func parts(of address: String) throws -> (bucket: String, prefix: String) {
        guard address.hasPrefix("s3://") else {
            throw failure("\"\(address)\" is not an address of S3; one is s3://bucket/prefix")
        }
        let parts = address.dropFirst(5).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }

    private static func amazon(
        _ region: String
    ) -> (scheme: String, host: String, path: String) {
        // China's regions have a domain of their own.
        ("https", "s3.\(region).amazonaws.com\(region.hasPrefix("cn-") ? ".cn" : "")", "/")
    }

    private static func server(
        _ endpoint: URL
    ) throws -> (scheme: String, host: String, path: String) {
        guard let parts = URLComponents(url: endpoint, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(), ["https", "http"].contains(scheme),
            let host = parts.percentEncodedHost, !host.isEmpty
        else {
            throw failure("the endpoint has to begin with https:// or http:// and a host")
        }
        // A password in the address would appear in messages, and is not what S3 asks for.
        guard parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil
        else { throw failure("the endpoint must have neither a user nor parameters") }
        let path = parts.percentEncodedPath
        guard path.split(separator: "/").allSatisfy({ isWord(String($0)) && !$0.hasPrefix(".") })
        else { throw failure("the endpoint's path may only have letters, digits, -, _ and .") }
        let isOwn = parts.port == nil || parts.port == (scheme == "https" ? 443 : 80)
        let port = isOwn ? "" : parts.port.map { ":\($0)" } ?? ""
        return (scheme, host.lowercased() + port, path.hasSuffix("/") ? path : path + "/")
    }

    private static func isThisMachine(_ host: String) -> Bool {
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return name == "localhost" || name == "[::1]" || name.wholeMatch(of: /127(\.\d+){3}/) != nil
    }

    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private static func isHostLabel(_ text: String) -> Bool {
        isWord(text) && text == text.lowercased() && !text.contains(".") && !text.contains("_")
            && !text.hasPrefix("-") && !text.hasSuffix("-") && text.utf8.count <= 63
    }

    private static func failure(_ message: String) -> StoreError {
        .failed(code: "InvalidAddress", message: message, isTransient: false)
    }
}
