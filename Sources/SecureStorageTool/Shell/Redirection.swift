/// A file that gets results instead of the screen.
struct Redirection {
    let file: OutputFile
    /// Whether it is for one result only.
    let isOnce: Bool
}

extension ShellSession {
    /// Writes results into a file, which gets its name when it is complete.
    func redirect(to path: String, replacing: Bool, once: Bool) throws {
        try endRedirection()
        let file = try OutputFile(path, replaces: replacing)
        redirection = Redirection(file: file, isOnce: once)
        runner.output = file.output
        runner.pager = nil
    }

    /// Completes the file, and shows results on the screen again.
    func endRedirection() throws {
        guard let file = redirection?.file else { return }
        dropRedirection()
        try file.finish()
    }

    /// Shows results on the screen again; a file that is not complete gets no name.
    func dropRedirection() {
        guard redirection != nil else { return }
        redirection = nil
        runner.output = .standard
        runner.pager = isPagerOn ? pager : nil
    }

    /// Runs `body`, which writes a result, and completes the file of `.once` after it.
    func redirecting(_ body: () throws -> Void) throws {
        try body()
        if redirection?.isOnce == true { try endRedirection() }
    }
}
