import Foundation
import TestSupport

/// A completed run of the real program.
struct Program {
    let status: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    var lines: [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { String($0) }
    }

    /// The executable built with the tests, next to their bundle.
    static let path = BuiltProgram.path("securestorage")

    /// Runs `program` in a directory.
    init(
        _ arguments: [String], program: String = Program.path, input: Data = Data(),
        directory: String, environment: [String: String] = [:]
    ) throws {
        let script = #"cd "$0" && exec "$@""#
        let state = ["XDG_STATE_HOME": directory + "/state"]
        let run = try ChildProcess(
            "/bin/sh", ["-c", script, directory, program] + arguments, input: input,
            environment: state.merging(environment) { $1 })
        (status, output, errors) = (run.status, run.data, run.errors)
    }
}
