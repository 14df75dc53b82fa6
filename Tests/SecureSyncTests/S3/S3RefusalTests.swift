import Foundation
import SecureSync
import TestSupport
import Testing

@testable import S3Store

/// What a server's refusal means, without a server.
struct S3RefusalTests {
    private func failure(
        _ status: Int, _ code: String = "", headers: [String: String] = [:]
    ) -> S3Failure {
        let body = code.isEmpty ? "" : "<Error><Code>\(code)</Code></Error>"
        return S3Failure(S3Answer(status: status, headers: headers, body: Data(body.utf8)))
    }

    private func message(_ failure: S3Failure) throws -> String {
        let address = try S3Address(
            endpoint: nil, bucket: "bucket", prefix: "", region: "eu-central-1", style: nil)
        guard case .failed(_, let message, _) = failure.error(address, hiding: nil) else {
            return ""
        }
        return message
    }

    @Test func `a status says whether the same request may succeed later`() {
        let transient = (400...599).filter { failure($0).isTransient }
        check(
            transient,
            equals: [408, 409, 425, 429] + (500...599).filter { $0 != 501 && $0 != 505 })
    }

    @Test(arguments: [
        "RequestTimeout", "InternalError", "SlowDown", "ServiceUnavailable", "Throttling",
        "ThrottlingException", "RequestLimitExceeded", "OperationAborted",
    ])
    func `these codes are transient with any status, but where the server will never know how`(
        _ code: String
    ) {
        check(failure(400, code).isTransient)
        check(failure(403, code).isTransient)
        check(!failure(501, code).isTransient)
    }

    @Test(arguments: [301, 302, 307, 308])
    func `a redirect without a code says that the bucket is elsewhere`(_ status: Int) throws {
        let known = failure(status, headers: ["x-amz-bucket-region": "eu-west-1"])
        let text = try message(known)
        check(text.contains("the bucket \"bucket\" is elsewhere"))
        check(text.contains("use the region eu-west-1 instead of eu-central-1"))
        try check(message(failure(status)).contains("the region in which it was created"))
    }

    @Test func `other statuses without a code have the hint that fits`() throws {
        for status in [401, 403] {
            try check(message(failure(status)).contains("s3:ListBucket for the bucket"))
        }
        for status in [404, 405] {
            try check(message(failure(status)).contains("check the endpoint"))
        }
        for status in [303, 400, 402, 406, 500] {
            let text = try message(failure(status))
            check(text.hasSuffix("gave no reason"), "\(status): \(text)")
        }
    }

    @Test func `only codes of credentials ask for others`() {
        for code in [
            "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired",
            "InvalidAccessKeyId", "SignatureDoesNotMatch",
        ] {
            check(failure(403, code).asksForOtherCredentials, "\(code)")
        }
        for code in ["", "AccessDenied", "SlowDown", "NoSuchBucket"] {
            check(!failure(403, code).asksForOtherCredentials, "\(code)")
        }
    }

    @Test func `a server's text is on one line, and not longer than its limit`() {
        check(S3Failure.clean(" a\n\u{7}b\u{200b}c  d ", limit: 60), equals: "a b c d")
        check(S3Failure.clean("abcdef", limit: 6), equals: "abcdef")
        check(S3Failure.clean("abcdefg", limit: 6), equals: "abcdef")
    }
}
