import Foundation
import SecureMirror
import SecureStorage
import Vaults

/// Returns the server's key: nobody types it, systemd passes it to the service.
func serverKey() throws -> DatabaseKey {
    .raw(try SystemdCredentials.secret(named: "notes.key"))
}

/// Takes notes from the files of a folder; each one is in the mirror before its file goes.
struct Server: Sendable {
    let file: URL
    let inbox: URL
    let store: DirectoryObjectStore
    let key: DatabaseKey

    private static let mirrorName = "notes"

    /// Serves until a signal ends the work, or something fails.
    func run() async throws {
        if !SecureDatabaseStore.exists(at: file) { try await restore() }
        let notebook = try Notebook(at: file, key: key)
        defer { notebook.close() }
        let mirror = try notebook.mirror(in: store, name: Self.mirrorName)
        say("serving \(try notebook.notes().count) notes")
        let work = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await mirror.run() }
                group.addTask { try await takeNotes(notebook, mirror) }
                // The first one that fails ends the other.
                try await group.next()
            }
        }
        let signals = [SIGTERM, SIGINT].map { end(work, at: $0) }
        defer { for signal in signals { signal.cancel() } }
        do { try await work.value } catch is CancellationError {}
        try await mirror.flush()
        say("ended, the mirror has everything")
    }

    private func restore() async throws {
        do {
            try await DatabaseMirror.restore(
                Self.mirrorName, from: store, to: file, key: key)
            say("restored from the mirror")
        } catch MirrorError.noMirror {
            // Any other failure ends the program: an empty file must not take the place of one
            // that could not be reached.
            say("neither a file nor a mirror: the first start")
        }
    }

    private func takeNotes(_ notebook: Notebook, _ mirror: DatabaseMirror) async throws {
        while true {
            let names = try FileManager.default.contentsOfDirectory(atPath: inbox.path)
            for name in names.sorted() where name.hasSuffix(".txt") {
                try await take(name, notebook, mirror)
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func take(_ name: String, _ notebook: Notebook, _ mirror: DatabaseMirror) async throws {
        let file = inbox.appendingPathComponent(name)
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        do {
            let id = try await notebook.receive(
                text.trimmingCharacters(in: .newlines), origin: name)
            try await mirror.flush()
            try FileManager.default.removeItem(at: file)
            say("\(name) is note \(id), and in the mirror")
        } catch let error as Refusal {
            say("\(name) is refused: \(error)")
            try FileManager.default.moveItem(at: file, to: file.appendingPathExtension("refused"))
        } catch let error as MirrorError where error.isTransient {
            // The file stays, so that the note comes again; it does not become a second one.
            say("\(name) is not in the mirror yet: \(error)")
        }
    }

    private func end(_ work: Task<Void, any Error>, at number: Int32) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler { work.cancel() }
        source.resume()
        return source
    }

    /// Prints a line at once, also where the output is a file.
    private func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
