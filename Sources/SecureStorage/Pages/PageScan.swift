internal import Foundation
internal import SecureStoragePlatform

/// Checks the HMACs of a file's pages, without the engine.
struct PageScan: Sendable {
    let view: PageView
    let key: DerivedKey
    let cipher: PageCipher

    init(view: PageView, key: DerivedKey, cipher: PageCipher) {
        (self.view, self.key, self.cipher) = (view, key, cipher)
    }

    /// Creates a scan of the file at `path` as it is now, under its key.
    init(_ path: String, _ key: DerivedKey, _ cipher: CipherConfiguration) throws {
        try self.init(
            view: PageView(path, pageSize: cipher.pageSize), key: key,
            cipher: PageCipher(key, cipher))
    }

    /// Returns a scan of the same file as it is now.
    func again() throws -> PageScan { PageScan(view: try view.again(), key: key, cipher: cipher) }

    /// Returns the pages among `numbers`, in order, that are missing or not as they were written;
    /// calls `progress` for every megabyte.
    ///
    /// Hashing uses nearly all of the time, so up to eight processors share it. A hole in a sparse
    /// file is not read: zeros are not a page under any key.
    func damagedPages<Numbers: RandomAccessCollection<UInt32>>(
        among numbers: Numbers, _ progress: FileProgress.Handler = { _ in }
    ) throws -> PageList where Numbers.Index == Int {
        var damaged = PageList()
        let (start, count) = (numbers.startIndex, numbers.count)
        var next = start
        while next < numbers.endIndex {
            let stored = view.storedPages(from: numbers[next])
            let first = stored.map { numbers.index(of: $0.lowerBound, from: next) }
            let hole = numbers[next..<(first ?? numbers.endIndex)]
            let lock = hole.index(of: cipher.format.lockPage, from: hole.startIndex)
            damaged.append(contentsOf: hole[..<lock])
            if lock < hole.endIndex {
                let isLock = hole[lock] == cipher.format.lockPage
                damaged.append(contentsOf: hole[(isLock ? lock + 1 : lock)...])
            }
            next = hole.endIndex
            guard let stored else { break }
            let end = numbers.index(of: stored.upperBound, from: next)
            try findDamage(among: numbers[next..<end], &damaged) {
                try progress(FileProgress($0 - start, of: count))
            }
            next = end
        }
        try progress(FileProgress(count, of: count))
        return damaged
    }

    private func findDamage<Numbers: RandomAccessCollection<UInt32>>(
        among numbers: Numbers, _ damaged: inout PageList, _ progress: (Int) throws -> Void
    ) throws where Numbers.Index == Int {
        let processors = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 8)
        let share = max((1 << 20) / view.pageSize / processors, 1)
        var next = numbers.startIndex
        while next < numbers.endIndex {
            try progress(next)
            let end = min(next + share * processors, numbers.endIndex)
            let parts = stride(from: next, to: end, by: share).map {
                Array(numbers[$0..<min($0 + share, end)])
            }
            let findings = Locked(
                [Result<[UInt32], any Error>?](repeating: nil, count: parts.count))
            DispatchQueue.concurrentPerform(iterations: parts.count) { index in
                let finding = Result { try damagedPages(of: parts[index]) }
                findings.withLock { $0[index] = finding }
            }
            for finding in findings.withLock({ $0 }) {
                damaged.append(contentsOf: try finding?.get() ?? [])
            }
            next = end
        }
    }

    /// Returns whether all of the pages are as they were written; ends at the first that is not.
    func areAuthentic(_ numbers: PageNumbers.SubSequence) throws -> Bool {
        guard let first = numbers.first, let last = numbers.last else { return true }
        guard let stored = view.storedPages(from: first), stored.lowerBound == first else {
            return false
        }
        guard stored.upperBound > last else { return false }
        return try numbers.allSatisfy { try damagedPages(of: [$0]).isEmpty }
    }

    private func damagedPages(of numbers: [UInt32]) throws -> [UInt32] {
        var page = [UInt8](repeating: 0, count: view.pageSize)
        return try numbers.filter { number in
            guard number != cipher.format.lockPage else { return false }
            return try page.withUnsafeMutableBytes { page in
                try !view.read(number, into: page)
                    || !cipher.isAuthentic(UnsafeRawBufferPointer(page), number: number)
            }
        }
    }

    /// Returns whether any page was written with the key: the first ones, then others spread over
    /// the file.
    ///
    /// Calls `progress`, with nothing done yet, for every megabyte, so that it can end the search.
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
            return cipher.isAuthentic(page, number: number)
        }
        guard limit < held.count else {
            return try StoredPages(view, among: held).contains(where: isAuthentic)
        }
        let step = max(held.count / max(limit, 1), 1)
        let others = stride(from: 16, to: held.count, by: step).lazy.map { held[$0] }
        return try held.prefix(16).contains(where: isAuthentic)
            || others.contains(where: isAuthentic)
    }
}
