package import Foundation

/// A completed run of the real program.
package struct Program {
    package let status: Int32
    package let output: Data
    package let errors: String

    package var text: String { String(decoding: output, as: UTF8.self) }

    package var lines: [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { String($0) }
    }

    /// The executable built with the tests, next to their bundle.
    package static let path = BuiltProgram.path("securestorage")

    /// Runs `program` in a directory.
    package init(
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
