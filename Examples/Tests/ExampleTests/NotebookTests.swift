#if os(Linux)
    import Foundation
    import ExampleSupport
    import Testing

    /// The terminal notebook of the examples, as people use it.
    @Suite(.enabled(if: Terminal.isAvailable)) struct NotebookTests {
        private let folder: URL
        private let terminal: Terminal

        init() throws {
            let home = FileManager.default.temporaryDirectory
                .appendingPathComponent("NotebookTests-\(UUID().uuidString)")
            folder = home.appendingPathComponent("work")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            terminal = try Self.terminal(in: folder)
        }

        private static func terminal(in folder: URL) throws -> Terminal {
            let terminal = try Terminal(
                in: folder, after: ["alias notebook='\(BuiltProgram.path("Notebook"))'"])
            _ = try terminal.shows(Terminal.prompt)
            return terminal
        }

        private func end() {
            terminal.leave()
            try? FileManager.default.removeItem(at: folder.deletingLastPathComponent())
        }

        @Test func `the session of the example's README shows what the README says`() throws {
            defer { end() }
            let readme = try String(
                contentsOf: Checkout.root.appendingPathComponent("Examples/Notebook/README.md"),
                encoding: .utf8)
            let blocks = readme.components(separatedBy: "```console\n").dropFirst()
                .map { $0.components(separatedBy: "```")[0] }
            for block in blocks { try Transcript(block).run(in: terminal) }
            check(blocks.count >= 2)
        }

        @Test func `nothing typed is readable in any file`() throws {
            defer { end() }
            try Transcript(
                """
                $ notebook notes.db
                Passphrase: ⟨plain text of the passphrase⟩
                > add plain text of a note
                1  plain text of a note
                > edit 1 plain text of an edited note
                > secret plainsecret
                New password of the secrets: ⟨plain text of a password⟩
                Value of plainsecret: ⟨plain text of a secret⟩
                > quit
                """
            ).run(in: terminal)
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            check(names.contains("notes.db"))
            check(names.contains { $0.hasPrefix("notes.db-vault/") })
            for name in names {
                let file = folder.appendingPathComponent(name)
                guard let data = try? Data(contentsOf: file) else { continue }
                check(data.range(of: Data("plain text".utf8)) == nil, "\(name)")
                check(data.range(of: Data("plainsecret".utf8)) == nil, "\(name)")
            }
        }

        @Test func `two notebooks that write to one file lose nothing`() throws {
            defer { end() }
            let other = try Self.terminal(in: folder)
            defer { other.leave() }
            let names = ["a", "b"]
            for name in names {
                let lines = (1...500).map { "\(name) \($0)\n" }.joined()
                try lines.write(
                    to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            try Transcript(
                """
                $ notebook notes.db
                Passphrase: ⟨a passphrase⟩
                > quit
                """
            ).run(in: terminal)
            // Each one tells of the other's commits at any moment, so the lines are not compared.
            for (terminal, name) in zip([terminal, other], names) {
                try begin("notebook notes.db", in: terminal)
                let imports = Array(repeating: "import \(name)\r", count: 5).joined()
                terminal.send(imports + "quit\r")
            }
            for terminal in [terminal, other] { try wait(for: terminal) { $0.hasSuffix("$ ") } }
            try check(answer(Self.count + " -c ' [ab] '"), equals: "5000")
        }

        @Test func `a kill during an import leaves all of its notes or none`() throws {
            defer { end() }
            let lines = (1...20_000).map { "note \($0)\n" }.joined()
            try lines.write(
                to: folder.appendingPathComponent("lines"), atomically: true, encoding: .utf8)
            try Transcript(
                """
                $ notebook notes.db
                Passphrase: ⟨a passphrase⟩
                > add the first
                1  the first
                > quit
                """
            ).run(in: terminal)
            var counts: Set<Int> = []
            for milliseconds in [5, 40, 120, 400] {
                try begin("notebook notes.db", in: terminal)
                try wait(for: terminal) { $0.hasSuffix("> ") }
                terminal.send("import lines\r")
                usleep(UInt32(milliseconds) * 1000)
                terminal.send("\u{1a}")
                try wait(for: terminal) { $0.contains("Stopped") && $0.hasSuffix("\n$ ") }
                terminal.send("kill -KILL %1; sleep 1\r")
                try wait(for: terminal) { $0.contains("Killed") && $0.hasSuffix("\n$ ") }
                let notes = try require(Int(answer(Self.count + " -c note")))
                check(notes % 20_000, equals: 0, "\(notes) notes")
                counts.insert(notes)
            }
            check(counts.contains(0) || counts.count > 1)
        }

        /// Lists all notes, for a program that counts them.
        private static let count =
            "printf 'list\\nquit\\n' > commands; notebook notes.db < commands | grep"

        /// Starts a command that asks for the passphrase, and types it.
        private func begin(_ command: String, in terminal: Terminal) throws {
            terminal.begin()
            terminal.send(command + "\r")
            try wait(for: terminal) { $0.hasSuffix("Passphrase: ") }
            terminal.send("a passphrase\r")
            try wait(for: terminal) { !$0.hasSuffix("Passphrase: ") }
        }

        /// Runs a command that asks for the passphrase, and returns the last line that it shows.
        private func answer(_ command: String) throws -> String {
            try begin(command, in: terminal)
            try wait(for: terminal) { $0.hasSuffix("\n$ ") }
            return terminal.screen.components(separatedBy: "\n").dropLast().last ?? ""
        }

        private func wait(for terminal: Terminal, until condition: (String) -> Bool) throws {
            let end = Date() + 120
            while !condition(terminal.screen) {
                guard Date() < end else {
                    Issue.record("the terminal shows:\n\(terminal.screen)")
                    throw CancellationError()
                }
                usleep(5_000)
            }
        }
    }
#endif
