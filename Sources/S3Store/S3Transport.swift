internal import Foundation

/// Sends requests over HTTP.
///
/// Follows no redirect: a signature is for one host, and a session's token must not go to another.
/// Keeps no cookies, no cache and no passwords.
protocol S3Transport: Sendable {
    /// Sends a request, and receives the whole answer.
    ///
    /// - Parameters:
    ///   - request: The request, signed.
    ///   - limit: The most bytes of the answer's body; a server may send anything.
    /// - Returns: An answer of any status.
    /// - Throws: ``S3TransferError``; `CancellationError`.
    func send(_ request: S3HTTPRequest, limit: Int) async throws -> S3Answer
}

/// A request as it goes over the wire.
struct S3HTTPRequest: Sendable {
    var method: String
    var url: URL
    var headers: [(name: String, value: String)]
    /// nil for methods that have none.
    var body: Data?
}

/// An answer of a server.
struct S3Answer: Sendable {
    var status: Int
    /// By their names in lower case.
    var headers: [String: String]
    var body: Data
}

/// A transfer that ended without a whole answer.
struct S3TransferError: Error, Equatable {
    var code: String
    var message: String
    var isTransient: Bool

    /// The code of an answer with more bytes than were allowed.
    static let tooLongCode = "AnswerTooLong"

    static let tooLong = S3TransferError(
        code: tooLongCode,
        message: "the server's answer is longer than any to this request can be",
        isTransient: false)

    static let cut = S3TransferError(
        code: "networkConnectionLost", message: "the connection ended within the answer",
        isTransient: true)
}

/// The times that a transfer may take.
struct S3Times: Sendable {
    /// Without anything being transferred.
    let idle: Duration
    /// In all: a server that sends a byte now and then must not keep its caller for ever.
    let whole: Duration

    /// - Parameters:
    ///   - idle: The longest time without anything being transferred.
    ///   - whole: The longest time in all; nil: 45 times as long.
    init(idle: Duration, whole: Duration? = nil) {
        (self.idle, self.whole) = (idle, whole ?? idle * 45)
    }
}
