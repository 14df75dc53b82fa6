internal import ArgumentParser
internal import Foundation
internal import SecureStorage
internal import SecureSync

/// `securestorage sync verify`: checks what the store has of a group.
struct SyncVerify: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check the objects of the group, and that writes are captured.",
        discussion: """
            Reads the chain of members, all batches and the newest snapshot: signatures, the order of each log, and that \
            the group's keys open them. No row is changed. Ends with \(FailureKind.damaged.status) if something is wrong; \
            "sync reset" repairs the group from what the members' files have.

            EXAMPLES
              securestorage sync verify notes.db --store /mnt/share --device-keys keys
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @Flag(help: "Print one JSON object.") var json = false
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    private struct Answer: Encodable {
        let sound: Bool
        let objects: Int
        let bytes: Int
        let problems: [String]
    }

    func run() throws {
        let engine = try engine()
        let found = try waiting { try await engine.verify() }
        let problems = found.problems.map { Failure($0)?.message ?? "\($0)" }
        if json {
            try Output.standard.write(
                json: Answer(
                    sound: found.isSound, objects: found.objectCount, bytes: found.byteCount,
                    problems: problems))
        } else {
            for problem in problems { try Output.standard.write(line: Visible.text(problem)) }
            let result =
                found.isSound ? "all sound" : Counted.text(problems.count, "problem")
            try Output.standard.write(
                line: "\(Counted.text(found.objectCount, "object")), \(found.byteCount) bytes, "
                    + result)
        }
        guard found.isSound else { throw Failure.shown("problems were found", .damaged) }
    }
}
