import Foundation
import TestSupport
import Testing

/// Tests of what `make install` puts beside the program.
struct InstallTests {
    let workspace: Workspace
    private static let root = Checkout.root.path

    init() throws { workspace = try Workspace() }

    private func install(_ argument: String) throws -> Program {
        try workspace.shell(
            "DESTDIR=$PWD/package PREFIX=/usr '\(Self.root)/Scripts/install' \(argument)")
    }

    /// Debian's python3-minimal is not enough.
    private static let hasPython =
        (try? Workspace().shell("python3 -c 'import json'").status == 0) ?? false

    @Test(.enabled(if: hasPython))
    func `a package has the program, a man page for each verb, and completions`() throws {
        let program = try install(Program.path)
        check(program.status == 0 && program.errors.isEmpty, "\(program.errors)")
        for file in [
            "bin/securestorage", "share/man/man1/securestorage.1",
            "share/man/man1/securestorage-kv-get.1",
            "share/bash-completion/completions/securestorage",
            "share/zsh/site-functions/_securestorage",
            "share/fish/vendor_completions.d/securestorage.fish",
        ] {
            check(workspace.exists("package/usr/\(file)"), "\(file)")
        }
        let help = try workspace.shell("securestorage --help").lines
        let verbs = help.drop { $0 != "SUBCOMMANDS:" }.dropFirst().compactMap {
            $0.firstMatch(of: #/^  ([a-z-]+) /#).map { String($0.1) }
        }
        check(verbs.count >= 18)
        for verb in verbs {
            let page = "package/usr/share/man/man1/securestorage-\(verb).1"
            check(workspace.exists(page), "\(verb)")
            let text = String(decoding: try workspace.read(page), as: UTF8.self)
            let options = try workspace.shell("securestorage \(verb) --help").text
                .matches(of: #/^  (--[a-z-]+)/#.anchorsMatchLineEndings())
            for option in options {
                let name = option.1.dropFirst().replacingOccurrences(of: "-", with: "\\-")
                check(text.contains("Fl " + name), "\(verb) \(option.1)")
            }
        }
        let removed = try install("--remove")
        check(removed.status, equals: 0)
        try check(workspace.shell("find package -type f").text, equals: "")
    }

    @Test(.enabled(if: hasPython))
    func `formatters have nothing to complain about in the man pages`() throws {
        try require(install(Program.path).status == 0)
        let program = try workspace.shell(
            """
            cd package/usr/share/man/man1
            for page in *.1; do
                ! command -v mandoc > /dev/null || mandoc -T lint -W warning $page
                ! command -v groff > /dev/null || groff -ww -mandoc -Tutf8 $page 2>&1 > /dev/null
            done
            """)
        check(program.text.isEmpty && program.errors.isEmpty, "\(program.text)\(program.errors)")
    }

    @Test func `a static tool with PostgreSQL is refused before anything is built`() throws {
        let program = try workspace.shell(
            "make -C '\(Self.root)' --no-print-directory install STATIC=1 TRAITS=PostgreSQL PREFIX=$PWD/own"
        )
        check(program.status, equals: 2)
        check(program.errors.contains("cannot link statically with the traits PostgreSQL"))
        check(!workspace.exists("own"))
    }

    @Test func `the completion scripts can be read by their shells`() throws {
        let program = try workspace.shell(
            """
            for shell in bash zsh fish; do
                securestorage --generate-completion-script $shell > script || echo $shell
                ! command -v $shell > /dev/null || $shell -n script || echo $shell
            done
            """)
        check(program.text.isEmpty, "\(program.text)\(program.errors)")
    }
}
