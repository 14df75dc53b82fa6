import Foundation

/// The built tests of the copy.
struct TestBundle: Sendable {
    let path: String
    private let directory: String
    /// The folder for the temporary files of tests, and for what they print.
    private let folder = FileManager.default.temporaryDirectory.path

    /// What tests did.
    enum Outcome: Hashable, Sendable {
        case passed
        /// A test failed, as its output says, or its process ended.
        case failed(String)
        case timedOut
    }

    /// - Parameter directory: The package.
    init(directory: String) {
        self.directory = directory
        path = directory + "/.build/debug/SecureStoragePackageTests.xctest"
    }

    /// Returns the names of all tests, as `--filter` knows them.
    func tests() async throws -> [String] {
        let list = folder + "/list"
        let end = try await Child.run(
            [path, "--testing-library", "swift-testing", "--list-tests"], in: directory,
            output: list)
        guard end == .exited(0) else { throw Failure("the tests cannot be listed: see \(list)") }
        return try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
            .map(String.init)
    }

    /// Runs tests one after the other, until one fails.
    ///
    /// - Parameters:
    ///   - tests: Their names.
    ///   - environment: Which mutant is on, and where to note those that are reached.
    ///   - limit: In seconds.
    /// - Returns: What they did, without those after the first that failed.
    /// - Throws: `Failure` if their process cannot be started.
    func run(_ tests: [String], environment: [String: String], limit: Double) async throws
        -> Outcome
    {
        let place = folder + "/" + UUID().uuidString
        let temporary = place + "/tmp"
        let output = place + "/output"
        try FileManager.default.createDirectory(
            atPath: temporary, withIntermediateDirectories: true)
        // Tests may start programs as other users.
        for path in [place, temporary] { chmod(path, 0o1777) }
        defer { try? FileManager.default.removeItem(atPath: place) }
        let pattern = "^(" + tests.map(Self.pattern).joined(separator: "|") + ")"
        let end = try await Child.run(
            [
                path, "--testing-library", "swift-testing", "--no-parallel", "--filter", pattern,
            ],
            environment: environment.merging([
                "TMPDIR": temporary, "SWIFT_BACKTRACE": "enable=no",
                "SWIFT_DETERMINISTIC_HASHING": "1",
            ]) { $1 },
            in: directory, output: output, limit: limit, ending: Self.failure)
        let lines = (try? String(contentsOfFile: output, encoding: .utf8))?.split(separator: "\n")
        switch end {
        case .timedOut: return .timedOut
        // The library could end the process, without an error.
        case .exited(0) where lines?.last?.contains(" passed after ") == true: return .passed
        default:
            let line =
                lines?.first { $0.contains(Self.failure) }
                ?? lines?.last { $0.contains(" started.") } ?? "no test"
            return .failed("\(end == .said ? "" : "\(end) in ")\(line.shortened)")
        }
    }

    /// What Swift Testing prints of an issue that is not known.
    private static let failure = " recorded an issue"

    /// Returns a regular expression for a test's name.
    private static func pattern(_ test: String) -> String {
        test.reduce(into: "") { pattern, character in
            if #"[]\.|$(){}?+*^"#.contains(character) { pattern += "\\" }
            pattern.append(character)
        }
    }
}
