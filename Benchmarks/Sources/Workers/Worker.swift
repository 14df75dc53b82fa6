import Foundation

/// A side's program, which implements the line protocol that `worker.c` describes.
package enum Worker {
    /// Reports the versions that `body` returns, and runs its cases until standard input ends.
    ///
    /// An error ends the program with a message on standard error.
    package static func main(_ body: () throws -> (versions: String, cases: [WorkerCase])) {
        do {
            let (versions, cases) = try body()
            try serve(versions, cases)
        } catch {
            end(error)
        }
    }

    static func end(_ error: any Error) -> Never {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(1)
    }

    private static func serve(_ versions: String, _ cases: [WorkerCase]) throws {
        SampleData.prepare()
        answer("ready \(versions)")
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            guard words.count == 4, words[0] == "run", let rows = Int(words[2]), rows > 0 else {
                throw WorkerFailure("cannot understand: \(line)")
            }
            guard let wanted = cases.first(where: { $0.name == words[1] }) else {
                throw WorkerFailure("there is no case \(words[1])")
            }
            resetPeakMemory()
            let outcome = try wanted.run(Job(path: words[3], rows: rows))
            answer("\(outcome.seconds) \(outcome.checksum) \(peakMemory())")
        }
    }

    private static func answer(_ line: String) {
        let bytes = Data("\(line)\n".utf8)
        // If the requesting program has ended, the answer has no reader.
        guard (try? FileHandle.standardOutput.write(contentsOf: bytes)) != nil else { exit(1) }
    }

    private static func resetPeakMemory() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    /// Returns the peak memory in kilobytes, or 0 where the system does not report it.
    private static func peakMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
            ?? 0
    }
}

package struct WorkerFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
