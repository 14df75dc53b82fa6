internal import ArgumentParser
internal import Foundation
internal import SecureStorage
internal import SecureSync

/// `securestorage sync run`: sends and applies until it is stopped.
struct SyncRun: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Send and apply writes, until stopped.",
        discussion: """
            Sends what any program has written to the file about a second after the last write, and applies what others \
            have sent. One engine works on a file at a time: not while its app syncs.

            Ends with Ctrl-C or SIGTERM, after what was written last is in the store: with status 0 then, and with \
            \(FailureKind.store.status) if the store did not take it within a minute. A second signal ends it at once. A \
            failure of the store that may pass is shown, and it keeps trying.

            EXAMPLES
              securestorage sync run notes.db --store /mnt/share --device-keys keys --key-file key
              securestorage sync run notes.db --once --store /mnt/share --device-keys keys --key-file key
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @Flag(help: "Send and apply what there is now, and end.") var once = false
    @Flag(help: "Print one JSON object for each change of the state.") var json = false
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    private enum Event: Sendable {
        case status(SyncStatus)
        case stop
        case sent(Result<SyncReport, any Error>)
        case ended(Result<Void, any Error>)
    }

    /// The time for the last writes after a signal; service managers wait for 90 seconds.
    private static let stopLimit = 60.0

    func run() throws {
        let engine = try engine()
        guard !once else {
            let report = try waiting { try await engine.syncOnce() }
            return try acknowledge(SyncAnswer(report).line, json: json, SyncAnswer(report))
        }
        guard try engine.isMember else { throw SyncError.notAMember }
        let mailbox = Mailbox<Event>()
        Task { for await status in engine.statuses { mailbox.post(.status(status)) } }
        try Interrupts.callAtStop { mailbox.post(.stop) }
        mailbox.run({ .ended($0) }) { try await engine.run() }
        try follow(engine, mailbox)
    }

    private func follow(_ engine: SyncEngine, _ mailbox: Mailbox<Event>) throws {
        var shown = Shown(isJSON: json)
        var end: Date?
        while true {
            switch mailbox.next(within: end == nil ? nil : 0.2) {
            case .status(let status): try shown.show(status)
            case .stop:
                guard end == nil else { continue }
                end = Date(timeIntervalSinceNow: Self.stopLimit)
                mailbox.run({ .sent($0) }) { try await engine.syncOnce() }
            case .sent(let outcome):
                _ = try outcome.get()
                return
            case .ended(let outcome):
                try outcome.get()
                throw Failure("the database was closed")
            case nil: break
            }
            if let end, Date() > end {
                throw Failure(
                    "the store has not taken everything within \(Int(Self.stopLimit)) seconds",
                    hint: "what was written stays in the file, and is sent the next time", .store)
            }
        }
    }

    /// What was printed of the state.
    private struct Shown {
        let isJSON: Bool
        private var last = ""

        init(isJSON: Bool) { self.isJSON = isJSON }

        private struct Line: Encodable {
            let state: String
            let at: String?
            let waitingBatches: Int
            let failure: String?
        }

        /// Prints a state that is not the last one that was printed.
        mutating func show(_ status: SyncStatus) throws {
            let failure = status.failure.map { Failure($0)?.message ?? "\($0)" }
            let state =
                switch status.phase {
                case .idle: "complete"
                case .syncing: "syncing"
                case .failed: "failed"
                }
            guard status.phase != .syncing, status.completeAt != nil || failure != nil else {
                return
            }
            let text = failure ?? state
            guard text != last else { return }
            last = text
            if isJSON {
                try Output.standard.write(
                    jsonLine: Line(
                        state: state, at: status.completeAt.map { PointInTime.textInUTC($0) },
                        waitingBatches: status.waitingBatches, failure: failure))
            } else if let failure {
                try? Output.errors.write(line: "securestorage: \(Visible.text(failure))")
                try? Output.errors.flush()
            } else {
                let time = status.completeAt.map { PointInTime.text($0) } ?? ""
                try Output.standard.write(line: "everything is sent and applied, at \(time)")
            }
            try Output.standard.flush()
        }
    }
}
