package import Foundation

/// A program that is run to completion, with text on its standard input.
package struct ChildProcess {
    package let status: Int32
    package let output: String
    package let errors: String

    /// Runs `program`, a path or a name on `PATH`.
    package init(
        _ program: String, _ arguments: [String] = [], input: String = "",
        environment: [String: String] = [:]
    ) throws {
        guard let url = Self.find(program) else { throw CocoaError(.fileNoSuchFile) }
        let process = Process()
        process.executableURL = url
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (input, output, errors) = (Data(input.utf8), Pipe(), Pipe())
        let standardInput = Pipe()
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        // All three at the same time: a full pipe would block the program.
        let collected = Collected()
        let both = DispatchGroup()
        DispatchQueue.global().async(group: both) {
            try? standardInput.fileHandleForWriting.write(contentsOf: input)
            try? standardInput.fileHandleForWriting.close()
        }
        DispatchQueue.global().async(group: both) {
            collected.errors = errors.fileHandleForReading.readDataToEndOfFile()
        }
        self.output = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        both.wait()
        process.waitUntilExit()
        self.errors = String(decoding: collected.errors, as: UTF8.self)
        status = process.terminationStatus
    }

    /// Returns the executable file with that name, or nil if none exists.
    package static func find(_ program: String) -> URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let candidates =
            program.contains("/")
            ? [program] : path.split(separator: ":").map { "\($0)/\(program)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
            .map { URL(fileURLWithPath: $0) }
    }

    private final class Collected: @unchecked Sendable {
        // @unchecked: written before the wait for the group, read after it.
        var errors = Data()
    }
}
