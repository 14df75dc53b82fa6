internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage salvage`: saves the readable part of a damaged file.
struct Salvage: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Copy what can be read of a damaged file to a new one.",
        discussion: """
            Every row on an undamaged page is copied, with its row id. Rows whose table can no longer be determined \
            go into a table lost_and_found. The damaged file is only read. The exit status is \(FailureKind.damaged.status) if anything \
            was lost.

            EXAMPLES
              securestorage diagnose notes.db
              securestorage salvage notes.db saved.db
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Argument(help: "The path of the new file.", completion: .file())
    var target: String

    @OptionGroup(title: "Key of the new file (the same when none is given)")
    var newKey: NewKeyOptions

    @Flag(help: "Replace an existing file.")
    var force = false

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        let file: String
        let target: String
        let whole: Bool
        let report: [String]
    }

    func run() throws {
        guard exists else { throw Failure.noFile(file) }
        try requireNew(target, force)
        let key = try keyOptions.key(of: file, isNew: false)
        let newKey = newKey.areGiven ? try newKey.key(of: target, like: keyOptions) : nil
        let report = try withProgress("salvaging") {
            try SecureDatabaseStore.salvage(
                at: URL(fileURLWithPath: file), key: key, cipher: cipher.configuration,
                to: URL(fileURLWithPath: target), newKey: newKey, replacing: force, progress: $0)
        }
        let lines = report.description.split(separator: "\n").map { String($0) }
        if !json {
            for line in lines { try Output.standard.write(line: Visible.text(line)) }
        }
        try acknowledge(
            "salvaged \(file) into \(target)", json: json,
            Answer(file: file, target: target, whole: report.isWhole, report: lines))
        guard report.isWhole else { throw Failure.shown("not all could be saved", .damaged) }
    }
}
