import Foundation
import ObjectStores
import SecureKeys
import SecureSync
import S3Store
import TestSupport
import Testing

/// What the guides say about S3, and where an endpoint is looked for.
struct S3Snippets {
    @Test func `a store of S3 is named by an address`() throws {
        let typed = "secret"
        // begin
        let store = try S3ObjectStore(address: "s3://my-bucket/backup", region: "eu-central-1")
        // end
        // begin
        let credentials = S3Credentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: SecretBytes(utf8: typed))
        // end
        check(!"\(store) \(credentials)".contains(typed))
    }

    @Test func `the environment says where an address is`() throws {
        _ = try S3ObjectStore(address: "s3://b/p", environment: ["AWS_REGION": "eu-west-1"])
        _ = try S3ObjectStore(
            address: "s3://b/p", environment: ["AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"])
        let error = #expect(throws: StoreError.self) {
            try S3ObjectStore(address: "s3://b/p", environment: ["AWS_REGION": ""])
        }
        check(error?.description.contains("AWS_REGION"), equals: true)
    }

    @Test func `an endpoint without TLS on another machine has to be allowed`() throws {
        for host in ["localhost:9000", "127.0.0.1", "127.1.2.3:9000", "[::1]:9000"] {
            _ = try S3ObjectStore(
                endpoint: URL(string: "http://\(host)"), bucket: "b", region: "r")
        }
        for host in ["example.org", "127.0.0.1.example.org", "localhost.example.org", "10.0.0.1"] {
            let url = URL(string: "http://\(host)")
            let error = #expect(throws: StoreError.self) {
                try S3ObjectStore(endpoint: url, bucket: "b", region: "r")
            }
            check(error?.description.contains("use https://, or allow it"), equals: true)
            _ = try S3ObjectStore(endpoint: url, allowsPlainHTTP: true, bucket: "b", region: "r")
        }
    }
}
