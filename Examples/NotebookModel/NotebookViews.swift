#if canImport(SwiftUI)
    import SwiftUI

    /// The list of notes, with a field for a new one.
    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    struct NotebookView: View {
        @Bindable var model: NotebookModel
        @State private var newText = ""

        var body: some View {
            NavigationStack {
                List {
                    ForEach(model.notes) { note in
                        NavigationLink(note.text) { NoteEditor(model: model, note: note) }
                    }
                    .onDelete { offsets in
                        let ids = Set(offsets.map { model.notes[$0].id })
                        Task { await model.remove(ids) }
                    }
                    TextField("New note", text: $newText)
                        .onSubmit { Task { if await model.add(newText) { newText = "" } } }
                }
                .overlay {
                    if model.isLoaded, model.notes.isEmpty { Text("No notes") }
                }
                .searchable(text: $model.searchText)
                .navigationTitle("Notes")
                .safeAreaInset(edge: .bottom) {
                    if let failure = model.failure { Text(failure).foregroundStyle(.red) }
                }
            }
            .task(id: model.searchText) { await model.follow() }
        }
    }

    /// One note in a field.
    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    private struct NoteEditor: View {
        let model: NotebookModel
        let note: Note
        @State private var text = ""
        @Environment(\.dismiss) private var dismiss

        var body: some View {
            Form {
                TextField("Note", text: $text, axis: .vertical)
                Button("Save") {
                    Task { if await model.change(note, to: text) { dismiss() } }
                }
                .disabled(text.isEmpty || text == note.text)
            }
            .onAppear { text = note.text }
        }
    }
#endif
