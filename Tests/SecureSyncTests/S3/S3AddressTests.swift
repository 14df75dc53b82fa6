import Foundation
import ObjectStores
import SecureKeys
import SecureSync
import TestSupport
import Testing

@testable import S3Store

/// Addresses, credentials and documents, without a server.
struct S3AddressTests {
    private func address(
        _ endpoint: String?, _ bucket: String = "bucket", _ prefix: String = "",
        _ region: String = "eu-central-1", _ style: S3ObjectStore.AddressStyle? = nil
    ) throws -> S3Address {
        try S3Address(
            endpoint: endpoint.flatMap { URL(string: $0) }, bucket: bucket, prefix: prefix,
            region: region, style: style)
    }

    @Test func `the name of a bucket has at most 255 bytes`() throws {
        let name = String(repeating: "b", count: 255)
        try check(address("http://127.0.0.1:9000", name).bucket, equals: name)
        #expect(throws: StoreError.self) { try address("http://127.0.0.1:9000", name + "b") }
    }

    @Test func `the bucket is in the host or the path`() throws {
        for (address, url) in [
            (try address(nil), "https://bucket.s3.eu-central-1.amazonaws.com/n"),
            (
                try address(nil, "b", "p", "cn-north-1"),
                "https://b.s3.cn-north-1.amazonaws.com.cn/p/n"
            ),
            (
                try address(nil, "bucket", "p/q/", "eu-central-1", .path),
                "https://s3.eu-central-1.amazonaws.com/bucket/p/q/n"
            ),
            (try address(nil, "a.b"), "https://s3.eu-central-1.amazonaws.com/a.b/n"),
            (try address("http://127.0.0.1:9000"), "http://127.0.0.1:9000/bucket/n"),
            (try address("https://Example.com:443/"), "https://example.com/bucket/n"),
            (try address("http://[::1]:80/x/"), "http://[::1]/x/bucket/n"),
            (
                try address("https://example.com:8443", "b", "p", "r", .virtualHost),
                "https://b.example.com:8443/p/n"
            ),
        ] {
            try check(address.url(address.path("n"), query: "").absoluteString, equals: url)
        }
    }

