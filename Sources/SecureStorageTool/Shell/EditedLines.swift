internal import Foundation

/// Editable lines, with the system's libedit or libreadline.
///
/// The library is loaded at run time, so it is required neither to build nor to run the program.
final class EditedLines: LineSource {
    private typealias ReadLine =
        @convention(c) (UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>?
    private typealias AddHistory = @convention(c) (UnsafePointer<CChar>) -> Int32

    private(set) var number = 0
    private let readLine: ReadLine
    private let addHistory: AddHistory

    /// libedit first: it is part of macOS, and its licence suits every program.
    private static let names = [
        "libedit.so.2", "libedit.so.0", "libedit.so", "/usr/lib/libedit.3.dylib",
        "libreadline.so.8", "libreadline.so.7", "libreadline.so",
    ]

    /// nil when no such library is installed.
    init?() {
        for name in Self.names {
            // Never closed: the library keeps hold of the terminal.
            guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { continue }
            guard let readLine = dlsym(library, "readline"),
                let addHistory = dlsym(library, "add_history")
            else { continue }
            self.readLine = unsafeBitCast(readLine, to: ReadLine.self)
            self.addHistory = unsafeBitCast(addHistory, to: AddHistory.self)
            // For multibyte characters.
            setlocale(LC_CTYPE, "")
            // libedit returns from a read that Ctrl-C interrupts; GNU readline continues reading.
            if dlsym(library, "el_init") == nil { ReadlineInterrupt.install(library) }
            return
        }
        return nil
    }

    func next(prompt: String) throws -> InputLine {
        try Output.standard.flush()
        Interrupts.clear()
        guard let line = readLine(prompt) else {
            try Output.standard.write("\n")
            return Interrupts.hasCome ? .interrupted : .end
        }
        defer { free(line) }
        if Interrupts.hasCome { return .interrupted }
        number += 1
        return .line(Array(UnsafeRawBufferPointer(start: line, count: strlen(line))))
    }

    func remember(_ line: String) { _ = addHistory(line) }
}

/// Lets Ctrl-C end the line in GNU readline, which calls a hook ten times a second while it waits
/// for a key.
private enum ReadlineInterrupt {
    private typealias Hook = @convention(c) () -> Int32
    private typealias ReplaceLine = @convention(c) (UnsafePointer<CChar>, Int32) -> Void

    // nonisolated(unsafe): set once, then used only by the main thread.
    nonisolated(unsafe) private static var isDone: UnsafeMutablePointer<Int32>?
    nonisolated(unsafe) private static var replaceLine: ReplaceLine?

    static func install(_ library: UnsafeMutableRawPointer) {
        guard let hook = dlsym(library, "rl_event_hook"), let done = dlsym(library, "rl_done"),
            let catches = dlsym(library, "rl_catch_signals"),
            let replace = dlsym(library, "rl_replace_line")
        else { return }
        isDone = done.assumingMemoryBound(to: Int32.self)
        replaceLine = unsafeBitCast(replace, to: ReplaceLine.self)
        // The shell's own signal handler suffices.
        catches.assumingMemoryBound(to: Int32.self).pointee = 0
        let stop: Hook = {
            if Interrupts.hasCome {
                ReadlineInterrupt.replaceLine?("", 0)
                ReadlineInterrupt.isDone?.pointee = 1
            }
            return 0
        }
        hook.assumingMemoryBound(to: Hook?.self).pointee = stop
    }
}
