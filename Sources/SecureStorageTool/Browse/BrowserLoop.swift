internal import Foundation
internal import SecureStorage

/// Carries keys, signals and answers to the state, and the state to the screen.
final class BrowserLoop {
    private let terminal: ScreenTerminal
    private let worker: BrowserWorker
    private let signals: Int32
    private let answers: Int32
    private var model: BrowserModel
    private var reader = KeyDecoder()
    /// Keys that were pressed while a request was running.
    private var waiting: [Key] = []
    private var status: Int32?

    /// How long an escape sequence may be under way, in milliseconds, before it is the key Esc.
    private static let patience: Int32 = 50

    init(_ terminal: ScreenTerminal, _ queue: SecureDatabaseQueue, model: BrowserModel) throws {
        self.terminal = terminal
        self.model = model
        signals = try ScreenSignals.catchAll()
        let (readEnd, writeEnd) = try ScreenSignals.wakePipe()
        answers = readEnd
        worker = BrowserWorker(queue) {
            var byte: UInt8 = 0
            // A full pipe wakes as well.
            _ = write(writeEnd, &byte, 1)
        }
    }

    /// Runs until the user or a signal ends it, and returns the exit status; begins with a table if
    /// one is given.
    func run(table: String?) throws -> Int32 {
        try terminal.enter()
        defer {
            terminal.leave()
            worker.end()
        }
        model.layOut()
        perform(model.start(.tables))
        var first = table
        while status == nil {
            if let table = first, !model.isBusy {
                first = nil
                perform(model.open(table))
            }
            model.settleColumns()
            let view = BrowserView(model: model)
            try terminal.show(view.lines, cursorColumn: view.cursorColumn)
            if !model.isBusy, let name = model.uncounted { worker.count(name) }
            try wait()
        }
        return status ?? 0
    }

    private func wait() throws {
        var descriptors = [STDIN_FILENO, signals, answers].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let limit = reader.isInside ? Self.patience : -1
        let count = poll(&descriptors, nfds_t(descriptors.count), limit)
        if count == 0 {
            take(reader.finish())
        } else if count > 0 {
            if descriptors[1].revents != 0 {
                for signal in bytes(signals) { try take(signal: Int32(signal)) }
            }
            if descriptors[2].revents != 0 {
                _ = bytes(answers)
                for answer in worker.take() { perform(model.take(answer)) }
                takeWaiting()
            }
            if descriptors[0].revents != 0 { readKeys() }
        } else if errno != EINTR {
            throw Failure.system("the terminal cannot be read")
        }
    }

    /// Returns what a pipe holds.
    private func bytes(_ descriptor: Int32) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 256)
        var all: [UInt8] = []
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }

    private func readKeys() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count > 0 {
            take(reader.take(buffer[..<count]).flatMap(\.single))
        } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
            // The terminal is gone.
            status = status ?? 128 + SIGHUP
        }
    }

    private func take(_ keys: [Key]) {
        for key in keys {
            let interrupts = key == .escape || key == .control("c") || key == .control("z")
            if model.isBusy, !interrupts {
                // Nobody waits for more keys than this.
                if waiting.count < 256 { waiting.append(key) }
            } else {
                if model.isBusy { waiting = [] }
                perform(model.take(key))
            }
        }
    }

    private func takeWaiting() {
        while !model.isBusy, status == nil, !waiting.isEmpty {
            perform(model.take(waiting.removeFirst()))
        }
    }

    private func perform(_ effects: [BrowserModel.Effect]) {
        for effect in effects {
            switch effect {
            case .request(let request): worker.start(request)
            case .interrupt: worker.interrupt()
            case .suspend:
                // A failure is that of the next write to the terminal.
                try? suspend()
            case .quit(let code): status = status ?? code
            }
        }
    }

    private func take(signal: Int32) throws {
        switch signal {
        case SIGWINCH: perform(model.resize(to: terminal.size))
        case SIGTSTP: try suspend()
        case SIGCONT:
            try terminal.enter()
            perform(model.resize(to: terminal.size))
        default: status = status ?? 128 + signal
        }
    }

    private func suspend() throws {
        terminal.leave()
        try ScreenSignals.stop()
        try terminal.enter()
        perform(model.resize(to: terminal.size))
    }
}
