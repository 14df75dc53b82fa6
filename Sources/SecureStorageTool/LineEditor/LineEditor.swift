internal import Foundation

/// What Tab may put in place of the characters before the cursor.
struct Completion {
    /// The number of characters that a candidate replaces.
    var length = 0
    var candidates: [String] = []
    /// What follows a candidate that is the only one.
    var ending = " "

    /// Returns what all candidates begin with, in any case.
    var common: String {
        guard var common = candidates.first else { return "" }
        for candidate in candidates {
            let pairs = zip(common, candidate)
            let length = pairs.prefix { $0.lowercased() == $1.lowercased() }.count
            common = String(common.prefix(length))
        }
        return common
    }
}

/// Lines with the keys that people know from Emacs and from other shells, on a terminal.
///
/// A text may have several lines: Enter begins another one until the text is complete. The terminal
/// is set up only while a line is being typed.
final class LineEditor: LineSource {
    private(set) var number = 0
    private let isComplete: (String) -> Bool
    private let complete: (_ before: String) -> Completion
    private let descriptor = STDIN_FILENO
    private var screen: EditorScreen
    private var decoder = KeyDecoder()
    /// Keys that were typed ahead.
    private var keys: [Key] = []
    private var text = EditedText()
    private var recall = Recall()
    private var search: Search?
    private var prompt = ""
    /// Whether the last key was a Tab with several candidates; the next one lists them.
    private var wantsList = false

    private struct Search {
        var wanted = ""
        var found: Int
        let before: EditedText
    }

    /// - Parameters:
    ///   - continuation: What precedes the second and all following lines.
    ///   - isComplete: Whether Enter ends the text.
    ///   - complete: What Tab may insert after the text before the cursor.
    init(
        continuation: String, isComplete: @escaping (String) -> Bool,
        complete: @escaping (_ before: String) -> Completion
    ) {
        self.isComplete = isComplete
        self.complete = complete
        screen = EditorScreen(STDOUT_FILENO, continuation: continuation)
    }

    func remember(_ entry: String) { recall.remember(entry) }

    func next(prompt: String) throws -> InputLine {
        try Output.standard.flush()
        Interrupts.clear()
        self.prompt = prompt
        text = EditedText()
        search = nil
        recall.begin()
        return try EndingSignals.whileHeld { signals in
            let mode = try TerminalMode(descriptor)
            try mode.enter()
            screen.begin()
            defer {
                screen.end()
                mode.leave()
            }
            return try read(signals, mode)
        }
    }

