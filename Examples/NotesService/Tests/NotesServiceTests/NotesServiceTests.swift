import Foundation
import Hummingbird
import HummingbirdTesting
import NIOCore
import SecureStorage
import SecureMirror
import ServiceLifecycle
import Testing

@testable import NotesService

@Suite struct NotesServiceTests {
    private let folder: ServiceFolder

    init() throws { folder = try ServiceFolder() }

    /// Runs the whole service, and ends it as SIGTERM would.
    private func running(
        _ service: NotesService, _ body: () async throws -> Void
    ) async throws {
        let group = service.group(service.application(), signals: [])
        async let running: Void = group.run()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        await group.triggerGracefulShutdown()
        try await running
        await service.database.pool.close()
        try outcome.get()
    }

    @Test func `a note is created, found and listed`() async throws {
        let service = try await folder.open("a")
        try await service.serve { client in
            let answer = try await client.post("buy milk")
            let note = try answer.decoded(Note.self)
            #expect(answer.headers[.location] == "/notes/\(note.id)")
            #expect(try await client.get("/notes/\(note.id)").decoded(Note.self) == note)
            try await client.post("and bread")
            let all = try await client.get("/notes?limit=1").decoded([Note].self)
            #expect(all == [note])
            let rest = try await client.get("/notes?after=\(note.number)").decoded([Note].self)
            #expect(rest.map(\.text) == ["and bread"])
            #expect(try await client.get("/notes/none").status == .notFound)
        }
        await service.database.pool.close()
    }

    @Test func `what cannot be a note is refused`() async throws {
        let service = try await folder.open("a")
        try await service.serve { client in
            try await client.post("", expecting: .badRequest)
            try await client.post("x", to: "/notes?wait=maybe", expecting: .badRequest)
            let long = String(repeating: "é", count: 5001)
            try await client.post(long, expecting: .badRequest)
            let huge = String(repeating: "x", count: 70_000)
            try await client.post(huge, expecting: .contentTooLarge)
            #expect(try await client.get("/notes?limit=0").status == .badRequest)
            #expect(try await client.texts() == [])
        }
        await service.database.pool.close()
    }

    @Test func `an acknowledged note survives the loss of the machine`() async throws {
        let first = try await folder.open("a")
        try await first.serve { client in
            for text in ["one", "two", "three"] {
                try await client.post(text)
            }
        }
        // Not ended: the machine is lost with the file open.
        try folder.lose("a")
        let second = try await folder.open("b")
        try await second.serve { client in
            #expect(try await client.texts() == ["one", "two", "three"])
            try await client.post("four")
        }
        await second.database.pool.close()
    }

    @Test func `the end stores what nobody waited for`() async throws {
        let first = try await folder.open("a")
        try await running(first) {
            try await first.serve { client in
                try await client.post("later", to: "/notes?wait=false", expecting: .accepted)
            }
        }
        try folder.lose("a")
        let second = try await folder.open("b")
        #expect(try await second.database.notes(after: 0, limit: 10).map(\.text) == ["later"])
        await second.database.pool.close()
    }

    @Test func `a note that did not reach the mirror is not acknowledged`() async throws {
        let service = try await folder.open("a", maximumBehind: .milliseconds(1))
        let id = UUID()
        try await service.serve { client in
            folder.store.isFailing = true
            try await client.post("milk", id: id, expecting: .serviceUnavailable)
            let health = try await client.get("/health")
            #expect(health.status == .serviceUnavailable)
            #expect(try health.decoded(Health.self).mirror.failure?.contains("ETEST") == true)
            folder.store.isFailing = false
            // The same note again is acknowledged, and is not a second one.
            try await client.post("milk", id: id)
            try await client.post("bread", id: id, expecting: .conflict)
            #expect(try await client.texts() == ["milk"])
        }
        await service.database.pool.close()
    }

    @Test func `requests that wait share a flush`() async throws {
        let service = try await folder.open("a")
        folder.store.isFailing = true
        try await service.serve { client in
            try await withThrowingTaskGroup { group in
                for number in 1...20 {
                    group.addTask {
                        try await client.post(
                            "note \(number)", expecting: .serviceUnavailable)
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(folder.store.tries < 15)
        await service.database.pool.close()
    }

    @Test func `a service whose mirror was taken over acknowledges nothing`() async throws {
        let old = try await folder.open("a")
        try await old.serve { client in
            try await client.post("one")
        }
        let new = try await folder.open("b")
        try await new.serve { client in
            try await client.post("two")
        }
        try await old.serve { client in
            for text in ["three", "four"] {
                try await client.post(text, expecting: .serviceUnavailable)
            }
        }
        await old.database.pool.close()
        await new.database.pool.close()
        let third = try await folder.open("c")
        #expect(try await third.database.notes(after: 0, limit: 9).map(\.text) == ["one", "two"])
        await third.database.pool.close()
    }

    @Test func `health and metrics show the mirror`() async throws {
        let service = try await folder.open("a")
        try await running(service) {
            try await service.serve { client in
                try await client.post("one")
                let health = try await client.get("/health")
                #expect(health.status == .ok)
                #expect(try health.decoded(Health.self).mirror.storedBytes > 0)
                let text = String(buffer: try await client.get("/metrics").body)
                #expect(text.contains("notes_commits_total 1\n"))
                #expect(text.contains("notes_requests_total{method=\"POST\",status=\"201\"} 1\n"))
            }
        }
    }
}