    @Test func `addresses that cannot be one are refused`() throws {
        for endpoint in [
            "ftp://example.com", "https://", "example.com", "https://user:word@example.com",
            "https://example.com?a=b", "https://example.com/#a", "https://example.com/a/../b",
        ] {
            #expect(throws: StoreError.self, "\(endpoint)") { try address(endpoint) }
        }
        for bucket in ["", "a/b", "..", "a b", "a?b", "a%41"] {
            #expect(throws: StoreError.self, "\(bucket)") { try address("https://a", bucket) }
        }
        for prefix in ["/", "A", "../", "a//b", "a?b", String(repeating: "abc/", count: 110)] {
            #expect(throws: StoreError.invalidName(prefix), "\(prefix)") {
                do {
                    _ = try address("https://a", "b", prefix)
                } catch StoreError.invalidName {
                    throw StoreError.invalidName(prefix)
                }
            }
        }
        #expect(throws: StoreError.self) { try address(nil, "bucket", "", "eu central") }
        #expect(throws: StoreError.self) { try address("https://a", "a.b", "", "r", .virtualHost) }
    }

    @Test func `an address text names bucket and prefix`() throws {
        let parts = try S3Address.parts(of: "s3://bucket/a/b")
        check(parts == ("bucket", "a/b"))
        try check(S3Address.parts(of: "s3://bucket") == ("bucket", ""))
        #expect(throws: StoreError.self) { try S3Address.parts(of: "https://bucket/a") }
    }

    // MARK: - Credentials

    @Test func `credentials print no secret`() {
        let credentials = S3Credentials(
            accessKeyID: "AKID", secretAccessKey: SecretBytes(utf8: "one-secret"),
            sessionToken: SecretBytes(utf8: "other-secret"))
        var dumped = ""
        dump(credentials, to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), dumped] {
            check(text.contains("AKID") && !text.contains("secret"), "\(text)")
        }
    }

    @Test func `credentials are found in AWS's order`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("S3AddressTests-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let aws = folder.appendingPathComponent(".aws")
        try FileManager.default.createDirectory(at: aws, withIntermediateDirectories: true)
        let home = ["HOME": folder.path]
        let none = #expect(throws: StoreError.self) { try S3Credentials.find(home) }
        check(none?.description.contains("\(folder.path)/.aws/credentials"), equals: true)

        try Data("[default]\naws_access_key_id = C\naws_secret_access_key = c\n[profile p]\n".utf8)
            .write(to: aws.appendingPathComponent("config"))
        try check(S3Credentials.find(home).accessKeyID, equals: "C")

        let file = """
            # a comment
            [default]\r
            AWS_Access_Key_Id=D\r
            aws_secret_access_key =  d+/=#;x  ; a comment\r
            s3 =
              aws_access_key_id = nested
            [ other ] # a comment
            aws_access_key_id = O
            aws_secret_access_key = o
            aws_session_token = t==
            [half]
            aws_access_key_id = H
            """
        let credentials = aws.appendingPathComponent("credentials")
        try Data(file.utf8).write(to: credentials)
        let standard = try S3Credentials.find(home)
        check(standard.accessKeyID, equals: "D")
        check(standard.secretAccessKey, equals: SecretBytes(utf8: "d+/=#;x"))
        check(standard.sessionToken == nil)
        let other = try S3Credentials.find(home.merging(["AWS_PROFILE": "other"]) { $1 })
        check(other.accessKeyID == "O" && other.sessionToken == SecretBytes(utf8: "t=="))
        #expect(throws: StoreError.self) {
            try S3Credentials.find(home.merging(["AWS_PROFILE": "half"]) { $1 })
        }
        try check(S3Credentials.fromFiles(profile: "no", environment: home) == nil)
        try check(
            S3Credentials.find([
                "HOME": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": credentials.path,
            ]).accessKeyID, equals: "D")

        let variables = ["AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e"]
        try check(S3Credentials.find(home.merging(variables) { $1 }).accessKeyID, equals: "E")
        #expect(throws: StoreError.self) {
            try S3Credentials.find(home.merging(["AWS_ACCESS_KEY_ID": "E"]) { $1 })
        }
    }

    // MARK: - Documents

    @Test func `documents of S3 are read`() throws {
        let page = try require(
            S3Page(
                Data(
                    """
                    <?xml version="1.0" encoding="UTF-8"?>
                    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
                      <Name>b</Name><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>
                      <Contents><Key>a%2Fb+c%2B&amp;&#x41;</Key><Size>7</Size></Contents>
                      <Contents><Key>b</Key><Size>0</Size><Owner><ID>1</ID></Owner></Contents>
                    </ListBucketResult>
                    """.utf8)))
        check(page.isTruncated)
        check(page.entries.map(\.key), equals: ["a/b c+&A", "b"])
        check(page.entries.map(\.size), equals: [7, 0])
    }

    @Test func `documents that S3 never sends are refused, and soon`() throws {
        let laughs = (1...9).map {
            "<!ENTITY l\($0) \"\(String(repeating: "&l\($0 - 1);", count: 10))\">"
        }
        let documents: [Data] = [
            Data(
                "<!DOCTYPE a [<!ENTITY l0 \"ha\">\(laughs.joined())]><Error><Code>&l9;</Code></Error>"
                    .utf8),
            Data("<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><Error>&x;</Error>".utf8),
            Data("<?xml version=\"1.0\" encoding=\"UTF-7\"?><Error/>".utf8),
            Data("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><Error>\u{e4}</Error>".utf8),
            try require("<Error/>".data(using: .utf16)),
            Data(String(repeating: "<a>", count: 1_000_000).utf8),
            Data("<a><b></a></b>".utf8), Data("<a/><b/>".utf8), Data("<a>&x;</a>".utf8), Data(),
            Data("no XML".utf8), Data([0xff, 0xfe]), Data("<a".utf8), Data("<a>\u{1}</a>".utf8),
        ]
        let start = ThreadTime.now
        for document in documents {
            check(
                S3Element(document) == nil,
                "\(String(decoding: document.prefix(50), as: UTF8.self))")
        }
        check(ThreadTime.now - start < .seconds(30))
    }
}
