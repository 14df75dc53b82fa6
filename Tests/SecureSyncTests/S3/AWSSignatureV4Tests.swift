import Foundation
import SecureKeys
import TestSupport
import Testing

@testable import S3Store

/// Signatures against those that AWS and its own library for Python compute.
struct AWSSignatureV4Tests {
    /// A case of AWS's Signature Version 4 Test Suite (Apache License 2.0).
    struct SuiteCase: CustomTestStringConvertible, Sendable {
        var name: String
        var method = "GET"
        var path = "/"
        var query: [(String, String)] = []
        var headers: [(String, String)] = []
        var body = ""
        var signed = "host;x-amz-date"
        var signature: String

        var testDescription: String { name }
    }

    private static let unreserved =
        "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    private static let token =
        "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpS"
        + "PfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQ"
        + "DYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+s"
        + "cqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

    static let suite: [SuiteCase] = [
        SuiteCase(
            name: "get-vanilla",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        SuiteCase(
            name: "get-vanilla-empty-query-key", query: [("Param1", "value1")],
            signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
        SuiteCase(
            name: "get-vanilla-query-order-key-case",
            query: [("Param2", "value2"), ("Param1", "value1")],
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        SuiteCase(
            name: "get-vanilla-query-order-key",
            query: [("Param1", "value2"), ("Param1", "Value1")],
            signature: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"),
        SuiteCase(
            name: "get-vanilla-query-order-value",
            query: [("Param1", "value2"), ("Param1", "value1")],
            signature: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"),
        SuiteCase(
            name: "get-vanilla-query-order-encoded",
            query: [("Param-3", "Value3"), ("Param", "Value2"), ("\u{1234}", "Value1")],
            signature: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"),
        SuiteCase(
            name: "get-vanilla-query-unreserved", query: [(unreserved, unreserved)],
            signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        SuiteCase(
            name: "get-vanilla-utf8-query", query: [("\u{1234}", "bar")],
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        SuiteCase(
            name: "get-unreserved", path: "/" + unreserved,
            signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        SuiteCase(
            name: "get-utf8", path: "/%E1%88%B4",
            signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        SuiteCase(
            name: "get-header-key-duplicate",
            headers: [
                ("My-Header1", "value2"), ("My-Header1", "value2"), ("My-Header1", "value1"),
            ], signed: "host;my-header1;x-amz-date",
            signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
        SuiteCase(
            name: "get-header-value-order",
            headers: [
                ("My-Header1", "value4"), ("My-Header1", "value1"), ("My-Header1", "value3"),
                ("My-Header1", "value2"),
            ], signed: "host;my-header1;x-amz-date",
            signature: "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"),
        SuiteCase(
            name: "get-header-value-trim",
            headers: [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
            signed: "host;my-header1;my-header2;x-amz-date",
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        SuiteCase(
            name: "post-vanilla", method: "POST",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        SuiteCase(
            name: "post-vanilla-query", method: "POST", query: [("Param1", "value1")],
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        SuiteCase(
            name: "post-header-key-sort", method: "POST", headers: [("My-Header1", "value1")],
            signed: "host;my-header1;x-amz-date",
            signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        SuiteCase(
            name: "post-header-value-case", method: "POST", headers: [("My-Header1", "VALUE1")],
            signed: "host;my-header1;x-amz-date",
            signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
        SuiteCase(
            name: "post-sts-header-before", method: "POST",
            headers: [("X-Amz-Security-Token", token)],
            signed: "host;x-amz-date;x-amz-security-token",
            signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
        SuiteCase(
            name: "post-x-www-form-urlencoded", method: "POST",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: "Param1=value1", signed: "content-type;host;x-amz-date",
            signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
        SuiteCase(
            name: "post-x-www-form-urlencoded-parameters", method: "POST",
            headers: [("Content-Type", "application/x-www-form-urlencoded; charset=utf8")],
            body: "Param1=value1", signed: "content-type;host;x-amz-date",
            signature: "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"),
    ]

    @Test(arguments: suite)
    func `a request of AWS's test suite gets the signature that the suite has`(
        _ test: SuiteCase
    ) throws {
        let date = try Date("2015-08-30T12:36:00Z", strategy: .iso8601)
        let credentials = S3Credentials(
            accessKeyID: "AKIDEXAMPLE",
            secretAccessKey: SecretBytes(utf8: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))
        let header = AWSSignatureV4(region: "us-east-1", service: "service").authorization(
            AWSSignatureV4.Request(
                method: test.method, path: test.path, query: test.query.map { ($0.0, $0.1) },
                headers: [("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z")]
                    + test.headers.map { ($0.0, $0.1) },
                bodyHash: AWSSignatureV4.hash(Data(test.body.utf8))), credentials, at: date)
        check(
            header,
            equals:
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=\(test.signed), Signature=\(test.signature)")
    }

    /// The examples of "Signature Calculations for the Authorization Header" in Amazon's reference.
    static let examples: [SuiteCase] = [
        SuiteCase(
            name: "GET Object", path: "/test.txt", headers: [("Range", "bytes=0-9")],
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        SuiteCase(
            name: "PUT Object", method: "PUT", path: "/test%24file.text",
            headers: [
                ("Date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ], body: "Welcome to Amazon S3.",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        SuiteCase(
            name: "GET Bucket Lifecycle", query: [("lifecycle", "")],
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        SuiteCase(
            name: "Get Bucket (List Objects)", query: [("max-keys", "2"), ("prefix", "J")],
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    @Test(arguments: examples)
    func `an example of Amazon's reference gets the signature that is printed there`(
        _ test: SuiteCase
    ) throws {
        let date = try Date("2013-05-24T00:00:00Z", strategy: .iso8601)
        let credentials = S3Credentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE",
            secretAccessKey: SecretBytes(utf8: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
        let hash = AWSSignatureV4.hash(Data(test.body.utf8))
        let header = AWSSignatureV4(region: "us-east-1").authorization(
            AWSSignatureV4.Request(
                method: test.method, path: test.path, query: test.query.map { ($0.0, $0.1) },
                headers: [
                    ("Host", "examplebucket.s3.amazonaws.com"), ("x-amz-date", "20130524T000000Z"),
                    ("x-amz-content-sha256", hash),
                ] + test.headers.map { ($0.0, $0.1) }, bodyHash: hash), credentials, at: date)
        check(header.hasSuffix("Signature=\(test.signature)"))
    }

    // MARK: - botocore

    /// A Python that has botocore: that of Scripts/setup-stores, or else the machine's.
    private static let python: String? = {
        [
            Checkout.file(".build/stores/venv/bin/python3").path, "/usr/bin/python3",
        ].first {
            FileManager.default.isExecutableFile(atPath: $0)
                && (try? run($0, ["-c", "import botocore"])) != nil
        }
    }()

    private struct Failure: Error {}

    private static func run(
        _ program: String, _ arguments: [String], input: Data = Data()
    ) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = FileHandle.nullDevice
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: input)
        try stdin.fileHandleForWriting.close()
        let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure() }
        return output
    }

    private struct Sample: Codable {
        var method: String
        var path: String
        var query: [[String]]
        var headers: [[String]]
        var bodyHash: String
        var region: String
        var secret: String
        var token: String?
        var timestamp: String
    }

    @Test(.enabled(if: python != nil, "python3 with botocore is missing; see Scripts/setup-stores"))
    func `requests of all kinds get the signatures that botocore computes`() throws {
        let python = try require(Self.python)
        var generator = SystemRandomNumberGenerator()
        func text(_ characters: String, _ counts: ClosedRange<Int>) -> String {
            String((0..<Int.random(in: counts)).compactMap { _ in characters.randomElement() })
        }
        let any = "abzAZ019-_.~ /+=&%?#äሴ😀\"'()*!"
        let samples = (0..<300).map { index -> (sample: Sample, date: Date) in
            let date = Date(timeIntervalSince1970: .random(in: 1_400_000_000...4_000_000_000))
            let hash = AWSSignatureV4.hash(Data(text(any, 0...20).utf8))
            let timestamp = AWSSignatureV4.timestamp(date)
            let token = index.isMultiple(of: 2) ? text("abcABC/+=", 1...300) : nil
            var headers = [
                ["host", "127.0.0.1:\(generator.next() % 60_000 + 1)"],
                ["x-amz-content-sha256", hash], ["x-amz-date", timestamp],
            ]
            if let token { headers.append(["x-amz-security-token", token]) }
            if index.isMultiple(of: 3) { headers.append(["If-None-Match", "*"]) }
            if index.isMultiple(of: 5) {
                headers.append(["Content-Type", text("ab  c/;", 1...9) + "x"])
            }
            let query = (0..<Int.random(in: 0...5)).map {
                [text(any, 1...9) + "\($0)", text(any, 0...20)]
            }
            return (
                Sample(
                    method: ["GET", "PUT", "POST", "DELETE"][index % 4],
                    path: "/bucket/" + text("abz019-_./", 0...60), query: query, headers: headers,
                    bodyHash: hash, region: text("abc-1", 1...12), secret: text(any, 1...80),
                    token: token, timestamp: timestamp), date
            )
        }
        let script = Checkout.file("Tests/SecureSyncTests/S3/sign_with_botocore.py").path
        let answers = try JSONDecoder().decode(
            [String].self,
            from: Self.run(python, [script], input: JSONEncoder().encode(samples.map(\.sample))))
        try require(answers.count == samples.count)
        for ((sample, date), answer) in zip(samples, answers) {
            let header = AWSSignatureV4(region: sample.region).authorization(
                AWSSignatureV4.Request(
                    method: sample.method, path: sample.path,
                    query: sample.query.map { ($0[0], $0[1]) },
                    headers: sample.headers.map { ($0[0], $0[1]) }, bodyHash: sample.bodyHash),
                S3Credentials(
                    accessKeyID: "AKIDEXAMPLE", secretAccessKey: SecretBytes(utf8: sample.secret)),
                at: date)
            check(header, equals: answer, "\(sample)")
        }
    }
}
