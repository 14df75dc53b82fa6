import Foundation
import SecureKeys

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A key-encryption key that a service on the network holds: `GET URL` with a bearer token returns
/// its 32 bytes, as secret managers do.
///
/// Data keys that it has wrapped are unwrapped only while the service knows the key and accepts the
/// token: whoever copies the disk has neither. Keep the unwrapped key in a `KeyHolder`: each call
/// of this source asks the service and blocks its thread.
struct RemoteKey: KeyEncryptionKeySource {
    let name: String
    let url: URL
    let token: SecretBytes
    /// Seconds.
    var timeout: TimeInterval = 10

    func makeKey() throws -> KeyEncryptionKey { try fetch() }

    func key(for record: WrappedKey) throws -> KeyEncryptionKey {
        guard case .key = record.origin else { throw EnvelopeError.noSuchKey(name: name) }
        return try fetch()
    }

    enum Failure: Error, CustomStringConvertible {
        case unreachable(String)
        case refused(status: Int)
        case notAKey(count: Int)

        var description: String {
            switch self {
            case .unreachable(let reason): "the key service cannot be reached: \(reason)"
            case .refused(401), .refused(403):
                "the key service refused the token; renew it"
            case .refused(404): "the key service has no such key; check its name"
            case .refused(let status): "the key service answered with status \(status)"
            case .notAKey(let count): "the key service returned \(count) bytes; a key has 32"
            }
        }
    }

    private func fetch() throws -> KeyEncryptionKey {
        var request = URLRequest(url: url, timeoutInterval: timeout)
        request.cachePolicy = .reloadIgnoringLocalCacheData
        token.withUnsafeBytes {
            let token = String(decoding: $0, as: UTF8.self)
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        }
        var body = try Self.body(of: request)
        guard body.count == 32 else { throw Failure.notAKey(count: body.count) }
        return try KeyEncryptionKey(name: name, bytes: SecretBytes(erasing: &body))
    }

    private final class Answer: @unchecked Sendable {
        // @unchecked: set before the semaphore is signalled, read after it.
        var result: Result<Data, any Error> = .failure(Failure.unreachable("no answer"))
    }

    private static func body(of request: URLRequest) throws -> Data {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let (answer, done) = (Answer(), DispatchSemaphore(value: 0))
        session.dataTask(with: request) { data, response, error in
            if let error {
                answer.result = .failure(Failure.unreachable(error.localizedDescription))
            } else if let status = (response as? HTTPURLResponse)?.statusCode, status != 200 {
                answer.result = .failure(Failure.refused(status: status))
            } else {
                answer.result = .success(data ?? Data())
            }
            done.signal()
        }.resume()
        done.wait()
        return try answer.result.get()
    }
}
