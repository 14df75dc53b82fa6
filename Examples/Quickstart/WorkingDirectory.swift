import Foundation

/// A directory for this run, readable only by its owner.
struct WorkingDirectory {
    let url: URL

    init() throws {
        let name = "quickstart-\(Passphrase.random(groups: 1))"
        url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch let error as CocoaError {
            throw Failure("cannot make \"\(url.path)\": \(error.reason)")
        }
    }

    var database: URL { url.appendingPathComponent("packages.db") }

    /// Returns the database and all files next to it.
    func files() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }
    }

    func remove() {
        // A file that cannot be removed is encrypted, and is in the directory for temporary files.
        try? FileManager.default.removeItem(at: url)
    }
}

/// Passphrases for this demonstration.
///
/// An application prompts its user for one, or generates one and keeps it in the system's keychain.
/// In the source code, or in a file next to the database, it would protect nothing.
enum Passphrase {
    /// Returns text such as `k3mq7-x2hfd-…`, with 25 bits per group.
    static func random(groups: Int = 5) -> String {
        // `randomElement` uses the system's generator, which is cryptographically secure.
        let letters = "abcdefghijkmnpqrstuvwxyz23456789"
        let words = (0..<groups).map { _ in
            String((0..<5).compactMap { _ in letters.randomElement() })
        }
        return words.joined(separator: "-")
    }
}
