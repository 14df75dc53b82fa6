import Foundation
import Hummingbird
import Logging
import SecureMirror
import SecureStorage

/// The requests that the service answers.
struct NoteRoutes: Sendable {
    let database: NoteDatabase
    let mirror: DatabaseMirror
    let metrics: Metrics
    let health: @Sendable () async -> Health

    /// A request with at most 64 KiB.
    struct Context: RequestContext {
        var coreContext: CoreRequestContextStorage
        var maxUploadSize: Int { 64 * 1024 }

        init(source: ApplicationRequestContextSource) {
            coreContext = CoreRequestContextStorage(source: source)
        }
    }

    func router() -> Router<Context> {
        let router = Router(context: Context.self)
        router.add(middleware: CountingMiddleware(metrics: metrics))
        router.post("notes") { try await add($0, $1) }
        router.get("notes") { try await list($0, $1) }
        router.get("notes/{id}") { try await note($0, $1) }
        router.get("health") { _, _ in await health() }
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text(await health()))))
        }
        return router
    }

    // MARK: - Adding

    /// A note as a client sends it.
    private struct NewNote: Decodable {
        var text: String
        /// Chosen by a client that may have to send the note again.
        var id: UUID?
    }

    /// Answers 201 when the note is in the mirror as well.
    ///
    /// So whatever was acknowledged survives the loss of this machine. With `?wait=false` it
    /// answers 202 when the note is on this machine's disk.
    private func add(_ request: Request, _ context: Context) async throws -> Response {
        let new = try await request.decode(as: NewNote.self, context: context)
        guard (1...10_000).contains(new.text.utf8.count) else {
            throw HTTPError(.badRequest, message: "a text has 1 to 10,000 bytes")
        }
        let waits: Bool
        switch request.uri.queryParameters["wait"] {
        case nil, "true": waits = true
        case "false": waits = false
        default: throw HTTPError(.badRequest, message: "wait is true or false")
        }
        let id = (new.id ?? UUID()).uuidString.lowercased()
        let note = try await add(id, new.text)
        let headers: HTTPFields = [.location: "/notes/\(id)"]
        if waits {
            do {
                try await mirror.flush()
            } catch {
                // The reason is for the owner, and not for a client.
                context.logger.error("a note is not in the mirror: \(error)")
                throw HTTPError(
                    .serviceUnavailable, headers: headers,
                    message: "the note is on one machine only; send it again with the id \(id)")
            }
        }
        var response = try context.responseEncoder.encode(note, from: request, context: context)
        response.status = waits ? .created : .accepted
        response.headers.append(contentsOf: headers)
        return response
    }

    private func add(_ id: String, _ text: String) async throws -> Note {
        do {
            let (note, isNew) = try await database.add(id: id, text: text)
            if isNew { metrics.addCommit() }
            return note
        } catch let error as ServiceError {
            throw HTTPError(.conflict, message: "\(error)")
        }
    }

    // MARK: - Reading

    /// Notes that the mirror does not have yet are among them.
    private func list(_ request: Request, _ context: Context) async throws -> Response {
        let parameters = request.uri.queryParameters
        guard let after = Int64(parameters["after"] ?? "0"), after >= 0,
            let limit = Int(parameters["limit"] ?? "100"), (1...1000).contains(limit)
        else {
            throw HTTPError(
                .badRequest, message: "after is the number of a note, limit 1 to 1000")
        }
        let notes = try await database.notes(after: after, limit: limit)
        return try context.responseEncoder.encode(notes, from: request, context: context)
    }

    private func note(_ request: Request, _ context: Context) async throws -> Response {
        let id = try context.parameters.require("id").lowercased()
        guard let note = try await database.note(id) else {
            throw HTTPError(.notFound, message: "there is no such note")
        }
        return try context.responseEncoder.encode(note, from: request, context: context)
    }
}
