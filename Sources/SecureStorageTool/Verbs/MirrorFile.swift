internal import ArgumentParser
internal import Foundation
internal import SecureMirror
internal import SecureStorage

/// `securestorage mirror`: keeps a file in a store, continuously.
struct MirrorFile: FileVerb {
    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Keep a file in a store, continuously.",
        discussion: """
            Stores all pages of the file, and then what is committed, by any process, within about a second. The \
            store is \(MirrorStoreOptions.addresses); it sees only ciphertext. The file has to be in journal mode WAL, and \
            is not changed. One mirror writes under a name; when a second one begins, the first one stops, with status 4; of two on \
            the same file either may stop.

            Ends with Ctrl-C or SIGTERM, after everything that was committed has been stored: with status 0 then, \
            and with \(FailureKind.store.status) if the store did not take it within a minute. A second signal ends it at once. A failure of \
            the store that may pass is shown, and the mirror keeps trying.

            EXAMPLES
              securestorage mirror notes.db --to /mnt/backup
              securestorage mirror notes.db --to s3://bucket/notes --s3-region eu-central-1 --key-file key
              securestorage mirror notes.db --to /mnt/backup --once --key-file key
              securestorage mirror notes.db --to /mnt/backup --once --purge-old-keys --key-file new.key
              securestorage mirror notes.db --to /mnt/backup --key-file key --json | jq .state
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String

    @Option(help: MirrorStoreOptions.help, completion: .directory)
    var to: String

    @Option(
        help: ArgumentHelp(
            "The mirror's name in the store (default: the file's name).", valueName: "name"))
    var name: String?

    @Flag(help: "Store what is committed now, tidy up, and end.")
    var once = false

    @Flag(
        help: ArgumentHelp(
            "With --once: remove at once what was stored with earlier keys of the file."))
    var purgeOldKeys = false

    @Option(
        help: ArgumentHelp(
            "How long commits are collected before they are stored.", valueName: "seconds"))
    var interval = 0.5

    @Option(
        help: ArgumentHelp("How long every stored state can be restored.", valueName: "hours"))
    var keepAll = 24.0

    @Option(
        help: ArgumentHelp("How long one state per hour can be restored.", valueName: "days"))
    var keepHourly = 30.0

    @Flag(help: "Print one JSON object per line for each change of the status.")
    var json = false

    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func validate() throws {
        guard once || !purgeOldKeys else {
            throw ValidationError("--purge-old-keys is for --once: stop the mirror that runs first")
        }
        for (name, value) in [
            ("interval", interval), ("keep-all", keepAll), ("keep-hourly", keepHourly),
        ] {
            guard (0...1e6).contains(value) else {
                throw ValidationError("--\(name) must be between 0 and 1000000")
            }
        }
    }

    private enum Event: Sendable {
        case status(DatabaseMirror.Status)
        case stop
        case stored(Result<Void, any Error>)
        case ended(Result<Void, any Error>)
    }

    /// The time for the last commits after a signal; service managers wait for 90 seconds.
    private static let stopLimit = 60.0

    func run() throws {
        let name = try MirrorName.of(file, given: name)
        // The mirror itself keeps trying, and shows the failure in the meantime.
        let store = try storeOptions.store(to, patience: once ? .seconds(30) : .seconds(5))
        let pool = try openPool()
        // Not closed: the last process to close a file removes its log, and the next mirror, which
        // could not continue there, would begin with all pages again. The file has everything
        // without it, since people copy and replace files of which no program is running.
        _ = Unmanaged.passRetained(pool)
        var settings = DatabaseMirror.Settings()
        settings.interval = .seconds(interval)
        settings.keepsPoints = .seconds(keepAll * 3600)
        settings.keepsHours = .seconds(keepHourly * 24 * 3600)
        let mirror = try DatabaseMirror(of: pool, in: store, name: name, settings: settings)
        var report = MirrorReport(name: name, isJSON: json, isBrief: once)
        defer { report.end() }
        let mailbox = Mailbox<Event>()
        // Whoever reads the first line may stop it.
        if !once { try Interrupts.callAtStop { mailbox.post(.stop) } }
        try report.begin("mirroring \(file) to \(to) as \"\(name)\"")

        Task { for await status in mirror.statuses { mailbox.post(.status(status)) } }
        if once {
            try storeOnce(mirror, mailbox, &report)
        } else {
            try follow(mirror, mailbox, &report)
        }
        // Whoever is in the way has the file open, and copies the log at the end.
        try? pool.copyLogIfAlone()
    }

    private func openPool() throws -> SecureDatabasePool {
        let pool = SecureDatabasePool(
            fullDatabasePath: file, configuration: try configurationOfExisting())
        let key = try keyOptions.key(of: file, isNew: false)
        try explaining(key) { try pool.open(with: key) }
        let mode = try pool.read { try $0.string(forQuery: "PRAGMA journal_mode") }
        guard mode?.lowercased() == "wal" else {
            pool.close()
            throw Failure(
                "\"\(file)\" is in journal mode \(mode ?? "unknown"), and a mirror needs WAL",
                hint: "securestorage query \(file) \"PRAGMA journal_mode = WAL\" changes it",
                .otherFormat)
        }
        return pool
    }

    private func storeOnce(
        _ mirror: DatabaseMirror, _ mailbox: Mailbox<Event>, _ report: inout MirrorReport
    ) throws {
        mailbox.run({ .ended($0) }) { [purgeOldKeys] in
            try await mirror.flush()
            if purgeOldKeys { try await mirror.purgeOldKeys() }
            try await mirror.maintain()
            // A new generation begins with the next commits.
            try await mirror.flush()
        }
        while true {
            switch mailbox.next(within: report.pause) {
            case .status(let status): try report.show(status)
            case .ended(let outcome):
                try outcome.get()
                return try report.stored(mirror.status)
            case nil, .stop, .stored: report.refresh()
            }
        }
    }

    private func follow(
        _ mirror: DatabaseMirror, _ mailbox: Mailbox<Event>, _ report: inout MirrorReport
    ) throws {
        let running = mailbox.run({ .ended($0) }) { try await mirror.run() }
        var hasEnded = false
        let outcome = Result { try untilStopped(mirror, mailbox, &report, &hasEnded) }
        running.cancel()
        // Until then its threads use what the end of the program frees.
        let end = Date(timeIntervalSinceNow: 5)
        while !hasEnded, Date() < end {
            if case .ended? = mailbox.next(within: 0.2) { hasEnded = true }
        }
        do {
            try outcome.get()
        } catch SecureStorageError.authenticationFailed {
            throw Failure(
                "the key of \"\(file)\" was changed, so this mirror has stopped",
                hint:
                    "start it again with the new key; --purge-old-keys removes what the old one opens",
                .wrongKey)
        }
    }

    private func untilStopped(
        _ mirror: DatabaseMirror, _ mailbox: Mailbox<Event>, _ report: inout MirrorReport,
        _ hasEnded: inout Bool
    ) throws {
        var end: Date?
        while true {
            switch mailbox.next(within: end == nil ? report.pause : 0.2) {
            case .status(let status):
                try report.show(status)
                // `run()` ends with it at the next commit only, which may be far.
                if case .otherMirror? = status.failure as? MirrorError, let error = status.failure {
                    throw error
                }
            case .stop:
                guard end == nil else { continue }
                end = Date(timeIntervalSinceNow: Self.stopLimit)
                report.isStopping = true
                mailbox.run({ .stored($0) }) { try await mirror.flush() }
            case .stored(.success): return try report.stored(mirror.status)
            case .stored(.failure(let error)): throw Self.incomplete(error, mirror.status)
            case .ended(let outcome):
                hasEnded = true
                try outcome.get()
                throw Failure("the database was closed")
            case nil: report.refresh()
            }
            if let end, Date() > end { throw Self.incomplete(nil, mirror.status) }
        }
    }

    /// Returns the failure of a stop before everything was stored.
    private static func incomplete(
        _ error: (any Error)?, _ status: DatabaseMirror.Status
    ) -> any Error {
        let reason: String
        if let error {
            guard let failure = Failure(error) else { return error }
            reason = failure.message
        } else {
            reason = "the store has not taken everything within \(Int(stopLimit)) seconds"
        }
        let rest =
            status.completeAt.map { "what was committed after \(PointInTime.text($0))" }
            ?? "what this mirror should store"
        return Failure(
            reason, hint: "\(rest) may be missing in the store; the next mirror stores it",
            .store)
    }
}
