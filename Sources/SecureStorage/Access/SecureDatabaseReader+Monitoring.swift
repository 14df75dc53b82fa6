internal import Foundation
internal import SecureStoragePlatform

extension SecureDatabaseReader {
    /// Returns what this queue or pool has done since it was created, and the state of its file.
    ///
    /// Waits for its turn, in a pool for the writer's.
    ///
    /// - Returns: Counts that only grow, the present size and age of the log, and a pool's readers.
    /// - Throws: `.closed`; `.suspended`; `.backingStoreError` code `.misuse` inside a `read` of a
    ///   pool.
    public func statistics() throws -> SecureDatabaseStatistics {
        try access.point.collectStatistics()
    }

    /// Returns what this queue or pool has done since it was created, and the state of its file.
    ///
    /// - Returns: As the synchronous call.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func statistics() async throws -> SecureDatabaseStatistics {
        try await onOwnThread { try self.statistics() }
    }
}

extension SecureDatabaseQueue {
    func collectStatistics() throws -> SecureDatabaseStatistics {
        try inTurn { try $0.statistics() }
    }
}

extension SecureDatabasePool {
    func collectStatistics() throws -> SecureDatabaseStatistics {
        var statistics = try writeWithoutTransaction { try $0.statistics() }
        let readers = connections.readerFigures()
        statistics.cacheHits += readers.pages.hits
        statistics.cacheMisses += readers.pages.misses
        statistics.openReaderCount = readers.openCount
        statistics.readersInUse = readers.usedCount
        return statistics
    }
}

extension PoolConnections {
    /// Returns the page counts of all readers, and how many there are.
    ///
    /// Those of a reader in use are the ones of an earlier call, since its connection is another
    /// thread's.
    fileprivate func readerFigures() -> (pages: PageCounts, openCount: Int, usedCount: Int) {
        condition.withLock {
            for reader in idle {
                guard let connection = reader.connection else { continue }
                readerCounts[ObjectIdentifier(reader)] = connection.pageCounts
            }
            var pages = closedReaderCounts
            for counts in readerCounts.values { pages += counts }
            return (pages, interruptions.count, interruptions.count - idle.count)
        }
    }
}
