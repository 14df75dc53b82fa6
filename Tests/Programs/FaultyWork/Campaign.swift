import Foundation

/// Runs all workloads in all modes, with each call failing in turn.
struct Campaign {
    let library: String
    let stride: Int
    let names: [String]

    private static let runsPerProcess = 40

    /// - Returns: Whether there were runs, none with a problem.
    func run() throws -> Bool {
        let base = FileManager.default.temporaryDirectory
            .appendingPathComponent("FaultyWork-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: base) }
        var (runs, problems) = (0, 0)
        let workloads = Workload.all.filter { workload in
            names.isEmpty || names.contains { workload.name.hasPrefix($0) }
        }
        for workload in workloads {
            var line: [String] = []
            for mode in Mode.all {
                let directory = "\(base)/\(workload.name)-\(mode.name)"
                let count = try run(workload, mode, in: directory)
                line.append("\(mode.name) \(count.runs)")
                runs += count.runs
                problems += count.problems
            }
            say("\(workload.name): \(line.joined(separator: ", "))")
        }
        say("\(runs) failing calls over \(workloads.count) workloads: \(problems) problems")
        return problems == 0 && runs > 0
    }

    private func run(
        _ workload: Workload, _ mode: Mode, in directory: String
    ) throws -> (runs: Int, problems: Int) {
        let template = Place(directory: directory + "/template")
        try FileManager.default.createDirectory(
            atPath: template.directory, withIntermediateDirectories: true)
        try workload.prepare(template)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let perProcess = mode.code < 0 ? 1 : Self.runsPerProcess
        var (from, runs, problems, hasEnded) = (1, 0, 0, false)
        while !hasEnded {
            var processes = 0
            repeat {
                let child = try Self.child(
                    [
                        "run", directory, workload.name, mode.name, "\(from)", "\(stride)",
                        "\(perProcess)",
                    ],
                    preloading: library)
                hasEnded = child.output.contains("end")
                if child.status != 0, mode.code >= 0 {
                    problems += 1
                    say(
                        "problem in \(workload.name), \(mode.name): a run from call \(from) on ended with "
                            + "\(child.status): \(try Self.last(directory))")
                    hasEnded = true
                }
                from += perProcess * stride
                processes += 1
            } while !hasEnded && processes * perProcess < Self.runsPerProcess
            let check = try Self.child(["check", directory, workload.name], preloading: nil)
            if check.status != 0 {
                problems += 1
                say(
                    "problem in \(workload.name), \(mode.name): the check ended with \(check.status)"
                )
            }
            for line in check.output.split(separator: "\n") {
                if line.hasPrefix("problem") {
                    problems += 1
                    say("\(workload.name), \(mode.name): \(line)")
                } else {
                    runs += 1
                }
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: directory)
            where name != "template" {
                try FileManager.default.removeItem(atPath: directory + "/" + name)
            }
        }
        // The last run met no failure.
        return (runs - 1, problems)
    }

    private static func last(_ directory: String) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        let calls = names.compactMap { Int($0.replacingOccurrences(of: ".record", with: "")) }
        return "call \(calls.max() ?? 0)"
    }

    /// Runs this program until it exits, for at most two minutes.
    private static func child(
        _ arguments: [String], preloading library: String?
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["-s", "KILL", "120", CommandLine.arguments[0]] + arguments
        var environment = ProcessInfo.processInfo.environment
        environment["LD_PRELOAD"] = library
        process.environment = environment
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}

/// Prints immediately, even to a file.
private func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