    private func read(_ signals: EndingSignals, _ mode: TerminalMode) throws -> InputLine {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            while !keys.isEmpty {
                if let line = try press(keys.removeFirst(), mode) { return line }
            }
            show()
            guard try signals.waitOnce(for: descriptor) else {
                guard Interrupts.hasCome else { continue }
                screen.finish()
                return .interrupted
            }
            let count = Foundation.read(descriptor, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return .end }
            keys = decoder.take(bytes[..<count])
        }
    }

    private func show() {
        guard let search else { return screen.show(prompt, text) }
        let isFound = search.wanted.isEmpty || search.found < recall.entries.count
        let label = isFound ? "search" : "not found"
        screen.show("(\(label): \(search.wanted)) ", text)
    }

    // MARK: - Keys

    /// Returns the line when the key ends it.
    private func press(_ key: Key, _ mode: TerminalMode) throws -> InputLine? {
        if search != nil, pressInSearch(key) { return nil }
        let hadTab = wantsList
        wantsList = false
        switch key {
        case .enter:
            guard isComplete(text.whole) else {
                text.insert("\n")
                return nil
            }
            screen.show(prompt, text)
            screen.finish()
            number += 1
            return .line(Array(text.whole.utf8))
        case .control("c"):
            screen.show(prompt, text)
            text.moveToEnd()
            screen.show(prompt, text)
            screen.send("^C")
            screen.finish()
            return .interrupted
        case .control("d") where text.isEmpty:
            screen.show(prompt, text)
            screen.finish()
            return .end
        case .control("z"):
            screen.erase()
            screen.end()
            mode.leave()
            // The whole job stops, as at Ctrl-Z in any other program.
            kill(0, SIGTSTP)
            try mode.enter()
            screen.begin()
        case .control("l"): screen.clearAll()
        case .control("r"): search = Search(found: recall.entries.count, before: text)
        case .tab: completeWord(lists: hadTab)
        default: edit(key)
        }
        return nil
    }

    private func edit(_ key: Key) {
        switch key {
        case .text(let typed), .pasted(let typed): text.insert(typed)
        case .backspace, .control("h"): text.deleteBackward()
        case .delete, .control("d"): text.deleteForward()
        case .left, .control("b"): text.moveBackward()
        case .right, .control("f"): text.moveForward()
        case .wordLeft, .alt("b"): text.moveWordBackward()
        case .wordRight, .alt("f"): text.moveWordForward()
        case .home, .control("a"): text.moveToLineStart()
        case .end, .control("e"): text.moveToLineEnd()
        case .control("k"): text.cutToLineEnd()
        case .control("u"): text.cutToLineStart()
        case .control("w"): text.cutTerminalWord()
        case .alt("\u{7f}"): text.cutWordBackward()
        case .alt("d"): text.cutWordForward()
        case .control("y"): text.paste()
        case .up, .control("p"):
            if !text.moveUp(), let entry = recall.previous(text.whole) { replace(with: entry) }
        case .down, .control("n"):
            if !text.moveDown(), let entry = recall.next() { replace(with: entry) }
        default: break
        }
    }

    private func replace(with entry: String) {
        let cut = text.cut
        text = EditedText(entry, cut: cut)
    }

    // MARK: - Search

    /// Returns false for a key that ends the search and has its usual meaning.
    private func pressInSearch(_ key: Key) -> Bool {
        guard var search else { return false }
        switch key {
        case .text(let typed):
            search.wanted += typed
            search.found = recall.find(search.wanted, before: search.found + 1) ?? .max
        case .backspace, .control("h"):
            if !search.wanted.isEmpty { search.wanted.removeLast() }
            search.found = recall.find(search.wanted, before: .max) ?? .max
        case .control("r"):
            search.found = recall.find(search.wanted, before: search.found) ?? search.found
        case .control("g"), .control("c"):
            text = search.before
            self.search = nil
            return true
        default:
            self.search = nil
            return false
        }
        if recall.entries.indices.contains(search.found) {
            replace(with: recall.entries[search.found])
        }
        self.search = search
        return true
    }

    // MARK: - Completion

    private func completeWord(lists: Bool) {
        let completion = complete(text.before)
        let typed = text.before.suffix(completion.length)
        if completion.candidates.count == 1, let only = completion.candidates.first {
            text.replace(last: completion.length, with: only)
            if !completion.ending.isEmpty, text.after.first?.isWhitespace != true {
                text.insert(completion.ending)
            }
        } else if completion.common.count > typed.count {
            text.replace(last: completion.length, with: completion.common)
            wantsList = true
        } else if lists, !completion.candidates.isEmpty {
            list(completion.candidates)
        } else {
            wantsList = true
        }
    }

    private func list(_ candidates: [String]) {
        let size = Terminal.size() ?? (80, 24)
        let width = (candidates.map { DisplayWidth.of($0) }.max() ?? 0) + 2
        let columns = max(1, size.columns / width)
        // As many as the screen shows.
        let shown = candidates.prefix(columns * max(1, size.rows - 4))
        let rows = (shown.count + columns - 1) / columns
        var lines: [String] = []
        for row in 0..<rows {
            var line = ""
            for column in 0..<columns where column * rows + row < shown.count {
                let candidate = shown[column * rows + row]
                let blanks = width - DisplayWidth.of(candidate)
                line += candidate + String(repeating: " ", count: blanks)
            }
            lines.append(DisplayWidth.cut(Visible.text(line), to: size.columns - 1))
        }
        if shown.count < candidates.count {
            lines.append("… and \(candidates.count - shown.count) more")
        }
        screen.show(prompt, text)
        screen.finish()
        screen.send(lines.joined(separator: "\r\n") + "\r\n")
        screen.begin()
    }
}

/// The settings of a terminal while a line is being typed: each key is received at once, and Ctrl-C
/// is a key.
private struct TerminalMode {
    private let descriptor: Int32
    private let before: termios

    init(_ descriptor: Int32) throws {
        var before = termios()
        guard tcgetattr(descriptor, &before) == 0 else {
            throw Failure.system("the terminal cannot be set up")
        }
        self.descriptor = descriptor
        self.before = before
    }

    func enter() throws {
        var mode = before
        mode.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
        mode.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | IGNCR | ISTRIP)
        // What was typed ahead is kept.
        guard tcsetattr(descriptor, TCSADRAIN, &mode) == 0 else {
            throw Failure.system("the terminal cannot be set up")
        }
    }

    func leave() {
        var mode = before
        _ = tcsetattr(descriptor, TCSADRAIN, &mode)
    }
}
