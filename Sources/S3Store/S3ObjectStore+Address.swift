public import Foundation
internal import ObjectStores

extension S3ObjectStore {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - endpoint: The server's address, such as `http://127.0.0.1:9000`; nil: Amazon's in the
    ///     region.
    ///   - allowsPlainHTTP: Whether an endpoint on another machine may be without TLS. Others then
    ///     see and may change names, but not content, which is ciphertext.
    ///   - bucket: The name of a bucket that exists.
    ///   - prefix: The beginning of all keys, as ``/ObjectStores/ObjectName`` allows; a `/`
    ///     follows it.
    ///   - region: The bucket's region, such as `eu-central-1`.
    ///   - style: nil: by path if there is an endpoint, otherwise by host.
    ///   - patience: How long failures are repeated.
    ///   - timeout: The longest time in which nothing of a request or an answer is transferred; in
    ///     all a try may take 45 times as long.
    ///   - polling: The shortest and the longest time between two requests for a mark.
    ///   - credentials: Called for the first request, when credentials are about to end, and when
    ///     the server refuses them.
    /// - Throws: ``/ObjectStores/StoreError/failed(code:message:isTransient:)`` with the code
    ///   `InvalidAddress`; ``/ObjectStores/StoreError/invalidName(_:)`` for a prefix.
    #if !S3 && !canImport(Darwin)
        @available(*, unavailable, message: "on Linux, S3 needs the trait S3 of this package")
    #endif
    public convenience init(
        endpoint: URL? = nil, allowsPlainHTTP: Bool = false, bucket: String,
        prefix: String = "", region: String, style: AddressStyle? = nil,
        patience: Duration = .seconds(30),
        timeout: Duration = .seconds(20),
        polling: ClosedRange<Duration> = .seconds(1)...(.seconds(15)),
        credentials: @escaping @Sendable () async throws -> S3Credentials = S3Credentials.default
    ) throws {
        let address = try S3Address(
            endpoint: endpoint, allowsPlainHTTP: allowsPlainHTTP, bucket: bucket, prefix: prefix,
            region: region, style: style)
        self.init(
            S3Client(
                address, patience: patience, transport: makeS3Transport(S3Times(idle: timeout)),
                credentials: credentials), polling: polling)
    }

    /// Creates a store from an address as AWS's tools write it.
    ///
    /// - Parameters:
    ///   - address: `s3://bucket/prefix`, or `s3://bucket`.
    ///   - endpoint: nil: `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, or else Amazon's.
    ///   - allowsPlainHTTP: Whether an endpoint on another machine may be without TLS.
    ///   - region: nil: `AWS_REGION` or `AWS_DEFAULT_REGION`, or else `us-east-1` if there is an
    ///     endpoint.
    ///   - style: nil: by path if there is an endpoint, otherwise by host.
    ///   - patience: How long failures are repeated.
    ///   - polling: The shortest and the longest time between two requests for a mark.
    ///   - environment: The variables.
    ///   - credentials: As for the initializer without an address.
    /// - Throws: As the other initializer.
    #if !S3 && !canImport(Darwin)
        @available(*, unavailable, message: "on Linux, S3 needs the trait S3 of this package")
    #endif
    public convenience init(
        address: String, endpoint: URL? = nil, allowsPlainHTTP: Bool = false,
        region: String? = nil, style: AddressStyle? = nil,
        patience: Duration = .seconds(30),
        polling: ClosedRange<Duration> = .seconds(1)...(.seconds(15)),
        environment: [String: String] = ProcessInfo.processInfo.environment,
        credentials: @escaping @Sendable () async throws -> S3Credentials = S3Credentials.default
    ) throws {
        let parts = try S3Address.parts(of: address)
        func value(_ names: String...) -> String? {
            names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        let server: URL?
        if let endpoint {
            server = endpoint
        } else if let text = value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") {
            guard let url = URL(string: text) else {
                throw StoreError.failed(
                    code: "InvalidAddress", message: "AWS_ENDPOINT_URL is not a URL",
                    isTransient: false)
            }
            server = url
        } else {
            server = nil
        }
        guard
            let region = region ?? value("AWS_REGION", "AWS_DEFAULT_REGION")
                ?? (server == nil ? nil : "us-east-1")
        else {
            throw StoreError.failed(
                code: "InvalidAddress",
                message: "the bucket's region is missing; pass it, or set AWS_REGION",
                isTransient: false)
        }
        try self.init(
            endpoint: server, allowsPlainHTTP: allowsPlainHTTP, bucket: parts.bucket,
            prefix: parts.prefix, region: region,
            style: style, patience: patience, polling: polling, credentials: credentials)
    }
}
