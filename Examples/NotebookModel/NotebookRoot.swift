#if canImport(SwiftUI) && canImport(Security)
    import Foundation
    import SecureKeys
    import SecureStorage
    import SwiftUI

    /// The first view of an app: opens the file with the key of the keychain, then shows the notes.
    ///
    /// In an app: `WindowGroup { NotebookRoot() }`.
    @available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *)
    struct NotebookRoot: View {
        @State private var model: NotebookModel?
        @State private var failure: String?
        #if os(iOS) || os(tvOS) || os(visionOS)
            /// Releases the file before the system suspends the app.
            @State private var suspension: AppLifeSuspension?
        #endif

        var body: some View {
            if let model {
                NotebookView(model: model)
            } else if let failure {
                Text(failure)
            } else {
                ProgressView().task { await open() }
            }
        }

        private func open() async {
            do {
                let store = try await NoteStore.openOfThisUser()
                #if os(iOS) || os(tvOS) || os(visionOS)
                    suspension = AppLifeSuspension([store.database])
                #endif
                model = NotebookModel(store)
            } catch {
                failure = "The notebook cannot be opened: \(error)"
            }
        }
    }

    extension NoteStore {
        /// Opens the notes of this user, whose key is in the keychain of this device.
        static func openOfThisUser() async throws -> NoteStore {
            let file = try FileManager.default
                .url(
                    for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil,
                    create: true
                )
                .appendingPathComponent("notes.db")
            let keychain = try KeychainKeyStore(service: "org.example.notebook")
            // A file that exists is not opened by another key, so none is made for it.
            let key =
                try SecureDatabaseStore.exists(at: file)
                ? keychain.read("notes.db")
                : keychain.read("notes.db", orInsert: { .random(count: 32) })
            return try await open(file, key: .raw(key))
        }
    }
#endif
