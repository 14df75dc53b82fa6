internal import Foundation
internal import ObjectStores

/// Why a server refused a request: its own code and words, and what to do about it.
struct S3Failure {
    /// S3's code, such as `SlowDown`; empty if the answer has none.
    let code: String
    private let message: String
    private let answer: S3Answer

    init(_ answer: S3Answer) {
        let document = S3Element(answer.body).flatMap { $0.name == "Error" ? $0 : nil }
        self.answer = answer
        code = Self.clean(document?["Code"] ?? "", limit: 60)
        message = Self.clean(document?["Message"] ?? "", limit: 500)
    }

    /// Whether the same request may succeed later.
    ///
    /// Conflicts are those of requests for one name at one time, which S3 asks to repeat. Of a
    /// server's own failures, 501 and 505 say that it will never know how.
    var isTransient: Bool {
        switch answer.status {
        case 408, 409, 425, 429: true
        case 501, 505: false
        case 500...: true
        default: Self.transientCodes.contains(code)
        }
    }

    static let transientCodes: Set<String> = [
        "RequestTimeout", "InternalError", "SlowDown", "ServiceUnavailable", "Throttling",
        "ThrottlingException", "RequestLimitExceeded", "OperationAborted",
    ]

    /// Whether other credentials may be accepted: these have ended, or were replaced.
    var asksForOtherCredentials: Bool {
        [
            "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired",
            "InvalidAccessKeyId", "SignatureDoesNotMatch",
        ].contains(code)
    }

    /// Returns the error that a caller sees.
    ///
    /// - Parameters:
    ///   - address: Where the request went.
    ///   - secret: A text that a server might have repeated in its message.
    /// - Returns: A ``/ObjectStores/StoreError/failed(code:message:isTransient:)``.
    func error(_ address: S3Address, hiding secret: String?) -> StoreError {
        var text = message.isEmpty ? "the server at \(address.host) gave no reason" : message
        if let hint = hint(address) { text += "; \(hint)" }
        if let secret, !secret.isEmpty {
            // By scalars: a mark that follows must not hide it.
            text = text.replacingOccurrences(
                of: secret, with: "<redacted>", options: .literal)
        }
        return .failed(
            code: code.isEmpty ? "\(answer.status)" : "\(answer.status) \(code)", message: text,
            isTransient: isTransient)
    }

    private func hint(_ address: S3Address) -> String? {
        switch code {
        case "NoSuchBucket":
            return "there is no bucket \"\(address.bucket)\" at \(address.host): create it, or "
                + "correct its name, the region (\(address.region)) or the endpoint"
        case "InvalidAccessKeyId":
            return "check the access key, and that the endpoint is the one it was made for"
        case "SignatureDoesNotMatch":
            return "check the secret key, and that the region (\(address.region)) is the bucket's"
        case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired":
            return "the temporary credentials have ended: get new ones"
        case "RequestTimeTooSkewed":
            return "set this machine's clock"
        case "AuthorizationHeaderMalformed", "PermanentRedirect",
            "IllegalLocationConstraintException",
            "TemporaryRedirect":
            return otherRegion(address)
        default: break
        }
        switch answer.status {
        case 301, 302, 307, 308: return otherRegion(address)
        case 401, 403:
            return "the key needs the rights s3:GetObject, s3:PutObject and s3:DeleteObject for "
                + "\"\(address.bucket)/\(address.prefix)*\", and s3:ListBucket for the bucket"
        case 404, 405: return "check the endpoint (\(address.host)) and the bucket's name"
        default: return nil
        }
    }

    private func otherRegion(_ address: S3Address) -> String {
        let region = answer.headers["x-amz-bucket-region"].map { Self.clean($0, limit: 40) }
        return "the bucket \"\(address.bucket)\" is elsewhere: "
            + "use the region \(region ?? "in which it was created") instead of \(address.region), "
            + "and its endpoint"
    }

    /// Returns a server's text on one line, of a limited length.
    static func clean(_ text: String, limit: Int) -> String {
        let scalars = text.unicodeScalars.prefix(limit).map {
            $0.properties.generalCategory == .control || $0.properties.generalCategory == .format
                || $0.properties.isWhitespace ? " " : $0
        }
        return String(String.UnicodeScalarView(scalars))
            .split(separator: " ").joined(separator: " ")
    }
}
