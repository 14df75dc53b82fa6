#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// The terminal notebook of the examples, as people use it.
    @Suite(.enabled(if: Terminal.isAvailable), .timeLimit(.minutes(10))) struct NotebookTests {
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
            terminal.close()
            try? FileManager.default.removeItem(at: folder.deletingLastPathComponent())
        }

        @Test func `the session of the example's README shows what the README says`() throws {
            defer { end() }
            let readme = try String(
                contentsOf: Tutorial.root.appendingPathComponent("Examples/Notebook/README.md"),
                encoding: .utf8)
            let blocks = readme.components(separatedBy: "```console\n").dropFirst()
                .map { $0.components(separatedBy: "```")[0] }
            for block in blocks { try Transcript(block).run(in: terminal) }
            #expect(blocks.count >= 2)
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
            #expect(names.contains("notes.db"))
            #expect(names.contains { $0.hasPrefix("notes.db-vault/") })
            for name in names {
                let file = folder.appendingPathComponent(name)
                guard let data = try? Data(contentsOf: file) else { continue }
                #expect(data.range(of: Data("plain text".utf8)) == nil, "\(name)")
                #expect(data.range(of: Data("plainsecret".utf8)) == nil, "\(name)")
            }
        }

        @Test func `two notebooks that write to one file lose nothing`() throws {
            defer { end() }
            let other = try Self.terminal(in: folder)
            defer { other.close() }
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
            let texts = names.map { name in
                "$ notebook notes.db\nPassphrase: ⟨a passphrase⟩\n"
                    + (1...5).map { _ in "> import \(name)\n500 notes were added\n" }.joined()
                    + "> quit\n"
            }
            // Each one tells of the other's commits at any moment, so the lines are not compared.
            for (terminal, text) in zip([terminal, other], texts) {
                terminal.begin()
                terminal.send("notebook notes.db\r")
                #expect(try terminal.shows("$ notebook notes.db\nPassphrase: "))
                terminal.send("a passphrase\r")
                let commands = text.split(separator: "\n").filter { $0.hasPrefix("> ") }
                terminal.send(commands.map { $0.dropFirst(2) + "\r" }.joined())
            }
            let end = Date() + 120
            for terminal in [terminal, other] {
                while !terminal.screen.hasSuffix("\n$ "), Date() < end { usleep(10_000) }
            }
            try Transcript(
                """
                $ printf 'list\\nquit\\n' > commands; notebook notes.db < commands | grep -c ' [ab] '
                Passphrase: ⟨a passphrase⟩
                5000
                """
            ).run(in: terminal)
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
            var counts: Set<String> = []
            for milliseconds in [5, 20, 60, 120, 250, 500] {
                terminal.begin()
                terminal.send("notebook notes.db\r")
                #expect(try terminal.shows("$ notebook notes.db\nPassphrase: "))
                terminal.send("a passphrase\r")
                #expect(try terminal.shows("$ notebook notes.db\nPassphrase: \n> "))
                terminal.send("import lines\r")
                usleep(UInt32(milliseconds) * 1000)
                terminal.send("\u{1a}")
                let end = Date() + 60
                while !terminal.screen.contains("Stopped"), Date() < end { usleep(5_000) }
                terminal.send("kill -KILL %1; wait; clear\r")
                while !terminal.screen.contains("Killed"), Date() < end { usleep(5_000) }
                usleep(100_000)
                terminal.begin()
                terminal.send(
                    "printf 'list\\nquit\\n' > commands; notebook notes.db < commands | wc -l\r")
                while !terminal.screen.contains("Passphrase: "), Date() < end { usleep(5_000) }
                terminal.send("a passphrase\r")
                while !terminal.screen.hasSuffix("\n$ "), Date() < end { usleep(5_000) }
                let lines = terminal.screen.components(separatedBy: "\n")
                counts.insert(lines[lines.count - 2])
            }
            for count in counts {
                let notes = try #require(Int(count.trimmingCharacters(in: .whitespaces)))
                #expect((notes - 1) % 20_000 == 0, "\(notes) notes")
            }
        }
    }
#endif
