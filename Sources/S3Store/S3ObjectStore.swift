public import Foundation
internal import Crypto
internal import SecureStoragePlatform
public import ObjectStores

/// Objects in a bucket of Amazon S3, or of a server that speaks its protocol.
///
/// ```swift
/// let store = try S3ObjectStore(address: "s3://my-bucket/backup", region: "eu-central-1")
/// ```
///
/// An object is created by `PutObject` with the header `If-None-Match: *`, which Amazon S3 has
/// honoured since 2024, as have newer versions of other servers. One that ignores it would let
/// machines overwrite each other's objects: ``/ObjectStores/ObjectStore/probe(under:)`` finds out.
/// Requests are signed with AWS Signature Version 4 and carry the SHA-256 of their body. Lists have
/// to be strongly consistent and in the order of the keys' bytes, as those of Amazon's general
/// purpose buckets are; its directory buckets have another order, and their lists fail.
///
/// Conflicts, overload, failures of the server and of the connection are repeated after random
/// pauses of up to 1, 2, 4 and then 8 seconds, until `patience` has passed since the first failure;
/// the error is then transient. A creation whose answer was lost is repeated too, and returns false
/// if the first try had succeeded. If a server says that this machine's clock is wrong, its own
/// time is taken. No redirect is followed.
///
/// A mark is an object that is overwritten. A caller that waits asks for it with one `GetObject`
/// each second while marks are set, and less often later: after a quarter of the time since the
/// last one, up to every 15 seconds. Both ends are the setting `polling`.
///
/// On Linux the requests are made by AsyncHTTPClient, which this package has with its trait `S3`;
/// on Apple's platforms by `URLSession`.
///
/// Thread-safe. Requests run concurrently, up to 16 connections at a time; they end when their task
/// is cancelled. Errors contain neither the secret key nor the session's token.
public final class S3ObjectStore: ObjectStore, PlacedStore {
    /// Where the bucket's name is in an address.
    public enum AddressStyle: Sendable, Hashable {
        /// `https://server/bucket/key`, as most servers other than Amazon's expect it.
        case path
        /// `https://bucket.server/key`, as Amazon's expect it.
        case virtualHost
    }

    private let client: S3Client
    private let polling: ClosedRange<Duration>
    /// When a mark was set or seen last.
    private let lastMark = Locked(ContinuousClock.now)
    /// Whether the server has refused to remove several objects at once.
    private let removesOneByOne = SharedFlag()

    /// The most objects that a list or a removal has, which S3 limits.
    static let pageSize = 1000
    private static let objectLimit = 64 << 20

    init(
        _ client: S3Client, polling: ClosedRange<Duration> = .seconds(1)...(.seconds(15))
    ) {
        (self.client, self.polling) = (client, polling)
    }

    package var place: String {
        let prefix = client.address.prefix
        return "the bucket \"\(client.address.bucket)\""
            + (prefix.isEmpty ? "" : " under \"\(prefix)\"")
    }

    // MARK: - Objects

