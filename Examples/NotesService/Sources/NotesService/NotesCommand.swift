import ArgumentParser
import Foundation
import Hummingbird
import Logging
import SecureMirror
import SecureStorage

/// The program: reads the arguments, restores or opens the database, serves until it is told to
/// end.
@main
struct NotesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notes",
        abstract: "Serves notes over HTTP, from an encrypted database with a mirror.",
        discussion: """
            The connection string of PostgreSQL is in the variable \(MirrorPlace.variable); the keys \
            of S3 are where AWS's tools look for them. Secrets are never arguments, which every user \
            of a machine can read.

            Exit codes: 0 after SIGTERM or SIGINT, when the mirror has everything; 3 if another \
            service has taken over the mirror; 1 for other failures.
            """)

    @Option(help: "The database; restored from the mirror, or created, if it does not exist.")
    var database: String

    @Option(help: "directory:/PATH, s3://BUCKET/PREFIX or postgresql:GROUP.")
    var mirror: MirrorPlace

    @Option(help: "The mirror's name in that place: one for each database.")
    var mirrorName = "notes"

    @Option(help: "The URL of an S3 server that is not Amazon's.")
    var s3Endpoint: String?

    @Option(help: "The region of the bucket.")
    var s3Region: String?

    @Option(help: "The systemd credential that holds the key: 32 random bytes.")
    var keyCredential: String?

    @Option(help: "A file that holds the key, readable by its owner only.")
    var keyFile: String?

    @Option(help: "The address to listen at; a proxy in front of it adds TLS and users.")
    var host = "127.0.0.1"

    @Option(help: "The port; 0 for one that is free, which the log names.")
    var port = 8080

    @Option(help: "The seconds that the mirror may be behind until /health answers 503.")
    var maximumBehind = 10

    func validate() throws {
        guard (keyCredential == nil) != (keyFile == nil) else {
            throw ValidationError("pass either --key-credential or --key-file")
        }
        guard (0...65535).contains(port) else { throw ValidationError("--port is 0 to 65535") }
        guard maximumBehind > 0 else { throw ValidationError("--maximum-behind is at least 1") }
    }

    func run() async throws {
        let logger = Logger(label: "notes")
        do {
            let service = try await NotesService.open(settings(), logger)
            try await service.run(host: host, port: port)
        } catch MirrorError.otherMirror(let name) {
            // Another code, so that systemd does not start it again: two machines would take the
            // mirror from each other for ever.
            logger.critical("another service has taken over the mirror \"\(name)\"; this one ends")
            throw ExitCode(3)
        }
    }

    private func settings() throws -> NotesService.Settings {
        let key: KeySource
        if let keyCredential {
            key = .credential(keyCredential)
        } else if let keyFile {
            key = .file(keyFile)
        } else {
            throw ValidationError("pass either --key-credential or --key-file")
        }
        return NotesService.Settings(
            database: URL(fileURLWithPath: database),
            key: try key.databaseKey(),
            store: try mirror.store(
                endpoint: s3Endpoint, region: s3Region,
                environment: ProcessInfo.processInfo.environment),
            mirrorName: mirrorName,
            maximumBehind: .seconds(maximumBehind))
    }
}
