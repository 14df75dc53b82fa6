/// The command line.
struct Options {
    /// The package list to read, or nil for this machine's own.
    private(set) var path: String?
    private(set) var usesSample = false
    private(set) var keepsDatabase = false
    private(set) var wantsHelp = false

    init(_ arguments: [String]) throws {
        var endOfOptions = false
        for argument in arguments {
            switch argument {
            case "--" where !endOfOptions: endOfOptions = true
            case "--help" where !endOfOptions, "-h" where !endOfOptions: wantsHelp = true
            case "--keep" where !endOfOptions: keepsDatabase = true
            case "--sample" where !endOfOptions: usesSample = true
            case _ where !endOfOptions && argument.hasPrefix("-"):
                throw UsageError(description: "unknown option \(argument)")
            default:
                guard path == nil else {
                    throw UsageError(description: "more than one file: \(argument)")
                }
                path = argument
            }
        }
        guard path == nil || !usesSample else {
            throw UsageError(description: "--sample and a file exclude each other")
        }
    }

    static let help = """
        usage: swift run Quickstart [--keep] [--sample | file]

        Stores a list of Debian packages in an encrypted database, asks it three questions,
        changes its key, and checks that neither a wrong key nor a look at the bytes of the file
        reveals anything.

          file      a package list in Debian's format
                    (default: \(PackageList.systemPath), and where there is none, the sample)
          --sample  read the list that comes with this example
          --keep    keep the database, and say how to look into it with the sqlcipher shell
          --help    print this

        Exit status: 0 when everything was as expected, 1 when not, 2 for wrong usage.

        """
}
