internal import CSQLCipher

extension Connection {
    /// Ends running and later statements as soon as `isOver` returns true; nil ends the watch.
    ///
    /// The closure is called every thousand instructions of the engine. Unlike `sqlite3_interrupt`,
    /// which does nothing between two statements, this cannot come too early.
    func watch(_ isOver: (() -> Bool)?) {
        waits.watcher = isOver
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
                return owner.waits.watcher?() == true ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Runs `body`, whose statements call `tick` every thousand instructions, in addition to the
    /// watcher.
    ///
    /// - Throws: The error of `tick`, which ends the running statement; the error of `body`.
    func withTicks<R>(_ tick: () throws -> Void, _ body: () throws -> R) throws -> R {
        _ = try requireHandle()
        let outer = waits.watcher
        let wasReporting = callbacks.isReporting
        callbacks.isReporting = true
        defer { callbacks.isReporting = wasReporting }
        var failure: (any Error)?
        return try withoutActuallyEscaping(tick) { tick in
            watch {
                guard failure == nil, outer?() != true else { return true }
                do {
                    try tick()
                    // `tick` has called `close()`; the step reports it.
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
