import Foundation
import Synchronization
import Testing

/// The built program, in a process of its own.
final class RunningService: Sendable {
    private let process = Process()
    private let output = Mutex("")
    private let (ends, end) = AsyncStream.makeStream(of: Int32.self)

    /// Its log so far.
    var log: String { output.withLock { $0 } }

    init(_ arguments: [String], credentials: URL) throws {
        process.executableURL = try Self.program()
        process.arguments = arguments
        process.environment = ["CREDENTIALS_DIRECTORY": credentials.path]
            .merging(ProcessInfo.processInfo.environment) { mine, _ in mine }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.output.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
        process.terminationHandler = { [end] in end.yield($0.terminationStatus) }
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// The program is beside the bundle of the tests.
    private static func program() throws -> URL {
        let bundles = [CommandLine.arguments[0]] + Bundle.allBundles.map(\.bundlePath)
        let bundle = bundles.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var folder = URL(fileURLWithPath: bundle)
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let program = folder.appendingPathComponent("notes")
            if FileManager.default.isExecutableFile(atPath: program.path) { return program }
        }
        throw CocoaError(.fileNoSuchFile)
    }

    /// Waits until it listens, and returns where.
    func address() async throws -> URL {
        for _ in 0..<600 {
            if let match = log.firstMatch(of: /listening at 127\.0\.0\.1:(\d+)/) {
                return try #require(URL(string: "http://127.0.0.1:\(match.1)"))
            }
            try #require(process.isRunning, "\(log)")
            try await Task.sleep(for: .milliseconds(50))
        }
        throw CancellationError()
    }

    /// Sends SIGTERM, as systemd does, and returns the exit status.
    func end() async -> Int32 {
        process.terminate()
        return await status()
    }

    /// Waits until it has ended, and returns the exit status.
    func status() async -> Int32 {
        var iterator = ends.makeAsyncIterator()
        return await iterator.next() ?? -1
    }
}
