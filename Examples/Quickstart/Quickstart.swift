import Foundation

/// The program of `make demo`: an encrypted database of this machine's packages, from the first
/// open to a changed key.
///
/// The library is used in `PackageDatabase*.swift` and `Questions.swift`; the rest is the program
/// around it.
@main
struct Quickstart {
    static func main() {
        // Otherwise `quickstart | head` would end the program abruptly and leave its temporary
        // directory. With this, the write fails instead, like any other step.
        signal(SIGPIPE, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// - Returns: The exit status: 0 for success, 1 for failure, 2 for a usage error.
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
        // If this fails too, the error cannot be reported.
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }
}

/// The reason why the program ends with status 1, as one line.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The reason why the program ends with status 2.
struct UsageError: Error, CustomStringConvertible {
    let description: String
}