    /// Creates an object by a `PutObject` on the condition that nothing has its key.
    public func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try ObjectName.check(name)
        let answer: S3Answer
        do {
            answer = try await client.send(
                put(name, bytes, [("if-none-match", "*")], expected: [412]))
        } catch StoreError.failed("501 NotImplemented", _, _) {
            throw StoreError.cannotCreateOnly("its server does not know If-None-Match")
        }
        return answer.status != 412
    }

    /// Returns the content of an object by a `GetObject`; nil only if the server says `NoSuchKey`.
    public func read(_ name: String) async throws -> Data? {
        try ObjectName.check(name)
        do {
            return try await answer(name, limit: Self.objectLimit)?.body
        } catch StoreError.failed(S3TransferError.tooLongCode, _, _) {
            throw StoreError.objectTooLarge(name)
        }
    }

    private func put(
        _ name: String, _ bytes: Data, _ headers: [(name: String, value: String)] = [],
        expected: Set<Int> = []
    ) -> S3Request {
        S3Request(
            method: "PUT", name: name,
            headers: headers + [("content-type", "application/octet-stream")], body: bytes,
            expected: expected)
    }

    /// Returns the answer with an object; nil if there is none.
    private func answer(_ name: String, limit: Int) async throws -> S3Answer? {
        // The explanation of an error is longer than a mark.
        let answer = try await client.send(
            S3Request(method: "GET", name: name, limit: max(limit, 1 << 20), expected: [404]))
        guard answer.status == 404 else { return answer }
        // A missing bucket, or a server that is none of S3, must not look like an empty store.
        guard S3Failure(answer).code == "NoSuchKey" else { throw client.failure(answer) }
        return nil
    }

    // MARK: - Lists

    /// Returns up to 1000 objects by a `ListObjectsV2`; keys that are not names are left out.
    public func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try ObjectName.check(prefix: prefix)
        let start = client.address.prefix
        var last = after.map { start + $0 }
        while true {
            let page = try await page(start + prefix, after: last)
            var objects: [StoredObject] = []
            for entry in page.entries {
                guard entry.key.utf8.starts(with: (start + prefix).utf8),
                    last.map({ $0.utf8.lexicographicallyPrecedes(entry.key.utf8) }) != false
                else { throw Self.failure("a list is not in the order of its keys' bytes") }
                last = entry.key
                // Whatever else others keep there is not an object.
                let name = String(
                    decoding: entry.key.utf8.dropFirst(start.utf8.count), as: UTF8.self)
                guard ObjectName.isValid(name) else { continue }
                objects.append(StoredObject(name: name, size: entry.size))
            }
            // A page of other people's objects is not the last.
            if !objects.isEmpty || !page.isTruncated {
                return ObjectPage(objects, isTruncated: page.isTruncated)
            }
            guard !page.entries.isEmpty else {
                throw Self.failure("an empty list is said to continue")
            }
        }
    }

    private func page(_ prefix: String, after: String?) async throws -> S3Page {
        var query = [
            ("list-type", "2"), ("encoding-type", "url"), ("max-keys", "\(Self.pageSize)"),
            ("prefix", prefix),
        ]
        if let after { query.append(("start-after", after)) }
        // A thousand keys of 1 KiB, encoded, with owners and hashes.
        let answer = try await client.send(
            S3Request(method: "GET", query: query, limit: 16 << 20))
        guard let page = S3Page(answer.body) else {
            throw Self.failure("the answer is not a list of S3; check the endpoint")
        }
        return page
    }

    private static func failure(_ message: String) -> StoreError {
        .failed(code: "InvalidAnswer", message: message, isTransient: false)
    }

    // MARK: - Removal

    /// Removes objects by `DeleteObjects`, 1000 at a time, or one by one where that is refused.
    public func remove(_ names: [String]) async throws {
        for name in names { try ObjectName.check(name) }
        for start in stride(from: 0, to: names.count, by: Self.pageSize) {
            var rest = names[start..<min(start + Self.pageSize, names.count)].map {
                client.address.prefix + $0
            }
            if rest.count > 1, !removesOneByOne.isOn {
                rest = try await removeTogether(rest)
            }
            for key in rest {
                try await removeOne(String(key.dropFirst(client.address.prefix.count)))
            }
        }
    }

    /// Removes objects with one request; returns those that have to be removed one by one, either
    /// since the server does not know the request, or since it was overloaded.
    private func removeTogether(_ keys: [String]) async throws -> [String] {
        let body = S3Removal.body(keys)
        let answer = try await client.send(
            S3Request(
                method: "POST", query: [("delete", "")],
                headers: [
                    ("content-type", "application/xml"),
                    ("x-amz-sdk-checksum-algorithm", "SHA256"),
                    ("x-amz-checksum-sha256", Data(SHA256.hash(data: body)).base64EncodedString()),
                ], body: body, limit: 16 << 20, expected: [400, 404, 405, 411, 501]))
        guard answer.status == 200 else {
            // Some servers require an MD5 here, or do not have the request.
            guard
                [
                    "", "InvalidRequest", "MissingContentMD5", "InvalidDigest", "NotImplemented",
                    "MethodNotAllowed", "InvalidArgument",
                ].contains(S3Failure(answer).code)
            else { throw client.failure(answer) }
            removesOneByOne.set(true)
            return keys
        }
        guard let failures = S3Removal.failures(answer.body) else {
            throw Self.failure("the answer to a removal is not S3's")
        }
        let asked = Set(keys)
        return try failures.compactMap { failure in
            if failure.code == "NoSuchKey" { return nil }
            guard S3Failure.transientCodes.contains(failure.code), asked.contains(failure.key)
            else {
                throw StoreError.failed(
                    code: S3Failure.clean(failure.code, limit: 60),
                    message: "cannot remove an object: "
                        + S3Failure.clean(failure.message, limit: 500)
                        + "; the key needs the right s3:DeleteObject",
                    isTransient: false)
            }
            return failure.key
        }
    }

    private func removeOne(_ name: String) async throws {
        let answer = try await client.send(
            S3Request(method: "DELETE", name: name, expected: [404]))
        guard answer.status != 404 || S3Failure(answer).code == "NoSuchKey" else {
            throw client.failure(answer)
        }
    }

    // MARK: - Marks

    /// Sets a mark by a `PutObject` without a condition.
    public func mark(_ name: String, _ bytes: Data) async throws {
        try ObjectName.check(name)
        _ = try await client.send(put(name, bytes))
        // Whoever has been told may answer.
        lastMark.withLock { $0 = .now }
    }

    /// Waits by asking for the mark, at most 5 seconds longer than the limit if an answer is slow.
    public func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try ObjectName.check(name)
        let end = ContinuousClock.now + limit
        return try await withThrowingTaskGroup(of: String?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await self.pollMark(name, since: tag, until: end) }
            // A request that is under way then may still bring the mark.
            group.addTask {
                try await Task.sleep(until: end + .seconds(5), clock: .continuous)
                return nil
            }
            return try await group.next() ?? nil
        }
    }

    private func pollMark(
        _ name: String, since tag: String?, until end: ContinuousClock.Instant
    ) async throws -> String? {
        while true {
            if let now = try await self.tag(name), now != tag {
                lastMark.withLock { $0 = .now }
                return now
            }
            let now = ContinuousClock.now
            let idle = now - lastMark.withLock { $0 }
            let pause = min(max(idle / 4, polling.lowerBound), polling.upperBound)
            // What is set in the last pause, the next call finds.
            if now < end { try await Task.sleep(for: min(pause, end - now)) }
            guard now + pause < end else { return nil }
        }
    }

    /// Returns what changes when a mark is set; nil if there is none.
    ///
    /// Not by a condition on the entity tag: that of a mark set again with the same bytes is the
    /// same, but not its date. And not by HEAD: its errors have no explanation, and a mark is not
    /// larger than its headers.
    private func tag(_ name: String) async throws -> String? {
        guard let answer = try await answer(name, limit: 1 << 10) else { return nil }
        return [
            answer.headers["etag"] ?? AWSSignatureV4.hash(answer.body),
            answer.headers["last-modified"] ?? "", answer.headers["x-amz-version-id"] ?? "",
        ].joined(separator: " ")
    }
}
