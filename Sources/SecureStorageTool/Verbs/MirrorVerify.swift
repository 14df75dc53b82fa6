internal import ArgumentParser
internal import SecureMirror
internal import SecureStorage

/// `securestorage mirror-verify`: checks whether all of a mirror is sound.
struct MirrorVerify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check every object and every page of a mirror.",
        discussion: """
            Reads the whole mirror, and checks the MAC of each object, its place in the chain, and the HMAC of each \
            page, in all versions. Nothing is written. Of generations that were stored with an earlier key of the file, \
            nothing is checked, and they are listed. Nor is the content that a page decrypts to: "restore" checks \
            that, as "verify" does. The exit status is \(FailureKind.damaged.status) if any problem is found.

            EXAMPLES
              securestorage mirror-verify --from /mnt/backup --name notes.db
              securestorage mirror-verify --from s3://bucket/notes --name notes.db --key-file key --json
            """)

    @Option(help: MirrorStoreOptions.help, completion: .directory)
    var from: String

    @Option(help: MirrorStoreOptions.nameHelp)
    var name: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    private struct Answer: Encodable {
        struct Problem: Encodable {
            let object: String?
            let problem: String
        }

        let name: String
        let sound: Bool
        let objects: Int
        let pages: Int
        /// The generations of earlier keys.
        let unchecked: [Int]
        let problems: [Problem]
    }

    func run() throws {
        let name = try MirrorName.check(name)
        let store = try storeOptions.existing(from)
        let key = try keyOptions.key(of: name, isNew: false)
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher.configuration
        let found = try waiting(showing: "verifying") { [configuration] progress in
            try await DatabaseMirror.verify(
                name, in: store, key: key, configuration: configuration, progress: progress)
        }
        let problems = found.problems.map(Self.problem)
        if json {
            try Output.standard.write(
                json: Answer(
                    name: name, sound: found.isSound, objects: found.objectCount,
                    pages: found.pageCount, unchecked: found.uncheckedGenerations,
                    problems: problems))
        } else {
            for problem in problems {
                let object = problem.object.map { "\($0): " } ?? ""
                try Output.standard.write(line: Visible.text(object + problem.problem))
            }
            for generation in found.uncheckedGenerations {
                try Output.standard.write(
                    line: "generation \(generation): stored with an earlier key, and not checked")
            }
            let result =
                found.isSound ? "all sound" : Counted.text(problems.count, "problem")
            try Output.standard.write(
                line: "\(Counted.text(found.objectCount, "object")), "
                    + "\(Counted.text(found.pageCount, "page")), \(result)")
        }
        guard found.isSound else {
            throw Failure.shown("problems were found", Self.kind(of: found.problems))
        }
    }

    private static func kind(of problems: [MirrorError]) -> FailureKind {
        let isWrongKey = problems.allSatisfy { if case .wrongKey = $0 { true } else { false } }
        return isWrongKey ? .wrongKey : .damaged
    }

    private static func problem(_ error: MirrorError) -> Answer.Problem {
        switch error {
        case .damaged(let object, let reason): Answer.Problem(object: object, problem: reason)
        case .wrongKey(let object):
            Answer.Problem(object: object, problem: "it was stored with another key")
        case .newerFormat(let object):
            Answer.Problem(
                object: object, problem: "a newer version of this program has written it")
        default: Answer.Problem(object: nil, problem: Failure(error)?.message ?? "\(error)")
        }
    }
}
