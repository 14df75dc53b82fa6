import Foundation
import ExampleSupport

/// Somebody who follows the tutorials: a folder with a program, and terminals.
final class TutorialReader {
    private let workspace: URL
    private var folder: URL
    private var program: StepProgram
    private var terminals: [String: Terminal] = [:]
    /// What runs in a terminal and continues in a later step.
    private var open: [String: Transcript] = [:]
    /// The last transcript that needs nothing but the files before it, and these files.
    private var last: (transcript: Transcript, files: URL)?

    private(set) var programs = 0
    private(set) var transcripts = 0

    init() throws {
        workspace = FileManager.default.temporaryDirectory
            .appendingPathComponent("Tutorial-\(UUID().uuidString)")
        folder = workspace.appendingPathComponent("Notebook")
        try FileManager.default.createDirectory(
            at: Self.program(in: folder).deletingLastPathComponent(),
            withIntermediateDirectories: true)
        program = try StepProgram(in: workspace)
    }

    func leave() {
        for terminal in terminals.values { terminal.leave() }
        try? FileManager.default.removeItem(at: workspace)
    }

    /// Where `swift build` puts the program.
    private static func program(in folder: URL) -> URL {
        folder.appendingPathComponent(".build/debug/Notebook")
    }

    private func terminal(in folder: URL) throws -> Terminal {
        let terminal = try Terminal(in: folder, after: ["alias notebook=.build/debug/Notebook"])
        _ = try terminal.shows(Terminal.prompt)
        return terminal
    }

    /// Does what a step says.
    ///
    /// A program without a transcript of its own runs the previous one again, on the files from
    /// before it: a step that prepares the next one does not break what there is.
    func follow(_ step: Tutorial.Step, before later: [Tutorial.Step]) throws {
        let text = try Tutorial.resource(step.file)
        guard step.isTranscript else {
            program.sources[step.name] = text
            guard program.sources["main.swift"] != nil else { return }
            try program.build(Self.program(in: folder))
            programs += 1
            if later.first?.isTranscript != true { try repeatLast() }
            return
        }
        let transcript = Transcript(text)
        let next = try later.first { $0.name == step.name }
            .map { Transcript(try Tutorial.resource($0.file)) }
        let goesOn = next?.continues(transcript) ?? false
        let earlier = open.removeValue(forKey: step.name)
        if earlier == nil, open.isEmpty, !goesOn {
            last = (transcript, try copyFiles(of: folder))
        }
        let terminal = try terminals[step.name] ?? terminal(in: folder)
        terminals[step.name] = terminal
        try transcript.run(in: terminal, after: earlier, isLeftRunning: goesOn)
        if goesOn { open[step.name] = transcript }
        transcripts += 1
    }

    private func repeatLast() throws {
        guard let last else { return }
        let files = try copyFiles(of: last.files)
        defer { try? FileManager.default.removeItem(at: files) }
        let target = Self.program(in: files)
        try? FileManager.default.removeItem(at: target)
        // Not a copy: a process that another test starts meanwhile would hold it open for writing,
        // and it could not be run.
        try FileManager.default.linkItem(at: Self.program(in: folder), to: target)
        let terminal = try terminal(in: files)
        defer { terminal.leave() }
        try last.transcript.run(in: terminal)
    }

    private func copyFiles(of folder: URL) throws -> URL {
        let copy = workspace.appendingPathComponent("files-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: folder, to: copy)
        return copy
    }
}
