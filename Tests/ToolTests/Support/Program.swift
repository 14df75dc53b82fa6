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
    static let path: String = {
        let bundles = [CommandLine.arguments[0]] + Bundle.allBundles.map(\.bundlePath)
        let bundle = bundles.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var directory = URL(fileURLWithPath: bundle)
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            let program = directory.appendingPathComponent("securestorage").path
            if FileManager.default.isExecutableFile(atPath: program) { return program }
        }
        return "securestorage"
    }()

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
