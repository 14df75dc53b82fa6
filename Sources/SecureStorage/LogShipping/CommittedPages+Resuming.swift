internal import SecureStoragePlatform

extension CommittedPages {
    /// Continues at a position of an earlier mirroring, if the log still has it.
    ///
    /// - Returns: false if it has not: then the snapshot is needed.
    package func resume(at earlier: LogPosition) throws -> Bool {
        try state.withLock { try resume(at: earlier, &$0) }
    }

    private func resume(at earlier: LogPosition, _ state: inout State) throws -> Bool {
        guard earlier != .none, let log = try RawFile(ifPresent: path + "-wal"),
            let header = try log.bytes(at: 0, count: WriteAheadLog.headerSize),
            let start = LogPosition(atStartOf: header), start.salts == earlier.salts,
            start.sequence == earlier.sequence,
            try LogFrames.checksum(of: log, after: earlier.frame, pageSize: pageSize)
                == earlier.checksum,
            // `seenFrames` stays, so that a log that is restarted before its rest was read is
            // noticed.
            state.position.salts == earlier.salts, state.position.frame >= earlier.frame
        else { return false }
        state.position = earlier
        return true
    }
}
