internal import CSQLCipher

extension Connection {
    /// Ends the statements to come, and those that run, as soon as `isOver` says so; nil watches no
    /// longer.
    ///
    /// The question is asked every thousand instructions of the engine. Unlike `sqlite3_interrupt`,
    /// which does nothing between two statements, this cannot come too early.
    func watch(_ isOver: (() -> Bool)?) {
        watcher = isOver
        guard let handle else { return }
        guard isOver != nil else {
            sqlite3_progress_handler(handle, 0, nil, nil)
            return
        }
        sqlite3_progress_handler(
            handle, 1000,
            { connection in
                guard let connection else { return 0 }
                let owner = Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                // A rollback has to run to its end.
                guard owner.interruption?.isPaused != true else { return 0 }
                return owner.watcher?() == true ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs `body`, whose statements ask `tick` every thousand instructions, beside what they ask
    /// already.
    ///
    /// - Throws: What `tick` throws, which ends the statement that runs; what `body` throws.
    func withTicks<R>(_ tick: () throws -> Void, _ body: () throws -> R) throws -> R {
        _ = try requireHandle()
        let outer = watcher
        let wasReporting = callbacks.isReporting
        callbacks.isReporting = true
        defer { callbacks.isReporting = wasReporting }
        var failure: (any Error)?
        return try withoutActuallyEscaping(tick) { tick in
            watch {
                guard failure == nil, outer?() != true else { return true }
                do {
                    try tick()
                    // `close()` in `tick`; the step reports it.
                    return self.callbacks.wasCloseRefused
                } catch {
                    failure = error
                    return true
                }
            }
            defer { watch(outer) }
            do {
                let result = try body()
                try callbacks.reportRefusedClose()
                return result
            } catch {
                throw failure ?? error
            }
        }
    }
}
