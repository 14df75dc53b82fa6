import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import SecureKeys
import SecureStorage
import SecureMirror
import Testing

@testable import NotesService

/// A temporary folder with a mirror, and machines that come and go.
final class ServiceFolder: Sendable {
    let url: URL
    let store: FailingStore
    private let key = SecretBytes.random(count: 32)

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("notes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        store = FailingStore(
            DirectoryObjectStore(directory: url.appendingPathComponent("mirror")))
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Starts the service on a machine, which has its own folder.
    func open(
        _ machine: String, maximumBehind: Duration = .seconds(10)
    ) async throws -> NotesService {
        let folder = url.appendingPathComponent(machine)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var logger = Logger(label: "tests")
        logger.logLevel = .critical
        return try await NotesService.open(
            NotesService.Settings(
                database: folder.appendingPathComponent("notes.db"), key: .raw(key),
                store: store, mirrorName: "notes", maximumBehind: maximumBehind),
            logger)
    }

    /// Removes a machine's folder, as if the machine was lost.
    func lose(_ machine: String) throws {
        try FileManager.default.removeItem(at: url.appendingPathComponent(machine))
    }
}

extension NotesService {
    /// Answers requests, without a network.
    func serve(
        _ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        try await application().test(.router, body)
    }
}

extension TestClientProtocol {
    /// Sends a note, and checks how it is answered.
    @discardableResult
    func post(
        _ text: String, id: UUID? = nil, to uri: String = "/notes",
        expecting status: HTTPResponse.Status = .created,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestResponse {
        var fields = ["text": text]
        fields["id"] = id?.uuidString
        let answer = try await execute(
            uri: uri, method: .post, body: ByteBuffer(bytes: JSONEncoder().encode(fields)))
        #expect(answer.status == status, sourceLocation: sourceLocation)
        return answer
    }

    func get(_ uri: String) async throws -> TestResponse {
        try await execute(uri: uri, method: .get)
    }

    /// Reads all texts.
    func texts() async throws -> [String] {
        try await get("/notes").decoded([Note].self).map(\.text)
    }
}

extension TestResponse {
    func decoded<T: Decodable>(_ type: T.Type) throws -> T {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: Data(body.readableBytesView))
    }
}
