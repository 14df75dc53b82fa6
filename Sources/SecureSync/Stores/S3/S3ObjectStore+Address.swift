public import Foundation

extension S3ObjectStore {
    /// Creates a store from an address as AWS's tools write it.
    ///
    /// - Parameters:
    ///   - address: `s3://bucket/prefix`, or `s3://bucket`.
    ///   - endpoint: nil: `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, or else Amazon's.
    ///   - region: nil: `AWS_REGION` or `AWS_DEFAULT_REGION`, or else `us-east-1` if there is an
    ///     endpoint.
    ///   - style: nil: by path if there is an endpoint, otherwise by host.
    ///   - patience: How long failures are repeated.
    ///   - polling: The shortest and the longest time between two requests for a mark.
    ///   - environment: The variables.
    ///   - credentials: As for the initializer without an address.
    /// - Throws: As the other initializer.
    public convenience init(
        address: String, endpoint: URL? = nil, region: String? = nil, style: AddressStyle? = nil,
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
                throw SyncError.store(
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
            throw SyncError.store(
                code: "InvalidAddress",
                message: "the bucket's region is missing; pass it, or set AWS_REGION",
                isTransient: false)
        }
        try self.init(
            endpoint: server, bucket: parts.bucket, prefix: parts.prefix, region: region,
            style: style, patience: patience, polling: polling, credentials: credentials)
    }
}
