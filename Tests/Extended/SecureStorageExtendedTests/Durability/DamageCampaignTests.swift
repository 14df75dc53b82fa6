import Foundation
import Logging
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// One changed byte, or a cut, in any file of a database that a crash has left.
///
/// No row is wrong, and provable damage is never reported as sound.
struct DamageCampaignTests {
    /// The total number of changes: about a hundred, or `SECURESTORAGE_CHANGED_BYTES=60000`.
    private static let changes = environmentNumber("SECURESTORAGE_CHANGED_BYTES", default: 114)
    /// The random seed, which a failure names and `SECURESTORAGE_SEED` sets.
    private static let seed = Campaign.seed

    @Test func `no changed byte gives a wrong row, and no provable damage is reported as sound`()
        async throws
    {
        var states: [(String, DamagedState)] = [
            ("at rest", try .atRest()),
            ("plaintext header", try .atRest(hasPlaintextHeader: true)),
            ("log", try .log(isMoved: false)),
            ("log, moved in part", try .log(isMoved: true)),
        ]
        for mode in ["delete", "truncate", "persist"] {
            states.append(("\(mode), spilled", try .spilledJournal(mode)))
            states.append(("\(mode), commit", try await .brokenCommit(mode)))
        }
        let targets = states.flatMap { name, state in
            state.files.keys.sorted().map { (name, state, $0) }
        }
        for (name, state, _) in targets {
            try require(DamageTrial(name, state, file: "", .none).outcome() == .right)
        }
        let tally = Tally()
        let perTarget = max(Self.changes / targets.count, 1)
        DispatchQueue.concurrentPerform(iterations: targets.count * perTarget) { number in
            let (name, state, file) = targets[number % targets.count]
            var random = SplitMix64(seed: Self.seed &+ UInt64(number))
            let change = DamageTrial.Change(of: state.files[file] ?? Data(), &random)
            let trial = DamageTrial(name, state, file: file, change)
            tally.note(name, file, trial, Result { try trial.outcome() })
        }
        if ProcessInfo.processInfo.environment["SECURESTORAGE_CHANGED_BYTES"] != nil {
            print(tally.report)
        }
        check(tally.failures.isEmpty, "seed \(Self.seed)")
    }

    /// Counts of outcomes, and the failures.
    private final class Tally: @unchecked Sendable {
        // @unchecked: only touched under `lock`.
        private let lock = NSLock()
        private var counts: [String: [String: Int]] = [:]
        private(set) var failures: [String] = []

        func note(
            _ state: String, _ file: String, _ trial: DamageTrial,
            _ outcome: Result<DamageTrial.Outcome, any Error>
        ) {
            lock.withLock {
                let text: String
                switch outcome {
                case .success(let outcome):
                    text = "\(outcome)"
                    if case .failed = outcome { failures.append("\(trial): \(outcome)") }
                case .failure(let error):
                    text = "error"
                    failures.append("\(trial): \(error)")
                }
                let kind = "\(state) \(file.isEmpty ? "main" : file)"
                counts[kind, default: [:]][text, default: 0] += 1
            }
        }

        var report: String {
            lock.withLock {
                counts.sorted { $0.key < $1.key }.map { kind, outcomes in
                    let total = outcomes.values.reduce(0, +)
                    let lines = outcomes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                        .map { "    \($0.value)  \($0.key)" }
                    return "\(kind): \(total)\n" + lines.joined(separator: "\n")
                }.joined(separator: "\n")
            }
        }
    }
}

/// One change of one file of a state, and the library's reaction to it.
struct DamageTrial: CustomStringConvertible {
    enum Change {
        case none
        case flip(offset: Int, to: UInt8)
        case cut(to: Int)

        init(of content: Data, _ random: inout SplitMix64) {
            let offset = Int.random(in: 0..<max(content.count, 1), using: &random)
            if Int.random(in: 0..<8, using: &random) == 0 {
                self = .cut(to: offset)
            } else {
                let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
                let other = UInt8.random(in: 1...255, using: &random)
                // Single bits or any other byte; headers more often than by chance.
                let place =
                    Bool.random(using: &random)
                    ? offset : offset / 1024 * 1024 % max(content.count, 1)
                self = .flip(
                    offset: place,
                    to: content[place] ^ (Bool.random(using: &random) ? bit : other))
            }
        }

        func applied(to content: Data) -> Data {
            var content = content
            switch self {
            case .none: break
            case .flip(let offset, let byte): content[offset] = byte
            case .cut(let count): content = content.prefix(count)
            }
            return content
        }
    }

    enum Outcome: Equatable, CustomStringConvertible {
        case right
        /// The right rows, with the damage reported.
        case rightAndTold
        /// Refused, with the kind of the error and its code.
        case refused(String)
        /// Rows of an earlier commit; `diagnose`, `verify` and the logger report it.
        case earlierAndTold
        /// Damage that nothing in the files proves.
        case undetectable(String)
        case failed(String)

        var description: String {
            switch self {
            case .right: "right rows"
            case .rightAndTold: "right rows, damage told"
            case .refused(let error): "refused: \(error)"
            case .earlierAndTold: "rows of an earlier commit, told"
            case .undetectable(let reason): "undetectable: \(reason)"
            case .failed(let reason): "FAILED: \(reason)"
            }
        }
    }

    let name: String
    let state: DamagedState
    let file: String
    let change: Change

    init(_ name: String, _ state: DamagedState, file: String, _ change: Change) {
        (self.name, self.state, self.file, self.change) = (name, state, file, change)
    }

    var description: String { "\(name), \(file.isEmpty ? "main" : file), \(change)" }

    func outcome() throws -> Outcome {
        var damaged = state
        damaged.files[file] = change.applied(to: damaged.files[file] ?? Data())
        let path = try damaged.lay()
        defer {
            try? FileManager.default.removeItem(
                atPath: (path as NSString).deletingLastPathComponent)
        }
        let log = LogRecorder()
        let configuration = DamagedState.configuration(
            hasPlaintextHeader: state.hasPlaintextHeader
        ) {
            $0.keepsJournalMode = true
            $0.logger = Logger(label: "campaign") { _ in log }
        }
        let isOK =
            try SecureDatabaseStore.diagnose(
                at: URL(fileURLWithPath: path),
                key: .raw(SecretBytes(copying: TemporaryDatabase.key)),
                cipher: configuration.cipher
            ).finding == .ok
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        var rows: [String] = []
        var isSound = false
        let before = try DamagedState.files(of: path)
        let error = storageError {
            try db.open(with: TemporaryDatabase.key)
            rows = try db.strings(DamagedState.rows).compactMap { $0 }
            isSound = try db.verifyIntegrity().isSound
        }
        let isOpen = db.isOpen()
        db.close()
        if let error {
            if isOK { return .failed("called sound, then \(error)") }
            if !isOpen, try DamagedState.files(of: path) != before {
                return .failed("refused and changed")
            }
            return .refused("\(error.kind) \(error.code ?? 0)")
        }
        if rows == state.committed.last {
            return isOK && isSound && log.warnings.isEmpty ? .right : .rightAndTold
        }
        if !isOK, !isSound, state.committed.contains(rows) {
            return log.warnings.isEmpty ? .failed("no warning") : .earlierAndTold
        }
        let kind = state.committed.contains(rows) ? "rows of an earlier commit" : "mixed rows"
        if let reason = undetectable { return .undetectable("\(reason): \(kind)") }
        return .failed("\(kind), diagnose: \(isOK ? "ok" : "damage"), verify: \(isSound)")
    }
}
