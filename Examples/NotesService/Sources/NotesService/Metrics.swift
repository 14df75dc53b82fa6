import Foundation
import Hummingbird
import SecureMirror
import Synchronization

/// What the service counts, in the text format that Prometheus reads.
final class Metrics: Sendable {
    private struct Counts {
        var requests: [Request: Int] = [:]
        var commits = 0
    }

    private struct Request: Hashable, Comparable {
        let method: String
        let status: Int

        static func < (left: Request, right: Request) -> Bool {
            (left.method, left.status) < (right.method, right.status)
        }
    }

    private let counts = Mutex(Counts())

    func addRequest(_ method: HTTPRequest.Method, _ status: HTTPResponse.Status) {
        // A client may invent methods, and each would be a line for ever.
        let known: [HTTPRequest.Method] = [.get, .head, .post]
        let name = known.contains(method) ? method.rawValue : "other"
        counts.withLock { $0.requests[Request(method: name, status: status.code), default: 0] += 1 }
    }

    func addCommit() { counts.withLock { $0.commits += 1 } }

    func text(_ health: Health) -> String {
        let counts = counts.withLock { $0 }
        var text = """
            # HELP notes_requests_total Answered requests.
            # TYPE notes_requests_total counter

            """
        for (request, count) in counts.requests.sorted(by: { $0.key < $1.key }) {
            text +=
                "notes_requests_total{method=\"\(request.method)\",status=\"\(request.status)\"} "
            text += "\(count)\n"
        }
        text += """
            # HELP notes_commits_total Notes that this process has committed.
            # TYPE notes_commits_total counter
            notes_commits_total \(counts.commits)
            # HELP notes_mirror_stored_bytes_total Bytes that this process has stored in the mirror.
            # TYPE notes_mirror_stored_bytes_total counter
            notes_mirror_stored_bytes_total \(health.mirror.storedBytes)
            # HELP notes_mirror_behind_seconds How old the newest state is that the mirror has.
            # TYPE notes_mirror_behind_seconds gauge
            notes_mirror_behind_seconds \(health.mirror.secondsBehind)
            # HELP notes_healthy 1 if /health answers 200.
            # TYPE notes_healthy gauge
            notes_healthy \(health.isGood ? 1 : 0)

            """
        return text
    }
}

/// Counts the answers.
struct CountingMiddleware<Context: RequestContext>: RouterMiddleware {
    let metrics: Metrics

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            let response = try await next(request, context)
            metrics.addRequest(request.method, response.status)
            return response
        } catch {
            let status = (error as? any HTTPResponseError)?.status ?? .internalServerError
            metrics.addRequest(request.method, status)
            throw error
        }
    }
}
