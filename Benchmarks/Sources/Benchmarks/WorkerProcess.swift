import Foundation

/// A side's running program, which answers each line of input with one line of output.
final class WorkerProcess {
    /// The versions that the program reports.
    private(set) var versions = ""

    private let side: Side
    private let process = Process()
    private let questions = Pipe()
    private let answers = Pipe()
    private var unread = Data()

    /// Starts a program and reads its versions.
    ///
    /// - Parameters:
    ///   - executable: The side's program.
    ///   - side: The side.
    ///   - environment: The program's environment.
    ///   - wrapper: A program with arguments that runs the side's program; none if empty.
    /// - Throws: What starting it throws; `BenchmarkFailure` if it does not answer.
    init(
        _ executable: URL, side: Side, environment: [String: String], wrapper: [String] = []
    ) throws {
        self.side = side
        process.executableURL = wrapper.isEmpty ? executable : URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = wrapper.isEmpty ? [] : wrapper + [executable.path]
        process.environment = environment
        process.standardInput = questions
        process.standardOutput = answers
        try process.run()
        let greeting = try readAnswer(to: "its start")
        guard greeting.hasPrefix("ready ") else {
            throw BenchmarkFailure("\(side.title): \(greeting)")
        }
        versions = String(greeting.dropFirst(6))
    }

    deinit { end() }

    /// Ends the program and waits for it.
    func end() {
        // It ends at the end of its input.
        try? questions.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Makes a file for cases.
    func make(_ template: Template, rows: Int, at url: URL) throws {
        let answer = try ask("make \(template.rawValue) \(rows) \(url.path)")
        guard answer == "done" else { throw BenchmarkFailure("\(side.title): \(answer)") }
    }

    func run(_ name: String, rows: Int, at url: URL) throws -> Measurement {
        let answer = try ask("run \(name) \(rows) \(url.path)")
        let words = answer.split(separator: " ")
        guard words.count == 3, let seconds = Double(words[0]), let checksum = UInt64(words[1]),
            let peak = Int(words[2])
        else { throw BenchmarkFailure("\(side.title), \(name): \(answer)") }
        return Measurement(seconds: seconds, checksum: checksum, peakKilobytes: peak)
    }

    private func ask(_ question: String) throws -> String {
        try questions.fileHandleForWriting.write(contentsOf: Data((question + "\n").utf8))
        return try readAnswer(to: question)
    }

    private func readAnswer(to question: String) throws -> String {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread = Data(unread[(end + 1)...]) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let more = answers.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw BenchmarkFailure(
                    "\(side.title) ended without an answer to: \(question); its own message is above"
                )
            }
            unread += more
        }
    }
}

/// The result of one run.
struct Measurement: Sendable {
    var seconds: Double
    var checksum: UInt64
    var peakKilobytes: Int
}
