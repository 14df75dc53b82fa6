import Foundation
import Observation
import SecureStorage

/// What the screens of a notebook show, and what their buttons do.
///
/// A view reads the properties, and SwiftUI redraws it when one of them changes. All reading and
/// writing happens off the main thread.
@available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
@MainActor @Observable
final class NotebookModel {
    /// The notes of the list; see ``follow()``.
    private(set) var notes: [Note] = []

    /// Whether ``notes`` were read once: an empty list is not the same as none yet.
    private(set) var isLoaded = false

    /// What failed last, for the user; nil again after a success.
    private(set) var failure: String?

    /// What the user has typed into the search field.
    var searchText = ""

    private let store: NoteStore

    init(_ store: NoteStore) { self.store = store }

    /// Keeps ``notes`` as the file has them, for the search text of now, until the task is
    /// cancelled.
    ///
    /// `.task(id: model.searchText) { await model.follow() }` starts it again for each search text.
    func follow() async {
        for await result in store.notes(matching: searchText) {
            do {
                notes = try result.get()
                isLoaded = true
                failure = nil
            } catch let error as SecureStorageError where error.isSuspended {
                // The app is in the background; the notes stay on the screen.
            } catch {
                failure = "The notes cannot be read: \(error)"
            }
        }
    }

    /// Adds a note, unless it is empty.
    ///
    /// - Returns: Whether the text can go from the field.
    @discardableResult
    func add(_ text: String) async -> Bool {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { return false }
        return await perform { try await $0.add(text) }
    }

    /// Changes a note, unless it is no longer what the user has seen.
    @discardableResult
    func change(_ note: Note, to text: String) async -> Bool {
        var isChanged = false
        let isDone = await perform { isChanged = try await $0.change(note, to: text) }
        if isDone, !isChanged { failure = "The note was changed elsewhere in the meantime." }
        return isDone && isChanged
    }

    func remove(_ ids: Set<Note.ID>) async { await perform { try await $0.remove(ids) } }

    /// Runs what a button does, and shows its failure.
    ///
    /// It does not touch the list: ``follow()`` receives the commit like any other.
    @discardableResult
    private func perform(_ action: (NoteStore) async throws -> Void) async -> Bool {
        do {
            try await action(store)
            failure = nil
            return true
        } catch let error as SecureStorageError where error.isBusy {
            failure = "Another program is writing; try again."
        } catch {
            failure = "That did not work: \(error)"
        }
        return false
    }
}
