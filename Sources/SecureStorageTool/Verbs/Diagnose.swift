internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage diagnose`: reports what a file is, and why.
struct Diagnose: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Identify a file and show the evidence.",
        discussion: """
            Distinguishes a wrong key from damage, a plain database from an encrypted one, and the formats of \
            SQLCipher 1 to 4, by the file's bytes and the HMACs of its pages. Nothing is changed, not even the last \
            access time. The exit status is 0 for a sound file (with --no-key, also for one that a key could open), \
            otherwise that of the failure \
            which opening it would be: \(FailureKind.wrongKey.status) for a wrong key, \
            \(FailureKind.damaged.status) for damage, and so on.

            EXAMPLES
              securestorage diagnose notes.db
              securestorage diagnose --no-key unknown.bin
              securestorage diagnose notes.db --key-file key --json | jq -r .finding
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Flag(help: "Identify the file as far as possible without a key.")
    var noKey = false

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let finding: String
        let summary: String
        let reasons: [String]
        var pages: [Int]?
        var version: Int?
    }

    func run() throws {
        let url = URL(fileURLWithPath: file)
        let key = noKey || !exists ? nil : try keyOptions.key(of: file, isNew: false)
        let diagnosis = try withProgress("diagnosing") {
            try SecureDatabaseStore.diagnose(
                at: url, key: key, cipher: cipher.configuration, progress: $0)
        }
        if json {
            try Output.standard.write(json: answer(diagnosis))
        } else {
            for line in diagnosis.description.split(separator: "\n") {
                try Output.standard.write(line: Visible.text(String(line)))
            }
        }
        let isGood = diagnosis.finding == .ok || (noKey && diagnosis.finding == .keyNeeded)
        guard isGood else {
            throw Failure.shown(diagnosis.finding.summary, Self.kind(diagnosis.finding))
        }
    }

    private func answer(_ diagnosis: FileDiagnosis) -> Answer {
        var answer = Answer(
            finding: Self.name(diagnosis.finding), summary: diagnosis.finding.summary,
            reasons: diagnosis.reasons)
        switch diagnosis.finding {
        case .corrupt(let pages): answer.pages = pages
        case .damagedLog(let damage): answer.pages = damage.pages
        case .legacyFormat(let version): answer.version = version
        default: break
        }
        return answer
    }

    /// Returns what a verb that opens the file would fail with.
    private static func kind(_ finding: FileDiagnosis.Finding) -> FailureKind {
        switch finding {
        case .ok: .failed
        case .missing: .noFile
        case .empty, .notEncrypted, .notADatabase: .notEncrypted
        case .keyNeeded: .noKey
        case .wrongKey: .wrongKey
        case .plaintextHeader, .legacyFormat, .otherCipher, .withoutHMAC: .otherFormat
        case .corrupt, .truncated, .damagedLog, .damagedJournal: .damaged
        }
    }

    private static func name(_ finding: FileDiagnosis.Finding) -> String {
        switch finding {
        case .ok: "ok"
        case .missing: "missing"
        case .empty: "empty"
        case .notEncrypted: "not-encrypted"
        case .plaintextHeader: "plaintext-header"
        case .keyNeeded: "key-needed"
        case .wrongKey: "wrong-key"
        case .legacyFormat: "legacy-format"
        case .otherCipher: "other-cipher"
        case .withoutHMAC: "without-hmac"
        case .corrupt: "corrupt"
        case .truncated: "truncated"
        case .damagedLog: "damaged-log"
        case .damagedJournal: "damaged-journal"
        case .notADatabase: "not-a-database"
        }
    }
}

extension Output {
    /// Writes an object on separate lines, with its keys sorted.
    func write(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try write(line: String(decoding: encoder.encode(value), as: UTF8.self))
    }

    /// Writes an object on one line, with its keys sorted.
    func write(jsonLine value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try write(line: String(decoding: encoder.encode(value), as: UTF8.self))
    }
}
