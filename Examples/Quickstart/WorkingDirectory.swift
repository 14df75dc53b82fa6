import Foundation

/// A directory of this run, which nobody else can read.
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

    /// The database and whatever lies beside it.
    func files() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }
    }

    func remove() {
        // What cannot be removed is encrypted, and in the directory for what may be removed.
        try? FileManager.default.removeItem(at: url)
    }
}

/// Passphrases for this demonstration.
///
/// A program for people asks its user for one, or makes one and keeps it in the system's keychain.
/// In the source code, or in a file beside the database, it would protect nothing.
enum Passphrase {
    /// Text such as `k3mq7-x2hfd-…`: 25 bits for each group.
    static func random(groups: Int = 5) -> String {
        // `randomElement` uses the system's generator, which is made for secrets.
        let letters = "abcdefghijkmnpqrstuvwxyz23456789"
        let words = (0..<groups).map { _ in
            String((0..<5).compactMap { _ in letters.randomElement() })
        }
        return words.joined(separator: "-")
    }
}
