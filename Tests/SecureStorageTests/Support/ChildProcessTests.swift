import Foundation
import TestSupport
import Testing

struct ChildProcessTests {
    #if os(Linux)
        @Test func `a program of a test inherits no descriptor but its three files`() throws {
            // Without close-on-exec, as many libraries make them.
            var ends: [Int32] = [0, 0]
            try require(pipe(&ends) == 0)
            defer { for end in ends { close(end) } }
            let run = try ChildProcess("sh", ["-c", "cd /proc/self/fd && echo *"])
            // The fourth, if any, is the shell's own, of that directory.
            let inherited = run.output.split { $0.isWhitespace }.compactMap { Int32($0) }
            check(inherited.starts(with: [0, 1, 2]))
            check(!inherited.contains { ends.contains($0) && $0 > 3 }, "\(inherited) \(ends)")
        }
    #endif

    @Test func `a program's output, errors and exit status are returned, and a signal's number`()
        throws
    {
        let run = try ChildProcess(
            "sh", ["-c", "cat; echo problem >&2; exit 3"], input: Data("text".utf8))
        check((run.status, run.output, run.errors) == (3, "text", "problem\n"))
        try check(ChildProcess("sh", ["-c", "kill -9 $$"]).status, equals: 137)
    }
}
