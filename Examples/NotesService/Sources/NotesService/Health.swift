import Foundation
import Hummingbird
import SecureMirror
import SecureStorage

/// Whether the service does what it promises.
struct Health: Codable, Equatable, Sendable {
    struct Mirror: Codable, Equatable, Sendable {
        /// How long the oldest commit has waited that the mirror does not have; since the start if
        /// it has no state yet.
        var secondsBehind: Double
        var storedBytes: Int
        /// The last failure, until something succeeds.
        var failure: String?
        var isGood: Bool
    }

    /// `ok`, or why the database does not answer.
    var database: String
    var mirror: Mirror

    var isGood: Bool { database == Self.ok && mirror.isGood }

    private static let ok = "ok"
}

extension Health {
    /// Asks the database and the mirror.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - mirror: The mirror's status.
    ///   - start: When the service has begun.
    ///   - limit: How far the mirror may be behind.
    init(
        of database: NoteDatabase, _ mirror: DatabaseMirror.Status, since start: Date,
        atMost limit: Duration
    ) async {
        do {
            try await database.check()
            self.database = Self.ok
        } catch {
            self.database = "\(error)"
        }
        // A clock that was set back makes it negative.
        let since = mirror.completeAt == nil ? start : mirror.behindSince ?? Date()
        let behind = max(0, -since.timeIntervalSinceNow)
        self.mirror = Mirror(
            secondsBehind: (behind * 1000).rounded() / 1000,
            storedBytes: mirror.storedBytes,
            failure: mirror.failure.map { "\($0)" },
            isGood: .seconds(behind) <= limit)
    }
}

extension Health: ResponseEncodable {
    func response(from request: Request, context: some RequestContext) throws -> Response {
        var response = try context.responseEncoder.encode(self, from: request, context: context)
        response.status = isGood ? .ok : .serviceUnavailable
        return response
    }
}
