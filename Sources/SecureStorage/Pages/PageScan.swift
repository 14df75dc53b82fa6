internal import Foundation

/// Checks the HMACs of a file's pages, beside the engine.
struct PageScan: Sendable {
    let view: PageView
    let key: DerivedKey
    let cipher: PageCipher

    /// The same file as it is now.
    func again() throws -> PageScan { PageScan(view: try view.again(), key: key, cipher: cipher) }

    /// The pages among `numbers` that are missing or not as they were written; `progress` is told of every
    /// megabyte.
    ///
    /// Nearly all of the time is the hash's, so all processors share it.
    func damagedPages(
        among numbers: [UInt32], _ progress: FileProgress.Handler = { _ in }
    ) throws -> [UInt32] {
        var damaged: [UInt32] = []
        let processors = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 8)
        let share = max((1 << 20) / view.pageSize / processors, 1)
        var done = 0
        while done < numbers.count {
            try progress(FileProgress(done, of: numbers.count))
            let batch = numbers[done..<min(done + share * processors, numbers.count)]
            let parts = stride(from: batch.startIndex, to: batch.endIndex, by: share).map {
                batch[$0..<min($0 + share, batch.endIndex)]
            }
            let findings = Findings(parts.count)
            DispatchQueue.concurrentPerform(iterations: parts.count) { index in
                findings.set(index, Result { try damagedPages(of: parts[index]) })
            }
            for finding in findings.all { damaged += try finding?.get() ?? [] }
            done = batch.endIndex
        }
        try progress(FileProgress(numbers.count, of: numbers.count))
        return damaged
    }

    private func damagedPages(of numbers: ArraySlice<UInt32>) throws -> [UInt32] {
        var page = [UInt8](repeating: 0, count: view.pageSize)
        return try numbers.filter { number in
            guard number != cipher.format.lockPage else { return false }
            return try page.withUnsafeMutableBytes { page in
                try !view.read(number, into: page)
                    || !cipher.isAuthentic(UnsafeRawBufferPointer(page), number: number)
            }
        }
    }

    /// What the parts of a batch have found.
    private final class Findings: @unchecked Sendable {
        // @unchecked: only touched under `lock` while threads work.
        private let lock = NSLock()
        private(set) var all: [Result<[UInt32], any Error>?]

        init(_ count: Int) { all = Array(repeating: nil, count: count) }

        func set(_ index: Int, _ finding: Result<[UInt32], any Error>) {
            lock.withLock { all[index] = finding }
        }
    }

    /// Whether any page was written with the key: the first ones, then others spread over the file.
    ///
    /// `progress` is told every megabyte that nothing is done yet, so that it can end the search.
    func knowsKey(
        lookingAt limit: Int, _ progress: FileProgress.Handler = { _ in }
    ) throws -> Bool {
        let held = view.heldPages(of: view.pageCount)
        let pagesPerTick = max((1 << 20) / view.pageSize, 1)
        var looked = 0
        func isAuthentic(_ number: UInt32) throws -> Bool {
            if looked % pagesPerTick == 0 { try progress(FileProgress(0, of: held.count)) }
            looked += 1
            guard let page = try view.page(number) else { return false }
            return page.withUnsafeBytes { cipher.isAuthentic($0, number: number) }
        }
        let step = max(held.count / max(limit, 1), 1)
        let others = stride(from: 16, to: held.count, by: step).lazy.map { held[$0] }
        return try held.prefix(16).contains(where: isAuthentic)
            || others.contains(where: isAuthentic)
    }
}
