import Foundation
import SecureStorage
import TypedPasswords

/// Keeps files of any size in an encrypted database, with a few megabytes of memory.
///
///     swift run --package-path Examples LargeFiles archive.db put film.mkv
///     swift run --package-path Examples LargeFiles archive.db list
///     swift run --package-path Examples LargeFiles archive.db get film.mkv copy.mkv
///     swift run --package-path Examples LargeFiles archive.db remove film.mkv
///
/// Asks for the password; `--password-fd N` before the words reads it from a descriptor.
@main
struct LargeFiles {
    let archive: FileArchive

    static func main() async {
        do {
            var words = Array(CommandLine.arguments.dropFirst())
            let passwords = try PasswordSource(takingFrom: &words)
            guard words.count > 1 else {
                throw Failure("usage: LargeFiles FILE.db put|get|list|remove …")
            }
            let archive = FileArchive(path: URL(fileURLWithPath: words.removeFirst()).path)
            try await archive.open(with: .passphrase(passwords.ask("password")))
            do {
                try await LargeFiles(archive: archive).run(words)
            } catch {
                await archive.close()
                throw error
            }
            await archive.close()
        } catch {
            FileHandle.standardError.write(Data("LargeFiles: \(error)\n".utf8))
            exit(1)
        }
    }

    func run(_ words: [String]) async throws {
        switch (words.first, words.count) {
        case ("put", 2), ("put", 3):
            let file = URL(fileURLWithPath: words[1])
            let source = try FileHandle(forReadingFrom: file)
            try await archive.removeIncomplete()
            try await archive.put(source, as: words.count > 2 ? words[2] : file.lastPathComponent)
        case ("get", 3):
            let file = URL(fileURLWithPath: words[2])
            try Data().write(to: file, options: .withoutOverwriting)
            do {
                let destination = try FileHandle(forWritingTo: file)
                guard try await archive.get(words[1], into: destination) else {
                    throw missing(words)
                }
            } catch {
                try? FileManager.default.removeItem(at: file)
                throw error
            }
        case ("list", 1):
            for entry in try await archive.list() {
                print(String(format: "%14lld  %@", entry.bytes, visible(entry.name)))
            }
        case ("remove", 2):
            guard try await archive.remove(words[1]) else { throw missing(words) }
        default:
            throw Failure("put FILE [NAME], get NAME FILE, list, or remove NAME")
        }
    }

    private func missing(_ words: [String]) -> Failure {
        Failure("the archive has no file \(visible(words[1]))")
    }
}
