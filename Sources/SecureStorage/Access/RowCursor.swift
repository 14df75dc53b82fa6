internal import Foundation

/// One iteration over the rows of a query, which reads a batch when the loop has used up the last
/// one.
final class RowCursor<Element: Sendable>: EndableRows, @unchecked Sendable {
    // @unchecked: everything below is accessed only on `worker`, and in deinit.
    private let sequence: SecureDatabaseRows<Element>
    /// A separate serial queue, which gets a thread even when those of tasks are busy.
    private let worker = DispatchQueue(label: "SecureStorage.rows")
    private var reader: RowReader?
    /// Gives the elements; holds what reads them.
    private var nextElement: (() throws -> Element?)?
    private var end: SecureStorageError?
    /// The error of a row after those of the last batch.
    private var failure: (any Error)?

    init(_ sequence: SecureDatabaseRows<Element>) { self.sequence = sequence }

    deinit { closeReader() }

    /// Returns the next rows, at most 64 and at most those of a millisecond, and whether they are
    /// the last.
    func nextBatch() async throws -> ([Element], isLast: Bool) {
        let context = CallerContext()
        return try await AsyncCall.perform { call in
            worker.async { [self] in
                do {
                    if call.isWaiting {
                        let reader = try openReader()
                        try reader.run {
                            try context.run { try call.run(on: reader.store, readBatch) }
                        }
                    }
                    call.finish()
                } catch {
                    closeReader()
                    call.finish(error)
                }
            }
        }
    }

    private func openReader() throws -> RowReader {
        if let end { throw end }
        if let reader { return reader }
        let made = try sequence.makeReader(self)
        reader = made
        return made
    }

    private func readBatch(_ store: SecureDatabaseStore) throws -> ([Element], isLast: Bool) {
        if let failure { throw failure }
        var batch: [Element] = []
        do {
            let nextElement = try nextElement ?? sequence.begin(store)
            self.nextElement = nextElement
            let deadline = ContinuousClock.now + .milliseconds(1)
            while let element = try nextElement() {
                batch.append(element)
                if batch.count == 64 || .now >= deadline { return (batch, false) }
            }
        } catch  where !batch.isEmpty {
            // Thrown after the rows before it.
            failure = error
            return (batch, false)
        }
        closeReader()
        return (batch, true)
    }

    private func closeReader() {
        nextElement = nil
        reader?.close()
        reader = nil
    }

    func end(with error: SecureStorageError) {
        worker.async { [self] in
            end = error
            closeReader()
        }
    }
}

/// The connection of an iteration, in its snapshot.
struct RowReader {
    let store: SecureDatabaseStore
    /// Runs a part of the iteration.
    let run: (() throws -> Void) throws -> Void
    /// Called once, while no part runs.
    let close: () -> Void
}

extension SecureDatabaseStore {
    /// Creates a read-only store on a file whose derived key is known.
    convenience init(reading source: Reopening, configuration: SecureDatabaseConfiguration) {
        var readOnly = configuration
        readOnly.isReadOnly = true
        self.init(
            path: source.path, fileName: nil, configuration: readOnly,
            instruments: configuration.instrumentation.instruments)
        session.reopening = source
    }
}
