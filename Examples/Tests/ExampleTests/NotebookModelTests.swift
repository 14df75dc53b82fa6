import Foundation
import Observation
import SecureStorage
import ExampleSupport
import Testing

@testable import NotebookModel

/// The model of the example for SwiftUI, without views.
@MainActor struct NotebookModelTests {
    private let home: TemporaryDatabase
    private let key = DatabaseKey.raw(TemporaryDatabase.key)

    init() throws { home = try TemporaryDatabase() }

    /// Runs `body` with a model whose screen is shown: it follows the file.
    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    private func showing(
        _ body: (NotebookModel, NoteStore) async throws -> Void
    ) async throws {
        let store = try await NoteStore.open(home.url, key: key)
        let model = NotebookModel(store)
        let following = Task { await model.follow() }
        try await wait(for: model) { model.isLoaded }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(model, store)) } catch { outcome = .failure(error) }
        following.cancel()
        await following.value
        await store.close()
        try outcome.get()
    }

    /// Waits as SwiftUI does: what the condition reads is observed until it changes.
    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    private func wait(
        for model: NotebookModel, until condition: @MainActor () -> Bool
    ) async throws {
        while true {
            let (changes, change) = AsyncStream.makeStream(of: Void.self)
            guard !withObservationTracking(condition, onChange: { change.yield() }) else { return }
            var iterator = changes.makeAsyncIterator()
            await iterator.next()
            try Task.checkCancellation()
        }
    }

    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    @Test func `a new file has no notes, and an added one is shown`() async throws {
        try await showing { model, _ in
            check(model.notes.isEmpty)
            await check(model.add("  Buy milk\n"))
            try await wait(for: model) { model.notes.map(\.text) == ["Buy milk"] }
            await check(!model.add(" \n"))
            await check(model.add("Call the bank"))
            try await wait(for: model) {
                model.notes.map(\.text) == ["Call the bank", "Buy milk"]
            }
            check(model.failure == nil)
        }
    }

    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    @Test func `a note that another connection adds is shown`() async throws {
        try await showing { model, _ in
            let other = try await NoteStore.open(home.url, key: key)
            try await other.add("from the share sheet")
            try await wait(for: model) { model.notes.map(\.text) == ["from the share sheet"] }
            await other.close()
        }
    }

    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    @Test(arguments: ["mil", "OAT milk", "\"milk", "milk*"])
    func `a search shows the notes with all its words, and follows`(_ text: String) async throws {
        let store = try await NoteStore.open(home.url, key: key)
        for text in ["Buy oat milk", "Call the bank"] { try await store.add(text) }
        let model = NotebookModel(store)
        model.searchText = text
        let following = Task { await model.follow() }
        try await wait(for: model) { model.notes.map(\.text) == ["Buy oat milk"] }
        await model.add("Return the oat milk")
        try await wait(for: model) { model.notes.count == 2 }
        following.cancel()
        await following.value
        await store.close()
    }

    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    @Test func `a note that was changed elsewhere in the meantime is not overwritten`()
        async throws
    {
        try await showing { model, store in
            await model.add("Buy milk")
            try await wait(for: model) { model.notes.count == 1 }
            let seen = model.notes[0]
            try await check(store.change(seen, to: "Buy oat milk"))
            await check(!model.change(seen, to: "Buy rice milk"))
            check(model.failure, equals: "The note was changed elsewhere in the meantime.")
            try await wait(for: model) { model.notes.map(\.text) == ["Buy oat milk"] }
            await check(model.change(model.notes[0], to: "Buy rice milk"))
            check(model.failure == nil)
        }
    }

    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    @Test func `removed notes disappear, also from the search`() async throws {
        try await showing { model, _ in
            for text in ["one", "two", "three"] { await model.add(text) }
            try await wait(for: model) { model.notes.count == 3 }
            let ids = model.notes.filter { $0.text != "two" }.map(\.id)
            await model.remove(Set(ids))
            try await wait(for: model) { model.notes.map(\.text) == ["two"] }
            model.searchText = "one"
            let searching = Task { await model.follow() }
            try await wait(for: model) { model.notes.isEmpty }
            searching.cancel()
            await searching.value
        }
    }

    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    @Test func `a failure is shown, and the notes stay on the screen`() async throws {
        try await showing { model, store in
            await model.add("Buy milk")
            try await wait(for: model) { model.notes.count == 1 }
            await store.close()
            await check(!model.add("lost"))
            check(model.failure?.hasPrefix("That did not work: closed"), equals: true)
            check(model.notes.map(\.text), equals: ["Buy milk"])
        }
    }

    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    @Test func `what was written while the app was suspended is shown when it resumes`()
        async throws
    {
        try await showing { model, store in
            await model.add("before")
            try await wait(for: model) { model.notes.count == 1 }
            store.database.suspend()
            let other = try await NoteStore.open(home.url, key: key)
            try await other.add("by an extension")
            await other.close()
            store.database.resume()
            try await wait(for: model) { model.notes.count == 2 }
            check(model.failure == nil)
        }
    }
}
