internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage verify`: checks whether all of a file is sound.
struct Verify: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Check every page, the structure and the foreign keys.",
        discussion: """
            Checks the HMAC of each page, runs SQLite's integrity check, and checks the foreign keys, in one snapshot \
            of the file including its log. Other processes may keep using the file. The exit status is \
            \(FailureKind.damaged.status) if any problem is found.

            EXAMPLES
              securestorage verify notes.db
              securestorage verify notes.db --key-file key --json
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Answer: Encodable {
        struct Violation: Encodable {
            let table: String
            let row: Int64?
            let references: String
        }

        let sound: Bool
        let pages: Int
        let damagedPages: [Int]
        let problems: [String]
        let violations: [Violation]
    }

    func run() throws {
        let store = try open(for: .reading)
        defer { store.close() }
        let report = try withProgress("verifying") { try store.verifyIntegrity(progress: $0) }
        if json {
            try Output.standard.write(
                json: Answer(
                    sound: report.isSound, pages: report.pageCount,
                    damagedPages: report.damagedPages,
                    problems: [report.logDamage?.description].compactMap { $0 }
                        + report.structureProblems,
                    violations: report.foreignKeyViolations.map {
                        Answer.Violation(
                            table: $0.table, row: $0.rowID, references: $0.referencedTable)
                    }))
        } else {
            for line in report.description.split(separator: "\n") {
                try Output.standard.write(line: Visible.text(String(line)))
            }
        }
        guard report.isSound else { throw Failure.shown("problems were found", .damaged) }
    }
}
