import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The program as systemd runs it: with a credential, a network, and a signal at the end.
@Suite(.timeLimit(.minutes(5))) struct ProgramTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("notes-program-\(UUID().uuidString)")
        let credentials = folder.appendingPathComponent("credentials")
        try FileManager.default.createDirectory(
            at: credentials, withIntermediateDirectories: true)
        let key = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) })
        _ = FileManager.default.createFile(
            atPath: credentials.appendingPathComponent("notes.key").path, contents: key,
            attributes: [.posixPermissions: 0o400])
    }

    /// Starts the program on a machine, which has its own folder.
    private func start(
        _ machine: String, credential: String = "notes.key"
    ) throws -> RunningService {
        let home = folder.appendingPathComponent(machine)
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        return try RunningService(
            [
                "--database", home.appendingPathComponent("notes.db").path,
                "--mirror", "directory:" + folder.appendingPathComponent("mirror").path,
                "--key-credential", credential, "--port", "0",
            ],
            credentials: folder.appendingPathComponent("credentials"))
    }

    @Test func `a service with a credential answers, tells its health, and ends with SIGTERM`()
        async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try start("a")
        let url = try await first.address()
        var request = URLRequest(url: url.appendingPathComponent("notes"))
        request.httpMethod = "POST"
        request.httpBody = Data(#"{"text": "buy milk"}"#.utf8)
        #expect(try await Self.send(request).status == 201)
        let health = try await Self.send(URLRequest(url: url.appendingPathComponent("health")))
        #expect(health.status == 200)
        #expect(health.text.contains(#""database":"ok""#))
        let metrics = try await Self.send(URLRequest(url: url.appendingPathComponent("metrics")))
        #expect(metrics.text.contains("notes_commits_total 1\n"))
        #expect(metrics.text.contains("notes_healthy 1\n"))
        #expect(await first.end() == 0)
        #expect(first.log.contains("ended; the mirror has everything"))

        // Another machine with the credential has the note.
        let second = try start("b")
        let notes = try await second.address().appendingPathComponent("notes")
        #expect(try await Self.send(URLRequest(url: notes)).text.contains("buy milk"))
        #expect(second.log.contains("restored"))
        #expect(await second.end() == 0)
    }

    @Test func `a service without its credential says so, and makes no file`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let service = try start("a", credential: "other.key")
        #expect(await service.status() == 1)
        #expect(service.log.contains("LoadCredentialEncrypted=other.key"))
        let files = try FileManager.default.contentsOfDirectory(
            atPath: folder.appendingPathComponent("a").path)
        #expect(files.isEmpty)
    }

    private static func send(_ request: URLRequest) async throws -> (status: Int, text: String) {
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        return (status, String(decoding: data, as: UTF8.self))
    }
}
