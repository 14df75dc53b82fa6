import Foundation

/// What `make demo` runs: an encrypted database of this machine's packages, from the first open to
/// a changed key.
///
/// The library is used in `PackageDatabase*.swift` and `Questions.swift`; the rest is the program
/// around it.
@main
struct Quickstart {
    static func main() {
        // `quickstart | head` would otherwise end the program where it stands, and leave its
        // temporary directory. Now the write fails instead, like any other step.
        signal(SIGPIPE, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// - Returns: The exit status: 0 success, 1 failure, 2 wrong usage.
    private static func run(_ arguments: [String]) -> Int32 {
        do {
            let options = try Options(arguments)
            if options.wantsHelp {
                try Report().write(Options.help)
            } else {
                try Demonstration.run(options)
            }
            return 0
        } catch let error as UsageError {
            complain("\(error); see --help")
            return 2
        } catch {
            complain("\(error)")
            return 1
        }
    }

    private static func complain(_ message: String) {
        let line = "quickstart: \(Report.printable(message))\n"
        // Nobody is left to be told when this fails, too.
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }
}

/// Why the program ends with status 1, as one line.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Why the program ends with status 2.
struct UsageError: Error, CustomStringConvertible {
    let description: String
}
