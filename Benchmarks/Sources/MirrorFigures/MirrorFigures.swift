import ArgumentParser
import Foundation

/// What a mirror costs, over a directory: prints a figure beside each limit.
///
/// Each step is a process of its own, so that its memory is its own.
@main
struct MirrorFigures: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "MirrorFigures",
        subcommands: [All.self, Writing.self, Behind.self, Restoring.self],
        defaultSubcommand: All.self)
}

struct Folder: ParsableArguments {
    @Option(help: "where the files go; default: a temporary folder")
    var folder: String?

    /// Runs `body` in an empty folder.
    func use<R>(_ body: (URL) async throws -> R) async throws -> R {
        let parent =
            folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let url = parent.appendingPathComponent("mirror-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        return try await body(url)
    }
}

struct All: AsyncParsableCommand {
    @OptionGroup var folder: Folder

    func run() async throws {
        let steps = [
            ["writing"], ["writing", "--tasks", "16"], ["behind"],
            ["restoring", "--megabytes", "1000"],
        ]
        for step in steps {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            process.arguments = step + (folder.folder.map { ["--folder", $0] } ?? [])
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw ExitCode(process.terminationStatus)
            }
        }
    }
}

/// The most memory that this process has used, in MB.
func peakMegabytes() -> Double {
    var usage = rusage()
    #if os(Linux)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_maxrss) / 1024
    #else
        getrusage(RUSAGE_SELF, &usage)
        return Double(usage.ru_maxrss) / (1 << 20)
    #endif
}

func text(_ number: Double, _ digits: Int = 2) -> String {
    String(format: "%.\(digits)f", number)
}

func median(_ numbers: [Double]) -> Double {
    let sorted = numbers.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}

func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start) / .seconds(1)
}
